import pytest

from protoglot.errors import StorageError
from protoglot.report.averages import BEGIN, END, averages_markdown, block_in, is_current, update_block


def test_a_page_can_be_brought_up_to_date(tmp_path, rows_path):
    page = tmp_path / "page.md"
    page.write_text(f"# Before\n\n{BEGIN}\nold\n{END}\n\nAfter\n", encoding="utf-8")
    assert block_in(page) == "\nold\n"
    assert not is_current(page, rows_path)
    update_block(page, rows_path)
    assert is_current(page, rows_path)
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# Before\n\n{BEGIN}\n| regime")
    assert text.endswith(f"|\n{END}\n\nAfter\n")
    page.write_text(text.replace("UNIV OEST", "UNIV BEST"), encoding="utf-8")
    assert not is_current(page, rows_path)


def test_the_averages_fit_a_screen(rows_path):
    lines = averages_markdown(rows_path).splitlines()
    assert 5 < len(lines) < 25
    assert max(map(len, lines)) < 120


@pytest.mark.parametrize("text", ["", BEGIN, f"{END}\n{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_markers_that_are_not_there_once_in_order_are_refused(tmp_path, rows_path, text):
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    with pytest.raises(StorageError, match="wanted each once"):
        is_current(page, rows_path)
    with pytest.raises(StorageError, match="cannot be read"):
        block_in(tmp_path / "nothing.md")
