"""The directory of a study: finished units under their keys, locks, failures, and what is unfinished.

::

    config.toml          the study as it was asked for last
    study.json           its corpus, languages and the digests of their text
    environment.json     where and when it ran
    units/KEY/           a finished unit: unit.json, rows.jsonl and what other units need of it
    unfinished/KEY/      what a unit that can go on has left, such as checkpoints
    running/KEY.json     who works on a unit; believed only while the lock is held
    failures/KEY.json    why a unit failed
    locks/KEY.lock       held by the process that works on a unit, and released when it ends, however it ends

A unit's directory is written aside and renamed, so that a unit is there whole or not at all.
"""

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from filelock import FileLock, Timeout
from msgspec import Meta, Struct

from protoglot.corpus.interface import LanguageRecord
from protoglot.errors import StorageError
from protoglot.storage import directory_written_whole, write_atomically
from protoglot.study.plan import VERSIONS, Unit, canonical

CONFIG = "config.toml"
STUDY = "study.json"
ENVIRONMENT = "environment.json"
ROWS = "rows.jsonl.gz"
_UNIT = "unit.json"
_UNIT_ROWS = "rows.jsonl"

Kept = TypeVar("Kept", bound=Struct)


def unit_keys(plan: Sequence[Unit], digests: Mapping[str, str]) -> dict[str, str]:
    """The key of each unit, by name: SHA-256 of all that decides its outcome.

    That is its kind and the version of the code for it, its settings, the keys of the units it needs, and the text
    it reads.

    Args:
        plan: units, each after those it needs.
        digests: of the text of each language, by code.
    """
    keys: dict[str, str] = {}
    for unit in plan:
        identity = {
            "kind": str(unit.kind),
            "version": VERSIONS[unit.kind],
            "settings": unit.settings,
            "needs": {purpose: keys[name] for purpose, name in unit.needs.items()},
            "texts": {code: digests[code] for code in unit.texts},
        }
        keys[unit.name] = hashlib.sha256(canonical(identity).encode()).hexdigest()
    return keys


class Running(Struct, frozen=True, kw_only=True):
    """A unit that somebody works on."""

    name: str
    process: int
    started: float
    """Seconds since the epoch."""


class Failure(Struct, frozen=True, kw_only=True):
    """Why a unit failed."""

    name: str
    reason: str
    """One line."""

    traceback: str = ""
    """Where, for whoever mends it."""


class UnitFacts(Struct, frozen=True, kw_only=True):
    """What is kept of a finished unit besides its rows."""

    name: str
    kind: str
    settings: Mapping[str, Any]
    seconds: float
    rows_sha256: str
    made_with: Mapping[str, Any] = {}
    """Commit and versions of the code that did it."""


class Environment(Struct, frozen=True, kw_only=True):
    """Where a study ran last, when it was started first, and when it ended last."""

    commit: str | None = None
    versions: dict[str, str] | None = None
    machine: dict[str, Any] | None = None
    started: str | None = None
    finished: str | None = None
    workers: Annotated[int, Meta(ge=1)] = 1


class StudyFacts(Struct, frozen=True, kw_only=True):
    """The text of a study."""

    corpus: str
    """As the user named it."""

    languages: tuple[LanguageRecord, ...]
    digests: dict[str, str]
    """Of the text of each language, by code."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What doing a unit gave."""

    rows: Sequence[Struct]
    earlier_seconds: float = 0.0
    """Spent on it before it was taken up again."""


