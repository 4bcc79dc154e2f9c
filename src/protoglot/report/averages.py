"""The averages of a study in one screen of Markdown, for a page that shows them between two markers."""

import re
from pathlib import Path

from protoglot.errors import StorageError
from protoglot.report.rows import read_rows
from protoglot.report.score_tables import averages_table
from protoglot.report.study import Study
from protoglot.report.tables import as_markdown
from protoglot.storage import write_atomically

BEGIN = "<!-- averages: begin -->"
END = "<!-- averages: end -->"


def averages_markdown(rows_path: Path) -> str:
    """The averages of a study: ours, mixed with the n-gram, the n-gram's and the paper's."""
    return as_markdown(averages_table(Study(read_rows(rows_path))))


def block_in(page: Path) -> str:
    """What stands between the markers of a page.

    Raises:
        StorageError: if the page cannot be read or has not each marker once, in their order.
    """
    return _cut(page)[1]


def is_current(page: Path, rows_path: Path) -> bool:
    """Whether the block of a page is the averages of these rows, blank lines around it aside."""
    return block_in(page).strip() == averages_markdown(rows_path).strip()


def update_block(page: Path, rows_path: Path) -> None:
    """Write the averages of these rows between the markers of a page."""
    before, _, after = _cut(page)
    write_atomically(page, f"{before}{BEGIN}\n{averages_markdown(rows_path)}{END}{after}")


def _cut(page: Path) -> tuple[str, str, str]:
    try:
        text = page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"{page}: cannot be read ({error}); wanted a page of text") from error
    found = re.fullmatch(f"(.*){re.escape(BEGIN)}(.*){re.escape(END)}(.*)", text, re.DOTALL)
    if found is None or text.count(BEGIN) != 1 or text.count(END) != 1:
        raise StorageError(
            f"{page}: {text.count(BEGIN)} times {BEGIN!r} and {text.count(END)} times {END!r}; wanted each once, "
            "in this order"
        )
    return found[1], found[2], found[3]
