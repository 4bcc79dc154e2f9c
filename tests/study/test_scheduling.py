import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from protoglot.errors import ProtoglotError
from protoglot.study.progress import State, states_of
from protoglot.study.scheduling import MAX_DEATHS, Schedule
from protoglot.study.session import open_study
from study.fake import run_in_processes, starts, unit_of, write_study

TESTS = Path(__file__).parent.parent
NUM_KILLS = 3


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """A study that nothing has disturbed."""
    folder = tmp_path_factory.mktemp("straight")
    run_in_processes(*write_study(folder), folder / "study", 2)
    plan = open_study(folder / "study")[0].plan
    assert sorted(starts(folder / "study")) == sorted(unit.name for unit in plan)
    return folder / "study"


def rows_of(directory):
    """All rows but the environment, which tells the time."""
    found, store = open_study(directory)
    assert set(states_of(store, found.plan).values()) == {State.DONE}
    assert not list((directory / "units").glob(".*"))
    assert store.running() == {}
    return [row for unit in found.plan for row in store.rows(unit.key)]


def start(config, corpus, directory, num_workers, runner="make_runner"):
    arguments = [str(config), str(corpus), str(directory), str(num_workers), runner]
    return subprocess.Popen([sys.executable, "-m", "study.fake", *arguments], cwd=TESTS, start_new_session=True)


def wait_for(condition, process):
    while not condition():
        assert process.poll() is None
        time.sleep(0.01)


def test_any_executor_will_do(tmp_path, straight):
    directory = tmp_path / "study"
    run_in_processes(*write_study(tmp_path), directory, 1, stop_asked=lambda: True)
    found, store = open_study(directory)
    facts = replace(found.facts(1), runner="study.fake:make_runner")
    with ThreadPoolExecutor(3) as pool:
        assert Schedule(store, found.plan, facts, num_workers=3).work_through(pool)
    assert rows_of(directory) == rows_of(straight)


def test_a_study_that_is_killed_again_and_again_ends_as_if_it_had_not_been(tmp_path, straight):
    config, corpus = write_study(tmp_path)
    killed = tmp_path / "killed"
    plan = open_study(straight)[0].plan
    generator = random.Random(0)
    log = killed.with_suffix(".log")
    for attempt in range(NUM_KILLS):
        process = start(config, corpus, killed, 2)
        done_before = len(starts(killed))
        while process.poll() is None and len(starts(killed)) <= done_before + attempt:
            time.sleep(0.01)
        time.sleep(generator.uniform(0, 0.05))
        os.killpg(process.pid, signal.SIGKILL)  # workers and all
        process.wait()
    assert len(starts(killed)) < 2 * len(plan)
    assert start(config, corpus, killed, 2).wait() == 0
    assert rows_of(killed) == rows_of(straight)
    ends = [line for line in log.read_text().splitlines() if line.startswith("end")]
    # A unit may have ended in its own eyes and been killed before it was stored: at most one per worker and kill.
    assert len(plan) <= len(ends) <= len(plan) + 2 * NUM_KILLS


def test_two_commands_share_a_directory(tmp_path, straight):
    config, corpus = write_study(tmp_path)
    directory = tmp_path / "study"
    commands = [start(config, corpus, directory, 1) for _ in range(2)]
    assert [command.wait() for command in commands] == [0, 0]
    assert rows_of(directory) == rows_of(straight)
    assert len(starts(directory)) == len(set(starts(directory)))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_the_same_command_goes_on(tmp_path, straight, number):
    config, corpus = write_study(tmp_path)
    directory = tmp_path / "study"
    process = start(config, corpus, directory, 2, "make_slow_runner")
    wait_for(lambda: list(directory.glob("unfinished/*/counted")), process)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does, to workers too
    else:
        process.send_signal(number)
    assert process.wait() == 0
    found, store = open_study(directory)
    assert State.RUNNING not in states_of(store, found.plan).values()
    (kept, *_) = [len(path.read_bytes()) for path in directory.glob("unfinished/*/counted")]
    assert 0 < kept < 100
    assert not list((directory / "failures").iterdir())
    assert start(config, corpus, directory, 2).wait() == 0
    assert rows_of(directory) == rows_of(straight)


def test_workers_save_and_end_when_the_one_that_started_them_is_gone(tmp_path):
    directory = tmp_path / "study"
    process = start(*write_study(tmp_path), directory, 1, "make_slow_runner")
    wait_for(lambda: list(directory.glob("unfinished/*/counted")), process)
    process.kill()
    process.wait()
    found, store = open_study(directory)
    deadline = time.monotonic() + 20
    while list((directory / "claims").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    states = states_of(store, found.plan)
    assert store.running() == {}
    time.sleep(0.3)
    assert states_of(store, found.plan) == states
    assert State.WAITING in states.values()


def test_a_process_that_dies_is_replaced_and_its_unit_done_anew_twice(tmp_path):
    directory = tmp_path / "study"
    run_in_processes(*write_study(tmp_path), directory, 2, runner="make_deadly_runner")
    found, store = open_study(directory)
    states = states_of(store, found.plan)
    for name, state in states.items():
        if name.startswith("prior oest"):
            assert state is State.FAILED
            assert "its process was killed 3 times" in store.failure(unit_of(found, name).key).reason
            assert starts(directory).count(name) == MAX_DEATHS
        else:
            needs = unit_of(found, name).needs.values()
            assert state is (State.BLOCKED if any(need.startswith("prior oest") for need in needs) else State.DONE)


def test_a_worker_that_cannot_work_is_an_error_of_one_line(tmp_path):
    with pytest.raises(ProtoglotError, match="neither a path nor a known name"):
        run_in_processes(*write_study(tmp_path), tmp_path / "study", 1, runner="make_complaining_runner")
