import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protoglot.checking import blend, check, check_folds, fit_trust, is_nearly_all
from protoglot.scores import Score


@given(st.lists(st.text("abc", min_size=1, max_size=3), max_size=60), st.integers(0, 3))
def test_nothing_is_scored_that_was_learned(sentences, seed):
    folds = check_folds(sentences, seed=seed)
    for learned, scored in folds:
        assert learned
        assert scored
        assert not set(learned) & set(scored)
        assert set(learned) | set(scored) == set(sentences)
    distinct = len(set(sentences))
    assert bool(folds) == (distinct > 1)
    if folds and distinct < 20:  # all are scored once
        assert sorted(sentence for _, scored in folds for sentence in scored) == sorted(set(sentences))


def test_many_sentences_give_one_fold_of_bounded_size():
    [(learned, scored)] = check_folds([f"sentence {number}" for number in range(20_000)])
    assert len(scored) == 300
    assert len(learned) == 19_700


@pytest.mark.parametrize(("number", "expected"), [(1, False), (12, False), (14_000, False), (16_000, True)])
def test_of_very_many_sentences_the_check_learns_nearly_all(number, expected):
    assert is_nearly_all(check_folds([f"sentence {each}" for each in range(number)])) == expected


class Fake:
    """A model that pays fixed costs for each character."""

    mixer = "some"

    def __init__(self, mixture, ngram, trust=1.0):
        self.mixture, self.ngram, self.trust = mixture, ngram, trust

    def __replace__(self, **changes):
        return Fake(self.mixture, self.ngram, **changes)

    def nats_by_sentence(self, sentences):
        cost = self.mixture if self.trust else self.ngram
        for sentence in sentences:
            yield sentence, np.full(len(sentence) + 1, cost)

    def network_score(self, sentences):
        return Score(2.0, len(sentences))

    def ngram_score(self, sentences):
        return Score(sum(len(sentence) + 1 for sentence in sentences) * self.ngram, len(sentences))


@pytest.fixture
def _replaceable(monkeypatch):
    monkeypatch.setattr("protoglot.checking.replace", lambda made, **changes: made.__replace__(**changes))


FOLDS = [(["a"], ["b" * 99, "c" * 99]), (["b"], ["a" * 99, "d" * 99])]


@pytest.mark.usefixtures("_replaceable")
def test_scores_are_added_over_folds():
    found = check(lambda sentences: Fake(1.0, 3.0), FOLDS)
    assert found.network == Score(4.0, 4)
    assert found.ngram == Score(1200.0, 4)
    assert found.model.num_characters == 400
    assert found.model.nats == pytest.approx(400.0, abs=1)
    assert (found.num_sentences, found.num_folds) == (4, 2)
    assert found.trust > 0.99


@pytest.mark.usefixtures("_replaceable")
def test_a_mixture_that_is_worse_than_the_ngram_is_not_trusted():
    found = check(lambda sentences: Fake(3.0, 1.0), FOLDS)
    assert found.trust < 0.2
    assert found.model.nats < 1.3 * 400


def test_a_network_alone_is_scored_without_trust():
    class Alone(Fake):
        mixer = None

    found = check(lambda sentences: Alone(1.0, 3.0), FOLDS)
    assert found.model == found.network
    assert found.trust == 1


costs = st.lists(st.floats(0.01, 8), min_size=1, max_size=40)


@given(costs, st.floats(-3, 3), st.floats(0, 1))
def test_a_blend_costs_no_more_than_its_parts_ask_for(values, difference, trust):
    mixture = np.array(values)
    ngram = np.maximum(mixture + difference, 0)
    found = blend(mixture, ngram, trust)
    assert np.all(found <= np.maximum(mixture, ngram) + 1e-9)
    assert np.all(found >= np.minimum(mixture, ngram) - 1e-9)


@given(st.integers(0, 2**32 - 1), st.floats(-1, 1))
def test_the_trust_that_is_fitted_beats_other_trusts_and_both_parts(seed, difference):
    source = np.random.default_rng(seed)
    mixture = source.exponential(1.5, 2000)
    ngram = np.maximum(mixture + difference + source.normal(0, 1, 2000), 0)
    best = blend(mixture, ngram, fit_trust([mixture], [ngram])).sum()
    slack = 20  # nats: characters in favour of the mixture pull a little
    for trust in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0):
        assert best <= blend(mixture, ngram, trust).sum() + slack


def test_without_sentences_there_is_nothing_against_the_mixture():
    assert fit_trust([], []) == 1
