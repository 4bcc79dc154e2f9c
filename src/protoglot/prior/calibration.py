r"""Zero-shot scores of a model that is less sure of itself.

A model trained for long on some languages becomes sure of their letters, and pays dearly for those of another. Two
numbers make it humbler: :math:`p(c) \propto (1 - a) \, p_T(c) + a \, u(c)`, where :math:`p_T` is the model at a
temperature T and u a broad distribution over characters: how often each occurs in the training languages, on
average, with a share for all others. They are fitted on validation languages, which the model has not seen either.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from protoglot.batching import Stream
from protoglot.errors import ConfigError
from protoglot.model.network import NUM_UNPREDICTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How a model's zero-shot predictions are softened."""

    temperature: float = 1.0
    """T: above 1, less sure."""

    broad_share: float = 0.0
    """a: weight of the broad distribution."""

    even_share: float = 0.1
    """Share of the broad distribution that is the same for all characters."""

    def __post_init__(self) -> None:
        if not (self.temperature > 0 and math.isfinite(self.temperature)):
            raise ConfigError(f"calibration.temperature: {self.temperature}; wanted a number above 0")
        for name in ("broad_share", "even_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"calibration.{name}: {getattr(self, name)}; wanted a share from 0 to 1")

    def log_probabilities(self, logits: Tensor, frequencies: Tensor, weight: Tensor | None = None) -> Tensor:
        """Log-probabilities of all ids that can be predicted.

        Args:
            logits: of the model, (..., V - 1).
            frequencies: mean relative frequencies of the ids in the training languages, (V - 1,).
            weight: how much of the calibration is wanted, from 0 to 1, (..., 1); all of it by default.
        """
        temperature, broad, even = torch.tensor([self.temperature, self.broad_share, self.even_share]).to(logits)
        if weight is not None:
            temperature, broad = temperature**weight, broad * weight
        if self.broad_share == 0:
            return F.log_softmax(logits / temperature, dim=-1)
        return _soften(logits, frequencies, temperature, broad, even)


def mean_frequencies(streams: Mapping[str, Stream], vocabulary_size: int) -> NDArray[np.float32]:
    """Relative frequencies of the ids that can be predicted, averaged over languages, (V - 1,)."""
    counts = [np.bincount(stream[1:], minlength=vocabulary_size)[NUM_UNPREDICTED:] for stream in streams.values()]
    mean: NDArray[np.float64] = np.mean([count / count.sum() for count in counts], axis=0)
    return mean.astype(np.float32)


def fit_calibration(
    examples: Sequence[tuple[Tensor, Tensor]], frequencies: Tensor, *, num_steps: int = 150
) -> Calibration:
    """The calibration that makes some texts cheapest; each counts equally.

    Args:
        examples: logits of a model along a text, (N, V - 1), and the positions of the ids that came, (N,).
        frequencies: as for :meth:`Calibration.log_probabilities`.
        num_steps: of Adam.
    """
    free = nn.Parameter(torch.tensor([0.0, -1.0, -2.0]))  # log T, and logits of the two shares
    optimizer = torch.optim.Adam([free], lr=0.1)

    def values() -> tuple[Tensor, Tensor, Tensor]:
        return free[0].exp(), torch.sigmoid(free[1]), torch.sigmoid(free[2])

    for _ in range(num_steps):
        optimizer.zero_grad()
        for logits, targets in examples:
            costs = -_soften(logits, frequencies, *values()).gather(1, targets.unsqueeze(1))
            (costs.mean() / len(examples)).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    temperature, broad, even = (float(value.detach()) for value in values())
    return Calibration(temperature=temperature, broad_share=broad, even_share=even)


def _soften(
    logits: Tensor, frequencies: Tensor, temperature: Tensor, broad_share: Tensor, even_share: Tensor
) -> Tensor:
    broad = (1 - even_share) * frequencies + even_share / len(frequencies)
    model = F.log_softmax(logits / temperature, dim=-1)
    return torch.logaddexp(model + torch.log1p(-broad_share), broad.log() + broad_share.log())
