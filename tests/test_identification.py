import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from protoglot.errors import ConfigError
from protoglot.identification import Identifier, orderless_nats
from tiny import babble, tiny_adapted

ALPHABETS = {"one": "abdëgñ", "two": "aeiktz", "three": "aıuürkl"}


@pytest.fixture(scope="module")
def models():
    """Mixtures that trust their n-grams of two and three letters, for their networks have learned nothing."""
    made = {}
    for name, alphabet in ALPHABETS.items():
        model = tiny_adapted(alphabet=alphabet, mixing="linear", language=name)
        with torch.no_grad():
            model.mixer.by_depth.copy_(torch.tensor([-4.0, -4.0, 2.0, 2.0]).expand(4, 4))
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


@pytest.mark.parametrize(("even", "frequent", "is_known"), [(1, 2, True), (-1, 2, False), (2, -1, False)])
def test_either_model_without_order_can_rule_a_language_out(models, monkeypatch, even, frequent, is_known):
    def orderless(model, sentence):
        nats = model.score([sentence]).nats
        return nats + even, nats + frequent

    monkeypatch.setattr("protoglot.identification.orderless_nats", orderless)
    assert Identifier(models).identify("ab").is_known is is_known


def test_a_threshold_is_in_bits_per_character(models):
    sentence = babble(ALPHABETS["one"], 1, seed=0)[0]
    bits = Identifier(models).identify(sentence).scores["one"].bits_per_character
    assert Identifier(models, threshold=bits + 0.01).identify(sentence).is_known
    assert not Identifier(models, threshold=bits - 0.01).identify(sentence).is_known


def test_models_without_order_are_proper(models):
    """Over all symbols that can stand alone, their probabilities sum to one; the end comes with each."""
    model = models["one"]
    even_end, frequent_end = orderless_nats(model, "")
    totals = np.zeros(2)
    for character in model.vocabulary.characters:
        even, frequent = orderless_nats(model, character)
        totals += [math.exp(even_end - even), math.exp(frequent_end - frequent)]
    even, frequent = orderless_nats(model, "ж")
    naming = model.vocabulary.other_nats("ж")
    totals += [math.exp(even_end - even + naming), math.exp(frequent_end - frequent + naming)]
    totals += [math.exp(-even_end), math.exp(-frequent_end)]
    np.testing.assert_allclose(totals, 1)
    bare = replace(model, ngram=None, mixer=None)
    assert orderless_nats(bare, "ab")[0] == orderless_nats(bare, "ab")[1]


@pytest.mark.parametrize("threshold", [0.0, -1.0, math.nan])
def test_settings_out_of_range_are_named(models, threshold):
    with pytest.raises(ConfigError, match="threshold"):
        Identifier(models, threshold=threshold)
    with pytest.raises(ConfigError, match="no model"):
        Identifier({})
