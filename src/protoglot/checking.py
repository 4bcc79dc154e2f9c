"""What a model would be worth: sentences held out of the few there are, and scored beside the n-gram.

They also say how far the mixture of all components is to be trusted. Its weights were learned on other languages;
should the network be of little use for this one, the n-gram alone is the better model, and gets its share.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from protoglot.adapted import AdaptedModel
from protoglot.scores import Score
from protoglot.splits import shuffled
from protoglot.vocabulary import Vocabulary

MANY_NEW = 0.3
"""Share of a text in characters that a prior has never seen, above which the prior may be of little use."""

_MANY = 20
_MOST_HELD_OUT = 300
_NUM_FOLDS = 4
_FEW = 50
"""One sentence in so many can be done without."""

_STEPS = 200
_CHARACTERS_IN_FAVOUR = 5.0
"""As if so many more characters had been the mixture's: with few sentences, little speaks against what was learned."""

Nats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Check:
    """Scores on sentences that were not learned from, and how many those were."""

    model: Score
    """Of the model as it will be: each half of the sentences with the trust that the other half asks for."""

    network: Score
    ngram: Score
    num_sentences: int
    num_folds: int
    trust: float = 1.0
    """In the mixture, asked for by all of the sentences."""

    checked: AdaptedModel | None = None
    """What was scored; with several folds, the last of them."""


def share_of_new_characters(sentences: Iterable[str], known: Vocabulary) -> float:
    """How much of a text is in characters that a vocabulary lacks.

    >>> share_of_new_characters(["abc", "x"], Vocabulary.of("abc"))
    0.25
    """
    text = "".join(sentences)
    return sum(character not in known for character in text) / max(len(text), 1)


def check_folds(sentences: Sequence[str], *, seed: int = 0) -> list[tuple[list[str], list[str]]]:
    """Sentences to learn from and sentences to score, one pair or several.

    Of many sentences a fifth is held out, at most three hundred; few are dealt into up to four folds that are held out
    in turn; a single one cannot be both, and gives no pair. Equal sentences stay on the same side, so that nothing is
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


def is_nearly_all(folds: Sequence[tuple[Sequence[str], Sequence[str]]]) -> bool:
    """Whether the check learns from so much of the text that its model may be kept, and nothing learned twice."""
    return len(folds) == 1 and len(folds[0][1]) * _FEW <= len(folds[0][0])


def check(
    learn: Callable[[Sequence[str]], AdaptedModel], folds: Sequence[tuple[Sequence[str], Sequence[str]]]
) -> Check:
    """Learn from one side of each fold and score the other.

    Args:
        learn: makes a model, with an n-gram, of some sentences.
        folds: as :func:`check_folds` makes them.
    """
    network = ngram = Score(0.0, 0)
    made: AdaptedModel | None = None
    mixtures: list[Nats] = []  # of each sentence
    ngrams: list[Nats] = []
    for learned, scored in folds:
        made = learn(learned)
        network += made.network_score(scored)
        ngram += made.ngram_score(scored)
        if made.mixer is not None:
            mixtures += [costs for _, costs in made.nats_by_sentence(scored)]
            ngrams += [costs for _, costs in replace(made, trust=0.0).nats_by_sentence(scored)]
    number = sum(len(scored) for _, scored in folds)
    if not mixtures:
        return Check(network, network, ngram, number, len(folds), checked=made)
    halves = [slice(0, None, 2), slice(1, None, 2)]
    model = Score(0.0, 0)
    for half, other in (halves, halves[::-1]):
        trust = fit_trust(mixtures[other], ngrams[other])
        model += _total([blend(*costs, trust) for costs in zip(mixtures[half], ngrams[half], strict=True)])
    return Check(model, network, ngram, number, len(folds), fit_trust(mixtures, ngrams), made)


def fit_trust(mixtures: Sequence[Nats], ngrams: Sequence[Nats]) -> float:
    """The share of the mixture that makes a text likeliest, by expectation maximisation.

    Args:
        mixtures: costs of characters by the mixture, in any number of pieces.
        ngrams: costs of the same characters by the n-gram.

    >>> worse, better = [np.array([3.0] * 500)], [np.array([1.0] * 500)]
    >>> round(fit_trust(worse, better), 2), round(fit_trust(better, worse), 2)
    (0.01, 1.0)
    """
    if not mixtures:
        return 1.0
    advantage = np.concatenate(list(ngrams)) - np.concatenate(list(mixtures))  # nats, per character
    trust = 0.5
    for _ in range(_STEPS):
        odds = math.log(trust) - math.log1p(-trust) + advantage
        shares = 1 / (1 + np.exp(-np.clip(odds, -700, 700)))
        found = (float(shares.sum()) + _CHARACTERS_IN_FAVOUR) / (len(shares) + _CHARACTERS_IN_FAVOUR)
        trust = min(max(found, 1e-6), 1 - 1e-6)
    return round(trust, 4)


def blend(mixture: Nats, ngram: Nats, trust: float) -> Nats:
    """Costs of characters under a mixture that is trusted so far."""
    if trust in (0.0, 1.0):
        return mixture if trust else ngram
    return -np.logaddexp(math.log(trust) - mixture, math.log1p(-trust) - ngram)


def _total(pieces: Sequence[Nats]) -> Score:
    return Score(math.fsum(float(costs.sum()) for costs in pieces), sum(len(costs) for costs in pieces))
