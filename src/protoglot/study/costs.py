"""How long units take: a rough guess before anything has run, and measured times as soon as there are some.

The constants were measured with the preset ``plain`` on two cores of a 2020s x86-64 machine; what matters is that the
guess tells minutes from hours. ``protoglot study status`` replaces it by what units have really taken.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from protoglot.study.plan import Unit, UnitKind
from protoglot.training.budget import Budget, BudgetKind

TRAINED_CHARACTERS_PER_SECOND = 11_000.0
SCORED_CHARACTERS_PER_SECOND = 30_000.0
ADAPTED_SENTENCE_SECONDS = 0.1
"""Reading one sentence in all epochs of an adaptation. With a worker on each core, two of 100 sentences take 20 s."""
FISHER_FACTOR = 2.0
"""Measuring squared gradients, compared with training on the same characters."""
SEQUENCE_CHARACTERS = 125
SPREAD_CHARACTERS = 30_000
"""Read of each training language to see how far its weights move: 10,000 characters three times."""
PLAT_FACTOR = 1.5
"""Weights made anew for each language, and no mixed batches: compared with the other conditionings."""
TYPICAL_CHARACTERS = 800_000
"""Of a language's training text, where a budget in epochs must be turned into characters: a New Testament."""
OVERHEAD_SECONDS = 0.3
"""Of any unit: reading text and prior, writing the result."""

Settings = Mapping[str, Any]


def estimate(unit: Unit) -> float:
    """Seconds that a unit is expected to take on two cores."""
    settings: Settings = unit.settings
    factor = PLAT_FACTOR if settings.get("conditioning") == "plat" else 1.0
    return OVERHEAD_SECONDS + factor * _ESTIMATES[unit.kind](settings)


def _train(settings: Settings) -> float:
    budget = Budget.parse(settings["budget"])
    if budget.kind is BudgetKind.SECONDS:
        return budget.amount / (PLAT_FACTOR if settings["conditioning"] == "plat" else 1.0)
    amount = budget.amount
    if budget.kind is BudgetKind.EPOCHS:
        per_language = settings["characters_per_language"] or TYPICAL_CHARACTERS
        amount *= per_language * len(settings["languages"])
    return amount / TRAINED_CHARACTERS_PER_SECOND


def _prior(settings: Settings) -> float:
    characters = settings["sequences"] * SEQUENCE_CHARACTERS * FISHER_FACTOR
    if settings["spread"]:
        characters += SPREAD_CHARACTERS
    return float(settings["num_languages"] * characters / TRAINED_CHARACTERS_PER_SECOND)


def _score(settings: Settings) -> float:
    generated = float(settings.get("generated_characters", 0)) / 1000  # one character at a time
    return float(settings["characters"]) / SCORED_CHARACTERS_PER_SECOND + generated


def _adapt(settings: Settings) -> float:
    return float(settings["sentences"] * ADAPTED_SENTENCE_SECONDS + _score(settings))


def _tune(settings: Settings) -> float:
    """Trials, and a last round of two settings of each method on all languages."""
    trials = settings["trials"] * settings["trial_languages"]
    last_round = 2 * (len(settings["languages"]) - settings["trial_languages"])
    adaptations = len(settings["methods"]) * (trials + last_round)
    return float(adaptations * _adapt(settings))


_ESTIMATES: dict[UnitKind, Callable[[Settings], float]] = {
    UnitKind.UNIGRAM: lambda settings: 0.2,
    UnitKind.NGRAM: lambda settings: 0.5,
    UnitKind.TRAIN: _train,
    UnitKind.PRIOR: _prior,
    UnitKind.ZERO_SHOT: _score,
    UnitKind.JOINT: _score,
    UnitKind.TUNE: _tune,
    UnitKind.FEW_SHOT: _adapt,
}


def expected_seconds(
    units: Iterable[Unit], measured: Mapping[str, float], *, num_workers: int = 1
) -> dict[str, float]:
    """Seconds that each unit takes in one process: what it took, or its estimate put right by others of its kind.

    Args:
        units: of a plan.
        measured: seconds of the units that are done, by name.
        num_workers: processes that share the cores; each is so many times slower than one alone.
    """
    listed = list(units)
    guesses = {unit.name: num_workers * estimate(unit) for unit in listed}
    factors: dict[UnitKind, float] = {}
    for kind in UnitKind:
        done = [unit.name for unit in listed if unit.kind is kind and unit.name in measured]
        guessed = sum(guesses[name] for name in done)
        factors[kind] = sum(measured[name] for name in done) / guessed if done else 1.0
    return {unit.name: measured.get(unit.name, guesses[unit.name] * factors[unit.kind]) for unit in listed}
