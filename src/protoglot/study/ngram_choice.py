"""The n-gram of a few sentences, chosen by the sentences themselves."""

from collections.abc import Sequence

from protoglot.ngram import NGram, Smoothing
from protoglot.scores import Score
from protoglot.vocabulary import Vocabulary

_NUM_FOLDS = 5


def choose_ngram(sentences: Sequence[str], orders: Sequence[int]) -> tuple[int, Smoothing]:
    """Order and smoothing by cross-validation: each fifth of the sentences is predicted from the others.

    Only the sample itself is looked at, so that the rival of the networks is as strong as it can honestly be. With one
    sentence there is nothing to choose by, and the lowest order is taken.
    """
    choices = [(order, smoothing) for order in sorted(orders) for smoothing in Smoothing]
    num_folds = min(_NUM_FOLDS, len(sentences))
    if num_folds < 2:
        return choices[0]
    vocabulary = Vocabulary.of(sentences)
    costs = {}
    for order, smoothing in choices:
        total = Score(0.0, 0)
        for fold in range(num_folds):
            learned = [sentence for number, sentence in enumerate(sentences) if number % num_folds != fold]
            ngram = NGram.train(learned, vocabulary, order=order, smoothing=smoothing)
            total += ngram.score(sentences[fold::num_folds])
        costs[order, smoothing] = total.nats
    return min(choices, key=lambda choice: costs[choice])
