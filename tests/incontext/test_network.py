from dataclasses import replace

import numpy as np
import pytest
import torch

from protoglot.batching import make_stream
from protoglot.errors import ConfigError, StorageError
from protoglot.incontext.config import TINY, InContextConfig
from protoglot.incontext.model import InContextModel, network_from_parts, network_parts
from protoglot.incontext.network import MOST_CHARACTERS
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


def test_what_is_in_memory_matters():
    one, *_ = predict(read())
    other, *_ = predict(read(sample=SAMPLE[:3]))
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
    memory = network.memorise(network.states(stand[windows]), windows[:, -1], torch.from_numpy(stream[1:]))
    other = replace(model, memory=memory, known_ids=stand)
    one, *_ = predict(model, SAMPLE, vocabulary=vocabulary)
    same, *_ = predict(other, swapped, sample=swapped, vocabulary=vocabulary)
    columns = [0, 1, *(ids[letter.translate(swap)] - 1 for letter in vocabulary.characters)]
    torch.testing.assert_close(same[:, columns], one, rtol=1e-4, atol=1e-4)


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


@pytest.mark.parametrize("damage", ["no config", "size", "weights", "order", "field"])
def test_a_damaged_network_is_refused(damage):
    facts, arrays = network_parts(tiny_in_context_network(KNOWN))
    if damage == "no config":
        del facts["config"]
    elif damage == "size":
        facts["vocabulary_size"] = -1
    elif damage == "weights":
        arrays["key"] = arrays["key"][1:]
    elif damage == "order":
        facts["config"]["ngram"]["order"] = 4
    else:
        facts["config"]["magic"] = 1
    with pytest.raises(StorageError, match=r"^n: "):
        network_from_parts(facts, arrays, name="n")


def test_a_model_with_ids_that_the_network_does_not_know_is_refused():
    model = read()
    facts, tensors = model.parts()
    size = len(model.known_ids)
    for ids in (model.known_ids.numpy()[1:], np.full(size, network_size(model)), np.full(size, 1.0)):
        with pytest.raises(StorageError, match="damaged memory"):
            InContextModel.from_parts(
                facts,
                {**tensors, "memory": {**tensors["memory"], "known_ids": ids}},
                vocabulary_size=size,
                name="n",
            )


def network_size(model):
    return model.network.vocabulary_size


def test_sizes_must_be_sizes():
    with pytest.raises(ConfigError, match=r"in-context\.window: 0"):
        replace(TINY, window=0)
    config = InContextConfig(ngram=NGramConfig(order=7))
    assert InContextConfig.from_json(config.to_json(), name="n") == config
