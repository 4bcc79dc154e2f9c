import threading

import pytest

from protoglot.errors import CorpusError
from protoglot.study.scheduling import Interrupted, State, Worker, one_line, states_of
from study.fake import FakeRunner, starts


def states(found, store):
    return states_of(store, found.plan, found.keys)


def test_all_units_are_done_once(fake_study):
    found, store = fake_study
    for _ in range(2):
        Worker(store, found.plan, found.keys, FakeRunner(store.path)).work()
    assert set(states(found, store).values()) == {State.DONE}
    assert sorted(starts(store.path)) == sorted(unit.name for unit in found.plan)


def test_workers_side_by_side_never_do_a_unit_twice(fake_study):
    found, store = fake_study
    workers = [
        threading.Thread(target=Worker(store, found.plan, found.keys, FakeRunner(store.path, 0.002)).work)
        for _ in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert set(states(found, store).values()) == {State.DONE}
    assert sorted(starts(store.path)) == sorted(unit.name for unit in found.plan)


def test_what_fails_is_listed_and_the_rest_goes_on(fake_study):
    found, store = fake_study
    store.path.with_suffix(".failing").write_text("prior oest, partition 1")
    Worker(store, found.plan, found.keys, FakeRunner(store.path)).work()
    after = states(found, store)
    (failed,) = [name for name, state in after.items() if state is State.FAILED]
    assert failed == "prior oest, partition 1, seed 0"
    failure = store.failure(found.keys[failed])
    assert failure.reason == "ValueError: told to fail by prior oest, partition 1"
    assert "Traceback" in failure.traceback
    blocked = {name for name, state in after.items() if state is State.BLOCKED}
    assert blocked == {unit.name for unit in found.plan if failed in unit.needs.values()}
    assert all(state is State.DONE for name, state in after.items() if name != failed and name not in blocked)

    store.path.with_suffix(".failing").unlink()
    Worker(store, found.plan, found.keys, FakeRunner(store.path)).work()
    assert states(found, store)[failed] is State.FAILED  # until it is forgotten, as at the start of every run
    store.forget_failure(found.keys[failed])
    Worker(store, found.plan, found.keys, FakeRunner(store.path)).work()
    assert set(states(found, store).values()) == {State.DONE}
    assert starts(store.path).count("train oest, partition 1, seed 0") == 1


def test_a_worker_that_is_asked_to_stop_leaves_its_unit_for_later(fake_study):
    found, store = fake_study
    asked = []

    def run(unit, place):
        asked.append(unit.name)
        place.unfinished.mkdir(parents=True)
        (place.unfinished / "checkpoint").write_text(unit.name)
        place.stop_if_asked()

    Worker(store, found.plan, found.keys, run, stop_asked=lambda: bool(asked)).work()
    assert asked == [found.plan[0].name]
    assert set(states(found, store).values()) == {State.WAITING}
    assert (store.unfinished(found.keys[asked[0]]) / "checkpoint").is_file()


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (CorpusError("x: gone;\n wanted it"), "x: gone; wanted it"),
        (ValueError("two\nlines"), "ValueError: two lines"),
        (MemoryError(), "MemoryError"),
        (Interrupted(), "Interrupted"),
    ],
)
def test_reasons_are_one_line(error, line):
    assert one_line(error) == line
