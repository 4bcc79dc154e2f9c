"""The uses of a reader that are no module of their own."""

import math

import numpy as np
import pytest

from protoglot.errors import StorageError
from protoglot.reader_model import ReaderModel, page_of
from protoglot.reading.reader import Reader
from protoglot.surprisal import surprisals
from tiny import babble
from tiny_scorer import tiny_scorer

PAGE, TEXT = babble("abdëg", 10, seed=0), [*babble("abdëg", 5, seed=1), "жb ab"]


@pytest.fixture
def model():
    made = ReaderModel(Reader(tiny_scorer(), language="wol"), {"text": "page.txt"})
    for _ in made.read(PAGE):
        pass
    return made


def predictions(model):
    return model.reader.predict().probabilities


def test_a_score_is_the_log_loss_of_reading_on_and_leaves_the_reader_as_it_was(model):
    before = predictions(model)
    score = model.score(TEXT)
    lines = list(surprisals(model, enumerate(TEXT, start=3)))
    np.testing.assert_array_equal(predictions(model), before)
    wanted = model.reader.copy().read(page_of(TEXT))
    assert score.nats == pytest.approx(wanted.total_bits * math.log(2), rel=1e-12)
    assert score.num_characters == len(wanted.text)
    np.testing.assert_allclose(np.concatenate([line.bits for line in lines]), wanted.bits, rtol=1e-12)
    assert [line.number for line in lines] == list(range(3, 9))
    assert [line.num_unknown for line in lines] == [0] * 5 + [1]


def test_later_lines_profit_from_earlier_ones_unless_each_is_scored_alone(model):
    twice = ["gëda gëda bëgg", "gëda gëda bëgg"]
    first, second = (nats.sum() for _, nats in model.nats_by_sentence(twice))
    assert second < first
    alone = [nats.sum() for _, nats in model.nats_by_sentence(twice, static=True)]
    assert alone == [pytest.approx(first, rel=1e-9)] * 2
    assert model.score(twice, static=True).nats == pytest.approx(2 * first, rel=1e-9)


def test_a_scoring_that_is_left_in_the_middle_changes_nothing(model):
    before = predictions(model)
    pieces = model.nats_by_sentence(TEXT)
    next(pieces)
    list(model.nats_by_sentence(TEXT))
    next(pieces)
    pieces.close()
    np.testing.assert_array_equal(predictions(model), before)


def test_reading_changes_the_reader_and_tells_what_it_cost(model):
    wanted = model.score(TEXT).nats
    num_before = model.num_characters
    costs = [nats for _, nats in model.read(TEXT)]
    assert math.fsum(np.concatenate(costs)) == pytest.approx(wanted, rel=1e-12)
    assert model.num_characters == num_before + len(page_of(TEXT))
    assert model.score(TEXT).nats < wanted
    assert model.has_met("ж")


def test_the_background_is_a_reader_that_has_read_nothing(model):
    fresh = Reader(model.reader.scorer)
    assert model.background_nats("abd") == pytest.approx(fresh.score("abd\n").total_bits * math.log(2))
    assert model.background_nats(PAGE[0]) > model.score(PAGE[:1]).nats


def test_its_n_gram_is_of_all_that_it_read(model):
    ngram = model.ngram(3)
    assert ngram.order == 3
    assert set(ngram.vocabulary.characters) == set("".join(PAGE))
    assert ngram.score(PAGE).bits_per_character < ngram.score(["dbdb gag"]).bits_per_character
    assert ReaderModel(Reader(tiny_scorer())).ngram(3) is None


def test_a_model_is_the_same_after_saving(model, tmp_path):
    model.save(tmp_path / "m")
    loaded = ReaderModel.load(tmp_path / "m", model.reader.scorer)
    assert loaded.language == "wol"
    assert loaded.score(TEXT).nats == pytest.approx(model.score(TEXT).nats, rel=1e-9)


def test_another_scorer_is_refused(model, tmp_path):
    model.save(tmp_path / "m")
    with pytest.raises(StorageError, match="made with scorer"):
        ReaderModel.load(tmp_path / "m", tiny_scorer(1))
