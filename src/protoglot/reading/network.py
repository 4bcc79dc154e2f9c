"""The scorer as a PyTorch module, for meta-training; inference uses :class:`protoglot.reading.scorer.Scorer`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from protoglot.errors import ConfigError
from protoglot.reading import candidates
from protoglot.reading.characters import NUM_CLASSES
from protoglot.reading.episodes import Episode
from protoglot.reading.kernel import ENTRY_FEATURES, NUM_CELLS, NUM_CONTEXTS, PLACE_FEATURES
from protoglot.reading.scorer import NUM_SPECIAL
from protoglot.reading.scoring import NUM_LETTERS

_IMPOSSIBLE = -1e9  # score of what is no candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerConfig:
    """Sizes of the scorer."""

    candidate_units: int = 64
    """H: units that look at each candidate, in two layers."""

    comparing_units: int = 32
    """Units that compare each candidate with all others."""

    place_units: int = 256
    """Units that look at the place, in two layers."""

    letter_units: int = 640
    """Units of the network of letters, in two layers."""

    letter_size: int = 40
    """Of the embedding of a letter."""

    language_size: int = 48
    """Of the summary of the letters met so far."""

    output_size: int = 64
    """Of the embedding of a letter as a candidate."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigError(f"scorer.{name}: {value!r}; wanted a whole number from 1")


class _Candidates(torch.autograd.Function):
    """Scores of all candidates, by compiled code (see :mod:`protoglot.reading.candidates`)."""

    @staticmethod
    def forward(ctx: Any, episode: Episode, extra: Tensor, *weights: Tensor) -> Tensor:  # noqa: ANN401
        batch = episode.batch
        arrays = [weight.detach().contiguous().numpy() for weight in weights]
        score = np.full(batch.base.shape, _IMPOSSIBLE, np.float32)
        ctx.evidence = (
            batch.pointer, batch.row, batch.context, batch.cell, batch.entry, batch.base, episode.num_candidates,
            episode.kinds,
        )  # fmt: skip
        ctx.arrays = arrays
        forward: Any = candidates.forward
        ctx.extra = extra.detach().contiguous().numpy()
        forward(*ctx.evidence, *arrays, ctx.extra, score)
        return torch.from_numpy(score)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:  # noqa: ANN401
        found = [np.zeros_like(array) for array in ctx.arrays]
        of_extra = np.zeros_like(ctx.extra)
        backward: Any = candidates.backward
        backward(*ctx.evidence, *ctx.arrays, ctx.extra, gradients[0].contiguous().numpy(), *found, of_extra)
        return (None, torch.from_numpy(of_extra), *map(torch.from_numpy, found))


