import math

import numpy as np
import pytest
import torch

from protoglot.adapted import AdaptedModel
from protoglot.errors import StorageError
from protoglot.running_text import pieces_of
from protoglot.vocabulary import BEGIN, END
from tiny import babble, tiny_adapted

TEXT = [*babble("abdëgñ", 12, seed=3), "жd", "z"]
KINDS = {
    "bare": {},
    "oest": {"conditioning": "oest"},
    "plat": {"conditioning": "plat"},
    "zero-shot": {"with_ngram": False, "calibrated": True},
}


@pytest.fixture(params=KINDS, ids=str)
def model(request):
    return tiny_adapted(**KINDS[request.param])


def test_a_text_in_pieces_costs_as_much_as_the_whole(model, monkeypatch):
    whole = model.nats(TEXT)
    for size in (1, 30, 100):
        monkeypatch.setattr(
            "protoglot.running_text.pieces_of", lambda text, n=size: pieces_of(text, num_characters=n)
        )
        found = model.nats(TEXT)
        assert abs(found.mean() - whole.mean()) < 1e-6 * math.log(2)  # of a bit per character
        # Float32 steps by 1e-6 at ten nats: a single character may be off by one or two of those.
        np.testing.assert_allclose(found, whole, rtol=2e-7, atol=1e-6)


def test_the_state_is_carried_from_sentence_to_sentence(model):
    apart = np.concatenate([model.nats([sentence]) for sentence in TEXT])
    assert not np.allclose(model.nats(TEXT), apart)


def test_costs_by_sentence_are_those_of_the_text(model):
    found = list(model.nats_by_sentence(iter(TEXT)))
    assert [sentence for sentence, _ in found] == TEXT
    assert [len(costs) for _, costs in found] == [len(sentence) + 1 for sentence in TEXT]
    score = model.score(TEXT)
    assert math.fsum(float(costs.sum()) for _, costs in found) == pytest.approx(score.nats)
    assert score.num_characters == sum(len(sentence) + 1 for sentence in TEXT)


def test_a_character_outside_the_inventory_is_named(model):
    with_name = model.nats(["ж"])[0]
    model.vocabulary.other_nats = lambda character: 0.0
    assert with_name > model.nats(["ж"])[0] + 1


def test_a_text_is_read_no_further_than_it_is_asked_for(monkeypatch):
    model = tiny_adapted()
    monkeypatch.setattr("protoglot.running_text.pieces_of", lambda text: pieces_of(text, num_characters=20))
    read = []

    def sentences():
        for number, sentence in enumerate(TEXT):
            read.append(number)
            yield sentence

    next(model.nats_by_sentence(sentences()))
    assert len(read) < 4


def test_nothing_costs_nothing(model):
    assert model.nats([]).tolist() == []
    assert math.isnan(model.score([]).bits_per_character)


def test_reading_id_by_id_predicts_what_scoring_predicts(model):
    """Also side by side with another text, and after an end of sentence."""
    sentence, other = TEXT[:2], TEXT[2:4]
    costs, states, last = [], [model.start(), model.start()], [BEGIN, BEGIN]
    ids = [[id_ for s in text for id_ in (*model.vocabulary.encode(s).ids, END)] for text in (sentence, other)]
    for pair in zip(*ids, strict=False):
        found, states = model.read_side_by_side(states, last)
        costs.append([-float(found[row, id_ - 1]) for row, id_ in enumerate(pair)])
        last = list(pair)
    for row, text in enumerate((sentence, other)):
        np.testing.assert_allclose([cost[row] for cost in costs], model.nats(text)[: len(costs)], atol=1e-5)


def test_predictions_sum_to_one(model):
    for found, _ in model.log_probabilities(TEXT):
        torch.testing.assert_close(found.exp().sum(dim=1), torch.ones(len(found)), rtol=0, atol=1e-5)


def test_predicting_leaves_gradients_as_they_were(model):
    predictions = model.log_probabilities(TEXT)
    next(predictions)
    assert torch.is_grad_enabled()


def test_saving_and_loading_is_the_identity(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = AdaptedModel.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.nats(TEXT), model.nats(TEXT))
    assert (loaded.language, loaded.provenance) == (model.language, model.provenance)


def test_a_changed_byte_is_noticed(tmp_path):
    tiny_adapted().save(tmp_path / "model")
    file = tmp_path / "model" / "ngram.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(StorageError, match=r"ngram.safetensors: damaged"):
        AdaptedModel.load(tmp_path / "model")
