import itertools
from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from protoglot.batching import make_stream
from protoglot.errors import ConfigError, StorageError
from protoglot.incontext.company import company_of
from protoglot.incontext.config import TINY, InContextConfig
from protoglot.incontext.model import InContextModel, network_from_parts, network_parts
from protoglot.incontext.network import LONGEST_EMBEDDING, MOST_CHARACTERS
from protoglot.incontext.windows import Windows
from protoglot.ngram import NGram, NGramConfig
from protoglot.vocabulary import NUM_SYMBOLS, OTHER, Vocabulary
from tiny import babble, tiny_in_context_network

SAMPLE = babble("aeiktz", 12, seed=1)
TEXT = [*babble("aeiktz", 5, seed=2), "ñ"]
KNOWN = Vocabulary.of([*SAMPLE, "Az,"])


def read(network=None, sample=SAMPLE, vocabulary=None):
    return InContextModel.read(
        network or tiny_in_context_network(KNOWN), KNOWN, sample, vocabulary or KNOWN.extended([*sample, *TEXT])
    )


def predict(model, text=TEXT, *, sample=SAMPLE, vocabulary=None):
    vocabulary = vocabulary or KNOWN.extended([*sample, *TEXT])
    ngram = NGram.train(sample, vocabulary, order=3)
    stream = make_stream(text, vocabulary).astype(np.int64)
    pieces = list(ngram.by_order(text))
    orders = torch.cat([torch.from_numpy(found).log().float() for found, _ in pieces])
    depth = torch.cat([torch.from_numpy(found) for _, found in pieces])
    windows = Windows(stream, model.window).of(0, len(stream) - 1)
    return model.log_probabilities(windows, orders, depth, num_characters=300), windows, orders, depth


def test_predictions_sum_to_one():
    found, *_ = predict(read())
    torch.testing.assert_close(found.exp().sum(dim=1), torch.ones(len(found)))


def test_a_position_depends_on_no_other():
    model = read()
    found, windows, orders, depth = predict(model)
    for row in (0, 3, 11):
        rows = slice(row, row + 1)
        alone = model.log_probabilities(windows[rows], orders[rows], depth[rows], num_characters=300)
        torch.testing.assert_close(alone, found[rows])


@pytest.mark.parametrize("part", ["memory", "letters"])
def test_what_was_read_matters(part):
    model, less = read(), read(sample=SAMPLE[:3])
    one, *_ = predict(model)
    other, *_ = predict(replace(model, **{part: getattr(less, part)}))
    assert not torch.allclose(one, other)


def test_letters_can_trade_places():
    """Where letters trade places in the text, and with them those that stand for them, nothing changes."""
    swap = str.maketrans("aeiktz", "zieatk")
    swapped = [sentence.translate(swap) for sentence in SAMPLE]
    vocabulary = Vocabulary.of(SAMPLE)
    network = tiny_in_context_network(vocabulary)
    model = InContextModel.read(network, vocabulary, SAMPLE, vocabulary)
    ids = {letter: id_ for id_, letter in enumerate(vocabulary.characters, start=NUM_SYMBOLS)}
    back = {new: old for old, new in zip("aeiktz", "zieatk", strict=True)}
    stand = torch.tensor([0, 1, 2, *(ids[back.get(letter, letter)] for letter in vocabulary.characters)])
    stream = make_stream(swapped, vocabulary).astype(np.int64)
    windows = torch.from_numpy(Windows(stream, model.window).of(0, len(stream) - 1))
    read, next_ids = windows[:, -1], torch.from_numpy(stream[1:])
    letters = network.letters_of(read, next_ids, stand)
    memory = network.memorise(network.states(windows, letters), read, next_ids)
    other = replace(model, memory=memory, letters=letters)
    one, *_ = predict(model, SAMPLE, vocabulary=vocabulary)
    same, *_ = predict(other, swapped, sample=swapped, vocabulary=vocabulary)
    columns = [0, 1, *(ids[letter.translate(swap)] - 1 for letter in vocabulary.characters)]
    torch.testing.assert_close(same[:, columns], one, rtol=1e-4, atol=1e-4)


def test_letters_are_known_by_the_company_they_keep():
    """Two letters that one known letter stands for, equally frequent: what stands beside them tells them apart."""
    network = tiny_in_context_network(KNOWN)
    ids = torch.tensor([1, 3, 4, 1, 5, 6, 1])
    known_ids = torch.tensor([0, 1, 2, 3, 4, 3, 5])  # 5 looks like 3, but 6 does not look like 4
    company = company_of(ids[:-1], ids[1:], len(known_ids))
    assert torch.equal(company.facts[3], company.facts[5])
    letters = network.letters_of(ids[:-1], ids[1:], known_ids)
    assert not torch.allclose(letters.embedding[3], letters.embedding[5])
    alone = network.letters_of(ids[:1], ids[:1], known_ids)  # a text in which neither occurs
    torch.testing.assert_close(alone.embedding[3], alone.embedding[5])


def test_characters_that_nothing_stands_for_start_from_nothing():
    network = tiny_in_context_network(KNOWN)
    ids = torch.tensor([1, 3, 4, 3, 1])
    known_ids = torch.tensor([0, 1, 2, OTHER, 4])
    before = network.letters_of(ids[:-1], ids[1:], known_ids)
    with torch.no_grad():
        network.embedding[OTHER] *= 10
    after = network.letters_of(ids[:-1], ids[1:], known_ids)
    torch.testing.assert_close(after.embedding, before.embedding)
    torch.testing.assert_close(after.language, before.language)
    assert after.named.tolist() == [True, True, False, False, True]


