import statistics

import pytest
from defusedxml import ElementTree
from tests.report import made_up

from protoglot.report.charts import Figure
from protoglot.report.figures import (
    character_heat_map,
    exoticness_scatter,
    family_chart,
    sentences_chart,
    signal_chart,
)
from protoglot.report.tables import records_as_csv

CHARTS = [sentences_chart, family_chart, exoticness_scatter, character_heat_map, signal_chart]
XLINK = 'xmlns:xlink="http://www.w3.org/1999/xlink"'  # of which a page of HTML needs no declaration


@pytest.fixture(scope="module")
def figures(study):
    return {chart: chart(study) for chart in CHARTS}


def numbers_of(figure):
    return made_up.read_csv(records_as_csv(figure.records))


def drawn(figure):
    return ElementTree.fromstring(str(figure.drawing).replace("<svg ", f"<svg {XLINK} ", 1))


def words_of(figure):
    return ["".join(node.itertext()) for node in drawn(figure).iter("text")]


@pytest.mark.parametrize("chart", CHARTS)
def test_drawings_are_well_formed_titled_and_described(figures, chart):
    figure = figures[chart]
    assert drawn(figure).tag == "svg"
    assert len(figure.title) > 10
    assert len(figure.description) > 40
    assert numbers_of(figure)


@pytest.mark.parametrize("chart", CHARTS)
def test_words_of_drawings_are_within_their_frame(figures, chart):
    root = drawn(figures[chart])
    _, _, width, height = map(float, root.get("viewBox").split())
    placed = [node for node in root.iter("text") if node.get("x") is not None]
    assert placed
    for node in placed:
        assert 0 <= float(node.get("x")) <= width
        assert 0 <= float(node.get("y")) <= height


@pytest.mark.parametrize("chart", CHARTS)
def test_a_drawing_is_the_same_each_time_and_tells_no_address_or_date(study, figures, chart):
    drawing = figures[chart].drawing
    assert drawing == chart(study).drawing
    assert "http" not in drawing
    assert "<metadata" not in drawing


def test_drawings_show_labels(figures):
    sentences, families, scatter, characters, signal = map(words_of, figures.values())
    assert {"sentences of the language", "bits per character", "0", "10", "30", "100"} <= set(sentences)
    assert [word for word in sentences if word.startswith("UNIV OEST 2.")]
    assert {"Family 0 (2)", "Family 4 (1)", "joint OEST"} <= set(families)
    assert {"exoticness (cosine distance)", "partition 1", "partition 4"} <= set(scatter)
    assert {"aaa Language aaa", "␣", "z", "share of the text", "≥ 20 %"} <= set(characters)
    assert {"UNIV BARE", "UNIV OEST", "signal-to-noise ratio |μ| / σ", "partition 2"} <= set(signal)


@pytest.mark.parametrize("hostile", ["<script>&\"'", "$x_1$", "a\nb\tc", "\u202e\x00", "\u0e01\u4e00"])
def test_names_from_rows_are_only_words(study_of, hostile):
    rows = [made_up.zero(code, "univ", "bare", bits) for code, bits in ((hostile, 3.0), ("aaa", 4.0))]
    rows += [
        made_up.unigram(code, {"a": 1, "$": 2, "<": 3}, name=hostile, family=hostile) for code in (hostile, "aaa")
    ]
    study = study_of(rows)
    shown = " ".join(hostile.split()).replace("\u202e", "\ufffd").replace("\x00", "\ufffd")
    assert f"{shown} (2)" in words_of(family_chart(study))
    assert f"aaa {shown}" in words_of(character_heat_map(study))
    assert shown in words_of(exoticness_scatter(study))


@pytest.mark.parametrize("chart", CHARTS)
def test_without_rows_a_sentence_says_so(study_of, figures, chart):
    sentence = chart(study_of([made_up.environment()]))
    assert isinstance(sentence, str)
    assert ": no " in sentence
    assert isinstance(figures[chart], Figure)


def test_the_curve_is_over_the_same_languages_at_every_number(rows, study_of):
    wanted = {"method": "univ", "conditioning": "oest"}
    left = made_up.without(rows, language="ccc", sentences=10, **wanted)
    figure = sentences_chart(study_of(left))
    assert "7 languages" in figure.caption
    curve = {row["sentences"]: row for row in numbers_of(figure) if row["method"] == "UNIV OEST"}
    assert list(curve) == ["0", "10", "30", "100"]
    for sentences, row in curve.items():
        means = [
            statistics.fmean(made_up.bits_of(left, language=code, sentences=int(sentences), **wanted))
            for code in made_up.LANGUAGES
            if code != "ccc"
        ]
        assert row["languages"] == "7"
        assert float(row["bits per character"]) == pytest.approx(statistics.fmean(means))


def test_fine_tuning_starts_at_the_mean_of_the_prior(figures):
    at_zero = {
        row["method"]: row["bits per character"]
        for row in numbers_of(figures[sentences_chart])
        if row["sentences"] == "0"
    }
    assert at_zero["FITU OEST"] == at_zero["UNIV OEST"]
    assert "n-gram" not in at_zero


def test_families_are_averaged_over_their_languages(rows, figures):
    families = {row["language"]: row["family"] for row in rows if row["kind"] == "unigram"}
    found = numbers_of(figures[family_chart])
    assert {row["family"] for row in found} == set(families.values())
    for row in found:
        members = [language for language, family in families.items() if family == row["family"]]
        assert int(row["languages"]) == len(members)
        bits = [
            bits
            for language in members
            for bits in made_up.bits_of(rows, language=language, regime="joint", conditioning="oest")
        ]
        assert float(row["joint OEST"]) == pytest.approx(statistics.fmean(bits))


def test_the_scatter_has_each_language_in_its_file(rows, study, figures):
    found = {row["code"]: row for row in numbers_of(figures[exoticness_scatter])}
    assert set(found) == set(made_up.LANGUAGES)
    for code, row in found.items():
        assert float(row["exoticness"]) == pytest.approx(study.exoticness[code])
        (bits,) = made_up.bits_of(rows, language=code, regime="zero-shot", method="univ", conditioning="bare")
        assert float(row["zero-shot UNIV BARE"]) == pytest.approx(bits)


def test_the_heat_map_has_every_character_in_its_file(study, figures):
    found = {row["code point"]: row for row in numbers_of(figures[character_heat_map])}
    counts = {unigram.language: unigram.counts for unigram in study.rows.unigrams}
    assert set(found) == {
        f"U+{ord(character):04X}" for counted in counts.values() for character in counted if counted[character]
    }
    for language, counted in counts.items():
        assert float(found["U+0061"][language]) == pytest.approx(counted["a"] / sum(counted.values()))
    assert found["U+00E0"]["bbb"] == ""


def test_densities_keep_their_gaps(figures):
    figure = figures[signal_chart]
    assert len(numbers_of(figure)) == 4 * 2 * 16  # partitions, conditionings, bins
    moves = [node.get("d").count("M ") for node in drawn(figure).iter("path")]
    assert moves.count(2) == 4 * 2  # each density has one empty bin; nothing else is drawn in two pieces
