"""Result rows of a study: JSON lines of a few kinds, each with all of its keys."""

import gzip
import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from protoglot.errors import StorageError
from protoglot.storage import write_atomically
from protoglot.study.plan import Unit, canonical
from protoglot.study.store import Store

KEY_DIGITS = 16
"""Of a unit's key that stand in its rows."""


class Row(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """One thing that a study found. Rows of a kind have all its keys; what does not apply is null."""


class ScoreRow(Row, frozen=True, kw_only=True, tag="score"):
    """One text scored by one model."""

    language: str
    partition: int | None = None
    regime: str
    conditioning: str | None = None
    method: str
    network: str | None = None
    sentences: int | None = None
    sample: int | None = None
    seed: int
    nats: float
    characters: int
    seconds: float
    unit: str

    def __post_init__(self) -> None:
        if not math.isfinite(self.nats):
            raise ArithmeticError(f"{self.language}: a score of {self.nats} nats; wanted a finite number")


class TextRow(Row, frozen=True, kw_only=True, tag="text"):
    """Text that a model generated."""

    language: str
    partition: int | None = None
    conditioning: str
    method: str
    regime: str
    sentences: int | None = None
    temperature: float
    text: str
    unit: str


class UnigramRow(Row, frozen=True, kw_only=True, tag="unigram"):
    """Counts of the characters of a language's training text."""

    language: str
    name: str | None
    family: str | None
    counts: dict[str, int]
    unit: str


class SignalToNoiseRow(Row, frozen=True, kw_only=True, tag="signal-to-noise"):
    """Density of log10 of the signal-to-noise ratio of the weights of one prior."""

    partition: int
    conditioning: str
    layer: str
    edges: list[float]
    density: list[float]
    unit: str


class EnvironmentRow(Row, frozen=True, kw_only=True, tag="environment"):
    """With what, where and when a part of the study was done."""

    commit: str | None = None
    versions: dict[str, str] | None = None
    machine: dict[str, Any] | None = None
    config: dict[str, Any]
    started: str | None = None
    finished: str | None = None
    seconds: float
    unit: str | None = None


class FailureRow(Row, frozen=True, kw_only=True, tag="failure"):
    """A unit that failed."""

    unit: str
    what: str
    reason: str


def gather_rows(store: Store, plan: Sequence[Unit], config: dict[str, Any]) -> Iterator[Row | dict[str, Any]]:
    """All rows of a study: its environments, those of its finished units in the order of the plan, its failures.

    There is an environment for each commit and set of versions that units were done with.

    The same results give the same rows in the same order, whoever worked on them and when.

    Args:
        store: the study's directory.
        plan: its units.
        config: the study as JSON values.
    """
    done = [unit for unit in plan if store.is_done(unit.key)]
    environment = store.environment()
    facts = {unit.name: store.facts(unit.key) for unit in done}
    seconds: dict[str, list[float]] = {}
    for found in facts.values():
        made_with = found.made_with or {"commit": environment.commit, "versions": environment.versions}
        seconds.setdefault(canonical(made_with), []).append(found.seconds)
    for code, spent in sorted(seconds.items()) or [("{}", [])]:
        yield EnvironmentRow(
            **json.loads(code),
            machine=environment.machine,
            started=environment.started,
            finished=environment.finished,
            config=config,
            seconds=round(math.fsum(spent), 3),
        )
    for unit in done:
        yield from store.rows(unit.key)
    for unit in plan:
        failure = store.failure(unit.key)
        if failure is not None:
            yield FailureRow(unit=unit.key[:KEY_DIGITS], what=unit.name, reason=failure.reason)


def write_rows(path: Path, rows: Iterable[Row | dict[str, Any]]) -> int:
    """Write rows as JSON lines, compressed if the name ends in ``.gz``; return how many.

    Raises:
        StorageError: for another ending than ``.jsonl`` or ``.jsonl.gz``, or if it cannot be written.
    """
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        raise StorageError(f"{path}: wanted a name that ends in .jsonl or .jsonl.gz")
    lines = [canonical(msgspec.to_builtins(row)) + "\n" for row in rows]
    content = "".join(lines).encode("ascii")
    if path.suffix == ".gz":
        buffer = io.BytesIO()
        with gzip.GzipFile(
            filename="", fileobj=buffer, mode="wb", mtime=0
        ) as stream:  # no name, no time: same bytes
            stream.write(content)
        content = buffer.getvalue()
    write_atomically(path, content)
    return len(lines)
