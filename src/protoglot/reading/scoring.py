"""From evidence to probabilities, position by position, in compiled code.

Nothing here depends on how many positions are scored at once, so reading in pieces gives the very same numbers.
"""

import numpy as np
from numba import njit

from protoglot.reading.candidates import forward
from protoglot.reading.characters import NUM_CLASSES
from protoglot.reading.kernel import NOVEL, NUM_CONTEXTS

NUM_LETTERS = 12  # last characters that the network of letters sees
UNIGRAM_SMOOTHING = np.float32(50.0)


@njit(cache=True, nogil=True, fastmath=True, inline="always")
def _add_product(vector, matrix, out):
    """``out += vector @ matrix``; zeros of the vector cost nothing."""
    columns = matrix.shape[1]
    for i in range(len(vector)):
        x = vector[i]
        if x != 0:
            for k in range(columns):
                out[k] += x * matrix[i, k]


@njit(cache=True, nogil=True, fastmath=True, inline="always")
def _rectify(vector):
    for k in range(len(vector)):
        if vector[k] < 0:
            vector[k] = np.float32(0.0)


@njit(cache=True, nogil=True, inline="always")
def _softplus(x):
    return np.float32(np.log1p(np.exp(-abs(x))) + max(x, np.float32(0.0)))


@njit(cache=True, nogil=True, fastmath=True)
def letters_forward(text, t, letters, kinds, counts, num_columns, table, class_table, lang, Lu, l1_bias, L2, l2_bias, hidden):
    """Hidden units of the network of letters at position ``t``."""
    width = len(l1_bias)
    first = l1_bias.copy()
    for k in range(NUM_LETTERS):
        letter = 0
        kind = NUM_CLASSES
        if t - 1 - k >= 0:
            column = text[t - 1 - k] + 1
            letter = letters[column]
            kind = kinds[column]
        for i in range(width):
            first[i] += table[k, letter, i] + class_table[k, kind, i]
    language = np.zeros(lang.shape[1], np.float32)
    for column in range(num_columns):
        if counts[column] > 0:
            share = np.sqrt(counts[column] / (t + UNIGRAM_SMOOTHING))
            letter = letters[column]
            for i in range(lang.shape[1]):
                language[i] += share * lang[letter, i]
    _add_product(language, Lu, first)
    _rectify(first)
    hidden[:] = l2_bias
    _add_product(first, L2, hidden)
    _rectify(hidden)
    for i in range(width):
        hidden[i] += first[i]


@njit(cache=True, nogil=True, fastmath=True)
def place_forward(features, with_letters, hidden, P1, p1_bias, P1_flag, Lp, lp_bias, P2, p2_bias, z):
    """Hidden units of the network of the place."""
    first = p1_bias.copy()
    _add_product(features, P1, first)
    if with_letters:
        for k in range(len(first)):
            first[k] += P1_flag[k] + lp_bias[k]
        _add_product(hidden, Lp, first)
    _rectify(first)
    z[:] = p2_bias
    _add_product(first, P2, z)
    _rectify(z)
    for k in range(len(z)):
        z[k] += first[k]


@njit(cache=True, nogil=True, fastmath=True)
def score_position(
    p, text, t, num_columns, with_letters, letters, kinds, counts,
    base, place, pointer, row, context, entry,
    table, class_table, lang, Lu, l1_bias, L2, l2_bias, Lp, lp_bias, Lo, lo_bias, O, o_bias, gate, gate_bias,
    P1, p1_bias, P1_flag, P2, p2_bias, Po, po_bias, Kinds, kinds_bias,
    W, wb, C, W2, b2, v2,
    query, score,
):  # fmt: skip
    """Scores of all candidates at the p-th position of a batch of evidence, into ``score``; what letters say, in ``query``."""
    H = W.shape[2]
    hidden = np.zeros(len(l1_bias), np.float32)
    if with_letters:
        letters_forward(
            text, t, letters, kinds, counts, num_columns, table, class_table, lang, Lu, l1_bias, L2, l2_bias, hidden
        )
    z = np.empty(len(p2_bias), np.float32)
    place_forward(place[p], with_letters, hidden, P1, p1_bias, P1_flag, Lp, lp_bias, P2, p2_bias, z)
    out = po_bias.copy()
    _add_product(z, Po, out)
    w = np.empty((1, NUM_CONTEXTS), np.float32)
    for j in range(NUM_CONTEXTS):
        w[0, j] = _softplus(out[j])
    w0 = np.empty(1, np.float32)
    w0[0] = _softplus(out[NUM_CONTEXTS])
    beta = np.empty((1, H), np.float32)
    gamma = np.empty((1, H), np.float32)
    for h in range(H):
        beta[0, h] = out[NUM_CONTEXTS + 1 + h]
        gamma[0, h] = np.float32(1.0) + out[NUM_CONTEXTS + 1 + H + h]
    by_kind = kinds_bias.copy()
    _add_product(z, Kinds, by_kind)
    extra = np.zeros((1, num_columns), np.float32)
    for a in range(num_columns):
        extra[0, a] = by_kind[kinds[a]]
    if with_letters:
        asked = lo_bias.copy()
        _add_product(hidden, Lo, asked)
        weight = gate_bias[0]
        for k in range(len(z)):
            weight += z[k] * gate[k, 0]
        weight = np.float32(np.exp(weight))
        for k in range(len(asked)):
            query[k] = asked[k] * weight
        query[len(asked)] = weight
        for a in range(num_columns):
            letter = letters[a]
            s = np.float32(0.0)
            for k in range(len(asked)):
                s += query[k] * O[letter, k]
            extra[0, a] += s + weight * o_bias[letter]
    num_candidates = np.empty(1, np.int32)
    num_candidates[0] = num_columns
    one = np.empty((1, num_columns), np.float32)
    forward(
        pointer[p : p + 2], row, context, entry, base[p : p + 1], num_candidates, kinds,
        W, wb, C, W2, b2, v2, beta, gamma, w, w0, extra, one,
    )  # fmt: skip
    score[:num_columns] = one[0]
