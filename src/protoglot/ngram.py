r"""Interpolated character n-grams: the rival that every neural few-shot score is shown beside.

One recursion serves all smoothings. For a context :math:`h` of k symbols and its shortening :math:`h'`,

.. math:: P_k(c \mid h) = a_k(h, c) + b_k(h) \, P_{k-1}(c \mid h'), \qquad P_{-1}(c) = 1 / (V - 1)

where the smoothing decides on the gains a and the back-off weights b, with
:math:`\sum_c a_k(h, c) + b_k(h) = 1`; a context that was never seen has a = 0 and b = 1. So the model is proper by
construction.

A context reaches back to the END before its sentence and no further: sentences of a sample are in no order.

Everything is a sorted array. A context of k symbols is a pair (its last k - 1 symbols, by their number among the
contexts of that length; the symbol before them), which makes one integer: contexts are found exactly, without
hashing, for all positions of a text at once.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protoglot.artefacts import HEADER, load_artefact, save_artefact
from protoglot.errors import ConfigError, StorageError, VocabularyError
from protoglot.scores import Score
from protoglot.vocabulary import BEGIN, END, Vocabulary

KIND = "n-gram"
MAX_ORDER = 12
_NUM_UNPREDICTED = BEGIN + 1
_PARTS = ("context_keys", "back_off", "pair_keys", "gains")

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Smoothing(StrEnum):
    """How counts become probabilities."""

    WITTEN_BELL = "witten-bell"
    """Room for the unseen in proportion to the number of different symbols seen after a context."""

    KNESER_NEY = "kneser-ney"
    """Three discounts from counts of counts (Chen and Goodman 1999); shorter contexts count longer ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NGramConfig:
    """Which n-gram."""

    order: int = 6
    """Symbols of the longest context, plus one."""

    smoothing: Smoothing = Smoothing.KNESER_NEY

    def __post_init__(self) -> None:
        if type(self.order) is not int or not 1 <= self.order <= MAX_ORDER:
            raise ConfigError(f"n-gram: order {self.order!r}; wanted 1 to {MAX_ORDER}")

    def to_json(self) -> dict[str, object]:
        """The settings as JSON values."""
        return {"order": self.order, "smoothing": str(self.smoothing)}

    @classmethod
    def from_json(cls, value: object, *, name: str) -> "NGramConfig":
        """The settings that :meth:`to_json` wrote.

        Raises:
            ConfigError: if they are anything else; ``name`` says where they were found.
        """
        if not isinstance(value, Mapping) or set(value) != {"order", "smoothing"}:
            raise ConfigError(f"{name}: not settings of an n-gram; wanted order and smoothing")
        try:
            return cls(order=value["order"], smoothing=Smoothing(value["smoothing"]))
        except ValueError as error:
            raise ConfigError(f"{name}: {error}; wanted one of {', '.join(Smoothing)}") from error
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from error


@dataclass(frozen=True, slots=True)
class NGramLevel:
    """All contexts of k symbols, and what was seen after them."""

    context_keys: Ints  # sorted
    back_off: Floats  # b, by number of the context
    pair_keys: Ints  # sorted: number of the context, and the symbol after it
    gains: Floats  # a, by pair


