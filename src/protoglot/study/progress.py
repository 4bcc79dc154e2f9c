"""How far a study is, as its directory shows, and how long the rest will take."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from protoglot.study.claims import Claim
from protoglot.study.costs import expected_seconds
from protoglot.study.plan import Unit
from protoglot.study.store import Store


class State(StrEnum):
    """How far a unit is."""

    DONE = "done"
    RUNNING = "running"
    FAILED = "failed"
    BLOCKED = "blocked"
    """Needs one that failed."""
    WAITING = "waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """How far a study is."""

    states: Mapping[str, State]
    """By name of the unit."""

    running: Sequence[Claim]
    expected: Mapping[str, float]
    """Seconds that each unit takes in its process: measured, or expected from others of its kind."""

    seconds_left: float

    def count(self, state: State) -> int:
        """Units in a state."""
        return sum(found is state for found in self.states.values())


class Watcher:
    """Looks how far a study is, again and again.

    Args:
        store: the study's directory.
        plan: its units.
        num_workers: that share what is left.
    """

    def __init__(self, store: Store, plan: Sequence[Unit], *, num_workers: int) -> None:
        self._store, self._plan, self._num_workers = store, plan, num_workers
        self._measured: dict[str, float] = {}

    def look(self) -> Snapshot:
        """How far the study is now."""
        states = states_of(self._store, self._plan, known_done=self._measured)
        for unit in self._plan:
            if states[unit.name] is State.DONE and unit.name not in self._measured:
                self._measured[unit.name] = self._store.facts(unit.key).seconds
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
            seconds_left=left / self._num_workers,
        )


def states_of(store: Store, plan: Sequence[Unit], *, known_done: Collection[str] = ()) -> dict[str, State]:
    """How far each unit of a plan is, by name; those known to be done are not looked at."""
    running = store.running()
    states: dict[str, State] = {}
    for unit in plan:
        needed = {states[name] for name in unit.needs.values()}
        if unit.name in known_done or store.is_done(unit.key):
            states[unit.name] = State.DONE
        elif unit.key in running:
            states[unit.name] = State.RUNNING
        elif store.failure(unit.key) is not None:
            states[unit.name] = State.FAILED
        elif needed & {State.FAILED, State.BLOCKED}:
            states[unit.name] = State.BLOCKED
        else:
            states[unit.name] = State.WAITING
    return states
