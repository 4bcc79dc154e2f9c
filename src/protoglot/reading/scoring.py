"""From evidence to probabilities, position by position, in compiled code.

Nothing here depends on how many positions are scored at once, so reading in pieces gives the very same numbers.
"""

import numpy as np
from numba import njit

from protoglot.reading import online
from protoglot.reading.candidates import BOOST_SCALE, EXACT, compare, compare_backward, score_one
from protoglot.reading.characters import NUM_CLASSES
from protoglot.reading.kernel import NUM_CONTEXTS

NUM_LETTERS = 16  # last characters that the network of letters sees
UNIGRAM_SMOOTHING = np.float32(50.0)
_AT_ONCE = 8  # positions that the first layers work on together; each gets the numbers that it would get alone


@njit(cache=True, nogil=True, fastmath=EXACT, inline="always")
def _add_product(vector, matrix, out):
    """``out += vector @ matrix``; zeros of the vector cost nothing."""
    columns = matrix.shape[1]
    for i in range(len(vector)):
        x = vector[i]
        if x != 0:
            for k in range(columns):
                out[k] += x * matrix[i, k]


@njit(cache=True, nogil=True, fastmath=EXACT)
def _add_products(vectors, num, matrix, out):
    """As ``_add_product``, of the first rows at once: each row of the matrix is fetched once for all of them."""
    columns = matrix.shape[1]
    for i in range(vectors.shape[1]):
        for r in range(num):
            x = vectors[r, i]
            if x != 0:
                for k in range(columns):
                    out[r, k] += x * matrix[i, k]


@njit(cache=True, nogil=True, fastmath=EXACT, inline="always")
def _rectify(vector):
    for k in range(len(vector)):
        if vector[k] < 0:
            vector[k] = np.float32(0.0)


@njit(cache=True, nogil=True, inline="always")
def _softplus(x):
    return np.float32(np.log1p(np.exp(-abs(x))) + max(x, np.float32(0.0)))


@njit(cache=True, nogil=True, fastmath=EXACT)
def letters_seen(
    text, t, letters, kinds, counts, num_columns, table, class_table, lang, l1_bias, base, embeddings,
    first, language, expected,
):  # fmt: skip
    """What the network of letters is given at position ``t``: last letters, letters so far, letters expected."""
    width = len(l1_bias)
    first[:] = l1_bias
    for k in range(NUM_LETTERS):
        letter = 0
        kind = NUM_CLASSES
        if t - 1 - k >= 0:
            column = text[t - 1 - k] + 1
            letter = letters[column]
            kind = kinds[column]
        for i in range(width):
            first[i] += table[k, letter, i] + class_table[k, kind, i]
    language[:] = np.float32(0.0)
    for column in range(num_columns):
        if counts[column] > 0:
            share = np.sqrt(counts[column] / (t + UNIGRAM_SMOOTHING))
            letter = letters[column]
            for i in range(lang.shape[1]):
                language[i] += share * lang[letter, i]
    expected[:] = np.float32(0.0)
    for column in range(num_columns):
        share = np.exp(base[column])
        letter = letters[column]
        for i in range(len(expected)):
            expected[i] += share * embeddings[letter, i]


