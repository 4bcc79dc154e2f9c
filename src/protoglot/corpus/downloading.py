"""Downloads that may be cut at any byte and taken up again, in this run or a later one.

While a download is under way there are two files beside its destination: ``NAME.partial``, which is always a
prefix of the content, and ``NAME.partial.json``, which says of which version of which URL.
"""

import contextlib
import email.utils
import http.client
import io
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from email.message import Message
from pathlib import Path

from protoglot import __version__
from protoglot.corpus.connecting import Connection, CutError, RangeRefusedError, check_url, read_some
from protoglot.errors import DownloadError
from protoglot.storage import sha256_of, sync_directory, write_atomically

MAX_BYTES = 8 << 30
"""Largest content that is accepted unless the caller says otherwise."""

_LONGEST_WAIT_SECONDS = 60.0
_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")

Progress = Callable[[int, int | None], None]
"""Called with the bytes there are and, if the server tells, the bytes there will be."""


def download(
    url: str,
    destination: Path,
    *,
    sha256: str | None = None,
    on_progress: Progress | None = None,
    max_bytes: int = MAX_BYTES,
    timeout_seconds: float = 30.0,
    max_attempts: int = 5,
    wait: Callable[[float], None] = time.sleep,
) -> str:
    """Download a file; it appears under its name only when it is whole and checked.

    A cut download is continued where it stopped if the server names the version it sends (a strong ``ETag``, or
    ``Last-Modified``) or a checksum is given; otherwise it starts again. What is there already is kept after
    a cut, Ctrl-C or a full disk, so that the same call later continues; it is removed if its checksum is wrong
    or it is too large. An existing file is replaced.

    Args:
        url: an ``https`` address, or ``http`` if it is on this machine or a checksum is given. Redirects are
            held to the same rule.
        destination: the file to write.
        sha256: the checksum the content must have, in hexadecimal.
        on_progress: see :data:`Progress`.
        max_bytes: refuse content that is larger, whether the server announces its size or not.
        timeout_seconds: longest silence of the server.
        max_attempts: give up after so many attempts in a row that brought nothing new.
        wait: how to pass the seconds between two attempts.

    Returns:
        The SHA-256 of the content.

    Raises:
        DownloadError: if the content cannot be had, is not what was asked for, or cannot be written.
    """
    wanted = _normalise_sha256(sha256)
    check_url(url, with_checksum=wanted is not None)
    partial = _Partial(
        path=destination.with_name(f"{destination.name}.partial"),
        memory=destination.with_name(f"{destination.name}.partial.json"),
        url=url,
        max_bytes=max_bytes,
        has_checksum=wanted is not None,
    )
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with partial.opened():
            _attempt_until_whole(
                partial,
                on_progress=on_progress,
                timeout_seconds=timeout_seconds,
                max_attempts=max_attempts,
                wait=wait,
            )
            os.fsync(partial.stream.fileno())
            found = sha256_of(partial.path)
            if wanted is not None and found != wanted:
                partial.remove()
                raise DownloadError(f"{url}: SHA-256 is {found}; wanted {wanted}")
        partial.path.replace(destination)
        sync_directory(destination.parent)
        partial.remove()
    except OSError as error:
        kept = f"; {partial.kept()}" if partial.path.exists() else ""
        raise DownloadError(f"{destination}: cannot be written ({error.strerror or error}){kept}") from error
    return found


@dataclass(frozen=True, slots=True)
class _Version:
    """Which version of which content a partial file is a prefix of."""

    url: str
    validator: str | None = None
    """Strong ``ETag`` or ``Last-Modified``, in the server's words; nothing if it gave neither."""


