"""How commands show rows: a table for people, CSV or JSON for programs, a progress bar for the impatient."""

import contextlib
import csv
import io
import json
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from protoglot.errors import StorageError
from protoglot.storage import write_atomically

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn
    from rich.table import Table

Command = TypeVar("Command", bound=Callable[..., object])
Row = Mapping[str, object]

MIN_PIPED_WIDTH = 120  # a table that is not on a screen need not fit on one
_UNBOUNDED_WIDTH = 10_000


def console() -> "Console":
    """The console on standard output, which takes words as they are: no markup, no emoji codes.

    Where that is not a terminal and ``COLUMNS`` does not say how wide it is, it is wide enough for our tables.
    """
    from rich.console import Console

    found = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if not found.is_terminal and not os.environ.get("COLUMNS", "").isdecimal():
        found.width = max(found.width, MIN_PIPED_WIDTH)
    return found


def make_table(*columns: str, numeric: Collection[str] = (), whole: Collection[str] = ()) -> "Table":
    """An empty table with these headings, which wraps what does not fit and never cuts it short.

    Args:
        columns: headings.
        numeric: those of them whose cells stand at the right and on one line.
        whole: others whose cells stay on one line.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        is_number = column in numeric
        table.add_column(
            column,
            overflow="fold",
            justify="right" if is_number else "left",
            no_wrap=is_number or column in whole,
        )
    return table


def print_table(heading: str, table: "Table | None" = None, closing: str = "") -> None:
    """Print words as they are around a table; each part but the heading may be missing."""
    click.echo(heading)
    if table is not None:
        screen = console()
        screen.width = max(screen.width, _least_width(screen, table))
        # Captured, so that a reader who has gone (head, less) is dealt with as for any other output.
        with screen.capture() as printed:
            screen.print(table)
        click.echo()
        for line in printed.get().splitlines():
            click.echo(line.rstrip())
    if closing:
        click.echo(f"\n{closing}")


def _least_width(screen: "Console", table: "Table") -> int:
    """How narrow a table can be without breaking words; on a narrower screen its lines are left to run over."""
    from rich.cells import cell_len
    from rich.measure import Measurement

    for column in table.columns:
        if column.no_wrap:  # rich takes the longest word for the least width even where it may not break lines
            column.min_width = max(cell_len(str(cell)) for cell in (column.header, *column.cells))
    return Measurement.get(screen, screen.options.update(max_width=_UNBOUNDED_WIDTH), table).minimum


def print_rows(rows: Sequence[Row], form: str, *, columns: Sequence[str] | None = None) -> None:
    """Print rows for a program: ``csv`` or ``json``."""
    click.echo(to_csv(rows, columns=columns) if form == "csv" else to_json(list(rows)), nl=False)


def to_csv(rows: Sequence[Row], *, columns: Sequence[str] | None = None) -> str:
    """Rows as comma-separated values with a header; nested values are written as JSON.

    Args:
        rows: all with the same keys.
        columns: the header; the keys of the first row if not given.
    """
    names = list(columns if columns is not None else rows[0] if rows else ())
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {
            key: json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value
            for key, value in row.items()
        }
        for row in rows
    )
    return buffer.getvalue()


def to_json(value: object) -> str:
    """A value as JSON, its letters as they are."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _rows_to_json(rows: Sequence[Row]) -> str:
    return to_json(list(rows))


_WRITERS: dict[str, Callable[[Sequence[Row]], str]] = {".csv": to_csv, ".json": _rows_to_json}
_WANTED_ENDING = f"wanted a name that ends in {' or '.join(_WRITERS)}"


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write rows to a file whose ending says the form.

    Raises:
        StorageError: for another ending than ``.csv`` or ``.json``, or if the file cannot be written.
    """
    if path.suffix not in _WRITERS:
        raise StorageError(f"{path}: ending {path.suffix!r}; {_WANTED_ENDING}")
    # A name of a file that is not UTF-8 reaches us with lone surrogates, which UTF-8 has no form for.
    write_atomically(path, _WRITERS[path.suffix](rows).encode("utf-8", "backslashreplace"))


def format_option(command: Command) -> Command:
    """Add ``--format table|csv|json`` to a command."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(["table", "csv", "json"]),
        default="table",
        show_default=True,
        help="A table to read, or rows for a program.",
    )(command)


def out_option(command: Command) -> Command:
    """Add ``--out FILE`` for :func:`write_rows`; a wrong ending is refused before any work is done."""

    def check(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
        if path is not None and path.suffix not in _WRITERS:
            raise click.BadParameter(f"{path}: ending {path.suffix!r}; {_WANTED_ENDING}")
        return path

    return click.option(
        "--out",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        callback=check,
        help="Also write the rows: FILE.csv or FILE.json.",
    )(command)


@contextlib.contextmanager
def progress_over(total: int, label: str) -> Iterator[Callable[[str], None]]:
    """A progress bar on standard error with the time left; silent where that is not a terminal.

    Gives a function to call at the start of each step with a word on what it is.
    """
    if not sys.stderr.isatty():
        yield lambda what: None
        return
    from rich.progress import MofNCompleteColumn

    with _progress(MofNCompleteColumn()) as progress:
        task = progress.add_task(label, total=total)
        started = 0

        def step(what: str) -> None:
            nonlocal started
            # Drawn at once: a step may be over before the bar is drawn by itself.
            progress.update(task, completed=started, description=f"{label} {what}", refresh=True)
            started += 1

        yield step


@contextlib.contextmanager
def progress_of_amount(total: float, label: str) -> Iterator[Callable[[float], None]]:
    """A progress bar on standard error for a known amount; gives a function that takes what was done since."""
    if not sys.stderr.isatty():  # before rich is imported, which takes a while
        yield lambda amount: None
        return
    from rich.progress import TaskProgressColumn

    with _progress(TaskProgressColumn()) as progress:
        task = progress.add_task(label, total=total)
        yield lambda amount: progress.advance(task, amount)


def _progress(done: "ProgressColumn") -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    screen = Console(stderr=True)
    # Without markup: a description names the user's files.
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), done, TimeRemainingColumn())
    return Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)
