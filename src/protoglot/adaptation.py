r"""Learning a new language from a few sentences, by maximum a posteriori (§3.3).

The objective is the log-likelihood of the sentences plus that of the weights under a Gaussian, eq. (map), (ninf):

.. math:: \log p(D_\ell \mid w) - \frac{\lambda}{2} \sum_i q_i (w_i - m_i)^2

What the methods differ in is where the weights start, the mean m and the precision q of the Gaussian.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import torch
from torch import Tensor

from protoglot.batching import BatchingConfig, make_stream, plan_epoch
from protoglot.errors import ConfigError
from protoglot.model.network import LanguageModel
from protoglot.prior.universal import UniversalPrior
from protoglot.vocabulary import Vocabulary

_LANGUAGE = "sample"
_EPSILON = 1e-8  # of Adam


class Method(StrEnum):
    """Which prior a new language is learned with."""

    NINF = "ninf"
    """Uninformative: random initial weights, mean 0, precision 1. Knows nothing of other languages."""

    FITU = "fitu"
    """Fine-tuning: starts from w*, with no prior to hold it there."""

    UNIV = "univ"
    """Universal: starts from w*, mean w*, and the precision of the Laplace approximation."""

    L2_SP = "l2-sp"
    """Starts from w*, mean w*, precision 1 for every weight (Duong et al. 2015): UNIV without the Fisher."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptationConfig:
    """How a new language is learned."""

    method: Method = Method.UNIV
    """Which prior."""

    strength: float = 1e5
    """Lambda of eq. (map). With log-likelihoods summed and the Fisher averaged over sequences, plain Bayesian
    updating is as many as there were sequences in training. Not used by FITU."""

    learning_rate: float = 2e-3
    """Of Adam; falls linearly to zero."""

    num_epochs: int = 25
    """Times that the sentences are read, as at most in the paper."""

    dropout: float = 0.0
    """Variational dropout on embeddings, between layers and before the softmax."""

    batch_size: int = 16
    """Sequences in a mini-batch."""

    length: float = 96.0
    """Mean length of the sequences, in characters."""

    max_gradient_norm: float = 1.0
    """Gradients of the log-likelihood are scaled down to this norm."""

    seed: int = 0
    """Of batches, dropout, and NINF's initial weights."""

    def __post_init__(self) -> None:
        if not self.strength >= 0:
            raise ConfigError(f"adaptation.strength: {self.strength}; wanted a number from 0")
        if self.num_epochs < 0:
            raise ConfigError(f"adaptation.num_epochs: {self.num_epochs}; wanted a whole number from 0")
        for name in ("learning_rate", "max_gradient_norm"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"adaptation.{name}: {getattr(self, name)}; wanted more than 0")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"adaptation.dropout: {self.dropout}; wanted a share from 0 to below 1")


@dataclass(frozen=True, slots=True)
class Gaussian:
    """A prior over weights with a diagonal precision, by name of the weight."""

    mean: Mapping[str, Tensor]
    precision: Mapping[str, Tensor]


def adapt(
    prior: UniversalPrior,
    sentences: Sequence[str],
    features: Tensor | None,
    config: AdaptationConfig,
    *,
    on_epoch: Callable[[int, float], None] | None = None,
) -> tuple[LanguageModel, Vocabulary]:
    """Learn a language from 0 or more sentences.

    Characters that the prior does not know get ids of their own behind the known ones; their embeddings start at
    the mean of all. With no sentence the model is that of the prior's mean, exactly (NINF: a draw from N(0, I)).

    Args:
        prior: left as it was.
        sentences: text of the language.
        features: its typological vector, (K,); ``None`` for BARE.
        config: method and settings.
        on_epoch: called after each epoch with its number and the bits per character paid in it.

    Returns:
        The adapted model and its vocabulary.
    """
    vocabulary = prior.mean.vocabulary.extended(sentences)
    model = extended_model(prior.mean.model, vocabulary, dropout=config.dropout)
    if config.method is Method.NINF:
        model = uninformed_model(model, seed=config.seed) if sentences else draw_uninformative(model, config.seed)
    if not sentences or not config.num_epochs:
        return without_dropout(model), vocabulary
    gaussian = make_gaussian(prior, model, config.method)
    stream = make_stream(sentences, vocabulary)
    num_characters = len(stream) - 1
    batching = BatchingConfig(
        batch_size=config.batch_size, mean_length=min(config.length, num_characters), length_deviation=0.0
    )
    plans = [
        plan_epoch({_LANGUAGE: num_characters}, batching, seed=config.seed, epoch=epoch)
        for epoch in range(config.num_epochs)
    ]
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, eps=_EPSILON)
    num_steps = sum(len(plan) for plan in plans)
    step = 0
    for epoch, plan in enumerate(plans):
        total = 0.0
        for batch in plan:
            rate = config.learning_rate * (1 - step / num_steps)
            ids = torch.from_numpy(batch.ids({_LANGUAGE: stream})).to(model.embedding.device)
            generator = torch.Generator(device=ids.device).manual_seed(config.seed * 1_000_003 + step)
            nats, _ = model.nats(ids[:-1], ids[1:], features, generator=generator)
            optimizer.zero_grad()
            nats.mean().backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), config.max_gradient_norm)
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
            if gaussian is not None:
                pull_towards_mean(model, optimizer, gaussian, strength=config.strength / num_characters, rate=rate)
            total += float(nats.detach().sum())
            step += 1
        if on_epoch is not None:
            on_epoch(epoch + 1, total / num_characters / math.log(2))
    return without_dropout(model), vocabulary


