"""Rows of long measurements: one JSON line each, made by several processes, and never made twice."""

import json
import multiprocessing
import os
import platform
import signal
import statistics
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from reading_systems import Setting, identity_of
from reading_texts import Source

from protoglot.storage import append_line, write_atomically

Row = dict[str, Any]
ROOT = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Task:
    """A row that is to be made."""

    source: Source
    system: str
    identity: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What makes a row the same as another."""
        return self.source.corpus, self.source.language, self.system, self.identity


def key_of(row: Row) -> tuple[str, str, str, str]:
    """As :attr:`Task.key`, of a row that was made."""
    return row["corpus"], row["language"], row["system"], row["identity"]


def read_rows(path: Path) -> list[Row]:
    """All rows of a file, a last line that was cut off left out."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="ascii").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def tasks_left(sources: Sequence[Source], systems: Sequence[str], setting: Setting, rows: list[Row]) -> list[Task]:
    """The rows that are not there yet."""
    identities = {system: identity_of(system, setting) for system in systems}
    done = {key_of(row) for row in rows}
    tasks = [Task(source, system, identities[system]) for source in sources for system in systems]
    return [task for task in tasks if task.key not in done]


def make_rows(
    tasks: Sequence[Task],
    make: Callable[[Task, Setting], Row | None],
    setting: Setting,
    path: Path,
    *,
    jobs: int,
    show: Callable[[Row], str],
) -> None:
    """Make rows in several processes of one thread each, and put each down as soon as it is there.

    Raises:
        SystemExit: if some could not be made.
    """
    print(f"{len(tasks)} rows to make, in {jobs} processes -> {path}", flush=True)
    if not tasks:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(json.dumps(row) + "\n" for row in read_rows(path)))  # without a line cut off
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # before the processes load what reads them
    facts = describe()
    seconds: dict[str, list[float]] = defaultdict(list)
    failures = []
    pool = ProcessPoolExecutor(
        jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_ignore_interrupt
    )
    try:
        running = {pool.submit(_timed, make, task, setting): task for task in tasks}
        while running:
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                task = running.pop(future)
                place = f"[{len(tasks) - len(running)}/{len(tasks)}] {'/'.join(task.key[:3])}"
                if (error := future.exception()) is not None:
                    failures.append(f"{place}: {error!r}")
                    print(failures[-1], flush=True)
                    continue
                made, taken = future.result()
                seconds[task.system].append(taken)
                if made is None:
                    print(f"{place}: nothing known", flush=True)
                    continue
                row = {
                    "corpus": task.source.corpus,
                    "language": task.source.language,
                    "system": task.system,
                    "identity": task.identity,
                    **made,
                    **facts,
                }
                append_line(path, json.dumps(row))
                left = seconds_left([other.system for other in running.values()], seconds) / jobs
                print(f"{place}: {show(row)}, {taken:.1f} s; left {clock(left)}", flush=True)
    except KeyboardInterrupt:
        raise SystemExit("stopped; the rows made so far are kept") from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    if failures:
        raise SystemExit("\n".join(["not made:", *failures]))


def seconds_left(systems: Sequence[str], seconds: dict[str, list[float]]) -> float:
    """Work that is left, each system reckoned at what it took so far, or at what all took."""
    means = {system: statistics.fmean(taken) for system, taken in seconds.items() if taken}
    overall = statistics.fmean(means.values()) if means else 0.0
    return sum(means.get(system, overall) for system in systems)


def clock(seconds: float) -> str:
    """Hours, minutes and seconds."""
    return str(timedelta(seconds=round(seconds)))


def describe() -> Row:
    """Commit and versions."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    versions = {name: version(name) for name in ("protoglot", "numpy", "numba")}
    return {"commit": commit, "versions": {"python": platform.python_version(), **versions}}


def _timed(make: Callable[[Task, Setting], Row | None], task: Task, setting: Setting) -> tuple[Row | None, float]:
    found = identity_of(task.system, setting)
    if found != task.identity:  # the weights were replaced while rows were made
        raise RuntimeError(
            f"{task.system}: is now {found[:12]}, was {task.identity[:12]}; wanted one for all rows"
        )
    start = time.perf_counter()
    return make(task, setting), time.perf_counter() - start


def _ignore_interrupt() -> None:
    """The parent hears it and stops its children."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
