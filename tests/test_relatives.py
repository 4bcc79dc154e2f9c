"""New characters start near those they are like."""

import sys
import unicodedata

import pytest
import torch

from protoglot.model.config import TINY
from protoglot.model.network import LanguageModel
from protoglot.prior.extending import extended_model
from protoglot.relatives import find_relative
from protoglot.vocabulary import Vocabulary

LATIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,;:?!'\"()-"


@pytest.mark.parametrize(
    ("script", "text", "relatives"),
    [
        ("accents", "éÉẹşøłđ", "eEesold"),
        ("other case", "ŋŊ", "Ŋŋ"),
        ("Cyrillic", "бБжи", "bBzi"),
        ("Greek", "αΑβγ", "aAbg"),
        ("Arabic", "بکدستن؟،", "bkdstn?,"),
        ("Hebrew", "בגדם", "bgdm"),
        ("Devanagari", "देवनागरी।", "devnagri."),
        ("digits", "٣३3", "333"),
    ],
)
def test_relatives(script, text, relatives):
    known = LATIN + ("Ŋŋ" if script == "other case" else "")
    found = [find_relative(character, known) if character not in LATIN else character for character in text]
    assert "".join(each or "_" for each in found) == relatives


def test_a_character_without_a_relative_has_none():
    assert [find_relative(character, LATIN) for character in "語日ə\u0000"] == [None] * 4


def test_a_relative_is_known_and_another_character_whatever_is_asked():
    known = frozenset("aéБ.7")
    for point in range(0, sys.maxunicode + 1, 7):
        character = chr(point)
        relative = find_relative(character, known)
        assert relative is None or (relative in known and relative != character), unicodedata.name(character, "?")


def test_new_letters_start_nearer_to_their_relatives_than_to_other_letters():
    vocabulary = Vocabulary(sorted(LATIN))
    model = LanguageModel(TINY, vocabulary_size=len(vocabulary), num_features=3)
    extended = vocabulary.extended(["бдегиклмнопрст"])
    embedding = extended_model(model, extended, dropout=0.0).embedding.detach()
    ids = {character: int(extended.encode_to_array(character)[0]) for character in extended.characters}
    nearer = []
    for character in extended.characters[len(vocabulary.characters) :]:
        distances = (embedding[: len(vocabulary)] - embedding[ids[character]]).norm(dim=1)
        relative = find_relative(character, LATIN)
        nearer.append(float(distances[ids[relative]]) < float(distances.median()))
    assert sum(nearer) > 0.8 * len(nearer)
    assert len(torch.unique(embedding, dim=0)) == len(embedding)  # no two alike
