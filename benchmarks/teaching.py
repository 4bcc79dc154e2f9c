"""How teaching the installed prior to learn in context went: the table in the documentation.

``keep LESSONS.jsonl`` copies what ``protoglot teach`` told into ``benchmarks/results/teaching.jsonl``; ``table`` makes
the table from it.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from environment import RESULTS

from protoglot.storage import write_atomically

KEPT = RESULTS / "teaching.jsonl"
TABLE = Path(__file__).parent.parent / "docs" / "teaching-table.md"


def main() -> None:
    """Keep or tabulate."""
    parser = argparse.ArgumentParser(description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("keep").add_argument("lessons", type=Path)
    actions.add_parser("table")
    arguments = parser.parse_args()
    if arguments.action == "keep":
        write_atomically(KEPT, arguments.lessons.read_bytes())
        print(f"kept {KEPT}")
    else:
        write_atomically(TABLE, make_table(read_rows()))
        print(f"written {TABLE}")


def read_rows() -> list[dict[str, Any]]:
    """What was told, examination by examination."""
    return [json.loads(line) for line in KEPT.read_text().splitlines()]


def make_table(rows: list[dict[str, Any]]) -> str:
    """Bits per character of validation languages, with the share of what the n-gram pays."""
    numbers = [mark["num_sentences"] for mark in rows[0]["validation"]]
    lines = [
        "| minutes | episodes | million characters | "
        + " | ".join(f"{number} sentences" for number in numbers)
        + " |",
        "|---:|---:|---:|" + "---:|" * len(numbers),
    ]
    for row in rows:
        marks = [f"{mark['network']:.3f} ({mark['network'] / mark['ngram']:.3f})" for mark in row["validation"]]
        done = f"{row['seconds'] / 60:.0f} | {row['step']:,} | {row['characters'] / 1e6:.1f}"
        lines.append(f"| {done} | " + " | ".join(marks) + " |")
    rivals = [f"{mark['ngram']:.3f}" for mark in rows[-1]["validation"]]
    lines.append("| n-gram | – | – | " + " | ".join(rivals) + " |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
