"""Files that are there whole or not at all."""

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from protoglot.errors import StorageError

_CHUNK_BYTES = 1 << 20


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal.

    Raises:
        StorageError: if it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                digest.update(chunk)
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
    return digest.hexdigest()


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write a file so that a reader sees the old content or the new, never a part.

    Directories above it are made where they are missing, and stay if the writing fails.

    Raises:
        StorageError: if it cannot be written; no part of the file is left behind.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    with file_written_whole(path) as stream:
        stream.write(data)


def append_line(path: Path, line: str) -> None:
    """Add a line to a file that grows; a crash may leave a part of it, which its readers drop.

    Raises:
        StorageError: if it cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(f"{line}\n")
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({error.strerror or error})") from error


def make_directory(path: Path) -> None:
    """Make a directory, and those above it, where they are missing.

    Raises:
        StorageError: if it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{path}: cannot be made ({error.strerror or error})") from error


@contextlib.contextmanager
def file_written_whole(path: Path) -> Iterator[BinaryIO]:
    """Give a file to fill; it appears under its name, in place of an old one, only if the block ends without an error.

    An ``OSError`` of the block counts as in :func:`directory_written_whole`.

    Raises:
        StorageError: if it cannot be written; no part of the file is left behind.
    """
    aside = _name_aside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        aside.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        if _is_foreign(error, aside, path):
            raise
        raise StorageError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        with contextlib.suppress(OSError):
            aside.unlink()


@contextlib.contextmanager
def directory_written_whole(path: Path) -> Iterator[Path]:
    """Give a directory to fill; it appears under its name only if the block ends without an error.

    An ``OSError`` of the block counts as a failure to write, unless it names a file outside the directory
    or is about a connection or a pipe: such an error is not about this directory and is passed on as it is.
    Directories above it are made where they are missing, and stay if the writing fails.

    Raises:
        StorageError: if the directory exists already or cannot be written; no part of it is left behind.
    """
    aside = _name_aside(path)
    try:
        # lexists: a dangling symbolic link is in the way too.
        if os.path.lexists(path):
            raise StorageError(f"{path}: exists already; wanted a new directory")
        aside.mkdir(parents=True)
        yield aside
        _sync_tree(aside)
        aside.rename(path)
        sync_directory(path.parent)
    except OSError as error:
        if _is_foreign(error, aside, path):
            raise
        raise StorageError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def sync_directory(path: Path) -> None:
    """Make a rename in a directory last; a no-op where directories cannot be opened (Windows)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _name_aside(path: Path) -> Path:
    """An unused name beside a path, on the same file system."""
    if path.name in ("", ".."):
        raise StorageError(f"{str(path)!r}: has no name of its own; wanted the path of a file or directory")
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")


def _sync_tree(path: Path) -> None:
    """Bring all files below a directory to the disk, and the entries that name them."""
    for entry in path.rglob("*"):
        if entry.is_symlink():
            continue
        if entry.is_dir():
            sync_directory(entry)
        elif entry.is_file():
            with entry.open("rb") as stream:
                os.fsync(stream.fileno())
    sync_directory(path)


def _is_foreign(error: OSError, *ours: Path) -> bool:
    """Whether an error is about something else than the paths we write."""
    if isinstance(error, (ConnectionError, TimeoutError)):  # a broken pipe is a ConnectionError too
        return True
    if not isinstance(error.filename, (str, os.PathLike)):
        return False
    name = Path(error.filename)
    return not any(name == path or path in name.parents or name in path.parents for path in ours)
