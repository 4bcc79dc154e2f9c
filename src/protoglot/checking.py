"""What a model would be worth: sentences held out of the few there are, and scored beside the n-gram."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from protoglot.adapted import AdaptedModel
from protoglot.scores import Score
from protoglot.splits import shuffled

_MANY = 20
_MOST_HELD_OUT = 1000
_NUM_FOLDS = 4


@dataclass(frozen=True, slots=True)
class Check:
    """Scores on sentences that were not learned from, and how many those were."""

    model: Score
    network: Score
    ngram: Score
    num_sentences: int
    num_folds: int


def check_folds(sentences: Sequence[str], *, seed: int = 0) -> list[tuple[list[str], list[str]]]:
    """Sentences to learn from and sentences to score, one pair or several.

    Of many sentences a fifth is held out, at most a thousand; few are dealt into up to four folds that are held out in
    turn; a single one cannot be both, and gives no pair. Equal sentences stay on the same side, so that nothing is
    scored that was learned.
    """
    distinct = shuffled(dict.fromkeys(sentences), "check", seed)
    if len(distinct) < 2:
        return []
    if len(distinct) >= _MANY:
        held_out = [set(distinct[: min(len(distinct) // 5, _MOST_HELD_OUT)])]
    else:
        number = min(_NUM_FOLDS, len(distinct))
        held_out = [set(distinct[first::number]) for first in range(number)]
    return [
        (
            [sentence for sentence in sentences if sentence not in fold],
            [sentence for sentence in dict.fromkeys(sentences) if sentence in fold],
        )
        for fold in held_out
    ]


def check(
    learn: Callable[[Sequence[str]], AdaptedModel], folds: Sequence[tuple[Sequence[str], Sequence[str]]]
) -> Check:
    """Learn from one side of each fold and score the other.

    Args:
        learn: makes a model, with an n-gram, of some sentences.
        folds: as :func:`check_folds` makes them.
    """
    nothing = Score(0.0, 0)
    model = network = ngram = nothing
    number = 0
    for learned, scored in folds:
        made = learn(learned)
        model += made.score(scored)
        network += made.network_score(scored)
        ngram += made.ngram_score(scored)
        number += len(scored)
    return Check(model, network, ngram, number, len(folds))
