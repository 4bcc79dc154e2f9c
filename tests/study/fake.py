"""A study that learns nothing: its units take a moment and give numbers made from their keys."""

import os
import sys
import time
from pathlib import Path

from protoglot.corpus.opening import open_corpus
from protoglot.study.plan import Unit
from protoglot.study.rows import ScoreRow
from protoglot.study.scheduling import Place
from protoglot.study.session import start_study
from protoglot.study.store import Outcome
from protoglot.study.workers import Assignment, run_workers

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

    def __init__(self, directory: Path, seconds: float = 0.0) -> None:
        self._log = directory.with_suffix(".log")
        self._failing = directory.with_suffix(".failing")
        self._seconds = seconds

    def __call__(self, unit: Unit, place: Place) -> Outcome:
        self._note("start", unit)
        (place.folder / "half.txt").write_text(place.key, encoding="ascii")
        time.sleep(self._seconds)
        place.stop_if_asked()
        if self._failing.is_file():
            for word in self._failing.read_text().split("\n"):
                if word and word in unit.name:
                    raise ValueError(f"told to fail\nby {word}")
        for path in place.needs.values():
            assert (path / "half.txt").read_text(encoding="ascii") == path.name
        self._note("end", unit)
        row = ScoreRow(
            language=unit.name,
            regime="joint",
            method="joint",
            seed=0,
            nats=int(place.key[:8], 16) / 7,
            characters=1,
            seconds=0,
            unit=place.key[:16],
        )
        return Outcome([row])

    def _note(self, what: str, unit: Unit) -> None:
        line = f"{what} {unit.name}\n".encode()
        descriptor = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(descriptor, line)  # one write: lines of several processes do not mix
        finally:
            os.close(descriptor)


def starts(directory: Path) -> list[str]:
    lines = directory.with_suffix(".log").read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("start ") for line in lines if line.startswith("start ")]


def make_runner(assignment: Assignment) -> FakeRunner:
    return FakeRunner(assignment.directory, seconds=0.02)


def make_deadly_runner(assignment: Assignment) -> "DeadlyRunner":
    return DeadlyRunner(assignment.directory)


def make_complaining_runner(assignment: Assignment) -> FakeRunner:
    open_corpus("nowhere at all")
    return FakeRunner(assignment.directory)


class DeadlyRunner(FakeRunner):
    """Dies with its process at one unit."""

    def __call__(self, unit: Unit, place: Place) -> Outcome:
        if unit.name.startswith("prior"):
            os.kill(os.getpid(), 9)
        return super().__call__(unit, place)


def run_in_processes(
    config: Path, corpus: Path, directory: Path, num_workers: int, runner: str = "study.fake:make_runner"
) -> None:
    found, _ = start_study(config, str(corpus), directory)
    run_workers(
        Assignment(
            directory=directory,
            plan=found.plan,
            keys=found.keys,
            corpus=found.corpus,
            digests=found.digests,
            num_threads=1,
            runner=runner,
        ),
        num_workers=num_workers,
    )


if __name__ == "__main__":
    run_in_processes(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
