"""The multilingual loop: batch, forward, backward, clip, step, log."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from protoglot.batching import Batch, plan_epoch, stream_lengths
from protoglot.errors import ConfigError, TrainingError
from protoglot.evaluation import evaluate, make_scored_text
from protoglot.model.config import Conditioning
from protoglot.model.network import LanguageModel
from protoglot.scores import mean_bits_per_character
from protoglot.trained import BEST, TrainedModel, save_trained
from protoglot.training.budget import Budget
from protoglot.training.checkpoints import optimizer_as_arrays, restore_optimizer, save_checkpoint
from protoglot.training.config import TrainingConfig
from protoglot.training.data import TrainingData
from protoglot.training.monitor import METRICS, MetricsFile, Monitor

_SECONDS_BETWEEN_CHECKPOINTS = 120.0
_STEPS_BETWEEN_METRICS = 10
_LOG_2 = math.log(2)


class Ending(StrEnum):
    """Why a run stopped."""

    FINISHED = "finished"
    """The budget is used up."""

    EARLY = "stopped early"
    """The score on validation languages has not become better for a while."""

    INTERRUPTED = "interrupted"
    """Asked to stop; ``--resume`` goes on."""


@dataclass(slots=True, kw_only=True)
class TrainingState:
    """Where a run stands; with the weights and Adam's moments, all that a resumed run needs."""

    step: int = 0
    epoch: int = 0
    batch_index: int = 0
    """Batches of this epoch that are done."""

    num_characters: int = 0
    seconds: float = 0.0
    """Time spent training, over all sittings."""

    num_evaluations: int = 0
    best_validation: float | None = None
    """Lowest mean bits per character on validation languages."""

    evaluations_since_best: int = 0

    recent_nats: float = 0.0
    """Paid since the last line of metrics."""

    recent_characters: int = 0
    recent_seconds: float = 0.0


