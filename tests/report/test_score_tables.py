"""Every cell of the tables is computed here once more, from the raw rows and the paper's file alone."""

import csv
import statistics
from importlib import resources

import pytest
from tests.report import made_up

from protoglot.folds import paper_partitions
from protoglot.report.paper import AVERAGES, paper_code, paper_score, paper_scores
from protoglot.report.score_tables import averages_table, score_tables
from protoglot.report.settings import few_shot, joint, zero_shot
from protoglot.report.tables import MISSING, as_csv

REGIMES = {
    "zero-shot": {"regime": "zero-shot", "sentences": 0},
    "few-shot": {"regime": "few-shot", "sentences": 100},
    "few-shot-further": {"regime": "few-shot", "sentences": 100},
    "joint": {"regime": "joint", "sentences": None},
}
COLUMNS = {
    "NINF BARE": ("ninf", None, "bare"),
    "UNIV BARE": ("univ", None, "bare"),
    "UNIV OEST": ("univ", None, "oest"),
    "UNIV PLAT": ("univ", None, "plat"),
    "FITU BARE": ("fitu", None, "bare"),
    "FITU OEST": ("fitu", None, "oest"),
    "L2-SP BARE": ("l2-sp", None, "bare"),
    "UNIV calibrated BARE": ("calibrated", None, "bare"),
    "BARE": ("joint", None, "bare"),
    "OEST": ("joint", None, "oest"),
    "n-gram": ("n-gram", None, None),
    "NINF BARE + n-gram": ("mixture", "ninf", "bare"),
    "UNIV BARE + n-gram": ("mixture", "univ", "bare"),
    "UNIV OEST + n-gram": ("mixture", "univ", "oest"),
    "n-gram + UNIV PLAT": ("mixture", "univ", "plat"),
    "n-gram + FITU BARE": ("mixture", "fitu", "bare"),
    "FITU OEST + n-gram": ("mixture", "fitu", "oest"),
    "n-gram + L2-SP BARE": ("mixture", "l2-sp", "bare"),
}


def table_of(study, name):
    (table,) = [table for table in score_tables(study) if table.name == name]
    return table


def read(table):
    return {row["code"]: row for row in made_up.read_csv(as_csv(table))}


def cells(table, column):
    """The cells of a column by what stands in the first one, and the last of the summary."""
    return {row["code"].text: row[column] for row in table.rows}, table.summary[-1][column]


@pytest.mark.parametrize("name", REGIMES)
def test_every_cell_is_in_the_rows(rows, study, name):
    table = read(table_of(study, name))
    assert set(table) == set(made_up.LANGUAGES)
    for language, cells in table.items():
        assert cells.pop("language") == f"Language {language}"
        assert int(cells.pop("part")) == made_up.LANGUAGES[language]
        cells.pop("code")
        for column, shown in cells.items():
            if column.endswith(" paper"):
                assert shown == ""  # the paper has no language aaa
                continue
            method, network, conditioning = COLUMNS[column.removesuffix(" standard error").removesuffix(" ours")]
            bits = made_up.bits_of(
                rows, language=language, method=method, network=network, conditioning=conditioning, **REGIMES[name]
            )
            if not bits:
                assert shown == ""
            elif column.endswith(" standard error"):
                assert float(shown) == pytest.approx(statistics.stdev(bits) / len(bits) ** 0.5)
            else:
                assert float(shown) == pytest.approx(statistics.fmean(bits))


@pytest.mark.parametrize("name", REGIMES)
def test_averages_are_means_over_the_languages_of_a_partition(study, name):
    table = table_of(study, name)
    groups = [[row for row in table.rows if row["part"].text == str(part)] for part in (1, 2, 3, 4)]
    assert [len(members) for members in groups] == [2, 2, 2, 2]
    for summary, members in zip(table.summary, [*groups, table.rows], strict=True):
        for column in list(table.columns)[3:]:
            values = [row[column].value for row in members if row[column].value is not None]
            if values:
                assert summary[column].value == pytest.approx(statistics.fmean(values))
            else:
                assert summary[column].text == MISSING


def test_the_mixture_and_the_n_gram_stand_beside_every_network(study):
    networks = ("NINF BARE", "FITU OEST", "UNIV BARE", "UNIV OEST")
    kinds = ("ours", "+ n-gram", "paper")
    wanted = ["n-gram", *(f"{network}|{kind}" for network in networks for kind in kinds)]
    assert list(table_of(study, "few-shot").columns)[3:] == wanted


def test_a_missing_unit_is_missing(rows, study_of):
    lost = {"language": "ccc", "method": "univ", "regime": "few-shot", "sentences": 100, "conditioning": "oest"}
    left = made_up.without(rows, **lost)
    assert len(left) == len(rows) - 3
    table = table_of(study_of(left), "few-shot")
    assert read(table)["ccc"]["UNIV OEST ours"] == ""
    found, average = cells(table, "UNIV OEST|ours")
    assert found.pop("ccc").text == MISSING
    assert average.note == "7"
    assert average.value == pytest.approx(statistics.fmean(cell.value for cell in found.values()))


