"""Which of several languages a sentence is in, by the models of these languages.

Every model gives every string a probability, and all of them together add up to one; so models with different
inventories can be compared. With no language likelier than another beforehand, the probability that a sentence is in a
language is in proportion to the probability that its model gives to the sentence.

A sentence that suits no model has a best one nevertheless. It is in *no known* language if it costs the best one more
than a sentence of its language may cost. That is measured against a model without knowledge of the language: for a
reader, a reader that has read nothing; for a network, one that knows nothing of the order of letters. A reader that has
measured what sentences cost that it had not read (:mod:`protoglot.own_lines`) allows the share of that cost that these
had; any other model allows all of it, and then a sentence in another language with the same letters may pass. With a
threshold, a sentence is also in no known language if the best model needs more bits per character than that.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from protoglot.errors import ConfigError
from protoglot.scores import Score


class Identifying(Protocol):
    """A model of a language: a reader or a network."""

    def score(self, sentences: Iterable[str]) -> Score:
        """Log loss of a text."""
        ...

    def most_nats(self, sentence: str) -> float:
        """Nats that a sentence may cost if it is in the language."""
        ...


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
    """Log loss under each model."""


class Identifier:
    """Tells languages apart.

    Args:
        models: by any name.
        threshold: most bits per character that a known language may cost; ``None`` for no such bound.

    Raises:
        ConfigError: if there is no model, or for a threshold that is not above 0.
    """

    def __init__(self, models: Mapping[str, Identifying], *, threshold: float | None = None) -> None:
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
        bound = self._models[best].most_nats(sentence)
        return Identification(
            best=best,
            is_known=scores[best].nats <= bound and scores[best].bits_per_character <= self._threshold,
            probabilities={name: weight / total for name, weight in weights.items()},
            scores=scores,
        )
