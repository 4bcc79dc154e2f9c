"""Result rows of a study: JSON lines of a few kinds, each with all of its keys."""

import gzip
import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from protoglot.errors import StorageError
from protoglot.report.rows import EnvironmentRow, FailureRow, Row
from protoglot.storage import write_atomically
from protoglot.study.plan import Unit, canonical
from protoglot.study.store import Store

KEY_DIGITS = 16
"""Of a unit's key that stand in its rows."""


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
    seconds: dict[str, list[float]] = {}
    for unit in done:
        facts = store.facts(unit.key)
        made_with = facts.made_with or {"commit": environment.commit, "versions": environment.versions}
        seconds.setdefault(canonical(made_with), []).append(facts.seconds)
    for code, spent in sorted(seconds.items()) or [("{}", [])]:
        made_with = json.loads(code)
        yield EnvironmentRow(
            commit=made_with.get("commit") or "",
            versions=made_with.get("versions") or {},
            machine=environment.machine,
            started=environment.started,
            finished=environment.finished or "",
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
