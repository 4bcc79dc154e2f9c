"""How quick a reader is: counting, scoring, a page of a new language, a keystroke, and what it takes on disk.

All is measured in one run on text that is installed with protoglot, each part several times in turn, and the best is
kept; ratios are to counting alone. A fresh process shows what a user waits for, and that PyTorch is not imported.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WANTED = {
    "reading, characters/s": "100,000 (counting alone)",
    "scoring, characters/s": "20,000",
    "usable after 100 sentences, s": "1 (--fast)",
    "keystroke, ms": "10",
    "reader on disk, MB": "2",
}
FRESH = """
import sys, time
start = time.perf_counter()
from protoglot.reading.reader import Reader
from protoglot.reading.scorer import Scorer
reader = Reader(Scorer.load(__import__("pathlib").Path(sys.argv[1])), with_letters=sys.argv[2] == "letters")
text = sys.stdin.buffer.read().decode("utf-8")
loaded = time.perf_counter()
reader.read(text)
reader.predict()
print(loaded - start, time.perf_counter() - loaded, int("torch" in sys.modules))
"""


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--languages", default="msa,cat,yor", help="of the corpus that is installed with protoglot"
    )
    parser.add_argument("--scorer", type=Path, help="directory of another scorer than the installed one")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many is kept [default: 3]")
    parser.add_argument("--keystrokes", type=int, default=300)
    parser.add_argument("--no-save", action="store_true", help="print alone")
    arguments = parser.parse_args()
    result = {language: measure(language, arguments) for language in filter(None, arguments.languages.split(","))}
    print(make_table(result))
    for name, wanted in WANTED.items():
        print(f"wanted: {name}: {wanted}")
    if not arguments.no_save:
        from environment import save_result  # loads PyTorch, so last

        print(f"saved {save_result('speed-reading', {'wanted': WANTED, 'languages': result})}")


def measure(language: str, arguments: argparse.Namespace) -> dict[str, float]:
    """All figures of a language."""
    from reading_systems import ppmd_size

    from protoglot.corpus.opening import open_corpus
    from protoglot.reading.evidence import Evidence
    from protoglot.reading.reader import Reader
    from protoglot.reading.scorer import Scorer
    from protoglot.reading.shipped import shipped_scorer_path

    path = arguments.scorer or shipped_scorer_path()
    scorer = Scorer.load(path)
    sentences = list(open_corpus("eld").sentences(language))
    page = joined(random.Random(1).sample(sentences[:800], 100))
    text, typed = joined(sentences), joined(sentences[900:])
    reader = Reader(scorer)
    reader.score(page[:1000])  # what is compiled is compiled
    read = Reader(scorer)
    read.read(page)

    def reads(text: str, **options: bool) -> Callable[[], object]:
        return lambda: Reader(scorer, **options).read(text)

    parts: dict[str, tuple[Callable[[], object], int]] = {
        "counting alone": (lambda: Evidence().read(text), len(text)),
        "reading, --fast": (reads(text, with_letters=False), len(text)),
        "reading, with letters": (reads(text), len(text)),
        "reading, no online weights": (reads(text, learn_online=False), len(text)),
        "scoring 100 sentences after a page": (lambda: read.score(typed), len(typed)),
        "PPMd, compressing": (lambda: ppmd_size(text), len(text)),
        "page, --fast": (reads(page, with_letters=False), len(page)),
        "page, with letters": (reads(page), len(page)),
    }
    best = dict.fromkeys(parts, float("inf"))
    for _ in range(arguments.rounds):
        for name, (work, _size) in parts.items():
            start = time.perf_counter()
            work()
            best[name] = min(best[name], time.perf_counter() - start)
    found: dict[str, float] = {"characters": len(text), "characters of the page": len(page)}
    for name, (_, size) in parts.items():
        found[f"{name}, characters/s"] = round(size / best[name])
    for name in ("page, --fast", "page, with letters"):
        found[f"{name}, s"] = round(best[name], 3)
    for kind in ("fast", "letters"):
        found.update(measure_fresh(path, kind, page, arguments.rounds))
    found.update(measure_keystrokes(read, typed[: arguments.keystrokes]))
    with tempfile.TemporaryDirectory() as folder:
        read.save(Path(folder) / "reader")
        found["reader on disk, MB"] = round(size_of(Path(folder) / "reader") / 1e6, 4)
    found["scorer on disk, MB"] = round(size_of(path) / 1e6, 4)
    return found


def measure_fresh(path: Path, kind: str, page: str, rounds: int) -> dict[str, float]:
    """Seconds of a new process from its first import, the best of some."""
    command = [sys.executable, "-c", FRESH, str(path), kind]
    runs: list[list[float]] = []
    for _ in range(rounds):
        output = subprocess.run(command, input=page.encode(), capture_output=True, check=True).stdout
        runs.append([float(part) for part in output.split()])
    loading, reading, has_torch = min(runs, key=lambda run: run[0] + run[1])
    return {
        f"fresh process, {kind}: loading, s": round(loading, 3),
        f"fresh process, {kind}: page to usable model, s": round(reading, 3),
        f"fresh process, {kind}: imports PyTorch": has_torch,
    }


def measure_keystrokes(reader: Any, typed: str) -> dict[str, float]:  # noqa: ANN401 - a Reader, imported late
    """Milliseconds to mark the place, read one character and predict the next; every fourth key is taken back."""
    times, marks = [], []
    reader.predict()
    for number, character in enumerate(typed, start=1):
        start = time.perf_counter()
        marks.append(reader.mark())
        reader.read(character)
        reader.predict()
        times.append(1000 * (time.perf_counter() - start))
        if number % 4 == 0:
            reader.undo(marks[-1])
            reader.forget(marks.pop())
    if marks:
        reader.undo(marks[0])
    while marks:
        reader.forget(marks.pop())
    times.sort()
    return {
        "keystroke, median ms": round(statistics.median(times), 3),
        "keystroke, 95th percentile ms": round(times[int(0.95 * len(times))], 3),
        "keystroke, worst ms": round(times[-1], 3),
    }


def make_table(result: dict[str, dict[str, float]]) -> str:
    """Figures, and characters/s as a ratio to counting alone, as Markdown."""
    lines = [f"| | {' | '.join(result)} | ratio to counting |", "|---|" + "---:|" * (len(result) + 1)]
    for name in next(iter(result.values())):
        values = [found[name] for found in result.values()]
        ratio = ""
        if name.endswith("characters/s"):
            ratios = [found[name] / found["counting alone, characters/s"] for found in result.values()]
            ratio = f"{statistics.fmean(ratios):.3f}"
        cells = [f"{value:,.4g}" if value < 1000 else f"{value:,.0f}" for value in values]
        lines.append(f"| {name} | {' | '.join(cells)} | {ratio} |")
    return "\n".join([*lines, ""])


def size_of(path: Path) -> int:
    """Bytes of the files in a directory."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def joined(sentences: list[str]) -> str:
    """With a line feed after each."""
    return "".join(f"{sentence}\n" for sentence in sentences)


if __name__ == "__main__":
    main()
