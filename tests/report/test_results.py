"""What the repository shows as results comes from the rows that are kept in it."""

import re
from pathlib import Path

import pytest
from tests.report.made_up import read_csv

from protoglot.report.averages import block_in, is_current
from protoglot.report.rows import read_rows
from protoglot.report.write import PAGE, TABLES, write_report

ROOT = Path(__file__).parent.parent.parent
KEPT = ROOT / "results" / "bible77-plain"
ROWS = KEPT / "rows.jsonl.gz"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    write_report(ROWS, out)
    return out


def files_of(directory):
    return {path.relative_to(directory) for path in directory.rglob("*") if path.is_file()}


def test_the_averages_in_the_documentation_are_those_of_the_rows(made):
    assert is_current(ROOT / "docs" / "study.md", ROWS)
    assert (
        block_in(ROOT / "docs" / "study.md").strip() == (made / TABLES / "averages.md").read_text("utf-8").strip()
    )


def test_the_rows_say_how_they_were_made():
    rows = read_rows(ROWS)
    assert rows.environments
    for environment in rows.environments:
        assert environment.config
        assert environment.versions
    assert min(row.seconds for row in rows.scores) > 0


def test_the_report_is_the_same_each_time(made, tmp_path):
    write_report(ROWS, tmp_path)
    assert files_of(tmp_path) == files_of(made)
    for path in files_of(made):
        assert (tmp_path / path).read_bytes() == (made / path).read_bytes()


def test_the_kept_report_is_made_of_the_kept_rows(made):
    assert files_of(KEPT / "report") == files_of(made)
    for name in ("averages.md", "claims.md"):  # to which the documentation links
        assert (KEPT / "report" / TABLES / name).read_text("utf-8") == (made / TABLES / name).read_text("utf-8")
    assert read_rows(ROWS).digest in (KEPT / "report" / PAGE).read_text("utf-8")


def test_the_kept_page_refers_to_no_other_host():
    assert not re.search(r"https?:|//www|@import|url\((?!#)", (KEPT / "report" / PAGE).read_text("utf-8"))


@pytest.mark.parametrize("name", ["zero-shot", "few-shot", "few-shot-further", "joint"])
def test_tables_of_scores_have_one_row_for_each_language(name):
    found = read_csv((KEPT / "report" / TABLES / f"{name}.csv").read_text("utf-8"))
    assert [row["code"] for row in found] == sorted({row.language for row in read_rows(ROWS).scores})