@njit(cache=True, nogil=True)
def places_forward(text, with_letters, letters, kinds, counts, batch, weights, z, queries):
    """What the networks of the place and of letters make of the positions of a batch.

    Args:
        text: all symbols read.
        with_letters: whether the network of letters is asked.
        letters: (V + 1,) of each candidate column.
        kinds: (V + 1,) class of each candidate column.
        counts: (V + 1,) how often each symbol was read before the first; changed along.
        batch: evidence.
        weights: of the first layers.
        z: (P, Z) hidden units of the place; filled.
        queries: (P, Q + 1) what the network of letters asks for, and the weight of its bias; filled.
    """
    position, place, base, columns = batch
    (
        table, class_table, embeddings, Lx, lang, Lu, l1_bias, L2, l2_bias, Lp, lp_bias, Lo, lo_bias, gate, gate_bias,
        P1, p1_bias, P1_flag, P2, p2_bias,
    ) = weights  # fmt: skip
    size = min(_AT_ONCE, len(position))
    width = len(l1_bias)
    seen = np.empty((size, width), np.float32)
    hidden = np.empty((size, width), np.float32)
    language = np.empty((size, lang.shape[1]), np.float32)
    expected = np.empty((size, embeddings.shape[1]), np.float32)
    asked = np.empty((size, len(lo_bias)), np.float32)
    first = np.empty((size, len(p1_bias)), np.float32)
    counted = position[0] if len(position) else 0
    for start in range(0, len(position), _AT_ONCE):
        num = min(_AT_ONCE, len(position) - start)
        stop = start + num
        for r in range(num):
            first[r] = p1_bias
            z[start + r] = p2_bias
        _add_products(place[start:stop], num, P1, first)
        if with_letters:
            for r in range(num):
                p = start + r
                t = position[p]
                while counted < t:
                    counts[text[counted] + 1] += np.float32(1.0)
                    counted += 1
                letters_seen(
                    text, t, letters, kinds, counts, columns[p], table, class_table, lang, l1_bias, base[p],
                    embeddings, seen[r], language[r], expected[r],
                )  # fmt: skip
                hidden[r] = l2_bias
                asked[r] = lo_bias
                for k in range(len(p1_bias)):
                    first[r, k] += P1_flag[k] + lp_bias[k]
            _add_products(language, num, Lu, seen)
            _add_products(expected, num, Lx, seen)
            for r in range(num):
                _rectify(seen[r])
            _add_products(seen, num, L2, hidden)
            for r in range(num):
                _rectify(hidden[r])
                for i in range(width):
                    hidden[r, i] += seen[r, i]
            _add_products(hidden, num, Lp, first)
            _add_products(hidden, num, Lo, asked)
        for r in range(num):
            _rectify(first[r])
        _add_products(first, num, P2, z[start:stop])
        for r in range(num):
            p = start + r
            _rectify(z[p])
            for k in range(z.shape[1]):
                z[p, k] += first[r, k]
            if with_letters:
                weight = gate_bias[0]
                for k in range(z.shape[1]):
                    weight += z[p, k] * gate[k, 0]
                weight = np.float32(np.exp(weight))
                for k in range(len(lo_bias)):
                    queries[p, k] = asked[r, k] * weight
                queries[p, len(lo_bias)] = weight


@njit(cache=True, nogil=True, fastmath=EXACT)
def output_forward(z, Po, po_bias, Kinds, kinds_bias, H, out, w, w0, beta, gamma, gate, by_kind):
    """The output layers of the network of the place, into row 0 of their arrays."""
    out[:] = po_bias
    _add_product(z, Po, out)
    for j in range(NUM_CONTEXTS):
        w[0, j] = _softplus(out[j])
    w0[0] = _softplus(out[NUM_CONTEXTS])
    for h in range(H):
        beta[0, h] = out[NUM_CONTEXTS + 1 + h]
        gamma[0, h] = np.float32(1.0) + out[NUM_CONTEXTS + 1 + H + h]
    for j in range(NUM_CONTEXTS):
        gate[0, j] = np.float32(1.0) + out[NUM_CONTEXTS + 1 + 2 * H + j]
    by_kind[:] = kinds_bias
    _add_product(z, Kinds, by_kind)


