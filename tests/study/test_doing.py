import pytest

from protoglot.errors import CorpusError
from protoglot.study.doing import Ending, Interrupted, attempt, one_line
from protoglot.study.progress import State, states_of
from study.fake import FakeRunner, starts, unit_of, work


def test_all_units_are_done_once(fake_study):
    found, store = fake_study
    assert set(work(found, store)) == {Ending.DONE}
    assert set(work(found, store)) == {Ending.TAKEN}
    assert set(states_of(store, found.plan).values()) == {State.DONE}
    assert sorted(starts(store.path)) == sorted(unit.name for unit in found.plan)


def test_what_fails_is_listed_and_the_rest_goes_on(fake_study):
    found, store = fake_study
    store.path.with_suffix(".failing").write_text("prior oest, partition 1")
    work(found, store)
    after = states_of(store, found.plan)
    (failed,) = [name for name, state in after.items() if state is State.FAILED]
    assert failed == "prior oest, partition 1, seed 0"
    key = unit_of(found, failed).key
    assert store.failure(key).reason == "ValueError: told to fail by prior oest, partition 1"
    assert "Traceback" in store.failure(key).traceback
    blocked = {name for name, state in after.items() if state is State.BLOCKED}
    assert blocked == {unit.name for unit in found.plan if failed in unit.needs.values()}
    assert all(state is State.DONE for name, state in after.items() if name != failed and name not in blocked)

    store.path.with_suffix(".failing").unlink()
    work(found, store)
    assert states_of(store, found.plan)[failed] is State.FAILED  # until it is forgotten, as when a run starts
    store.forget_failure(key)
    work(found, store)
    assert set(states_of(store, found.plan).values()) == {State.DONE}
    assert starts(store.path).count("train oest, partition 1, seed 0") == 1


def test_a_unit_that_is_asked_to_stop_is_left_for_later(fake_study):
    found, store = fake_study
    unit = found.plan[0]

    def run(unit, place):
        place.unfinished.mkdir(parents=True)
        (place.unfinished / "checkpoint").write_text(unit.name)
        place.stop_if_asked()

    assert attempt(unit, run, store, lambda: True) is Ending.INTERRUPTED
    assert set(states_of(store, found.plan).values()) == {State.WAITING}
    assert (store.unfinished(unit.key) / "checkpoint").is_file()


def test_a_unit_that_another_process_has_finished_meanwhile_is_no_failure(fake_study):
    found, store = fake_study
    unit = found.plan[0]

    def run(unit, place):
        claim = store.path / "claims" / f"{unit.key}.json"
        claim.unlink()  # as if we had been thought dead
        assert attempt(unit, FakeRunner(), store) is Ending.DONE
        return FakeRunner()(unit, place)

    assert attempt(unit, run, store) is Ending.DONE
    assert store.failure(unit.key) is None
    assert store.rows(unit.key)


def test_a_result_must_be_given(fake_study):
    found, store = fake_study
    assert attempt(found.plan[0], lambda unit, place: None, store) is Ending.FAILED
    assert not store.is_done(found.plan[0].key)


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
