"""Whatever happens while a checkpoint is written, one that loads is there."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from protoglot.errors import StorageError, TrainingError
from protoglot.trained import BEST, CHECKPOINTS, LATEST, load_with_state, newest_checkpoint, save_trained
from protoglot.training.checkpoints import (
    LOCK,
    lock_run,
    optimizer_as_arrays,
    remove_stale,
    restore_optimizer,
    save_checkpoint,
)
from protoglot.training.config import TINY
from protoglot.training.loop import make_optimizer
from tiny import tiny_trained

# Writing a few hundred kB takes long enough to be interrupted.
LARGER = {"hidden_size": 64, "embedding_size": 32}


def save_step(run: Path, trained, step: int) -> None:
    """A checkpoint in which everything is the number of its step."""
    with torch.no_grad():
        for weight in trained.model.parameters():
            weight.fill_(step)
    moments = {f"exp_avg.{n}": np.full(w.shape, step, np.float32) for n, w in trained.model.named_parameters()}
    save_checkpoint(run, trained, state={"step": step}, optimizer=moments)


def loaded_step(run: Path) -> int:
    """The step of the newest checkpoint, of which every number agrees."""
    trained, state, moments = load_with_state(run)
    step = state["step"]
    for weight in trained.model.parameters():
        assert (weight == step).all()
    for moment in moments.values():
        assert (moment == step).all()
    assert newest_checkpoint(run).name == f"step-{step:08}"
    return step


# Death at any moment.


def kill_while_saving(run: Path, times: int) -> int:
    """Kill a process that saves one checkpoint after the other; return how often it died within a save."""
    delays = random.Random(0)
    trained = tiny_trained(**LARGER)
    started = time.monotonic()
    save_step(run, trained, 1)
    save_step(run, trained, 2)
    duration = (time.monotonic() - started) / 2
    step, num_within = 2, 0
    for _ in range(times):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:  # the child never returns
            try:
                os.close(reader)
                lock = lock_run(run)
                for number in range(step + 1, step + 1000):
                    os.write(writer, number.to_bytes(4))
                    save_step(run, trained, number)
                lock.release()
            finally:
                os._exit(1)
        os.close(writer)
        announced = int.from_bytes(os.read(reader, 4))
        time.sleep(delays.uniform(0, 3 * duration))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the child failed before it was killed"
        while number := os.read(reader, 4):
            announced = int.from_bytes(number)
        os.close(reader)
        num_within += len(list((run / CHECKPOINTS).iterdir())) > 1
        found = loaded_step(run)
        assert found in (announced - 1, announced)  # the checkpoint before, or the one being written
        assert found >= step
        step = found
    return num_within


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_checkpoint_survives_death_at_any_moment(tmp_path):
    num_within = kill_while_saving(tmp_path / "run", times=100)
    assert num_within >= 20  # else the test has not tested what it says
    lock_run(tmp_path / "run").release()
    remove_stale(tmp_path / "run")
    assert len(list((tmp_path / "run" / CHECKPOINTS).iterdir())) == 1
    assert {path.name for path in (tmp_path / "run").iterdir()} == {CHECKPOINTS, LATEST, LOCK}


# Saving.


def test_only_the_newest_checkpoint_stays(tmp_path):
    trained = tiny_trained()
    for step in (1, 2, 5, 100_000_000):
        save_step(tmp_path, trained, step)
        assert loaded_step(tmp_path) == step
        assert [path.name for path in (tmp_path / CHECKPOINTS).iterdir()] == [f"step-{step:08}"]


def test_the_old_one_goes_only_when_the_new_one_is_pointed_to(tmp_path, monkeypatch):
    save_step(tmp_path, tiny_trained(), 1)

    def fail(*arguments):
        raise StorageError("full")

    monkeypatch.setattr("protoglot.training.checkpoints.write_atomically", fail)
    with pytest.raises(StorageError, match="full"):
        save_step(tmp_path, tiny_trained(), 2)
    assert loaded_step(tmp_path) == 1
    monkeypatch.undo()
    save_step(tmp_path, tiny_trained(), 2)  # what is left of the first attempt is no obstacle
    assert loaded_step(tmp_path) == 2


def test_the_same_step_is_not_written_twice(tmp_path):
    save_step(tmp_path, tiny_trained(), 3)
    before = (tmp_path / CHECKPOINTS / "step-00000003").stat().st_mtime_ns
    save_step(tmp_path, tiny_trained(), 3)
    assert (tmp_path / CHECKPOINTS / "step-00000003").stat().st_mtime_ns == before


def test_what_a_crash_left_is_removed_and_nothing_else(tmp_path):
    save_step(tmp_path, tiny_trained(), 3)
    save_trained(tmp_path / BEST, tiny_trained())
    (tmp_path / CHECKPOINTS / "..step-00000004.new.ab12.partial").mkdir()
    (tmp_path / CHECKPOINTS / "step-00000004").mkdir()
    (tmp_path / f".{BEST}.old").mkdir()
    (tmp_path / f"..{BEST}.new.ab12.partial").mkdir()
    (tmp_path / f".{LATEST}.ab12.partial").write_text("x")
    (tmp_path / "notes.txt").write_text("mine")
    remove_stale(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([BEST, CHECKPOINTS, LATEST, "notes.txt"])
    assert loaded_step(tmp_path) == 3


def test_the_best_model_comes_back_if_a_crash_came_while_it_was_replaced(tmp_path):
    save_trained(tmp_path / f".{BEST}.old", tiny_trained(seed=1))
    save_trained(tmp_path / f".{BEST}.new", tiny_trained(seed=2))
    remove_stale(tmp_path)
    assert load_with_state(tmp_path / BEST)[0].provenance["seed"] == 1
    assert [path.name for path in tmp_path.iterdir()] == [BEST]


def test_a_pointer_to_nothing_removes_nothing(tmp_path):
    save_step(tmp_path, tiny_trained(), 3)
    (tmp_path / LATEST).write_text(json.dumps({"checkpoint": "step-00000009"}))
    remove_stale(tmp_path)
    assert [path.name for path in (tmp_path / CHECKPOINTS).iterdir()] == ["step-00000003"]


# The optimiser.


def optimizer_with_moments(trained):
    optimizer = make_optimizer(trained.model, TINY, num_characters=100)
    for weight in trained.model.parameters():
        weight.grad = torch.ones_like(weight)
    optimizer.step()
    return optimizer, {weight: name for name, weight in trained.model.named_parameters()}


def test_an_optimiser_is_restored_whole():
    trained = tiny_trained("oest")
    optimizer, names = optimizer_with_moments(trained)
    arrays = optimizer_as_arrays(optimizer, names)
    other = make_optimizer(trained.model, TINY, num_characters=100)
    restore_optimizer(other, arrays, dict(trained.model.named_parameters()))
    for weight, values in optimizer.state.items():
        assert values.keys() == other.state[weight].keys()
        for key, value in values.items():
            assert torch.equal(value, other.state[weight][key])
            assert value.dtype == other.state[weight][key].dtype


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda arrays: arrays.pop("exp_avg.projection"), "exp_avg.projection missing or surplus"),
        (lambda arrays: arrays.update({"exp_avg.x": np.ones(1)}), "exp_avg.x missing or surplus"),
        (lambda arrays: arrays.update({"exp_avg.projection": np.ones((2, 2))}), r"exp_avg.projection: .*\(2, 2\)"),
        (lambda arrays: arrays.update({"step.projection": np.ones(1)}), r"step.projection: .*\(1,\)"),
        (lambda arrays: arrays.update({"step.projection": np.asarray(3)}), "step.projection: torch.int64"),
    ],
)
def test_moments_of_another_model_are_refused(change, named):
    trained = tiny_trained()
    optimizer, names = optimizer_with_moments(trained)
    arrays = optimizer_as_arrays(optimizer, names)
    change(arrays)
    with pytest.raises(StorageError, match=f"optimizer state: {named}"):
        restore_optimizer(optimizer, arrays, dict(trained.model.named_parameters()))


# One run, one process.

HOLD = """
import sys, time
from pathlib import Path
from protoglot.training.checkpoints import lock_run
lock = lock_run(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""


def test_a_second_run_in_one_directory_is_refused(tmp_path):
    lock = lock_run(tmp_path / "run")
    with pytest.raises(TrainingError, match="run: another run is writing here; wanted a directory of its own"):
        lock_run(tmp_path / "run")
    lock.release()
    lock_run(tmp_path / "run").release()


def test_a_lock_dies_with_its_process(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "run")], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(TrainingError, match="another run is writing here"):
            lock_run(tmp_path / "run")
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    lock_run(tmp_path / "run").release()


def test_a_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(StorageError, match="cannot be written"):
            lock_run(path)
