import itertools
import math

import numpy as np
import pytest
import torch

from protoglot.completion import Completer, SearchConfig
from protoglot.errors import ConfigError
from protoglot.reader_model import Lexicon, ReaderModel
from protoglot.reading.reader import Reader
from protoglot.text import normalise_beginning
from protoglot.vocabulary import END, OTHER
from tiny import babble, tiny_adapted
from tiny_scorer import tiny_scorer


def probability(model, beginning, rest):
    """Of a text that goes on like this, as scoring says; a line break ends a sentence."""

    def nats(text):
        sentences = text.split("\n")
        costs = model.nats(sentences)
        return float(costs[: len(text)].sum())

    return math.exp(nats(beginning) - nats(beginning + rest))


EXHAUSTIVE = {"most_read": 100_000, "least_probability": 0.0}


def tiny_reader():
    reader = Reader(tiny_scorer())
    reader.read("".join(f"{sentence}\n" for sentence in babble("abñ", 9, seed=0)))
    return ReaderModel(reader)


@pytest.fixture(params=["bare", "oest", "plat"])
def model(request):
    return tiny_adapted(request.param, alphabet="abñ")


@pytest.mark.parametrize("beginning", ["", "ab", "ab ", "ж", "ab\nb"])
def test_characters_have_the_probabilities_of_the_model(model, beginning):
    completer = Completer(model)
    completer.text = beginning
    found = completer.characters(1000)
    assert len(found) == len(model.vocabulary) - 2  # neither BEGIN nor OTHER
    assert [each.probability for each in found] == sorted((each.probability for each in found), reverse=True)
    for each in found[:5]:
        assert each.probability == pytest.approx(probability(model, beginning, each.text), rel=1e-4)


@pytest.mark.parametrize("beginning", ["", "a", "b\n"])
def test_an_exhaustive_search_finds_what_enumeration_finds(beginning):
    model = tiny_adapted("oest", alphabet="abñ")
    completer = Completer(model, SearchConfig(longest=2, **EXHAUSTIVE))
    completer.text = beginning
    letters = [character for character in model.vocabulary.characters if character != " "]
    words = ["".join(word) for length in range(3) for word in itertools.product(letters, repeat=length)]
    if not completer.begun_word:
        words.remove("")
    before = float(model.nats(beginning.split("\n"))[: len(beginning)].sum())
    blank = model.vocabulary.encode(" ").ids[0]
    wanted = {}
    for word in words:
        ((found, targets),) = model.log_probabilities((beginning + word).split("\n"))
        paid = -float(found[range(len(found)), targets][:-1].sum())
        wanted[word] = math.exp(before - paid) * float(found[-1, [blank - 1, END - 1]].exp().sum())
    likeliest = sorted(wanted, key=lambda word: -wanted[word])[:6]
    found = completer.words(6)
    assert [each.text for each in found] == likeliest
    for each in found:
        assert each.probability == pytest.approx(wanted[each.text], rel=1e-4)


def test_a_narrow_search_finds_words_with_their_true_probabilities(model):
    completer = Completer(model, SearchConfig(most_read=40))
    completer.text = "a"
    found = completer.words(4)
    assert 0 < len(found) <= 4
    for each in found:
        wanted = probability(model, "a", f"{each.text} ") + probability(model, "a", f"{each.text}\n")
        assert each.probability == pytest.approx(wanted, rel=1e-4)


def test_what_was_typed_before_does_not_matter(model):
    typed, fresh = Completer(model), Completer(model)
    for text in ("ab", "abñ a", "abñ", "b", "", "abb a"):
        typed.text = text
    fresh.text = "abb a"
    assert typed.text == "abb a"
    assert typed.characters() == fresh.characters()
    assert typed.words() == fresh.words()


