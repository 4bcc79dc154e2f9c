"""A study that learns nothing: its units take a moment and give numbers made from their keys."""

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from protoglot.corpus.opening import open_corpus
from protoglot.report.rows import ScoreRow
from protoglot.study.doing import Ending, Place, PlanFacts, attempt
from protoglot.study.plan import Unit
from protoglot.study.scheduling import run_units
from protoglot.study.session import start_study
from protoglot.study.store import Outcome

CONFIG = """
name = "fake"
preset = "tiny"
partitions = 2
held_out = [1, 2]

[training]
budget = "1000-characters"
num_validation = 1

[scoring]
generated_characters = 0

[[zero_shot]]
conditionings = ["bare", "oest"]
methods = ["univ"]

[[few_shot]]
conditionings = ["bare"]
methods = ["fitu", "univ", "n-gram"]
sentences = [5]
samples = 2

[[joint]]
conditionings = ["bare"]
"""


WORDS = {
    "eus": ("kaixo", "etxe", "zu", "eta"),
    "fra": ("été", "le", "chat", "où"),
    "tur": ("kız", "üç", "ev", "bir"),
    "wol": ("ñaw", "bët", "ak", "xale"),
    "zul": ("izulu", "umuntu", "nga", "wena"),
}


def write_corpus(folder: Path, num_sentences: int = 30) -> Path:
    """Text in five languages: without the help of torch, for every worker process imports this module."""
    folder.mkdir(parents=True)
    for code, words in WORDS.items():
        sentences = [
            " ".join([*(words[number // 4**place % 4] for place in range(3)), str(number)])
            for number in range(num_sentences)
        ]
        (folder / f"{code}.txt").write_text("\n".join(sentences), encoding="utf-8")
    return folder


def write_study(folder: Path, config: str = CONFIG) -> tuple[Path, Path]:
    """A configuration and a corpus on disk."""
    corpus = write_corpus(folder / "text")
    path = folder / "fake.toml"
    path.write_text(config, encoding="utf-8")
    return path, corpus


class FakeRunner:
    """Notes every start and end beside the study's directory; fails where a file there says so."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds

    def __call__(self, unit: Unit, place: Place) -> Outcome:
        directory = place.unfinished.parent.parent
        failing = directory.with_suffix(".failing")
        note(directory, "start", unit)
        (place.folder / "half.txt").write_text(unit.key, encoding="ascii")
        time.sleep(self._seconds)
        place.stop_if_asked()
        if failing.is_file():
            for word in failing.read_text().split("\n"):
                if word and word in unit.name:
                    raise ValueError(f"told to fail\nby {word}")
        for path in place.needs.values():
            assert (path / "half.txt").read_text(encoding="ascii") == path.name
        note(directory, "end", unit)
        row = ScoreRow(
            language=unit.name,
            partition=None,
            regime="joint",
            conditioning=None,
            method="joint",
            network=None,
            sentences=None,
            sample=None,
            seed=0,
            nats=int(unit.key[:8], 16) / 7,
            characters=1,
            seconds=0,
            unit=unit.key[:16],
        )
        return Outcome([row])


def note(directory: Path, what: str, unit: Unit) -> None:
    descriptor = os.open(directory.with_suffix(".log"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, f"{what} {unit.name}\n".encode())  # one write: lines of several processes do not mix
    finally:
        os.close(descriptor)


def starts(directory: Path) -> list[str]:
    log = directory.with_suffix(".log")
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    return [line.removeprefix("start ") for line in lines if line.startswith("start ")]


def make_runner(facts: PlanFacts) -> FakeRunner:
    return FakeRunner(seconds=0.02)


def make_deadly_runner(facts: PlanFacts) -> "DeadlyRunner":
    return DeadlyRunner()


def make_slow_runner(facts: PlanFacts) -> "SlowRunner":
    return SlowRunner()


def make_complaining_runner(facts: PlanFacts) -> FakeRunner:
    open_corpus("nowhere at all")
    return FakeRunner()


class DeadlyRunner(FakeRunner):
    """Dies with its process at units that have not been tried often enough."""

    def __call__(self, unit: Unit, place: Place) -> Outcome:
        tries = starts(place.unfinished.parent.parent).count(unit.name)
        if unit.name.startswith("prior oest") or (unit.name.startswith("prior bare") and tries < 2):
            note(place.unfinished.parent.parent, "start", unit)
            os.kill(os.getpid(), 9)
        return super().__call__(unit, place)


class SlowRunner(FakeRunner):
    """Counts to a hundred, and goes on from where it was stopped."""

    def __call__(self, unit: Unit, place: Place) -> Outcome:
        place.unfinished.mkdir(exist_ok=True)
        counted = place.unfinished / "counted"
        while (number := len(counted.read_bytes()) if counted.is_file() else 0) < 100:
            place.stop_if_asked()
            counted.write_bytes(bytes(number + 1))
            time.sleep(0.02)
        return super().__call__(unit, place)


def work(study, store, runner=None, stop_asked=lambda: False, plan=None) -> list[Ending]:
    """Do what can be done, one unit after the other in this process."""
    runner = runner or FakeRunner()
    endings = []
    for unit in plan or study.plan:
        if all(store.is_done(key) for key in unit.keys_of_needs.values()) and store.failure(unit.key) is None:
            endings.append(attempt(unit, runner, store, stop_asked))
            if endings[-1] is Ending.INTERRUPTED:
                break
    return endings


def unit_of(study, name: str) -> Unit:
    return next(unit for unit in study.plan if unit.name == name)


def run_in_processes(
    config: Path, corpus: Path, directory: Path, num_workers: int, runner: str = "make_runner", **more
) -> None:
    found, _ = start_study(config, str(corpus), directory)
    facts = replace(found.facts(1), runner=f"study.fake:{runner}")
    run_units(found.plan, facts, directory, num_workers=num_workers, **more)


if __name__ == "__main__":
    from protoglot.cli.stopping import stop_on_signals

    with stop_on_signals(lambda: None) as stop_asked:
        paths = [Path(each) for each in sys.argv[1:4]]
        run_in_processes(*paths, int(sys.argv[4]), sys.argv[5], stop_asked=stop_asked)
