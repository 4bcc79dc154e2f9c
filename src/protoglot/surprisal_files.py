"""Surprisal of every character and word in files for other programs, written as the lines come."""

import csv
import io
import json
from collections.abc import Callable
from typing import Protocol

from protoglot.surprisal import LineSurprisal, WordSurprisal

END = "<end>"
"""Stands for the end of a line where its bits are."""

COLUMNS = ("text", "line", "word_number", "word", "position", "character", "bits", "word_bits")


class SurprisalFile(Protocol):
    """What takes texts, line by line, and writes them down."""

    def add_text(self, name: str) -> None:
        """Begin a text."""
        ...

    def add(self, line: LineSurprisal) -> None:
        """Take the next line of the text."""
        ...

    def finish(self) -> None:
        """Write what is written last."""
        ...


class TabSeparated:
    """A row for each character and end of a line, quoted where needed as in CSV.

    The bits of a word stand in the row of the blank or end that ends it, and in no other: so the columns ``bits`` and
    ``word_bits`` each add up to the bits of the text.

    Args:
        write: takes the pieces of the file.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._name = ""
        self._write_rows([COLUMNS])

    def add_text(self, name: str) -> None:
        """Begin a text."""
        self._name = name

    def add(self, line: LineSurprisal) -> None:
        """Write the rows of a line."""
        self._write_rows(
            [
                (
                    self._name,
                    line.number,
                    number,
                    word.text,
                    word.start + offset + 1,
                    character,
                    f"{bits:.6f}",
                    f"{word.total_bits:.6f}" if offset == len(word.bits) - 1 else "",
                )
                for number, word in enumerate(line.words(), start=1)
                for offset, (character, bits) in enumerate(_characters(word, line))
            ]
        )

    def finish(self) -> None:
        """Nothing is missing."""

    def _write_rows(self, rows: list[tuple[object, ...]]) -> None:
        buffer = io.StringIO()
        csv.writer(buffer, dialect="excel-tab", lineterminator="\n").writerows(rows)
        self._write(buffer.getvalue())


class NestedJson:
    """A list of lines with their words with their characters.

    Args:
        write: takes the pieces of the file.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._name = ""
        self._separator = "[\n"

    def add_text(self, name: str) -> None:
        """Begin a text."""
        self._name = name

    def add(self, line: LineSurprisal) -> None:
        """Write the object of a line."""
        value = {
            "text": self._name,
            "line": line.number,
            "sentence": line.text,
            "bits": line.total_bits,
            "words": [
                {
                    "word": word.text,
                    "bits": word.total_bits,
                    "characters": [
                        {"character": character, "bits": bits} for character, bits in _characters(word, line)
                    ],
                }
                for word in line.words()
            ],
        }
        self._write(self._separator + json.dumps(value, ensure_ascii=False))
        self._separator = ",\n"

    def finish(self) -> None:
        """Close the list."""
        self._write("[]\n" if self._separator == "[\n" else "\n]\n")


def _characters(word: WordSurprisal, line: LineSurprisal) -> list[tuple[str, float]]:
    """Characters of a word and what ends it, with their bits."""
    whole = [*line.text[word.start : word.start + len(word.bits)]]
    if len(whole) < len(word.bits):
        whole.append(END)
    return list(zip(whole, word.bits.tolist(), strict=True))
