import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protoglot.exporting.arpa import arpa_lines, token_of
from protoglot.ngram import NGram, Smoothing
from protoglot.vocabulary import END, Vocabulary

sentences = st.lists(st.text("ab c", min_size=1, max_size=9), min_size=1, max_size=8)


class Arpa:
    """A reader of the format that knows nothing of protoglot: probabilities by the rule of back-off."""

    def __init__(self, text):
        self.probability, self.back_off, counts, order = {}, {}, {}, 0
        for line in text.splitlines():
            if found := re.fullmatch(r"ngram (\d+)=(\d+)", line):
                counts[int(found[1])] = int(found[2])
            elif found := re.fullmatch(r"\\(\d+)-grams:", line):
                order = int(found[1])
            elif "\t" in line:
                value, words, *weight = line.split("\t")
                gram = tuple(words.split(" "))
                assert len(gram) == order
                assert gram not in self.probability
                self.probability[gram] = float(value)
                self.back_off[gram] = float(weight[0]) if weight else 0.0
                counts[order] -= 1
        assert text.startswith("\\data\\\n")
        assert text.endswith("\\end\\\n")
        assert not any(counts.values())
        self.order = order

    def log10(self, word, history):
        gram = (*history, word)
        if gram in self.probability:
            return self.probability[gram]
        assert history, word
        return self.back_off.get(history, 0.0) + self.log10(word, history[1:])


def check(ngram, text):
    arpa = Arpa("".join(arpa_lines(ngram)))
    assert arpa.order == ngram.order
    tokens = ["", "</s>", "<unk>", *map(token_of, ngram.vocabulary.characters)]
    history = ["<s>", *(token_of(c) if c in ngram.vocabulary else "<unk>" for c in text)]
    distributions, _ = ngram.distributions(text)
    for position, wanted in enumerate(distributions):
        before = tuple(history[: position + 1][-(ngram.order - 1) :]) if ngram.order > 1 else ()
        found = [arpa.log10(tokens[id_], before) for id_ in range(END, len(tokens))]
        np.testing.assert_allclose(10 ** np.array(found), wanted, rtol=0, atol=1e-6)
        np.testing.assert_allclose(found, np.log10(wanted), rtol=0, atol=1e-6)


@pytest.mark.parametrize("smoothing", Smoothing)
@settings(max_examples=30)
@given(sentences, st.text("ab c!", max_size=8), st.integers(1, 5))
def test_every_probability_is_that_of_the_model(smoothing, training, text, order):
    check(NGram.train(training, Vocabulary.of(["ab c"]), order=order, smoothing=smoothing), text)


@pytest.mark.parametrize("smoothing", Smoothing)
def test_without_the_longest_ngrams_it_is_the_model_of_the_order_below(smoothing):
    ngram = NGram.train(["abc ab", "cab ba", "b c"], Vocabulary.of(["ab c"]), order=4, smoothing=smoothing)
    [(by_order, _)] = ngram.by_order(["ab ca!"])
    tokens = ["", "</s>", "<unk>", *map(token_of, ngram.vocabulary.characters)]
    history = ["<s>", *map(token_of, "ab ca"), "<unk>"]
    for order in (1, 2, 3):
        arpa = Arpa("".join(arpa_lines(ngram, max_order=order)))
        assert arpa.order == order
        for position, wanted in enumerate(by_order[:, order - 1]):
            before = tuple(history[: position + 1][-(order - 1) :]) if order > 1 else ()
            found = [10 ** arpa.log10(tokens[id_], before) for id_ in range(END, len(tokens))]
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)


def test_a_begin_is_never_predicted_and_an_end_never_read():
    lines = "".join(arpa_lines(NGram.train(["ab", "b"], Vocabulary.of(["ab"]), order=3)))
    assert "-99.000000000\t<s>\t" in lines
    grams = [line.split("\t")[1].split(" ") for line in lines.splitlines() if "\t" in line]
    assert all("</s>" not in gram[:-1] for gram in grams)
    assert all("<s>" not in gram[1:] for gram in grams)
    assert sum("<unk>" in gram for gram in grams) == 1


def test_what_the_format_cannot_carry_is_written_as_its_number():
    ngram = NGram.train(["a b"], Vocabulary.of(["ab \u00a0\u200b\u0301"]), order=2)
    lines = list(arpa_lines(ngram))
    assert all(re.fullmatch(r"[^\s]+\t[^\t\n]+(\t[^\s]+)?\n", line) for line in lines if "\t" in line)
    text = "".join(lines)
    for token in ("<U+0020>", "<U+00A0>", "<U+200B>"):
        assert f"\t{token}\t" in text


def test_the_first_line_says_how_many_there_are():
    ngram = NGram.train(["ab"], Vocabulary.of(["ab"]), order=2)
    # <s>, </s>, <unk>, a, b; and <s> a, a b, b </s>
    assert "".join(arpa_lines(ngram)).startswith("\\data\\\nngram 1=5\nngram 2=3\n")
