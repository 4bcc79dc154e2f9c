"""``protoglot study``: validate, run, status, rows, report."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from protoglot.cli.main import EXIT_INTERRUPTED
from protoglot.cli.output import make_table, print_table, progress_over

if TYPE_CHECKING:
    from protoglot.study.progress import Snapshot, Watcher
    from protoglot.study.session import Study
    from protoglot.study.store import Store

EXIT_FAILURES = 1
_SECONDS_BETWEEN_LINES = 30.0
_SECONDS_BETWEEN_LOOKS = 2.0

_config_argument = click.argument("config_path", metavar="CONFIG", type=click.Path(path_type=Path, dir_okay=False))
_directory_argument = click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
_corpus_option = click.option(
    "--corpus", "corpus_name", metavar="NAME|PATH", help="Where the text is, unless CONFIG says so."
)


@click.group()
def study() -> None:
    """Many languages, methods and samples: planned as data, run unit by unit, stopped and continued at will.

    A study is a TOML file. Each of its units of work is kept under a key made of all that decides its outcome, so
    that nothing is done twice and nothing counts half.
    """


@study.command()
@_config_argument
@_corpus_option
def validate(config_path: Path, corpus_name: str | None) -> None:
    """Check a study and show what it would do and cost; nothing is run.

    \b
    Examples:
      protoglot study validate configs/eld-quick.toml
      protoglot study validate configs/bible77-plain.toml --corpus ~/bible77
    """
    from protoglot.study.costs import estimate
    from protoglot.study.plan import UnitKind
    from protoglot.study.session import plan_study
    from protoglot.training.monitor import format_seconds

    config, plan = plan_study(config_path, corpus_name)
    table = make_table("units of work", "number", "each", "together", numeric=("number", "each", "together"))
    for kind in UnitKind:
        seconds = [estimate(unit) for unit in plan if unit.kind is kind]
        if seconds:
            together = sum(seconds)
            table.add_row(
                str(kind),
                f"{len(seconds):,}",
                format_seconds(together / len(seconds)),
                format_seconds(together),
            )
    total = sum(estimate(unit) for unit in plan)
    print_table(
        f"{config_path}: study {config.name}, {len(plan):,} units of work",
        table,
        f"about {format_seconds(total)} on two cores (a guess, made better by study status while it runs)",
    )


@study.command()
@_config_argument
@click.option(
    "--out",
    "directory",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Directory of the study, new or to be continued.",
)
@_corpus_option
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@click.option("--threads", type=click.IntRange(1), help="CPU threads of each [default: cores / workers].")
def run(config_path: Path, directory: Path, corpus_name: str | None, workers: int, threads: int | None) -> int:
    """Run a study, or go on with it.

    Ctrl-C saves and stops; after that, or a crash, or a power cut, the same command goes on. Several
    such commands may share a directory. Units that failed are listed with their reasons, and the rest goes on; the
    next run tries them again. At the end all result rows are gathered in DIR/rows.jsonl.gz.

    \b
    Examples:
      protoglot study run configs/eld-quick.toml --out studies/eld
      protoglot study run configs/bible77-plain.toml --corpus ~/bible77 --out bible --workers 2
    """
    import os

    from protoglot.cli.stopping import stop_on_signals
    from protoglot.study.progress import State, Watcher
    from protoglot.study.scheduling import run_units
    from protoglot.study.session import note_environment, start_study

    with contextlib.ExitStack() as stack:
        step: Callable[[str], None] = lambda code: None  # noqa: E731 - replaced as soon as the number is known

        def on_languages(number: int) -> None:
            nonlocal step
            step = stack.enter_context(progress_over(number, "reading"))

        found, store = start_study(
            config_path,
            corpus_name,
            directory,
            on_language=lambda code: step(code),
            on_languages=on_languages,
        )
    watcher = Watcher(store, found.plan, num_workers=workers)
    before = watcher.look().count(State.DONE)
    if before < len(found.plan):
        note_environment(store, num_workers=workers, finished=False)
    facts = found.facts(threads or max((os.cpu_count() or 1) // workers, 1))
    with (
        _watch(watcher) as on_look,
        stop_on_signals(lambda: click.echo("stopping, and saving what is done ...", err=True)) as stop_asked,
    ):
        run_units(found.plan, facts, directory, num_workers=workers, on_look=on_look, stop_asked=stop_asked)
    last = watcher.look()
    if last.count(State.DONE) > before:
        note_environment(store, num_workers=workers, finished=True)
    number = found.write_rows(store)
    click.echo(f"{directory}: {_counts(last)}; {number:,} rows in {store.path / 'rows.jsonl.gz'}")
    _list_failures(found, store, limit=10)
    if stop_asked() and last.count(State.WAITING):
        click.echo("Go on with the same command.")
        return EXIT_INTERRUPTED
    if last.count(State.WAITING):  # somebody ended the workers
        click.echo("Not all is done. Go on with the same command.")
        return EXIT_INTERRUPTED
    click.echo(f"Make the report: protoglot study report {directory}")
    return EXIT_FAILURES if last.count(State.FAILED) else 0


@study.command()
@_directory_argument
def status(directory: Path) -> None:
    """How far a study is, what failed and why, and how long the rest will take.

    \b
    Example:
      protoglot study status studies/bible
    """
    from protoglot.study.plan import UnitKind
    from protoglot.study.progress import State, Watcher
    from protoglot.study.session import open_study
    from protoglot.training.monitor import format_seconds

    found, store = open_study(directory)
    look = Watcher(store, found.plan, num_workers=store.environment().workers).look()
    columns = (*State, "each", "still to do")
    table = make_table("units of work", *columns, numeric=columns)
    for kind in UnitKind:
        names = [unit.name for unit in found.plan if unit.kind is kind]
        if not names:
            continue
        each = sum(look.expected[name] for name in names) / len(names)
        left = sum(look.expected[name] for name in names if look.states[name] in (State.WAITING, State.RUNNING))
        counts = [sum(look.states[name] is state for name in names) for state in State]
        table.add_row(str(kind), *(f"{count:,}" for count in counts), format_seconds(each), format_seconds(left))
    running = "".join(
        f"\nrunning for {format_seconds(time.time() - each.started)}: {each.name}" for each in look.running
    )
    print_table(
        f"{directory}: study {found.config.name} on {found.text.corpus}",
        table,
        f"{_counts(look)}; about {format_seconds(look.seconds_left)} left{running}",
    )
    _list_failures(found, store)


@study.command()
@_directory_argument
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="FILE.jsonl or FILE.jsonl.gz [default: DIR/rows.jsonl.gz].",
)
def rows(directory: Path, out: Path | None) -> None:
    """Gather the result rows of the units that are done.

    The same results give the same bytes.

    \b
    Example:
      protoglot study rows studies/bible --out bible.jsonl.gz
    """
    from protoglot.study.session import open_study
    from protoglot.study.store import ROWS

    found, store = open_study(directory)
    number = found.write_rows(store, out)
    click.echo(f"{out or directory / ROWS}: {number:,} rows")


@study.command()
@_directory_argument
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory of the report [default: DIR/report].",
)
def report(directory: Path, out: Path | None) -> None:
    """Write a study's report: tables and figures, from its rows alone.

    \b
    Example:
      protoglot study report studies/bible --out report
    """
    from importlib import import_module

    from protoglot.study.session import open_study
    from protoglot.study.store import ROWS

    found, store = open_study(directory)
    found.write_rows(store)
    write_report = import_module("protoglot.report.write").write_report
    click.echo(f"{write_report(directory / ROWS, out or directory / 'report')}: the report")


def _counts(look: "Snapshot") -> str:
    """``12 of 30 units done, 2 running, 1 failed``."""
    from protoglot.study.progress import State

    words = [f"{look.count(State.DONE):,} of {len(look.states):,} units done"]
    words += [
        f"{look.count(state):,} {state}"
        for state in (State.RUNNING, State.FAILED, State.BLOCKED)
        if look.count(state)
    ]
    return ", ".join(words)


def _list_failures(found: "Study", store: "Store", *, limit: int | None = None) -> None:
    """Print what failed and why, on standard error."""
    failures = [(unit.name, failure) for unit in found.plan if (failure := store.failure(unit.key)) is not None]
    for name, failure in failures[:limit]:
        click.echo(f"failed: {name}: {failure.reason}", err=True)
    if limit is not None and len(failures) > limit:
        click.echo(f"... and {len(failures) - limit:,} more: protoglot study status {store.path}", err=True)


@contextlib.contextmanager
def _watch(watcher: "Watcher") -> Iterator[Callable[[], None]]:
    """Progress on standard error: a bar on a terminal, a line every half minute elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from protoglot.study.progress import State
    from protoglot.training.monitor import format_seconds

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    columns = (
        TextColumn("units"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[status]}", markup=False),
    )
    shown = 0.0
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("units", total=None, status="starting")

        def on_look() -> None:
            nonlocal shown
            between = _SECONDS_BETWEEN_LOOKS if console.is_terminal else _SECONDS_BETWEEN_LINES
            now = time.monotonic()
            if shown and now - shown < between:
                return
            shown = now
            look = watcher.look()
            left = f"about {format_seconds(look.seconds_left)} left"
            if console.is_terminal:
                names = "; ".join(each.name for each in look.running)
                bar.update(
                    task,
                    total=len(look.states),
                    completed=look.count(State.DONE),
                    status=f"{_counts(look)}, {left}: {names}",
                )
            else:
                click.echo(f"{_counts(look)}, {left}", err=True)

        yield on_look
