"""Who works on what: a file that only one process can create, and that says by its age whether it still does.

A claim outlives a process that is killed. It counts no longer when its process is gone, which can be seen on the same
host, or when it has not been touched for five minutes, as after a crash of another host. Then it is taken over. Should
the process wake up after all, both do the work; that costs time and harms nothing.
"""

import contextlib
import os
import platform
import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from protoglot.errors import StorageError
from protoglot.storage import write_atomically

STALE_SECONDS = 300.0
UNWRITTEN_SECONDS = 5.0
"""After which a claim that says nothing counts no longer: its process was killed between creating and writing it."""
_SECONDS_BETWEEN_BEATS = 20.0


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A unit that a process works on."""

    name: str
    """Of the unit."""

    host: str
    process: int
    started: float
    """Seconds since the epoch."""

    token: str
    """Tells apart two claims of one process."""


@contextlib.contextmanager
def claimed(path: Path, name: str) -> Iterator[bool]:
    """Try to claim what a file stands for, until the block ends; gives whether it was free.

    Raises:
        StorageError: if the file cannot be written.
    """
    ours = Claim(
        name=name, host=platform.node(), process=os.getpid(), started=time.time(), token=secrets.token_hex(8)
    )
    if not _take(path, ours):
        yield False
        return
    ended = threading.Event()
    heart = threading.Thread(target=_beat, args=(path, ours, ended), daemon=True)
    heart.start()
    try:
        yield True
    finally:
        ended.set()
        heart.join()
        if read_claim(path) == ours:
            path.unlink(missing_ok=True)


def read_claim(path: Path) -> Claim | None:
    """What a file says; ``None`` if it is gone, or being written."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Claim)
    except (OSError, msgspec.DecodeError):
        return None


def is_claimed(path: Path) -> bool:
    """Whether somebody works on what a file stands for."""
    try:
        age = time.time() - path.stat().st_mtime
    except OSError:
        return False
    return age < (STALE_SECONDS if read_claim(path) else UNWRITTEN_SECONDS) and not is_orphaned(path)


def is_orphaned(path: Path) -> bool:
    """Whether the process of a claim has ended on this host without giving it back."""
    claim = read_claim(path)
    return claim is not None and claim.host == platform.node() and not _is_alive(claim.process)


def remove_orphan(path: Path) -> None:
    """Remove a claim if its process has ended on this host without giving it back."""
    if is_orphaned(path):
        with _alone(path) as alone:
            if alone and is_orphaned(path):
                path.unlink(missing_ok=True)


def _take(path: Path, ours: Claim) -> bool:
    content = msgspec.json.encode(ours)
    try:
        with path.open("xb", buffering=0) as stream:
            stream.write(content)
        return True
    except FileExistsError:
        if is_claimed(path):
            return False
    except OSError as error:
        raise StorageError(f"{path}: cannot be written ({error.strerror or error})") from error
    with _alone(path) as alone:
        if not alone or is_claimed(path) or not path.exists():  # somebody else was quicker
            return False
        write_atomically(path, content)
        return True


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[bool]:
    """Keep others from taking over or removing the same claim; gives whether they leave it to us."""
    guard = path.with_suffix(".taking")
    try:
        guard.touch(exist_ok=False)
    except FileExistsError:
        with contextlib.suppress(OSError):
            if time.time() - guard.stat().st_mtime > UNWRITTEN_SECONDS:  # of a process that was killed here
                guard.unlink()
        yield False
        return
    try:
        yield True
    finally:
        guard.unlink(missing_ok=True)


def _beat(path: Path, ours: Claim, ended: threading.Event) -> None:
    while not ended.wait(_SECONDS_BETWEEN_BEATS):
        if read_claim(path) != ours:
            return
        with contextlib.suppress(OSError):
            os.utime(path)


def _is_alive(process: int) -> bool:
    if os.name == "nt":
        return True  # no signal asks this on Windows without doing harm; the age of the claim decides
    try:
        os.kill(process, 0)
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user, or there is no /proc
        return True
    return status.rpartition(")")[2].split()[0] != "Z"  # ended, and its parent has not noticed yet
