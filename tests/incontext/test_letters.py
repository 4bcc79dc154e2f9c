import time

import numpy as np
import pytest

from protoglot.incontext.letters import disguise, kind_of, stand_ins
from protoglot.vocabulary import NUM_SYMBOLS, Vocabulary

KNOWN = Vocabulary("ABEabcdeiotzéñ ,.")


def as_text(ids, vocabulary=KNOWN):
    return "".join(vocabulary.characters[id_ - NUM_SYMBOLS] for id_ in ids[NUM_SYMBOLS:])


@pytest.mark.parametrize("seed", range(5))
def test_letters_in_disguise_keep_their_kind_and_stay_apart(seed):
    found = disguise(KNOWN, np.random.default_rng(seed))
    assert found[:NUM_SYMBOLS].tolist() == list(range(NUM_SYMBOLS))
    assert len(set(found.tolist())) == len(KNOWN)
    for letter, other in zip(KNOWN.characters, as_text(found), strict=True):
        assert kind_of(letter) == kind_of(other)
        if not letter.isalpha():
            assert letter == other


def test_disguises_differ_and_depend_on_the_generator_alone():
    texts = {as_text(disguise(KNOWN, np.random.default_rng(seed))) for seed in (0, 0, 1, 2)}
    assert len(texts) == 3


def test_a_capital_goes_with_its_small_letter():
    for seed in range(20):
        found = as_text(disguise(KNOWN, np.random.default_rng(seed)))
        small = found[KNOWN.characters.index("b")]
        if small.upper() in KNOWN.characters:
            assert found[KNOWN.characters.index("B")] == small.upper()


def test_letters_of_other_scripts_are_disguised_too():
    vocabulary = Vocabulary("авеБбинابتкмक")
    found = {as_text(disguise(vocabulary, np.random.default_rng(seed)), vocabulary) for seed in range(9)}
    assert len(found) > 5
    for text in found:
        assert [kind_of(letter) for letter in text] == [kind_of(letter) for letter in vocabulary.characters]


def test_known_characters_stand_for_themselves():
    extended = KNOWN.extended(["жы"])
    assert stand_ins(extended, KNOWN, set("ab"))[: len(KNOWN)].tolist() == list(range(len(KNOWN)))


def test_new_letters_are_told_apart_as_long_as_there_are_unused_ones():
    text = "абвгдез"  # seven letters, and eleven small ones are known
    extended = KNOWN.extended([text])
    found = stand_ins(extended, KNOWN, set(text))[len(KNOWN) :]
    assert len(set(found.tolist())) == len(text)
    assert KNOWN.characters[found[0] - NUM_SYMBOLS] == "a"  # the one it is most like


def test_a_letter_that_is_in_use_stands_for_no_other():
    extended = KNOWN.extended(["а"])  # Cyrillic
    found = stand_ins(extended, KNOWN, set("аabc"))[len(KNOWN) :]
    assert KNOWN.characters[found[0] - NUM_SYMBOLS] in "eioé"


def test_more_new_characters_than_known_ones_share_them():
    many = "".join(chr(0x4E00 + number) for number in range(100))
    extended = KNOWN.extended([many])
    found = stand_ins(extended, KNOWN, set(many))
    assert len(found) == len(extended)
    assert found.max() < len(KNOWN)
    assert found.min() >= 0


@pytest.mark.parametrize("known", ["", "ab", "12"])
def test_there_is_always_something_that_stands_for_a_new_character(known):
    vocabulary = Vocabulary(known)
    found = stand_ins(vocabulary.extended([" ж'語"]), vocabulary, set(" ж'語"))
    assert found.max() < len(vocabulary)


def test_very_many_new_characters_take_no_long_time():
    known = Vocabulary(map(chr, range(0x4E00, 0x4E00 + 1500)))
    many = "".join(map(chr, range(0x6000, 0x6000 + 3000)))
    start = time.monotonic()
    stand_ins(known.extended([many]), known, set(many))
    assert time.monotonic() - start < 5  # and not minutes, as where every new one is compared with every known one
