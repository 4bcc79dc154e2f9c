"""Arithmetic coding of a text with a reader: as many bits as the surprisal says, and the text comes back.

Encoder and decoder do the same, character by character: ask the reader what comes next, code the character with that
distribution, let the reader read it. A character is coded in up to three parts: which of those met it is, or that it
is new; which of the characters that other languages have; which code point of all others.

Both sides must compute the very same probabilities, so a text is decoded by the release of protoglot that encoded it,
on the same kind of machine.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from protoglot.errors import StorageError
from protoglot.reading.first_occurrence import BLOCK, NEAR, NUM_CODE_POINTS
from protoglot.reading.reader import Reader

_TOTAL = 1 << 32  # that the frequencies of a distribution add up to
_WHOLE = (1 << 64) - 1
_LEAST_RANGE = 1 << 56  # below this, a byte is done
_STEP = 256  # characters between two reports of progress

Frequencies = NDArray[np.int64]


class _Coder(Protocol):
    """An encoder, which is told what comes, or a decoder, which tells it: the same calls serve both."""

    def choose(self, bounds: Frequencies, index: int | None) -> int:
        """Code one of several things.

        Args:
            bounds: (N + 1,) sums of the frequencies before each, and of all; from 0 to at most 2^32.
            index: which one it is; ``None`` when decoding.

        Returns:
            Which one it is.
        """

    def choose_evenly(self, number: int, index: int | None) -> int:
        """Code one of a number of things that are equally likely."""


class _Encoder:
    def __init__(self) -> None:
        self._low = 0
        self._range = _WHOLE
        self._bytes = bytearray()

    def choose(self, bounds: Frequencies, index: int | None) -> int:
        assert index is not None
        self._narrow(int(bounds[index]), int(bounds[index + 1]), _TOTAL)
        return index

    def choose_evenly(self, number: int, index: int | None) -> int:
        assert index is not None
        self._narrow(index, index + 1, number)
        return index

    def _narrow(self, start: int, stop: int, total: int) -> None:
        unit = self._range // total
        self._low += unit * start
        self._range = unit * (stop - start)
        if self._low > _WHOLE:
            self._carry()
        while self._range < _LEAST_RANGE:
            self._bytes.append(self._low >> 56)
            self._low = (self._low << 8) & _WHOLE
            self._range <<= 8

    def _carry(self) -> None:
        self._low &= _WHOLE
        place = len(self._bytes) - 1
        while self._bytes[place] == 255:
            self._bytes[place] = 0
            place -= 1
        self._bytes[place] += 1

    def finish(self) -> bytes:
        """The code; the decoder takes what is beyond its end for zeros."""
        highest = self._low + self._range - 1
        end = self._low
        for num_bits in range(64, -1, -1):  # as many zeros at the end as there is room for
            end = highest >> num_bits << num_bits
            if end >= self._low:
                break
        self._low = end
        if self._low > _WHOLE:
            self._carry()
        return bytes(self._bytes + self._low.to_bytes(8, "big")).rstrip(b"\0")


class _Decoder:
    def __init__(self, data: bytes) -> None:
        self._bytes = data
        self._place = 8
        self._code = int.from_bytes(data[:8].ljust(8, b"\0"), "big")  # counted from the low end of the range
        self._range = _WHOLE

    def choose(self, bounds: Frequencies, index: int | None) -> int:
        unit = self._range // _TOTAL
        found = int(np.searchsorted(bounds, self._code // unit, side="right")) - 1
        if found >= len(bounds) - 1:
            raise StorageError("damaged: a code that stands for nothing")
        self._narrow(int(bounds[found]), int(bounds[found + 1]), unit)
        return found

    def choose_evenly(self, number: int, index: int | None) -> int:
        unit = self._range // number
        found = self._code // unit
        if found >= number:
            raise StorageError("damaged: a code that stands for nothing")
        self._narrow(found, found + 1, unit)
        return found

    def _narrow(self, start: int, stop: int, unit: int) -> None:
        self._code -= unit * start
        self._range = unit * (stop - start)
        while self._range < _LEAST_RANGE:
            byte = self._bytes[self._place] if self._place < len(self._bytes) else 0
            self._code = (self._code << 8) | byte
            self._place += 1
            self._range <<= 8


def encode(text: str, reader: Reader, *, on_progress: Callable[[int], None] | None = None) -> bytes:
    """Code a text in about as many bits as its surprisal; the reader reads it.

    Args:
        text: any.
        reader: which predicts it.
        on_progress: called now and then with the number of characters done since.
    """
    coder = _Encoder()
    characters = _Characters(coder, reader)
    for start in range(0, len(text), _STEP):
        piece = text[start : start + _STEP]
        for character in piece:
            characters.code(character)
        if on_progress is not None:
            on_progress(len(piece))
    return coder.finish()


def decode(
    data: bytes, num_characters: int, reader: Reader, *, on_progress: Callable[[int], None] | None = None
) -> str:
    """The text that :func:`encode` coded; the reader reads it.

    Args:
        data: the code.
        num_characters: how long the text is.
        reader: in the very state of the one that encoded.
        on_progress: called now and then with the number of characters done since.

    Raises:
        StorageError: if the code is damaged and this shows; where it does not show, another text comes out.
    """
    characters = _Characters(_Decoder(data), reader)
    text: list[str] = []
    while len(text) < num_characters:
        size = min(_STEP, num_characters - len(text))
        text += [characters.code(None) for _ in range(size)]
        if on_progress is not None:
            on_progress(size)
    return "".join(text)


class _Characters:
    """Codes one character after another, and lets the reader read it."""

    def __init__(self, coder: _Coder, reader: Reader) -> None:
        self._coder = coder
        self._reader = reader
        self._met = reader.characters
        self._index = {character: i for i, character in enumerate(self._met)}

    def code(self, character: str | None) -> str:
        """Code a character; ``None`` when decoding."""
        column = None if character is None else self._index.get(character, -1) + 1
        column = self._coder.choose(_bounds(self._reader.predict_met()), column)
        if column > 0:
            character = self._met[column - 1]
        else:
            character = self._code_new(character)
            self._index[character] = len(self._met)
            self._met.append(character)
        self._reader.read(character)
        return character

    def _code_new(self, character: str | None) -> str:
        """Code a character that was not met before."""
        prediction = self._reader.predict()
        known = prediction.characters[len(self._met) :]
        share = np.append(prediction.probabilities[len(self._met) :], prediction.rest)
        index = None
        if character is not None:
            index = known.index(character) if character in known else len(known)
        index = self._coder.choose(_bounds(share), index)
        return known[index] if index < len(known) else self._code_outside(character)

    def _code_outside(self, character: str | None) -> str:
        """Code a character that other languages do not have either (``FirstOccurrence.log_share_outside``)."""
        code = None if character is None else ord(character)
        excluded = {ord(other) for other in (*self._met, *self._reader.scorer.first.characters)}
        blocks = {ord(other) // BLOCK for other in self._met}
        in_blocks = sorted(block * BLOCK + i for block in blocks for i in range(BLOCK))
        near = [other for other in in_blocks if other not in excluded]
        is_far = None if code is None else int(code // BLOCK not in blocks)
        is_far = self._coder.choose(_bounds(np.array([NEAR if near else 0.0, 1.0 - NEAR])), is_far)
        if not is_far:
            return chr(near[self._coder.choose_evenly(len(near), None if code is None else near.index(code))])
        # All that is left is too much to be written out: it is numbered by what is not part of it.
        gone = sorted({*in_blocks, *excluded})
        number = None if code is None else code - bisect_left(gone, code)
        number = self._coder.choose_evenly(NUM_CODE_POINTS - len(gone), number)
        # The last code point that has so many before it: each one gone puts it off.
        return chr(number + bisect_left(range(len(gone)), number + 1, key=lambda i: gone[i] - i))


def _bounds(probabilities: NDArray[np.float64]) -> Frequencies:
    """Sums of the frequencies of several things, none of which is 0."""
    room = _TOTAL - len(probabilities)
    frequencies = 1 + (probabilities * (room / probabilities.sum())).astype(np.int64)
    bounds = np.zeros(len(probabilities) + 1, np.int64)
    np.cumsum(frequencies, out=bounds[1:])
    return bounds
