"""Tables, and their forms: Markdown, CSV, LaTeX and HTML.

What is not there is shown as a dash in the forms for people, and left empty in CSV; it is never a number.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from protoglot.report.markup import Markup, element, showable

MISSING = "–"

_DIGITS = 3  # after the point, as in the paper's tables
_NUMBER = re.compile(r"[-+]?\d[\d.,]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: its heading for people and its key for programs."""

    key: str
    heading: str
    group: str = ""
    """Heading over several neighbouring columns."""

    numeric: bool = True


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells, and summary rows that stay below them however they are sorted."""

    name: str
    """Name of its files."""

    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    summary: tuple[tuple[Cell, ...], ...] = ()
    prose: bool = False
    """Whether it has sentences in it, which may wrap."""


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


def mark_best(cells: Sequence[Cell], groups: Sequence[Iterable[int]]) -> tuple[Cell, ...]:
    """Mark the lowest number of each group of cells, as shown: cells that look the same are both best.

    A group with a single number has no best. Averages with a note, which are over some of the languages only, are not
    compared with those over all, or over another number.
    """
    marked = list(cells)
    for group in groups:
        present = [index for index in group if marked[index].value is not None]
        if len({marked[index].note for index in present}) > 1:
            present = [index for index in present if not marked[index].note]
        shown = {index: round(marked[index].value or 0.0, _DIGITS) for index in present}
        if len(present) > 1:
            for index in present:
                marked[index] = replace(marked[index], best=shown[index] == min(shown.values()))
    return tuple(marked)


def as_csv(table: Table) -> str:
    """The table for programs, in full precision, with standard errors in columns of their own."""
    with_error = [
        any(row[index].standard_error is not None for row in table.rows) for index in range(len(table.columns))
    ]
    heading: list[str] = []
    for column, has_error in zip(table.columns, with_error, strict=True):
        key = _harmless(column.key)  # a language's code may be one
        heading += [key, f"{key}_standard_error"] if has_error else [key]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(heading)
    for row in table.rows:
        line: list[str] = []
        for column, has_error, cell in zip(table.columns, with_error, row, strict=True):
            line.append(_csv_value(cell, column))
            if has_error:
                line.append("" if cell.standard_error is None else repr(cell.standard_error))
        writer.writerow(line)
    return buffer.getvalue()


def as_markdown(table: Table) -> str:
    """The table in Markdown; the best are bold."""
    lines = [
        "| " + " | ".join(_escape_markdown(_flat_heading(column)) for column in table.columns) + " |",
        "|" + "|".join("---:" if column.numeric else "---" for column in table.columns) + "|",
    ]
    for row in (*table.rows, *table.summary):
        cells = [_escape_markdown(_shown(cell)) for cell in row]
        cells = [f"**{text}**" if cell.best else text for cell, text in zip(row, cells, strict=True)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def as_latex(table: Table) -> str:
    """The table in LaTeX, for the packages booktabs and longtable; the best are bold."""
    kinds = "".join("r" if column.numeric else "l" for column in table.columns)
    lines = [
        "% needs \\usepackage{booktabs,longtable}",
        f"\\begin{{longtable}}{{{kinds}}}",
        f"\\caption{{{_escape_latex(table.caption)}}}\\\\",
        "\\toprule",
        " & ".join(_escape_latex(_flat_heading(column)) for column in table.columns) + r" \\",
        "\\midrule",
        "\\endhead",
        *(_latex_row(row) for row in table.rows),
    ]
    if table.summary:
        lines += ["\\midrule", *(_latex_row(row) for row in table.summary)]
    return "\n".join([*lines, "\\bottomrule", "\\end{longtable}"]) + "\n"


def as_html(table: Table) -> Markup:
    """The table as HTML, in a box that scrolls sideways; a script of the page makes its columns sortable."""
    grouped = any(column.group for column in table.columns)
    heads = [_html_group_row(table.columns)] if grouped else []
    heads.append(
        element(
            "tr",
            [
                element("th", column.heading, scope="col", class_="number" if column.numeric else None)
                for column in table.columns
            ],
        )
    )
    summary = element("tfoot", [_html_row(row, table.columns) for row in table.summary]) if table.summary else None
    classes = [*(["sortable"] if len(table.rows) > 1 else []), *(["prose"] if table.prose else [])]
    body = element(
        "table",
        element("caption", table.caption),
        element("thead", heads),
        element("tbody", [_html_row(row, table.columns) for row in table.rows]),
        summary,
        class_=" ".join(classes) or None,
    )
    return element("div", body, class_="scroll", tabindex="0", role="region", aria_label=table.title)


def _html_group_row(columns: Sequence[Column]) -> Markup:
    spans: list[tuple[str, int]] = []
    for column in columns:
        if spans and column.group and spans[-1][0] == column.group:
            spans[-1] = (column.group, spans[-1][1] + 1)
        else:
            spans.append((column.group, 1))
    cells = [
        element("th", group, scope="colgroup", colspan=str(span), class_="group") if group else element("td")
        for group, span in spans
    ]
    return element("tr", cells)


def _html_row(row: Sequence[Cell], columns: Sequence[Column]) -> Markup:
    cells = []
    for index, (cell, column) in enumerate(zip(row, columns, strict=True)):
        text: Markup = (
            element("bdi", cell.text)
            if cell.value is None and cell.text != MISSING
            else element("strong" if cell.best else "span", cell.text)
        )
        error = None if cell.standard_error is None else element("small", f" ±{cell.standard_error:.{_DIGITS}f}")
        note = element("small", f" ({cell.note})") if cell.note else None
        classes = " ".join(name for name in ("number" if column.numeric else "", cell.tone) if name)
        is_heading = index == 0 and not column.numeric
        cells.append(
            element(
                "th" if is_heading else "td",
                text,
                error,
                note,
                scope="row" if is_heading else None,
                class_=classes or None,
                data_value=None if cell.value is None else repr(cell.value),
            )
        )
    return element("tr", cells)


def _flat_heading(column: Column) -> str:
    return f"{column.group} {column.heading}".strip()


def _shown(cell: Cell) -> str:
    error = "" if cell.standard_error is None else f" ±{cell.standard_error:.{_DIGITS}f}"
    return f"{cell.text}{error}{f' ({cell.note})' if cell.note else ''}"


def _csv_value(cell: Cell, column: Column) -> str:
    if cell.value is not None:
        return repr(cell.value)
    if cell.text == MISSING:
        return ""
    return cell.text if column.numeric or _NUMBER.fullmatch(cell.text) else _harmless(cell.text)


def _harmless(text: str) -> str:
    """Words that a spreadsheet does not take for a formula, which it would run."""
    return f"'{showable(text)}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else showable(text)


def _escape_markdown(text: str) -> str:
    escaped = re.sub(r"([\\`*_{}\[\]<>|#~$])", r"\\\1", " ".join(showable(text).split()))
    return escaped.replace("&", "&amp;")


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "±": r"$\pm$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{character: f"{{{character}}}" for character in "[]"},  # after \\ they would be its argument
}


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in " ".join(showable(text).split()))


def _latex_row(row: Sequence[Cell]) -> str:
    cells = [_escape_latex(_shown(cell)) for cell in row]
    cells = [f"\\textbf{{{text}}}" if cell.best else text for cell, text in zip(row, cells, strict=True)]
    return " & ".join(cells) + r" \\"