class Trainer:
    """One run.

    Every source of randomness is a function of the seed and the step, so a run that was stopped and resumed gives,
    on the CPU, the same weights to the last bit as one that was not.

    Args:
        trained: the model at its present weights, and what belongs to it.
        data: text and typology.
        config: settings.
        budget: how long.
        run: directory for checkpoints and metrics.
        seed: of batches and dropout.
        monitor: whom to tell.
        stop_asked: looked at after every step; when true, the run saves and stops.
    """

    def __init__(
        self,
        trained: TrainedModel,
        data: TrainingData,
        config: TrainingConfig,
        budget: Budget,
        *,
        run: Path,
        seed: int,
        monitor: Monitor,
        stop_asked: Callable[[], bool] = lambda: False,
    ) -> None:
        self.trained, self.data, self.config, self.budget = trained, data, config, budget
        self.run_directory, self.seed, self.monitor = run, seed, monitor
        self._stop_asked = stop_asked
        if config.batching.mixed and trained.model.config.conditioning is Conditioning.PLAT:
            raise ConfigError("batching.mixed: true; wanted false: a plat model reads one language a batch")
        self.state = TrainingState()
        self.model = trained.model
        self._names: dict[Tensor, str] = {weight: name for name, weight in self.model.named_parameters()}
        self._lengths = stream_lengths(data.streams)
        self._epoch_characters = sum(self._lengths.values())
        self.optimizer = make_optimizer(self.model, config, num_characters=self._epoch_characters)
        self._validation = {
            code: make_scored_text(sentences, data.vocabulary, trained.features_of(code))
            for code, sentences in data.validation.items()
            if sentences
        }
        self._factors = language_factors(self._lengths, config.max_language_factor)
        self._features = {code: trained.features_of(code) for code in data.streams}
        self._clock = time.monotonic()

    def restore(self, state: Mapping[str, Any], optimizer: Mapping[str, Any]) -> None:
        """Go on from a checkpoint, whose weights the model has already."""
        try:
            self.state = TrainingState(**state)
        except TypeError as error:
            raise TrainingError(f"{self.run_directory}: checkpoint without the state of its training") from error
        restore_optimizer(self.optimizer, optimizer, {name: weight for weight, name in self._names.items()})
        # Of a longer budget than before, a smaller share is used: evaluations become due once more.
        due = int(self._share_used() * self.config.num_evaluations)
        self.state.num_evaluations = min(self.state.num_evaluations, due)

    def run(self) -> Ending:
        """Train until the budget is used, validation says stop, or somebody asks.

        Raises:
            TrainingError: if a loss or gradient is not finite; the last checkpoint stays as it was.
        """
        self._metrics = MetricsFile(self.run_directory / METRICS, keep_until_step=self.state.step)
        last_saved = self._clock = time.monotonic()
        if self._patience_is_over():
            return self._finish(Ending.EARLY)
        while True:
            plan = plan_epoch(self._lengths, self.config.batching, seed=self.seed, epoch=self.state.epoch)
            for batch in plan[self.state.batch_index :]:
                if self._share_used() >= 1:
                    return self._finish(Ending.FINISHED)
                self._step(batch)
                if self._evaluation_is_due() and self._validate():
                    return self._finish(Ending.EARLY)
                if self._stop_asked():
                    return self._finish(Ending.INTERRUPTED)
                if time.monotonic() - last_saved > _SECONDS_BETWEEN_CHECKPOINTS:
                    self.save()
                    last_saved = time.monotonic()
            self.state.epoch += 1
            self.state.batch_index = 0

    def save(self) -> None:
        """Write a checkpoint."""
        save_checkpoint(
            self.run_directory,
            self.trained,
            state=asdict(self.state),
            optimizer=optimizer_as_arrays(self.optimizer, self._names),
        )

    def _step(self, batch: Batch) -> None:
        state = self.state
        rate = self.config.rate_at(self._share_used())
        nats = training_step(
            self.model,
            self.optimizer,
            torch.from_numpy(batch.ids(self.data.streams)).to(self.model.embedding.device),
            self._features_of(batch),
            rate=rate * self._rate_factor(batch),
            weights=self._sequence_weights(batch),
            max_gradient_norm=self.config.max_gradient_norm,
            generator=dropout_generator(self.model, seed=self.seed, step=state.step),
            name=f"step {state.step + 1} ({', '.join(sorted(set(batch.languages))[:3])})",
        )
        seconds = self._tick()
        state.step += 1
        state.batch_index += 1
        state.num_characters += batch.num_characters
        state.recent_nats += nats
        state.recent_characters += batch.num_characters
        state.recent_seconds += seconds
        if state.step % _STEPS_BETWEEN_METRICS == 0:
            self._report(rate)

    def _tick(self) -> float:
        """Seconds since the last call, added to the time of the run: evaluations and checkpoints count too."""
        now = time.monotonic()
        seconds, self._clock = now - self._clock, now
        self.state.seconds += seconds
        return seconds

    def _report(self, rate: float) -> None:
        state = self.state
        share = self._share_used()
        metrics = {
            "step": state.step,
            "epoch": state.epoch,
            "characters": state.num_characters,
            "seconds": round(state.seconds, 3),
            "learning_rate": rate,
            "bits_per_character": state.recent_nats / state.recent_characters / _LOG_2,
            "characters_per_second": state.recent_characters / max(state.recent_seconds, 1e-9),
        }
        state.recent_nats, state.recent_characters, state.recent_seconds = 0.0, 0, 0.0
        self._metrics.write(metrics)
        left = state.seconds * (1 - share) / share if share else math.inf
        self.monitor.progress(share, {**metrics, "seconds_left": left})

    def _evaluation_is_due(self) -> bool:
        return self._share_used() * self.config.num_evaluations >= self.state.num_evaluations + 1

    def _validate(self) -> bool:
        """Score the validation languages; return whether it is time to stop early."""
        state = self.state
        state.num_evaluations += 1
        if not self._validation:
            return False
        scores = evaluate(self.model, self._validation)
        self._tick()
        mean = mean_bits_per_character(scores.values())
        self._metrics.write(
            {
                "step": state.step,
                "characters": state.num_characters,
                "seconds": round(state.seconds, 3),
                "validation_bits_per_character": mean,
                "validation": {code: score.bits_per_character for code, score in scores.items()},
            }
        )
        self.monitor.message(f"validation languages, unseen: {mean:.3f} bits/character at step {state.step:,}")
        if state.best_validation is None or mean < state.best_validation:
            state.best_validation = mean
            state.evaluations_since_best = 0
            if self.config.patience is not None:
                save_trained(self.run_directory / BEST, self.trained, state=asdict(state))
        else:
            state.evaluations_since_best += 1
        return self._patience_is_over()

    def _patience_is_over(self) -> bool:
        return self.config.patience is not None and self.state.evaluations_since_best >= self.config.patience

    def _finish(self, ending: Ending) -> Ending:
        self.save()
        return ending

    def _share_used(self) -> float:
        return self.budget.share_used(
            seconds=self.state.seconds,
            num_characters=self.state.num_characters,
            characters_per_epoch=self._epoch_characters,
        )

    def _features_of(self, batch: Batch) -> Tensor | None:
        if self.model.config.conditioning is Conditioning.BARE:
            return None
        vectors = [vector for code in batch.languages if (vector := self._features[code]) is not None]
        return vectors[0] if len(vectors) == 1 else torch.stack(vectors)

    def _rate_factor(self, batch: Batch) -> float:
        """The paper's scale of the learning rate for one language: round(m) / mu * |D_T| / (|T| |D_l|)."""
        if self.config.batching.mixed:
            return 1.0  # each sequence has a weight of its own instead
        return batch.length / self.config.batching.mean_length * self._factors[batch.languages[0]]

    def _sequence_weights(self, batch: Batch) -> Tensor | None:
        """The same scale as weights of the sequences of a mixed batch, (B,)."""
        if not self.config.batching.mixed:
            return None
        weights = np.array([self._factors[code] for code in batch.languages], dtype=np.float32)
        return torch.from_numpy(weights).to(self.model.embedding.device)


