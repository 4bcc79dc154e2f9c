import pytest

from protoglot.errors import StorageError
from protoglot.study.progress import State, states_of
from protoglot.study.session import open_study
from protoglot.study.store import Failure, Outcome, Store
from study.fake import unit_of


@pytest.fixture
def unit(fake_study):
    return unit_of(fake_study[0], "unigram eus")


def do(store, unit):
    with store.claim(unit) as free:
        assert free
        store.keep(unit, lambda folder: Outcome([{"kind": "score", "nats": 1.5}]))
    return unit.key


def test_a_finished_unit_gives_back_its_rows(fake_study, unit):
    _, store = fake_study
    key = do(store, unit)
    assert store.is_done(key)
    assert store.rows(key) == [{"kind": "score", "nats": 1.5}]
    assert store.facts(key).seconds >= 0
    with store.claim(unit) as free:
        assert not free


def test_a_unit_that_breaks_off_leaves_nothing(fake_study, unit):
    _, store = fake_study

    def break_off(folder):
        (folder / "half.txt").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), store.claim(unit):
        store.keep(unit, break_off)
    assert not store.is_done(unit.key)
    assert list((store.path / "units").iterdir()) == []
    assert store.running() == {}


def test_what_was_half_written_never_counts_and_makes_way(fake_study, unit):
    found, store = fake_study
    aside = store.path / "units" / f".{unit.key}.0123abcd.partial"
    damaged = store.path / "units" / unit.key
    for folder in (aside, damaged):
        folder.mkdir()
        (folder / "rows.jsonl").write_text('{"kind": "score"}\n')
    (aside / "unit.json").write_text("{}")
    assert states_of(store, found.plan)["unigram eus"] is State.WAITING
    do(store, unit)
    assert [path.name for path in (store.path / "units").iterdir()] == [unit.key]
    assert store.rows(unit.key) == [{"kind": "score", "nats": 1.5}]


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("rows.jsonl", "1.5", "1.4", r"rows\.jsonl: damaged; wanted its SHA-256"),
        (
            "unit.json",
            '"seconds": ',
            '"seconds": "',
            r"unit\.json: damaged \(.*; wanted it as protoglot study run",
        ),
        ("unit.json", '"seconds": ', '"second": ', r"unit\.json: damaged \(.*`seconds`"),
    ],
)
def test_what_was_changed_is_noticed(fake_study, unit, file, old, new, complaint):
    _, store = fake_study
    path = store.result(do(store, unit)) / file
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(StorageError, match=complaint):
        store.rows(unit.key)


def test_success_removes_what_was_unfinished_and_the_failure(fake_study, unit):
    _, store = fake_study
    store.unfinished(unit.key).mkdir()
    store.record_failure(unit.key, Failure(name="unigram eus", reason="bad luck"))
    assert store.failure(unit.key).reason == "bad luck"
    do(store, unit)
    assert not store.unfinished(unit.key).exists()
    assert store.failure(unit.key) is None


def test_a_directory_of_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.doc").write_text("dear")
    with pytest.raises(StorageError, match="holds something else"):
        Store.create(tmp_path, "")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.doc"]
    with pytest.raises(StorageError, match=r"no config\.toml in it"):
        Store.open(tmp_path)


def test_a_language_without_its_digest_is_noticed(fake_study):
    _, store = fake_study
    path = store.path / "study.json"
    path.write_text(path.read_text().replace('"eus": "', '"eux": "'))
    with pytest.raises(StorageError, match=r"study\.json: no digest of eus; wanted one"):
        open_study(store.path)
