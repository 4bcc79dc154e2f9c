import json
import os

import pytest

from protoglot.errors import StorageError
from protoglot.study.scheduling import State, Worker, states_of
from protoglot.study.store import Failure, Outcome, Store


def do(store, found, name="unigram eus"):
    unit = next(unit for unit in found.plan if unit.name == name)
    key = found.keys[name]
    with store.claim(key, name) as free:
        assert free
        with store.written(key, unit) as writing:
            writing.outcome = Outcome([{"kind": "score", "nats": 1.5}])
    return key


def test_a_finished_unit_gives_back_its_rows(fake_study):
    found, store = fake_study
    key = do(store, found)
    assert store.is_done(key)
    assert store.rows(key) == [{"kind": "score", "nats": 1.5}]
    assert store.facts(key).seconds >= 0
    with store.claim(key, "again") as free:
        assert not free


def test_a_unit_that_is_taken_is_not_free(fake_study):
    found, store = fake_study
    key = found.keys["unigram eus"]
    with store.claim(key, "unigram eus"):
        assert store.running()[key].process == os.getpid()
        with Store.open(store.path).claim(key, "unigram eus") as free:
            assert not free
    assert store.running() == {}


def test_a_unit_that_breaks_off_leaves_nothing(fake_study):
    found, store = fake_study
    unit = found.plan[0]
    key = found.keys[unit.name]

    def break_off():
        with store.claim(key, unit.name), store.written(key, unit) as writing:
            (writing.folder / "half.txt").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    assert not store.is_done(key)
    assert list((store.path / "units").iterdir()) == []
    assert store.running() == {}


def test_what_was_half_written_never_counts_and_makes_way(fake_study):
    found, store = fake_study
    key = found.keys["unigram eus"]
    aside = store.path / "units" / f".{key}.0123abcd.partial"
    damaged = store.path / "units" / key
    for folder in (aside, damaged):
        folder.mkdir()
        (folder / "rows.jsonl").write_text('{"kind": "score"}\n')
    (aside / "unit.json").write_text("{}")
    assert states_of(store, found.plan, found.keys)["unigram eus"] is State.WAITING
    assert do(store, found) == key
    assert [path.name for path in (store.path / "units").iterdir()] == [key]
    assert store.rows(key) == [{"kind": "score", "nats": 1.5}]


def test_changed_rows_are_noticed(fake_study):
    found, store = fake_study
    path = store.result(do(store, found)) / "rows.jsonl"
    path.write_text(path.read_text().replace("1.5", "1.4"))
    with pytest.raises(StorageError, match=r"rows\.jsonl: damaged; wanted its SHA-256"):
        store.rows(path.parent.name)


def test_an_abandoned_marker_is_not_believed(fake_study):
    found, store = fake_study
    key = found.keys["unigram eus"]
    marker = {"name": "unigram eus", "process": 1, "started": 0.0}
    (store.path / "running" / f"{key}.json").write_text(json.dumps(marker))
    assert store.running() == {}
    assert list(store.abandoned_by(1)) == [key]
    assert store.abandoned_by(2) == {}


def test_success_removes_what_was_unfinished_and_the_failure(fake_study):
    found, store = fake_study
    key = found.keys["unigram eus"]
    store.unfinished(key).mkdir()
    store.record_failure(key, Failure(name="unigram eus", reason="bad luck"))
    assert store.failure(key).reason == "bad luck"
    do(store, found)
    assert not store.unfinished(key).exists()
    assert store.failure(key) is None


def test_a_directory_of_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.doc").write_text("dear")
    with pytest.raises(StorageError, match="holds something else"):
        Store.create(tmp_path, "")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.doc"]
    with pytest.raises(StorageError, match=r"no config\.toml in it"):
        Store.open(tmp_path)


def test_a_result_must_be_given(fake_study):
    found, store = fake_study
    worker = Worker(store, found.plan, found.keys, lambda unit, place: None)
    worker.work()
    assert all(
        state in (State.FAILED, State.BLOCKED) for state in states_of(store, found.plan, found.keys).values()
    )
