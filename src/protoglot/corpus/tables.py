"""Small tables that describe a corpus: comma- or tab-separated values with a heading."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from protoglot.errors import CorpusError
from protoglot.text import read_lines

_MAX_LINE_CHARACTERS = 10_000


def read_table(path: Path, *, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield ``(line number, row)`` of a table; cells are stripped, and missing ones are empty.

    Tabs separate the cells if the heading has one, commas otherwise, whatever the name of the file says. Between
    commas a cell can stand in quotation marks and hold commas and line breaks; between tabs a quotation mark is a
    character like any other.

    Args:
        path: the file.
        columns: those that it must have.

    Raises:
        CorpusError: if a column is missing or the file is not such a table.
    """
    lines = (f"{line}\n" for _, line in read_lines(path, max_characters=_MAX_LINE_CHARACTERS))
    heading = next(lines, "")
    delimiter = "\t" if "\t" in heading else ","
    quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    line_number = 1
    try:
        names = csv.reader([heading], delimiter=delimiter, quoting=quoting, strict=True)
        found = [name.strip() for name in next(names, [])]
        for column in columns:
            if column not in found:
                wanted = f"wanted a column {column!r}"
                raise CorpusError(f"{path}: columns {', '.join(found) or 'nothing'}; {wanted}")
        reader = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)
        for cells in reader:
            line_number = reader.line_num + 1
            if any(cell.strip() for cell in cells):
                cells += [""] * (len(found) - len(cells))
                yield line_number, {name: cell.strip() for name, cell in zip(found, cells, strict=False)}
    except csv.Error as error:
        raise CorpusError(f"{path}: after line {line_number:,}: {error}; wanted a table of cells") from error