@torch.no_grad()
def pull_towards_mean(
    model: LanguageModel, optimizer: torch.optim.Adam, gaussian: Gaussian, *, strength: float, rate: float
) -> None:
    r"""The prior's part of a step, taken exactly rather than along its gradient.

    Where Adam has moved along the gradient of the likelihood with the rate :math:`\eta_i` for weight i, this
    solves :math:`\min_w \frac{1}{2 \eta_i} (w - w_i)^2 + \frac{s q_i}{2} (w - m_i)^2`: the deviation from the mean
    shrinks by :math:`1 / (1 + \eta_i s q_i)`. It has the same fixed points as the gradient and is stable for any
    strength: a huge one returns the mean.

    Args:
        model: in place.
        optimizer: that has just taken a step.
        gaussian: the prior.
        strength: lambda over the number of characters, as the likelihood is taken per character.
        rate: learning rate of the step.
    """
    beta = optimizer.param_groups[0]["betas"][1]
    for name, weight in model.named_parameters():
        state = optimizer.state[weight]
        scale = (state["exp_avg_sq"] / (1 - beta ** float(state["step"]))).sqrt_().add_(_EPSILON)
        shrink = 1 / (1 + rate / scale * strength * gaussian.precision[name])
        weight.lerp_(gaussian.mean[name], 1 - shrink)  # exact at both ends: no pull, and nothing but pull


def make_gaussian(prior: UniversalPrior, start: LanguageModel, method: Method) -> Gaussian | None:
    """The prior of a method over the weights of a model that starts from its mean; ``None`` for FITU.

    Rows of characters that the universal prior does not know have no Fisher information: they are free to move.
    """
    weights = {name: weight.detach().clone() for name, weight in start.named_parameters()}
    ones = {name: torch.ones_like(weight) for name, weight in weights.items()}
    if method is Method.FITU:
        return None
    if method is Method.NINF:
        return Gaussian({name: torch.zeros_like(weight) for name, weight in weights.items()}, ones)
    if method is Method.L2_SP:
        return Gaussian(weights, ones)
    precision = {}
    for name, values in prior.precision().items():
        precision[name] = torch.full_like(weights[name], 1 / prior.prior_variance)
        precision[name][: len(values)] = values
    return Gaussian(weights, precision)


@torch.no_grad()
def extended_model(model: LanguageModel, vocabulary: Vocabulary, *, dropout: float) -> LanguageModel:
    """A copy of a model for a vocabulary that extends its own, with other dropout.

    New characters start with the mean embedding, and as rare as the rarest that is known.
    """
    config = replace(
        model.config,
        embedding_dropout=dropout,
        hidden_dropout=dropout,
        output_dropout=dropout,
        recurrent_dropconnect=0.0,
    )
    made = LanguageModel(config, vocabulary_size=len(vocabulary), num_features=model.num_features)
    made = made.to(model.embedding)
    known = model.vocabulary_size
    old = dict(model.named_parameters())
    for name, weight in made.named_parameters():
        if name == "embedding":
            weight[:known], weight[known:] = old[name], old[name].mean(dim=0)
        elif name == "output_bias":
            weight[:known], weight[known:] = old[name], old[name].min()
        else:
            weight.copy_(old[name])
    return made


def without_dropout(model: LanguageModel) -> LanguageModel:
    """The model with all dropout rates at zero, as it is used."""
    model.config = replace(
        model.config, embedding_dropout=0.0, hidden_dropout=0.0, output_dropout=0.0, recurrent_dropconnect=0.0
    )
    return model


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
