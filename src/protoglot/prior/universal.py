r"""The universal prior: the Laplace approximation of the posterior over weights, given the training languages.

:math:`p(w \mid D) \approx N(w^\star, -\tilde{H}^{-1})` with
:math:`\tilde{H} = -\mathrm{diag}(f) - I / \sigma^2` (§3.1, §3.2): the mean are the weights that training found,
and the precision of each weight is its Fisher information plus that of the Gaussian that training began with.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from protoglot.artefacts import HEADER, load_artefact, save_artefact
from protoglot.errors import StorageError
from protoglot.trained import TrainedModel, check_weights, parts_of, trained_from_parts

KIND = "prior"
_FISHER = "fisher"


@dataclass(frozen=True, slots=True, kw_only=True)
class UniversalPrior:
    """A Gaussian over the weights of a language model, with a diagonal precision."""

    mean: TrainedModel
    """The weights w*, and all that belongs to them."""

    fisher: Mapping[str, Tensor]
    """f of eq. (hes_loglik): a mean over languages of means over sequences, by name of the weight."""

    prior_variance: float
    """Sigma squared of the Gaussian that training began with."""

    num_sequences: Mapping[str, int]
    """Sequences of each training language that were measured."""

    def precision(self) -> dict[str, Tensor]:
        """The diagonal of -H~: f + 1 / sigma^2, by name of the weight."""
        return {name: values + 1 / self.prior_variance for name, values in self.fisher.items()}

    def signal_to_noise(self) -> dict[str, Tensor]:
        """Appendix B: absolute mean over standard deviation of each weight."""
        weights = dict(self.mean.model.named_parameters())
        return {
            name: weights[name].detach().abs() * precision.sqrt() for name, precision in self.precision().items()
        }

    def save(self, path: Path) -> None:
        """Write the prior as one directory of safetensors and JSON."""
        content, tensors = parts_of(self.mean)
        content["prior_variance"] = self.prior_variance
        content["num_sequences"] = dict(self.num_sequences)
        tensors[_FISHER] = {name: values.cpu().numpy() for name, values in self.fisher.items()}
        save_artefact(path, kind=KIND, content=content, tensors=tensors)

    @classmethod
    def load(cls, path: Path, *, device: str = "cpu") -> "UniversalPrior":
        """Read a prior that :meth:`save` wrote.

        Raises:
            StorageError: if it is damaged or something else.
        """
        content, tensors = load_artefact(path, kind=KIND)
        mean = trained_from_parts(content, tensors, path=path, device=device)
        file = path / f"{_FISHER}.safetensors"
        fisher = tensors.get(_FISHER, {})
        check_weights(mean.model, fisher, name=str(file))
        for name, values in fisher.items():
            if not np.isfinite(values).all() or (values < 0).any():
                raise StorageError(f"{file}: {name}: negative or not finite; wanted squares")
        variance, counts = content.get("prior_variance"), content.get("num_sequences")
        if (
            not isinstance(variance, float)
            or not variance > 0
            or math.isinf(variance)
            or not isinstance(counts, dict)
        ):
            raise StorageError(f"{path / HEADER}: damaged; wanted prior_variance and num_sequences")
        return cls(
            mean=mean,
            fisher={name: torch.tensor(values).to(device) for name, values in fisher.items()},
            prior_variance=variance,
            num_sequences=counts,
        )
