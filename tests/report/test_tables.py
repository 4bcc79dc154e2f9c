import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from protoglot.report.tables import (
    MISSING,
    Cell,
    Column,
    Table,
    as_csv,
    as_html,
    as_latex,
    as_markdown,
    mark_best,
    number,
    words,
)


def table_of(*rows):
    columns = (Column(key="name", heading="name", numeric=False), Column(key="bits", heading="ours", group="UNIV"))
    return Table(name="t", title="T", caption="A & B", columns=columns, rows=tuple(rows))


def test_what_is_missing_is_never_a_number():
    table = table_of((words("aaa"), number(None)), (words(""), number(float("nan"))))
    assert list(csv.reader(io.StringIO(as_csv(table))))[1:] == [["aaa", ""], ["", ""]]
    assert as_markdown(table).splitlines()[2:] == ["| aaa | – |", "| – | – |"]
    assert "aaa & --" in as_latex(table)
    assert as_html(table).count(MISSING) == 3
    assert "nan" not in as_html(table)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 1e6))
def test_csv_has_full_precision(value, error):
    table = table_of((words("aaa"), number(value, standard_error=error)))
    heading, row = csv.reader(io.StringIO(as_csv(table)))
    assert heading == ["name", "bits", "bits_standard_error"]
    assert (float(row[1]), float(row[2])) == (value, error)


def test_the_lowest_is_best_and_equals_share_it():
    cells = [number(2.0004), number(2.0001), number(None), number(2.1), number(1.0)]
    assert [cell.best for cell in mark_best(cells, [(0, 1, 2, 3)])] == [True, True, False, False, False]
    assert not any(cell.best for cell in mark_best(cells, [(0,), (2,)]))


def test_an_average_over_some_languages_only_is_not_the_best_of_those_over_all():
    marked = mark_best((number(2.0, note="18"), number(2.2), number(2.3)), [range(3)])
    assert [cell.best for cell in marked] == [False, True, False]
    alone = mark_best((number(2.0, note="18"), number(2.2)), [range(2)])
    assert not any(cell.best for cell in alone)
    alike = mark_best((number(2.0, note="18"), number(2.2, note="18")), [range(2)])
    assert [cell.best for cell in alike] == [True, False]


def test_best_is_bold_in_every_form():
    table = table_of((words("aaa"), Cell(text="1.000", value=1.0, best=True)))
    assert "**1.000**" in as_markdown(table)
    assert r"\textbf{1.000}" in as_latex(table)
    assert "<strong>1.000</strong>" in as_html(table)


def test_strings_stay_in_their_cell():
    hostile = "a|b\n\\input{x} <img src=x> $1$ & 100% _u_ `c` #h [l](m)"
    table = table_of((words(hostile), number(1.0)))
    row = as_markdown(table).splitlines()[2]
    assert "\\|" in row
    assert "\\<img" in row
    assert "\\[l\\](m)" in row
    assert len(as_markdown(table).splitlines()) == 3
    latex = as_latex(table)
    assert r"\textbackslash{}input\{x\}" in latex
    assert r"\$1\$ \& 100\% \_u\_" in latex
    assert "<img" not in as_html(table)


def test_words_do_not_become_formulas():
    for start in "=+-@":
        table = table_of((words(f"{start}cmd()"), number(-1.0)))
        assert list(csv.reader(io.StringIO(as_csv(table))))[1] == [f"'{start}cmd()", "-1.0"]
