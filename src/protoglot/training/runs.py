"""Starting and resuming runs: from settings and a corpus to a directory with a trained model."""

import json
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from protoglot import __version__
from protoglot.corpus.interface import Corpus
from protoglot.errors import ConfigError, StorageError, TrainingError
from protoglot.folds import fold_for
from protoglot.model.config import Conditioning, ModelConfig
from protoglot.model.network import LanguageModel
from protoglot.storage import write_atomically
from protoglot.trained import TrainedModel, load_with_state, newest_checkpoint
from protoglot.training.budget import Budget
from protoglot.training.checkpoints import lock_run, remove_stale
from protoglot.training.config import TrainingConfig
from protoglot.training.data import Inventory, TrainingData, read_training_data
from protoglot.training.loop import Ending, Trainer
from protoglot.training.monitor import Monitor

RUN = "run.json"
_FORMAT = "protoglot-run"
_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """All that decides the outcome of a run, but the text itself."""

    model: ModelConfig
    training: TrainingConfig
    budget: Budget
    hold_out: str
    num_validation: int
    inventory: Inventory
    seed: int
    corpus: str
    """The corpus as the user named it."""

    languages: tuple[str, ...]
    """Codes of the languages read."""

    def to_json(self) -> dict[str, object]:
        """The plan as JSON values."""
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "model": self.model.to_json(),
            "training": self.training.to_json(),
            "budget": str(self.budget),
            "hold_out": self.hold_out,
            "num_validation": self.num_validation,
            "inventory": str(self.inventory),
            "seed": self.seed,
            "corpus": self.corpus,
            "languages": list(self.languages),
        }

    @classmethod
    def load(cls, run: Path) -> "RunPlan":
        """The plan of an earlier run.

        Raises:
            StorageError: if there is none or it is damaged.
        """
        path = run / RUN
        try:
            value = json.loads(path.read_bytes())
            if value["format"] != _FORMAT or value["version"] != _VERSION:
                raise StorageError(f"{path}: not the plan of a run of this version")
            return cls(
                model=ModelConfig.from_json(value["model"], name=str(path)),
                training=TrainingConfig.from_json(value["training"], name=str(path)),
                budget=Budget.parse(str(value["budget"])),
                hold_out=value["hold_out"],
                num_validation=value["num_validation"],
                inventory=Inventory(value["inventory"]),
                seed=value["seed"],
                corpus=value["corpus"],
                languages=tuple(value["languages"]),
            )
        except FileNotFoundError as error:
            raise StorageError(f"{run}: no {RUN} in it; wanted the directory of an earlier run") from error
        except OSError as error:
            raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
        except (ConfigError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise StorageError(f"{path}: damaged ({error!r}); wanted the plan of a run") from error


def train(
    corpus: Corpus,
    plan: RunPlan,
    run: Path,
    *,
    resume: bool,
    device: str,
    monitor: Monitor,
    stop_asked: Callable[[], bool] = lambda: False,
    on_language: Callable[[str], None] | None = None,
) -> tuple[TrainedModel, Ending, Mapping[str, Any]]:
    """Train a model, or go on training it.

    Args:
        corpus: text.
        plan: settings; with ``resume`` they must be those of the earlier run, but for its budget.
        run: directory of the run, for this process alone while it runs.
        resume: go on from the newest checkpoint, if there is one.
        device: where to compute.
        monitor: whom to tell.
        stop_asked: looked at after every step.
        on_language: called with each code as its text is read.

    Returns:
        The model, why the run ended, and the state of its training.

    Raises:
        TrainingError: if another process writes to ``run``, if it holds a run and ``resume`` is false, or if the
            settings or the text differ.
    """
    lock = lock_run(run)
    try:
        _check_directory(run, plan, resume=resume)
        fold = fold_for(
            plan.languages,
            plan.hold_out,
            num_validation=plan.num_validation,
            seed=plan.seed,
            iso639_3={record.code: record.iso639_3 for record in corpus.languages()},
        )
        data = read_training_data(
            corpus,
            fold,
            inventory=plan.inventory,
            with_features=plan.model.conditioning is not Conditioning.BARE,
            validation_characters=plan.training.validation_characters,
            on_language=on_language,
        )
        trained, state, optimizer = _start(plan, data, run, device=device)
        trainer = Trainer(
            trained,
            data,
            plan.training,
            plan.budget,
            run=run,
            seed=plan.seed,
            monitor=monitor,
            stop_asked=stop_asked,
        )
        if state:
            trainer.restore(state, optimizer)
            monitor.message(f"resuming at step {trainer.state.step:,}")
        # Not before everything is known to fit: a mistyped setting must not take the directory.
        write_atomically(run / RUN, json.dumps(plan.to_json(), indent=1) + "\n")
        remove_stale(run)
        ending = trainer.run()
        return (
            trained,
            ending,
            {
                "step": trainer.state.step,
                "characters": trainer.state.num_characters,
                "seconds": trainer.state.seconds,
            },
        )
    finally:
        lock.release()


def _check_directory(run: Path, plan: RunPlan, *, resume: bool) -> None:
    """Refuse to mix two runs in one directory."""
    if not (run / RUN).exists():
        return
    if not resume:
        raise TrainingError(f"{run}: holds a run already; wanted a new directory, or --resume")
    before = replace(RunPlan.load(run), budget=plan.budget, corpus=plan.corpus)  # these two may change
    if before != plan:
        old, new = _flatten(before.to_json()), _flatten(plan.to_json())
        differing = sorted(key for key in new if old[key] != new[key])
        raise TrainingError(
            f"{run}: {', '.join(differing)} differ from the run to resume; wanted the same settings"
        )


def _flatten(settings: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Nested settings by their names joined with dots."""
    flat: dict[str, object] = {}
    for key, value in settings.items():
        flat |= _flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def _start(
    plan: RunPlan, data: TrainingData, run: Path, *, device: str
) -> tuple[TrainedModel, dict[str, Any], dict[str, Any]]:
    """A new model, or the newest checkpoint of the run."""
    if newest_checkpoint(run) is not None:
        trained, state, optimizer = load_with_state(run, device=device)
        text = trained.provenance.get("text_sha256")
        if trained.vocabulary != data.vocabulary or trained.fold != data.fold or text != data.text_sha256():
            raise TrainingError(f"{run}: the corpus has changed since; wanted the text of the run to resume")
        return replace(trained, provenance={**trained.provenance, **plan.to_json()}), state, optimizer
    model = LanguageModel(
        plan.model, vocabulary_size=len(data.vocabulary), num_features=data.num_features, seed=plan.seed
    )
    trained = TrainedModel(
        model=model.to(device),
        vocabulary=data.vocabulary,
        languages=data.languages,
        features=data.features,
        fold=data.fold,
        provenance={
            **plan.to_json(),
            "text_sha256": data.text_sha256(),
            "protoglot": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "machine": platform.machine(),
        },
    )
    return trained, {}, {}
