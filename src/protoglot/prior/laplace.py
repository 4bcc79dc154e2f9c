"""From a trained model to its universal prior: the Fisher information of all training languages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from protoglot.batching import Stream, make_stream
from protoglot.corpus.interface import Corpus
from protoglot.errors import ConfigError
from protoglot.folds import FoldText
from protoglot.prior.accumulating import mean_over_languages
from protoglot.prior.calibration import mean_frequencies
from protoglot.prior.fisher import sum_squared_gradients
from protoglot.prior.universal import UniversalPrior
from protoglot.trained import TrainedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class FisherConfig:
    """Which sequences are measured."""

    length: int = 125
    """Characters of a sequence; the mean length of training."""

    max_sequences: int | None = 200
    """Sequences of each language, drawn without replacement; ``None`` takes all."""

    sequences_at_once: int = 64
    """Bounds memory: of so many the states of all layers, and gradients of embeddings, are held."""

    seed: int = 0
    """Of the draw."""

    def __post_init__(self) -> None:
        for name in ("length", "sequences_at_once"):
            if getattr(self, name) < 1:
                raise ConfigError(f"fisher.{name}: {getattr(self, name)}; wanted a whole number from 1")
        if self.max_sequences is not None and self.max_sequences < 1:
            raise ConfigError(f"fisher.max_sequences: {self.max_sequences}; wanted a whole number from 1, or all")


def infer_prior(
    trained: TrainedModel,
    streams: Mapping[str, Stream],
    config: FisherConfig,
    *,
    unfinished: Path | None = None,
    on_sequences: Callable[[int], None] | None = None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> UniversalPrior | None:
    """Measure the Fisher information language by language, eq. (hes_loglik), and make the prior.

    Args:
        trained: the model, left as it was.
        streams: training text of the training languages, in the model's ids.
        config: which sequences.
        unfinished: where to keep what is done after each language, to go on from there after an interruption.
        on_sequences: called with the number of sequences measured since the last call.
        stop_asked: looked at after every language.

    Returns:
        The prior; ``None`` if it was asked to stop before all languages were done.
    """

    def measure(language: str) -> tuple[dict[str, Tensor], int]:
        starts = choose_sequences(streams[language], language, config)
        squares = _measure(trained, streams[language], starts, language, config, on_sequences)
        return {name: values / len(starts) for name, values in squares.items()}, len(starts)

    found = mean_over_languages(
        trained,
        streams,
        measure,
        settings=["fisher", config.length, config.max_sequences, config.seed],
        unfinished=unfinished,
        on_restored=on_sequences,
        stop_asked=stop_asked,
    )
    if found is None:
        return None
    number = sum(max((len(stream) - 1) // config.length, 1) for stream in streams.values())
    return UniversalPrior(
        mean=trained,
        fisher=found[0],
        prior_variance=_prior_variance(trained) * number,
        num_training_sequences=number,
        num_sequences=found[1],
        frequencies=mean_frequencies(streams, len(trained.vocabulary)),
    )


def training_streams(corpus: Corpus, trained: TrainedModel) -> dict[str, Stream]:
    """Training part of the languages that a model was trained on, in its ids.

    Raises:
        CorpusError: if the corpus lacks one of them.
    """
    return {
        language: make_stream(sentences, trained.vocabulary)
        for language, sentences in FoldText(corpus, trained.fold).training()
        if sentences
    }


def _prior_variance(trained: TrainedModel) -> float:
    """Sigma squared of the training that made a model."""
    settings = trained.provenance.get("training")
    if not isinstance(settings, dict) or not isinstance(settings.get("prior_variance"), int | float):
        raise ConfigError(
            "the model does not say with what prior variance it was trained; wanted one made by train"
        )
    return float(settings["prior_variance"])


def choose_sequences(stream: Stream, language: str, config: FisherConfig) -> NDArray[np.int64]:
    """Where the measured sequences of a text begin: consecutive pieces of one length, or a draw from them.

    A text shorter than one sequence is one sequence.
    """
    number = max((len(stream) - 1) // config.length, 1)
    starts = np.arange(number, dtype=np.int64) * config.length
    if config.max_sequences is not None and number > config.max_sequences:
        generator = np.random.default_rng([config.seed, *language.encode()])
        starts = np.sort(generator.choice(starts, config.max_sequences, replace=False))
    return starts


def _measure(
    trained: TrainedModel,
    stream: Stream,
    starts: NDArray[np.int64],
    language: str,
    config: FisherConfig,
    on_sequences: Callable[[int], None] | None,
) -> dict[str, Tensor]:
    """Sum of squared gradients over the sequences of one language."""
    length = min(config.length, len(stream) - 1)
    offsets = np.arange(length + 1, dtype=np.int64)[:, None]
    device = trained.model.embedding.device
    features = trained.features_of(language)
    total: dict[str, Tensor] = {}
    for first in range(0, len(starts), config.sequences_at_once):
        chosen = starts[first : first + config.sequences_at_once]
        ids = torch.from_numpy(stream[offsets + chosen].astype(np.int64)).to(device)
        squares = sum_squared_gradients(trained.model, ids, features, sequences_at_once=config.sequences_at_once)
        total = squares if not total else {name: total[name] + squares[name] for name in total}
        if on_sequences is not None:
            on_sequences(len(chosen))
    return total
