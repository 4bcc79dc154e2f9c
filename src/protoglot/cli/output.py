"""How commands show rows: a table for people, CSV or JSON for programs, a progress bar for the impatient."""

import contextlib
import csv
import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from protoglot.errors import StorageError
from protoglot.storage import write_atomically

if TYPE_CHECKING:
    from rich.console import Console

Row = Mapping[str, object]

MIN_PIPED_WIDTH = 120  # a table that is not on a screen need not fit on one


def console() -> "Console":
    """The console on standard output; wide enough for our tables where it is not a terminal."""
    from rich.console import Console

    found = Console(file=sys.stdout, highlight=False, markup=False)
    if not found.is_terminal:
        found = Console(file=sys.stdout, highlight=False, markup=False, width=max(found.width, MIN_PIPED_WIDTH))
    return found


def to_csv(rows: Sequence[Row]) -> str:
    """Rows as comma-separated values with a header; nested values are written as JSON."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {
            key: json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value
            for key, value in row.items()
        }
        for row in rows
    )
    return buffer.getvalue()


def to_json(rows: Sequence[Row]) -> str:
    """Rows as a JSON list."""
    return json.dumps(list(rows), ensure_ascii=False, indent=1) + "\n"


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write rows to a file whose ending says the form.

    Raises:
        StorageError: for another ending than ``.csv`` or ``.json``.
    """
    writers: dict[str, Callable[[Sequence[Row]], str]] = {".csv": to_csv, ".json": to_json}
    if path.suffix not in writers:
        raise StorageError(f"{path}: ending {path.suffix!r}; wanted {' or '.join(writers)}")
    write_atomically(path, writers[path.suffix](rows))


@contextlib.contextmanager
def progress_over(total: int, label: str) -> Iterator[Callable[[str], None]]:
    """A progress bar on standard error with the time left; silent where that is not a terminal.

    Gives a function to call at the start of each step with a word on what it is.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    screen = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    ) as progress:
        task = progress.add_task(label, total=total)
        started = 0

        def step(what: str) -> None:
            nonlocal started
            progress.update(task, completed=started, description=f"{label} {what}")
            started += 1

        yield step


@contextlib.contextmanager
def progress_of_amount(total: float, label: str) -> Iterator[Callable[[float], None]]:
    """A progress bar on standard error for a known amount; gives a function that takes what was done since."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    screen = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task(label, total=total)
        yield lambda amount: progress.advance(task, amount)


def format_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--format table|csv|json`` to a command."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(["table", "csv", "json"]),
        default="table",
        show_default=True,
        help="A table to read, or rows for a program.",
    )(command)