class NGram:
    """A character n-gram model over an open vocabulary.

    Args:
        vocabulary: its characters.
        levels: contexts of 0, 1, ... symbols.
    """

    def __init__(self, vocabulary: Vocabulary, levels: Sequence[NGramLevel], smoothing: Smoothing) -> None:
        self.vocabulary = vocabulary
        self.smoothing = smoothing
        self.levels = tuple(levels)
        self._size = len(vocabulary)

    @property
    def order(self) -> int:
        """Symbols of the longest context, plus one."""
        return len(self.levels)

    @classmethod
    def train(
        cls,
        sentences: Iterable[str],
        vocabulary: Vocabulary,
        *,
        order: int,
        smoothing: Smoothing = Smoothing.WITTEN_BELL,
    ) -> "NGram":
        """Count some sentences, from one to a whole Bible.

        Args:
            sentences: to count.
            vocabulary: its characters.
            order: symbols of the longest context, plus one.
            smoothing: how counts become probabilities.

        Raises:
            ConfigError: for an order out of range.
        """
        NGramConfig(order=order, smoothing=smoothing)
        text = _Text.of(sentences, vocabulary)
        size = len(vocabulary)
        numbers = np.zeros(len(text.symbols), dtype=np.int64)  # of the context at each position; -1: none
        counted: list[tuple[Ints, Ints, Ints]] = []  # context keys, pair keys, counts
        context_keys: Ints = np.zeros(1, dtype=np.int64)
        for length in range(order):
            if length:
                keys = text.context_keys(numbers, length, size)
                context_keys = np.unique(keys[keys >= 0])
                numbers = _find(context_keys, keys)
            present = numbers >= 0
            pair_keys, counts = np.unique(numbers[present] * size + text.symbols[present], return_counts=True)
            counted.append((context_keys, pair_keys, counts))
        if smoothing is Smoothing.KNESER_NEY:
            counted = _count_contexts(counted, size)
        weigh = _witten_bell if smoothing is Smoothing.WITTEN_BELL else _kneser_ney
        levels = []
        for context_keys, pair_keys, counts in counted:
            gains, back_off = weigh(pair_keys // size, counts.astype(np.float64), len(context_keys))
            levels.append(NGramLevel(context_keys, back_off, pair_keys, gains))
        return cls(vocabulary, levels, smoothing)

    def nats(self, sentences: Sequence[str]) -> Floats:
        """Cost of every character and END of some sentences, naming of unknown characters not included."""
        text = _Text.of(sentences, self.vocabulary)
        probability = np.full(len(text.symbols), 1.0 / (self._size - _NUM_UNPREDICTED))
        for level, numbers in self._walk(text):
            seen = np.flatnonzero(numbers >= 0)
            pairs = _find(level.pair_keys, numbers[seen] * self._size + text.symbols[seen])
            gain = np.where(pairs >= 0, level.gains[pairs], 0.0)
            probability[seen] = gain + level.back_off[numbers[seen]] * probability[seen]
        nats: Floats = -np.log(probability)
        return nats

    def depths(self, sentences: Sequence[str]) -> Ints:
        """Length of the longest context seen in training, for every character and END of some sentences."""
        text = _Text.of(sentences, self.vocabulary)
        depths = np.zeros(len(text.symbols), dtype=np.int64)
        for length, (_, numbers) in enumerate(self._walk(text)):
            depths[numbers >= 0] = length
        return depths

    def score(self, sentences: Sequence[str]) -> Score:
        """What the model pays for sentences, each on its own; characters outside the inventory are named too."""
        nats = math.fsum(self.nats(sentences).tolist())
        others = "".join(self.vocabulary.encode(sentence).others for sentence in sentences)
        num_characters = sum(len(sentence) + 1 for sentence in sentences)
        return Score(nats + self.vocabulary.others_nats(others), num_characters)

    def distributions(self, sentence: str) -> tuple[Floats, Ints]:
        """Next-symbol distributions along a sentence.

        Returns:
            Probabilities of all ids that can be predicted, (T + 1, V - 1), id v at position v - 1; and the length
            of the longest context seen in training at each position, (T + 1,).
        """
        pieces = [(found[:, -1], depth) for found, depth in self.by_order([sentence])]
        return np.concatenate([found for found, _ in pieces]), np.concatenate([depth for _, depth in pieces])

    def by_order(
        self, sentences: Sequence[str], *, positions_at_once: int = 1024
    ) -> Iterator[tuple[Floats, Ints]]:
        """Next-symbol distributions of the models of order 1, 2, ... that this one is built on, along a text.

        Args:
            sentences: the text; each sentence is predicted on its own.
            positions_at_once: bounds memory.

        Yields:
            For the next N positions, probabilities of all ids that can be predicted, (N, order, V - 1), and the
            length of the longest context seen in training, (N,).
        """
        text = _Text.of(sentences, self.vocabulary)
        walked = list(self._walk(text))
        for first in range(0, len(text.symbols), positions_at_once):
            yield self._by_order(
                [(level, numbers[first : first + positions_at_once]) for level, numbers in walked]
            )

    def _by_order(self, walked: Sequence[tuple[NGramLevel, Ints]]) -> tuple[Floats, Ints]:
        """Distributions of each order at positions whose contexts are known by number."""
        num_positions = len(walked[0][1])
        found = np.empty((num_positions, self.order, self._size - 1))
        below = np.full((num_positions, self._size - 1), 1.0 / (self._size - _NUM_UNPREDICTED))
        depth = np.zeros(num_positions, dtype=np.int64)
        for length, (level, numbers) in enumerate(walked):
            seen = np.flatnonzero(numbers >= 0)
            back_off = np.ones((num_positions, 1))
            back_off[seen, 0] = level.back_off[numbers[seen]]
            below = np.multiply(below, back_off, out=found[:, length])
            rows, symbols, gains = self._gains(level, numbers, seen)
            below[rows, symbols] += gains
            depth[seen] = length
        return found, depth

    def _gains(self, level: NGramLevel, numbers: Ints, seen: Ints) -> tuple[Ints, Ints, Floats]:
        """All pairs of the contexts at some positions: the position of each, its symbol as predicted, and its gain."""
        of_seen = numbers[seen]
        firsts = np.searchsorted(level.pair_keys, of_seen * self._size)
        amounts = np.searchsorted(level.pair_keys, (of_seen + 1) * self._size) - firsts
        # All pairs of all positions in one row: positions repeated, pairs counted up from the first of each.
        rows = np.repeat(seen, amounts)
        offsets = np.arange(len(rows)) - np.repeat(np.cumsum(amounts) - amounts, amounts)
        pairs = np.repeat(firsts, amounts) + offsets
        return rows, level.pair_keys[pairs] % self._size - _NUM_UNPREDICTED, level.gains[pairs]

    def _walk(self, text: "_Text") -> Iterable[tuple[NGramLevel, Ints]]:
        """Each level with the number of the context at every position, -1 where it was never seen."""
        numbers = np.zeros(len(text.symbols), dtype=np.int64)
        for length, level in enumerate(self.levels):
            if length:
                numbers = _find(level.context_keys, text.context_keys(numbers, length, self._size))
            yield level, numbers

    def parts(self) -> tuple[dict[str, object], dict[str, NDArray[Any]]]:
        """The model without its vocabulary, as JSON values and arrays."""
        arrays: dict[str, NDArray[Any]] = {}
        for length, level in enumerate(self.levels):
            for part in _PARTS:
                arrays[f"{part}_{length}"] = getattr(level, part)
        return {"order": self.order, "smoothing": str(self.smoothing)}, arrays

    @classmethod
    def from_parts(
        cls, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], vocabulary: Vocabulary, *, name: str
    ) -> "NGram":
        """The model that :meth:`parts` took apart.

        Raises:
            StorageError: if something is missing or does not fit; ``name`` says where it was found.
        """
        try:
            config = NGramConfig.from_json({key: facts[key] for key in ("order", "smoothing")}, name=name)
            levels = [
                NGramLevel(*(arrays[f"{part}_{length}"] for part in _PARTS)) for length in range(config.order)
            ]
        except (KeyError, TypeError) as error:
            raise StorageError(f"{name}: not the header of an n-gram model ({error!r})") from error
        except ConfigError as error:
            raise StorageError(str(error)) from error
        for length, level in enumerate(levels):
            _check_level(level, length, len(vocabulary), name=name)
        return cls(vocabulary, levels, config.smoothing)

    def save(self, path: Path, *, provenance: Mapping[str, object] | None = None) -> None:
        """Write the model as a directory of arrays and JSON with checksums."""
        facts, arrays = self.parts()
        save_artefact(
            path,
            kind=KIND,
            content={**facts, "vocabulary": self.vocabulary.to_json(), "provenance": dict(provenance or {})},
            tensors={"ngram": arrays},
        )

    @classmethod
    def load(cls, path: Path) -> "NGram":
        """Read a model that :meth:`save` wrote.

        Raises:
            StorageError: if it is damaged or something else.
        """
        content, tensors = load_artefact(path, kind=KIND)
        name = str(path / HEADER)
        try:
            vocabulary = Vocabulary.from_json(content["vocabulary"], name=name)
            arrays = tensors["ngram"]
        except KeyError as error:
            raise StorageError(f"{name}: not the header of an n-gram model ({error!r})") from error
        except VocabularyError as error:
            raise StorageError(str(error)) from error
        return cls.from_parts(content, arrays, vocabulary, name=name)


