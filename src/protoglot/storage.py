"""Files that are there whole or not at all."""

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from protoglot.errors import StorageError

_CHUNK_BYTES = 1 << 20


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write a file so that a reader sees the old content or the new, never a part.

    Raises:
        StorageError: if it cannot be written; nothing is left behind.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    aside = _name_aside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        aside.replace(path)
        _sync_directory(path.parent)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        with contextlib.suppress(OSError):
            aside.unlink()


@contextlib.contextmanager
def directory_written_whole(path: Path) -> Iterator[Path]:
    """Give a directory to fill; it appears under its name only if the block ends without an error.

    Raises:
        StorageError: if the directory exists already or cannot be written; nothing is left behind.
    """
    if path.exists():
        raise StorageError(f"{path}: exists already; wanted a new directory")
    aside = _name_aside(path)
    try:
        aside.mkdir(parents=True)
        yield aside
        for file in aside.rglob("*"):
            if file.is_file():
                _sync_file(file)
        aside.rename(path)
        _sync_directory(path.parent)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _name_aside(path: Path) -> Path:
    """An unused name beside a path, on the same file system."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")


def _sync_file(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def _sync_directory(path: Path) -> None:
    """Make a rename last; a no-op where directories cannot be opened (Windows)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
