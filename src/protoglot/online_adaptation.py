r"""Online MAP: a network that goes on learning from a text while it reads it, held by the universal prior.

Dynamic evaluation (Krause et al. 2018, "Dynamic evaluation of neural sequence models", and 2019, of Transformers) takes
a gradient step on every few characters that were read, and lets the weights decay towards those of training, each as
fast as its gradients were large there. That decay is a diagonal Gaussian prior by another name. Here it is the prior
itself: the mean is w*, the precision that of the Laplace approximation, as in :mod:`protoglot.adaptation`.

A text is read as one stream, and the state is never reset. After every K characters :math:`x_{n-K+1} \dots x_n`, with
:math:`\eta_i` the step size that Adam gives weight i and :math:`g` the gradient

.. math:: g = -\frac{1}{K} \nabla_w \sum_{t=n-K+1}^{n} \log p(x_t \mid x_{<t}, w)

1. :math:`w' = w - \eta \, \hat{g}`, a step of Adam (:math:`\hat{g}`: its estimate of the mean gradient);
2. :math:`w_i \leftarrow \arg\min_v \frac{1}{2 \eta_i} (v - w'_i)^2 + \frac{\lambda q_i}{2 n} (v - w^\star_i)^2`,
   the pull of the prior, taken exactly (:func:`protoglot.prior.fitting.pull_towards_mean`).

Both follow eq. (map) for the n characters read so far, divided by n: the more was read, the less the prior says. For
the same reason the rate of Adam falls with n. Every character is scored before the step that learns from it, softened
by the zero-shot calibration of the prior (:mod:`protoglot.prior.calibration`), which fades with n as well.
"""

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from protoglot.adaptation import make_gaussian
from protoglot.errors import ConfigError, TrainingError
from protoglot.model.network import NUM_UNPREDICTED, State
from protoglot.prior.extending import extended_model
from protoglot.prior.fitting import EPSILON, Gaussian, pull_towards_mean
from protoglot.prior.methods import AdaptationConfig, Method
from protoglot.prior.universal import UniversalPrior
from protoglot.vocabulary import BEGIN, END, OTHER, Vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineConfig:
    """How a network learns while it reads; the defaults were chosen on validation languages."""

    num_characters_per_step: int = 64
    """K."""

    learning_rate: float = 4e-3
    """Of Adam, at the first character."""

    falling_from: int = 1500
    """After n characters the rate is divided by the root of 1 + n over this."""

    fading_from: int = 1000
    """After n characters the zero-shot calibration, if the prior has one, has a weight of one over 1 + n over this."""

    strength: float = 1e-4
    """Lambda, in units of the sequences of training (see :class:`protoglot.prior.methods.AdaptationConfig`). None
    is plain dynamic evaluation; with a huge one the weights stay at w*."""

    method: Method = Method.UNIV
    """Whose prior: UNIV, L2-SP or HIER."""

    max_gradient_norm: float = 1.0
    """Gradients are scaled down to this norm."""

    def __post_init__(self) -> None:
        for name in ("num_characters_per_step", "falling_from", "fading_from"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigError(f"online.{name}: {value!r}; wanted a whole number from 1")
        if self.method in (Method.NINF, Method.FITU):
            raise ConfigError(
                f"online.method: {self.method}; wanted univ, l2-sp or hier (fitu is a strength of 0)"
            )
        self.adaptation()  # which checks the others

    def adaptation(self) -> AdaptationConfig:
        """What the prior is made from."""
        return AdaptationConfig(
            method=self.method,
            strength=self.strength,
            learning_rate=self.learning_rate,
            max_gradient_norm=self.max_gradient_norm,
            dropout=0.0,
        )


@dataclass(frozen=True, slots=True)
class Piece:
    """Some characters that were read, and what was predicted before each."""

    text: str
    vocabulary: Vocabulary
    """Of the ids."""

    log_probabilities: Tensor
    """Of all ids that can be predicted, (N, V - 1), id v at position v - 1; a line feed is END."""

    def nats(self) -> NDArray[np.float64]:
        """Cost of every character, naming of those outside the inventory included, (N,)."""
        ids = torch.tensor(_ids(self.vocabulary, self.text))
        found = -self.log_probabilities.gather(1, ids.unsqueeze(1) - NUM_UNPREDICTED).squeeze(1)
        costs: NDArray[np.float64] = found.double().numpy()
        for position in torch.nonzero(ids == OTHER).flatten().tolist():
            costs[position] += self.vocabulary.other_nats(self.text[position])
        return costs


class OnlineAdaptation:
    """A network of a prior that reads a text, and learns from it by online MAP (see the module).

    It starts as the mean of the prior. A character that it does not know is named as
    :meth:`protoglot.vocabulary.Vocabulary.other_nats` says; at the next step it gets an id and an embedding of its own,
    as in :func:`protoglot.adaptation.adapt`.

    Args:
        prior: left as it was.
        features: typological vector of the language, (K,); ``None`` for BARE.
        config: settings.
    """

    def __init__(
        self, prior: UniversalPrior, features: Tensor | None = None, config: OnlineConfig | None = None
    ) -> None:
        self.config = config or OnlineConfig()
        self.vocabulary = prior.mean.vocabulary
        self.num_characters = 0
        """Read so far."""
        self._prior = prior
        self._features = features
        self.network = extended_model(prior.mean.model, self.vocabulary, dropout=0.0)
        self._gaussian = self._make_gaussian()
        self._optimizer = torch.optim.Adam(
            self.network.parameters(), lr=self.config.learning_rate, eps=EPSILON, fused=True
        )
        # Where the characters begin that no step was taken on yet.
        self._unlearned = ""
        self._state: State = self.network.initial_state(1)
        self._last_id = BEGIN

    def read(self, text: str) -> NDArray[np.float64]:
        """Read on: bits of every character, each before it is learned from.

        Args:
            text: any; a line feed ends a sentence, and counts as a character. How a text is cut changes nothing.

        Raises:
            TrainingError: if the weights are no longer finite.
        """
        nats = [piece.nats() for piece in self.along(text)]
        return np.concatenate([np.zeros(0), *nats]) / math.log(2)

    def along(self, text: str) -> Iterator[Piece]:
        """Read on, and see all that was predicted; what is not asked for is not read."""
        start = 0
        while start < len(text):
            stop = start + self.config.num_characters_per_step - len(self._unlearned)
            yield self._read_piece(text[start:stop])
            start = stop

    def copy(self) -> Self:
        """One that has read the same and goes its own way."""
        return copy.deepcopy(self, {id(self._prior): self._prior})

    def _read_piece(self, text: str) -> Piece:
        """Read characters within one step."""
        self._unlearned += text
        is_full = len(self._unlearned) == self.config.num_characters_per_step
        with torch.set_grad_enabled(is_full):
            logits, state = self._logits()
        piece = Piece(text, self.vocabulary, self._soften(logits.detach()[-len(text) :].cpu()))
        self.num_characters += len(text)
        if is_full:
            self._learn(logits, state)
        return piece

    def _logits(self) -> tuple[Tensor, State]:
        """Scores for the characters that no step was taken on, (N, V - 1), and the state after all but the last."""
        ids = [self._last_id, *_ids(self.vocabulary, self._unlearned)[:-1]]
        read = torch.tensor(ids, device=self.network.embedding.device).unsqueeze(1)
        vectors, state = self.network.hidden_states(read, self._features, self._state)
        return self.network.logits(vectors.squeeze(1)), state

    def _soften(self, logits: Tensor) -> Tensor:
        """Log-probabilities from scores of characters that come next, by a calibration that fades."""
        tuned = self._prior.tuned
        if tuned is None or tuned.calibration is None:
            return F.log_softmax(logits, dim=1)
        read = self.num_characters + torch.arange(len(logits))
        weights = 1 / (1 + read / self.config.fading_from)
        frequencies = torch.zeros(logits.shape[1])  # of the letters that the training languages have
        frequencies[: len(self._prior.frequencies)] = torch.from_numpy(self._prior.frequencies)
        return tuned.calibration.log_probabilities(logits, frequencies, weights.unsqueeze(1))

    def _learn(self, logits: Tensor, state: State) -> None:
        """A step on what was read since the last."""
        wider = self.vocabulary.extended(self._unlearned.split("\n"))
        if len(wider) > len(self.vocabulary):
            self._extend(wider)
            logits, state = self._logits()
        ids = _ids(self.vocabulary, self._unlearned)
        targets = torch.tensor(ids, device=logits.device) - NUM_UNPREDICTED
        self._optimizer.zero_grad()
        F.cross_entropy(logits, targets).backward()  # type: ignore[no-untyped-call]
        norm = float(torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.config.max_gradient_norm))
        if not math.isfinite(norm):
            raise TrainingError(
                f"online, character {self.num_characters}: gradient norm {norm:g}; wanted a finite one "
                f"(a learning rate below {self.config.learning_rate:g} may help)"
            )
        (group,) = self._optimizer.param_groups
        group["lr"] = self.config.learning_rate / (1 + self.num_characters / self.config.falling_from) ** 0.5
        self._optimizer.step()
        if self.config.strength:
            pull_towards_mean(self.network, self._optimizer, self._gaussian, strength=1 / self.num_characters)
        self._state = State(state.hidden.detach(), state.cell.detach())
        self._last_id = ids[-1]
        self._unlearned = ""

    def _make_gaussian(self) -> Gaussian:
        """The prior over the weights as they are: called before anything was learned."""
        found = make_gaussian(self._prior, self.network, self.config.adaptation())
        assert found is not None
        return found

    @torch.no_grad()
    def _extend(self, vocabulary: Vocabulary) -> None:
        """Ids and embeddings of their own for new characters; the prior's mean for these is where they start."""
        known = len(self.vocabulary)
        start = extended_model(self._prior.mean.model, vocabulary, dropout=0.0)
        gaussian = make_gaussian(self._prior, start, self.config.adaptation())
        assert gaussian is not None
        mean = dict(self._gaussian.mean)
        (group,) = self._optimizer.param_groups
        for name, weight in list(self.network.named_parameters(recurse=False)):
            if len(gaussian.mean[name]) == len(weight):
                continue
            new = gaussian.mean[name][known:]
            mean[name] = torch.cat([mean[name], new])
            longer = nn.Parameter(torch.cat([weight, new]))
            setattr(self.network, name, longer)
            state = self._optimizer.state.pop(weight, {})
            for moment in ("exp_avg", "exp_avg_sq"):
                if moment in state:
                    state[moment] = torch.cat([state[moment], torch.zeros_like(new)])
            self._optimizer.state[longer] = state
        group["params"] = list(self.network.parameters())
        self._gaussian = Gaussian(mean, gaussian.precision)
        self.network.vocabulary_size = len(vocabulary)
        self.vocabulary = vocabulary


def _ids(vocabulary: Vocabulary, text: str) -> list[int]:
    """Ids of a running text, in which a line feed ends a sentence."""
    ids = vocabulary.encode_to_array(text)
    return [END if character == "\n" else int(id_) for character, id_ in zip(text, ids, strict=True)]
