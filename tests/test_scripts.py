from hypothesis import given
from hypothesis import strategies as st

from protoglot.scripts import SCRIPTS, script_of, script_shares


@given(st.dictionaries(st.characters(), st.integers(1, 1000)))
def test_shares_sum_to_one_or_there_is_no_letter(counts):
    shares = script_shares(counts)
    if shares:
        assert abs(sum(shares.values()) - 1) < 1e-9
        assert list(shares.values()) == sorted(shares.values(), reverse=True)
    else:
        assert all(script_of(character) is None for character in counts)


def test_scripts_are_told_apart():
    found = [script_of(character) for character in "aßøжאع漢あアक한ᚠ一አ"]
    assert found == [
        "Latin", "Latin", "Latin", "Cyrillic", "Hebrew", "Arabic", "Han", "Hiragana", "Katakana", "Devanagari",
        "Hangul", "Runic", "Han", "Ethiopic",
    ]  # fmt: skip


def test_what_scripts_share_belongs_to_none():
    assert {script_of(character) for character in " .,7'’\u0301😀"} == {None}


def test_a_rare_script_is_other():
    assert script_of("\U00010280") == "Other"  # Lycian
    assert "Lycian" not in SCRIPTS