class ScorerNetwork(nn.Module):
    """From evidence to scores, differentiably. Parameters have the names of the weights of a ``Scorer``.

    Args:
        config: sizes.
        num_known: letters that the network of letters knows.
        seed: of the first weights.
    """

    def __init__(self, config: ScorerConfig, num_known: int, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        generator = torch.Generator().manual_seed(seed)
        h, z, units = config.candidate_units, config.place_units, config.letter_units
        num_letters = num_known + NUM_SPECIAL
        num_out = 2 * NUM_CONTEXTS + 1 + 2 * h

        def normal(*shape: int, scale: float) -> nn.Parameter:
            return nn.Parameter(torch.randn(*shape, generator=generator) * scale)

        def linear(inputs: int, outputs: int, *, fan_in: int | None = None) -> nn.Parameter:
            bound = (fan_in or inputs) ** -0.5
            return nn.Parameter((torch.rand(inputs, outputs, generator=generator) * 2 - 1) * bound)

        def zeros(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.zeros(*shape))

        self.W = normal(NUM_CONTEXTS, ENTRY_FEATURES, h, scale=0.05)
        self.S = zeros(NUM_CONTEXTS * NUM_CELLS, h)
        self.wb = normal(h, scale=0.1)
        self.C = normal(NUM_CLASSES + 1, h, scale=0.1)
        self.W2, self.b2 = linear(h, h), zeros(h)
        self.v2 = normal(h, scale=0.05)
        m = config.comparing_units
        self.W3, self.U3 = linear(h, m), linear(h, m)
        self.u3, self.b3, self.v3 = normal(m, scale=0.3), zeros(m), zeros(m)
        self.P1, self.p1_bias = linear(PLACE_FEATURES, z), zeros(z)
        self.P1_flag = zeros(z)
        self.P2, self.p2_bias = linear(z, z), zeros(z)
        self.Po = normal(z, num_out, scale=0.01)
        po_bias = torch.zeros(num_out)
        po_bias[:NUM_CONTEXTS] = -2.0  # the chain of orders alone is a good beginning
        po_bias[NUM_CONTEXTS] = 0.5
        self.po_bias = nn.Parameter(po_bias)
        self.Kinds, self.kinds_bias = zeros(z, NUM_CLASSES + 1), zeros(NUM_CLASSES + 1)
        self.letters = normal(num_letters, config.letter_size, scale=0.3)
        self.classes = normal(NUM_CLASSES + 1, config.letter_size, scale=0.3)
        self.language = normal(num_letters, config.language_size, scale=0.1)
        self.Lu = linear(config.language_size, units)
        self.Lx = linear(config.letter_size, units)
        self.L1, self.l1_bias = linear(NUM_LETTERS * config.letter_size, units), zeros(units)
        self.L2, self.l2_bias = linear(units, units), zeros(units)
        self.Lp, self.lp_bias = linear(units, z), zeros(z)
        self.Lo, self.lo_bias = linear(units, config.output_size), zeros(config.output_size)
        self.O, self.o_bias = normal(num_letters, config.output_size, scale=0.05), zeros(num_letters)
        self.gate, self.gate_bias = zeros(z, 1), zeros(1)

    def forward(self, episode: Episode) -> Tensor:
        """Scores of all candidates at the positions of an episode, (P, V + 1)."""
        batch = episode.batch
        h = self.config.candidate_units
        z = torch.from_numpy(batch.place) @ self.P1 + self.p1_bias  # (P, Z)
        hidden = None
        letters = torch.from_numpy(episode.letters)
        if episode.with_letters:
            with torch.set_grad_enabled(episode.trains_letters and torch.is_grad_enabled()):
                hidden = self._letters(episode, letters)
                shift = hidden @ self.Lp + self.lp_bias
            z = z + self.P1_flag + shift
        z = F.relu(z)
        z = F.relu(z @ self.P2 + self.p2_bias) + z
        out = z @ self.Po + self.po_bias
        weights, scale, beta, gamma, gates = torch.split(out, [NUM_CONTEXTS, 1, h, h, NUM_CONTEXTS], dim=1)
        extra = (z @ self.Kinds + self.kinds_bias)[:, torch.from_numpy(episode.kinds)]  # (P, V + 1)
        if hidden is not None:
            with torch.set_grad_enabled(episode.trains_letters and torch.is_grad_enabled()):
                said = (hidden @ self.Lo + self.lo_bias) @ self.O[letters].T + self.o_bias[letters]
            extra = extra + torch.exp(z @ self.gate + self.gate_bias) * said
        scores: Tensor = _Candidates.apply(  # type: ignore[no-untyped-call]
            episode, extra, self.W, self.S, self.wb, self.C, self.W2, self.b2, self.v2,
            self.W3, self.U3, self.u3, self.b3, self.v3,
            beta, 1 + gamma, F.softplus(weights), F.softplus(scale[:, 0]), 1 + gates,
        )  # fmt: skip
        return scores

    def _letters(self, episode: Episode, letters: Tensor) -> Tensor:
        language = torch.from_numpy(episode.unigrams) @ self.language[letters]
        seen = self.letters[torch.from_numpy(episode.last_letters)]
        seen = seen + self.classes[torch.from_numpy(episode.last_kinds)]  # (P, 16, E)
        # What the counts expect: the mean embedding of the next letter under the chain.
        expected = torch.exp(torch.from_numpy(episode.batch.base)) @ self.letters[letters]  # (P, E)
        first = F.relu(seen.flatten(1) @ self.L1 + self.l1_bias + language @ self.Lu + expected @ self.Lx)
        return F.relu(first @ self.L2 + self.l2_bias) + first

    def log_loss(self, episode: Episode) -> Tensor:
        """Nats of what came at each position, first occurrences unnamed, (P,)."""
        return F.cross_entropy(self(episode), torch.from_numpy(episode.batch.target), reduction="none")

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """The weights as a ``Scorer`` takes them."""
        return {name: weight.detach().numpy().copy() for name, weight in self.named_parameters()}

    def load_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over the weights of a ``Scorer``; all of them, in their very shapes.

        Raises:
            ConfigError: if one has another shape.
        """
        for name, weight in self.named_parameters():
            if arrays[name].shape != weight.shape:
                found, wanted = tuple(arrays[name].shape), tuple(weight.shape)
                raise ConfigError(f"scorer: weight {name} has shape {found}; wanted {wanted}, by the settings")
        self.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in arrays.items()})
