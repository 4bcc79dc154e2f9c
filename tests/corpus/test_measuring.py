"""Counts of a language's text."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protoglot.corpus.eld import EldCorpus
from protoglot.corpus.folder import FolderCorpus
from protoglot.corpus.interface import LanguageRecord, TextsByLanguage
from protoglot.corpus.measuring import measure
from protoglot.text import normalise

SENTENCES = st.lists(st.text(max_size=20).map(normalise).filter(bool), max_size=30)


BASQUE = LanguageRecord(code="eus", iso639_3="eus", name="Basque")


def measured(sentences):
    return measure(TextsByLanguage("text", [(BASQUE, sentences)], iter), "eus")


@given(SENTENCES)
def test_every_character_and_sentence_is_counted_once(sentences):
    found = measured(sentences)
    assert found.num_sentences == len(sentences)
    assert found.num_characters == sum(map(len, sentences))
    assert found.character_counts == Counter("".join(sentences))
    assert found.num_distinct_characters == len(set("".join(sentences)))
    assert found.num_duplicates == len(sentences) - len(set(sentences))


@given(SENTENCES, SENTENCES)
def test_counts_add_up_over_the_pieces_of_a_text(first, second):
    together, one, other = (measured(text) for text in (first + second, first, second))
    assert together.num_sentences == one.num_sentences + other.num_sentences
    assert Counter(together.character_counts) == Counter(one.character_counts) + Counter(other.character_counts)
    assert together.num_duplicates >= one.num_duplicates + other.num_duplicates


@given(SENTENCES)
def test_order_and_shares(sentences):
    found = measured(sentences)
    items = list(found.character_counts.items())
    assert items == sorted(items, key=lambda item: (-item[1], item[0]))
    shares = found.script_shares
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert not shares or sum(shares.values()) == pytest.approx(1)
    assert list(measured(sentences[::-1]).character_counts.items()) == items


def test_most_frequent_leaves_the_blank_out():
    found = measured(["a b a c a b", "b"])
    assert found.most_frequent(2) == "ab"
    assert found.most_frequent(9) == "abc"
    assert found.character_counts[" "] == 5


def test_scripts_are_shares_of_letters():
    assert measured(["abc д, 12!"]).script_shares == {"Latin": 0.75, "Cyrillic": 0.25}
    assert measured(["12!"]).script_shares == {}


def test_a_real_text():
    found = measure(EldCorpus(), "eus")
    assert (found.num_sentences, found.num_duplicates) == (1000, 0)
    assert found.script_shares["Latin"] > 0.999
    assert found.most_frequent(3) == "aei"


@pytest.mark.corpora
def test_the_counts_of_a_manifest(corpora):
    found = measure(FolderCorpus(corpora / "bible77"), "gla")
    assert found.num_sentences == 677
