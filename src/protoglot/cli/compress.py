"""``protoglot compress`` and ``protoglot expand``."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from protoglot.cli.output import progress_of_amount
from protoglot.errors import StorageError
from protoglot.storage import write_atomically

if TYPE_CHECKING:
    from protoglot.reading.reader import Reader

Command = TypeVar("Command", bound=Callable[..., object])

ENDING = ".pg"


def _options(command: Command) -> Command:
    for option in (
        click.option("--force", is_flag=True, help="Replace a file that exists."),
        click.option(
            "--model",
            "model_path",
            metavar="MODEL",
            type=click.Path(path_type=Path),
            help="A directory that `protoglot adapt` wrote [default: a model that has read nothing].",
        ),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("text_path", metavar="FILE", type=click.Path(path_type=Path))
@_options
@click.option("--out", metavar="FILE.pg", type=click.Path(path_type=Path), help=f"[default: FILE{ENDING}]")
def compress(text_path: Path, model_path: Path | None, out: Path | None, force: bool) -> None:
    """Compress a text in as many bits as a model needs to predict it.

    FILE is UTF-8 text in any language; it comes back byte for byte. With --model, the text is compressed by a model
    that has read a text in the language before, and `protoglot expand` needs that model. A file is expanded by the
    release of protoglot that wrote it, on the same kind of machine.

    \b
    Examples:
      protoglot compress story.txt
      protoglot compress story.txt --model mine.txt.model --out story.pg
      protoglot expand story.txt.pg --out again.txt
    """
    from protoglot.reading import compressed

    path = out or text_path.with_name(text_path.name + ENDING)
    _refuse_to_replace(path, text_path, force=force)
    text = compressed.text_of(text_path)
    reader = _reader(model_path)
    with progress_of_amount(len(text), "compressing") as advance:
        content = compressed.compress(text, reader, on_progress=advance)
    write_atomically(path, content)
    bits = f", {8 * len(content) / len(text):.3f} bits/character" if text else ""
    click.echo(f"{path}: {len(text):,} characters in {len(content):,} bytes{bits}")


@click.command()
@click.argument("path", metavar="FILE.pg", type=click.Path(path_type=Path))
@_options
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path), help=f"[default: the name without {ENDING}]"
)
def expand(path: Path, model_path: Path | None, out: Path | None, force: bool) -> None:
    """Give back a text that `protoglot compress` wrote.

    The text is checked by its SHA-256 before it is written.

    \b
    Examples:
      protoglot expand story.txt.pg
      protoglot expand story.pg --model mine.txt.model --out again.txt
    """
    from protoglot.reading import compressed

    if out is None and path.suffix != ENDING:
        raise click.UsageError(f"{path}: does not end in {ENDING}; wanted the name of the text, --out FILE")
    text_path = out or path.with_suffix("")
    _refuse_to_replace(text_path, path, force=force)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
    num_characters = compressed.num_characters_in(content, str(path))
    reader = _reader(model_path)
    with progress_of_amount(num_characters, "expanding") as advance:
        text = compressed.expand(content, reader, name=str(path), on_progress=advance)
    write_atomically(text_path, text)
    click.echo(f"{text_path}: {len(text):,} characters")


def _reader(model_path: Path | None) -> "Reader":
    from protoglot.reading import shipped
    from protoglot.reading.reader import Reader

    scorer = shipped.shipped_scorer()
    return Reader(scorer) if model_path is None else Reader.load(model_path, scorer)


def _refuse_to_replace(path: Path, source: Path, *, force: bool) -> None:
    if os.path.lexists(path) and (not force or (source.exists() and path.samefile(source))):
        raise StorageError(f"{path}: exists already; wanted another name (--out), or --force to replace it")
