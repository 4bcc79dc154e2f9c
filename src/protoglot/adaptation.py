"""Learning a new language from a few sentences, by maximum a posteriori (§3.3).

What the methods differ in is where the weights start, and the mean and the precision of the Gaussian prior.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from protoglot.adapted import AdaptedModel
from protoglot.batching import make_stream
from protoglot.model.config import Conditioning
from protoglot.model.network import LanguageModel
from protoglot.ngram import NGram, NGramConfig
from protoglot.prior.extending import extended_model, without_dropout
from protoglot.prior.fitting import Gaussian, fit
from protoglot.prior.methods import AdaptationConfig, Method
from protoglot.prior.universal import UniversalPrior
from protoglot.vocabulary import Vocabulary


def adapt(
    prior: UniversalPrior,
    sentences: Sequence[str],
    features: Tensor | None,
    config: AdaptationConfig,
    *,
    on_epoch: Callable[[int, float], None] | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> tuple[LanguageModel, Vocabulary]:
    """Learn a language from 0 or more sentences.

    Characters that the prior does not know get ids of their own behind the known ones (see
    :func:`protoglot.prior.extending.extended_model`). With no sentence the model is that of the prior's mean, exactly
    (NINF: a draw from N(0, I)).

    Args:
        prior: left as it was.
        sentences: text of the language.
        features: its typological vector, (K,); ``None`` for BARE.
        config: method and settings.
        on_epoch: called after each epoch with its number and the bits per character paid in it.
        on_progress: called after each step with the share of all steps that it was.

    Returns:
        The adapted model and its vocabulary.
    """
    vocabulary = prior.mean.vocabulary.extended(sentences)
    model = extended_model(prior.mean.model, vocabulary, dropout=config.dropout)
    if config.method is Method.NINF:
        model = uninformed_model(model, seed=config.seed) if sentences else draw_uninformative(model, config.seed)
    if not sentences or not config.num_epochs:
        return without_dropout(model), vocabulary
    fit(
        model,
        make_stream(sentences, vocabulary),
        features,
        config,
        gaussian=make_gaussian(prior, model, config),
        on_epoch=on_epoch,
        on_progress=on_progress,
    )
    return without_dropout(model), vocabulary


def learn_language(
    prior: UniversalPrior,
    sentences: Sequence[str],
    *,
    language: str = "",
    features: NDArray[np.float32] | None = None,
    config: AdaptationConfig | None = None,
    on_epoch: Callable[[int, int, float], None] | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> AdaptedModel:
    """Make a model of a language: an adapted network, and an n-gram of the same sentences that is no part of it.

    Without a sentence, the network is that of the prior, softened by its calibration.

    Args:
        prior: left as it was.
        sentences: 0 or more.
        language: code or name, to be kept with the model.
        features: typological vector, (K,); not needed for BARE.
        config: settings for a hundred sentences, to be fitted to the amount there is; by default those of the method
            that won on validation languages.
        on_epoch: called after each epoch with its number, the number of all, and the bits per character paid.
        on_progress: called after each step with the share of all steps that it was.

    Raises:
        ConfigError: for a prior that reads typology, without features.
    """
    tuned = prior.tuned
    chosen = config or prior.settings_for(tuned.best if tuned is not None else Method.FITU)
    num_characters = sum(len(sentence) + 1 for sentence in sentences)
    settings = chosen.for_amount(num_characters)
    vector = None if features is None else torch.tensor(features).to(prior.mean.model.embedding)
    network, vocabulary = adapt(
        prior,
        sentences,
        vector,
        settings,
        on_epoch=None if on_epoch is None else lambda number, bits: on_epoch(number, settings.num_epochs, bits),
        on_progress=on_progress,
    )
    ngram = None
    if sentences:
        counting = NGramConfig() if tuned is None else tuned.ngram
        ngram = NGram.train(sentences, vocabulary, order=counting.order, smoothing=counting.smoothing)
    calibration = tuned.calibration if tuned is not None and not sentences else None
    conditioned = prior.mean.model.config.conditioning is not Conditioning.BARE
    return AdaptedModel(
        network=network,
        vocabulary=vocabulary,
        features=features if conditioned else None,
        num_characters=num_characters,
        ngram=ngram,
        calibration=calibration,
        frequencies=None if calibration is None else prior.frequencies,
        language=language,
        provenance={"adaptation": settings.to_json(), "num_sentences": len(sentences)},
    )


def make_gaussian(prior: UniversalPrior, start: LanguageModel, config: AdaptationConfig) -> Gaussian | None:
    """The prior of a method over the weights of a model that starts from its mean; ``None`` for FITU.

    Raises:
        ConfigError: for HIER, if the spread over languages was not measured.
    """
    if config.method is Method.FITU:
        return None
    weights = {name: weight.detach().clone() for name, weight in start.named_parameters()}
    if config.method is Method.NINF:
        return Gaussian(
            {name: torch.zeros_like(weight) for name, weight in weights.items()},
            {name: torch.full_like(weight, config.strength) for name, weight in weights.items()},
        )
    if config.method is Method.HIER:
        precision, unit = prior.precision_over_languages(), 1.0
    else:
        precision, unit = prior.precision(), float(prior.num_training_sequences)
        if config.method is Method.L2_SP:
            precision = _levelled(precision)
    return Gaussian(
        weights,
        {
            name: _with_rows_for_new_characters(values * (config.strength * unit), weights[name])
            for name, values in precision.items()
        },
    )


def _levelled(precision: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same mean precision for all weights, so that one strength means one amount of prior for both methods."""
    total = sum(float(values.double().sum()) for values in precision.values())
    mean = total / sum(values.numel() for values in precision.values())
    return {name: torch.full_like(values, mean) for name, values in precision.items()}


def _with_rows_for_new_characters(precision: Tensor, weight: Tensor) -> Tensor:
    """Precisions of a weight that may have more rows: those, of which nothing is known, get the least of them."""
    rows = torch.full_like(weight, float(precision.min()))
    rows[: len(precision)] = precision
    return rows


def uninformed_model(model: LanguageModel, *, seed: int) -> LanguageModel:
    """A model of the same shape at initial weights: where few-shot NINF starts."""
    made = LanguageModel(
        model.config, vocabulary_size=model.vocabulary_size, num_features=model.num_features, seed=seed
    )
    return made.to(model.embedding)


@torch.no_grad()
def draw_uninformative(model: LanguageModel, seed: int) -> LanguageModel:
    """The model with all weights replaced by a draw from N(0, I): the paper's zero-shot NINF."""
    generator = torch.Generator().manual_seed(seed)
    for weight in model.parameters():
        weight.copy_(torch.randn(weight.shape, generator=generator))
    return model
