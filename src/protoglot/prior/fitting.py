r"""Fitting weights to one text under a Gaussian prior: the loop behind all ways of adapting.

The objective is the log-likelihood of the text plus that of the weights, eq. (map) and (ninf):

.. math:: \log p(D_\ell \mid w) - \frac{\lambda}{2} \sum_i q_i (w_i - m_i)^2
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from protoglot.batching import BatchingConfig, Stream, plan_epoch
from protoglot.errors import TrainingError
from protoglot.model.network import LanguageModel
from protoglot.prior.methods import AdaptationConfig

_LANGUAGE = "sample"
EPSILON = 1e-8
"""Of Adam."""


@dataclass(frozen=True, slots=True)
class Gaussian:
    """A prior over weights with a diagonal precision, by name of the weight."""

    mean: Mapping[str, Tensor]
    precision: Mapping[str, Tensor]
    """Lambda times q."""


def fit(
    model: LanguageModel,
    stream: Stream,
    features: Tensor | None,
    config: AdaptationConfig,
    *,
    gaussian: Gaussian | None = None,
    on_epoch: Callable[[int, float], None] | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> None:
    """Fit a model to a text, in place.

    Args:
        model: at the weights to start from.
        stream: the text.
        features: typological vector of its language, (K,); ``None`` for BARE.
        config: settings; its dropout must be in the model already.
        gaussian: prior over the weights; ``None`` for none.
        on_epoch: called after each epoch with its number and the bits per character paid in it.
        on_progress: called after each step with the share of all steps that it was.

    Raises:
        TrainingError: if the loss, a gradient or, at the end, a weight is not finite.
    """
    num_characters = len(stream) - 1
    batching = BatchingConfig(
        batch_size=config.batch_size, mean_length=min(config.length, num_characters), length_deviation=0.0
    )
    plans = [
        plan_epoch({_LANGUAGE: num_characters}, batching, seed=config.seed, epoch=epoch)
        for epoch in range(config.num_epochs)
    ]
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, eps=EPSILON, fused=True)
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
            norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), config.max_gradient_norm))
            paid = float(nats.detach().sum())
            if not math.isfinite(paid) or not math.isfinite(norm):
                raise TrainingError(
                    f"adaptation, epoch {epoch + 1}: loss {paid:g} nats, gradient norm {norm:g}; wanted finite numbers "
                    f"(a learning rate below {config.learning_rate:g} may help)"
                )
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
            if gaussian is not None:
                pull_towards_mean(model, optimizer, gaussian, strength=1 / num_characters)
            total += paid
            step += 1
            if on_progress is not None:
                on_progress(1 / num_steps)
        if on_epoch is not None:
            on_epoch(epoch + 1, total / num_characters / math.log(2))
    if not all(bool(weight.isfinite().all()) for weight in model.parameters()):
        raise TrainingError(
            f"adaptation: weights that are not finite after {step} steps; wanted finite ones (a learning rate below "
            f"{config.learning_rate:g} may help)"
        )


@torch.no_grad()
def pull_towards_mean(
    model: LanguageModel, optimizer: torch.optim.Adam, gaussian: Gaussian, *, strength: float
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
        strength: of the prior in this step; one over the number of characters where the likelihood is taken per
            character.
    """
    (group,) = optimizer.param_groups
    for name, weight in model.named_parameters():
        state = optimizer.state[weight]
        squares = state["exp_avg_sq"] / (1 - group["betas"][1] ** float(state["step"]))
        scale = squares.sqrt_().add_(group["eps"])
        shrink = 1 / (1 + group["lr"] / scale * strength * gaussian.precision[name])
        weight.lerp_(gaussian.mean[name], 1 - shrink)  # exact at both ends: no pull, and nothing but pull
