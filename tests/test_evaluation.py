"""A score is a fact about a model and a text; nothing about how it was computed may show in it."""

import copy
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from protoglot import evaluation
from protoglot.batching import make_stream
from protoglot.errors import ConfigError
from protoglot.evaluation import evaluate, make_scored_text
from protoglot.model.config import Conditioning
from protoglot.vocabulary import BEGIN, END, OTHER, Vocabulary
from tiny import NUM_FEATURES, babble, random_features, tiny_model

KINDS = list(Conditioning)
VOCABULARY = Vocabulary.of(["aeiktz 0123456789"])
SENTENCES = {
    "eus": tuple(babble("aeiktz", 12, seed=1)),
    "fra": tuple(babble("aeioulé", 5, seed=2)),  # o, u, l and é are outside the inventory
    "quc": tuple(babble("aek", 25, seed=3)),
    "wol": ("a",),
    "zul": ("",),  # one sentence without characters: its end is still to be predicted
}


def model_of(kind, dtype=torch.float64):
    return tiny_model(kind, vocabulary_size=len(VOCABULARY)).to(dtype)


def texts_for(kind, names=SENTENCES):
    features = {
        name: None if kind is Conditioning.BARE else random_features(NUM_FEATURES, seed=index)
        for index, name in enumerate(SENTENCES)
    }
    return {name: make_scored_text(SENTENCES[name], VOCABULARY, features[name]) for name in names}


def brute_force(model, name, features):
    """One character at a time, one language at a time."""
    nats, number, state, last = 0.0, 0, None, BEGIN
    with torch.no_grad():
        for sentence in SENTENCES[name]:
            for character in [*sentence, None]:
                if character is None:
                    id_ = END
                else:
                    (id_,) = VOCABULARY.encode(character).ids
                    nats += VOCABULARY.other_nats(character) if id_ == OTHER else 0.0
                costs, state = model.nats(torch.tensor([[last]]), torch.tensor([[id_]]), features, state)
                nats += float(costs)
                number += 1
                last = id_
    return nats, number


def assert_same(found, wanted, tolerance):
    assert list(found) == list(wanted)
    for name, score in wanted.items():
        assert found[name].num_characters == score.num_characters
        assert found[name].nats == pytest.approx(score.nats, rel=tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_every_character_and_end_is_counted_once(kind):
    model, texts = model_of(kind), texts_for(kind)
    scores = evaluate(model, texts)
    assert list(scores) == list(texts)
    for name, text in texts.items():
        nats, number = brute_force(model, name, text.features)
        assert scores[name].num_characters == number == sum(len(sentence) + 1 for sentence in SENTENCES[name])
        assert scores[name].nats == pytest.approx(nats, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_scores_do_not_depend_on_batches_chunks_or_company(kind, dtype, tolerance, monkeypatch):
    model, texts = model_of(kind, dtype), texts_for(kind)
    scores = evaluate(model, texts)
    for texts_at_once in (1, 2, 3, 99):
        assert_same(evaluate(model, texts, texts_at_once=texts_at_once), scores, tolerance)
    for length in (1, 7, 64, 10_000):
        with monkeypatch.context() as patch:
            patch.setattr(evaluation, "CHUNK_LENGTH", length)
            assert_same(evaluate(model, texts), scores, tolerance)
    for names in (["fra"], ["wol", "quc"], ["quc", "wol", "eus"]):
        assert_same(evaluate(model, texts_for(kind, names)), {name: scores[name] for name in names}, tolerance)


@settings(max_examples=30)
@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=6),
    st.integers(1, 7),
    st.integers(1, 50),
    st.sampled_from([Conditioning.BARE, Conditioning.OEST]),
)
def test_texts_of_any_lengths_side_by_side(lengths, texts_at_once, chunk_length, kind):
    model = model_of(kind)
    texts = {
        str(index): make_scored_text(
            ("aeiktz 0123" * 4)[:length] and ((("aeiktz 0123" * 4)[:length]),),
            VOCABULARY,
            random_features(NUM_FEATURES, seed=index),
        )
        for index, length in enumerate(lengths)
    }
    before = evaluation.CHUNK_LENGTH
    evaluation.CHUNK_LENGTH = chunk_length
    try:
        together = evaluate(model, texts, texts_at_once=texts_at_once)
    finally:
        evaluation.CHUNK_LENGTH = before
    for name, text in texts.items():
        (alone,) = evaluate(model, {name: text}).values()
        assert together[name].num_characters == alone.num_characters == len(text.stream) - 1
        assert together[name].nats == pytest.approx(alone.nats, rel=1e-12)


