import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from protoglot.errors import ProtoglotError
from protoglot.study.scheduling import State, states_of
from protoglot.study.session import open_study
from study.fake import run_in_processes, starts, write_study

TESTS = Path(__file__).parent.parent
NUM_KILLS = 3


def rows_of(directory):
    """All rows but the environment, which tells the time."""
    found, store = open_study(directory)
    assert set(states_of(store, found.plan, found.keys).values()) == {State.DONE}
    return [row for unit in found.plan for row in store.rows(found.keys[unit.name])]


def start(config, corpus, directory, num_workers):
    return subprocess.Popen(
        [sys.executable, "-m", "study.fake", str(config), str(corpus), str(directory), str(num_workers)],
        cwd=TESTS,
        start_new_session=True,
    )


def test_a_study_that_is_killed_again_and_again_ends_as_if_it_had_not_been(tmp_path):
    config, corpus = write_study(tmp_path)
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    run_in_processes(config, corpus, straight, 2)
    plan = open_study(straight)[0].plan
    assert sorted(starts(straight)) == sorted(unit.name for unit in plan)  # two workers, no unit twice

    generator = random.Random(0)
    log = killed.with_suffix(".log")
    for attempt in range(NUM_KILLS):
        process = start(config, corpus, killed, 2)
        done_before = len(starts(killed)) if log.is_file() else 0
        while process.poll() is None and (not log.is_file() or len(starts(killed)) <= done_before + attempt):
            time.sleep(0.01)
        time.sleep(generator.uniform(0, 0.05))
        os.killpg(process.pid, signal.SIGKILL)  # workers and all
        process.wait()
    assert len(starts(killed)) < 2 * len(plan)
    finishing = start(config, corpus, killed, 2)
    assert finishing.wait() == 0
    assert rows_of(killed) == rows_of(straight)
    ends = [line for line in log.read_text().splitlines() if line.startswith("end")]
    # A unit may have ended in its own eyes and been killed before it was stored: at most one per worker and kill.
    assert len(plan) <= len(ends) <= len(plan) + 2 * NUM_KILLS
    assert not list((killed / "units").glob(".*"))


def test_workers_stop_when_the_one_that_started_them_is_gone(tmp_path):
    config, corpus = write_study(tmp_path)
    directory = tmp_path / "study"
    process = start(config, corpus, directory, 1)
    log = directory.with_suffix(".log")
    while not log.is_file():
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    found, store = open_study(directory)
    deadline = time.monotonic() + 10
    while store.running() and time.monotonic() < deadline:
        time.sleep(0.05)
    before = len(starts(directory))
    time.sleep(0.3)
    assert len(starts(directory)) == before < len(found.plan)


def test_a_process_that_dies_fails_its_unit_and_is_replaced(tmp_path):
    config, corpus = write_study(tmp_path)
    directory = tmp_path / "study"
    run_in_processes(config, corpus, directory, 1, runner="study.fake:make_deadly_runner")
    found, store = open_study(directory)
    states = states_of(store, found.plan, found.keys)
    for unit in found.plan:
        if unit.name.startswith("prior"):
            assert states[unit.name] is State.FAILED
            assert "signal 9 (SIGKILL)" in store.failure(found.keys[unit.name]).reason
        else:
            assert states[unit.name] is (State.BLOCKED if "prior" in unit.needs else State.DONE)


def test_a_worker_that_cannot_work_is_an_error_of_one_line(tmp_path):
    config, corpus = write_study(tmp_path)
    with pytest.raises(ProtoglotError, match="neither a path nor a known name"):
        run_in_processes(config, corpus, tmp_path / "study", 1, runner="study.fake:make_complaining_runner")
