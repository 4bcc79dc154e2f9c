import csv
import io
import statistics

import pytest
from defusedxml import ElementTree
from tests.report import made_up

from protoglot.report.figures.characters import character_heat_map
from protoglot.report.figures.exoticness import exoticness_scatter
from protoglot.report.figures.families import family_chart
from protoglot.report.figures.figure import Figure
from protoglot.report.figures.gallery import all_figures
from protoglot.report.figures.sentences import sentences_chart
from protoglot.report.figures.signal import signal_chart
from protoglot.report.tables import as_csv

DRAWERS = [sentences_chart, family_chart, exoticness_scatter, character_heat_map, signal_chart]
SVG = "{http://www.w3.org/2000/svg}"


def numbers_of(figure):
    return list(csv.DictReader(io.StringIO(as_csv(figure.data))))


@pytest.mark.parametrize("draw", DRAWERS)
def test_drawings_are_well_formed_described_and_within_their_frame(study, draw):
    figure = draw(study)
    root = ElementTree.fromstring(figure.drawing)
    assert root.tag == f"{SVG}svg"
    assert root.find(f"{SVG}title").text == figure.title
    assert len(root.find(f"{SVG}desc").text) > 40
    labels = root.get("aria-labelledby").split()
    assert labels == [root.find(f"{SVG}title").get("id"), root.find(f"{SVG}desc").get("id")]
    _, _, width, height = map(float, root.get("viewBox").split())
    for node in root.iter():
        for key, limit in (
            ("x", width),
            ("cx", width),
            ("x1", width),
            ("y", height),
            ("cy", height),
            ("y1", height),
        ):
            if node.get(key) is not None:
                assert -1 <= float(node.get(key)) <= limit + 1, ElementTree.tostring(node)
    assert not [node for node in root.iter() if node.get("style")]
    assert figure.data.rows


@pytest.mark.parametrize("draw", DRAWERS)
def test_without_rows_there_is_no_figure(study_of, draw):
    assert draw(study_of([made_up.environment()])) is None


def test_the_gallery_says_what_is_missing(study_of, study):
    assert all(isinstance(figure, str) for figure in all_figures(study_of([made_up.environment()])))
    assert all(isinstance(figure, Figure) for figure in all_figures(study))


def test_the_curve_is_over_the_same_languages_at_every_number(rows, study_of):
    lost = {"language": "ccc", "method": "univ", "conditioning": "oest", "sentences": 10}
    left = [row for row in rows if any(row.get(key) != value for key, value in lost.items())]
    figure = sentences_chart(study_of(left))
    assert "7 languages" in figure.caption
    for row in numbers_of(figure):
        if row["method"] != "UNIV OEST":
            continue
        for sentences in (0, 10, 30, 100):
            bits = [
                statistics.fmean(
                    made_up.bits_of(
                        left, language=language, method="univ", conditioning="oest", sentences=sentences
                    )
                )
                for language in made_up.LANGUAGES
                if language != "ccc"
            ]
            assert float(row[f"sentences_{sentences}"]) == pytest.approx(statistics.fmean(bits))
        break
    else:
        pytest.fail("no row of UNIV OEST")


def test_fine_tuning_starts_at_the_mean_of_the_prior(study):
    by_method = {row["method"]: row for row in numbers_of(sentences_chart(study))}
    assert by_method["FITU OEST"]["sentences_0"] == by_method["UNIV OEST"]["sentences_0"] != ""
    assert by_method["n-gram"]["sentences_0"] == ""


def test_families_are_averaged_over_their_languages(rows, study):
    families = {row["language"]: row["family"] for row in rows if row["kind"] == "unigram"}
    for row in numbers_of(family_chart(study)):
        members = [language for language, family in families.items() if family == row["family"]]
        assert float(row["languages"]) == len(members)
        bits = [
            b
            for language in members
            for b in made_up.bits_of(rows, language=language, regime="joint", conditioning="oest")
        ]
        assert float(row["joint_joint_oest"]) == pytest.approx(statistics.fmean(bits))


def test_the_scatter_has_one_point_for_each_language(study):
    figure = exoticness_scatter(study)
    assert [row["code"] for row in numbers_of(figure)] == sorted(made_up.LANGUAGES)
    assert figure.drawing.count("exoticness 0.") == 2 * len(made_up.LANGUAGES)


def test_the_heat_map_has_every_character_in_its_file(study):
    row = {row["codepoint"]: row for row in numbers_of(character_heat_map(study))}
    counts = {unigram.language: unigram.counts for unigram in study.rows.unigrams}
    assert set(row) == {
        f"U+{ord(character):04X}" for found in counts.values() for character in found if found[character]
    }
    for language, found in counts.items():
        assert float(row["U+0061"][language]) == pytest.approx(found["a"] / sum(found.values()))
    assert row["U+00E0"]["bbb"] == ""


def test_densities_keep_their_gaps(study):
    figure = signal_chart(study)
    assert figure.drawing.count("<polyline") == 4 * 2 * 2  # partitions, conditionings, and an empty bin in each
    assert len(numbers_of(figure)) == 4 * 3 * 16
