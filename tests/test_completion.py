import itertools
import math

import pytest
import torch

from protoglot.completion import BeamConfig, Completer
from protoglot.errors import ConfigError
from protoglot.text import normalise_beginning
from protoglot.vocabulary import END, OTHER
from tiny import tiny_adapted


def probability(model, beginning, rest):
    """Of a text that goes on like this, as scoring says; a line break ends a sentence."""

    def nats(text):
        sentences = text.split("\n")
        costs = model.nats(sentences)
        return float(costs[: len(text)].sum())

    return math.exp(nats(beginning) - nats(beginning + rest))


@pytest.fixture(params=["bare", "oest", "plat", "in context"])
def model(request):
    if request.param == "in context":
        return tiny_adapted(alphabet="abñ", in_context=True, with_neighbours=True)
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
    completer = Completer(model, BeamConfig(width=10_000, longest=2))
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
    completer = Completer(model, BeamConfig(width=3))
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
    completer = Completer(model, BeamConfig(width=100))
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
    monkeypatch.setattr("protoglot.completion._MOST_EXPLORED", 20)
    completer = Completer(model)
    for text in ("a", "ab", "abb", "b", "ba"):
        completer.text = text
        assert all(explored.startswith(text) for explored in completer._explored) or len(completer._explored) <= 20
        completer.words()
    assert completer._explored


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


@pytest.mark.parametrize("wrong", [{"width": 0}, {"longest": 0}])
def test_settings_out_of_range_are_named(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        BeamConfig(**wrong)
