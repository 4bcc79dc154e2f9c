"""The texts that commands read: files, or standard input."""

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from protoglot.errors import TextError
from protoglot.text import is_read_once, normalise, read_lines

STANDARD_INPUT = Path("-")
STANDARD_INPUT_NAME = "standard input"


@contextlib.contextmanager
def opened_text(path: Path) -> Iterator["Text"]:
    """A text to read; ``-`` is standard input.

    That, like a pipe, is first copied to the disk: it may be long, and is read twice. Where it is the keyboard, the
    user is told that it is waited for.

    Raises:
        TextError: if it cannot be copied.
    """
    if not is_stream(path):
        yield Text(path, str(path))
        return
    name = STANDARD_INPUT_NAME if path == STANDARD_INPUT else str(path)
    if path == STANDARD_INPUT and sys.stdin.isatty():
        click.echo(
            "waiting for text from the keyboard, one sentence a line; Ctrl-D on a new line ends it", err=True
        )
    with tempfile.NamedTemporaryFile(prefix="protoglot-") as copy:
        try:
            with contextlib.ExitStack() as stack:
                source = sys.stdin.buffer if path == STANDARD_INPUT else stack.enter_context(path.open("rb"))
                shutil.copyfileobj(source, copy)
                copy.flush()
        except OSError as error:
            raise TextError(f"{name}: cannot be copied to {copy.name} ({error.strerror or error})") from error
        yield Text(Path(copy.name), name)


def is_stream(path: Path) -> bool:
    """Whether a path is standard input, a pipe or a device: something that is read once."""
    try:
        return path == STANDARD_INPUT or is_read_once(path)
    except OSError:  # reading it says what is wrong
        return False


class Text:
    """Sentences of a file, one a line.

    Args:
        path: of the file.
        name: for messages and tables.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self.name = name

    @property
    def num_bytes(self) -> int:
        """Size of the file; 0 where it has none (reading it then says what is wrong)."""
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    def sentences(self) -> Iterator[tuple[int, str]]:
        """Numbers of lines that are not empty, and what stands in them, normalised.

        Raises:
            TextError: if it cannot be read, or has no such line.
        """
        is_empty = True
        try:
            for number, line in read_lines(self._path):
                if sentence := normalise(line):
                    is_empty = False
                    yield number, sentence
        except TextError as error:
            raise TextError(str(error).replace(str(self._path), self.name)) from error
        if is_empty:
            raise TextError(f"{self.name}: no text; wanted at least one line with a sentence")


def num_bytes_of(sentence: str) -> int:
    """What a sentence and the end of its line take in a file, for progress."""
    return len(sentence.encode("utf-8", "surrogatepass")) + 1


def shortened(sentence: str, longest: int = 60) -> str:
    """A sentence as far as a table has room for it."""
    return sentence if len(sentence) <= longest else f"{sentence[: longest - 1]}…"
