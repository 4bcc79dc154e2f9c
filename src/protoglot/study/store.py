"""The directory of a study: finished units under their keys, claims, failures, and what is unfinished.

::

    config.toml          the study as it was asked for last
    study.json           its corpus, languages and the digests of their text
    environment.json     where and when it ran
    units/KEY/           a finished unit: unit.json, rows.jsonl and what other units need of it
    unfinished/KEY/      what a unit that can go on has left, such as checkpoints
    failures/KEY.json    why a unit failed
    claims/KEY.json      who works on a unit (see :mod:`protoglot.study.claims`)

A unit's directory is written aside and renamed, so that a unit is there whole or not at all.
"""

import contextlib
import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from protoglot.corpus.interface import LanguageRecord
from protoglot.errors import StorageError
from protoglot.storage import directory_written_whole, write_atomically
from protoglot.study.claims import Claim, claimed, is_claimed, read_claim
from protoglot.study.environment import describe_code
from protoglot.study.plan import Unit, canonical

CONFIG = "config.toml"
STUDY = "study.json"
ENVIRONMENT = "environment.json"
ROWS = "rows.jsonl.gz"
_UNIT = "unit.json"
_UNIT_ROWS = "rows.jsonl"

Kept = TypeVar("Kept", bound=Struct)


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
    versions: dict[str, Any] = {}
    machine: dict[str, Any] = {}
    started: str = ""
    finished: str | None = None
    workers: Annotated[int, Meta(ge=1)] = 1


class StudyText(Struct, frozen=True, kw_only=True):
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
            # In this order: another command may begin the study while we look, with the configuration first.
            found = [each for each in path.glob("*") if not each.name.startswith(f".{CONFIG}.")]
            foreign = bool(found) and not (path / CONFIG).is_file()
            if foreign or (path.exists() and not path.is_dir()):
                raise StorageError(f"{path}: holds something else; wanted a new directory, or that of a study")
            for name in ("units", "unfinished", "failures", "claims"):
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

    def text(self) -> StudyText:
        """The text of the study.

        Raises:
            StorageError: if what was written of it is missing or damaged.
        """
        return _read(self.path / STUDY, StudyText)

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
    def claim(self, unit: Unit) -> Iterator[bool]:
        """Try to take a unit for this process; gives whether it was free, and not done in the meantime."""
        with claimed(self.claim_path(unit.key), unit.name) as free:
            if free and not self.is_done(unit.key):
                self._remove_leftovers(unit.key)
                yield True
            else:
                yield False

    def claim_path(self, key: str) -> Path:
        """File that says who works on a unit."""
        return self.path / "claims" / f"{key}.json"

    def running(self) -> dict[str, Claim]:
        """Units that processes work on now, by key."""
        claims = {
            path.stem: read_claim(path) for path in (self.path / "claims").glob("*.json") if is_claimed(path)
        }
        return {key: claim for key, claim in sorted(claims.items()) if claim is not None}

    def keep(self, unit: Unit, do: Callable[[Path], Outcome]) -> None:
        """Do a claimed unit and keep its result, which counts only if there is no error.

        Args:
            unit: itself.
            do: does it; puts files into a directory in which the units that need this one find them.
        """
        started = time.monotonic()
        with directory_written_whole(self.result(unit.key)) as folder:
            outcome = do(folder)
            lines = "".join(f"{canonical(msgspec.to_builtins(row))}\n" for row in outcome.rows)
            (folder / _UNIT_ROWS).write_text(lines, encoding="ascii")
            facts = UnitFacts(
                name=unit.name,
                kind=str(unit.kind),
                settings=unit.settings,
                seconds=round(time.monotonic() - started + outcome.earlier_seconds, 3),
                rows_sha256=hashlib.sha256(lines.encode()).hexdigest(),
                made_with=describe_code(),
            )
            (folder / _UNIT).write_bytes(_readable(facts))
        shutil.rmtree(self.unfinished(unit.key), ignore_errors=True)
        self.forget_failure(unit.key)

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
        return [json.loads(line) for line in content.splitlines()]

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

    def _remove_leftovers(self, key: str) -> None:
        """What a process that was killed left half-written."""
        units = self.path / "units"
        for path in units.glob(f".{key}.*.partial"):
            shutil.rmtree(path, ignore_errors=True)
        if self.result(key).exists():  # without its unit.json: nobody's work but a damaged disk's
            shutil.rmtree(self.result(key), ignore_errors=True)


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
