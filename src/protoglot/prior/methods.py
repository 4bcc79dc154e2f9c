"""The ways of learning a new language from a few sentences, and their settings."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum

from protoglot.errors import ConfigError

CHARACTERS_OF_A_SAMPLE = 12_000
"""About what a hundred sentences have."""
MAX_SEED = 2**32 - 1
"""Larger ones, times the number of a step, would not fit into what generators of random numbers take."""
MAX_TRIALS = 7
"""Settings that tuning can try for each method; those with a strength have more, which would not be fair to others."""
_FEWEST_STEPS = 4  # of an epoch, as far as sequences go round


class Method(StrEnum):
    """Which prior a new language is learned with."""

    NINF = "ninf"
    """Uninformative: random initial weights, mean 0, precision 1. Knows nothing of other languages."""

    FITU = "fitu"
    """Fine-tuning: starts from w*, with no prior to hold it there."""

    UNIV = "univ"
    """Universal: starts from w*, mean w*, and the precision of the Laplace approximation."""

    L2_SP = "l2-sp"
    """Starts from w*, mean w*, one precision for all weights (Duong et al. 2015): UNIV without the Fisher."""

    HIER = "hier"
    """Hierarchical: starts from w*, mean w*, and the precision of weights across languages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptationConfig:
    """How a new language is learned."""

    method: Method = Method.FITU
    """Which prior."""

    strength: float = 1.0
    """Lambda of eq. (map) in the natural unit of the method: 1 is plain Bayesian updating. For UNIV and L2-SP that
    is a lambda of as many as there were sequences in training, because log-likelihoods are summed and the Fisher
    is averaged over sequences; for HIER and NINF it is a lambda of 1. Not used by FITU."""

    learning_rate: float = 4e-3
    """Of Adam; falls linearly to zero."""

    num_epochs: int = 6
    """Times that the sentences are read; at most 25 in the paper."""

    dropout: float = 0.1
    """Variational dropout on embeddings, between layers and before the softmax."""

    batch_size: int = 4
    """Sequences in a mini-batch."""

    length: float = 96.0
    """Mean length of the sequences, in characters."""

    max_gradient_norm: float = 1.0
    """Gradients of the log-likelihood are scaled down to this norm."""

    seed: int = 0
    """Of batches, dropout, and NINF's initial weights."""

    def __post_init__(self) -> None:
        _check(self, "strength", "a number from 0", lambda value: value >= 0 and math.isfinite(value))
        _check(self, "dropout", "a share from 0 to below 1", lambda value: 0 <= value < 1)
        for name in ("learning_rate", "max_gradient_norm", "length"):
            _check(self, name, "a number above 0", lambda value: value > 0 and math.isfinite(value))
        for name, least in (("num_epochs", 0), ("batch_size", 1), ("seed", 0)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise ConfigError(f"adaptation.{name}: {value!r}; wanted a whole number from {least}")
        if self.seed > MAX_SEED:
            raise ConfigError(f"adaptation.seed: {self.seed}; wanted at most {MAX_SEED}")
        if not isinstance(self.method, Method):
            raise ConfigError(f"adaptation.method: {self.method!r}; wanted one of {', '.join(Method)}")

    def for_amount(self, num_characters: int) -> "AdaptationConfig":
        """These settings for another amount of text than that of a hundred sentences, which they are meant for.

        Less text is read as often, in batches that are small enough for some steps: to read it more often, in the
        hope of as many steps, costs networks a tenth of a bit and more with ten sentences of a validation language,
        for they then know these by heart. More text is read less often, by
        a root, between the same number of epochs and the same number of steps: a hundred times the text is read once.
        """
        factor = min((CHARACTERS_OF_A_SAMPLE / max(num_characters, 1)) ** 0.5, 1.0)
        num_epochs = max(round(self.num_epochs * factor), 1) if self.num_epochs else 0
        in_fewest_steps = max(int(num_characters / (self.length * _FEWEST_STEPS)), 1)
        return replace(self, num_epochs=num_epochs, batch_size=min(self.batch_size, in_fewest_steps))

    def to_json(self) -> dict[str, object]:
        """The settings as JSON values."""
        return {**asdict(self), "method": str(self.method)}

    @classmethod
    def from_json(cls, value: object, *, name: str) -> "AdaptationConfig":
        """The settings that :meth:`to_json` wrote.

        Raises:
            ConfigError: if they are anything else; ``name`` says where they were found.
        """
        known = {each.name for each in fields(cls)}
        if not isinstance(value, Mapping) or set(value) != known:
            raise ConfigError(f"{name}: not settings of adaptation; wanted the fields {', '.join(sorted(known))}")
        try:
            return cls(**{**value, "method": Method(value["method"])})
        except ValueError as error:
            raise ConfigError(f"{name}: {error}; wanted one of {', '.join(Method)}") from error
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from error


def _check(config: AdaptationConfig, name: str, wanted: str, holds: Callable[[float], bool]) -> None:
    value = getattr(config, name)
    if type(value) not in (int, float) or not holds(value):
        raise ConfigError(f"adaptation.{name}: {value!r}; wanted {wanted}")
