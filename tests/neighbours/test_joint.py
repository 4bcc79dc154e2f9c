import numpy as np
import pytest

from protoglot.neighbours.joint import join_ngrams
from protoglot.ngram import NGram, Smoothing, ids_before
from protoglot.vocabulary import Vocabulary

TEXTS = (["ab abba", "a ba"], ["bcb c", "cab", "cccc b"], ["a"], [])
SCORED = ["abcab b", "", "cc a"]
VOCABULARY = Vocabulary.of([*TEXTS[0], *TEXTS[1], "d"])


@pytest.fixture(params=[(3, 3, 3, 3), (4, 2, 1, 3)])
def ngrams(request):
    return [
        NGram.train(text, VOCABULARY, order=order, smoothing=Smoothing.KNESER_NEY)
        for text, order in zip(TEXTS, request.param, strict=True)
    ]


def test_each_root_predicts_as_its_n_gram_does_along_a_text(ngrams):
    joint = join_ngrams(ngrams)
    for root, ngram in enumerate(ngrams):
        found = np.concatenate(list(joint.along(SCORED, positions_at_once=4, root=root)))
        wanted = np.concatenate(list(ngram.along(SCORED)))
        np.testing.assert_array_equal(found, wanted)


def test_each_root_predicts_as_its_n_gram_does_after_some_ids(ngrams):
    joint = join_ngrams(ngrams)
    contexts = [[1], [1, 4, 5], [5, 4, 5, 4], [4, 7]]
    before = ids_before(contexts, joint.order - 1)
    for root, ngram in enumerate(ngrams):
        found = joint.after(before, np.full(len(before), root))
        np.testing.assert_array_equal(found, ngram.after(ids_before(contexts, ngram.order - 1)))


def test_keys_stay_sorted(ngrams):
    for level in join_ngrams(ngrams).levels:
        assert (np.diff(level.context_keys) > 0).all()
        assert (np.diff(level.pair_keys) > 0).all()