def make_optimizer(model: LanguageModel, config: TrainingConfig, *, num_characters: int) -> torch.optim.Adam:
    """Adam, with the Gaussian prior of eq. (uninf_prior) as weight decay.

    The objective is the log-likelihood of all N characters plus log p(w), per character: the gradient of the prior
    is w / (sigma^2 N).
    """
    return torch.optim.Adam(
        model.parameters(),
        lr=config.learning_rate,
        betas=(0.9, config.second_moment_decay),
        weight_decay=1 / (config.prior_variance * num_characters),
        fused=True,
    )


def language_factors(lengths: Mapping[str, int], cap: float) -> dict[str, float]:
    """``|D_T| / (|T| |D_l|)`` for each language: the mean amount of text over its own."""
    mean = sum(lengths.values()) / len(lengths)
    return {language: min(mean / length, cap) for language, length in lengths.items()}


def dropout_generator(model: LanguageModel, *, seed: int, step: int) -> torch.Generator:
    """Randomness of one step, from nothing but the seed and the number of the step."""
    mixed = int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0])
    return torch.Generator(device=model.embedding.device).manual_seed(mixed)


def training_step(
    model: LanguageModel,
    optimizer: torch.optim.Optimizer,
    ids: Tensor,
    features: Tensor | None,
    *,
    rate: float,
    weights: Tensor | None,
    max_gradient_norm: float,
    generator: torch.Generator | None,
    name: str,
) -> float:
    """One update of the weights.

    Args:
        model: in place.
        optimizer: its optimiser.
        ids: sequences with the character before each, (T + 1, B).
        features: typology, (K,) or (B, K).
        rate: learning rate of this step.
        weights: of the sequences in the loss, (B,); all one if ``None``.
        max_gradient_norm: for clipping.
        generator: source of dropout; ``None`` for none.
        name: of the step, for messages.

    Returns:
        Nats paid for all characters of the batch, with dropout on.

    Raises:
        TrainingError: if the loss or a gradient is not finite; the weights are then as before.
    """
    for group in optimizer.param_groups:
        group["lr"] = rate
    nats, _ = model.nats(ids[:-1], ids[1:], features, generator=generator)  # (T, B)
    loss = nats.mean() if weights is None else (nats * weights).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients)
    total, length = float(nats.detach().sum()), float(norm)
    if not math.isfinite(total) or not math.isfinite(length):
        optimizer.zero_grad()
        raise TrainingError(
            f"{name}: loss {total:g} nats, gradient norm {length:g}; wanted finite numbers "
            "(a lower learning rate may help); the last checkpoint is untouched"
        )
    if length > max_gradient_norm:
        torch.nn.utils.clip_grads_with_norm_(model.parameters(), max_gradient_norm, norm)
    optimizer.step()
    optimizer.zero_grad()
    return total
