import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.made_up import read_csv

from protoglot.report.tables import Cell, Table, as_csv, as_latex, as_markdown, mark_best, number, words


def table_of(*rows):
    rows = [{"name": name, "UNIV|ours": bits} for name, bits in rows]
    return Table(name="t", title="T", caption="A & B", rows=rows)


def best_of(cells, *groups):
    return [cell.best for cell in mark_best(dict(enumerate(cells)), groups).values()]


def test_what_is_missing_is_never_a_number():
    table = table_of((words("aaa"), number(None)), (words(""), number(float("nan"))))
    assert read_csv(as_csv(table)) == [{"name": "aaa", "UNIV ours": ""}, {"name": "", "UNIV ours": ""}]
    assert as_markdown(table).splitlines()[2:] == ["| aaa | – |", "| – | – |"]
    assert "aaa & --" in as_latex(table)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 1e6))
def test_csv_has_full_precision(value, error):
    (row,) = read_csv(as_csv(table_of((words("aaa"), number(value, standard_error=error)))))
    assert list(row) == ["name", "UNIV ours", "UNIV ours standard error"]
    assert (float(row["UNIV ours"]), float(row["UNIV ours standard error"])) == (value, error)


def test_neighbouring_columns_share_what_stands_over_them():
    row = {heading: number(1.0) for heading in ("code", "A|ours", "A|paper", "B|ours")}
    table = Table(name="t", title="T", caption="", rows=[row])
    assert table.groups == [("", 1), ("A", 2), ("B", 1)]
    assert Table(name="t", title="T", caption="", rows=[{"code": words("a")}]).groups == []


def test_the_lowest_is_best_and_equals_share_it():
    cells = [number(2.0004), number(2.0001), number(None), number(2.1), number(1.0)]
    assert best_of(cells, (0, 1, 2, 3)) == [True, True, False, False, False]
    assert best_of(cells, (0,), (2,)) == [False] * 5


@pytest.mark.parametrize(
    ("cells", "best"),
    [
        ([number(2.0, note="18"), number(2.2), number(2.3)], [False, True, False]),
        ([number(2.0, note="18"), number(2.2)], [False, False]),
        ([number(2.0, note="18"), number(2.2, note="18")], [True, False]),
    ],
)
def test_an_average_over_some_languages_only_is_not_the_best_of_those_over_all(cells, best):
    assert best_of(cells, range(len(cells))) == best


def test_best_is_bold():
    table = table_of((words("aaa"), Cell(text="1.000", value=1.0, best=True)))
    assert "**1.000**" in as_markdown(table)
    assert r"\textbf{1.000}" in as_latex(table)


def test_strings_stay_in_their_cell():
    hostile = "a|b\n\\input{x} <img src=x> $1$ & 100% _u_ `c` #h [l](m)"
    table = table_of((words(hostile), number(1.0)))
    assert len(as_markdown(table).splitlines()) == 3
    row = as_markdown(table).splitlines()[2]
    for escaped in (r"\|", r"\<img", r"\[l\](m)", r"\`c\`", r"\$1\$"):
        assert escaped in row
    latex = as_latex(table)
    assert r"\textbackslash{}input\{x\}" in latex
    assert r"\$1\$ \& 100\% \_u\_" in latex


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_words_do_not_become_formulas_or_rows(start):
    (row,) = read_csv(as_csv(table_of((words(f"{start}cmd()\r\n"), number(-1.0)))))
    assert row["name"].startswith("'")
    assert row["name"].split() in ([f"'{start}cmd()"], ["'", "cmd()"])
    assert row["UNIV ours"] == "-1.0"
