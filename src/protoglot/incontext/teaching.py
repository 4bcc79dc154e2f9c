"""Teaching the in-context network: episode after episode, forward, backward, step.

Every source of randomness is a function of the seed and the step: with a budget in characters, a run that was stopped
and taken up again gives the weights of one that was not.
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from protoglot.artefacts import load_artefact, save_artefact
from protoglot.errors import ConfigError, StorageError, TrainingError
from protoglot.incontext.config import InContextConfig
from protoglot.incontext.episodes import Episode, EpisodeConfig, Side, draw_episode
from protoglot.incontext.network import InContextNetwork
from protoglot.model.network import NUM_UNPREDICTED
from protoglot.storage import write_atomically
from protoglot.trained import CHECKPOINTS, LATEST, load_weights, newest_checkpoint, weights_as_arrays
from protoglot.training.budget import Budget, BudgetKind
from protoglot.training.checkpoints import optimizer_as_arrays, remove_stale, restore_optimizer
from protoglot.vocabulary import Vocabulary

_KIND = "unfinished in-context network"
_SECONDS_BETWEEN_CHECKPOINTS = 120.0
_LOG_2 = math.log(2)


@dataclass(frozen=True, slots=True, kw_only=True)
class TeachingConfig:
    """How the network is taught."""

    network: InContextConfig
    episodes: EpisodeConfig
    learning_rate: float = 3e-3
    """Of Adam; rises over the first steps and then falls linearly to zero."""

    warm_up: int = 50
    """Steps over which it rises."""

    weight_decay: float = 1e-3
    max_gradient_norm: float = 1.0
    seed: int = 0

    def to_json(self) -> dict[str, Any]:
        """The settings as JSON values."""
        return {**asdict(self), "network": self.network.to_json()}


@dataclass(slots=True, kw_only=True)
class TeachingState:
    """Where teaching stands."""

    step: int = 0
    num_characters: int = 0
    """Predicted so far."""

    seconds: float = 0.0

    def check(self) -> None:
        """A ``ValueError`` for what no teaching leads to."""
        for value, kind in ((self.step, int), (self.num_characters, int), (self.seconds, float)):
            if type(value) is not kind or not 0 <= value < math.inf:
                raise ValueError(f"state {self}")


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one step was like, for whom it may concern."""

    step: int
    num_characters: int
    share: float
    """Of the budget that is used."""

    bits_per_character: float
    ngram_bits_per_character: float
    seconds: float


