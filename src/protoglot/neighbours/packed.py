r"""An n-gram in little space: a byte for each symbol, a byte for each probability.

Contexts of k symbols are sorted by those of k - 1 symbols that they lengthen, so it is enough to say for each of these
how many longer ones there are, and for each longer one which symbol it has before. In the same way a context says how
many symbols were seen after it. The weight of backing off is eight bits of a logarithm, for where it is small it must
not be off by much; so are the gains, which are then scaled to what the back-off leaves.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protoglot.errors import StorageError
from protoglot.ngram import MAX_ORDER, NGram, NGramLevel, Smoothing
from protoglot.vocabulary import END, Vocabulary

MAX_SYMBOLS = 255
"""Different symbols that a language may have."""

_LARGEST_ID = 2**16 - 1

_SMALLEST = 1e-5
"""Shares below this are rounded up to it."""

_NUM_CODES = 256
_MOST_BACK_OFF = 0.999
"""Of contexts after which something was seen."""

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class PackedNGram:
    """All contexts of 0, 1, ... symbols, those of one length after the other."""

    alphabet: NDArray[np.uint16]
    """Ids of the symbols; everywhere else a symbol is its place in here."""

    longer: Bytes
    """By context, but for the longest: how many contexts have one symbol more before it."""

    before: Bytes
    """By context, but for the empty one: the symbol that it has before its shortening."""

    back_off: Bytes
    """By context: the weight of its shortening."""

    followers: Bytes
    """By context: how many symbols were seen after it."""

    symbols: Bytes
    """By context and symbol seen after it: that symbol."""

    gains: Bytes
    """And its gain."""

    @classmethod
    def of(cls, ngram: NGram) -> "PackedNGram | None":
        """An n-gram, rounded; ``None`` if it has more symbols than a byte can tell apart, or too large ids."""
        size = len(ngram.vocabulary)
        ids = np.unique(
            np.concatenate(
                [level.pair_keys % size for level in ngram.levels]
                + [level.context_keys % size for level in ngram.levels[1:]]
            )
        )
        if len(ids) > MAX_SYMBOLS or ids.max(initial=0) > _LARGEST_ID:
            return None
        places = np.zeros(size, dtype=np.uint8)
        places[ids] = np.arange(len(ids))
        longer, before, back_off, followers, symbols, gains = [], [], [], [], [], []
        for level, shorter in zip(ngram.levels, (None, *ngram.levels), strict=False):
            if shorter is not None:
                counts = np.bincount(level.context_keys // size, minlength=len(shorter.context_keys))
                longer.append(counts.astype(np.uint8))
                before.append(places[level.context_keys % size])
            counts = np.bincount(level.pair_keys // size, minlength=len(level.context_keys))
            followers.append(counts.astype(np.uint8))
            back_off.append(_encode(level.back_off))
            symbols.append(places[level.pair_keys % size])
            gains.append(_encode(level.gains))
        empty = np.zeros(0, dtype=np.uint8)
        return cls(
            ids.astype(np.uint16),
            *(np.concatenate([empty, *part]) for part in (longer, before, back_off, followers, symbols, gains)),
        )

    def unpack(self, vocabulary: Vocabulary) -> NGram:
        """The n-gram over a vocabulary whose first ids are those that it was counted with.

        Raises:
            ValueError: if the parts do not fit together.
        """
        levels = list(self._levels(len(vocabulary)))
        return NGram(vocabulary, levels, Smoothing.KNESER_NEY)

    def _levels(self, size: int) -> Iterator[NGramLevel]:
        alphabet = self.alphabet.astype(np.int64)
        if len(alphabet) and not (int(alphabet[0]) >= END and int(alphabet[-1]) < size):
            raise ValueError("symbols outside the vocabulary")
        if (np.diff(alphabet) <= 0).any():
            raise ValueError("symbols out of order")
        for places in (self.before, self.symbols):
            if len(places) and int(places.max()) >= len(alphabet):
                raise ValueError("symbols outside the alphabet")
        values, weights = _decode(self.gains), np.minimum(_decode(self.back_off), _MOST_BACK_OFF)
        first_context = first_pair = 0
        keys = np.zeros(1, dtype=np.int64)
        for _ in range(MAX_ORDER):
            num_contexts = len(keys)
            followers = self.followers[first_context : first_context + num_contexts].astype(np.int64)
            num_pairs = int(followers.sum())
            pairs = slice(first_pair, first_pair + num_pairs)
            symbols, gains = alphabet[self.symbols[pairs]], values[pairs]
            back_off = weights[first_context : first_context + num_contexts]
            if not len(followers) == len(back_off) == num_contexts or not len(symbols) == len(gains) == num_pairs:
                raise ValueError("fewer contexts or symbols than announced")
            owners = np.repeat(np.arange(num_contexts), followers)
            total = np.bincount(owners, weights=gains, minlength=num_contexts)
            back_off = np.where(followers > 0, back_off, 1.0)
            scale = (1 - back_off) / np.maximum(total, _SMALLEST)
            yield NGramLevel(keys, back_off, owners * size + symbols, gains * scale[owners])
            longer = self.longer[first_context : first_context + num_contexts].astype(np.int64)
            first_context, first_pair = first_context + num_contexts, first_pair + num_pairs
            if not len(longer):  # the longest have no longer ones
                break
            if len(longer) != num_contexts:
                raise ValueError("fewer contexts than announced")
            first_before = first_context - 1
            before = alphabet[self.before[first_before : first_before + int(longer.sum())]]
            if len(before) != int(longer.sum()):
                raise ValueError("fewer contexts than announced")
            keys = np.repeat(np.arange(num_contexts), longer) * size + before
        whole = first_context == len(self.followers) == len(self.back_off) == len(self.before) + 1
        if not whole or not first_pair == len(self.symbols) == len(self.gains):
            raise ValueError("more contexts or symbols than announced")

    def parts(self) -> dict[str, NDArray[Any]]:
        """The arrays, by their names."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @classmethod
    def from_parts(cls, arrays: Mapping[str, NDArray[Any]], *, vocabulary_size: int, name: str) -> "PackedNGram":
        """The n-gram that :meth:`parts` took apart.

        Raises:
            StorageError: if something is missing or does not fit; ``name`` says what is damaged.
        """
        wanted = {part.name: np.uint16 if part.name == "alphabet" else np.uint8 for part in fields(cls)}
        if set(arrays) != set(wanted) or any(
            arrays[part].dtype != kind or arrays[part].ndim != 1 for part, kind in wanted.items()
        ):
            raise StorageError(f"{name}: damaged n-gram; wanted {', '.join(wanted)}, as bytes")
        made = cls(**arrays)
        try:
            levels = list(made._levels(vocabulary_size))
        except ValueError as error:
            raise StorageError(f"{name}: damaged n-gram ({error})") from error
        for level in levels:
            if any((np.diff(keys) <= 0).any() for keys in (level.context_keys, level.pair_keys)):
                raise StorageError(f"{name}: damaged n-gram (symbols out of order)")
        return made


def _encode(shares: NDArray[np.float64]) -> Bytes:
    """Shares as steps of their logarithm, from the smallest that can be told to one."""
    depths = np.log(np.clip(shares, _SMALLEST, 1.0)) / np.log(_SMALLEST)  # 1 to 0
    codes: Bytes = np.rint((1 - depths) * (_NUM_CODES - 1)).astype(np.uint8)
    return codes


def _decode(codes: Bytes) -> NDArray[np.float64]:
    values: NDArray[np.float64] = _SMALLEST ** (1 - codes.astype(np.float64) / (_NUM_CODES - 1))
    return values
