import json

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.report import made_up

from protoglot.errors import StorageError
from protoglot.report.rows import read_rows

ONE = made_up.zero("aaa", "univ", "bare", 2.5)


@given(st.randoms(use_true_random=False))
@settings(
    max_examples=10,
    phases=[Phase.generate],  # no order is simpler than another
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_the_order_of_rows_means_nothing(rows, rows_path, tmp_path, random):
    shuffled = random.sample(rows, len(rows))
    assert read_rows(made_up.write(tmp_path / "shuffled.jsonl", shuffled)) == read_rows(rows_path)


def test_every_row_is_read(rows, rows_path):
    read = read_rows(rows_path)
    kinds = [row["kind"] for row in rows]
    assert len(read.scores) == kinds.count("score")
    assert len(read.texts) == kinds.count("text")
    assert len(read.unigrams) == kinds.count("unigram")
    assert len(read.signal_to_noise) == kinds.count("signal-to-noise")
    assert (len(read.environments), len(read.failures), read.number) == (1, 1, len(rows))


def test_a_score_is_nats_over_characters(tmp_path):
    (row,) = read_rows(made_up.write(tmp_path / "rows", [ONE])).scores
    assert row.bits_per_character == pytest.approx(2.5, rel=1e-12)


@pytest.mark.parametrize("nats", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_a_failure(tmp_path, nats):
    read = read_rows(made_up.write(tmp_path / "rows", [ONE | {"nats": nats}]))
    assert not read.scores
    assert read.failures[0].what == "aaa zero-shot univ bare 0"
    assert str(nats) in read.failures[0].reason


def test_kinds_of_the_future_are_counted(tmp_path):
    read = read_rows(made_up.write(tmp_path / "rows", [ONE, {"kind": "dream"}, {"kind": "dream"}]))
    assert read.unknown_kinds == {"dream": 2}


def test_half_a_surrogate_pair_does_no_harm(tmp_path):
    read = read_rows(made_up.write(tmp_path / "rows", [made_up.text("aaa", "a\ud800b")]))
    assert read.texts[0].text == "a?b"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "no rows"),
        (b"[1]\n", "line 1: list; wanted a JSON object"),
        (b"{\n", "line 1: not JSON"),
        (b'{"kind": 3}', "line 1: kind 3; wanted one of score"),
        (b"\xff\n", "invalid start byte"),
        (b"\x1f\x8b\x08", "cannot be read (Compressed file ended"),
        (json.dumps(ONE | {"characters": 0}).encode(), "characters: 0; wanted a whole number from 1"),
        (
            json.dumps(ONE | {"regime": "none"}).encode(),
            "regime: 'none'; wanted one of few-shot, joint, zero-shot",
        ),
        (json.dumps(ONE | {"nats": "2"}).encode(), "nats: '2'; wanted a number"),
        (json.dumps(ONE | {"nats": 10**400}).encode(), "nats: 1000"),
        (json.dumps(ONE | {"seed": True}).encode(), "seed: True; wanted a whole number from 0"),
        (json.dumps(ONE | {"nats": None}).encode(), "nats: None; wanted a number"),
        (json.dumps(ONE | {"network": "unvi"}).encode(), "network: 'unvi'; wanted one of"),
        (
            json.dumps(made_up.unigram("aaa", {"a": -1})).encode(),
            "counts: {'a': -1}; wanted an object, each",
        ),
        (
            json.dumps(made_up.signal(1) | {"edges": [float("nan")]}).encode(),
            "edges: nan; wanted a list of numbers",
        ),
        (json.dumps({"kind": "score"}).encode(), "line 1: language: missing; wanted a string"),
        (json.dumps(made_up.signal(1) | {"density": [1.0]}).encode(), "17 edges of 1 densities; wanted 2"),
        (
            json.dumps(made_up.signal(1) | {"edges": [1.0, 0.0], "density": [1.0]}).encode(),
            "wanted rising powers of ten",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, content, complaint):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(StorageError) as caught:
        read_rows(path)
    assert complaint in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_cut_file_is_refused(tmp_path, rows_path):
    cut = tmp_path / "rows.jsonl.gz"
    cut.write_bytes(rows_path.read_bytes()[:-20])
    with pytest.raises(StorageError, match="cannot be read"):
        read_rows(cut)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StorageError, match=r"nothing\.gz: cannot be read"):
        read_rows(tmp_path / "nothing.gz")


def test_two_texts_of_one_language_are_refused(tmp_path):
    rows = [made_up.unigram("aaa", {"a": 1}), made_up.unigram("aaa", {"a": 2})]
    with pytest.raises(StorageError, match="aaa: unigram counts"):
        read_rows(made_up.write(tmp_path / "rows", rows))
    assert len(read_rows(made_up.write(tmp_path / "rows", rows[:1] * 2)).unigrams) == 1