@njit(cache=True, nogil=True, fastmath=EXACT)
def output_backward(
    error, v, z, start, stop, row, context, entry, base, kinds, gamma, out, h1, h2, d_h2, W2, v2,
    d_Po, d_po_bias, d_Kinds, d_kinds_bias, d_v2, d_b2,
):  # fmt: skip
    """Add the gradients of the output layers, given those of the first scores, (V,), and of what else h2 led to."""
    H = W2.shape[0]
    d_out = np.zeros(len(out), np.float32)
    d_kind = np.zeros(d_Kinds.shape[1], np.float32)
    turned = W2.T.copy()
    of_h1 = np.empty(H, np.float32)
    for a in range(v):
        d = error[a]
        d_kind[kinds[a]] += d
        d_out[NUM_CONTEXTS] += d * base[a]
        for k in range(H):
            on = h2[a, k] > 0
            d_v2[k] += d * h2[a, k]
            d_h2[a, k] = d * v2[k] + d_h2[a, k] if on else np.float32(0.0)
            d_b2[k] += d_h2[a, k]
        of_h1[:] = np.float32(0.0)
        for k in range(H):
            if d_h2[a, k] != 0:
                for i in range(H):
                    of_h1[i] += turned[k, i] * d_h2[a, k]
        for i in range(H):
            if h1[a, i] > 0:
                d_out[NUM_CONTEXTS + 1 + i] += of_h1[i] * gamma[i]
                d_out[NUM_CONTEXTS + 1 + H + i] += of_h1[i] * h1[a, i]
    for k in range(start, stop):
        d_out[context[k]] += BOOST_SCALE * error[row[k]] * entry[k, 0]
    for j in range(NUM_CONTEXTS + 1):
        d_out[j] *= np.float32(1.0 / (1.0 + np.exp(-out[j])))
    for k in range(len(d_out)):
        d_po_bias[k] += d_out[k]
    for k in range(len(d_kind)):
        d_kinds_bias[k] += d_kind[k]
    for i in range(len(z)):
        x = z[i]
        if x != 0:
            for k in range(len(d_out)):
                d_Po[i, k] += x * d_out[k]
            for k in range(len(d_kind)):
                d_Kinds[i, k] += x * d_kind[k]


@njit(cache=True, nogil=True)
def _views(vector, Z, num_out, num_kinds, H):
    """The output layers that stand one after the other in a vector (``online.NAMES``)."""
    i = 0
    Po = vector[i : i + Z * num_out].reshape(Z, num_out)
    i += Z * num_out
    po_bias = vector[i : i + num_out]
    i += num_out
    Kinds = vector[i : i + Z * num_kinds].reshape(Z, num_kinds)
    i += Z * num_kinds
    kinds_bias = vector[i : i + num_kinds]
    i += num_kinds
    return Po, po_bias, Kinds, kinds_bias, vector[i : i + H], vector[i + H : i + 2 * H]


