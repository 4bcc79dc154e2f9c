import gzip
import json

import pytest

from protoglot.errors import StorageError
from protoglot.study.rows import ScoreRow, write_rows
from protoglot.study.scheduling import Worker
from protoglot.study.session import note_environment, open_study
from study.fake import FakeRunner


def test_a_score_that_is_not_a_number_is_no_row():
    with pytest.raises(ArithmeticError, match="eus: a score of nan nats"):
        ScoreRow(
            language="eus",
            regime="joint",
            method="joint",
            seed=0,
            nats=float("nan"),
            characters=1,
            seconds=0,
            unit="",
        )


def test_gathering_gives_the_same_bytes_whatever_the_order_of_work(fake_study, tmp_path):
    found, store = fake_study
    backwards = sorted(found.plan, key=lambda unit: (len(unit.needs), unit.name), reverse=True)
    for _ in range(4):  # in the wrong order, each pass does only what is ready
        Worker(store, backwards, found.keys, FakeRunner(store.path)).work()
    note_environment(store, num_workers=2, finished=True)
    found.write_rows(store)
    again, _ = open_study(store.path)
    assert again == found
    again.write_rows(store, tmp_path / "again.jsonl.gz")
    gathered = (store.path / "rows.jsonl.gz").read_bytes()
    assert (tmp_path / "again.jsonl.gz").read_bytes() == gathered
    assert gathered[4:8] == bytes(4)  # where gzip would tell the time
    environment, *rows = read(store.path / "rows.jsonl.gz")
    assert environment["kind"] == "environment"
    assert environment["config"]["name"] == "fake"
    assert environment["versions"]["torch"]
    assert [row["language"] for row in rows] == [unit.name for unit in found.plan]


def test_what_different_code_has_made_is_told_apart(fake_study):
    found, store = fake_study
    half = found.plan[: len(found.plan) // 2]
    runner = FakeRunner(store.path)
    Worker(store, half, found.keys, runner, made_with={"commit": "old", "versions": {"torch": "1"}}).work()
    Worker(store, found.plan, found.keys, runner, made_with={"commit": "new", "versions": {"torch": "1"}}).work()
    note_environment(store, num_workers=1, finished=True)
    found.write_rows(store)
    rows = [row for row in read(store.path / "rows.jsonl.gz") if row["kind"] == "environment"]
    assert [row["commit"] for row in rows] == ["new", "old"]
    assert all(row["machine"] and row["config"] for row in rows)
    spent = sum(store.facts(found.keys[unit.name]).seconds for unit in found.plan)
    assert sum(row["seconds"] for row in rows) == pytest.approx(spent, abs=0.01)


def test_failures_are_rows(fake_study):
    found, store = fake_study
    store.path.with_suffix(".failing").write_text("unigram eus")
    Worker(store, found.plan, found.keys, FakeRunner(store.path)).work()
    found.write_rows(store)
    last = read(store.path / "rows.jsonl.gz")[-1]
    key = found.keys["unigram eus"][:16]
    assert last == {
        "kind": "failure",
        "unit": key,
        "what": "unigram eus",
        "reason": "ValueError: told to fail by unigram eus",
    }


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(StorageError, match=r"rows\.csv: wanted a name that ends in \.jsonl or \.jsonl\.gz"):
        write_rows(tmp_path / "rows.csv", iter([]))


def read(path):
    with gzip.open(path, "rt") as stream:
        return [json.loads(line) for line in stream]