def test_one_partition_alone_shows_the_others_as_missing(rows, study_of):
    part = [row for row in rows if row["kind"] != "score" or row["partition"] == 2]
    found, _ = cells(table_of(study_of(part), "zero-shot"), "UNIV BARE|ours")
    assert set(found) == set(made_up.LANGUAGES)
    assert {code for code, cell in found.items() if cell.value is not None} == {"bbb", "fff"}
    first, *_ = table_of(study_of(part), "joint").rows
    assert [cell.text for cell in first.values()][3:] == [MISSING] * 4


def test_the_paper_s_figures_are_those_of_its_tables():
    lines = resources.files("protoglot.data").joinpath("paper_scores.csv").read_text(encoding="utf-8").splitlines()
    partitions = {code: name for name, codes in paper_partitions().items() for code in codes}
    for row in csv.DictReader(lines):
        assert partitions.pop(row["code"]) == row["partition"]
        assert paper_score(row["code"], zero_shot("univ", "oest")) == float(row["zero_univ_oest"])
        assert paper_score(row["code"], few_shot("fitu", "oest", sentences=30)) == float(row["few_fitu_oest"])
        assert paper_score(row["code"], joint("bare")) == float(row["joint_ninf_bare"])
    assert not partitions
    printed = {
        zero_shot("ninf", "bare"): 8.572,
        zero_shot("univ", "bare"): 4.343,
        zero_shot("univ", "oest"): 4.691,
        few_shot("ninf", "bare"): 4.467,
        few_shot("fitu", "oest"): 3.007,
        few_shot("univ", "bare"): 3.120,
        few_shot("univ", "oest"): 2.731,
        joint("bare"): 1.652,
        joint("oest"): 1.550,
    }
    for setting, average in printed.items():
        assert statistics.fmean(paper_scores()[setting].values()) == pytest.approx(average, abs=0.0012)


def test_all_spellings_of_a_language_find_the_paper_s_figure():
    assert paper_score("swh", joint("oest")) == paper_score("ssw", joint("oest")) == 1.697
    assert paper_code("eus") == "eus"
    assert paper_score("aaa", joint("oest")) is None
    assert paper_score("eus", joint("plat")) is None


def test_the_paper_is_averaged_over_our_languages(study_of):
    rows = [made_up.zero(code, "univ", "bare", 4.0, partition=3) for code in ("eus", "deu")]
    rows += [made_up.unigram(code, {"a": 1}) for code in ("eus", "deu", "fra")]
    _, average = cells(table_of(study_of(rows), "zero-shot"), "UNIV BARE|paper")
    assert (average.value, average.note) == (pytest.approx((4.118 + 4.102) / 2), "2")
    zero = [row for row in averages_table(study_of(rows)).rows if row["regime, sentences"].text == "zero-shot, 0"]
    averages = {row["model"].text: row for row in zero}
    assert averages["UNIV BARE"]["paper"].value == pytest.approx((4.118 + 4.102) / 2)
    assert averages["UNIV PLAT"]["ours"].text == MISSING
    assert averages["UNIV PLAT"]["paper"].value == AVERAGES[zero_shot("univ", "plat")]
    assert averages["UNIV PLAT"]["paper"].note == "77"


def test_averages_are_those_of_the_rows(rows, study):
    regimes = {"zero-shot, 0": "zero-shot", "few-shot, 100": "few-shot", "joint": "joint"}
    labels = {"NINF": "ninf", "FITU": "fitu", "UNIV": "univ", "L2-SP": "l2-sp"}
    ngram = statistics.fmean(made_up.bits_of(rows, method="n-gram", sentences=100))
    table = averages_table(study)
    assert len(table.rows) == 5 + 7 + 2
    for row in table.rows:
        regime, words = regimes[row["regime, sentences"].text], row["model"].text.split()
        method = "joint" if regime == "joint" else "calibrated" if "calibrated" in words else labels[words[0]]
        conditioning = words[-1].lower()
        sentences = {"zero-shot": 0, "few-shot": 100, "joint": None}[regime]
        wanted = {"regime": regime, "conditioning": conditioning, "sentences": sentences}
        bits = made_up.bits_of(rows, method=method, **wanted)
        assert row["languages"].value == 8
        assert row["ours"].value == pytest.approx(statistics.fmean(bits))
        mixed = made_up.bits_of(rows, method="mixture", network=method, **wanted)
        assert (row["ours + n-gram"].value is None) == (not mixed)
        if mixed:
            assert row["ours + n-gram"].value == pytest.approx(statistics.fmean(mixed))
        if regime == "few-shot":
            assert row["n-gram"].value == pytest.approx(ngram)
