"""Characters <-> ids, for a vocabulary that is open: every string has a probability.

A vocabulary is an *inventory* of characters and three symbols beside it: begin of sentence, end of sentence and
OTHER. A character outside the inventory is coded as OTHER, and which character it is follows a fixed, proper
distribution over all remaining code points, :meth:`Vocabulary.other_nats`. Hence

* one id stands for one character, so lengths and contexts are those of the text itself;
* no string can be coded in two ways, so no probability is wasted: if a model's next-symbol distribution
  over {END, OTHER, inventory} sums to one, so do the probabilities of all strings;
* a score in bits per character divides by the characters of the original text.

BEGIN is only ever read, never predicted: models give it no probability.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from protoglot.errors import VocabularyError
from protoglot.storage import write_atomically

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BEGIN = 0
"""Id of the symbol before the first sentence."""
END = 1
"""Id of the symbol after every sentence."""
OTHER = 2
"""Id of any character outside the inventory."""
NUM_SYMBOLS = 3
"""Ids below this are symbols, all others are characters of the inventory."""

_FORMAT = "protoglot-vocabulary"
_VERSION = 1
_NUM_CODE_POINTS = 0x110000
_ROW = 64  # code points that share all but the last byte of their UTF-8 form


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text as ids, with the characters that the ids cannot tell."""

    ids: tuple[int, ...]
    """One id per character."""

    others: str = ""
    """The characters coded as OTHER, in order."""


