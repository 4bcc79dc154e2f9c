"""KenLM, where it is installed, reads what we write and computes the same."""

import numpy as np
import pytest

from protoglot.exporting.arpa import KENLM_ORDER, arpa_lines, token_of
from protoglot.ngram import NGram
from protoglot.vocabulary import Vocabulary

kenlm = pytest.importorskip("kenlm", reason="kenlm is not installed (extra protoglot[kenlm])")

TRAINING = ["abc ab cab", "cab ba", "b c", "abcabcabc abc"]


@pytest.mark.parametrize("text", ["ab c", "cabba", "!c b", ""])
def test_kenlm_computes_the_same_probability(text, tmp_path):
    ngram = NGram.train(TRAINING, Vocabulary.of(TRAINING), order=KENLM_ORDER + 1)
    path = tmp_path / "model.arpa"
    path.write_text("".join(arpa_lines(ngram, max_order=KENLM_ORDER)), encoding="utf-8")
    tokens = " ".join(token_of(c) if c in ngram.vocabulary else "<unk>" for c in text)
    [(by_order, _)] = ngram.by_order([text])
    ids = [*ngram.vocabulary.encode_to_array(text).tolist(), 1]
    wanted = sum(np.log10(by_order[position, KENLM_ORDER - 1, id_ - 1]) for position, id_ in enumerate(ids))
    assert kenlm.Model(str(path)).score(tokens, bos=True, eos=True) == pytest.approx(wanted, abs=1e-4)
