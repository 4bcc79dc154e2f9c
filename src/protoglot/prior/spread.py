r"""How far weights move from language to language: the covariance of HIER.

The Laplace approximation says how sure training is of each weight, given all languages together. Another question
is how much a weight *differs* between languages. To answer it, the model settles on one training language at a
time: from w* it is fitted to a little text of the language, and the squared displacement of each weight is noted.
The mean over languages is the variance of a Gaussian over the weights of languages, :math:`N(w^\star, V)`.

Embeddings and output biases belong to characters. Those that no training language has would never move, though in
a new language they must; so the variance of these is pooled over characters.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from protoglot.batching import Stream
from protoglot.errors import ConfigError
from protoglot.prior.accumulating import mean_over_languages
from protoglot.prior.extending import extended_model
from protoglot.prior.fitting import fit
from protoglot.prior.methods import AdaptationConfig
from protoglot.trained import TrainedModel

_OF_CHARACTERS = ("embedding", "output_bias")
_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadConfig:
    """How the model settles on a language."""

    num_characters: int = 10_000
    """Of a language's training text, from a place drawn at random."""

    num_epochs: int = 3
    learning_rate: float = 2e-3
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("num_characters", "num_epochs"):
            if getattr(self, name) < 1:
                raise ConfigError(f"spread.{name}: {getattr(self, name)}; wanted a whole number from 1")


def measure_spread(
    trained: TrainedModel,
    streams: Mapping[str, Stream],
    config: SpreadConfig,
    *,
    unfinished: Path | None = None,
    on_languages: Callable[[int], None] | None = None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> dict[str, Tensor] | None:
    """Variance of each weight over languages.

    Args:
        trained: the model, left as it was.
        streams: training text of the training languages, in the model's ids.
        config: settings.
        unfinished: where to keep what is done after each language, to go on from there after an interruption.
        on_languages: called with the number of languages done since the last call.
        stop_asked: looked at after every language.

    Returns:
        Variances by name of the weight; ``None`` if it was asked to stop before all languages were done.
    """

    def measure(language: str) -> tuple[dict[str, Tensor], int]:
        squares = _squared_displacement(trained, streams[language], language, config)
        if on_languages is not None:
            on_languages(1)
        return squares, 1

    found = mean_over_languages(
        trained,
        streams,
        measure,
        settings=["spread", asdict(config)],
        unfinished=unfinished,
        on_restored=on_languages,
        stop_asked=stop_asked,
    )
    if found is None:
        return None
    return {name: _pooled(name, values).clamp_min(_LEAST_VARIANCE) for name, values in found[0].items()}


def _squared_displacement(
    trained: TrainedModel, stream: Stream, language: str, config: SpreadConfig
) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(config.seed)
    latest = max(len(stream) - 1 - config.num_characters, 0)
    first = int(torch.randint(latest + 1, (1,), generator=generator))
    model = extended_model(trained.model, trained.vocabulary, dropout=0.0)
    settings = AdaptationConfig(
        num_epochs=config.num_epochs, learning_rate=config.learning_rate, dropout=0.0, seed=config.seed
    )
    fit(model, stream[first : first + config.num_characters + 1], trained.features_of(language), settings)
    before = dict(trained.model.named_parameters())
    return {name: (weight.detach() - before[name].detach()).square() for name, weight in model.named_parameters()}


def _pooled(name: str, values: Tensor) -> Tensor:
    if name not in _OF_CHARACTERS:
        return values
    return values.mean(dim=0, keepdim=True).expand_as(values).clone()
