"""Learning curves of runs, and what they reach: the picture and the table in the documentation.

``keep RUN NAME --scores ROWS.csv`` copies the metrics of a run, and the rows that ``protoglot evaluate RUN --out
ROWS.csv`` wrote, into ``benchmarks/results/learning/``; ``draw`` makes the picture and the table from all that is
kept there.
"""

import argparse
import csv
import json
import shutil
from pathlib import Path

from environment import RESULTS

from protoglot.storage import write_atomically
from protoglot.training.monitor import METRICS, read_metrics

KEPT = RESULTS / "learning"
DOCS = Path(__file__).parent.parent / "docs"
PICTURE = DOCS / "images" / "learning-curve.svg"
TABLE = DOCS / "learning-table.md"
# Colour-blind safe (Okabe and Ito), told apart by line style as well.
STYLES = [("#0072B2", "-"), ("#D55E00", "--"), ("#009E73", "-."), ("#CC79A7", ":")]
SMOOTHED = 20  # lines of metrics averaged into one point


def main() -> None:
    """Keep or draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    keeping = actions.add_parser("keep")
    keeping.add_argument("run", type=Path)
    keeping.add_argument("name")
    keeping.add_argument("--scores", type=Path, required=True)
    actions.add_parser("draw")
    arguments = parser.parse_args()
    if arguments.action == "keep":
        print(f"kept {keep(arguments.run, arguments.name)}")
        shutil.copyfile(arguments.scores, KEPT / f"{arguments.name}.csv")
    else:
        print(f"drawn {draw()}")
        write_atomically(TABLE, make_table())
        print(f"written {TABLE}")


def keep(run: Path, name: str) -> Path:
    """Metrics of a run, thinned out: all validation scores, and means of the training scores between."""
    kept, recent = [], []
    for line in read_metrics(run / METRICS):
        if "validation" in line:
            kept.append(line)
            continue
        recent.append(line)
        if len(recent) == SMOOTHED:
            kept.append({**recent[-1], "bits_per_character": mean(recent), "averaged_lines": SMOOTHED})
            recent = []
    path = KEPT / f"{name}.jsonl"
    write_atomically(path, "".join(json.dumps(line) + "\n" for line in kept))
    return path


def mean(lines: list[dict[str, float]]) -> float:
    """Mean bits per character of some lines; each stands for as many characters."""
    return sum(line["bits_per_character"] for line in lines) / len(lines)


def make_table() -> str:
    """What the kept runs reached, as a Markdown table."""
    lines = [
        "| run | characters read | minutes | seen languages | validation languages | held-out languages |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for path in sorted(KEPT.glob("*.csv")):
        last = read_metrics(path.with_suffix(".jsonl"))[-1]
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        cells = [path.stem, f"{last['characters'] / 1e6:.1f} M", f"{last['seconds'] / 60:.1f}"]
        for role in ("training", "validation", "held_out"):
            bits = [float(row["bits_per_character"]) for row in rows if row["role"] == role]
            cells.append(f"{sum(bits) / len(bits):.3f} ({len(bits)})" if bits else "none")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def draw() -> Path:
    """The picture, from what is kept."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams.update({"font.size": 11, "svg.hashsalt": "protoglot", "svg.fonttype": "none"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), constrained_layout=True)
    for (colour, style), path in zip(STYLES, sorted(KEPT.glob("*.jsonl")), strict=False):
        lines = read_metrics(path)
        train = [line for line in lines if "bits_per_character" in line]
        validation = [line for line in lines if "validation" in line]
        left.plot(
            [line["characters"] / 1e6 for line in train],
            [line["bits_per_character"] for line in train],
            style,
            color=colour,
            label=path.stem,
        )
        right.plot(
            [line["characters"] / 1e6 for line in validation],
            [line["validation_bits_per_character"] for line in validation],
            style,
            color=colour,
            marker="o",
            label=path.stem,
        )
    left.set(title="training languages, as they are read", ylabel="bits per character")
    right.set(title="validation languages, never trained on", ylabel="bits per character")
    for axes in (left, right):
        axes.set_xlabel("million characters read")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, metadata={"Date": None})
    return PICTURE


if __name__ == "__main__":
    main()
