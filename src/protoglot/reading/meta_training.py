"""Meta-training of the scorer: episode after episode, so that it learns how evidence should be read in any language.

Every source of randomness is a function of the seed and the step: with a budget in characters, a run that was stopped
and resumed gives the weights of one that was not.
"""

import hashlib
import json
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from protoglot.artefacts import load_artefact, save_artefact
from protoglot.errors import ConfigError, StorageError, TrainingError
from protoglot.reading.episodes import Episode, EpisodeConfig, MetaText, draw_text, make_episode
from protoglot.reading.first_occurrence import FirstOccurrence
from protoglot.reading.first_occurrence_fitting import character_frequencies, fit_first_occurrence
from protoglot.reading.lexicons import Lexicons
from protoglot.reading.muon import Muon
from protoglot.reading.network import ScorerConfig, ScorerNetwork
from protoglot.reading.scorer import NUM_SPECIAL, Scorer
from protoglot.scripts import MANY_CHARACTERS, script_of
from protoglot.storage import write_atomically
from protoglot.trained import CHECKPOINTS, LATEST, newest_checkpoint
from protoglot.training.budget import Budget, BudgetKind
from protoglot.training.checkpoints import ADAM_STATE, optimizer_as_arrays, remove_stale, restore_optimizer

_KIND = "unfinished scorer"
_SECONDS_BETWEEN_CHECKPOINTS = 120.0
_STEPS_AHEAD = 3  # for which evidence is made in advance
_LOG_2 = math.log(2)
_MATRICES = frozenset({"P1", "P2", "Po", "L1", "L2", "Lp", "Lo", "Lx", "Lu", "W2"})
"""Of layers; embeddings, whose rows come one by one, and small weights are trained by AdamW."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaTrainingConfig:
    """How the scorer is trained."""

    network: ScorerConfig = field(default_factory=ScorerConfig)
    episodes: EpisodeConfig = field(default_factory=EpisodeConfig)
    episodes_per_step: int = 2
    learning_rate: float = 2.5e-3
    """Of AdamW; rises over the first steps and then falls linearly to zero."""

    matrix_learning_rate: float = 0.01
    """Of Muon, which trains the matrices of the layers; likewise."""

    warm_up: int = 100
    """Steps over which it rises."""

    weight_decay: float = 0.01
    """Of matrices."""

    max_gradient_norm: float = 1.0
    averaging: float = 0.005
    """Share of the newest weights in the running average that is kept."""

    letters_share: float = 0.88
    """Share of the episodes of a text whose letters may be known in which the network of letters is trained."""

    other_letters_share: float = 0.6
    """Share of the episodes of other texts in which it takes part, but is not trained: the other networks see there how
    much it knows of languages that it was not trained on."""

    seed: int = 0


@dataclass(slots=True, kw_only=True)
class MetaTrainingState:
    """Where meta-training stands."""

    step: int = 0
    num_characters: int = 0
    """Scored so far."""

    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Progress:
    """What one step was like."""

    step: int
    share: float
    """Of the budget that is used."""

    num_characters: int
    bits_per_character: float


def letters_to_know(texts: Sequence[MetaText]) -> list[str]:
    """Characters that the network of letters is to know: those of two texts, or common in one, that may be known."""
    in_texts: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for text in texts:
        if text.may_know_letters:
            counts: Counter[str] = Counter()
            for sentence in text.sentences:
                counts.update(sentence)
            total.update(counts)
            in_texts.update(counts.keys())
    chosen = {c for c in in_texts if (in_texts[c] >= 2 and total[c] >= 20) or total[c] > 200}
    return [*sorted(c for c in chosen if script_of(c) not in MANY_CHARACTERS), "\n"]


class MetaTrainer:
    """Trains a scorer.

    Args:
        texts: of the languages to learn from.
        config: settings.
        budget: how long, in time or characters.
        unfinished: directory to keep checkpoints in; ``None`` keeps none.
        num_threads: episodes that are worked on at once.
        start: scorer whose weights are the first ones, and whose letters are known; ``None`` for random weights.
    """

    def __init__(
        self,
        texts: Sequence[MetaText],
        config: MetaTrainingConfig,
        budget: Budget,
        *,
        unfinished: Path | None = None,
        num_threads: int = 2,
        start: Scorer | None = None,
    ) -> None:
        check_budget(budget)
        self.texts = [text for text in texts if len(text.sentences) > 1]
        if not self.texts:
            raise TrainingError(f"meta-training: no text of two sentences in {len(texts)} languages; wanted some")
        self.config, self.budget = config, budget
        self.characters = letters_to_know(self.texts)
        if start is not None and list(start.characters) != self.characters:
            raise ConfigError(
                f"scorer to start from: knows {len(start.characters):,} letters, the texts have "
                f"{len(self.characters):,}; wanted the same ones"
            )
        self.lexicons = Lexicons.of((text.code, text.sentences) for text in self.texts if text.may_know_letters)
        for code in self.lexicons.lists:
            self.lexicons.table(code)  # now, and not by one of two threads while the other waits
        self._known = {character: i for i, character in enumerate(self.characters, start=NUM_SPECIAL)}
        self.network = ScorerNetwork(config.network, len(self.characters), seed=config.seed)
        if start is not None:
            self.network.load_arrays(start.weights)
        self._start = None if start is None else start.identity
        self._names: dict[Tensor, str] = {weight: name for name, weight in self.network.named_parameters()}
        weights = list(self.network.parameters())
        self._average = [weight.detach().clone() for weight in weights]
        matrices = [w for w in weights if self._names[w] in _MATRICES]
        others = [w for w in weights if self._names[w] not in _MATRICES]
        self._muon = Muon(matrices, lr=config.matrix_learning_rate, weight_decay=config.weight_decay)
        self._adam = torch.optim.AdamW(
            [
                {"params": [w for w in others if w.ndim > 1], "weight_decay": config.weight_decay},
                {"params": [w for w in others if w.ndim <= 1], "weight_decay": 0.0},
            ],
            lr=config.learning_rate,
            betas=(0.9, 0.98),
        )
        for weight in others:  # as AdamW does at the first gradient, which some weights get late
            moments = {key: torch.zeros_like(weight.detach()) for key in ("exp_avg", "exp_avg_sq")}
            self._adam.state[weight] = {"step": torch.tensor(0.0), **moments}
        self._num_threads = num_threads
        self._ready: dict[int, Future[Episode]] = {}
        self._unfinished = unfinished
        self._identity = self._find_identity()
        self.state = MetaTrainingState()
        newest = None if unfinished is None else newest_checkpoint(unfinished)
        if newest is not None:
            self._restore(newest)

    def run(
        self,
        *,
        on_step: Callable[[Progress], None] = lambda progress: None,
        stop_asked: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Train until the budget is used; returns whether it is, or whether somebody asked to stop before.

        Raises:
            TrainingError: if a loss is not finite; the last checkpoint stays as it was.
        """
        clock = saved = time.monotonic()
        threads_before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with ThreadPoolExecutor(self._num_threads) as pool:
                while (share := self.share_used()) < 1:
                    if stop_asked():
                        self.save()
                        return False
                    nats, num_characters = self._step(pool, share)
                    now = time.monotonic()
                    self.state.step += 1
                    self.state.num_characters += num_characters
                    self.state.seconds += now - clock
                    on_step(Progress(self.state.step, self.share_used(), num_characters, nats / _LOG_2))
                    if now - saved > _SECONDS_BETWEEN_CHECKPOINTS:
                        self.save()
                        saved = time.monotonic()
                    clock = time.monotonic()
        finally:
            torch.set_num_threads(threads_before)
        self.save()
        return True

    def _step(self, pool: ThreadPoolExecutor, share: float) -> tuple[float, int]:
        config, step = self.config, self.state.step
        number = config.episodes_per_step
        # Evidence does not depend on the weights: that of the next steps is made where a thread has nothing else to do.
        numbers = range(step * number, (step + 1) * number)
        ready = [self._ready.pop(i) if i in self._ready else pool.submit(self._draw_episode, i) for i in numbers]
        running = [pool.submit(self._episode_gradients, episode.result()) for episode in ready]
        for i in range((step + 1) * number, (step + 1 + _STEPS_AHEAD) * number):
            if i not in self._ready:
                self._ready[i] = pool.submit(self._draw_episode, i)
        results = [result.result() for result in running]
        weights = list(self.network.parameters())
        for weight in weights:
            weight.grad = None
        for _, _, gradients in results:
            for weight, gradient in zip(weights, gradients, strict=True):
                if gradient is not None:
                    part = gradient / number
                    weight.grad = part if weight.grad is None else weight.grad + part
        norm = torch.nn.utils.clip_grad_norm_(weights, config.max_gradient_norm)
        nats = math.fsum(result[0] for result in results) / number
        if not math.isfinite(nats) or not math.isfinite(float(norm)):
            raise TrainingError(
                f"meta-training, step {step + 1}: loss {nats:g} nats, gradient norm {float(norm):g}; wanted finite "
                "numbers (a lower learning rate may help)"
            )
        schedule = min((step + 1) / config.warm_up, 1.0) * (1 - share)
        for optimizer, rate in ((self._adam, config.learning_rate), (self._muon, config.matrix_learning_rate)):
            for group in optimizer.param_groups:
                group["lr"] = rate * schedule
            optimizer.step()
        rate = max(config.averaging, 1 / (step + 1))
        for average, weight in zip(self._average, weights, strict=True):
            average.lerp_(weight.detach(), rate)
        return nats, sum(result[1] for result in results)

    def _draw_episode(self, number: int) -> Episode:
        config = self.config
        rng = random.Random(f"{config.seed} {number}")  # noqa: S311 - no secret
        [text] = rng.choices(self.texts, [text.weight for text in self.texts])
        with_letters = rng.random() < (
            config.letters_share if text.may_know_letters else config.other_letters_share
        )
        episodes = config.episodes
        if text.may_know_letters:
            episodes = replace(episodes, num_positions=int(episodes.more_where_free * episodes.num_positions))
        drawn = draw_text(text.sentences, episodes, rng)
        return make_episode(
            drawn, self._known, episodes, rng, with_letters=with_letters, trains_letters=text.may_know_letters,
            lexicons=self.lexicons, without=text.same_language,
        )  # fmt: skip

    def _episode_gradients(self, episode: Episode) -> tuple[float, int, tuple[Tensor | None, ...]]:
        loss = self.network.log_loss(episode).mean()
        gradients = torch.autograd.grad(loss, list(self.network.parameters()), allow_unused=True)
        return float(loss.detach()), len(episode.batch.target), gradients

    def averaged(self) -> dict[str, np.ndarray]:
        """The running average of the weights."""
        names = [name for name, _ in self.network.named_parameters()]
        return {name: average.numpy().copy() for name, average in zip(names, self._average, strict=True)}

    def scorer(self, *, on_progress: Callable[[float], None] = lambda share: None) -> Scorer:
        """The scorer as it stands; what predicts first occurrences is fitted now."""
        frequencies = character_frequencies(self.texts)
        trial = Scorer(self.averaged(), self.characters, FirstOccurrence.untrained(frequencies), self.lexicons)
        return fit_first_occurrence(trial, self.texts, seed=self.config.seed, on_progress=on_progress)

    def save(self) -> None:
        """Write a checkpoint, so that another run can go on."""
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
                "weights": self.network.arrays(),
                "average": self.averaged(),
                "adam": optimizer_as_arrays(self._adam, self._names),
                "muon": optimizer_as_arrays(self._muon, self._names),
            },
        )
        write_atomically(self._unfinished / LATEST, json.dumps({"checkpoint": name}) + "\n")
        remove_stale(self._unfinished)

    def _restore(self, path: Path) -> None:
        content, tensors = load_artefact(path, kind=_KIND)
        if content.get("identity") != self._identity:
            raise StorageError(f"{path}: of other text or settings; wanted it removed, or the same ones")
        try:
            self.state = MetaTrainingState(**content["state"])
            self.network.load_arrays(tensors["weights"])
            for name, average in zip(self.network.state_dict(), self._average, strict=True):
                average.copy_(torch.from_numpy(np.array(tensors["average"][name])))
            moments, momenta = tensors["adam"], tensors["muon"]
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise StorageError(f"{path}: damaged ({error!r}); wanted it removed") from error
        for optimizer, arrays, keys in ((self._adam, moments, ADAM_STATE), (self._muon, momenta, ("momentum",))):
            weights = {self._names[weight]: weight for weight in optimizer.state}
            restore_optimizer(optimizer, arrays, weights, keys=keys)

    def _find_identity(self) -> str:
        """What must be the same for training to go on; the budget may grow."""
        digest = hashlib.sha256(json.dumps(asdict(self.config), sort_keys=True).encode())
        for text in self.texts:
            facts: Mapping[str, object] = {
                "code": text.code,
                "known": text.may_know_letters,
                "weight": text.weight,
                "same language": sorted(text.same_language),
            }
            digest.update(json.dumps([facts, list(text.sentences)]).encode())
        if self._start is not None:
            digest.update(self._start.encode())
        return digest.hexdigest()

    def config_facts(self) -> dict[str, object]:
        """The settings, for provenance."""
        return asdict(self.config)

    def share_used(self) -> float:
        """Of the budget, from 0 to 1."""
        return self.budget.share_used(
            seconds=self.state.seconds, num_characters=self.state.num_characters, characters_per_epoch=1
        )


def check_budget(budget: Budget) -> None:
    """Refuse a budget that meta-training cannot have.

    Raises:
        ConfigError: for one in epochs.
    """
    if budget.kind is BudgetKind.EPOCHS:
        raise ConfigError(f"budget: {budget}; wanted time or characters, for episodes are drawn without end")
