"""Codes and names: what a text may mean, and what may stand in for a language that is not there."""

import pytest

from protoglot.languages import (
    codes_by_name,
    described_name,
    from_bibliographic,
    is_current,
    language_name,
    readings,
    relatives,
    retired_language,
    substitutes,
)

EVERY_CODE = frozenset(code for codes in codes_by_name().values() for code in codes)


def test_every_current_code_is_read_as_itself():
    for code in sorted(EVERY_CODE):
        assert readings(code, EVERY_CODE) == [code]


def test_reference_names_lead_back_to_their_code():
    for code in sorted(EVERY_CODE)[::40]:
        name = language_name(code)
        assert code in readings(name, EVERY_CODE) or len(name) <= 3


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("eu", ["eus"]),
        ("EU", ["eus"]),
        (" Basque ", ["eus"]),
        ("bASQUE", ["eus"]),
        ("alb", ["sqi"]),
        ("fur", ["fur"]),
        ("Fur", ["fur", "fvr"]),
        ("greek", ["cpg", "ell", "gmy", "grc"]),
        ("jak", ["jak"]),
        ("ssw", ["ssw"]),
        ("", []),
        ("baskue", []),
    ],
)
def test_readings(text, codes):
    assert readings(text, EVERY_CODE) == codes


def test_readings_keep_to_the_known_codes():
    assert readings("basque", {"fra"}) == []
    assert readings("eu", {"fra"}) == []
    # A bibliographic code is better than nothing where only that is known.
    assert readings("alb", {"alb"}) == ["alb"]
    assert readings("alb", {"alb", "sqi"}) == ["sqi"]


def test_relatives():
    assert relatives("nob") == ("nor", "nno")
    assert set(relatives("nor")) == {"nob", "nno"}
    assert relatives("eus") == ()
    assert relatives("not a code") == ()


def test_substitutes_are_the_nearest_that_are_known():
    known = {"hbs", "bos", "zua", "ron", "hye", "pne", "eus"}
    assert substitutes("cnr", known) == ["hbs", "bos"]  # macrolanguage first
    assert substitutes("zem", known) == ["zua"]  # the withdrawn code it was split from
    assert substitutes("mol", known) == ["ron"]  # what replaced it
    assert substitutes("hyw", known) == ["hye"]  # Western Armenian: Armenian, not Western Penan
    assert substitutes("baskue", known) == ["eus"]
    assert substitutes("euz", known) == ["eus"]
    assert substitutes("?", known) == []


def test_withdrawn_codes():
    assert retired_language("jar").successors == ("jgk", "jjr")
    assert retired_language("eus") is None
    assert described_name("zua") == "Zeem, a retired code"
    assert described_name("eus") == "Basque"
    assert described_name("qbb") is None
    assert not is_current("zua")
    assert not is_current("alb")
    assert is_current("sqi")


def test_bibliographic_codes():
    assert from_bibliographic("ger") == "deu"
    assert from_bibliographic("eng") is None  # the same in both
    assert from_bibliographic("") is None
