"""Sizes of the network that learns in context."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

from protoglot.errors import ConfigError
from protoglot.ngram import NGramConfig

_MAX_SIZE = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class InContextConfig:
    """Everything that decides the shape of the network but its vocabulary."""

    window: int = 10
    """Characters that it reads before a position, W, no further back than to the begin of the sentence."""

    embedding_size: int = 40
    """Dimensions of a character, E."""

    hidden_size: int = 256
    """Units of each of its layers, H."""

    key_size: int = 48
    """Dimensions in which what was read before is compared with what is read now, D."""

    gate_size: int = 96
    """Units between what the network knows of a position and how far it trusts each component, G."""

    num_rounds: int = 2
    """How often each character is told what stands beside it in the sentences."""

    company_size: int = 128
    """Units between what a character is told and how that changes it."""

    language_size: int = 64
    """Units between what all characters together are like and what states start from."""

    ngram: NGramConfig = field(default_factory=NGramConfig)
    """The n-gram whose orders it weighs; its order is K."""

    def __post_init__(self) -> None:
        for name in (each.name for each in fields(self) if each.name != "ngram"):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= _MAX_SIZE:
                raise ConfigError(f"in-context.{name}: {value!r}; wanted a whole number from 1 to {_MAX_SIZE:,}")

    @property
    def num_components(self) -> int:
        """C: the orders of the n-gram, and what is remembered."""
        return self.ngram.order + 1

    def to_json(self) -> dict[str, object]:
        """The configuration as JSON values."""
        return {**asdict(self), "ngram": self.ngram.to_json()}

    @classmethod
    def from_json(cls, value: object, *, name: str) -> "InContextConfig":
        """The configuration that :meth:`to_json` wrote.

        Raises:
            ConfigError: if it is anything else; ``name`` says where it was found.
        """
        known = {each.name for each in fields(cls)}
        if not isinstance(value, Mapping) or set(value) != known:
            raise ConfigError(
                f"{name}: not an in-context network, or one of an older protoglot; wanted the fields "
                f"{', '.join(sorted(known))}"
            )
        ngram = NGramConfig.from_json(value["ngram"], name=name)
        try:
            return cls(**{**value, "ngram": ngram})
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from error


TINY = InContextConfig(
    embedding_size=6,
    hidden_size=8,
    key_size=4,
    gate_size=5,
    company_size=7,
    language_size=4,
    ngram=NGramConfig(order=3),
)
"""Tests: learns in a second."""