@dataclass(frozen=True, slots=True)
class _Text:
    """Sentences as symbols, with how far back each position may look."""

    symbols: Ints  # to predict: the characters of each sentence and END
    reach: Ints  # symbols before each position in its sentence, the END of the one before included

    @classmethod
    def of(cls, sentences: Iterable[str], vocabulary: Vocabulary) -> "_Text":
        listed = list(sentences)
        symbols = vocabulary.encode_to_array("".join(f"{sentence}\n" for sentence in listed)).astype(np.int64)
        lengths = np.array([len(sentence) + 1 for sentence in listed], dtype=np.int64)
        ends = np.cumsum(lengths) - 1
        symbols[ends] = END
        starts = np.repeat(ends + 1 - lengths, lengths)
        return cls(symbols, np.arange(len(symbols)) - starts + 1)

    def context_keys(self, numbers: Ints, length: int, size: int) -> Ints:
        """Keys of contexts of some length from the numbers of those one symbol shorter; -1 where there is none."""
        keys = np.full(len(self.symbols), -1, dtype=np.int64)
        there = np.flatnonzero((numbers >= 0) & (self.reach >= length))
        before = np.where(self.reach[there] == length, END, self.symbols[there - length])
        keys[there] = numbers[there] * size + before
        return keys


def _check_level(level: NGramLevel, length: int, size: int, *, name: str) -> None:
    """Refuse arrays that no training made: what is looked up in them must be there.

    Raises:
        StorageError: with the length of the contexts.
    """
    are_vectors = all(getattr(level, part).ndim == 1 for part in _PARTS)
    num_contexts = len(level.back_off) if are_vectors else 0
    sound = (
        are_vectors
        and level.context_keys.dtype == level.pair_keys.dtype == np.int64
        and level.back_off.dtype == level.gains.dtype == np.float64
        and len(level.context_keys) == num_contexts
        and len(level.pair_keys) == len(level.gains)
        and bool((np.diff(level.context_keys) > 0).all() and (np.diff(level.pair_keys) > 0).all())
        and (length > 0 or num_contexts == 1)
    )
    if sound and len(level.pair_keys):
        symbols = level.pair_keys % size
        sound = level.pair_keys[0] >= 0 and level.pair_keys[-1] < num_contexts * size and symbols.min() >= END
    if sound:
        mass = np.bincount(level.pair_keys // size, weights=level.gains, minlength=num_contexts)
        sound = bool(
            (level.gains >= 0).all() and (level.back_off > 0).all() and np.allclose(mass + level.back_off, 1)
        )
    if not sound:
        raise StorageError(f"{name}: damaged n-gram: contexts of {length}; wanted sorted keys and probabilities")


def _find(keys: Ints, wanted: Ints) -> Ints:
    """Positions of numbers in a sorted array, -1 where they are not in it."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    positions: Ints = np.where(keys[found] == wanted, found, -1)
    return positions


def _witten_bell(contexts: Ints, counts: Floats, num_contexts: int) -> tuple[Floats, Floats]:
    """Gains and back-off weights of Witten and Bell (1991): b = T / (N + T) for T different symbols in N."""
    total = np.bincount(contexts, weights=counts, minlength=num_contexts)
    different = np.bincount(contexts, minlength=num_contexts).astype(np.float64)
    whole = total + different
    return counts / whole[contexts], _left_over(different, whole)


def _kneser_ney(contexts: Ints, counts: Floats, num_contexts: int) -> tuple[Floats, Floats]:
    """Gains and back-off weights with the three discounts of Chen and Goodman (1999), eq. 26.

    Tiny samples may lack a count of counts; the estimate is then that of one discount, or one half.
    """
    discounts = _discounts(counts)
    taken = np.minimum(discounts[np.minimum(counts, 3).astype(np.int64)], counts)
    total = np.bincount(contexts, weights=counts, minlength=num_contexts)
    freed = np.bincount(contexts, weights=taken, minlength=num_contexts)
    return (counts - taken) / total[contexts], _left_over(freed, total)


def _left_over(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    """Shares of shorter contexts; all of it where nothing was counted, as of a text without a symbol."""
    shares: Floats = np.divide(part, whole, out=np.ones(len(whole)), where=whole > 0)
    return shares


def _discounts(counts: Floats) -> Floats:
    """Discounts of counts 0 (none), 1, 2, and 3 or more."""
    ones, twos, threes, fours = (float((counts == value).sum()) for value in (1, 2, 3, 4))
    if not ones or not twos:
        return np.array([0.0, 0.5, 0.5, 0.5])
    share = ones / (ones + 2 * twos)
    estimates = [1 - 2 * share * twos / ones]
    estimates.append(2 - 3 * share * threes / twos if threes else share)
    estimates.append(3 - 4 * share * fours / threes if threes and fours else share)
    bounded = [min(max(value, 0.05), limit - 0.05) for limit, value in enumerate(estimates, start=1)]
    return np.array([0.0, *bounded])


def _count_contexts(counted: Sequence[tuple[Ints, Ints, Ints]], size: int) -> list[tuple[Ints, Ints, Ints]]:
    """Kneser-Ney: below the longest contexts, count in how many different longer contexts a pair occurs.

    Pairs at the very start of a sentence have no longer context; they keep their counts.
    """
    changed = list(counted)
    for length in range(len(counted) - 1):
        context_keys, pair_keys, counts = counted[length]
        longer_contexts, longer_pairs, longer_counts = counted[length + 1]
        shortened = longer_contexts[longer_pairs // size] // size * size + longer_pairs % size
        positions = np.searchsorted(pair_keys, shortened)
        kinds = np.bincount(positions, minlength=len(pair_keys))
        occurrences = np.bincount(positions, weights=longer_counts, minlength=len(pair_keys)).astype(np.int64)
        changed[length] = (context_keys, pair_keys, kinds + counts - occurrences)
    return changed