def test_no_company_makes_a_character_drown_out_others():
    network = tiny_in_context_network(KNOWN)
    with torch.no_grad():
        network.change_weight *= 100
    ids = torch.tensor([1, 3, 4, 3, 4, 5, 1])
    letters = network.letters_of(ids[:-1], ids[1:], torch.arange(7))
    lengths = letters.embedding.norm(dim=1)
    torch.testing.assert_close(lengths.amax(), torch.tensor(LONGEST_EMBEDDING))
    assert letters.language.isfinite().all()


@pytest.mark.parametrize("part", ["embedding", "bias", "language"])
def test_everything_that_is_made_of_letters_matters(part):
    model = read()
    before, *_ = predict(model)
    changed = getattr(model.letters, part) + torch.linspace(0, 1, len(getattr(model.letters, part))).view(
        -1, *[1] * (getattr(model.letters, part).dim() - 1)
    )
    after, *_ = predict(replace(model, letters=replace(model.letters, **{part: changed})))
    assert not torch.allclose(after, before)


def test_all_weights_are_taught():
    """Each has a gradient: nothing that is in the network is beside the point."""
    network = tiny_in_context_network(KNOWN)
    vocabulary = KNOWN.extended([*SAMPLE, *TEXT])
    stream = torch.from_numpy(make_stream(SAMPLE, vocabulary).astype(np.int64))
    windows = torch.from_numpy(Windows(stream.numpy(), network.config.window).of(0, len(stream) - 1))
    known_ids = torch.arange(len(vocabulary)).clamp(max=len(KNOWN) - 1)
    letters = network.letters_of(stream[:-1], stream[1:], known_ids)
    states = network.states(windows, letters)
    memory = network.memorise(states, windows[:, -1], stream[1:])
    orders = torch.zeros(len(windows), 3, len(vocabulary) - 1).log_softmax(dim=2)
    depth = torch.zeros(len(windows), dtype=torch.int64)
    found = network.predict(states, windows[:, -1], orders, depth, memory, letters, num_characters=300)
    found[:, 3].sum().backward()
    for name, weight in network.named_parameters():
        assert weight.grad is not None, name
        assert bool((weight.grad != 0).any()), name


def test_of_other_nothing_but_the_components_tells():
    network = tiny_in_context_network(KNOWN)
    before, *_ = predict(read(network))
    with torch.no_grad():
        network.output_bias[OTHER] -= 50
        network.embedding[OTHER] *= 10
    after, *_ = predict(read(network))
    torch.testing.assert_close(after, before)


def test_of_very_much_text_the_first_is_remembered():
    many = babble("aeiktz", 1500, seed=4)
    assert sum(len(sentence) + 1 for sentence in many) > MOST_CHARACTERS
    memory = read(sample=many).memory
    assert len(memory.ids) == MOST_CHARACTERS
    assert len(read(sample=["a" * (3 * MOST_CHARACTERS)]).memory.ids) == MOST_CHARACTERS


def test_a_network_is_the_same_after_it_was_taken_apart():
    network = tiny_in_context_network(KNOWN)
    facts, arrays = network_parts(network)
    again = network_from_parts(facts, arrays, name="n")
    assert again.config == network.config
    for name, weight in network.named_parameters():
        assert torch.equal(weight, dict(again.named_parameters())[name])


@pytest.mark.parametrize("damage", ["no config", "size", "weights", "values", "order", "field"])
def test_a_damaged_network_is_refused(damage):
    facts, arrays = network_parts(tiny_in_context_network(KNOWN))
    if damage == "no config":
        del facts["config"]
    elif damage == "size":
        facts["vocabulary_size"] = -1
    elif damage == "weights":
        arrays["key"] = arrays["key"][1:]
    elif damage == "values":
        arrays["key"] = np.full_like(arrays["key"], np.inf)
    elif damage == "order":
        facts["config"]["ngram"]["order"] = 4
    else:
        facts["config"]["magic"] = 1
    with pytest.raises(StorageError, match=r"^n: "):
        network_from_parts(facts, arrays, name="n")


@pytest.mark.parametrize(
    ("part", "damage"),
    [
        *itertools.product(["embedding", "bias", "named", "language"], ["missing", "shape", "type"]),
        *itertools.product(["embedding", "bias", "language"], ["values"]),
        ("surplus", "surplus"),
    ],
)
def test_a_model_with_damaged_letters_is_refused(part, damage):
    model = read()
    facts, tensors = model.parts()
    letters = dict(tensors["letters"])
    if damage == "missing":
        del letters[part]
    elif damage == "shape":
        letters[part] = letters[part][1:]
    elif damage == "type":
        letters[part] = letters[part].astype(np.int64)
    elif damage == "surplus":
        letters[part] = letters["bias"]
    else:
        letters[part] = np.full_like(letters[part], np.nan)
    with pytest.raises(StorageError, match=r"^n: damaged letters: "):
        InContextModel.from_parts(
            facts, {**tensors, "letters": letters}, vocabulary_size=len(model.letters.bias), name="n"
        )


def test_sizes_must_be_sizes():
    for name in (each.name for each in fields(TINY) if each.name != "ngram"):
        with pytest.raises(ConfigError, match=rf"in-context\.{name}: 0"):
            replace(TINY, **{name: 0})
    config = InContextConfig(ngram=NGramConfig(order=7))
    assert InContextConfig.from_json(config.to_json(), name="n") == config
