"""Every cell of the tables is computed here once more, from the raw rows and the paper's file alone."""

import csv
import io
import statistics
from importlib import resources

import pytest
from tests.report import made_up

from protoglot.folds import paper_partitions
from protoglot.report.paper import AVERAGES, paper_code, paper_score, paper_scores
from protoglot.report.score_tables import (
    averages_table,
    few_shot_table,
    further_few_shot_table,
    joint_table,
    zero_shot_table,
)
from protoglot.report.settings import few_shot, joint, zero_shot
from protoglot.report.tables import MISSING, as_csv

REGIMES = {
    "zero-shot": (zero_shot_table, {"regime": "zero-shot", "sentences": 0}),
    "few-shot": (few_shot_table, {"regime": "few-shot", "sentences": 100}),
    "few-shot-further": (further_few_shot_table, {"regime": "few-shot", "sentences": 100}),
    "joint": (joint_table, {"regime": "joint", "sentences": None}),
}
COLUMNS = {
    "ninf_bare": ("ninf", None, "bare"),
    "univ_bare": ("univ", None, "bare"),
    "univ_oest": ("univ", None, "oest"),
    "univ_plat": ("univ", None, "plat"),
    "fitu_bare": ("fitu", None, "bare"),
    "fitu_oest": ("fitu", None, "oest"),
    "l2_sp_bare": ("l2-sp", None, "bare"),
    "calibrated_bare": ("calibrated", None, "bare"),
    "joint_bare": ("joint", None, "bare"),
    "joint_oest": ("joint", None, "oest"),
    "n_gram": ("n-gram", None, None),
    "mixture_ninf_bare": ("mixture", "ninf", "bare"),
    "mixture_univ_bare": ("mixture", "univ", "bare"),
    "mixture_univ_oest": ("mixture", "univ", "oest"),
    "mixture_univ_plat": ("mixture", "univ", "plat"),
    "mixture_fitu_bare": ("mixture", "fitu", "bare"),
    "mixture_fitu_oest": ("mixture", "fitu", "oest"),
    "mixture_l2_sp_bare": ("mixture", "l2-sp", "bare"),
}


def read(table):
    return {row["code"]: row for row in csv.DictReader(io.StringIO(as_csv(table)))}


@pytest.mark.parametrize("name", REGIMES)
def test_every_cell_is_in_the_rows(rows, study, name):
    make, regime = REGIMES[name]
    table = read(make(study))
    assert set(table) == set(made_up.LANGUAGES)
    for language, cells in table.items():
        assert cells.pop("language") == f"Language {language}"
        assert int(cells.pop("partition")) == made_up.LANGUAGES[language]
        cells.pop("code")
        for column, shown in cells.items():
            if column.endswith("_paper"):
                assert shown == ""  # the paper has no language aaa
                continue
            method, network, conditioning = COLUMNS[column.removesuffix("_standard_error")]
            bits = made_up.bits_of(
                rows, language=language, method=method, network=network, conditioning=conditioning, **regime
            )
            if not bits:
                assert shown == ""
            elif column.endswith("_standard_error"):
                assert float(shown) == pytest.approx(statistics.stdev(bits) / len(bits) ** 0.5)
            else:
                assert float(shown) == pytest.approx(statistics.fmean(bits))


@pytest.mark.parametrize("name", REGIMES)
def test_averages_are_means_over_the_languages_of_a_partition(study, name):
    table = REGIMES[name][0](study)
    groups = [*[[row for row in table.rows if row[2].text == str(part)] for part in (1, 2, 3, 4)], table.rows]
    assert len(table.summary) == len(groups)
    for summary, members in zip(table.summary, groups, strict=True):
        for index in range(3, len(table.columns)):
            values = [row[index].value for row in members if row[index].value is not None]
            if values:
                assert summary[index].value == pytest.approx(statistics.fmean(values))
            else:
                assert summary[index].text == MISSING


