r"""The universal prior: the Laplace approximation of the posterior over weights, given the training languages.

:math:`p(w \mid D) \approx N(w^\star, -\tilde{H}^{-1})` with
:math:`\tilde{H} = -\mathrm{diag}(f) - I / \sigma^2` (§3.1, §3.2): the mean are the weights that training found,
and the precision of each weight is its Fisher information plus that of the Gaussian that training began with.

The Fisher information is an average over sequences, so the Gaussian enters with its share of one sequence:
:math:`\sigma^2` is the variance of the Gaussian times the number N of sequences in training. Then
:math:`N (f + 1 / \sigma^2)` is the precision of the posterior of all of them, and a lambda of N is plain Bayesian
updating.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from protoglot.artefacts import HEADER, load_artefact, refuse_former_parts, save_artefact
from protoglot.errors import ConfigError, StorageError
from protoglot.model.network import NUM_UNPREDICTED
from protoglot.ngram import NGramConfig
from protoglot.prior.calibration import Calibration
from protoglot.prior.methods import AdaptationConfig, Method
from protoglot.prior.packing import pack_means, pack_scales, unpack_means, unpack_scales
from protoglot.trained import TrainedModel, check_weights, parts_of, trained_from_parts

KIND = "prior"
_FISHER = "fisher"
_SPREAD = "spread"
_FREQUENCIES = "frequencies"
_WEIGHTS = "weights"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """What was chosen and learned on the validation languages, for use on any other."""

    best: Method
    """The method that won."""

    methods: Mapping[Method, AdaptationConfig]
    """The best settings of each method that was searched."""

    ngram: NGramConfig
    """The best n-gram."""

    calibration: Calibration | None = None
    """For a language without any text."""

    trials: tuple[Mapping[str, object], ...] = ()
    """All that was tried, with its scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UniversalPrior:
    """A Gaussian over the weights of a language model, with a diagonal precision."""

    mean: TrainedModel
    """The weights w*, and all that belongs to them."""

    fisher: Mapping[str, Tensor]
    """f of eq. (hes_loglik): a mean over languages of means over sequences, by name of the weight."""

    prior_variance: float
    """Sigma squared: variance of the Gaussian that training began with, times the sequences of training."""

    num_training_sequences: int
    """N: sequences in the training text of all training languages."""

    num_sequences: Mapping[str, int]
    """Sequences of each training language that were measured."""

    frequencies: NDArray[np.float32]
    """How often each id that can be predicted occurs in the training languages, on average, (V - 1,)."""

    spread: Mapping[str, Tensor] | None = None
    """Variance of the weights across languages (see :mod:`protoglot.prior.spread`), by name of the weight."""

    tuned: Tuned | None = None
    """Settings that were found on validation languages."""

    def precision(self) -> dict[str, Tensor]:
        """The diagonal of -H~: f + 1 / sigma^2, by name of the weight."""
        return {name: values + 1 / self.prior_variance for name, values in self.fisher.items()}

    def precision_over_languages(self) -> dict[str, Tensor]:
        """One over the variance across languages, by name of the weight.

        Raises:
            ConfigError: if it was not measured.
        """
        if self.spread is None:
            raise ConfigError("the prior has no spread over languages, which hier needs; wanted one made with it")
        return {name: 1 / values for name, values in self.spread.items()}

    def signal_to_noise(self) -> dict[str, Tensor]:
        """Appendix B: absolute mean over standard deviation of each weight."""
        weights = dict(self.mean.model.named_parameters())
        return {
            name: weights[name].detach().abs() * precision.sqrt() for name, precision in self.precision().items()
        }

    def settings_for(self, method: Method) -> AdaptationConfig:
        """The settings of a method that were found best on the validation languages, or its defaults."""
        if self.tuned is not None and method in self.tuned.methods:
            return self.tuned.methods[method]
        return AdaptationConfig(method=method)

    def save(self, path: Path, *, packed: bool = False) -> None:
        """Write the prior as one directory of safetensors and JSON.

        Args:
            path: directory to make.
            packed: means and precisions rounded, in a quarter of their space (see
                :mod:`protoglot.prior.packing`).
        """
        content, tensors = parts_of(self.mean)
        content["prior_variance"] = self.prior_variance
        content["num_training_sequences"] = self.num_training_sequences
        content["num_sequences"] = dict(self.num_sequences)
        tensors[_FISHER] = {name: values.cpu().numpy() for name, values in self.fisher.items()}
        tensors[_FREQUENCIES] = {_FREQUENCIES: self.frequencies}
        if self.spread is not None:
            tensors[_SPREAD] = {name: values.cpu().numpy() for name, values in self.spread.items()}
        content["tuned"] = None if self.tuned is None else _tuned_parts(self.tuned)
        content["packed"] = _pack(tensors) if packed else None
        save_artefact(path, kind=KIND, content=content, tensors=tensors)

    @classmethod
    def load(cls, path: Path, *, device: str = "cpu") -> "UniversalPrior":
        """Read a prior that :meth:`save` wrote.

        Raises:
            StorageError: if it is damaged or something else.
        """
        content, tensors = load_artefact(path, kind=KIND)
        refuse_former_parts(content, name=str(path / HEADER))
        if content.get("packed") is not None:
            _unpack(tensors, content["packed"], name=str(path / HEADER))
        mean = trained_from_parts(content, tensors, path=path, device=device)
        file = path / f"{_FISHER}.safetensors"
        fisher = tensors.get(_FISHER, {})
        check_weights(mean.model, fisher, name=str(file))
        _check_values(fisher, least=0.0, file=file, wanted="squares")
        spread = tensors.get(_SPREAD)
        if spread is not None:
            check_weights(mean.model, spread, name=str(path / f"{_SPREAD}.safetensors"))
            _check_values(spread, least=1e-30, file=path / f"{_SPREAD}.safetensors", wanted="variances above 0")
        variance, counts = content.get("prior_variance"), content.get("num_sequences")
        number = content.get("num_training_sequences")
        frequencies = tensors.get(_FREQUENCIES, {}).get(_FREQUENCIES)
        if (
            not isinstance(variance, float)
            or not variance > 0
            or math.isinf(variance)
            or not isinstance(counts, dict)
            or type(number) is not int
            or number < 1
            or frequencies is None
            or frequencies.shape != (len(mean.vocabulary) - NUM_UNPREDICTED,)
        ):
            raise StorageError(
                f"{path / HEADER}: damaged; wanted prior_variance, num_training_sequences, num_sequences and "
                "frequencies"
            )
        tuned = content.get("tuned")
        chosen = None if tuned is None else _tuned_from_parts(tuned, name=str(path / HEADER))
        return cls(
            mean=mean,
            fisher={name: torch.tensor(values).to(device) for name, values in fisher.items()},
            prior_variance=variance,
            num_training_sequences=number,
            num_sequences=counts,
            frequencies=frequencies.astype(np.float32),
            spread=None
            if spread is None
            else {name: torch.tensor(values).to(device) for name, values in spread.items()},
            tuned=chosen,
        )


