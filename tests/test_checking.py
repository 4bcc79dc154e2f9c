from hypothesis import given
from hypothesis import strategies as st

from protoglot.checking import check, check_folds
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
    assert len(scored) == 1000
    assert len(learned) == 19_000


class Fake:
    def score(self, sentences):
        return Score(1.0, len(sentences))

    def network_score(self, sentences):
        return Score(2.0, len(sentences))

    def ngram_score(self, sentences):
        return Score(3.0, len(sentences))


def test_scores_are_added_over_folds():
    found = check(lambda sentences: Fake(), [(["a"], ["b"]), (["b"], ["a"])])
    assert found.model == Score(2.0, 2)
    assert found.network == Score(4.0, 2)
    assert found.ngram == Score(6.0, 2)
    assert (found.num_sentences, found.num_folds) == (2, 2)
