"""Settings of training, and those of the presets."""

import math
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum

from protoglot.batching import BatchingConfig
from protoglot.errors import ConfigError


class Schedule(StrEnum):
    """How the learning rate changes over a run."""

    THIRDS = "thirds"
    """Divided by 10 after each third, as in the paper (§5)."""

    WARM_UP_AND_DECAY = "warm-up-and-decay"
    """Rises linearly over the first part of the run, then falls linearly to a hundredth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """How the weights w* are found: maximum a posteriori over all training languages (§3.1, §5)."""

    learning_rate: float
    """Of Adam, before the schedule and the factor of the language."""

    schedule: Schedule
    """How it changes."""

    warm_up: float = 0.0
    """Share of the run over which the learning rate rises (warm-up-and-decay only)."""

    second_moment_decay: float = 0.999
    """Adam's beta 2."""

    prior_variance: float = 1.0
    """Sigma squared of the zero-mean Gaussian prior over the weights, eq. (uninf_prior)."""

    max_gradient_norm: float = 0.25
    """Gradients are scaled down to this norm."""

    max_language_factor: float = math.inf
    """Cap on ``|D_T| / (|T| |D_l|)``, the weight of a language with little text."""

    patience: int | None = None
    """Evaluations on validation languages without a new best before training stops; ``None``: never."""

    num_evaluations: int = 10
    """Evaluations on validation languages over a whole run."""

    validation_characters: int = 10_000
    """Characters of each validation language's development text that are scored each time."""

    default_budget: str = "6epochs"
    """Where the user gives none."""

    batching: BatchingConfig = field(default_factory=BatchingConfig)
    """How sequences are cut and dealt."""

    def __post_init__(self) -> None:
        numbers = (int, float)
        for name in ("learning_rate", "prior_variance", "max_gradient_norm", "max_language_factor"):
            value = getattr(self, name)
            may_be_endless = name == "max_language_factor"
            if type(value) not in numbers or not value > 0 or (math.isinf(value) and not may_be_endless):
                raise ConfigError(f"training.{name}: {value!r}; wanted a number above 0")
        for name in ("warm_up", "second_moment_decay"):
            value = getattr(self, name)
            if type(value) not in numbers or not 0 <= value < 1:
                raise ConfigError(f"training.{name}: {value!r}; wanted a share from 0 to below 1")
        for name in ("num_evaluations", "validation_characters"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigError(f"training.{name}: {value!r}; wanted a whole number from 1")
        if self.patience is not None and (type(self.patience) is not int or self.patience < 1):
            raise ConfigError(f"training.patience: {self.patience!r}; wanted a whole number from 1, or none")
        if not isinstance(self.schedule, Schedule):
            raise ConfigError(f"training.schedule: {self.schedule!r}; wanted one of {', '.join(Schedule)}")
        if not isinstance(self.batching, BatchingConfig):
            raise ConfigError(f"training.batching: {self.batching!r}; wanted batching settings")

    def rate_at(self, share: float) -> float:
        """Learning rate after a share of the run, before the factor of the language."""
        if self.schedule is Schedule.THIRDS:
            return self.learning_rate * 10.0 ** -min(int(3 * share), 2)
        if share < self.warm_up:
            return self.learning_rate * max(share / self.warm_up, 0.01)
        return self.learning_rate * max((1 - share) / (1 - self.warm_up), 0.01)

    def to_json(self) -> dict[str, object]:
        """The settings as JSON values."""
        values = asdict(self)
        values["schedule"] = str(self.schedule)
        if math.isinf(self.max_language_factor):
            values["max_language_factor"] = None
        return values

    @classmethod
    def from_json(cls, value: object, *, name: str) -> "TrainingConfig":
        """The settings that :meth:`to_json` wrote.

        Raises:
            ConfigError: if they are anything else; ``name`` says where they were found.
        """
        known = {each.name for each in fields(cls)}
        if not isinstance(value, dict) or set(value) != known or not isinstance(value["batching"], dict):
            raise ConfigError(f"{name}: not settings of training; wanted the fields {', '.join(sorted(known))}")
        batching, factor = value["batching"], value["max_language_factor"]
        if set(batching) != {each.name for each in fields(BatchingConfig)}:
            raise ConfigError(
                f"{name}: batching: {', '.join(batching) or 'nothing'}; wanted the settings of batching"
            )
        try:
            return cls(
                **{
                    **value,
                    "schedule": _schedule(value["schedule"]),
                    "max_language_factor": math.inf if factor is None else factor,
                    "batching": BatchingConfig(**batching),
                }
            )
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from error


def _schedule(value: object) -> object:
    """A schedule by its name; anything else as it is, to be refused with the other settings."""
    return next((schedule for schedule in Schedule if schedule == value), value)


PAPER = TrainingConfig(learning_rate=1e-4, schedule=Schedule.THIRDS, patience=3)
"""As in §5: batches of 128 sequences of one language, Adam at 1e-4, six epochs, early stopping."""

COMPACT = TrainingConfig(
    learning_rate=4e-3,
    schedule=Schedule.WARM_UP_AND_DECAY,
    warm_up=0.03,
    second_moment_decay=0.99,
    max_gradient_norm=1.0,
    max_language_factor=3.0,
    default_budget="20min",
    batching=BatchingConfig(batch_size=16, mixed=True),
)
"""Learns within minutes on two cores; docs/paper-map.md says where it departs from the paper, and why."""

PLAIN = replace(COMPACT, learning_rate=5e-3)
"""The same in larger steps, for a smaller network."""

TINY = TrainingConfig(
    learning_rate=1e-2,
    schedule=Schedule.WARM_UP_AND_DECAY,
    warm_up=0.1,
    max_gradient_norm=1.0,
    validation_characters=500,
    num_evaluations=2,
    default_budget="2epochs",
    batching=BatchingConfig(batch_size=8, mean_length=30, length_deviation=3),
)
"""Tests."""

PRESETS = {"paper": PAPER, "compact": COMPACT, "plain": PLAIN, "tiny": TINY}
