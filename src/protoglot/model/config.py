"""Sizes and kinds of language models, and the presets."""

from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum

from protoglot.errors import ConfigError


class Conditioning(StrEnum):
    """How a model uses a language's typological vector (§4)."""

    BARE = "bare"
    """Not at all."""

    OEST = "oest"
    """Features concatenated to every hidden state (after Östling and Tiedemann 2017)."""

    PLAT = "plat"
    """Features turned into the LSTM's weights by a linear hyper-network (after Platanios et al. 2018)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """Everything that decides the shape and the regularisation of a model but its vocabulary."""

    conditioning: Conditioning = Conditioning.BARE
    """How typology enters."""

    num_layers: int
    """LSTM layers, L."""

    hidden_size: int
    """Units of each layer, H."""

    embedding_size: int
    """Dimensions of a character, E; input and output embeddings are one matrix."""

    oest_size: int
    """Dimensions r of the encoded typology f(t) for OEST."""

    plat_size: int
    """Dimensions r of the encoded typology f(t) for PLAT."""

    residual: bool
    """Add each layer's input to its output from the second layer on. Departs: the paper has none."""

    embedding_dropout: float = 0.1
    """Variational dropout on the embedded characters."""

    hidden_dropout: float = 0.1
    """Variational dropout between layers."""

    output_dropout: float = 0.4
    """Variational dropout before the softmax."""

    recurrent_dropconnect: float = 0.2
    """DropConnect on the recurrent weights of the first layer."""

    def __post_init__(self) -> None:
        for name in ("num_layers", "hidden_size", "embedding_size", "oest_size", "plat_size"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigError(f"model.{name}: {value!r}; wanted a whole number from 1")
        for name in ("embedding_dropout", "hidden_dropout", "output_dropout", "recurrent_dropconnect"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1:
                raise ConfigError(f"model.{name}: {value!r}; wanted a share from 0 to below 1")
        if not isinstance(self.conditioning, Conditioning):
            raise ConfigError(
                f"model.conditioning: {self.conditioning!r}; wanted one of {', '.join(Conditioning)}"
            )
        if type(self.residual) is not bool:
            raise ConfigError(f"model.residual: {self.residual!r}; wanted true or false")

    @property
    def conditioning_size(self) -> int:
        """Dimensions r of f(t); 0 for BARE."""
        sizes = {Conditioning.BARE: 0, Conditioning.OEST: self.oest_size, Conditioning.PLAT: self.plat_size}
        return sizes[self.conditioning]

    def to_json(self) -> dict[str, object]:
        """The configuration as JSON values."""
        return {**asdict(self), "conditioning": str(self.conditioning)}

    @classmethod
    def from_json(cls, value: object, *, name: str) -> "ModelConfig":
        """The configuration that :meth:`to_json` wrote.

        Raises:
            ConfigError: if it is anything else; ``name`` says where it was found.
        """
        known = {field.name for field in fields(cls)}
        if isinstance(value, dict) and "contexts" in value:
            value = _without_contexts(value, name=name)
        if not isinstance(value, dict) or set(value) != known:
            raise ConfigError(f"{name}: not a model configuration; wanted the fields {', '.join(sorted(known))}")
        try:
            conditioning = Conditioning(value["conditioning"])
        except ValueError as error:
            kinds = ", ".join(Conditioning)
            raise ConfigError(f"{name}: conditioning {value['conditioning']!r}; wanted one of {kinds}") from error
        try:
            return cls(**{**value, "conditioning": conditioning})
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from error


def _without_contexts(value: dict[str, object], *, name: str) -> dict[str, object]:
    """The same without tables of contexts, which networks had once; most models were stored with an empty list."""
    value = dict(value)
    contexts = value.pop("contexts")
    if contexts != []:
        wanted = "an empty list: models with tables of contexts can no longer be read"
        raise ConfigError(f"{name}: contexts {contexts!r}; wanted {wanted}")
    return value


PAPER = ModelConfig(num_layers=3, hidden_size=1840, embedding_size=400, oest_size=115, plat_size=4, residual=False)
"""The paper's size (§5)."""

COMPACT = ModelConfig(
    num_layers=2,
    hidden_size=384,
    embedding_size=128,
    oest_size=16,
    plat_size=4,
    residual=True,
    embedding_dropout=0.0,
    hidden_dropout=0.0,
    output_dropout=0.0,
    recurrent_dropconnect=0.0,
)
"""The paper's kind of network for two CPU cores. Departs: no dropout, because within its budget a run reads no
character twice."""

PLAIN = replace(COMPACT, hidden_size=320, embedding_size=160, oest_size=32)
"""A smaller one: the size of the networks in the kept study."""

TINY = ModelConfig(num_layers=2, hidden_size=12, embedding_size=8, oest_size=5, plat_size=3, residual=True)
"""Tests: learns in a second, and everything is switched on."""

PRESETS = {"paper": PAPER, "compact": COMPACT, "plain": PLAIN, "tiny": TINY}
