"""A small run, described once."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from protoglot.trained import load_with_state
from protoglot.training.budget import Budget
from protoglot.training.config import TINY
from protoglot.training.data import Inventory
from protoglot.training.monitor import METRICS, Silence, read_metrics
from protoglot.training.runs import RunPlan, train
from tiny import babble_corpus, tiny_config

CORPUS = babble_corpus()
BATCHING = replace(TINY.batching, mean_length=14, length_deviation=1)
CLOCKS = ("seconds", "characters_per_second", "recent_seconds")
"""What differs between two runs that do the same."""


def make_plan(kind: str = "bare", *, mixed: bool = False, budget: str = "3600 characters", **training) -> RunPlan:
    """Three training languages, one validation language, one held out; 30 steps or so."""
    settings = {"num_evaluations": 5, "validation_characters": 100, **training}
    return RunPlan(
        model=tiny_config(kind),
        training=replace(TINY, **settings, batching=replace(BATCHING, mixed=mixed)),
        budget=Budget.parse(budget),
        hold_out="wol",
        num_validation=1,
        inventory=Inventory.CORPUS,
        seed=3,
        corpus="babble",
        languages=tuple(sorted(CORPUS.texts)),
    )


def run_plan(plan: RunPlan, run: Path, *, corpus=CORPUS, resume=False, stop_after=None, monitor=None):
    """Train; with ``stop_after``, ask to stop after so many steps of this sitting."""
    num_steps = 0

    def stop_asked() -> bool:
        nonlocal num_steps
        num_steps += 1
        return num_steps == stop_after

    return train(
        corpus, plan, run, resume=resume, device="cpu", monitor=monitor or Silence(), stop_asked=stop_asked
    )


def without_clocks(values: dict) -> dict:
    return {key: value for key, value in values.items() if key not in CLOCKS}


def outcome(run: Path) -> dict:
    """All that a run leaves behind, to the last bit, but for what clocks have to say."""
    trained, state, optimizer = load_with_state(run)
    weights = {name: weight.detach().numpy().tobytes() for name, weight in trained.model.named_parameters()}
    return {
        "weights": weights,
        "optimizer": {name: (array.shape, array.tobytes()) for name, array in optimizer.items()},
        "state": without_clocks(state),
        "metrics": [without_clocks(line) for line in read_metrics(run / METRICS)],
    }


def hash_of(directory: Path) -> dict[str, str]:
    """Digest of every file below a directory."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


VARIANTS = {
    "bare": make_plan("bare"),
    "bare mixed": make_plan("bare", mixed=True),
    "oest": make_plan("oest", patience=50),
    "oest mixed": make_plan("oest", mixed=True),
    "plat": make_plan("plat"),
}


@pytest.fixture(scope="package")
def whole_run(tmp_path_factory):
    """Directories of runs without interruption, made when first asked for."""
    made: dict[str, Path] = {}

    def directory(variant: str) -> Path:
        if variant not in made:
            made[variant] = tmp_path_factory.mktemp("whole") / "run"
            run_plan(VARIANTS[variant], made[variant])
        return made[variant]

    return directory
