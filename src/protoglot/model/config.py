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


MAX_CONTEXT = 6
"""Characters of the longest context that a table can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextTable:
    """A table with a vector for every context of some length (see :mod:`protoglot.model.contexts`)."""

    length: int
    """Characters of a context, the one read last included; of that one alone, the embedding tells."""

    rows: int
    """That the contexts share."""

    size: int
    """Dimensions of a row."""

    def __post_init__(self) -> None:
        for name, least, most in (("length", 2, MAX_CONTEXT), ("rows", 1, 2**24), ("size", 1, 2**12)):
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                wanted = f"a whole number from {least} to {most:,}"
                raise ConfigError(f"model.contexts.{name}: {value!r}; wanted {wanted}")


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

    contexts: tuple[ContextTable, ...] = ()
    """Tables of short contexts that predict beside the LSTM. Departs: the paper has none."""

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
        if not isinstance(self.contexts, tuple) or not all(
            isinstance(table, ContextTable) for table in self.contexts
        ):
            raise ConfigError(f"model.contexts: {self.contexts!r}; wanted tables of contexts")

    @property
    def conditioning_size(self) -> int:
        """Dimensions r of f(t); 0 for BARE."""
        sizes = {Conditioning.BARE: 0, Conditioning.OEST: self.oest_size, Conditioning.PLAT: self.plat_size}
        return sizes[self.conditioning]

    def to_json(self) -> dict[str, object]:
        """The configuration as JSON values."""
        contexts = [asdict(table) for table in self.contexts]
        return {**asdict(self), "conditioning": str(self.conditioning), "contexts": contexts}

    @classmethod
    def from_json(cls, value: object, *, name: str) -> "ModelConfig":
        """The configuration that :meth:`to_json` wrote.

        Raises:
            ConfigError: if it is anything else; ``name`` says where it was found.
        """
        known = {field.name for field in fields(cls)}
        if isinstance(value, dict):
            value = {"contexts": [], **value}  # of a model from before there were any
        if not isinstance(value, dict) or set(value) != known:
            raise ConfigError(f"{name}: not a model configuration; wanted the fields {', '.join(sorted(known))}")
        try:
            conditioning = Conditioning(value["conditioning"])
        except ValueError as error:
            kinds = ", ".join(Conditioning)
            raise ConfigError(f"{name}: conditioning {value['conditioning']!r}; wanted one of {kinds}") from error
        try:
            contexts = tuple(ContextTable(**table) for table in value["contexts"])
            return cls(**{**value, "conditioning": conditioning, "contexts": contexts})
        except TypeError as error:
            raise ConfigError(f"{name}: contexts {value['contexts']!r}; wanted tables of contexts") from error
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from error


PAPER = ModelConfig(num_layers=3, hidden_size=1840, embedding_size=400, oest_size=115, plat_size=4, residual=False)
"""The paper's size (§5)."""

PLAIN = ModelConfig(
    num_layers=2,
    hidden_size=320,
    embedding_size=160,
    oest_size=32,
    plat_size=4,
    residual=True,
    embedding_dropout=0.0,
    hidden_dropout=0.0,
    output_dropout=0.0,
    recurrent_dropconnect=0.0,
)
"""The paper's kind of network for two CPU cores. Departs: no dropout, because within its budget a run reads no
character twice."""

COMPACT = replace(
    PLAIN,
    num_layers=1,
    hidden_size=448,
    embedding_size=128,
    contexts=(
        ContextTable(length=2, rows=2**12, size=32),
        ContextTable(length=3, rows=2**14, size=32),
        ContextTable(length=4, rows=2**15, size=32),
    ),
)
"""For two CPU cores. Departs from the paper as ``PLAIN`` does, and by tables of contexts, beside which one layer is
enough: that leaves time for more text."""

TINY = ModelConfig(
    num_layers=2,
    hidden_size=12,
    embedding_size=8,
    oest_size=5,
    plat_size=3,
    residual=True,
    contexts=(ContextTable(length=2, rows=16, size=3), ContextTable(length=3, rows=32, size=2)),
)
"""Tests: learns in a second, and everything is switched on."""

PRESETS = {"paper": PAPER, "compact": COMPACT, "plain": PLAIN, "tiny": TINY}
