"""What the repository shows as results comes from the rows that are kept in it."""

from pathlib import Path

import pytest

from protoglot.report.averages import is_current
from protoglot.report.rows import read_rows
from protoglot.report.write import PAGE, TABLES, write_report

ROOT = Path(__file__).parent.parent.parent
KEPT = ROOT / "results" / "bible77-plain"
ROWS = KEPT / "rows.jsonl.gz"


def test_the_averages_in_the_readme_are_those_of_the_rows():
    assert is_current(ROOT / "README.md", ROWS)


def test_the_rows_say_how_they_were_made():
    rows = read_rows(ROWS)
    assert rows.scores
    for environment in rows.environments:
        assert environment.config
        assert environment.versions
    assert all(row.seconds > 0 for row in rows.scores)
    assert all(row.characters > 0 for row in rows.scores)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    write_report(ROWS, out)
    return out


def test_the_kept_report_is_made_of_the_kept_rows(made):
    kept = {path.relative_to(KEPT / "report") for path in (KEPT / "report").rglob("*") if path.is_file()}
    assert kept == {path.relative_to(made) for path in made.rglob("*") if path.is_file()}
    different = [
        str(path) for path in sorted(kept) if (KEPT / "report" / path).read_bytes() != (made / path).read_bytes()
    ]
    assert different == []
    assert Path(PAGE) in kept
    assert Path(TABLES) / "claims.md" in kept