def test_one_more_character_is_one_step_and_taking_back_is_none(model, monkeypatch):
    completer = Completer(model)
    completer.text = "ab ab"
    steps = []
    read = type(model).read_side_by_side

    def counted(self, cursors, ids):
        steps.append(list(ids))
        return read(self, cursors, ids)

    monkeypatch.setattr(type(model), "read_side_by_side", counted)
    completer.text = "ab aba"
    assert len(steps) == 1
    completer.text = "ab"
    assert len(steps) == 1


def test_searches_on_the_way_change_no_word(model):
    typed, fresh = Completer(model), Completer(model)
    for text in ("a", "ab", "abb", "abb ", "abb a", "abb", "abb a"):
        typed.text = text
        typed.words()
    fresh.text = "abb a"
    for found, wanted in zip(typed.words(), fresh.words(), strict=True):
        assert found.text == wanted.text
        assert found.probability == pytest.approx(wanted.probability, rel=1e-4)


def test_what_a_search_has_read_is_not_read_again(model, monkeypatch):
    completer = Completer(model, SearchConfig(longest=1, **EXHAUSTIVE))
    completer.text = "ab"
    before = completer.words()
    read: list[int] = []
    original = type(model).read_side_by_side

    def counted(self, cursors, ids):
        read.append(len(ids))
        return original(self, cursors, ids)

    monkeypatch.setattr(type(model), "read_side_by_side", counted)
    assert completer.words() == before
    completer.text = "aba"  # the search had room for every next character
    assert not read


def test_what_searches_have_read_does_not_pile_up(model, monkeypatch):
    monkeypatch.setattr("protoglot.adapted_texts._MOST_EXPLORED", 20)
    monkeypatch.setattr("protoglot.reader_model._MOST_EXPLORED", 20)
    for each in (model, tiny_reader()):
        completer = Completer(each)
        for text in ("a", "ab", "abb", "b", "ba"):
            completer.text = text
            explored = completer._lookahead._explored
            assert all(known.startswith(text) for known in explored) or len(explored) <= 20
            completer.words()
        assert completer._lookahead._explored


def test_symbols_that_name_nothing_are_never_shown(model):
    with torch.no_grad():
        model.network.output_bias[OTHER] = 30
        model.network.output_bias[END] = 5
    completer = Completer(model)
    assert {each.text for each in completer.characters(100)} <= {*model.vocabulary.characters, "\n"}
    assert all(
        each.text and set(each.text) <= {*model.vocabulary.characters} - {" "} for each in completer.words()
    )


def test_the_begun_word():
    completer = Completer(tiny_adapted())
    for text, word in {"": "", "ab": "ab", "ab ": "", "ab ba": "ba", "ab\n": "", "ab\nb": "b"}.items():
        completer.text = text
        assert completer.begun_word == word


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [("", ""), ("  ", ""), (" a ", "a "), ("a\u0301  b", "á b"), ("a\n", "a\n"), ("\n\na", "a")],
)
def test_beginnings_are_normalised_but_for_the_blank_at_the_end(typed, wanted):
    assert normalise_beginning(typed) == wanted


