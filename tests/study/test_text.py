import pytest
from hypothesis import given
from hypothesis import strategies as st

from protoglot.errors import CorpusError
from protoglot.splits import first_characters, split_sentences
from protoglot.study.text import digest_of, shortened, unchanged
from tiny import TextCorpus, babble_corpus


@given(st.integers(0, 200), st.integers(1, 2000))
def test_a_shortened_text_has_beginnings_of_the_same_parts(num_sentences, num_characters):
    whole = TextCorpus({"eus": [f"sentence {number}" for number in range(num_sentences)]})
    before = split_sentences(whole.sentences("eus"))
    after = split_sentences(shortened(whole, num_characters).sentences("eus"))
    for part in ("train", "development", "test"):
        short = after.part(part)
        assert short == before.part(part)[: len(short)]
    assert after.train == first_characters(before.train, num_characters)
    if len(after.train) >= 8 and before.test:
        assert after.development
        assert after.test


@given(st.lists(st.text("ab", min_size=1, max_size=9)), st.integers(1, 60))
def test_first_characters_are_whole_sentences_and_not_too_many(sentences, number):
    taken = first_characters(sentences, number)
    assert taken == tuple(sentences[: len(taken)])
    total = sum(len(sentence) + 1 for sentence in taken)
    assert total <= number or len(taken) == 1
    if len(taken) < len(sentences):
        assert total + len(sentences[len(taken)]) + 1 > number


def test_a_text_that_changed_is_noticed():
    corpus = babble_corpus()
    digests = {code: digest_of(corpus.sentences(code)) for code in corpus.texts}
    checked = unchanged(corpus, digests)
    assert list(checked.sentences("eus")) == list(corpus.sentences("eus"))
    corpus.texts["eus"][3] += "!"
    with pytest.raises(CorpusError, match="the text of eus has changed since the study was started"):
        list(checked.sentences("eus"))
    assert list(checked.sentences("fra"))


def test_line_breaks_between_sentences_count():
    assert digest_of(["ab", "c"]) != digest_of(["a", "bc"])