class Store:
    """A study's directory, which any number of processes may share.

    Args:
        path: made where it is missing.

    Raises:
        StorageError: if it cannot be made, or holds something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            foreign = path.is_dir() and not (path / CONFIG).is_file() and any(path.iterdir())
            if foreign or (path.exists() and not path.is_dir()):
                raise StorageError(f"{path}: holds something else; wanted a new directory, or that of a study")
            for name in ("units", "unfinished", "running", "failures", "locks"):
                if (path / CONFIG).is_file():
                    (path / name).mkdir(exist_ok=True)
        except OSError as error:
            raise StorageError(f"{path}: cannot be used ({error.strerror or error})") from error

    @classmethod
    def create(cls, path: Path, config: str) -> "Store":
        """The directory of a study, new or to be continued, with its configuration replaced."""
        cls(path)
        write_atomically(path / CONFIG, config)
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> "Store":
        """The directory of a study that was started.

        Raises:
            StorageError: if there is none.
        """
        if not (path / CONFIG).is_file():
            raise StorageError(f"{path}: no {CONFIG} in it; wanted the directory of a study")
        return cls(path)

    def write(self, name: str, value: Struct) -> None:
        """Write a JSON file of the study, whole or not at all."""
        write_atomically(self.path / name, _readable(value))

    def study(self) -> StudyFacts:
        """The text of the study.

        Raises:
            StorageError: if what was written of it is missing or damaged.
        """
        return _read(self.path / STUDY, StudyFacts)

    def environment(self) -> Environment:
        """Where and when the study ran; nothing of that if it did not."""
        path = self.path / ENVIRONMENT
        return _read(path, Environment) if path.is_file() else Environment()

    def result(self, key: str) -> Path:
        """Directory of a unit, which is there if and only if the unit is done."""
        return self.path / "units" / key

    def unfinished(self, key: str) -> Path:
        """Directory in which a unit may keep what lets it go on after an interruption."""
        return self.path / "unfinished" / key

    def is_done(self, key: str) -> bool:
        """Whether a unit is finished."""
        return (self.result(key) / _UNIT).is_file()

    @contextlib.contextmanager
    def claim(self, key: str, name: str) -> Iterator[bool]:
        """Try to take a unit for this process; gives whether it was free, and not done in the meantime."""
        lock = FileLock(self.path / "locks" / f"{key}.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            yield False
            return
        except OSError as error:
            raise StorageError(f"{lock.lock_file}: cannot be written ({error.strerror or error})") from error
        try:
            if self.is_done(key):
                yield False
                return
            marker = self.path / "running" / f"{key}.json"
            self._remove_leftovers(key)
            running = Running(name=name, process=os.getpid(), started=time.time())
            write_atomically(marker, _readable(running))
            try:
                yield True
            finally:
                marker.unlink(missing_ok=True)
        finally:
            lock.release()

    @contextlib.contextmanager
    def written(self, key: str, unit: Unit, made_with: Mapping[str, object] | None = None) -> Iterator["Writing"]:
        """Give a place for the result of a claimed unit; it counts only if the block ends without an error.

        Args:
            key: of the unit.
            unit: itself, to be described with its result.
            made_with: commit and versions of the code that does it.
        """
        started = time.monotonic()
        with directory_written_whole(self.result(key)) as folder:
            writing = Writing(folder)
            yield writing
            if writing.outcome is None:
                raise AssertionError(f"{unit.name}: ended without an outcome")
            lines = "".join(f"{canonical(msgspec.to_builtins(row))}\n" for row in writing.outcome.rows)
            (folder / _UNIT_ROWS).write_text(lines, encoding="ascii")
            facts = UnitFacts(
                name=unit.name,
                kind=str(unit.kind),
                settings=unit.settings,
                seconds=round(time.monotonic() - started + writing.outcome.earlier_seconds, 3),
                rows_sha256=hashlib.sha256(lines.encode()).hexdigest(),
                made_with=made_with or {},
            )
            (folder / _UNIT).write_bytes(_readable(facts))
        shutil.rmtree(self.unfinished(key), ignore_errors=True)
        (self.path / "failures" / f"{key}.json").unlink(missing_ok=True)

    def facts(self, key: str) -> UnitFacts:
        """What a finished unit was, and what it took.

        Raises:
            StorageError: if what was written of it is damaged.
        """
        return _read(self.result(key) / _UNIT, UnitFacts)

    def rows(self, key: str) -> list[dict[str, Any]]:
        """Rows of a finished unit.

        Raises:
            StorageError: if they are not those that were written.
        """
        path = self.result(key) / _UNIT_ROWS
        try:
            content = path.read_bytes()
        except OSError as error:
            raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
        if hashlib.sha256(content).hexdigest() != self.facts(key).rows_sha256:
            raise StorageError(f"{path}: damaged; wanted its SHA-256 as {_UNIT} states it (remove the directory)")
        return [msgspec.json.decode(line) for line in content.splitlines()]

    def record_failure(self, key: str, failure: Failure) -> None:
        """Note that a unit failed."""
        self.write(f"failures/{key}.json", failure)

    def failure(self, key: str) -> Failure | None:
        """Why a unit failed, if it did."""
        path = self.path / "failures" / f"{key}.json"
        try:
            return _read(path, Failure)
        except StorageError:
            if path.is_file():
                raise
            return None  # there is none, or somebody else has just forgotten it

    def forget_failure(self, key: str) -> None:
        """Let a failed unit be tried again."""
        (self.path / "failures" / f"{key}.json").unlink(missing_ok=True)

    def running(self) -> dict[str, Running]:
        """Units that processes work on now, by key."""
        found = {}
        for marker in sorted((self.path / "running").glob("*.json")):
            with contextlib.suppress(StorageError):  # gone since, because the unit ended
                running = _read(marker, Running)
                if self._is_locked(marker.stem):
                    found[marker.stem] = running
        return found

    def abandoned_by(self, process: int) -> dict[str, Running]:
        """Units that a process had taken when it died, by key."""
        found = {}
        for marker in sorted((self.path / "running").glob("*.json")):
            with contextlib.suppress(StorageError):
                running = _read(marker, Running)
                if running.process == process and not self._is_locked(marker.stem):
                    found[marker.stem] = running
        return found

    def _is_locked(self, key: str) -> bool:
        lock = FileLock(self.path / "locks" / f"{key}.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            return True
        lock.release()
        return False

    def _remove_leftovers(self, key: str) -> None:
        """What a process that was killed left half-written."""
        units = self.path / "units"
        for path in units.glob(f".{key}.*.partial"):
            shutil.rmtree(path, ignore_errors=True)
        if self.result(key).exists():  # without its unit.json: nobody's work but a damaged disk's
            shutil.rmtree(self.result(key), ignore_errors=True)


class Writing:
    """The result of a unit while it is made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        """Files put here are found by the units that need this one."""

        self.outcome: Outcome | None = None


def _readable(value: Struct) -> bytes:
    """JSON with a line for each key, in order."""
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=1) + b"\n"


def _read(path: Path, kind: type[Kept]) -> Kept:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise StorageError(f"{path}: damaged ({error}); wanted it as protoglot study run writes it") from error
