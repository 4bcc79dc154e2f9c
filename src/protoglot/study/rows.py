"""Result rows of a study: JSON lines of a few kinds, each with all of its keys."""

import gzip
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from protoglot.errors import StorageError
from protoglot.storage import write_atomically
from protoglot.study.plan import Unit, canonical
from protoglot.study.store import Store

KEY_DIGITS = 16
"""Of a unit's key that stand in its rows."""

ROW_KEYS: dict[str, tuple[str, ...]] = {
    "score": (
        *("language", "partition", "regime", "conditioning", "method", "network", "sentences", "sample", "seed"),
        *("nats", "characters", "seconds", "unit"),
    ),
    "text": (
        *("language", "partition", "conditioning", "method", "regime", "sentences", "temperature", "text", "unit"),
    ),
    "unigram": ("language", "name", "family", "counts", "unit"),
    "signal-to-noise": ("partition", "conditioning", "layer", "edges", "density", "unit"),
    "environment": ("commit", "versions", "machine", "config", "started", "finished", "seconds", "unit"),
    "failure": ("unit", "what", "reason"),
}
"""Keys of the rows of each kind, besides ``kind``."""

Row = dict[str, Any]


def make_row(kind: str, values: Mapping[str, object]) -> Row:
    """A row with all keys of its kind; what is not given is null."""
    keys = ROW_KEYS[kind]
    unknown = sorted(set(values) - set(keys))
    if unknown:
        raise AssertionError(f"a row of kind {kind} has no {', '.join(unknown)}")
    nats = values.get("nats")
    if isinstance(nats, float) and not math.isfinite(nats):
        raise ArithmeticError(f"{values.get('language')}: a score of {nats} nats; wanted a finite number")
    return {"kind": kind, **{key: values.get(key) for key in keys}}


def gather_rows(store: Store, plan: Sequence[Unit], keys: Mapping[str, str], config: object) -> Iterator[Row]:
    """All rows of a study: its environments, those of its finished units in the order of the plan, its failures.

    There is an environment for each commit and set of versions that units were done with.

    The same results give the same rows in the same order, whoever worked on them and when.

    Args:
        store: the study's directory.
        plan: its units.
        keys: of the units, by name.
        config: the study as JSON values.
    """
    done = [unit for unit in plan if store.is_done(keys[unit.name])]
    facts = store.read_json("environment.json") if (store.path / "environment.json").is_file() else {}
    made: dict[str, list[Unit]] = {}
    for unit in done:
        made_with = store.made_with(keys[unit.name]) or {name: facts.get(name) for name in ("commit", "versions")}
        made.setdefault(canonical(made_with), []).append(unit)
    for code, units in sorted(made.items()) or [(canonical({}), [])]:
        yield make_row(
            "environment",
            {
                **{name: facts.get(name) for name in ("machine", "started", "finished")},
                **json.loads(code),
                "config": config,
                "seconds": round(math.fsum(store.seconds(keys[unit.name]) for unit in units), 3),
            },
        )
    for unit in done:
        yield from store.rows(keys[unit.name])
    failed = {unit.name: store.failure(keys[unit.name]) for unit in plan}
    for unit in plan:
        failure = failed[unit.name]
        if failure is not None:
            shown = {"unit": keys[unit.name][:KEY_DIGITS], "what": unit.name, "reason": failure.reason}
            yield make_row("failure", shown)


def write_rows(path: Path, rows: Iterator[Row]) -> int:
    """Write rows as JSON lines, compressed if the name ends in ``.gz``; return how many.

    Raises:
        StorageError: for another ending than ``.jsonl`` or ``.jsonl.gz``, or if it cannot be written.
    """
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        raise StorageError(f"{path}: wanted a name that ends in .jsonl or .jsonl.gz")
    lines = [canonical(row) + "\n" for row in rows]
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
