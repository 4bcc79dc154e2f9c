"""The compiled networks against numpy."""

import numpy as np
import pytest

from protoglot.reading.candidates import BASE_SCALE, BOOST_SCALE
from protoglot.reading.characters import NUM_CLASSES, class_of
from protoglot.reading.kernel import NUM_CONTEXTS
from protoglot.reading.reader import Reader
from protoglot.reading.scorer import NOT_MET, NUM_SPECIAL, UNKNOWN
from protoglot.reading.scoring import NUM_LETTERS, UNIGRAM_SMOOTHING
from tiny_scorer import HIDDEN, KNOWN

TEXT = "Kard a mente, anna est.\nUra dok 11 mins: «mind»! e\u0301 Ka"


def relu(x):
    return np.maximum(x, 0)


def softplus(x):
    return np.log1p(np.exp(x))


def softmax(x):
    return np.exp(x - x.max()) / np.exp(x - x.max()).sum()


def letter_of(character: str) -> int:
    return KNOWN.index(character) + NUM_SPECIAL if character in KNOWN else UNKNOWN


def reference(reader: Reader) -> np.ndarray:
    """Probabilities of what comes next by the formulas, in double precision."""
    w = {name: value.astype(np.float64) for name, value in reader.scorer.weights.items()}
    batch = reader._evidence.next()
    text, met = reader.text, reader.characters
    letters = [NOT_MET, *map(letter_of, met)]
    kinds = [NUM_CLASSES, *map(class_of, met)]
    before = w["p1_bias"] + batch.place[0].astype(np.float64) @ w["P1"]
    if reader.with_letters:
        seen = []
        for k in range(1, NUM_LETTERS + 1):
            known = len(text) >= k
            letter = letter_of(text[-k]) if known else 0
            kind = class_of(text[-k]) if known else NUM_CLASSES
            seen.append(w["letters"][letter] + w["classes"][kind])
        shares = [np.sqrt(text.count(c) / (len(text) + UNIGRAM_SMOOTHING)) for c in met]
        language = np.array(shares) @ w["language"][letters[1:]]
        expected = np.exp(batch.base[0].astype(np.float64)) @ w["letters"][letters]
        first = np.concatenate(seen) @ w["L1"] + w["l1_bias"] + language @ w["Lu"] + expected @ w["Lx"]
        first = relu(first)
        hidden = relu(first @ w["L2"] + w["l2_bias"]) + first
        before += w["P1_flag"] + w["lp_bias"] + hidden @ w["Lp"]
    first = relu(before)
    z = relu(first @ w["P2"] + w["p2_bias"]) + first
    out = z @ w["Po"] + w["po_bias"]
    weights, weight = softplus(out[:NUM_CONTEXTS]), softplus(out[NUM_CONTEXTS])
    beta, gamma, gates = np.split(out[NUM_CONTEXTS + 1 :], [HIDDEN, 2 * HIDDEN])
    gamma, gates = 1 + gamma, 1 + gates
    scores = (z @ w["Kinds"] + w["kinds_bias"])[kinds]
    if reader.with_letters:
        gate = np.exp(z @ w["gate"][:, 0] + w["gate_bias"][0])
        scores += gate * (w["O"][letters] @ (hidden @ w["Lo"] + w["lo_bias"]) + w["o_bias"][letters])
    hidden_units = []
    for a, kind in enumerate(kinds):
        base = float(batch.base[0, a])
        h1 = beta + w["C"][kind] + base * BASE_SCALE * w["wb"]
        entries = zip(batch.row, batch.context, batch.cell, batch.entry.astype(np.float64), strict=True)
        for row, context, cell, entry in entries:
            if row == a:
                h1 = h1 + gates[context] * (w["S"][cell] + entry @ w["W"][context])
                scores[a] += BOOST_SCALE * weights[context] * entry[0]
        h2 = relu((relu(h1) * gamma) @ w["W2"] + w["b2"])
        hidden_units.append(h2)
        scores[a] += h2 @ w["v2"] + weight * base
    first = softmax(scores)
    mean = first @ np.array(hidden_units)
    h3 = (
        np.array(hidden_units) @ w["W3"] + mean @ w["U3"] + BASE_SCALE * np.outer(np.log(first), w["u3"]) + w["b3"]
    )
    return softmax(scores + relu(h3) @ w["v3"])


@pytest.mark.parametrize("with_letters", [True, False], ids=["letters", "no letters"])
def test_probabilities_are_those_of_the_formulas(scorer, with_letters):
    reader = Reader(scorer, with_letters=with_letters, learn_online=False)
    for character in TEXT:
        found = reader.predict_met()
        np.testing.assert_allclose(found, reference(reader), rtol=2e-4, atol=1e-7)
        reader.read(character)


def test_the_same_in_one_piece(scorer):
    # Positions at the end of a long piece see the same past as those of a short one.
    reader = Reader(scorer, learn_online=False)
    reader.read(TEXT * 12)
    np.testing.assert_allclose(reader.predict_met(), reference(reader), rtol=2e-4, atol=1e-7)
