"""Unpacking an archive that nobody vouches for."""

import gzip
import re
import tarfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from protoglot.errors import DownloadError

MAX_TOTAL_BYTES = 16 << 30
MAX_MEMBERS = 100_000

_MAX_HEADER_BYTES = 1 << 20  # of one pax or GNU header: tarfile reads it into memory at once
_MAX_NAME_BYTES = 4096
_CHUNK_BYTES = 1 << 18
_FILE_MODE = 0o644
_DIRECTORY_MODE = 0o755
_DRIVE = re.compile(r"[A-Za-z]:")
_EXTENSIONS = frozenset(
    {tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}
)

Progress = Callable[[int, int], None]
"""Called with the bytes of the archive that are unpacked, and its size."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What came out of an archive."""

    files: tuple[str, ...]
    """Names of the files kept, without the top folder, in the archive's order."""

    num_bytes: int
    """Sum of their sizes."""

    comment: str | None
    """Comment of the archive's global header; ``git archive`` writes the commit there."""


def unpack_into(
    archive: Path,
    directory: Path,
    *,
    keep: Callable[[str], bool],
    max_total_bytes: int = MAX_TOTAL_BYTES,
    max_members: int = MAX_MEMBERS,
    comment: str | None = None,
    on_progress: Progress | None = None,
) -> Unpacked:
    """Unpack the wanted files of a ``.tar.gz`` into an empty directory, without the archive's one top folder.

    The archive is read once, as a stream. Refused, whether wanted or not: a name that is absolute or has ``..``,
    a backslash, a drive letter or NUL; a name that occurs twice; a device, fifo or sparse file; a member outside
    the top folder. Symbolic and hard links are never made: a wanted one is refused, others are passed over. Modes
    and owners of the archive are ignored: files get 0644, directories 0755.

    Args:
        archive: the file.
        directory: where to write; left half-filled if an error is raised.
        keep: whether a file is wanted, by its name without the top folder.
        max_total_bytes: most bytes the archive may hold when decompressed, unwanted files included.
        max_members: most files and directories it may hold.
        comment: the comment its global header must have; nothing to accept any.
        on_progress: see :data:`Progress`.

    Raises:
        DownloadError: if the archive is damaged or refused; names the member.
    """
    try:
        with archive.open("rb") as raw, _BoundedGzip(raw, max_total_bytes) as stream:
            size = archive.stat().st_size
            with tarfile.open(fileobj=stream, mode="r|", tarinfo=_CautiousTarInfo) as tar:
                found = tar.pax_headers.get("comment")
                if comment is not None and found != comment:
                    raise _RefusedError(f"made from {found or 'an unnamed commit'}; wanted {comment}")
                unpacker = _Unpacker(directory, keep)
                for number, member in enumerate(tar, start=1):
                    if number > max_members:
                        raise _RefusedError(f"more than {max_members:,} members; wanted at most that")
                    unpacker.take(tar, member)
                    tar.members = []  # type: ignore[attr-defined]  # tarfile would remember them all
                    if on_progress is not None:
                        on_progress(raw.tell(), size)
            while stream.read(_CHUNK_BYTES):  # gzip checks its checksum at the very end
                pass
    except FileNotFoundError as error:
        if error.filename != str(archive):
            raise
        raise DownloadError(f"{archive}: not found; wanted a .tar.gz file") from error
    except _RefusedError as error:
        raise DownloadError(f"{archive}: {error}") from error
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DownloadError(f"{archive}: damaged ({error}); wanted a whole .tar.gz file") from error
    except (ValueError, OverflowError, RecursionError) as error:
        # tarfile's own words for numbers that are none, and for headers nested without end.
        raise DownloadError(f"{archive}: damaged header ({error}); wanted a whole .tar.gz file") from error
    return Unpacked(tuple(unpacker.files), unpacker.num_bytes, found)


class _RefusedError(Exception):
    """An archive that is not unpacked; becomes a DownloadError that names it."""


class _BoundedGzip(gzip.GzipFile):
    """A decompressed stream that ends with an error where a bomb would go on."""

    def __init__(self, raw: IO[bytes], max_bytes: int) -> None:
        super().__init__(fileobj=raw, mode="rb")
        self._max_bytes = max_bytes
        self._num_bytes = 0

    def read(self, size: int | None = -1) -> bytes:
        chunk = super().read(size)
        self._num_bytes += len(chunk)
        if self._num_bytes > self._max_bytes:
            raise _RefusedError(f"more than {self._max_bytes:,} bytes when decompressed; wanted at most that")
        return chunk


