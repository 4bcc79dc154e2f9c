"""Write the report of a study."""

import contextlib
import re
from pathlib import Path

from protoglot.report.charts import Figure
from protoglot.report.claims import claims_table, rivals_table
from protoglot.report.figures import all_figures
from protoglot.report.making import cost_table, failures_table
from protoglot.report.page import make_page
from protoglot.report.rows import read_rows
from protoglot.report.score_tables import averages_table, score_tables
from protoglot.report.study import Study
from protoglot.report.tables import WRITERS, as_csv, records_as_csv
from protoglot.report.texts import all_texts, text_tables
from protoglot.storage import write_atomically

PAGE = "index.html"
TABLES = "tables"

# Earlier releases wrote each text and each figure's numbers in three forms.
_OURS = re.compile(
    r"(averages|claims|against-the-n-gram|zero-shot|few-shot|few-shot-further|joint|texts(-\d+)?|cost|failures"
    r"|figure-[a-z]+)\.(md|csv|tex)"
)


def write_report(rows_path: Path, out: Path) -> Path:
    """Turn the rows of a study into a page and the files of its tables.

    Args:
        rows_path: JSON lines, plain or compressed by gzip.
        out: directory for ``index.html`` and the files in ``tables``; made if it is missing.

    Returns:
        The path of the page.

    Raises:
        StorageError: if the rows are not as they should be, or the report cannot be written.
    """
    study = Study(read_rows(rows_path))
    found = [averages_table(study), claims_table(study), rivals_table(study), *score_tables(study)]
    tables = [table for table in (*found, cost_table(study), failures_table(study)) if table is not None]
    figures, texts = all_figures(study), text_tables(study)
    files = {f"{table.name}.{form}": WRITERS[form](table) for table in tables for form in table.forms}
    for figure in figures:
        if isinstance(figure, Figure):
            files[f"figure-{figure.name}.csv"] = records_as_csv(figure.records)
    if texts:
        files["texts.csv"] = as_csv(all_texts(texts))
    _remove_earlier_files(out / TABLES)
    for name, content in files.items():
        write_atomically(out / TABLES / name, content)
    write_atomically(out / PAGE, make_page(study, tables, figures, texts))
    return out / PAGE


def _remove_earlier_files(directory: Path) -> None:
    """Remove the tables of an earlier report, some of which this one may not have; other files stay."""
    with contextlib.suppress(OSError):  # what is in the way of writing is reported then
        for path in directory.iterdir():
            if _OURS.fullmatch(path.name):
                path.unlink()