class Vocabulary:
    """An inventory of characters with their ids.

    Args:
        characters: the inventory in the order of its ids; single characters, none twice.

    >>> vocabulary = Vocabulary.of(["naïve"])
    >>> vocabulary.encode("navy")
    Encoded(ids=(5, 3, 6, 2), others='y')
    >>> vocabulary.decode(vocabulary.encode("navy"))
    'navy'
    """

    def __init__(self, characters: Iterable[str]) -> None:
        self.characters = tuple(characters)
        self._ids = {character: id_ for id_, character in enumerate(self.characters, start=NUM_SYMBOLS)}
        for character in self.characters:
            if len(character) != 1:
                raise VocabularyError(f"vocabulary: entry {character!r}; wanted single characters")
        if len(self._ids) != len(self.characters):
            raise VocabularyError("vocabulary: a character stands in it twice; wanted each once")

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Vocabulary":
        """Inventory of all characters in some texts, ordered by code point."""
        found: set[str] = set()
        for text in texts:
            found.update(text)
        return cls(sorted(found))

    def extended(self, texts: Iterable[str]) -> "Vocabulary":
        """This vocabulary with the new characters of some texts added behind; no present id changes."""
        new: set[str] = set()
        for text in texts:
            new.update(text)
        return Vocabulary(self.characters + tuple(sorted(new - self._ids.keys())))

    def __len__(self) -> int:
        """Number of ids, the three symbols included."""
        return NUM_SYMBOLS + len(self.characters)

    def __contains__(self, character: object) -> bool:
        return character in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.characters == other.characters

    def __hash__(self) -> int:
        return hash(self.characters)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self.characters)} characters)"

    def encode(self, text: str) -> Encoded:
        """Ids of a text and the characters outside the inventory."""
        ids = tuple(self._ids.get(character, OTHER) for character in text)
        others = "".join(character for character in text if character not in self._ids)
        return Encoded(ids, others)

    def decode(self, encoded: Encoded) -> str:
        """The text that :meth:`encode` was given.

        Raises:
            VocabularyError: for ids that stand for no character, or if OTHER and ``others`` do not match.
        """
        others = iter(encoded.others)
        characters = []
        for id_ in encoded.ids:
            if id_ == OTHER:
                character = next(others, None)
                if character is None:
                    raise VocabularyError(
                        f"vocabulary: more OTHER ids than others ({len(encoded.others)}); wanted one for each"
                    )
                characters.append(character)
            elif NUM_SYMBOLS <= id_ < len(self):
                characters.append(self.characters[id_ - NUM_SYMBOLS])
            else:
                raise VocabularyError(f"vocabulary: id {id_}; wanted {OTHER} to {len(self) - 1}")
        if next(others, None) is not None:
            raise VocabularyError("vocabulary: fewer OTHER ids than characters of others; wanted one for each")
        return "".join(characters)

    def encode_to_array(self, text: str) -> "NDArray[np.int32]":
        """Ids of a long text as an array, quickly; what OTHER stands for must be taken from the text."""
        import numpy as np

        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        ids: NDArray[np.int32] = self._table[points]
        return ids

    def other_nats(self, character: str) -> float:
        r"""Cost in nats of naming a character, given that it is outside the inventory.

        :math:`q(c) = \frac12 \, n(c) + \frac12 \, u(c)`. Here :math:`n` is uniform over the unlisted code points
        in those rows of 64 code points that hold a character of the inventory (a new letter is most often a
        neighbour of known ones), and :math:`u` chooses the length of the UTF-8 form, 1 to 4 bytes, uniformly,
        then an unlisted code point of that length, uniformly. If the rows are full,
        :math:`q = u`. The sum over all unlisted code points is one.

        Raises:
            VocabularyError: for a character of the inventory.
        """
        if character in self._ids:
            raise VocabularyError(f"vocabulary: {character!r} is in the inventory; wanted a character outside it")
        point = ord(character)
        num_near, num_by_length = self._unlisted
        num_lengths = sum(number > 0 for number in num_by_length.values())
        probability = 1.0 / (num_lengths * num_by_length[_utf8_length(point)])
        if num_near:
            near = 1.0 / num_near if point // _ROW in self._rows else 0.0
            probability = 0.5 * near + 0.5 * probability
        return -math.log(probability)

    def others_nats(self, others: str) -> float:
        """Cost in nats of naming all of ``others``, one after the other."""
        return math.fsum(self.other_nats(character) for character in others)

    def to_json(self) -> dict[str, object]:
        """The vocabulary as JSON values."""
        return {"format": _FORMAT, "version": _VERSION, "characters": [ord(c) for c in self.characters]}

    @classmethod
    def from_json(cls, value: object, *, name: str = "vocabulary") -> "Vocabulary":
        """The vocabulary that :meth:`to_json` wrote.

        Args:
            value: decoded JSON.
            name: the file it comes from, for messages.

        Raises:
            VocabularyError: if it is anything else.
        """
        if not isinstance(value, dict) or value.get("format") != _FORMAT:
            raise VocabularyError(f"{name}: not a vocabulary; wanted JSON with format {_FORMAT!r}")
        if value.get("version") != _VERSION:
            raise VocabularyError(
                f"{name}: version {value.get('version')!r}; this protoglot reads version {_VERSION}"
            )
        points = value.get("characters")
        if not isinstance(points, list) or not all(
            type(point) is int and 0 <= point < _NUM_CODE_POINTS for point in points
        ):
            raise VocabularyError(f"{name}: damaged characters; wanted a list of Unicode code points")
        try:
            return cls(chr(point) for point in points)
        except VocabularyError as error:
            raise VocabularyError(f"{name}: {error}") from error

    def save(self, path: Path) -> None:
        """Write the vocabulary as JSON, whole or not at all."""
        write_atomically(path, json.dumps(self.to_json()) + "\n")

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Read a vocabulary that :meth:`save` wrote."""
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise VocabularyError(f"{path}: cannot be read ({error.strerror or error})") from error
        except (ValueError, RecursionError) as error:
            raise VocabularyError(f"{path}: not JSON; wanted a saved vocabulary") from error
        return cls.from_json(value, name=str(path))

    @cached_property
    def _table(self) -> "NDArray[np.int32]":
        """Code point -> id."""
        import numpy as np

        table = np.full(_NUM_CODE_POINTS, OTHER, dtype=np.int32)
        points = np.array([ord(character) for character in self.characters], dtype=np.int64)
        table[points] = np.arange(NUM_SYMBOLS, len(self), dtype=np.int32)
        return table

    @cached_property
    def _rows(self) -> frozenset[int]:
        """Rows of code points with a character of the inventory."""
        return frozenset(ord(character) // _ROW for character in self.characters)

    @cached_property
    def _unlisted(self) -> tuple[int, dict[int, int]]:
        """Numbers of code points outside the inventory: near it, and by length of the UTF-8 form."""
        by_length = {1: 0x80, 2: 0x800 - 0x80, 3: 0x10000 - 0x800, 4: _NUM_CODE_POINTS - 0x10000}
        for character in self.characters:
            by_length[_utf8_length(ord(character))] -= 1
        return len(self._rows) * _ROW - len(self.characters), by_length


def _utf8_length(point: int) -> int:
    """Bytes of a code point in UTF-8, surrogates counted like their neighbours."""
    return 1 + (point >= 0x80) + (point >= 0x800) + (point >= 0x10000)


def decode_ids(
    vocabulary: Vocabulary, ids: Sequence[int], *, replacement: str = "\N{REPLACEMENT CHARACTER}"
) -> str:
    """Text of ids for display: OTHER becomes a replacement character, END a line break, BEGIN nothing."""
    symbols = {BEGIN: "", END: "\n", OTHER: replacement}
    return "".join(symbols[id_] if id_ < NUM_SYMBOLS else vocabulary.characters[id_ - NUM_SYMBOLS] for id_ in ids)
