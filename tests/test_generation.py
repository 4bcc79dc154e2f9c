from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from protoglot.errors import ConfigError
from protoglot.generation import GenerationConfig, choose, write
from protoglot.reader_model import ReaderModel
from protoglot.reading.reader import Reader
from tiny import babble
from tiny_scorer import tiny_scorer

SCORES = np.log(np.array([[0.5, 0.3, 0.15, 0.05]]))


@pytest.fixture(scope="module")
def model():
    reader = Reader(tiny_scorer())
    reader.read("".join(f"{sentence}\n" for sentence in babble("abd", 12, seed=0)))
    return ReaderModel(reader)


def drawn(config, number=4000, scores=SCORES):
    columns = choose(np.repeat(scores, number, axis=0), config, np.random.default_rng(0))
    return np.bincount(columns, minlength=scores.shape[1]) / number


def test_columns_are_drawn_by_their_probabilities():
    np.testing.assert_allclose(drawn(GenerationConfig()), np.exp(SCORES[0]), atol=0.03)


def test_a_temperature_raises_probabilities_to_its_inverse():
    wanted = np.exp(SCORES[0]) ** 2
    np.testing.assert_allclose(drawn(GenerationConfig(temperature=0.5)), wanted / wanted.sum(), atol=0.03)


def test_a_share_keeps_the_likeliest_that_have_it():
    np.testing.assert_allclose(drawn(GenerationConfig(top_p=0.6)), [0.625, 0.375, 0, 0], atol=0.03)


@pytest.mark.parametrize("settings", [{"temperature": 0.0}, {"temperature": 5e-324}, {"top_p": 1e-9}])
def test_hardly_any_temperature_or_share_takes_the_likeliest(settings):
    assert drawn(GenerationConfig(**settings), number=20).tolist() == [1, 0, 0, 0]


def test_what_is_impossible_is_never_drawn():
    scores = np.array([[0.0, -np.inf, 0.0]])
    assert drawn(GenerationConfig(), scores=scores)[1] == 0


def test_writing_leaves_the_reader_as_it_was(model):
    before = model.reader.predict().probabilities
    model.write(GenerationConfig(length=30, start=""), number=2, seed=0)
    np.testing.assert_array_equal(model.reader.predict().probabilities, before)
    assert model.reader.num_characters == len(model.reader.text)


def test_a_reader_draws_characters_as_it_predicts_them(model):
    reader = model.reader.copy()
    reader.read("ab")
    prediction = reader.predict()
    number = 1500
    texts = model.write(GenerationConfig(length=1, start="ab"), number=number, seed=0)
    assert all(text.startswith("ab") for text in texts)
    found = Counter(text[2:] for text in texts)
    named = prediction.probabilities.sum()
    for character, probability in prediction.most_likely(4):
        assert found[character] / number == pytest.approx(probability / named, abs=0.05)


def test_texts_are_drawn_from_the_joint_distribution(model):
    """Each character is drawn after those before it were read."""
    [text] = model.write(GenerationConfig(length=12, start="", temperature=0), number=1, seed=0)
    reader = model.reader.copy()
    for character in text:
        [(likeliest, _)] = reader.predict().most_likely(1)
        assert character == likeliest
        reader.read(character)


def test_the_seed_decides_and_each_text_has_its_own_stream(model):
    config = GenerationConfig(length=20, start="")
    first = model.write(config, number=3, seed=1)
    assert model.write(config, number=3, seed=1) == first
    assert model.write(config, number=2, seed=1) == first[:2]
    assert model.write(config, number=3, seed=2) != first
    assert len(set(first)) == 3
    assert [len(text) for text in first] == [20, 20, 20]


def test_the_first_character_is_uniform_over_those_met(model):
    found = Counter(model.write(GenerationConfig(length=1), number=3000, seed=0))
    met = set(model.reader.characters) - {"\n"}
    assert set(found) == met
    assert all(count / 3000 == pytest.approx(1 / len(met), abs=0.03) for count in found.values())


def test_until_end_stops_before_the_line_break(model):
    config = GenerationConfig(length=60, start="", until_end=True)
    texts = model.write(config, number=10, seed=0)
    assert all("\n" not in text for text in texts)
    assert min(map(len, texts)) < 60
    unbounded = model.write(replace(config, until_end=False), number=10, seed=0)
    for text, longer in zip(texts, unbounded, strict=True):
        assert longer.split("\n")[0] == text


def test_a_beginning_is_read_normalised_and_shown_as_typed(model):
    config = GenerationConfig(length=15, temperature=0)
    [typed] = model.write(replace(config, start="a  b\r\nd"), number=1, seed=0)
    [clean] = model.write(replace(config, start="a b\nd"), number=1, seed=0)
    assert typed.removeprefix("a  b\r\nd") == clean.removeprefix("a b\nd")


def test_texts_that_have_ended_wait_for_the_others():
    class Counting:
        """Text i ends after i + 1 characters."""

        def __init__(self):
            self.read_so_far = 0

        def read(self, pieces):
            self.read_so_far += 1

        def predict(self):
            ends = np.array([[self.read_so_far > i] for i in range(3)])
            return "a\n", np.where(np.hstack([ends, ~ends]), -np.inf, 0.0)

        def characters(self):
            return "a"

    config = GenerationConfig(length=9, start="", until_end=True)
    assert write(Counting(), config, number=3, generator=np.random.default_rng(0)) == ["", "a", "aa"]


@pytest.mark.parametrize(
    "wrong", [{"length": 0}, {"temperature": -1.0}, {"temperature": float("inf")}, {"top_p": 0.0}, {"top_p": 1.5}]
)
def test_settings_out_of_range_are_named(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        GenerationConfig(**wrong)
