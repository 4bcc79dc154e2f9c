"""Which unit comes next, and how it is done: the loop of every worker.

Workers do not talk to each other. Each looks through the plan for the first unit that is not done, whose needs are,
and that nobody else has taken; so any number of them, in any number of commands, can share a study.
"""

import time
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from protoglot.errors import ProtoglotError
from protoglot.study.plan import Unit
from protoglot.study.store import Failure, Outcome, Store

SECONDS_BETWEEN_LOOKS = 0.25
"""How long a worker waits for units of others before it looks again."""


class Interrupted(Exception):  # noqa: N818 - not an error: the unit will go on another time
    """A unit was asked to stop, and has kept what it needs to go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a unit is done, and with what."""

    key: str
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


class State(StrEnum):
    """How far a unit is."""

    DONE = "done"
    RUNNING = "running"
    FAILED = "failed"
    BLOCKED = "blocked"
    """Needs one that failed."""
    WAITING = "waiting"


class Look(StrEnum):
    """What a worker found when it looked for a unit."""

    WORKED = "worked"
    BUSY = "busy"
    """All that could be done now is being done by others."""
    NOTHING_LEFT = "nothing left"


@dataclass(slots=True)
class Worker:
    """Does units of a study, one after the other."""

    store: Store
    plan: Sequence[Unit]
    keys: Mapping[str, str]
    runner: Runner
    stop_asked: Callable[[], bool] = lambda: False
    made_with: Mapping[str, object] | None = None
    """Commit and versions of the code, to be kept with what it does."""
    _done: set[str] = field(default_factory=set)
    _failed: set[str] = field(default_factory=set)

    def work(self) -> None:
        """Do all that can be done, or until asked to stop."""
        while not self.stop_asked():
            look = self.work_once()
            if look is Look.NOTHING_LEFT:
                return
            if look is Look.BUSY:
                time.sleep(SECONDS_BETWEEN_LOOKS)

    def work_once(self) -> Look:
        """Do the first unit that can be done now."""
        busy = False
        for unit in self.plan:
            if unit.name in self._done or unit.name in self._failed:
                continue
            if not self._done.issuperset(unit.needs.values()):
                continue  # what it needs stands before it in the plan, so this look has seen to that already
            key = self.keys[unit.name]
            if self.store.is_done(key):
                self._done.add(unit.name)
            elif self.store.failure(key) is not None:
                self._failed.add(unit.name)
            else:
                with self.store.claim(key, unit.name) as free:
                    if free:
                        self._do(unit, key)
                        return Look.WORKED
                busy = True
        return Look.BUSY if busy else Look.NOTHING_LEFT

    def _do(self, unit: Unit, key: str) -> None:
        try:
            with self.store.written(key, unit, self.made_with) as writing:
                place = Place(
                    key=key,
                    folder=writing.folder,
                    unfinished=self.store.unfinished(key),
                    needs={purpose: self.store.result(self.keys[name]) for purpose, name in unit.needs.items()},
                    stop_asked=self.stop_asked,
                )
                writing.outcome = self.runner(unit, place)
        except Interrupted:
            return
        except Exception as error:
            self.store.record_failure(
                key, Failure(name=unit.name, reason=one_line(error), traceback=traceback.format_exc())
            )


def one_line(error: BaseException) -> str:
    """Why something failed, in one line: the user's errors in their own words, others with their kind."""
    text = " ".join(str(error).split())
    if isinstance(error, ProtoglotError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def states_of(
    store: Store, plan: Sequence[Unit], keys: Mapping[str, str], *, known_done: Collection[str] = ()
) -> dict[str, State]:
    """How far each unit of a plan is, by name; those known to be done are not looked at."""
    running = store.running()
    states: dict[str, State] = {}
    for unit in plan:
        key = keys[unit.name]
        needed = {states[name] for name in unit.needs.values()}
        if unit.name in known_done or store.is_done(key):
            states[unit.name] = State.DONE
        elif key in running:
            states[unit.name] = State.RUNNING
        elif store.failure(key) is not None:
            states[unit.name] = State.FAILED
        elif needed & {State.FAILED, State.BLOCKED}:
            states[unit.name] = State.BLOCKED
        else:
            states[unit.name] = State.WAITING
    return states
