import math
from dataclasses import replace

import numpy as np
import pytest

from protoglot.batching import make_stream
from protoglot.errors import ConfigError
from protoglot.identification import Identifier
from protoglot.prior.fitting import fit
from protoglot.prior.methods import AdaptationConfig, Method
from protoglot.reader_model import ReaderModel
from protoglot.reading.reader import Reader
from tiny import babble, tiny_adapted
from tiny_scorer import tiny_scorer

ALPHABETS = {"one": "abdëgñ", "two": "aeiktz", "three": "aıuürkl"}


@pytest.fixture(scope="module")
def models():
    """Networks that have learned a little of their languages."""
    made = {}
    config = AdaptationConfig(method=Method.FITU, num_epochs=30, batch_size=4, length=40, learning_rate=1e-2)
    for name, alphabet in ALPHABETS.items():
        model = tiny_adapted(alphabet=alphabet, language=name)
        fit(
            model.network, make_stream(babble(alphabet, 30, seed=0), model.vocabulary), None, config, gaussian=None
        )
        made[name] = model
    return made


def test_sentences_go_to_the_models_of_their_languages(models):
    identifier = Identifier(models)
    for name, alphabet in ALPHABETS.items():
        for sentence in babble(alphabet, 5, seed=0):
            found = identifier.identify(sentence)
            assert (found.best, found.is_known) == (name, True)
            assert found.probabilities[name] > 0.99


def test_probabilities_are_in_proportion_to_those_of_the_models(models):
    found = Identifier(models).identify("a a")
    assert math.fsum(found.probabilities.values()) == pytest.approx(1)
    for one in models:
        for other in models:
            ratio = found.probabilities[one] / found.probabilities[other]
            nats = models[other].score(["a a"]).nats - models[one].score(["a a"]).nats
            assert math.log(ratio) == pytest.approx(nats)


def test_a_sentence_that_costs_ten_thousand_bits_is_no_trouble(models):
    found = Identifier(models).identify("жщ" * 500)
    assert math.fsum(found.probabilities.values()) == pytest.approx(1)
    assert not found.is_known


def test_what_suits_no_model_is_unknown(models):
    identifier = Identifier(models)
    assert not identifier.identify("Съешь ещё этих мягких булок").is_known
    assert not identifier.identify("zzxyyxzxyzyxxyzzyxyzxxzyx").is_known


@pytest.mark.parametrize(("more", "is_known"), [(1, True), (-1, False)])
def test_a_model_without_knowledge_can_rule_a_language_out(models, monkeypatch, more, is_known):
    monkeypatch.setattr(
        "protoglot.adapted.AdaptedModel.background_nats", lambda model, text: model.score([text]).nats + more
    )
    assert Identifier(models).identify("ab").is_known is is_known


def test_either_model_without_order_can_rule_a_language_out(models, monkeypatch):
    model = models["one"]
    for nats in ((1.0, 2.0), (2.0, 1.0)):
        monkeypatch.setattr("protoglot.adapted.AdaptedModel.orderless_nats", lambda *_, nats=nats: nats)
        assert model.background_nats("ab") == 1


def test_a_threshold_is_in_bits_per_character(models):
    sentence = babble(ALPHABETS["one"], 1, seed=0)[0]
    bits = Identifier(models).identify(sentence).scores["one"].bits_per_character
    assert Identifier(models, threshold=bits + 0.01).identify(sentence).is_known
    assert not Identifier(models, threshold=bits - 0.01).identify(sentence).is_known


def test_models_without_order_are_proper(models):
    """Over all symbols that can stand alone, their probabilities sum to one; the end comes with each."""
    model = models["one"]
    even_end, frequent_end = model.orderless_nats("")
    totals = np.zeros(2)
    for character in model.vocabulary.characters:
        even, frequent = model.orderless_nats(character)
        totals += [math.exp(even_end - even), math.exp(frequent_end - frequent)]
    even, frequent = model.orderless_nats("ж")
    naming = model.vocabulary.other_nats("ж")
    totals += [math.exp(even_end - even + naming), math.exp(frequent_end - frequent + naming)]
    totals += [math.exp(-even_end), math.exp(-frequent_end)]
    np.testing.assert_allclose(totals, 1)
    bare = replace(model, ngram=None)
    assert bare.orderless_nats("ab")[0] == bare.orderless_nats("ab")[1]


@pytest.mark.parametrize("threshold", [0.0, -1.0, math.nan])
def test_settings_out_of_range_are_named(models, threshold):
    with pytest.raises(ConfigError, match="threshold"):
        Identifier(models, threshold=threshold)
    with pytest.raises(ConfigError, match="no model"):
        Identifier({})


@pytest.fixture(scope="module")
def readers():
    made = {}
    for name, alphabet in ALPHABETS.items():
        reader = Reader(tiny_scorer(), language=name)
        reader.read("".join(f"{sentence}\n" for sentence in babble(alphabet, 30, seed=0)))
        made[name] = ReaderModel(reader)
    return made


def test_readers_tell_languages_apart_and_stay_as_they_were(readers):
    before = [model.reader.predict().probabilities for model in readers.values()]
    identifier = Identifier({**readers})
    for name, alphabet in ALPHABETS.items():
        sentence = babble(alphabet, 40, seed=0)[-1]
        found = identifier.identify(sentence)
        assert (found.best, found.is_known) == (name, True)
        assert math.fsum(found.probabilities.values()) == pytest.approx(1)
        # Each line on its own: the second time is no surprise less than the first.
        assert identifier.identify(sentence).scores == found.scores
    for model, probabilities in zip(readers.values(), before, strict=True):
        np.testing.assert_array_equal(model.reader.predict().probabilities, probabilities)


def test_what_a_reader_of_nothing_predicts_better_is_unknown(readers, monkeypatch):
    sentence = babble(ALPHABETS["one"], 1, seed=0)[0]
    nats = readers["one"].score([sentence]).nats
    for more, is_known in ((1, True), (-1, False)):
        monkeypatch.setattr(
            "protoglot.reader_model.ReaderModel.background_nats", lambda *_, more=more: nats + more
        )
        assert Identifier({"one": readers["one"]}).identify(sentence).is_known is is_known


def test_readers_and_networks_can_be_compared(readers, models):
    found = Identifier({"reader": readers["one"], "network": models["two"]}).identify(
        babble(ALPHABETS["two"], 1, seed=0)[0]
    )
    assert found.best == "network"
