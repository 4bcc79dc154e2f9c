"""Write the report of a study."""

import contextlib
import re
from pathlib import Path

from protoglot.report.claim_tables import claims_table, rivals_table
from protoglot.report.figures.gallery import all_figures
from protoglot.report.making import cost_table, failures_table
from protoglot.report.page import Contents, make_page
from protoglot.report.rows import read_rows
from protoglot.report.score_tables import (
    averages_table,
    few_shot_table,
    further_few_shot_table,
    joint_table,
    zero_shot_table,
)
from protoglot.report.study import Study
from protoglot.report.tables import Table, as_csv, as_latex, as_markdown
from protoglot.report.texts import text_tables
from protoglot.storage import write_atomically

PAGE = "index.html"
TABLES = "tables"

_OURS = re.compile(
    r"(averages|claims|against-the-n-gram|zero-shot|few-shot|few-shot-further|joint|texts-\d+|cost|failures|figure-[a-z]+)"
    r"\.(md|csv|tex)"
)


def write_report(rows_path: Path, out: Path) -> Path:
    """Turn the rows of a study into a page and the files of its tables.

    Args:
        rows_path: JSON lines, plain or compressed by gzip.
        out: directory for ``index.html`` and ``tables/*.md``, ``*.csv`` and ``*.tex``; made if it is missing.

    Returns:
        The path of the page.

    Raises:
        StorageError: if the rows are not as they should be, or the report cannot be written.
    """
    study = Study(read_rows(rows_path))
    contents = gather(study)
    _remove_earlier_tables(out / TABLES)
    for table in contents.tables():
        _write_table(out / TABLES, table)
    page = out / PAGE
    write_atomically(page, make_page(study, contents))
    return page


def gather(study: Study) -> Contents:
    """Compute everything that the page shows."""
    further = further_few_shot_table(study)
    return Contents(
        averages=averages_table(study),
        claims=claims_table(study),
        rivals=rivals_table(study),
        scores=[
            zero_shot_table(study),
            few_shot_table(study),
            *([further] if further else []),
            joint_table(study),
        ],
        figures=all_figures(study),
        texts=text_tables(study),
        cost=cost_table(study),
        failures=failures_table(study),
    )


def _remove_earlier_tables(directory: Path) -> None:
    """Remove the tables of an earlier report, some of which this one may not have; other files stay."""
    with contextlib.suppress(OSError):  # what is in the way of writing is reported then
        for path in directory.iterdir():
            if _OURS.fullmatch(path.name):
                path.unlink()


def _write_table(directory: Path, table: Table) -> None:
    write_atomically(directory / f"{table.name}.md", as_markdown(table))
    write_atomically(directory / f"{table.name}.csv", as_csv(table))
    write_atomically(directory / f"{table.name}.tex", as_latex(table))
