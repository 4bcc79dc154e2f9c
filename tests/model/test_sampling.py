from collections import Counter
from dataclasses import replace

import pytest
import torch

from protoglot.completion import Completer
from protoglot.generation import GenerationConfig
from protoglot.model.config import TINY, Conditioning
from protoglot.model.network import LanguageModel
from protoglot.model.sampling import generate, sample
from protoglot.vocabulary import BEGIN, END, OTHER, Vocabulary
from tiny import tiny_adapted

VOCABULARY = Vocabulary.of(["abcd "])


@pytest.fixture
def model():
    made = LanguageModel(TINY, vocabulary_size=len(VOCABULARY), num_features=0, seed=2)
    with torch.no_grad():
        made.output_bias.copy_(
            torch.tensor([50.0, -3.0, 50.0, 0.5, 1.0, -1.0, 0.0, 0.2])
        )  # BEGIN, END, OTHER, ...
    return made


def test_the_same_seed_gives_the_same_texts_and_another_others(model):
    config = GenerationConfig(length=40)
    first = generate(model, VOCABULARY, None, config, num_samples=3, seed=1)
    assert generate(model, VOCABULARY, None, config, num_samples=3, seed=1) == first
    assert generate(model, VOCABULARY, None, config, num_samples=3, seed=2) != first
    assert [len(text) for text in first] == [40, 40, 40]


def test_begin_and_other_are_never_drawn(model):
    for text in generate(model, VOCABULARY, None, GenerationConfig(length=60), num_samples=20):
        assert set(text) <= set("abcd \n")


def test_characters_are_drawn_from_the_model(model):
    """Frequencies after a fixed beginning agree with the model's probabilities, OTHER left out."""
    ids = torch.tensor([[BEGIN], *([id_] for id_ in VOCABULARY.encode("ab").ids)])
    vectors, _ = model.hidden_states(ids, None, model.initial_state(1))
    logits = model.logits(vectors[-1, 0]).detach()
    logits[OTHER - 1] = -torch.inf
    wanted = torch.softmax(logits, dim=0)
    number = 4000
    texts = generate(model, VOCABULARY, None, GenerationConfig(length=1, start="ab"), num_samples=number)
    assert all(text.startswith("ab") for text in texts)
    found = Counter(text[2] for text in texts)
    for id_ in range(3, len(VOCABULARY)):
        share = found[VOCABULARY.characters[id_ - 3]] / number
        assert share == pytest.approx(float(wanted[id_ - 1]), abs=0.03)


def test_the_first_character_is_uniform(model):
    found = Counter(generate(model, VOCABULARY, None, GenerationConfig(length=1), num_samples=5000))
    assert set(found) == set("abcd ")
    assert all(count / 5000 == pytest.approx(0.2, abs=0.03) for count in found.values())


def test_temperature_zero_takes_the_likeliest_and_so_does_a_tiny_share(model):
    cold = generate(model, VOCABULARY, None, GenerationConfig(length=30, start="a", temperature=0), seed=1)
    narrow = generate(model, VOCABULARY, None, GenerationConfig(length=30, start="a", top_p=1e-9), seed=2)
    assert cold == narrow


def test_until_end(model):
    with torch.no_grad():
        model.output_bias[END] = 4.0
    texts = generate(model, VOCABULARY, None, GenerationConfig(length=50, until_end=True), num_samples=20)
    assert all("\n" not in text for text in texts)
    assert min(map(len, texts)) < 50


def test_a_beginning_outside_the_inventory_is_kept(model):
    (text,) = generate(model, VOCABULARY, None, GenerationConfig(length=5, start="aж"))
    assert text.startswith("aж")
    assert len(text) == 7


def test_a_beginning_is_read_as_text_is_and_shown_as_typed(model):
    vocabulary = Vocabulary.of(["abcdé "])
    network = LanguageModel(TINY, vocabulary_size=len(vocabulary), num_features=0, seed=2)

    def after(start):
        (text,) = generate(network, vocabulary, None, GenerationConfig(length=40, start=start), seed=3)
        assert text.startswith(start)
        return text.removeprefix(start)

    assert after("ae\u0301") == after("aé")
    assert after("ab\r\ncd") == after("ab\ncd") != after("ab cd")


def test_features_matter():
    config = replace(TINY, conditioning=Conditioning.OEST)
    model = LanguageModel(config, vocabulary_size=len(VOCABULARY), num_features=4, seed=0)
    with torch.no_grad():
        model.encoder_weight.mul_(100)
        model.projection.mul_(20)
    cold = GenerationConfig(length=200, start="a")
    one = generate(model, VOCABULARY, torch.tensor([1.0, 0, 0, 0]), cold)
    other = generate(model, VOCABULARY, torch.tensor([0.0, 1, 1, 1]), cold)
    assert one != other


def test_an_adapted_model_is_sampled_by_its_own_probabilities():
    adapted = tiny_adapted(alphabet="abñ")
    number = 3000
    config = GenerationConfig(length=1, start="ab")
    texts = sample(adapted.reader(number), adapted.vocabulary, config, num_samples=number)
    found = Counter(text[2:] for text in texts)
    completer = Completer(adapted)
    completer.text = "ab"
    total = sum(each.probability for each in completer.characters(100))
    for each in completer.characters(4):
        assert found[each.text] / number == pytest.approx(each.probability / total, abs=0.03)


def test_hardly_any_temperature_is_as_none(model):
    cold = [
        generate(model, VOCABULARY, None, GenerationConfig(start="a", temperature=temperature), seed=1)
        for temperature in (0.0, 5e-324)
    ]
    assert cold[0] == cold[1]