class _CautiousTarInfo(tarfile.TarInfo):
    """A header that is refused where tarfile would stop in silence or read without bound."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        if not buf:
            raise _RefusedError("ends without the end mark of a tar archive; wanted a whole .tar.gz file")
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if buf.count(0) == len(buf) == tarfile.BLOCKSIZE:
                raise  # the end mark
            raise _RefusedError(f"damaged header ({error}); wanted a whole .tar.gz file") from error
        if header.size < 0 or (header.type in _EXTENSIONS and header.size > _MAX_HEADER_BYTES):
            raise _RefusedError(f"a header of {header.size:,} bytes; wanted at most {_MAX_HEADER_BYTES:,}")
        return header


class _Unpacker:
    """Writes the members of one archive, remembering what it has seen."""

    def __init__(self, directory: Path, keep: Callable[[str], bool]) -> None:
        self.files: list[str] = []
        self.num_bytes = 0
        self._directory = directory
        self._keep = keep
        self._top: str | None = None
        self._seen: set[str] = set()

    def take(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        top, *rest = _parts(member.name)
        name = "/".join(rest)
        self._top = self._top or top
        if top != self._top or not (rest or member.isdir()):
            raise _RefusedError(f"member {member.name!r} is outside of a single top folder")
        if name in self._seen:
            raise _RefusedError(f"member {member.name!r} occurs twice; wanted each name once")
        self._seen.add(name)
        is_link = member.issym() or member.islnk()
        if member.issparse() or not (member.isreg() or member.isdir() or is_link):
            raise _RefusedError(f"member {member.name!r} is {_kind(member)}; wanted files and directories only")
        if member.size < 0:
            raise _RefusedError(f"member {member.name!r} has {member.size:,} bytes; wanted 0 or more")
        if member.isdir() or not self._keep(name):
            return
        if is_link:
            raise _RefusedError(f"member {member.name!r} is {_kind(member)}; wanted a file")
        content = tar.extractfile(member)
        assert content is not None, "tarfile gives the content of a regular file"
        with content:
            self._write(member, rest, content)
        self.files.append(name)

    def _write(self, member: tarfile.TarInfo, parts: list[str], content: IO[bytes]) -> None:
        try:
            folder = self._directory
            for part in parts[:-1]:
                folder = folder / part
                if not folder.is_dir():
                    folder.mkdir()
                    folder.chmod(_DIRECTORY_MODE)
            path = folder / parts[-1]
            # "x": where "a" and "A" are one file to the system, they are a duplicate too.
            stream = path.open("xb")
        except (FileExistsError, NotADirectoryError) as error:
            raise _RefusedError(
                f"member {member.name!r} is in the way of another; wanted each name once"
            ) from error
        with stream:
            while chunk := content.read(_CHUNK_BYTES):
                stream.write(chunk)
                self.num_bytes += len(chunk)
        path.chmod(_FILE_MODE)


def _parts(name: str) -> list[str]:
    """Components of a member's name.

    Raises:
        _RefusedError: if it could lead out of the directory, here or on another system.
    """
    parts = [part for part in name.split("/") if part not in ("", ".")]
    for is_refused, reason in (
        (len(name.encode("utf-8", "surrogateescape")) > _MAX_NAME_BYTES, "is too long"),
        (not parts, "is empty"),
        (name.startswith("/"), "is absolute"),
        ("\0" in name, "has a NUL character"),
        ("\\" in name, "has a backslash"),
        (any(_DRIVE.match(part) for part in parts), "has a drive letter"),
        (".." in parts, "leads out of its folder"),
        (any(0xD800 <= ord(character) < 0xE000 for character in name), "is not Unicode"),
    ):
        if is_refused:
            shown = name if len(name) <= 200 else name[:200] + "..."
            raise _RefusedError(f"member {shown!r} {reason}; wanted a relative path")
    return parts


def _kind(member: tarfile.TarInfo) -> str:
    if member.issym():
        return "a symbolic link"
    if member.islnk():
        return "a hard link"
    if member.isfifo():
        return "a fifo"
    if member.isdev():
        return "a device"
    return "a sparse file" if member.issparse() else f"of unknown type {member.type!r}"
