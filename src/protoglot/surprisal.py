"""How surprised a model is by each character, word and line of a text, in bits.

A word is what stands between two blanks, and its bits are those of its characters *and of what ends it*, the blank or
the end of the line: only then do they say how probable the word itself is, rather than any word that begins so. Every
character of a line belongs to exactly one word, so the bits of the words of a line add up to those of its characters,
and these to those of the line.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from protoglot.scores import Score


@dataclass(frozen=True, slots=True)
class WordSurprisal:
    """A word of a line."""

    text: str
    """Without what ends it."""

    start: int
    """Position of its first character in the line."""

    bits: NDArray[np.float64]
    """Of its characters, and last of the blank or end that ends it."""

    @property
    def total_bits(self) -> float:
        """Of the whole word, what ends it included."""
        return math.fsum(self.bits.tolist())


@dataclass(frozen=True, slots=True)
class LineSurprisal:
    """A line of a text."""

    number: int
    """Of the line in its file, from 1."""

    text: str

    bits: NDArray[np.float64]
    """Of its T characters and of its end, (T + 1,)."""

    num_unknown: int
    """Characters that the model had not met before the text; for a network, those outside its inventory."""

    @property
    def total_bits(self) -> float:
        """Of the whole line, its end included."""
        return math.fsum(self.bits.tolist())

    @property
    def score(self) -> Score:
        """Log loss of the line."""
        return Score(self.total_bits * math.log(2), len(self.bits))

    def words(self) -> list[WordSurprisal]:
        """The words, which together have every character once; between two blanks there is an empty one.

        >>> line = LineSurprisal(1, "a bc", np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 0)
        >>> [(word.text, word.total_bits) for word in line.words()]
        [('a', 3.0), ('bc', 12.0)]
        """
        found = []
        start = 0
        for position, character in enumerate(f"{self.text} "):
            if character.isspace():
                found.append(WordSurprisal(self.text[start:position], start, self.bits[start : position + 1]))
                start = position + 1
        return found


class Scoring(Protocol):
    """A model that scores a running text: a reader or a network."""

    def nats_by_sentence(self, sentences: Iterable[str]) -> Iterator[tuple[str, NDArray[np.float64]]]:
        """Each sentence of T characters with the nats of these and of its end, (T + 1,)."""
        ...

    def has_met(self, character: str) -> bool:
        """Whether the model knows a character."""
        ...


def surprisals(model: Scoring, lines: Iterable[tuple[int, str]]) -> Iterator[LineSurprisal]:
    """Read a running text and say how surprising it is, line by line, in bounded memory.

    Args:
        model: whose surprisal.
        lines: numbers and sentences.
    """
    yield from line_surprisals(model.nats_by_sentence, lines, model.has_met)


def line_surprisals(
    nats_by_sentence: Callable[[Iterable[str]], Iterator[tuple[str, NDArray[np.float64]]]],
    lines: Iterable[tuple[int, str]],
    has_met: Callable[[str], bool],
) -> Iterator[LineSurprisal]:
    """The same by any way of scoring.

    Args:
        nats_by_sentence: as :meth:`Scoring.nats_by_sentence`.
        lines: numbers and sentences.
        has_met: whether a character is known.
    """
    numbers: deque[int] = deque()

    def sentences() -> Iterator[str]:
        for number, sentence in lines:
            numbers.append(number)
            yield sentence

    for sentence, nats in nats_by_sentence(sentences()):
        num_unknown = sum(not has_met(character) for character in sentence)
        yield LineSurprisal(numbers.popleft(), sentence, nats / math.log(2), num_unknown)