def test_the_mixture_and_the_n_gram_stand_beside_every_network(study):
    keys = [column.key for column in few_shot_table(study).columns[3:]]
    assert keys[0] == "n_gram"
    for network in ("ninf_bare", "fitu_oest", "univ_bare", "univ_oest"):
        place = keys.index(network)
        assert keys[place : place + 3] == [network, f"mixture_{network}", f"{network}_paper"]


def test_a_missing_unit_is_missing(rows, study_of):
    lost = {"language": "ccc", "method": "univ", "regime": "few-shot", "sentences": 100, "conditioning": "oest"}
    left = [row for row in rows if any(row.get(key) != value for key, value in lost.items())]
    assert len(left) == len(rows) - 3
    study = study_of(left)
    assert read(few_shot_table(study))["ccc"]["univ_oest"] == ""
    table = few_shot_table(study)
    column = [column.key for column in table.columns].index("univ_oest")
    (cell,) = [row[column] for row in table.rows if row[0].text == "ccc"]
    assert cell.text == MISSING
    assert table.summary[-1][column].note == "7"
    others = [row[column].value for row in table.rows if row[0].text != "ccc"]
    assert table.summary[-1][column].value == pytest.approx(statistics.fmean(others))


def test_one_partition_alone_shows_the_others_as_missing(rows, study_of):
    part = [row for row in rows if row["kind"] != "score" or row["partition"] == 2]
    table = zero_shot_table(study_of(part))
    scored = {row[0].text for row in table.rows if row[3].value is not None}
    assert len(table.rows) == 8
    assert scored == {"bbb", "fff"}
    assert all(cell.text == MISSING for cell in joint_table(study_of(part)).rows[0][3:])


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
    table = zero_shot_table(study_of(rows))
    column = [column.key for column in table.columns].index("univ_bare_paper")
    assert table.summary[-1][column].value == pytest.approx((4.118 + 4.102) / 2)
    assert table.summary[-1][column].note == "2"
    averages = {(row[0].text, row[1].text): row for row in averages_table(study_of(rows)).rows}
    assert averages["zero-shot, 0", "UNIV BARE"][6].value == pytest.approx((4.118 + 4.102) / 2)
    assert averages["zero-shot, 0", "UNIV PLAT"][3].text == MISSING
    assert averages["zero-shot, 0", "UNIV PLAT"][6].value == AVERAGES[zero_shot("univ", "plat")]
    assert averages["zero-shot, 0", "UNIV PLAT"][6].note == "77"


def test_averages_are_those_of_the_rows(rows, study):
    regimes = {"zero-shot, 0": "zero-shot", "few-shot, 100": "few-shot", "joint": "joint"}
    labels = {"NINF": "ninf", "FITU": "fitu", "UNIV": "univ", "L2-SP": "l2-sp"}
    ngram = statistics.fmean(made_up.bits_of(rows, method="n-gram", sentences=100))
    seen = 0
    for row in averages_table(study).rows:
        regime, words = regimes[row[0].text], row[1].text.split()
        method = "joint" if regime == "joint" else "calibrated" if "calibrated" in words else labels[words[0]]
        conditioning = words[-1].lower()
        sentences = {"zero-shot": 0, "few-shot": 100, "joint": None}[regime]
        wanted = {"regime": regime, "conditioning": conditioning, "sentences": sentences}
        bits = made_up.bits_of(rows, method=method, **wanted)
        assert row[2].value == 8
        assert row[3].value == pytest.approx(statistics.fmean(bits))
        mixed = made_up.bits_of(rows, method="mixture", network=method, **wanted)
        assert (row[4].value is None) == (not mixed)
        if mixed:
            assert row[4].value == pytest.approx(statistics.fmean(mixed))
        if regime == "few-shot":
            assert row[5].value == pytest.approx(ngram)
        seen += 1
    assert seen == 5 + 7 + 2
