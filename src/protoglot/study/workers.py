"""Processes that work on a study, watched by the one that started them."""

import contextlib
import importlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType

from protoglot.errors import ProtoglotError
from protoglot.study.costs import expected_seconds
from protoglot.study.plan import Unit
from protoglot.study.scheduling import Runner, State, Worker, one_line, states_of
from protoglot.study.store import Failure, Running, Store

REAL_RUNNER = "protoglot.study.work:make_runner"
_SECONDS_BETWEEN_LOOKS = 0.5
_EXIT_COMPLAINT = 3
_MAX_IDLE_DEATHS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """All that a worker process needs to know."""

    directory: Path
    plan: tuple[Unit, ...]
    keys: Mapping[str, str]
    corpus: str
    """As the user named it."""

    digests: Mapping[str, str]
    """Of the text of each language of the study, by code."""

    num_threads: int
    made_with: Mapping[str, object] | None = None
    """Commit and versions of the code."""

    runner: str = REAL_RUNNER
    """``module:function`` that takes the assignment and gives a :data:`protoglot.study.scheduling.Runner`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """How far a study is."""

    states: Mapping[str, State]
    """By name of the unit."""

    running: Sequence[Running]
    expected: Mapping[str, float]
    """Seconds that each unit takes in its process: measured, or expected from others of its kind."""

    measured: Mapping[str, float]
    """Those of the units that are done."""

    seconds_left: float

    def count(self, state: State) -> int:
        """Units in a state."""
        return sum(found is state for found in self.states.values())


class Watcher:
    """Looks how far a study is, again and again.

    Args:
        store: the study's directory.
        plan: its units.
        keys: of the units, by name.
        num_workers: that share what is left.
    """

    def __init__(self, store: Store, plan: Sequence[Unit], keys: Mapping[str, str], *, num_workers: int) -> None:
        self._store, self._plan, self._keys, self._num_workers = store, plan, keys, num_workers
        self._measured: dict[str, float] = {}

    def look(self) -> Snapshot:
        """How far the study is now."""
        states = states_of(self._store, self._plan, self._keys, known_done=self._measured)
        for name, state in states.items():
            if state is State.DONE and name not in self._measured:
                self._measured[name] = self._store.facts(self._keys[name]).seconds
        expected = expected_seconds(self._plan, self._measured, num_workers=self._num_workers)
        running = {each.name: each for each in self._store.running().values()}
        left = 0.0
        for name, state in states.items():
            if state is State.WAITING:
                left += expected[name]
            elif state is State.RUNNING:
                spent = time.time() - running[name].started if name in running else 0.0
                left += max(expected[name] - spent, 0.0)
        return Snapshot(
            states=states,
            running=list(running.values()),
            expected=expected,
            measured=dict(self._measured),
            seconds_left=left / self._num_workers,
        )


def run_workers(
    assignment: Assignment,
    *,
    num_workers: int,
    on_look: Callable[[], None] = lambda: None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> None:
    """Work on a study in processes of their own, until nothing is left that can be done.

    Units that failed in an earlier run are tried once more. A process that dies counts as a failure of the unit it
    was at, and another takes its place.

    Args:
        assignment: the study.
        num_workers: processes.
        on_look: called about twice a second.
        stop_asked: looked at as often; the workers then save what they have and stop.

    Raises:
        ProtoglotError: if a worker cannot work at all.
    """
    store = Store.open(assignment.directory)
    for key in assignment.keys.values():
        store.forget_failure(key)
    crew = _Crew(assignment)
    try:
        for _ in range(num_workers):
            crew.start()
        while crew.members:
            wait([process.sentinel for process in crew.members], timeout=_SECONDS_BETWEEN_LOOKS)
            if stop_asked():
                crew.ask_to_stop()
            crew.see_to_the_ended(store)
            on_look()
    finally:
        crew.kill()  # nothing to do unless we leave by an error or a second Ctrl-C: results are whole all the same


class _Crew:
    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment
        self._context = multiprocessing.get_context("spawn")
        self.members: dict[BaseProcess, Connection] = {}
        self._stopping = False
        self._num_idle_deaths = 0

    def start(self) -> None:
        receiver, sender = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_work, args=(self._assignment, os.getpid(), sender))
        process.start()
        sender.close()
        self.members[process] = receiver

    def ask_to_stop(self) -> None:
        if not self._stopping:
            self._stopping = True
            for process in self.members:
                process.terminate()

    def see_to_the_ended(self, store: Store) -> None:
        for process in [process for process in self.members if not process.is_alive()]:
            process.join()
            receiver = self.members.pop(process)
            complaint = ""
            with contextlib.suppress(EOFError), receiver:
                complaint = str(receiver.recv())
            if complaint:
                raise ProtoglotError(complaint)
            if process.exitcode and not self._stopping:
                self._replace(process, store)

    def _replace(self, process: BaseProcess, store: Store) -> None:
        abandoned = store.abandoned_by(process.pid or 0)
        code = process.exitcode or 0
        if not abandoned:
            self._num_idle_deaths += 1
            if code > 0 or self._num_idle_deaths > _MAX_IDLE_DEATHS:  # the next would fare no better
                raise ProtoglotError(f"a worker ended with status {code} without a unit at work; wanted status 0")
        how = f"signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"status {code}"
        for key, running in abandoned.items():
            reason = f"its process ended with {how}; if that was for lack of memory, fewer workers may help"
            store.record_failure(key, Failure(name=running.name, reason=reason))
        self.start()

    def kill(self) -> None:
        for process, receiver in self.members.items():
            process.kill()
            process.join()
            receiver.close()
        self.members = {}


def _work(assignment: Assignment, parent: int, complaints: Connection) -> None:
    """What a worker process does."""
    asked = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)

    def stop_asked() -> bool:
        return asked or os.getppid() != parent  # whoever started us is gone: nobody watches any more

    os.environ["OMP_NUM_THREADS"] = str(assignment.num_threads)  # before the runner imports torch
    try:
        runner = _find_runner(assignment)
        Worker(
            Store.open(assignment.directory),
            assignment.plan,
            assignment.keys,
            runner,
            stop_asked=stop_asked,
            made_with=assignment.made_with,
        ).work()
    except ProtoglotError as error:
        with contextlib.suppress(OSError):
            complaints.send(one_line(error))
        sys.exit(_EXIT_COMPLAINT)


def _find_runner(assignment: Assignment) -> Runner:
    module, _, name = assignment.runner.partition(":")
    runner: Runner = getattr(importlib.import_module(module), name)(assignment)
    return runner
