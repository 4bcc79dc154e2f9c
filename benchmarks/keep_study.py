"""Keep what a study has found so far: its rows, the report made of them, and the averages in the README.

A study may be kept before it is done: what is missing shows as missing.
"""

import argparse
from pathlib import Path

from protoglot.report.averages import update_block
from protoglot.report.write import write_report
from protoglot.study.session import open_study

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "results"


def main() -> None:
    """Write rows, report and averages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, help="of the study, as given to protoglot study run --out")
    found, store = open_study(parser.parse_args().directory)
    rows = KEPT / found.config.name / "rows.jsonl.gz"
    rows.parent.mkdir(parents=True, exist_ok=True)
    number = found.write_rows(store, rows)
    page = write_report(rows, rows.parent / "report")
    update_block(ROOT / "README.md", rows)
    print(f"{rows}: {number:,} rows; {page}; README.md")


if __name__ == "__main__":
    main()
