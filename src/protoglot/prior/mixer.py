r"""The universal mixer: how far to trust the network and the n-gram of each order, learned once for all languages.

A text is predicted by C components: the adapted network, and the n-gram of every order. Two ways to mix them:

* log-linear: :math:`p(c) \propto \prod_k p_k(c)^{w_k}`, with weights from a small gating network that sees how
  sure each component is (its entropy and its largest probability), how long a context the n-gram knows, and how
  much text there was to learn from;
* linear, the control: :math:`p(c) = \sum_k w_k \, p_k(c)`, with weights that depend on the length of the known
  context alone.

Nothing in either depends on which characters or which language: weights learned on some languages serve any other.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from protoglot.errors import StorageError


class Mixing(StrEnum):
    """How components are mixed."""

    LOG_LINEAR = "log-linear"
    LINEAR = "linear"


@dataclass(frozen=True, slots=True)
class Predictions:
    """What all components predict at N consecutive positions of a text."""

    log_probabilities: Tensor  # (N, C, V - 1), float32
    depth: Tensor  # (N,), length of the longest context that the n-gram knows
    num_characters: int  # that were learned from


class Mixer(nn.Module):
    """Weights of components.

    Args:
        mixing: how they are mixed.
        num_components: C, the network first, then the n-gram of orders 1, 2, ...
        hidden_size: units of the gating network, G; the linear mixer has none.
        seed: initial weights.
    """

    def __init__(
        self,
        mixing: Mixing,
        num_components: int,
        *,
        hidden_size: int = 32,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.mixing = mixing
        self.num_components = num_components
        self.hidden_size = hidden_size
        generator = torch.Generator().manual_seed(seed)
        if mixing is Mixing.LOG_LINEAR:
            num_inputs = 2 * num_components + num_components + 1  # order n knows contexts of 0 to n - 1 symbols
            self.hidden_weight = nn.Parameter(torch.empty(hidden_size, num_inputs))
            self.hidden_weight.data.normal_(0, num_inputs**-0.5, generator=generator)
            self.hidden_bias = nn.Parameter(torch.zeros(hidden_size))
            self.output_weight = nn.Parameter(torch.zeros(num_components, hidden_size))
            # softplus of this is 1 / C: the product of all powers starts as a geometric mean
            self.output_bias = nn.Parameter(
                torch.full((num_components,), math.log(math.expm1(1 / num_components)))
            )
        if mixing is Mixing.LINEAR:
            self.by_depth = nn.Parameter(torch.zeros(num_components, num_components))  # depth, component

    def forward(self, predictions: Predictions) -> Tensor:
        """Log-probabilities of the mixture, (N, V - 1), normalised."""
        parts = predictions.log_probabilities
        if self.mixing is Mixing.LINEAR:
            weights = F.log_softmax(self.by_depth, dim=1)[self._known(predictions.depth)]  # (N, C)
            return torch.logsumexp(parts + weights.unsqueeze(2), dim=1)
        place = self._place(predictions)
        weights = F.softplus(F.linear(place, self.output_weight, self.output_bias))  # (N, C), all positive
        scores = torch.einsum("nc,ncv->nv", weights, parts)
        return F.log_softmax(scores, dim=1)

    def nats(self, predictions: Predictions, targets: Tensor) -> Tensor:
        """Cost of the ids that came, given as positions in the distribution, (N,)."""
        return -self.forward(predictions).gather(1, targets.unsqueeze(1)).squeeze(1)

    def _place(self, predictions: Predictions) -> Tensor:
        """What the gating network sees of each position, (N, G)."""
        parts = predictions.log_probabilities
        with torch.no_grad():
            entropy = -(parts.exp() * parts).sum(dim=2)  # (N, C)
            largest = parts.amax(dim=2)
            depth = F.one_hot(self._known(predictions.depth), self.num_components).to(parts)
            amount = torch.full_like(entropy[:, :1], math.log10(max(predictions.num_characters, 1)) - 4)
            inputs = torch.cat([entropy / 2 - 1, largest + 1, depth, amount], dim=1)
        return torch.tanh(F.linear(inputs, self.hidden_weight, self.hidden_bias))

    def _known(self, depth: Tensor) -> Tensor:
        return depth.clamp(max=self.num_components - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class MixerFit:
    """How a mixer is learned."""

    num_epochs: int = 12
    learning_rate: float = 1e-2
    positions_at_once: int = 256
    weight_decay: float = 1e-3
    seed: int = 0


def fit_mixer(
    mixer: Mixer,
    examples: Sequence[tuple[Predictions, Tensor]],
    config: MixerFit | None = None,
    *,
    on_step: Callable[[int], None] | None = None,
) -> None:
    """Learn the weights of a mixer from texts of several languages, in place; each counts by its length.

    Args:
        mixer: any.
        examples: predictions of the components for a text, with the positions in them of the ids that came.
        config: settings.
        on_step: called with the number of positions read since the last call.
    """
    settings = config or MixerFit()
    optimizer = torch.optim.AdamW(
        mixer.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    generator = torch.Generator().manual_seed(settings.seed)
    pieces = [
        (number, first)
        for number, (_, targets) in enumerate(examples)
        for first in range(0, len(targets), settings.positions_at_once)
    ]
    num_steps = settings.num_epochs * len(pieces)
    step = 0
    for _ in range(settings.num_epochs):
        orders = [torch.randperm(len(targets), generator=generator) for _, targets in examples]
        for index in torch.randperm(len(pieces), generator=generator).tolist():
            number, first = pieces[index]
            predictions, targets = examples[number]
            chosen = orders[number][first : first + settings.positions_at_once]
            piece = Predictions(
                predictions.log_probabilities[chosen], predictions.depth[chosen], predictions.num_characters
            )
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * (1 - step / num_steps)
            optimizer.zero_grad()
            mixer.nats(piece, targets[chosen]).mean().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            step += 1
            if on_step is not None:
                on_step(len(chosen))


def mixer_parts(mixer: Mixer) -> tuple[dict[str, object], dict[str, NDArray[Any]]]:
    """A mixer as JSON values and arrays."""
    facts: dict[str, object] = {
        "mixing": str(mixer.mixing),
        "num_components": mixer.num_components,
        "hidden_size": mixer.hidden_size,
    }
    return facts, {name: weight.detach().cpu().numpy() for name, weight in mixer.named_parameters()}


def mixer_from_parts(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, name: str) -> Mixer:
    """The mixer that :func:`mixer_parts` took apart.

    Raises:
        StorageError: if something is missing or does not fit; ``name`` says where it was found.
    """
    try:
        sizes = {key: facts[key] for key in ("num_components", "hidden_size")}
        if not all(type(value) is int and 0 < value < 1000 for value in sizes.values()):
            raise ValueError(f"sizes {sizes}")
        mixer = Mixer(Mixing(facts["mixing"]), **sizes)
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(f"{name}: not a mixer ({error!r})") from error
    wanted = dict(mixer.named_parameters())
    if set(arrays) != set(wanted):
        raise StorageError(f"{name}: {', '.join(sorted(arrays))}; wanted {', '.join(sorted(wanted))}")
    with torch.no_grad():
        for key, parameter in wanted.items():
            values = arrays[key]
            if (
                values.shape != tuple(parameter.shape)
                or values.dtype != np.float32
                or not np.isfinite(values).all()
            ):
                raise StorageError(
                    f"{name}: {key}: {values.dtype} {values.shape}; wanted finite float32 {tuple(parameter.shape)}"
                )
            parameter.copy_(torch.tensor(values))
    return mixer
