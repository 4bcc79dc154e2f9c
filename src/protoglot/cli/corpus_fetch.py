"""``protoglot corpus fetch``: download a public corpus."""

import contextlib
import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from protoglot.corpus.fetching import Progress

_SOURCES = ("christos-c", "ebible")  # repeated here so that --help need not load the network


@click.command(
    epilog="Example: protoglot corpus fetch christos-c --to bibles, then protoglot corpus stats --corpus bibles"
)
@click.argument("source", type=click.Choice(_SOURCES))
@click.option(
    "--to",
    "destination",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Directory to make. It must not exist yet, or be empty.",
)
@click.option(
    "--revision",
    metavar="COMMIT",
    help="Commit id, tag or branch to fetch instead of the commit protoglot knows. Only a whole commit id (40 "
    "digits) can be checked against the archive.",
)
@click.option(
    "--sha256",
    metavar="DIGEST",
    help="Checksum the archive must have. fetch.json of an earlier fetch names the one it had; GitHub may pack "
    "the same files differently later.",
)
@click.option(
    "--url",
    "base_url",
    metavar="BASE",
    help="Mirror to fetch from, with GitHub's paths: BASE/OWNER/NAME/tar.gz/REVISION. Plain http is accepted "
    "only on this machine or with --sha256.",
)
def fetch(source: str, destination: Path, revision: str | None, sha256: str | None, base_url: str | None) -> None:
    """Download a public corpus of Bible translations from GitHub.

    \b
    christos-c  christos-c/bible-corpus: about 100 languages, XML. CC0.
    ebible      BibleNLP/ebible: more than 1,000 translations, one verse
                a line. Each has its own licence, many non-commercial.

    DIR appears only when everything is there and checked: gzip's checksum, the commit, and --sha256 if given.
    A download that is cut, by you or by the network, continues when the same command is run again. fetch.json
    in DIR records what was fetched. The archive lies beside DIR until it is unpacked: have room for both.
    """
    from protoglot.corpus import fetching

    try:
        with _progress() as on_progress:
            path = fetching.fetch(
                source,
                destination,
                revision=revision,
                sha256=sha256,
                base_url=base_url or fetching.BASE_URL,
                on_progress=on_progress,
            )
    except KeyboardInterrupt:
        partial = fetching.archive_path(destination.expanduser().absolute())
        if partial.with_name(f"{partial.name}.partial").exists():
            click.echo(f"The part downloaded is kept beside {destination}; the same command continues.", err=True)
        raise
    receipt = json.loads((path / fetching.RECEIPT).read_text(encoding="utf-8"))
    if not fetching.is_commit(receipt["revision"]):
        click.echo(
            f"Not checked against a commit: {receipt['revision']!r} is not a whole commit id "
            f"(the archive says {receipt['commit'] or 'nothing'}).",
            err=True,
        )
    click.echo(
        f"Fetched {source} at {receipt['revision'][:12]} into {destination}: {receipt['files']:,} files, "
        f"{receipt['bytes'] / 1e6:,.1f} MB downloaded. Licence: {receipt['licence']}."
    )
    click.echo(f"Next: protoglot corpus stats --corpus {shlex.quote(str(destination))}")


@contextlib.contextmanager
def _progress() -> Iterator["Progress | None"]:
    """A bar on stderr with bytes, speed and time left, or nothing if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, progress.TaskID] = {}

        def show(phase: str, done: int, total: int | None) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=total)
            bars.update(tasks[phase], completed=done, total=total)

        yield show