@njit(cache=True, nogil=True)
def score_batch(
    with_letters, letters, kinds, batch, weights, z, queries, adaptive, is_known, learn_online, nats, probability,
):  # fmt: skip
    """Cost of what came at each position of a batch, learning along.

    Args:
        with_letters: whether the network of letters is asked.
        letters: (V + 1,) of each candidate column.
        kinds: (V + 1,) class of each candidate column.
        batch: evidence.
        weights: of the network that looks at candidates, and of letters as candidates.
        z: (P, Z) hidden units of the place.
        queries: (P, Q + 1) of the network of letters.
        adaptive: output layers, their gradient, Adam's moments and counts; changed along if ``learn_online``.
        is_known: whether what came is known.
        learn_online: whether the output layers learn from it.
        nats: (P,) filled if what came is known.
        probability: (V + 1,) the last distribution; filled.
    """
    base, target, pointer, row, context, cell, entry, columns = batch
    O, o_bias, W, S, wb, C, W2, W3, U3, u3, b3, v3 = weights
    vector, gradient, first, second, counts = adaptive
    H = W.shape[2]
    V = base.shape[1]
    Z = z.shape[1]
    num_kinds = NUM_CLASSES + 1
    num_out = 2 * NUM_CONTEXTS + 1 + 2 * H
    Po, po_bias, Kinds, kinds_bias, v2, b2 = _views(vector, Z, num_out, num_kinds, H)
    d_Po, d_po_bias, d_Kinds, d_kinds_bias, d_v2, d_b2 = _views(gradient, Z, num_out, num_kinds, H)
    out = np.empty(num_out, np.float32)
    w = np.empty((1, NUM_CONTEXTS), np.float32)
    w0 = np.empty(1, np.float32)
    beta = np.empty((1, H), np.float32)
    gamma = np.empty((1, H), np.float32)
    gate = np.empty((1, NUM_CONTEXTS), np.float32)
    by_kind = np.empty(num_kinds, np.float32)
    extra = np.empty((1, V), np.float32)
    h1 = np.empty((V, H), np.float32)
    h2 = np.empty((V, H), np.float32)
    boosts = np.empty(V, np.float32)
    score = np.empty(V, np.float32)
    error = np.empty(V, np.float32)
    M = W3.shape[1]
    h3 = np.empty((V, M), np.float32)
    mean = np.empty(H, np.float32)
    first_p = np.empty(V, np.float32)
    first_log_p = np.empty(V, np.float32)
    d_first = np.empty(V, np.float32)
    d_h2 = np.empty((V, H), np.float32)
    ignored = np.zeros((2 * H + 3, M), np.float32)  # gradients of weights that do not learn here
    for p in range(len(target)):
        v = columns[p]
        output_forward(z[p], Po, po_bias, Kinds, kinds_bias, H, out, w, w0, beta, gamma, gate, by_kind)
        for a in range(v):
            extra[0, a] = by_kind[kinds[a]]
        if with_letters:
            _add_letters(v, letters, queries[p], O, o_bias, extra)
        score_one(
            0, v, pointer[p : p + 2], row, context, cell, entry, base[p : p + 1], kinds, W, S, wb, C, W2, b2, v2, beta,
            gamma, w, w0, gate, extra, h1, h2, boosts, score,
        )  # fmt: skip
        compare(v, h2, W3, U3, u3, b3, v3, score, first_p, first_log_p, mean, h3)
        highest = score[0]
        for a in range(1, v):
            highest = max(highest, score[a])
        total = 0.0
        for a in range(v):
            probability[a] = np.exp(np.float64(score[a] - highest))
            total += probability[a]
        for a in range(v):
            probability[a] /= total
        if is_known:
            nats[p] = -np.log(probability[target[p]])
            if learn_online:
                for a in range(v):
                    error[a] = np.float32(probability[a])
                error[target[p]] -= np.float32(1.0)
                compare_backward(
                    v, error, h2, W3, U3, u3, v3, first_p, first_log_p, mean, h3, d_first, d_h2,
                    ignored[:H], ignored[H : 2 * H], ignored[2 * H], ignored[2 * H + 1], ignored[2 * H + 2],
                )  # fmt: skip
                output_backward(
                    d_first, v, z[p], pointer[p], pointer[p + 1], row, context, entry, base[p], kinds, gamma[0], out,
                    h1, h2, d_h2, W2, v2, d_Po, d_po_bias, d_Kinds, d_kinds_bias, d_v2, d_b2,
                )  # fmt: skip
                online.step(vector, gradient, first, second, counts)


@njit(cache=True, nogil=True, fastmath=EXACT, inline="always")
def _add_letters(v, letters, query, O, o_bias, extra):
    size = O.shape[1]
    for a in range(v):
        letter = letters[a]
        s = query[size] * o_bias[letter]
        for k in range(size):
            s += query[k] * O[letter, k]
        extra[0, a] += s


@njit(cache=True, nogil=True)
def count_unigrams(symbols, position, out):
    """Square roots of the shares of all symbols before each position, into ``out``, (P, V + 1)."""
    counts = np.zeros(out.shape[1], np.float32)
    t = 0
    for p in range(len(position)):
        while t < position[p]:
            counts[symbols[t] + 1] += np.float32(1.0)
            t += 1
        for column in range(out.shape[1]):
            out[p, column] = np.sqrt(counts[column] / (t + UNIGRAM_SMOOTHING))
