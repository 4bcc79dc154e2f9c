"""Which of several languages a sentence is in, by the models of these languages.

Every model gives every string a probability, and all of them together add up to one; so models with different
inventories can be compared. With no language likelier than another beforehand, the probability that a sentence is in a
language is in proportion to the probability that its model gives to the sentence.

A sentence that suits no model has a best one nevertheless. It is in *no known* language if a model that knows nothing
of the order of letters pays less for it than the best one: one that draws letters as the unigram of that language does
(with Kneser-Ney smoothing, by how many different letters they follow), or one that draws all letters of its inventory
equally often. With a threshold, it is also in no known
language if the best model pays more bits per character than that. The first rule notices other scripts and no language
at all; a related language in the same letters may pass, which a threshold can prevent.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from protoglot.adapted import AdaptedModel
from protoglot.errors import ConfigError
from protoglot.scores import Score
from protoglot.vocabulary import END, NUM_SYMBOLS


@dataclass(frozen=True, slots=True, kw_only=True)
class Identification:
    """What is known about the language of a sentence."""

    best: str
    """The model that suits it best."""

    is_known: bool
    """Whether that one suits it at all."""

    probabilities: Mapping[str, float]
    """That it is in the language of each model, if it is in one of them."""

    scores: Mapping[str, Score]
    """What each model pays."""


class Identifier:
    """Tells languages apart.

    Args:
        models: by any name.
        threshold: most bits per character that a known language may cost; ``None`` for no such bound.

    Raises:
        ConfigError: if there is no model, or for a threshold that is not above 0.
    """

    def __init__(self, models: Mapping[str, AdaptedModel], *, threshold: float | None = None) -> None:
        if not models:
            raise ConfigError("identification: no model; wanted at least one")
        if threshold is not None and not threshold > 0:
            raise ConfigError(f"identification.threshold: {threshold}; wanted a number above 0")
        self._models = dict(models)
        self._threshold = math.inf if threshold is None else threshold

    def identify(self, sentence: str) -> Identification:
        """The language of a sentence, which is read on its own."""
        scores = {name: model.score([sentence]) for name, model in self._models.items()}
        best = min(scores, key=lambda name: scores[name].nats)
        weights = {name: math.exp(scores[best].nats - score.nats) for name, score in scores.items()}
        total = math.fsum(weights.values())
        bound = min(orderless_nats(self._models[best], sentence))
        return Identification(
            best=best,
            is_known=scores[best].nats <= bound and scores[best].bits_per_character <= self._threshold,
            probabilities={name: weight / total for name, weight in weights.items()},
            scores=scores,
        )


def orderless_nats(model: AdaptedModel, sentence: str) -> tuple[float, float]:
    """What a sentence costs without regard to the order of its letters.

    Returns:
        With all of the inventory equally likely; and with letters as likely as the n-gram of order one has them, or
        the same once more if there is none.
    """
    vocabulary = model.vocabulary
    naming = vocabulary.others_nats(vocabulary.encode(sentence).others)
    even = (len(sentence) + 1) * math.log(len(vocabulary) - NUM_SYMBOLS + 2) + naming  # END and OTHER beside it
    if model.ngram is None:
        return even, even
    probabilities, _ = model.ngram.by_order_after([[END]])
    ids = np.append(vocabulary.encode_to_array(sentence), END)
    return even, -float(np.log(probabilities[0, 0, ids - 1]).sum()) + naming
