import os
import platform
import subprocess
import sys
import threading
import time

import msgspec
import pytest

from protoglot.study import claims
from protoglot.study.claims import (
    STALE_SECONDS,
    UNWRITTEN_SECONDS,
    Claim,
    claimed,
    is_claimed,
    is_orphaned,
    read_claim,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "unit.json"


def write(path, **changes):
    """A claim by somebody else who is alive, unless changes say otherwise."""
    claim = {"name": "x", "host": platform.node(), "process": os.getppid(), "started": 0.0, "token": "other"}
    path.write_bytes(msgspec.json.encode(Claim(**(claim | changes))))


def age(path, seconds):
    os.utime(path, (time.time() - seconds,) * 2)


def gone():
    """A process that has ended and not been seen to: on Linux a zombie."""
    return subprocess.Popen([sys.executable, "-c", ""])


def test_what_is_claimed_is_not_free_until_it_is_given_back(path):
    with claimed(path, "x") as free:
        assert free
        assert is_claimed(path)
        assert (read_claim(path).name, read_claim(path).process) == ("x", os.getpid())
        with claimed(path, "x") as again:
            assert not again
        assert is_claimed(path)
    assert not is_claimed(path)
    assert not path.exists()


@pytest.mark.parametrize("attempt", range(20))
def test_of_many_who_want_it_at_once_one_gets_it(path, attempt):
    write(path)
    age(path, 2 * STALE_SECONDS)
    start, ended = threading.Barrier(8), threading.Barrier(8)
    got = []

    def want():
        start.wait()
        with claimed(path, "x") as free:
            got.append(free)
            ended.wait()

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == [False] * 7 + [True]
    assert list(path.parent.iterdir()) == []


def test_a_claim_of_a_process_that_is_gone_is_taken_over(path):
    process = gone()
    write(path, process=process.pid)
    deadline = time.monotonic() + 30
    while is_claimed(path):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert is_orphaned(path)
    process.wait()
    with claimed(path, "x") as free:
        assert free


def test_on_another_host_only_the_age_counts(path):
    write(path, host="elsewhere", process=2**22 + 1)
    assert is_claimed(path)
    assert not is_orphaned(path)
    age(path, STALE_SECONDS + 1)
    with claimed(path, "x") as free:
        assert free


def test_who_was_killed_while_taking_over_is_in_the_way_for_seconds(path):
    write(path)
    age(path, 2 * STALE_SECONDS)
    guard = path.with_suffix(".taking")
    guard.touch()
    for seconds, wanted in ((0, False), (2 * UNWRITTEN_SECONDS, False), (0, True)):
        if guard.exists():
            age(guard, seconds)
        with claimed(path, "x") as free:
            assert free is wanted


@pytest.mark.parametrize("content", [b"", b"{", b"[]"])
def test_a_claim_that_is_being_written_is_one(path, content):
    path.write_bytes(content)
    with claimed(path, "x") as free:
        assert not free
    age(path, UNWRITTEN_SECONDS + 1)
    with claimed(path, "x") as free:
        assert free


def test_the_heart_beats_for_its_own_claim_alone(path, monkeypatch):
    monkeypatch.setattr(claims, "_SECONDS_BETWEEN_BEATS", 0.01)
    with claimed(path, "x"):
        age(path, 2 * STALE_SECONDS)
        deadline = time.monotonic() + 30
        while not is_claimed(path):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        write(path)
        time.sleep(0.05)
        age(path, 2 * STALE_SECONDS)
        time.sleep(0.05)
        assert not is_claimed(path)
    assert read_claim(path).token == "other"  # and so it is not removed
