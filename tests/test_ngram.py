import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protoglot.artefacts import load_artefact, read_header, save_artefact
from protoglot.errors import ConfigError, StorageError
from protoglot.ngram import NGram, Smoothing
from protoglot.vocabulary import Vocabulary

sentences = st.lists(st.text("abc", min_size=1, max_size=12), min_size=1, max_size=12)
smoothings = st.sampled_from(Smoothing)


class SlowWittenBell:
    """The recursion over dictionaries, straight from the definition."""

    def __init__(self, texts, vocabulary, order):
        self.outcomes = len(vocabulary) - 1
        self.order = order
        self.after = {}
        for text in texts:
            symbols = ["END", *text, "END"]
            for position in range(1, len(symbols)):
                for length in range(min(order, position + 1)):
                    context = tuple(symbols[position - length : position])
                    self.after.setdefault(context, Counter())[symbols[position]] += 1

    def probability(self, symbol, history):
        value = 1 / self.outcomes
        for length in range(min(self.order, len(history) + 1)):
            counts = self.after.get(tuple(history[len(history) - length :]))
            if counts is None:
                break
            total, different = counts.total(), len(counts)
            value = (counts[symbol] + different * value) / (total + different)
        return value

    def nats(self, text):
        symbols = ["END", *text, "END"]
        return [-math.log(self.probability(symbols[n], symbols[:n])) for n in range(1, len(symbols))]


@given(sentences, sentences, st.integers(1, 6))
def test_witten_bell_equals_the_definition(training, tested, order):
    vocabulary = Vocabulary.of(["abc"])
    model = NGram.train(training, vocabulary, order=order)
    slow = SlowWittenBell(training, vocabulary, order)
    wanted = [cost for text in tested for cost in slow.nats(text)]
    np.testing.assert_allclose(model.nats(tested), wanted, rtol=1e-12)


class SlowKneserNey:
    """Chen and Goodman's interpolated estimate over dictionaries: below the longest contexts, kinds are counted."""

    def __init__(self, texts, vocabulary, order):
        self.outcomes = len(vocabulary) - 1
        self.order = order
        seen = [Counter() for _ in range(order + 1)]  # pairs by the length of their contexts
        for text in texts:
            symbols = ("END", *text, "END")
            for position in range(1, len(symbols)):
                for length in range(min(order, position) + 1):
                    seen[length][symbols[position - length : position], symbols[position]] += 1
        self.counts = []
        for length in range(order):
            counts = Counter()
            for (context, symbol), number in seen[length].items():
                longer = [pair for pair in seen[length + 1] if pair[0][1:] == context and pair[1] == symbol]
                at_the_start = number - sum(seen[length + 1][pair] for pair in longer)
                counts[context, symbol] = number if length == order - 1 else len(longer) + at_the_start
            self.counts.append(counts)
        self.discounts = [self.estimate(counts.values()) for counts in self.counts]

    @staticmethod
    def estimate(counts):
        n = Counter(counts)
        if not n[1] or not n[2]:
            return (0.5, 0.5, 0.5)
        y = n[1] / (n[1] + 2 * n[2])
        first = 1 - 2 * y * n[2] / n[1]
        second = 2 - 3 * y * n[3] / n[2] if n[3] else y
        third = 3 - 4 * y * n[4] / n[3] if n[3] and n[4] else y
        limits = (0.95, 1.95, 2.95)
        return tuple(
            max(0.05, min(value, limit)) for value, limit in zip((first, second, third), limits, strict=True)
        )

    def probability(self, symbol, history):
        value = 1 / self.outcomes
        for length in range(min(self.order, len(history) + 1)):
            context = tuple(history[len(history) - length :])
            after = {pair[1]: number for pair, number in self.counts[length].items() if pair[0] == context}
            if not after:
                break
            taken = {each: self.discounts[length][min(number, 3) - 1] for each, number in after.items()}
            kept = after.get(symbol, 0) - taken.get(symbol, 0)
            value = (kept + sum(taken.values()) * value) / sum(after.values())
        return value


@given(sentences, sentences, st.integers(1, 5))
def test_kneser_ney_equals_the_definition(training, tested, order):
    vocabulary = Vocabulary.of(["abc"])
    model = NGram.train(training, vocabulary, order=order, smoothing=Smoothing.KNESER_NEY)
    slow = SlowKneserNey(training, vocabulary, order)
    for text in tested[:2]:
        symbols = ["END", *text, "END"]
        wanted = [-math.log(slow.probability(symbols[n], symbols[:n])) for n in range(1, len(symbols))]
        np.testing.assert_allclose(model.nats([text]), wanted, rtol=1e-12)