@pytest.mark.parametrize("wrong", [{"most_read": 0}, {"longest": 0}, {"longest": None}, {"least_probability": 1}])
def test_settings_out_of_range_are_named(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        SearchConfig(**wrong)


# Readers.

TYPED = ["a", "ab", "ab ", "ab b\nñ", "", "ж", "ab ba", "ab b", "ab bañ\n"]


def after(model, text):
    """What a reader predicts after a text."""
    reader = model.reader.copy()
    reader.read(text)
    return reader.predict()


def test_a_reader_looks_ahead_as_it_predicts_whatever_was_typed_before(monkeypatch):
    monkeypatch.setattr("protoglot.reader_model._NEXT_MARK", 3)
    model = tiny_reader()
    lookahead = model.lookahead()
    for typed in TYPED:
        lookahead.go_to(typed)
        for rest in ("b", "", "ba", "a", "baж", "ba"):
            lookahead.guesses()
            [found] = lookahead.after([rest])
            wanted = after(model, typed + rest)
            assert list(found.characters) == list(wanted.characters)
            np.testing.assert_allclose(found.probabilities, wanted.probabilities, rtol=1e-9)


def test_completing_leaves_the_reader_as_it_was():
    model = tiny_reader()
    before = model.reader.predict().probabilities
    completer = Completer(model)
    completer.text = "ab b"
    completer.words()
    assert model.reader.text.endswith("\n")
    np.testing.assert_array_equal(model.reader.predict().probabilities, before)


def test_a_reader_finds_the_words_that_enumeration_finds():
    model = tiny_reader()
    completer = Completer(model, SearchConfig(longest=2, **EXHAUSTIVE))
    completer.text = "ab a"
    wanted = {}
    letters = [c for c in after(model, "ab a").characters if not c.isspace()]
    likely = ["".join(word) for length in range(3) for word in itertools.product(letters[:8], repeat=length)]
    for word in likely:
        reader = model.reader.copy()
        reader.read("ab a")
        read = reader.read(word).total_bits
        now = reader.predict()
        ending = sum(p for c, p in zip(now.characters, now.probabilities, strict=True) if c.isspace())
        wanted[word] = 2**-read * ending
    found = completer.words(5)
    assert len(found) == 5
    assert found[-1].probability >= sorted(wanted.values())[-5] * (1 - 1e-9)
    for each in found:
        if each.text in wanted:
            assert each.probability == pytest.approx(wanted[each.text], rel=1e-9)
    assert any(each.text in wanted for each in found)


def test_what_a_reader_read_makes_its_words_likelier():
    model = tiny_reader()
    word = model.reader.text.split()[0]

    def probability(model):
        completer = Completer(model, SearchConfig(longest=len(word), **(EXHAUSTIVE | {"most_read": 300})))
        completer.text = word[0]
        return next((each.probability for each in completer.words(50) if each.text == word[1:]), 0.0)

    before = probability(model)
    for _ in model.read([word] * 20):
        pass
    assert probability(model) > before


def test_a_search_reads_no_more_than_it_may(monkeypatch):
    completer = Completer(tiny_reader(), SearchConfig(most_read=7))
    completer.text = "a"
    asked = []
    original = Reader.predict
    monkeypatch.setattr(Reader, "predict", lambda reader: (asked.append(1), original(reader))[1])
    num_guesses = len(completer._lookahead.guesses())
    completer.words(50)
    assert num_guesses < len(asked) <= 7 + num_guesses


def test_what_a_reader_guesses_has_its_true_probability():
    model = tiny_reader()
    words = model.reader.text.split()
    for typed in ("", "ab ", words[0][0], f"{words[0]} {words[1]}", f"{words[2]}\n"):
        completer = Completer(model, SearchConfig(most_read=1))
        completer.text = typed
        guesses = dict(completer._lookahead.guesses())
        assert guesses
        for rest, probability in guesses.items():
            assert f"{completer.begun_word}{rest}" in words
            reader = model.reader.copy()
            reader.read(typed)
            assert probability == pytest.approx(2 ** -reader.read(rest).total_bits, rel=1e-9)
        found = completer.words(4)
        assert len({each.text for each in found}) == len(found) > 1
        for each in found:
            reader = model.reader.copy()
            reader.read(typed)
            nothing_more = 2 ** -reader.read(each.text).total_bits
            now = reader.predict()
            ending = sum(p for c, p in zip(now.characters, now.probabilities, strict=True) if c.isspace())
            assert each.probability == pytest.approx(nothing_more * ending, rel=1e-9)


def test_words_are_guessed_by_how_often_they_came_and_after_what():
    lexicon = Lexicon("the cat\nthe dog sat\na cat sat\nthe cot\n")
    assert lexicon.rests("the c")[:2] == ["at", "ot"]
    assert set(lexicon.rests("the ")[:3]) == {"cat", "dog", "cot"}
    assert lexicon.rests("a ")[0] == "cat"
    assert lexicon.rests("")[0] == lexicon.rests("a\n")[0] == "the"
    assert lexicon.rests("x") == []
    assert lexicon.rests("a cat") == [""]
