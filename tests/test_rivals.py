import math
import sys

import numpy as np
import pytest

from protoglot.errors import ConfigError
from protoglot.ngram import NGram, Smoothing
from protoglot.reader_model import page_of
from protoglot.rivals import NGRAM_ORDER, ngram_bits, ppm_bits
from protoglot.vocabulary import Vocabulary
from tiny import babble

TEXT = babble("abdëg", 25, seed=0)


def test_every_character_has_its_bits():
    assert len(ngram_bits(TEXT)) == len(page_of(TEXT))
    assert len(ngram_bits([])) == 0


def test_what_comes_later_changes_nothing():
    shorter = ngram_bits(TEXT[:13])
    np.testing.assert_array_equal(ngram_bits([*TEXT[:13], "zzz"])[: len(shorter)], shorter)


def test_the_n_gram_is_that_of_the_sentences_before():
    bits = ngram_bits(TEXT, renewed_every=1)
    before = TEXT[:-1]
    ngram = NGram.train(before, Vocabulary.of(before), order=NGRAM_ORDER, smoothing=Smoothing.KNESER_NEY)
    assert bits[-len(TEXT[-1]) - 1 :].sum() == pytest.approx(ngram.score(TEXT[-1:]).nats / math.log(2))


def test_the_first_sentence_names_its_characters():
    """An even choice between the end and a character, and then which one."""
    naming = Vocabulary.of([]).other_nats("a") / math.log(2)
    np.testing.assert_allclose(ngram_bits(["aa"]), [1 + naming, 1 + naming, 1])


def test_ppm_writes_more_for_more_and_little_for_what_is_repeated():
    pytest.importorskip("pyppmd")
    text = page_of(TEXT) * 2
    half, whole = ppm_bits(text, [len(text) // 2, len(text)])
    assert half == ppm_bits(text[: len(text) // 2], [len(text)])[0]
    assert half < whole < 1.5 * half


def test_ppm_that_is_not_installed_is_asked_for(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "pyppmd", raising=False)
    with pytest.raises(ConfigError, match=r"protoglot\[ppmd\]"):
        ppm_bits("a", [1])
