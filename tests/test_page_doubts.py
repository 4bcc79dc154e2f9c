"""Which pages are doubtful, and which are not."""

import pytest

from protoglot.corpus.eld import EldCorpus
from protoglot.errors import StorageError
from protoglot.page_doubts import doubt_about_language, doubts_about
from protoglot.reading.lexicons import Lexicons, words_of
from protoglot.reading.shipped import shipped_scorer
from protoglot.splits import few_shot_sample, split_sentences
from tiny_scorer import tiny_lexicons, tiny_texts

FINE = [
    "He said: <<Good morning>>, and <<thanks>>.",
    "It is < 3 and > 2, & so on; AT&T.",
    "C:\\new is a folder.",
    "One <b is less> than two.",
    "She went home.",
    "And again: <<thanks>>.",
]


def test_of_a_good_page_nothing_is_said():
    assert list(doubts_about(FINE)) == []


@pytest.mark.parametrize("number", [1, 4])
def test_a_few_lines_are_few(number):
    [doubt] = doubts_about(FINE[:number])
    assert doubt.startswith(f"{number} line")


@pytest.mark.parametrize(
    "line",
    [
        "<p>text",
        "text<br/> text",
        '<verse id="3">text</verse>',
        "text &amp; text",
        "text&#8217;s",
        "<!-- text -->",
        r"\v 3 text",
        r"text \f + text\f*",
    ],
)
def test_markup_is_noticed_if_two_lines_have_it(line):
    assert list(doubts_about([*FINE, line])) == []
    [doubt] = doubts_about([*FINE, line, line])
    assert doubt.startswith("2 of 8 lines have markup")


def test_a_word_list_is_noticed():
    words = ["dog", "cat", "horse", "ẹja", "don't", "mother-in-law", "bird", "cow", "pig", "two words"]
    [doubt] = doubts_about(words)
    assert doubt.startswith("9 of 10 lines are single words")
    assert list(doubts_about([*words, "and one more"])) == []
    for sentence in ("我在这里。", "ฉันอยู่ที่นี่", "ຂ້ອຍຢູ່ນີ້", "これはほんです"):
        assert list(doubts_about([sentence] * 9)) == []


def test_words_of_a_lexicon_are_those_it_was_made_of():
    texts = tiny_texts()
    lexicons = Lexicons.of(texts)
    for code, sentences in texts:
        assert lexicons.words(code) == {word for word, _ in words_of("\n".join(sentences))}


def test_a_code_that_nothing_is_known_of_is_not_doubted():
    assert doubt_about_language(["Kard a mente, anna est."] * 20, "xaa", tiny_lexicons()) is None
    assert doubt_about_language(["Kard a mente, anna est."] * 20, "", tiny_lexicons()) is None


@pytest.fixture(scope="module")
def lexicons():
    try:
        return shipped_scorer().lexicons
    except StorageError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def pages():
    corpus = EldCorpus()
    return {
        record.code: few_shot_sample(
            split_sentences(corpus.sentences(record.code)).train, 100, language=record.code, seed=0
        )
        for record in corpus.languages()
    }


def test_right_codes_are_not_doubted(lexicons, pages):
    assert {
        code: doubt for code, page in pages.items() if (doubt := doubt_about_language(page, code, lexicons))
    } == {}


@pytest.mark.parametrize(
    ("text", "code"), [("hun", "yor"), ("hun", "eus"), ("eng", "msa"), ("deu", "hau"), ("spa", "fin")]
)
def test_wrong_codes_are_doubted(lexicons, pages, text, code):
    assert f"({text})" in doubt_about_language(pages[text], code, lexicons)
    assert doubt_about_language(pages[text][:2], code, lexicons) is None  # too little to say so