def _pack(tensors: dict[str, Mapping[str, NDArray[Any]]]) -> dict[str, object]:
    """Pack means and scales in place; returns what unpacking needs to know."""
    tensors[_WEIGHTS] = pack_means(tensors[_WEIGHTS])
    ranges: dict[str, object] = {}
    for part in (_FISHER, _SPREAD):
        if part in tensors:
            tensors[part], ranges[part] = pack_scales(tensors[part])
    return ranges


def _unpack(tensors: dict[str, dict[str, NDArray[Any]]], ranges: object, *, name: str) -> None:
    """Undo :func:`_pack` in place."""
    if not isinstance(ranges, dict) or not set(ranges) <= {_FISHER, _SPREAD} or _WEIGHTS not in tensors:
        raise StorageError(f"{name}: damaged; wanted the ranges of packed tensors")
    tensors[_WEIGHTS] = {**unpack_means(tensors[_WEIGHTS])}
    for part, found in ranges.items():
        tensors[part] = {**unpack_scales(tensors.get(part, {}), found, name=name)}


def _check_values(arrays: Mapping[str, NDArray[Any]], *, least: float, file: Path, wanted: str) -> None:
    for name, values in arrays.items():
        if not np.isfinite(values).all() or (values < least).any():
            raise StorageError(f"{file}: {name}: too small or not finite; wanted {wanted}")


def _tuned_parts(tuned: Tuned) -> dict[str, object]:
    """What was tuned as JSON values."""
    return {
        "best": str(tuned.best),
        "methods": [config.to_json() for config in tuned.methods.values()],
        "ngram": tuned.ngram.to_json(),
        "calibration": None if tuned.calibration is None else asdict(tuned.calibration),
        "trials": [dict(trial) for trial in tuned.trials],
    }


def _tuned_from_parts(content: Mapping[str, Any], *, name: str) -> Tuned:
    try:
        methods = [AdaptationConfig.from_json(entry, name=name) for entry in content["methods"]]
        return Tuned(
            best=Method(content["best"]),
            methods={config.method: config for config in methods},
            ngram=NGramConfig.from_json(content["ngram"], name=name),
            calibration=None if content["calibration"] is None else Calibration(**content["calibration"]),
            trials=tuple(content["trials"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StorageError(f"{name}: damaged settings of adaptation ({error!r})") from error
    except ConfigError as error:
        raise StorageError(str(error)) from error
