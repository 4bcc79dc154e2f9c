"""Which unit comes next: the loop of the process that started a study, and the workers it has.

The directory is the truth about what is done; the loop only looks for units whose needs are, and that nobody has
claimed. So any number of such loops, in any number of commands, can share a study.
"""

import contextlib
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from protoglot.errors import ProtoglotError
from protoglot.study.claims import is_claimed, is_orphaned, remove_orphan
from protoglot.study.doing import Ending, PlanFacts, do_unit, prepare_process
from protoglot.study.plan import Unit
from protoglot.study.store import Failure, Store

MAX_DEATHS = 3
"""Of processes at one unit: it is done anew twice."""
_MAX_IDLE_DEATHS = 5
_SECONDS_BETWEEN_LOOKS = 0.2


def run_units(
    plan: Sequence[Unit],
    facts: PlanFacts,
    directory: Path,
    *,
    num_workers: int,
    on_look: Callable[[], None] = lambda: None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> None:
    """Do the units of a study in processes of their own, until nothing is left that can be done.

    Units that failed in an earlier run are tried once more. Where a process dies, all of them are replaced; the unit
    it was at is begun anew, and those of the others go on.

    Args:
        plan: the units, with their keys.
        facts: what they have in common.
        directory: of the study.
        num_workers: processes.
        on_look: called a few times a second.
        stop_asked: looked at as often; the processes then save what they have and end.

    Raises:
        ProtoglotError: if a process cannot work at all.
    """
    store = Store.open(directory)
    for unit in plan:
        store.forget_failure(unit.key)
    schedule = Schedule(store, plan, facts, num_workers=num_workers, on_look=on_look, stop_asked=stop_asked)
    lasted = False
    while not lasted and not stop_asked():
        with _processes(num_workers) as pool:
            lasted = schedule.work_through(pool)
        schedule.note_deaths()


class Schedule:
    """Hands units to an executor as soon as what they need is done.

    Args:
        store: of the study.
        plan: the units.
        facts: what they have in common.
        num_workers: units at work at a time.
        on_look: called at every look.
        stop_asked: whether to hand out no more, and to ask all processes to end.
    """

    def __init__(
        self,
        store: Store,
        plan: Sequence[Unit],
        facts: PlanFacts,
        *,
        num_workers: int = 1,
        on_look: Callable[[], None] = lambda: None,
        stop_asked: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store, self._plan, self._facts, self._num_workers = store, plan, facts, num_workers
        self._on_look, self._stop_asked = on_look, stop_asked
        self._done: set[str] = set()
        self._failed: set[str] = set()
        self._at_work: dict[Future[Ending], Unit] = {}
        self._deaths: Counter[str] = Counter()

    def work_through(self, pool: Executor) -> bool:
        """Do all that can be done; whether the pool has lasted.

        Raises:
            ProtoglotError: if no unit can be done in it.
        """
        asked = False
        try:
            while True:
                self._on_look()
                if self._stop_asked() and not asked:
                    asked = True
                    for process in multiprocessing.active_children():
                        process.terminate()
                busy = False if asked else self._hand_out(pool)
                if self._at_work:
                    ended = wait(self._at_work, _SECONDS_BETWEEN_LOOKS, FIRST_COMPLETED).done
                    for future in ended:
                        future.result()
                        del self._at_work[future]
                elif busy:
                    time.sleep(_SECONDS_BETWEEN_LOOKS)
                else:
                    return True
        except BrokenProcessPool:
            return False

    def note_deaths(self) -> None:
        """See which units a broken pool was at, when all of its processes have ended.

        Raises:
            ProtoglotError: if processes die again and again without having begun a unit.
        """
        lost = [unit for unit in self._at_work.values() if is_orphaned(self._store.claim_path(unit.key))]
        if self._at_work and not lost and not self._stop_asked():
            self._deaths[""] += 1
            if self._deaths[""] > _MAX_IDLE_DEATHS:
                raise ProtoglotError("worker processes end before they begin a unit; wanted them to wait for one")
        self._at_work.clear()
        for unit in lost:
            self._deaths[unit.name] += 1
            if self._deaths[unit.name] == MAX_DEATHS:
                reason = (
                    f"its process was killed {MAX_DEATHS} times; if for lack of memory, fewer workers may help"
                )
                self._store.record_failure(unit.key, Failure(name=unit.name, reason=reason))

    def _hand_out(self, pool: Executor) -> bool:
        """Submit units while there are workers for them; whether others are at units that could be done now."""
        busy = False
        at_work = {unit.name for unit in self._at_work.values()}
        for unit in self._plan:
            if len(self._at_work) == self._num_workers:
                break
            if unit.name in self._done or unit.name in self._failed or unit.name in at_work:
                continue
            if not self._done.issuperset(unit.needs.values()):
                continue  # what it needs stands before it in the plan, so this look has seen to that already
            if self._store.is_done(unit.key):
                self._done.add(unit.name)
            elif self._store.failure(unit.key) is not None:
                self._failed.add(unit.name)
            elif is_claimed(self._store.claim_path(unit.key)):
                busy = True
            else:
                remove_orphan(self._store.claim_path(unit.key))  # so that one found later is of this attempt
                self._at_work[pool.submit(do_unit, unit, self._facts, self._store.path)] = unit
        return busy


@contextlib.contextmanager
def _processes(number: int) -> Iterator[ProcessPoolExecutor]:
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(number, context, prepare_process)
    try:
        yield pool
    except BaseException:  # an error, or a second Ctrl-C: results are whole all the same
        for process in multiprocessing.active_children():
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
