import gzip
import json

import pytest

from protoglot.errors import StorageError
from protoglot.study.rows import write_rows
from protoglot.study.session import note_environment, open_study
from study.fake import unit_of, work


def test_gathering_gives_the_same_bytes_whatever_the_order_of_work(fake_study, tmp_path):
    found, store = fake_study
    backwards = sorted(found.plan, key=lambda unit: (len(unit.needs), unit.name), reverse=True)
    for _ in range(4):  # in the wrong order, each pass does only what is ready
        work(found, store, plan=backwards)
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


def test_what_different_code_has_made_is_told_apart(fake_study, monkeypatch):
    found, store = fake_study
    for commit, plan in (("old", found.plan[: len(found.plan) // 2]), ("new", found.plan)):
        code = {"commit": commit, "versions": {"torch": "1"}}
        monkeypatch.setattr("protoglot.study.store.describe_code", lambda code=code: code)
        work(found, store, plan=plan)
    note_environment(store, num_workers=1, finished=True)
    found.write_rows(store)
    rows = [row for row in read(store.path / "rows.jsonl.gz") if row["kind"] == "environment"]
    assert [row["commit"] for row in rows] == ["new", "old"]
    assert all(row["machine"] and row["config"] for row in rows)
    spent = sum(store.facts(unit.key).seconds for unit in found.plan)
    assert sum(row["seconds"] for row in rows) == pytest.approx(spent, abs=0.01)


def test_failures_are_rows(fake_study):
    found, store = fake_study
    store.path.with_suffix(".failing").write_text("unigram eus")
    work(found, store)
    found.write_rows(store)
    assert read(store.path / "rows.jsonl.gz")[-1] == {
        "kind": "failure",
        "unit": unit_of(found, "unigram eus").key[:16],
        "what": "unigram eus",
        "reason": "ValueError: told to fail by unigram eus",
    }


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(StorageError, match=r"rows\.csv: wanted a name that ends in \.jsonl or \.jsonl\.gz"):
        write_rows(tmp_path / "rows.csv", iter([]))


def read(path):
    with gzip.open(path, "rt") as stream:
        return [json.loads(line) for line in stream]