@dataclass(slots=True, kw_only=True)
class _Partial:
    """The part of a download that is on the disk; each method leaves it a prefix of one version."""

    path: Path
    memory: Path
    url: str
    max_bytes: int
    has_checksum: bool
    stream: io.FileIO = field(init=False)

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        # Unbuffered: what was written is on file when the process is killed, and a full disk is noticed at
        # the write that met it.
        with io.FileIO(self.path, "ab") as self.stream:
            _lock(self.stream, self.path)
            try:
                yield
            except BaseException:
                # Only here, under the lock: an empty file may be the beginning of another process's download.
                if self.num_bytes == 0:
                    self.remove()
                raise

    @property
    def num_bytes(self) -> int:
        return os.fstat(self.stream.fileno()).st_size

    def version(self) -> _Version | None:
        """What the partial file is a prefix of, or nothing if it cannot be continued."""
        try:
            version = _Version(**json.loads(self.memory.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        if version.url != self.url or not isinstance(version.validator, str | None):
            return None
        return version if version.validator or self.has_checksum else None

    def start_again(self, version: _Version | None = None) -> None:
        """Empty the file, then remember the version it will hold; in this order no mixture can arise."""
        self.stream.truncate(0)
        self.memory.unlink(missing_ok=True)
        if version is not None:
            write_atomically(self.memory, json.dumps(asdict(version)) + "\n")

    def append(self, chunk: bytes) -> None:
        if self.num_bytes + len(chunk) > self.max_bytes:
            self.remove()
            raise DownloadError(f"{self.url}: more than {self.max_bytes:,} bytes; wanted at most that")
        _write_all(self.stream, chunk)

    def kept(self) -> str:
        """Words on what the next run can build on."""
        return f"{self.path} keeps {self.path.stat().st_size:,} bytes: the same command again continues from there"

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
        self.memory.unlink(missing_ok=True)


def _attempt_until_whole(
    partial: _Partial,
    *,
    on_progress: Progress | None,
    timeout_seconds: float,
    max_attempts: int,
    wait: Callable[[float], None],
) -> None:
    """Attempt until the content is whole or ``max_attempts`` in a row brought nothing new."""
    connection = Connection(with_checksum=partial.has_checksum, timeout_seconds=timeout_seconds)
    furthest = partial.num_bytes
    fruitless = 0
    while True:
        try:
            _attempt(partial, connection, on_progress)
            return
        except CutError as cut:
            # A server that cannot continue sends the same bytes again and again: only new ones count.
            fruitless = 1 if partial.num_bytes > furthest else fruitless + 1
            furthest = max(furthest, partial.num_bytes)
            if fruitless >= max_attempts:
                kept = f"; {partial.kept()}" if partial.num_bytes else ""
                attempts = f"{max_attempts} attempts" if max_attempts > 1 else "one attempt"
                raise DownloadError(f"{partial.url}: {cut} (gave up after {attempts}){kept}") from cut
            wait(min(max(2.0 ** (fruitless - 1), cut.wait_seconds), _LONGEST_WAIT_SECONDS))


def _attempt(partial: _Partial, connection: Connection, on_progress: Progress | None) -> None:
    """Ask once for what is missing and append what comes.

    Raises:
        CutError: if the content is not whole afterwards.
    """
    version = partial.version()
    offset = partial.num_bytes if version is not None else 0
    headers = {"User-Agent": f"protoglot/{__version__}", "Accept-Encoding": "identity"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
        if version is not None and version.validator:
            headers["If-Range"] = version.validator
    try:
        with connection.opened(partial.url, headers) as response:
            offset, total = _begin(partial, response, offset, version)
            _receive(partial, response, offset, total, on_progress)
    except RangeRefusedError as refusal:
        if offset and _parse_content_range(refusal.headers)[1] == offset:
            return  # everything was there already: only the renaming had been cut
        partial.start_again()
        raise CutError(str(refusal)) from refusal


def _begin(
    partial: _Partial, response: http.client.HTTPResponse, offset: int, version: _Version | None
) -> tuple[int, int | None]:
    """Make the partial file ready for an answer: how many bytes there are, and will be if that is told."""
    start, total = _parse_content_range(response.headers)
    if response.status == 206 and offset:
        if start != offset or (version is not None and _contradicts(response.headers, version)):
            partial.start_again()
            raise CutError("the content has changed on the server")
    elif response.status == 200:
        offset, total = 0, None
        partial.start_again(_Version(partial.url, _validator(response.headers)))
    else:
        raise DownloadError(f"{partial.url}: HTTP {response.status} ({response.reason}); wanted 200 (OK)")
    if total is None and response.length is not None:
        total = offset + response.length
    if total is not None and total > partial.max_bytes:
        partial.remove()
        raise DownloadError(f"{partial.url}: {total:,} bytes; wanted at most {partial.max_bytes:,}")
    return offset, total


def _receive(
    partial: _Partial,
    response: http.client.HTTPResponse,
    received: int,
    total: int | None,
    on_progress: Progress | None,
) -> None:
    """Append the body of an answer, counting from the bytes that were there before it."""
    if on_progress is not None:
        on_progress(received, total)
    while chunk := read_some(response):
        partial.append(chunk)
        received += len(chunk)
        if on_progress is not None:
            on_progress(received, total)
    if total is not None and received != total:
        raise CutError(f"connection cut after {received:,} of {total:,} bytes")


def _write_all(stream: io.FileIO, chunk: bytes) -> None:
    """Write a chunk to an unbuffered stream, which may take less than it is given."""
    rest = memoryview(chunk)
    while rest:
        rest = rest[stream.write(rest) :]


def _lock(stream: io.FileIO, path: Path) -> None:
    """Keep two processes from writing the same partial file, where the system can."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise DownloadError(f"{path}: another process is writing it; wanted one download at a time") from error
    except OSError:  # a file system without locks
        return


def _validator(headers: Message) -> str | None:
    """What may stand in ``If-Range``: weak validators may not, for they can outlive a change of bytes."""
    tag = headers.get("ETag", "")
    if tag.startswith('"'):
        return str(tag)
    try:
        modified = email.utils.parsedate_to_datetime(headers["Last-Modified"])
        sent = email.utils.parsedate_to_datetime(headers["Date"])
        is_strong = (sent - modified).total_seconds() >= 1
    except (TypeError, ValueError):
        return None
    return str(headers["Last-Modified"]) if is_strong else None


def _contradicts(headers: Message, version: _Version) -> bool:
    """Whether a partial answer belongs to another version, though ``If-Range`` asked for this one."""
    if version.validator is None:
        return False
    name = "ETag" if version.validator.startswith('"') else "Last-Modified"
    return name in headers and headers[name] != version.validator


def _parse_content_range(headers: Message) -> tuple[int | None, int | None]:
    """First byte and total length of ``Content-Range``, each nothing if it is not told."""
    match = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", "").strip())
    if match is None:
        return None, None
    start, total = match.groups()
    return (int(start) if start else None), (int(total) if total != "*" else None)


def _normalise_sha256(sha256: str | None) -> str | None:
    if sha256 is None:
        return None
    if not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise DownloadError(f"SHA-256 {sha256!r}: wanted 64 hexadecimal digits")
    return sha256.lower()
