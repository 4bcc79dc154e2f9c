import re

import pytest

from protoglot.cli import demo as module
from protoglot.cli.curve import draw_curves
from tiny import babble
from tiny_scorer import tiny_scorer


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.setattr("protoglot.reading.shipped.shipped_scorer", tiny_scorer)
    folder = tmp_path / "text"
    folder.mkdir()
    for code, alphabet in {"wol": "abdëgñ", "rus": "жзийкл", "fra": "aeioulé"}.items():
        (folder / f"{code}.txt").write_text("\n".join(babble(alphabet, 60, seed=0)), encoding="utf-8")
    (folder / "xho.txt").write_text("a\nb\n")
    return folder


@pytest.mark.parametrize("options", [(), ("--fast",)])
def test_the_demonstration_shows_all_it_promises(protoglot, corpus, options):
    status, output, messages = protoglot(
        "demo", "--corpus", corpus, "--languages", "wol,rus", "--sentences", 20, *options
    )
    assert status == 0, messages
    for shown in (
        "Wolof (wol)",
        "Russian (rus)",
        "bits of each word:",
        "half typed:",
        "what comes next:",
        "made up:",
    ):
        assert shown in output
    rows = re.findall(r"^(wol|rus| +mean).*?((?: +\d+\.\d{3}){4,6})$", output, re.MULTILINE)
    assert [code.strip() for code, _ in rows] == ["wol", "rus", "mean"]
    values = [list(map(float, row.split())) for _, row in rows]
    for column in zip(*values, strict=True):
        assert column[2] == pytest.approx((column[0] + column[1]) / 2, abs=0.002)
    assert "protoglot adapt mine.txt" in output


def test_ppm_is_left_out_where_it_is_not_installed(protoglot, corpus, monkeypatch):
    monkeypatch.setattr("protoglot.rivals.has_ppm", lambda: False)
    status, output, _ = protoglot("demo", "--corpus", corpus, "--languages", "wol", "--sentences", 20)
    assert status == 0
    assert "PPM is left out: pyppmd is not installed" in output
    assert "on: PPM" not in output
    assert "on: reader" in output


def test_a_language_of_the_training_is_no_test(protoglot, corpus, monkeypatch):
    monkeypatch.setattr(module, "languages_of_training", lambda path: {"fra"})
    status, _, messages = protoglot("demo", "--corpus", corpus, "--languages", "fra", "--sentences", 20)
    assert (status, "fra: the model was trained on it" in messages) == (0, True)


def test_the_languages_of_the_training_are_those_that_the_scorer_names(tmp_path):
    tiny_scorer().save(tmp_path / "a", provenance={"texts": [{"code": "eus"}, {"code": "fra"}]})
    tiny_scorer().save(tmp_path / "b")
    assert module.languages_of_training(tmp_path / "a") == {"eus", "fra"}
    assert module.languages_of_training(tmp_path / "b") == set()


@pytest.mark.parametrize(
    ("language", "message"), [("xyz", "wanted some of its languages"), ("xho", "2 sentences, none to score")]
)
def test_languages_that_cannot_be_shown_are_named(protoglot, corpus, language, message):
    status, _, messages = protoglot("demo", "--corpus", corpus, "--languages", language)
    assert (status, message in messages) == (2, True)


def test_curves_fall_where_their_values_do():
    lines = draw_curves({"a": [4.0, 2.0, 0.0], "b": [2.0, 2.0, 2.0]}, [(0, "1"), (2, "10")], height=5)
    rows = [line.split("┤")[1].ljust(5)[::2] for line in lines[:5]]
    assert rows == ["a  ", "   ", "bbb", "   ", "  a"]
    assert [line[:5].strip() for line in lines[:5]] == ["4.00", "3.00", "2.00", "1.00", "0.00"]
    assert lines[6].split() == ["1", "10"]
    assert lines[6].index("10") == lines[4].index("a")


def test_a_flat_curve_can_be_drawn():
    assert "ooo" in draw_curves({"o": [1.0] * 3}, [])[0].replace(" ", "")
