import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protoglot.reading.characters import NUM_CLASSES, class_of
from protoglot.reading.episodes import MetaText
from protoglot.reading.first_occurrence import BLOCK, NUM_CODE_POINTS, NUM_FEATURES, FirstOccurrence
from protoglot.reading.first_occurrence_fitting import character_frequencies
from tiny_scorer import OFTEN_FIRST, tiny_first_occurrence

met_characters = st.lists(
    st.one_of(st.sampled_from(OFTEN_FIRST), st.characters(), st.sampled_from("\ud800\udfff\0\U0010ffff")),
    unique=True,
    max_size=12,
)


def probabilities(first: FirstOccurrence, met, before: int = 3, seed: int = 0):
    letters = np.random.default_rng(seed).normal(size=len(first.characters))
    return first.log_probabilities(met, before, letters)


@given(met_characters, st.integers(0, NUM_CLASSES))
def test_known_characters_and_all_others_share_one(met, before):
    first = tiny_first_occurrence()
    known, outside = probabilities(first, met, before)
    assert np.exp(known).sum() + math.exp(outside) == pytest.approx(1.0, abs=1e-12)
    assert math.isfinite(outside)
    for character, log_probability in zip(first.characters, known, strict=True):
        assert np.isfinite(log_probability) == (character not in met)


@pytest.mark.parametrize(
    "met",
    ["", "a", "\n aB語", "\ud800\U0010ffff\0", OFTEN_FIRST, "".join(map(chr, range(BLOCK))) + OFTEN_FIRST],
    ids=range(6),
)
def test_the_share_of_all_others_is_one_over_all_code_points(met):
    first = tiny_first_occurrence()
    logs = np.full(NUM_CODE_POINTS, -np.inf)
    excluded = {*met, *first.characters}
    # The same for all code points of a block, and for all blocks of which nothing was met.
    blocks = {ord(character) // BLOCK for character in met}
    far = next(code for code in range(0x30000, NUM_CODE_POINTS) if code // BLOCK not in blocks)
    logs[:] = first.log_share_outside(chr(far), met)
    for block in blocks:
        codes = range(block * BLOCK, (block + 1) * BLOCK)
        free = [code for code in codes if chr(code) not in excluded]
        for code in free[:1] + free[-1:]:
            logs[block * BLOCK : (block + 1) * BLOCK] = first.log_share_outside(chr(code), met)
    logs[[ord(character) for character in excluded]] = -np.inf
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-9)
    for code in np.random.default_rng(0).integers(0, NUM_CODE_POINTS, 50):
        if chr(code) not in excluded:
            assert first.log_share_outside(chr(code), met) == logs[code]


def test_when_every_known_character_was_met_another_comes():
    first = tiny_first_occurrence()
    known, outside = probabilities(first, OFTEN_FIRST)
    assert np.all(known == -np.inf)
    assert outside == pytest.approx(0.0, abs=1e-12)


def test_no_character_known():
    first = FirstOccurrence([], np.zeros(0), np.zeros(NUM_FEATURES), np.zeros((NUM_CLASSES + 1, NUM_CLASSES)))
    known, outside = first.log_probabilities("ab", 3, np.zeros(0))
    assert (len(known), outside) == (0, 0.0)


def test_the_script_and_the_case_of_what_was_met_matter():
    first = FirstOccurrence(
        list("bBжЖ"),
        np.zeros(4),
        np.array([-3.0, 1.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
        np.zeros((NUM_CLASSES + 1, NUM_CLASSES)),
    )
    known, _ = first.log_probabilities("aж", int(class_of("a")), np.zeros(4))
    p = dict(zip("bBжЖ", np.exp(known), strict=True))
    assert p["ж"] == 0
    assert p["b"] == p["B"] < p["Ж"]
    known, _ = first.log_probabilities("ac", int(class_of("a")), np.zeros(4))
    p = dict(zip("bBжЖ", np.exp(known), strict=True))
    assert p["b"] > p["ж"]


def test_others_are_likelier_where_many_came_before():
    first = tiny_first_occurrence()
    _, few = probabilities(first, "an")
    _, many = probabilities(first, "anß©÷")
    assert many > few


@pytest.mark.parametrize(("met", "likely", "unlikely"), [("áce", "é", "è"), ("a(", ")", "]"), ("n?", "¿", "¡")])
def test_accents_and_partners_of_what_was_met_matter(met, likely, unlikely):
    characters = [likely, unlikely]
    weights = np.array([-3.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0])
    first = FirstOccurrence(characters, np.zeros(2), weights, np.zeros((NUM_CLASSES + 1, NUM_CLASSES)))
    known, _ = first.log_probabilities(met, 3, np.zeros(2))
    assert known[0] == pytest.approx(known[1] + 1.0)


def test_known_are_the_letters_of_blocks_that_languages_share():
    free = [MetaText(code, ["ábĉ", "de ж"], True) for code in ("aaa", "bbb", "ccc")]
    other = MetaText("ddd", ["ქართული"], False)
    found = character_frequencies([*free, other])
    assert found["á"] == found["b"] == found["\n"] == 1.0
    assert 0 < found["z"] < 0.1  # its block is there, and it is not
    assert not {"ќ", "ქ", "\x80", "\u0378"} & set(found)  # too few of its block, not free, no letter