class Teacher:
    """Teaches a network.

    Args:
        texts: training text by language.
        vocabulary: that the network is to know.
        config: settings.
        budget: how long, in time or characters.
        unfinished: directory to keep what is done in, every two minutes and when asked to stop; ``None`` keeps nothing.
    """

    def __init__(
        self,
        texts: Mapping[str, Sequence[str]],
        vocabulary: Vocabulary,
        config: TeachingConfig,
        budget: Budget,
        *,
        unfinished: Path | None = None,
    ) -> None:
        check_budget(budget)
        self.texts = {code: sentences for code, sentences in texts.items() if len(sentences) > 1}
        if not self.texts:
            raise TrainingError(f"teaching: no text of two sentences in {len(texts)} languages; wanted some")
        self.vocabulary, self.config, self.budget = vocabulary, config, budget
        self.network = InContextNetwork(config.network, vocabulary_size=len(vocabulary), seed=config.seed)
        self._optimizer = torch.optim.AdamW(
            self.network.parameters(),
            lr=config.learning_rate,
            betas=(0.9, 0.99),
            weight_decay=config.weight_decay,
            fused=True,
        )
        self._names: dict[Tensor, str] = {weight: name for name, weight in self.network.named_parameters()}
        self._unfinished = unfinished
        self._identity = self._find_identity()
        self.state = TeachingState()
        newest = None if unfinished is None else newest_checkpoint(unfinished)
        if newest is not None:
            self._restore(newest)

    def run(
        self,
        *,
        on_lesson: Callable[[Lesson], None] = lambda lesson: None,
        stop_asked: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Teach until the budget is used; returns whether it is, or whether somebody asked to stop before.

        Raises:
            TrainingError: if a loss or gradient is not finite; what was kept stays as it was.
        """
        clock = saved = time.monotonic()
        while (share := self.share_used()) < 1:
            if stop_asked():
                self.save()
                return False
            bits, ngram_bits, num_characters = self._step(share)
            now = time.monotonic()
            self.state.step += 1
            self.state.num_characters += num_characters
            self.state.seconds += now - clock
            on_lesson(Lesson(self.state.step, num_characters, self.share_used(), bits, ngram_bits, now - clock))
            if now - saved > _SECONDS_BETWEEN_CHECKPOINTS:
                self.save()
                saved = time.monotonic()
            clock = time.monotonic()  # what others do, and saving, is not teaching
        self.save()
        return True

    def _step(self, share: float) -> tuple[float, float, int]:
        config = self.config
        episode = draw_episode(
            self.texts,
            self.vocabulary,
            config.network.ngram,
            config.episodes,
            window=config.network.window,
            seed=config.seed,
            step=self.state.step,
            share=share,
        )
        nats = torch.cat(episode_nats(self.network, episode))
        nats.mean().backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), config.max_gradient_norm)
        paid = float(nats.detach().mean())
        if not math.isfinite(paid) or not math.isfinite(float(norm)):
            raise TrainingError(
                f"teaching, step {self.state.step + 1} ({episode.language}): loss {paid:g} nats, gradient norm "
                f"{float(norm):g}; wanted finite numbers (a lower learning rate may help)"
            )
        for group in self._optimizer.param_groups:
            group["lr"] = config.learning_rate * min((self.state.step + 1) / config.warm_up, 1.0) * (1 - share)
        self._optimizer.step()
        self._optimizer.zero_grad()
        return paid / _LOG_2, ngram_bits(episode), episode.num_characters

    def save(self) -> None:
        """Keep what is done, so that another sitting can go on."""
        if self._unfinished is None or not self.state.step:
            return
        name = f"step-{self.state.step:08}"
        before = newest_checkpoint(self._unfinished)
        if before is not None and before.name == name:
            return
        save_artefact(
            self._unfinished / CHECKPOINTS / name,
            kind=_KIND,
            content={"identity": self._identity, "state": asdict(self.state)},
            tensors={
                "weights": weights_as_arrays(self.network),
                "optimizer": optimizer_as_arrays(self._optimizer, self._names),
            },
        )
        write_atomically(self._unfinished / LATEST, json.dumps({"checkpoint": name}) + "\n")
        remove_stale(self._unfinished)

    def _restore(self, path: Path) -> None:
        content, tensors = load_artefact(path, kind=_KIND)
        if content.get("identity") != self._identity:
            raise StorageError(f"{path}: of other text or settings; wanted it removed, or the same ones")
        try:
            self.state = TeachingState(**content["state"])
            self.state.check()
            weights, moments = tensors["weights"], tensors["optimizer"]
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(f"{path}: damaged ({error!r}); wanted it removed") from error
        load_weights(self.network, weights, name=str(path))
        restore_optimizer(self._optimizer, moments, {name: weight for weight, name in self._names.items()})

    def _find_identity(self) -> str:
        """What must be the same for teaching to go on; the budget may grow."""
        digest = hashlib.sha256()
        for code, sentences in sorted(self.texts.items()):
            digest.update(json.dumps([code, list(sentences)]).encode())
        settings = json.dumps([self.config.to_json(), self.vocabulary.to_json()], sort_keys=True)
        return f"{digest.hexdigest()[:16]} {hashlib.sha256(settings.encode()).hexdigest()[:16]}"

    def share_used(self) -> float:
        """Of the budget, from 0 to 1."""
        return self.budget.share_used(
            seconds=self.state.seconds, num_characters=self.state.num_characters, characters_per_epoch=1
        )


def check_budget(budget: Budget) -> None:
    """Refuse a budget that teaching cannot have.

    Raises:
        ConfigError: for one in epochs.
    """
    if budget.kind is BudgetKind.EPOCHS:
        raise ConfigError(f"budget: {budget}; wanted time or characters, for episodes are drawn without end")


def episode_nats(network: InContextNetwork, episode: Episode) -> list[Tensor]:
    """What the network pays for every character of either side, (N,) each."""
    costs = []
    # Each side is read twice: what its characters are like, the one that is evidence says.
    for side, other in zip(episode.sides, reversed(episode.sides), strict=True):
        read = other.windows[:, -1]
        letters = network.letters_of(read, other.next_ids, episode.known_ids)
        predicted = network.predict(
            network.states(side.windows, letters),
            side.windows[:, -1],
            side.orders,
            side.depth,
            network.memorise(network.states(other.windows, letters), read, other.next_ids),
            letters,
            num_characters=len(read),
        )
        costs.append(-predicted.gather(1, side.next_ids.unsqueeze(1) - NUM_UNPREDICTED).squeeze(1))
    return costs


def ngram_bits(episode: Episode) -> float:
    """What the n-gram of the highest order pays for both sides, in bits per character."""
    return float(torch.cat([_ngram_nats(side) for side in episode.sides]).mean()) / _LOG_2


def _ngram_nats(side: Side) -> Tensor:
    return -side.orders[:, -1].gather(1, side.next_ids.unsqueeze(1) - NUM_UNPREDICTED).squeeze(1)
