"""Tables, and their forms in files: Markdown, CSV and LaTeX; the page's template has the one in HTML.

What is not there is shown as a dash in the forms for people, and left empty in CSV; it is never a number.
"""

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from protoglot.text import showable

MISSING = "–"
BAR = "|"

_DIGITS = 3  # after the point, as in the paper's tables
_NUMBER = re.compile(r"[-+]?\d[\d.,]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A value and how it is shown."""

    text: str = MISSING
    value: float | None = None
    """The number behind the text, for sorting and for programs; ``None`` if the cell is words or missing."""

    standard_error: float | None = None
    best: bool = False
    note: str = ""
    """Words in brackets after the value."""

    tone: str = ""
    """Name of a style that underlines what the words say already."""

    @property
    def is_number(self) -> bool:
        """Whether it is a number, or is missing."""
        return self.value is not None or self.text == MISSING

    @property
    def remark(self) -> str:
        """What stands after the text: the standard error and the note."""
        error = "" if self.standard_error is None else f" ±{self.standard_error:.{_DIGITS}f}"
        return f"{error} ({self.note})" if self.note else error


Row = Mapping[str, Cell]
"""Cells by the headings of their columns."""

Record = Mapping[str, str | float | None]
"""Values by the names of their columns, for programs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells, and summary rows that stay below them however they are sorted."""

    name: str
    """Name of its files."""

    title: str
    caption: str
    rows: Sequence[Row]
    """Each has the same columns; a bar in a heading parts what stands over several neighbouring columns."""

    summary: Sequence[Row] = ()
    prose: bool = False
    """Whether it has sentences in it, which may wrap."""

    forms: tuple[str, ...] = ("md", "csv")
    """Endings of its files."""

    @property
    def columns(self) -> dict[str, bool]:
        """Headings, and whether a column has numbers or nothing in it."""
        headings = next(iter((*self.rows, *self.summary)), {})
        return {heading: all(row[heading].is_number for row in self.rows) for heading in headings}

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Headings over columns and how many columns each spans; none if no column has one."""
        over = (heading.rpartition(BAR)[0] for heading in self.columns)
        runs = [(group, len(list(members))) for group, members in groupby(over)]
        return runs if any(group for group, _ in runs) else []


def words(text: str, *, tone: str = "") -> Cell:
    """A cell of words; empty words are missing."""
    return Cell(text=showable(text) or MISSING, tone=tone)


def number(
    value: float | None, *, digits: int = _DIGITS, standard_error: float | None = None, note: str = ""
) -> Cell:
    """A cell of one number; ``None`` and what is not finite are missing."""
    if value is None or not math.isfinite(value):
        return Cell()
    return Cell(text=f"{value:,.{digits}f}", value=value, standard_error=standard_error, note=note)


def mark_best(row: Row, groups: Iterable[Iterable[str]]) -> Row:
    """Mark the lowest number of each group of columns, as shown: cells that look the same are both best.

    A group with a single number has no best. Averages with a note, which are over some of the languages only, are not
    compared with those over all, or over another number.
    """
    marked = dict(row)
    for group in groups:
        present = [heading for heading in group if row[heading].value is not None]
        if len({row[heading].note for heading in present}) > 1:
            present = [heading for heading in present if not row[heading].note]
        shown = {heading: round(row[heading].value or 0.0, _DIGITS) for heading in present}
        if len(present) > 1:
            for heading in present:
                marked[heading] = replace(row[heading], best=shown[heading] == min(shown.values()))
    return marked


def as_csv(table: Table) -> str:
    """The table for programs, in full precision, with standard errors in columns of their own."""
    headings: list[str] = []
    lines: list[list[str | float | None]] = [[] for _ in table.rows]
    for heading in table.columns:
        cells = [row[heading] for row in table.rows]
        columns = {_flat(heading): [cell.value if cell.is_number else cell.text for cell in cells]}
        if any(cell.standard_error is not None for cell in cells):
            columns[f"{_flat(heading)} standard error"] = [cell.standard_error for cell in cells]
        headings += columns
        for line, values in zip(lines, zip(*columns.values(), strict=True), strict=True):
            line += values
    return _write_csv([headings, *lines])


def records_as_csv(records: Sequence[Record]) -> str:
    """Records with the same keys, one a line."""
    return _write_csv([list(records[0]), *(list(record.values()) for record in records)])


def _write_csv(lines: Iterable[Iterable[str | float | None]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for line in lines:
        writer.writerow(_harmless(value) if isinstance(value, str) else value for value in line)
    return buffer.getvalue()


def as_markdown(table: Table) -> str:
    """The table in Markdown; the best are bold."""
    lines = [
        _markdown_row(_escape_markdown(_flat(heading)) for heading in table.columns),
        "|" + "|".join("---:" if is_number else "---" for is_number in table.columns.values()) + "|",
    ]
    lines += [_markdown_row(_texts(row, _escape_markdown, "**{}**")) for row in (*table.rows, *table.summary)]
    return "\n".join(lines) + "\n"


def as_latex(table: Table) -> str:
    """The table in LaTeX, for the packages booktabs and longtable; the best are bold."""
    kinds = "".join("r" if is_number else "l" for is_number in table.columns.values())
    lines = [
        "% needs \\usepackage{booktabs,longtable}",
        f"\\begin{{longtable}}{{{kinds}}}",
        f"\\caption{{{_escape_latex(table.caption)}}}\\\\",
        "\\toprule",
        _latex_row(_escape_latex(_flat(heading)) for heading in table.columns),
        "\\midrule",
        "\\endhead",
        *(_latex_row(_texts(row, _escape_latex, r"\textbf{{{}}}")) for row in table.rows),
        *(["\\midrule"] if table.summary else []),
        *(_latex_row(_texts(row, _escape_latex, r"\textbf{{{}}}")) for row in table.summary),
        "\\bottomrule",
        "\\end{longtable}",
    ]
    return "\n".join(lines) + "\n"


WRITERS = {"csv": as_csv, "md": as_markdown, "tex": as_latex}
"""What writes each form of a table, by the ending of its file."""


def _flat(heading: str) -> str:
    return heading.replace(BAR, " ")


def _texts(row: Row, escape: Callable[[str], str], bold: str) -> list[str]:
    texts = {heading: escape(cell.text + cell.remark) for heading, cell in row.items()}
    return [bold.format(text) if row[heading].best else text for heading, text in texts.items()]


def _harmless(text: str) -> str:
    """Words that a spreadsheet does not take for a formula, which it would run, nor for the end of a row."""
    is_formula = text.startswith(("=", "+", "-", "@", "\t", "\r")) and not _NUMBER.fullmatch(text)
    line = showable(text).replace("\r\n", "\n").replace("\r", "\n")  # csv quotes the latter alone
    return f"'{line}" if is_formula else line


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escape_markdown(text: str) -> str:
    escaped = re.sub(r"([\\`*_{}\[\]<>|#~$])", r"\\\1", " ".join(showable(text).split()))
    return escaped.replace("&", "&amp;")


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "–": "--",
        "±": r"$\pm$",
        **{character: f"\\{character}" for character in "&%$#_{}"},
        **{character: f"{{{character}}}" for character in "[]"},  # after \\ they would be its argument
    }
)


def _escape_latex(text: str) -> str:
    return " ".join(showable(text).split()).translate(_LATEX)


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"
