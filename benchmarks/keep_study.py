"""Keep what a study has found so far: its rows, the report made of them, and the averages in the documentation.

A study may be kept before it is done: what is missing shows as missing.
"""

import argparse
import shutil
from pathlib import Path

from protoglot.report.averages import update_block
from protoglot.report.rows import read_rows
from protoglot.report.write import write_report
from protoglot.study.session import open_study

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "results"


def main() -> None:
    """Write rows, report and averages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "study",
        type=Path,
        help="its directory, as given to study run --out; or its rows (.jsonl.gz), where other code made them",
    )
    given = parser.parse_args().study
    if given.is_dir():
        found, store = open_study(given)
        rows = _place_of(found.config.name)
        found.write_rows(store, rows)
    else:
        rows = _place_of(str(read_rows(given).environments[0].config["name"]))
        shutil.copyfile(given, rows)
    page = write_report(rows, rows.parent / "report")
    update_block(ROOT / "docs" / "study.md", rows)
    print(f"{rows}: {read_rows(rows).number:,} rows; {page}; docs/study.md")


def _place_of(name: str) -> Path:
    rows = KEPT / name / "rows.jsonl.gz"
    rows.parent.mkdir(parents=True, exist_ok=True)
    return rows


if __name__ == "__main__":
    main()
