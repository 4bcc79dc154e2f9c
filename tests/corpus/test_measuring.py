"""Counts of a language's text."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protoglot.corpus.eld import EldCorpus
from protoglot.corpus.folder import FolderCorpus
from protoglot.corpus.interface import LanguageRecord
from protoglot.corpus.measuring import measure
from protoglot.text import normalise

SENTENCES = st.lists(st.text(max_size=20).map(normalise).filter(bool), max_size=30)


class Text:
    """A corpus of one language."""

    name = "text"

    def __init__(self, sentences):
        self._sentences = sentences

    def languages(self):
        return (LanguageRecord(code="eus", iso639_3="eus", name="Basque"),)

    def sentences(self, code):
        return iter(self._sentences)


@given(SENTENCES)
def test_every_character_and_sentence_is_counted_once(sentences):
    measured = measure(Text(sentences), "eus")
    assert measured.num_sentences == len(sentences)
    assert measured.num_characters == sum(map(len, sentences))
    assert measured.character_counts == Counter("".join(sentences))
    assert measured.num_distinct_characters == len(set("".join(sentences)))
    assert measured.num_duplicates == len(sentences) - len(set(sentences))


@given(SENTENCES, SENTENCES)
def test_counts_add_up_over_the_pieces_of_a_text(first, second):
    together, one, other = (measure(Text(text), "eus") for text in (first + second, first, second))
    assert together.num_sentences == one.num_sentences + other.num_sentences
    assert Counter(together.character_counts) == Counter(one.character_counts) + Counter(other.character_counts)
    assert together.num_duplicates >= one.num_duplicates + other.num_duplicates


@given(SENTENCES)
def test_order_and_shares(sentences):
    measured = measure(Text(sentences), "eus")
    items = list(measured.character_counts.items())
    assert items == sorted(items, key=lambda item: (-item[1], item[0]))
    shares = measured.script_shares
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert not shares or sum(shares.values()) == pytest.approx(1)
    assert list(measure(Text(sentences[::-1]), "eus").character_counts.items()) == items


def test_most_frequent_leaves_the_blank_out():
    measured = measure(Text(["a b a c a b", "b"]), "eus")
    assert measured.most_frequent(2) == "ab"
    assert measured.most_frequent(9) == "abc"
    assert measured.character_counts[" "] == 5


def test_scripts_are_shares_of_letters():
    assert measure(Text(["abc д, 12!"]), "eus").script_shares == {"Latin": 0.75, "Cyrillic": 0.25}
    assert measure(Text(["12!"]), "eus").script_shares == {}


def test_a_text_is_read_as_a_stream():
    def endless_start():
        yield "a"
        raise RuntimeError("read on")

    with pytest.raises(RuntimeError, match="read on"):
        measure(Text(endless_start()), "eus")


def test_a_real_text():
    measured = measure(EldCorpus(), "eus")
    assert (measured.num_sentences, measured.num_duplicates) == (1000, 0)
    assert measured.script_shares["Latin"] > 0.999
    assert measured.most_frequent(3) == "aei"


@pytest.mark.corpora
def test_the_counts_of_a_manifest(corpora):
    measured = measure(FolderCorpus(corpora / "bible77"), "gla")
    assert measured.num_sentences == 677
