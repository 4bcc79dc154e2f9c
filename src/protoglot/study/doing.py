"""Doing one unit in whatever process: all that a worker is given, and what it makes of signals and errors."""

import contextlib
import importlib
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from multiprocessing.connection import wait
from pathlib import Path
from types import FrameType

from protoglot.errors import ProtoglotError
from protoglot.study.plan import Unit
from protoglot.study.store import Failure, Outcome, Store

REAL_RUNNER = "protoglot.study.work:make_runner"


class Interrupted(Exception):  # noqa: N818 - not an error: the unit will go on another time
    """A unit was asked to stop, and has kept what it needs to go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    """What all units of a study have in common."""

    corpus: str
    """As the user named it."""

    digests: tuple[tuple[str, str], ...]
    """Codes of the study's languages, each with the digest of its text."""

    num_threads: int
    runner: str = REAL_RUNNER
    """``module:function`` that takes these facts and gives a :data:`Runner`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a unit is done, and with what."""

    folder: Path
    """For files that units after this one need."""

    unfinished: Path
    """For what lets the unit go on after an interruption; may not exist yet."""

    needs: Mapping[str, Path]
    """What for -> directory of a finished unit."""

    stop_asked: Callable[[], bool]

    def stop_if_asked(self) -> None:
        """End the unit here if it was asked to stop.

        Raises:
            Interrupted: if so.
        """
        if self.stop_asked():
            raise Interrupted


Runner = Callable[[Unit, Place], Outcome]
"""Does a unit."""


class Ending(StrEnum):
    """How an attempt to do a unit ended."""

    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    TAKEN = "taken"
    """Somebody else does it, or has just done it."""


def do_unit(unit: Unit, facts: PlanFacts, directory: Path) -> Ending:
    """Do a unit of the study in a directory, in a process of its own; SIGTERM asks it to save and end.

    Raises:
        ProtoglotError: if no unit can be done here, as without the corpus.
    """
    runner = _find_runner(facts)
    with _asked_by_signal() as stop_asked:
        return attempt(unit, runner, Store.open(directory), stop_asked)


def attempt(unit: Unit, runner: Runner, store: Store, stop_asked: Callable[[], bool] = lambda: False) -> Ending:
    """Claim a unit, do it, and keep its result, or why there is none."""

    def do(folder: Path) -> Outcome:
        place = Place(
            folder=folder,
            unfinished=store.unfinished(unit.key),
            needs={purpose: store.result(key) for purpose, key in unit.keys_of_needs.items()},
            stop_asked=stop_asked,
        )
        return runner(unit, place)

    with store.claim(unit) as free:
        if not free:
            return Ending.TAKEN
        try:
            store.keep(unit, do)
        except Interrupted:
            return Ending.INTERRUPTED
        except Exception as error:
            if store.is_done(unit.key):  # by whoever took over the claim, when this process was thought dead
                return Ending.DONE
            failure = Failure(name=unit.name, reason=one_line(error), traceback=traceback.format_exc())
            store.record_failure(unit.key, failure)
            return Ending.FAILED
        return Ending.DONE


def one_line(error: BaseException) -> str:
    """Why something failed, in one line: the user's errors in their own words, others with their kind."""
    text = " ".join(str(error).split())
    if isinstance(error, ProtoglotError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def prepare_process() -> None:
    """Make a new worker process leave Ctrl-C to its parent, and end when that is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)


@lru_cache(maxsize=1)
def _find_runner(facts: PlanFacts) -> Runner:
    """The runner of this process, which keeps at hand what the next unit may need again."""
    os.environ["OMP_NUM_THREADS"] = str(facts.num_threads)  # before the runner imports torch
    module, _, name = facts.runner.partition(":")
    runner: Runner = getattr(importlib.import_module(module), name)(facts)
    return runner


@contextlib.contextmanager
def _asked_by_signal() -> Iterator[Callable[[], bool]]:
    """Give a function that tells whether SIGTERM has come; if so, the process ends after the block.

    A process that waits for its next unit can be ended at any time, so there the signal keeps its usual meaning.
    """
    if threading.current_thread() is not threading.main_thread():  # no place for signals
        yield lambda: False
        return
    asked = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked = True

    before = signal.signal(signal.SIGTERM, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGTERM, before)
        if asked:
            os.kill(os.getpid(), signal.SIGTERM)
