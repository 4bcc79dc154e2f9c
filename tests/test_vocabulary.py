import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protoglot.errors import VocabularyError
from protoglot.vocabulary import BEGIN, END, NUM_SYMBOLS, OTHER, Encoded, Vocabulary, decode_ids

# Every Python string, lone surrogates included.
any_text = st.text(st.characters(exclude_categories=[]))
inventories = st.builds(Vocabulary.of, st.lists(any_text, max_size=5))


@given(inventories, any_text)
def test_round_trip_is_the_identity_for_every_string(vocabulary, text):
    encoded = vocabulary.encode(text)
    assert len(encoded.ids) == len(text)
    assert vocabulary.decode(encoded) == text


@given(inventories, any_text)
def test_array_encoding_agrees(vocabulary, text):
    assert tuple(vocabulary.encode_to_array(text).tolist()) == vocabulary.encode(text).ids


@pytest.mark.parametrize(
    "inventory",
    [
        "",
        "".join(map(chr, range(0x80))),  # all of the one-byte characters: one length is exhausted
        "".join(map(chr, range(64))),  # full rows: nothing is near
        "abc ñ 一丁七 \U0001f600",
    ],
    ids=["empty", "ascii", "full-row", "mixed"],
)
def test_probabilities_of_all_other_characters_sum_to_one(inventory):
    vocabulary = Vocabulary.of([inventory])
    total = math.fsum(
        math.exp(-vocabulary.other_nats(chr(point))) for point in range(0x110000) if chr(point) not in vocabulary
    )
    assert total == pytest.approx(1, abs=1e-9)


def test_probabilities_of_all_strings_sum_to_one():
    """A uniform model over END, OTHER and the inventory, summed over all strings up to a length plus the rest."""
    vocabulary = Vocabulary.of(["ab"])
    num_outcomes = len(vocabulary) - 1  # BEGIN is never predicted
    per_symbol = 1 / num_outcomes
    others = math.fsum(
        math.exp(-vocabulary.other_nats(chr(point))) for point in range(0x110000) if chr(point) not in vocabulary
    )
    one_character = per_symbol * (len(vocabulary.characters) + others)  # all strings of one character, END aside
    length = 12
    finished = sum(one_character**n * per_symbol for n in range(length))
    assert finished + one_character**length == pytest.approx(1, abs=1e-9)


def test_a_neighbour_of_known_letters_is_cheaper_than_a_stranger():
    vocabulary = Vocabulary.of(["абв"])
    assert vocabulary.other_nats("г") < vocabulary.other_nats("ᚠ")
    assert vocabulary.others_nats("гг") == pytest.approx(2 * vocabulary.other_nats("г"))
    with pytest.raises(VocabularyError, match="'а' is in the inventory"):
        vocabulary.other_nats("а")


@given(st.lists(any_text, max_size=4), st.lists(any_text, max_size=4))
def test_ids_do_not_depend_on_the_order_of_texts_and_extension_keeps_them(texts, more):
    vocabulary = Vocabulary.of(texts)
    assert vocabulary == Vocabulary.of(reversed(texts))
    extended = vocabulary.extended(more)
    assert extended.characters[: len(vocabulary.characters)] == vocabulary.characters
    assert all(character in extended for text in more for character in text)
    assert extended.extended(more) == extended


def test_ids_are_the_same_in_another_process():
    """Sets of strings are ordered differently in each process; ids must not be."""
    code = "from protoglot.vocabulary import Vocabulary; print(Vocabulary.of(['zebra ñandú', 'ωμέγα']).characters)"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": str(seed), "PYTHONUTF8": "1"},
            capture_output=True,
            check=True,
            text=True,
            encoding="utf-8",
        ).stdout
        for seed in (1, 2, 3)
    }
    assert outputs == {f"{Vocabulary.of(['zebra ñandú', 'ωμέγα']).characters}\n"}


@given(inventories)
def test_json_is_the_identity(vocabulary):
    assert Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json()))) == vocabulary


def test_save_then_load(tmp_path):
    vocabulary = Vocabulary.of(["ǃXóõ \U0001f600"])
    vocabulary.save(tmp_path / "vocabulary.json")
    assert Vocabulary.load(tmp_path / "vocabulary.json") == vocabulary


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "not a vocabulary"),
        ('{"format": "protoglot-vocabulary", "version": 99, "characters": []}', "version 99"),
        ('{"format": "protoglot-vocabulary", "version": 1, "characters": [1114112]}', "damaged characters"),
        ('{"format": "protoglot-vocabulary", "version": 1, "characters": [true]}', "damaged characters"),
        ('{"format": "protoglot-vocabulary", "version": 1, "characters": [97, 97]}', "twice"),
    ],
)
def test_damaged_files_are_refused_by_name(tmp_path, content, message):
    path = tmp_path / "bad.json"
    path.write_text(content)
    with pytest.raises(VocabularyError, match=message) as caught:
        Vocabulary.load(path)
    assert "bad.json" in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(VocabularyError, match=r"none\.json: cannot be read"):
        Vocabulary.load(tmp_path / "none.json")


@pytest.mark.parametrize(
    "encoded",
    [Encoded((OTHER,), ""), Encoded((), "x"), Encoded((BEGIN,)), Encoded((END,)), Encoded((99,)), Encoded((-1,))],
)
def test_decode_refuses_what_encode_cannot_have_made(encoded):
    with pytest.raises(VocabularyError):
        Vocabulary.of(["ab"]).decode(encoded)


def test_decode_ids_for_display():
    vocabulary = Vocabulary.of(["ab"])
    assert decode_ids(vocabulary, [BEGIN, NUM_SYMBOLS, OTHER, END]) == "a\ufffd\n"


def test_array_is_compact():
    assert Vocabulary.of(["ab"]).encode_to_array("abab").dtype == np.int32
