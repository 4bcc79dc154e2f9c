"""Checkpoints of a run: always one that loads, whatever happens while another is written.

Each checkpoint has a directory of its own, written aside and renamed; then a small file, replaced atomically,
points to it; then older ones go. A crash at any moment leaves the pointer on a whole checkpoint.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from protoglot.errors import StorageError, TrainingError
from protoglot.storage import write_atomically
from protoglot.trained import BEST, CHECKPOINTS, LATEST, TrainedModel, newest_checkpoint, save_trained

LOCK = "run.lock"
ADAM_STATE = ("step", "exp_avg", "exp_avg_sq")


def lock_run(run: Path) -> FileLock:
    """Keep the directory of a run for this process; released when the process ends, however it ends.

    Raises:
        TrainingError: if another process has it.
    """
    try:
        run.mkdir(parents=True, exist_ok=True)
        lock = FileLock(run / LOCK, timeout=0)
        lock.acquire()
    except Timeout as error:
        raise TrainingError(f"{run}: another run is writing here; wanted a directory of its own") from error
    except OSError as error:
        raise StorageError(f"{run}: cannot be written ({error.strerror or error})") from error
    return lock


def save_checkpoint(
    run: Path, trained: TrainedModel, *, state: Mapping[str, object], optimizer: Mapping[str, NDArray[Any]]
) -> None:
    """Write a checkpoint and make it the newest."""
    before = newest_checkpoint(run)
    name = f"step-{state['step']:08}"
    if before is not None and before.name == name:
        return  # the same step of the same run has the same content
    save_trained(run / CHECKPOINTS / name, trained, state=state, optimizer=optimizer)
    write_atomically(run / LATEST, json.dumps({"checkpoint": name}) + "\n")
    remove_stale(run)


def remove_stale(run: Path) -> None:
    """Remove all checkpoints but the newest, and what a crash left unfinished."""
    stepped_aside = run / f".{BEST}.old"
    if stepped_aside.is_dir() and not (run / BEST).exists():  # a crash came before the new one took its place
        stepped_aside.rename(run / BEST)
    unfinished = [*run.glob(".*.partial"), *run.glob(f".{BEST}.*")]
    newest = newest_checkpoint(run)
    if newest is not None and newest.is_dir():  # a pointer to nothing is no reason to remove the others
        unfinished += [path for path in newest.parent.iterdir() if path != newest]
    for path in unfinished:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def optimizer_as_arrays(optimizer: torch.optim.Optimizer, names: Mapping[torch.Tensor, str]) -> dict[str, Any]:
    """What an optimiser keeps of each weight (Adam: moments and step counts), by the name of the weight."""
    arrays = {}
    for weight, values in optimizer.state.items():
        for key, value in values.items():
            arrays[f"{key}.{names[weight]}"] = value.detach().cpu().numpy()
    return arrays


def restore_optimizer(
    optimizer: torch.optim.Optimizer, arrays: Mapping[str, NDArray[Any]], weights: Mapping[str, torch.Tensor],
    *, keys: Sequence[str] = ADAM_STATE,
) -> None:  # fmt: skip
    """Put back what :func:`optimizer_as_arrays` gave.

    Raises:
        StorageError: if the arrays are not those of this model.
    """
    wanted = {f"{key}.{name}" for key in keys for name in weights}
    if set(arrays) != wanted:
        odd = sorted(set(arrays) ^ wanted)
        raise StorageError(f"optimizer state: {', '.join(odd[:3])} missing or surplus; wanted that of its model")
    for name, weight in weights.items():
        restored = {}
        for key in keys:
            value = torch.tensor(arrays[f"{key}.{name}"])  # in memory that torch aligns, as it was
            shape = torch.Size() if key == "step" else weight.shape
            if value.shape != shape or not value.is_floating_point():
                found = f"{value.dtype} {tuple(value.shape)}"
                raise StorageError(f"optimizer state: {key}.{name}: {found}; wanted floats {tuple(shape)}")
            restored[key] = value.to(weight.device)
        optimizer.state[weight] = restored