def test_scores_of_the_parts_of_a_language_add_up():
    """Each part from a fresh state: no claim on the whole text, but their sum is what the characters cost."""
    model = model_of(Conditioning.BARE)
    halves = [make_scored_text(SENTENCES["quc"][cut], VOCABULARY) for cut in (slice(0, 9), slice(9, None))]
    first, second = (evaluate(model, {"quc": half})["quc"] for half in halves)
    both = evaluate(model, {"first": halves[0], "second": halves[1]})
    assert (both["first"] + both["second"]).nats == pytest.approx((first + second).nats, rel=1e-12)
    whole = evaluate(model, {"quc": make_scored_text(SENTENCES["quc"], VOCABULARY)})["quc"]
    assert (first + second).num_characters == whole.num_characters


def test_the_state_is_never_reset():
    model = model_of(Conditioning.BARE)
    together = evaluate(model, {"x": make_scored_text(("kat", "kat"), VOCABULARY)})["x"]
    apart = evaluate(model, {"x": make_scored_text(("kat",), VOCABULARY)})["x"]
    assert together.nats != pytest.approx(2 * apart.nats, rel=1e-6)


def test_a_character_outside_the_inventory_costs_its_name():
    text = make_scored_text(("éké", "k"), VOCABULARY)
    assert text.others_nats == pytest.approx(2 * VOCABULARY.other_nats("é"))
    assert (text.stream == OTHER).sum() == 2
    model = model_of(Conditioning.BARE)
    free = evaluation.ScoredText(stream=text.stream, others_nats=0.0)
    scores = evaluate(model, {"with": text, "without": free})
    assert scores["with"].nats - scores["without"].nats == pytest.approx(text.others_nats)
    assert scores["with"].num_characters == 6


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_is_left_as_it_was(kind):
    model = model_of(kind)
    for training in (True, False):
        model.train(training)
        for weight in model.parameters():
            weight.grad = torch.full_like(weight, 0.5)
        before = copy.deepcopy(model.state_dict())
        evaluate(model, texts_for(kind))
        assert model.training is training
        assert torch.is_grad_enabled()
        for name, weight in model.named_parameters():
            assert torch.equal(weight, before[name])
            assert weight.requires_grad
            assert (weight.grad == 0.5).all()


@pytest.mark.parametrize("kind", KINDS)
def test_two_evaluations_are_equal_to_the_last_bit(kind):
    """No dropout, whatever the rates of the model."""
    model = model_of(kind)
    assert max(model.config.output_dropout, model.config.recurrent_dropconnect) > 0
    assert evaluate(model, texts_for(kind)) == evaluate(model, texts_for(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_text_has_no_score(kind):
    model = model_of(kind)
    features = None if kind is Conditioning.BARE else random_features(NUM_FEATURES)
    empty = make_scored_text((), VOCABULARY, features)
    for texts in ({"none": empty}, {"none": empty, **texts_for(kind)}):
        score = evaluate(model, texts)["none"]
        assert (score.nats, score.num_characters) == (0.0, 0)
        assert math.isnan(score.bits_per_character)


def test_no_texts_have_no_scores():
    assert evaluate(model_of(Conditioning.BARE), {}) == {}


@pytest.mark.parametrize("kind", [Conditioning.OEST, Conditioning.PLAT])
def test_a_conditioned_model_asks_for_features(kind):
    texts = {**texts_for(kind), "zul": make_scored_text(SENTENCES["zul"], VOCABULARY)}
    with pytest.raises(ConfigError, match=f"a {kind} model reads a typological vector; found none"):
        evaluate(model_of(kind), texts)


def test_bare_needs_no_features_and_ignores_them():
    model = model_of(Conditioning.BARE)
    assert evaluate(model, texts_for(Conditioning.OEST)) == evaluate(model, texts_for(Conditioning.BARE))


@pytest.mark.parametrize("kind", KINDS)
def test_progress_counts_every_character_once(kind):
    told = []
    texts = texts_for(kind)
    evaluate(model_of(kind), texts, texts_at_once=2, on_progress=told.append)
    assert sum(told) == sum(len(text.stream) - 1 for text in texts.values())
    assert min(told) > 0


def test_a_scored_text_is_its_stream():
    text = make_scored_text(SENTENCES["eus"], VOCABULARY)
    assert np.array_equal(text.stream, make_stream(SENTENCES["eus"], VOCABULARY))
    assert text.others_nats == 0