@given(sentences, st.text("abcd", max_size=10), st.integers(1, 6), smoothings)
def test_distributions_sum_to_one_and_agree_with_the_costs(training, text, order, smoothing):
    model = NGram.train(training, Vocabulary.of(["abc"]), order=order, smoothing=smoothing)
    probability, depth = model.distributions(text)
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-12)
    assert (probability > 0).all()
    targets = [*model.vocabulary.encode(text).ids, 1]
    chosen = probability[np.arange(len(targets)), np.array(targets) - 1]
    np.testing.assert_allclose(model.nats([text]), -np.log(chosen), rtol=1e-12)
    assert ((depth >= 0) & (depth < order)).all()


@pytest.mark.parametrize("smoothing", Smoothing)
def test_probabilities_of_all_strings_sum_to_one(smoothing):
    vocabulary = Vocabulary.of(["ab"])
    model = NGram.train(["abba", "ab", "b"], vocabulary, order=3, smoothing=smoothing)
    finished, unfinished = 0.0, 0.0
    length = 5
    for size in range(length + 1):
        for text in itertools.product("abX", repeat=size):  # X stands for all characters outside the inventory
            nats = model.nats(["".join(text)])
            if size < length:
                finished += math.exp(-nats.sum())
            else:
                unfinished += math.exp(-nats[:-1].sum())
    assert finished + unfinished == pytest.approx(1, abs=1e-12)


@given(sentences, smoothings)
def test_scores_are_additive_and_do_not_depend_on_company(tested, smoothing):
    model = NGram.train(["abcab", "cab"], Vocabulary.of(["abc"]), order=4, smoothing=smoothing)
    alone = [model.score([sentence]) for sentence in tested]
    together = model.score(tested)
    assert together.nats == pytest.approx(sum(score.nats for score in alone))
    assert together.num_characters == sum(len(sentence) + 1 for sentence in tested)


def test_characters_outside_the_inventory_are_named():
    vocabulary = Vocabulary.of(["ab"])
    model = NGram.train(["ab"], vocabulary, order=2)
    assert model.score(["ж"]).nats == pytest.approx(model.nats(["ж"]).sum() + vocabulary.other_nats("ж"))


def test_text_that_was_seen_costs_less():
    text = ["the cat sat on the mat", "the dog sat on the log"]
    for smoothing in Smoothing:
        model = NGram.train(text, Vocabulary.of(text), order=4, smoothing=smoothing)
        assert (
            model.score(text[:1]).bits_per_character < model.score(["tac eht tas no eht tam"]).bits_per_character
        )


@pytest.mark.parametrize("smoothing", Smoothing)
def test_save_then_load_is_the_identity(tmp_path, smoothing):
    text = ["one sentence is enough"]
    model = NGram.train(text, Vocabulary.of(text), order=5, smoothing=smoothing)
    model.save(tmp_path / "model", provenance={"source": "made up"})
    loaded = NGram.load(tmp_path / "model")
    assert (loaded.order, loaded.smoothing, loaded.vocabulary) == (5, smoothing, model.vocabulary)
    np.testing.assert_array_equal(loaded.nats(["enough is enough"]), model.nats(["enough is enough"]))


def test_a_damaged_model_is_refused(tmp_path):
    NGram.train(["ab"], Vocabulary.of(["ab"]), order=2).save(tmp_path / "model")
    file = tmp_path / "model" / "ngram.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(StorageError, match=r"ngram\.safetensors: damaged"):
        NGram.load(tmp_path / "model")


def test_numbers_in_the_place_of_vectors_are_refused(tmp_path):
    NGram.train(["ab"], Vocabulary.of(["ab"]), order=2).save(tmp_path / "model")
    header = read_header(tmp_path / "model")
    content, tensors = load_artefact(tmp_path / "model", kind=header["kind"])
    numbers = {
        file: {name: np.asarray(values.flat[0], dtype=values.dtype) for name, values in arrays.items()}
        for file, arrays in tensors.items()
    }
    save_artefact(tmp_path / "model", kind=header["kind"], content=content, tensors=numbers)
    with pytest.raises(StorageError, match="damaged n-gram"):
        NGram.load(tmp_path / "model")


@pytest.mark.parametrize("order", [0, 13])
def test_an_order_out_of_range_is_named(order):
    with pytest.raises(ConfigError, match="wanted 1 to 12"):
        NGram.train(["ab"], Vocabulary.of(["ab"]), order=order)


@pytest.mark.parametrize("smoothing", Smoothing)
def test_without_a_sentence_all_symbols_are_equally_likely(smoothing):
    model = NGram.train([], Vocabulary.of(["abc"]), order=3, smoothing=smoothing)
    found, depth = model.distributions("ab")
    np.testing.assert_allclose(found, 1 / found.shape[1], rtol=1e-12)
    assert not depth.any()
