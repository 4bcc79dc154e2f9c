import pytest

from protoglot.corpus.tables import read_table
from protoglot.errors import CorpusError, TextError


@pytest.fixture
def write(tmp_path):
    def write_table(content):
        path = tmp_path / "table.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_table


def rows_of(path, *columns):
    return list(read_table(path, columns=columns))


def test_commas_tabs_quotes_and_missing_cells(write):
    assert rows_of(write('a,b\n1,"2,3"\n\n 4 \n5,6,7\n'), "a") == [
        (2, {"a": "1", "b": "2,3"}),
        (4, {"a": "4", "b": ""}),
        (5, {"a": "5", "b": "6"}),
    ]
    assert rows_of(write("a\tb\n1,2\t3\n"), "a", "b") == [(2, {"a": "1,2", "b": "3"})]


def test_a_byte_order_mark_is_no_part_of_the_first_column(write):
    assert rows_of(write("\ufeffa,b\r\n1,2\r\n"), "a") == [(2, {"a": "1", "b": "2"})]


def test_a_missing_column_is_named(write):
    with pytest.raises(CorpusError, match=r"table.csv: columns a, b; wanted a column 'c'"):
        rows_of(write("a,b\n1,2\n"), "a", "c")
    with pytest.raises(CorpusError, match=r"columns nothing; wanted a column 'c'"):
        rows_of(write(""), "c")


def test_quotation_marks_count_between_commas_only(write):
    assert rows_of(write('a,b\n1,"2 ""x""\n3"\n4,5\n'), "a") == [
        (3, {"a": "1", "b": '2 "x"\n3'}),
        (4, {"a": "4", "b": "5"}),
    ]
    assert rows_of(write('a\tb\n1\t"2" x\n"3\t4\n'), "a") == [
        (2, {"a": "1", "b": '"2" x'}),
        (3, {"a": '"3', "b": "4"}),
    ]


@pytest.mark.parametrize("rest", ["", "3,4\n", "text\n" * 100_000])
def test_a_quotation_without_end_does_not_swallow_the_rest(write, rest):
    with pytest.raises(CorpusError, match=r"table.csv: after line 2: (field larger|unexpected end)"):
        rows_of(write('a,b\n1,2\n1,"' + rest), "a")
    with pytest.raises(CorpusError, match=r"table.csv: after line 1: unexpected end"):
        rows_of(write('"a,b\n' + rest), "a")


def test_what_is_not_text_is_refused(write):
    with pytest.raises(TextError, match=r"line 2, byte 6"):
        rows_of(write(b"a,b\n1,\xff\n"), "a")
