"""Real units: tiny models on made-up languages."""

import os
from collections import Counter

import pytest

from protoglot.corpus.opening import open_corpus
from protoglot.scores import Score
from protoglot.splits import split_sentences
from protoglot.study.progress import State, states_of
from protoglot.study.session import start_study
from protoglot.study.work import MODEL, Desk, _score_row, make_runner
from study.fake import work, write_study
from test_folds import MarkedCorpus

CONFIG = """
name = "tiny"
preset = "tiny"
partitions = 2
held_out = [1]
guests = ["wol"]

[training]
budget = "2k-characters"
num_validation = 1
characters_per_language = 400
batch_size = 4
learning_rate = 5e-3

[prior]
sequences = 2
spread = ["bare"]

[tuning]
trials = 1
trial_languages = 1
languages = 1
sentences = 6
characters = 60

[adaptation.fitu]
batch_size = 3

[scoring]
characters = 60
generated_characters = 5
ngram_orders = [1, 3]

[[zero_shot]]
conditionings = ["bare"]
methods = ["ninf", "univ", "calibrated"]
languages = ["wol"]

[[zero_shot]]
conditionings = ["oest", "plat"]
methods = ["univ"]
languages = ["wol"]

[[few_shot]]
conditionings = ["bare"]
methods = ["ninf", "fitu", "univ", "l2-sp", "hier", "n-gram"]
sentences = [5]

[[few_shot]]
conditionings = ["bare"]
methods = ["fitu"]
sentences = [4]
languages = ["wol"]

[[joint]]
conditionings = ["oest"]
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A study that was stopped again and again, and is done."""
    folder = tmp_path_factory.mktemp("work")
    config, corpus = write_study(folder, CONFIG)
    found, store = start_study(config, str(corpus), folder / "study")
    runner = make_runner(found.facts(int(os.environ["OMP_NUM_THREADS"])))
    for _ in range(4):  # each pass stops training after its third step
        looks = iter([False] * 3)
        work(found, store, runner, stop_asked=lambda looks=looks: next(looks, True))
    assert list((store.path / "unfinished").iterdir())
    work(found, store, runner)
    return found, store


def rows(finished, kind, **values):
    found, store = finished
    gathered = [row for unit in found.plan for row in store.rows(unit.key)]
    return [
        row
        for row in gathered
        if row["kind"] == kind and all(row[name] == value for name, value in values.items())
    ]


def test_every_unit_is_done(finished):
    found, store = finished
    failures = [store.failure(unit.key) for unit in found.plan]
    assert [failure for failure in failures if failure] == []
    assert set(states_of(store, found.plan).values()) == {State.DONE}
    assert list((store.path / "unfinished").iterdir()) == []


def test_the_rows_are_those_of_a_study_that_was_never_stopped(finished, tmp_path):
    def rows_of(found, store):
        return [row | {"seconds": None} for unit in found.plan for row in store.rows(unit.key)]

    straight = start_study(write_study(tmp_path, CONFIG)[0], finished[0].text.corpus, tmp_path / "study")
    work(*straight, make_runner(straight[0].facts(int(os.environ["OMP_NUM_THREADS"]))))
    assert rows_of(*straight) == rows_of(*finished)


def test_zero_shot_rows(finished):
    scores = rows(finished, "score", regime="zero-shot")
    assert {(row["conditioning"], row["method"]) for row in scores} == {
        *(("bare", method) for method in ("ninf", "univ", "calibrated")),
        ("oest", "univ"),
        ("plat", "univ"),
    }
    for row in scores:
        assert row["language"] == "wol"
        assert row["partition"] == 1
        assert row["sentences"] == 0
        assert row["sample"] is None
        assert 0 < row["characters"] <= 60
        assert row["nats"] > 0


def test_few_shot_rows(finished):
    scores = rows(finished, "score", regime="few-shot", language="wol")
    assert {(row["conditioning"], row["method"], row["network"]) for row in scores} == {
        *((("bare", method, None)) for method in ("ninf", "fitu", "univ", "l2-sp", "hier")),
        (None, "n-gram", None),
    }
    assert {row["sentences"] for row in scores} == {4, 5}
    assert {row["sample"] for row in scores} == {0}
    assert len({row["characters"] for row in scores}) == 1  # all score the same text


def test_a_joint_model_is_scored_on_every_language_but_guests(finished):
    scores = rows(finished, "score", regime="joint")
    assert {row["language"] for row in scores} == {"eus", "fra", "tur", "zul"}
    assert {(row["method"], row["partition"], row["sentences"]) for row in scores} == {("joint", None, None)}


def test_generated_text_has_the_length_that_was_asked_for(finished):
    texts = rows(finished, "text")
    assert {len(row["text"]) for row in texts} == {5}
    assert {row["regime"] for row in texts} == {"zero-shot", "few-shot", "joint"}


def test_densities_are_densities(finished):
    found = rows(finished, "signal-to-noise")
    assert {row["conditioning"] for row in found} == {"bare", "oest", "plat"}
    for row in found:
        widths = [after - before for before, after in zip(row["edges"], row["edges"][1:], strict=False)]
        area = sum(width * density for width, density in zip(widths, row["density"], strict=True))
        assert area == pytest.approx(1, abs=1e-3)


def test_characters_are_counted_in_training_text_only(finished):
    found, _ = finished
    corpus = open_corpus(found.text.corpus)
    for row in rows(finished, "unigram"):
        assert row["name"]
        assert row["counts"] == Counter("".join(split_sentences(corpus.sentences(row["language"])).train))
    assert len(rows(finished, "unigram")) == len(found.text.languages)


@pytest.mark.parametrize("sample", range(3))
def test_what_is_learned_from_and_what_is_scored_are_of_different_parts(sample):
    corpus = MarkedCorpus(["qaa", "qba"])
    desk = Desk(corpus, corpus_name="marked")
    settings = {"language": "qba", "sentences": 10, "seed": 0, "sample": sample, "characters": 10**6}
    split = split_sentences(corpus.sentences("qba"))
    learned, scored = desk._sample(settings), desk._test(settings)
    assert len(set(learned)) == 10
    assert set(learned) <= set(split.train)
    assert scored == split.test
    assert learned != desk._sample({**settings, "sample": sample + 1})


def test_a_trained_model_is_kept_without_its_checkpoints(finished):
    found, store = finished
    key = next(unit.key for unit in found.plan if unit.kind == "train")
    kept = {path.name for path in store.result(key).iterdir()}
    assert kept == {MODEL, "rows.jsonl", "unit.json"}


def test_a_score_that_is_not_a_number_is_no_row(finished):
    unit = next(unit for unit in finished[0].plan if unit.kind == "joint")
    with pytest.raises(ArithmeticError, match=r"eus: a score of nan nats; wanted a finite number"):
        _score_row(unit, Score(float("nan"), 1), 0.0, regime="joint", method="joint")
