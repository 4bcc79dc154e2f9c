"""The part of the scorer that looks at each candidate symbol, forward and backward, in compiled code.

For candidate ``a`` with entries in contexts j (features x_j(a), the first of them the boost b_j(a); cell s_j(a)), with
weights W and S and what the network of the place says (``beta``, ``gamma``, ``w``, ``w0``, ``gate``)::

    h1 = relu(sum_j gate_j (x_j W_j + S[s_j]) + base wb + C[class] + beta)
    h2 = relu(W2 (h1 * gamma) + b2)
    first = v2 h2 + w0 base + sum_j w_j b_j + extra

Then candidates are compared. With the probabilities p that the first scores give, and m, the mean of h2 under p::

    h3 = relu(W3 h2 + U3 m + u3 log p + b3)
    score = first + v3 h3

Entries are few beside candidates times contexts, so the sums run over entries; units that are off cost nothing.
"""

import numpy as np
from numba import njit

BASE_SCALE = np.float32(0.25)
BOOST_SCALE = np.float32(4.0)

EXACT = {"contract", "nnan", "ninf", "nsz", "arcp"}
"""What the compiler may do to arithmetic that readers depend on: all but change the order of sums, which would then
depend on where arrays happen to lie in memory."""


@njit(cache=True, nogil=True, fastmath=EXACT)
def _hidden(p, v, pointer, row, context, cell, entry, base, kinds, W, S, wb, C, beta, w, gate, boosts, h1):
    H = W.shape[2]
    for a in range(v):
        x = base[p, a] * BASE_SCALE
        boosts[a] = 0.0
        for h in range(H):
            h1[a, h] = beta[p, h] + C[kinds[a], h] + x * wb[h]
    for k in range(pointer[p], pointer[p + 1]):
        a = row[k]
        j = context[k]
        c = cell[k]
        f0 = entry[k, 0]
        f1 = entry[k, 1]
        f2 = entry[k, 2]
        f3 = entry[k, 3]
        boosts[a] += w[p, j] * f0
        x = gate[p, j]
        for h in range(H):
            h1[a, h] += x * (S[c, h] + f0 * W[j, 0, h] + f1 * W[j, 1, h] + f2 * W[j, 2, h] + f3 * W[j, 3, h])


@njit(cache=True, nogil=True, fastmath=EXACT)
def score_one(
    p, v, pointer, row, context, cell, entry, base, kinds, W, S, wb, C, W2, b2, v2, beta, gamma, w, w0, gate, extra,
    h1, h2, boosts, score,
):  # fmt: skip
    """First scores (V,) of the candidates of one position; what the units and the boosts were stays in their arrays."""
    H = W.shape[2]
    _hidden(p, v, pointer, row, context, cell, entry, base, kinds, W, S, wb, C, beta, w, gate, boosts, h1)
    for a in range(v):
        for k in range(H):
            h2[a, k] = b2[k]
        for i in range(H):
            if h1[a, i] > 0:
                x = h1[a, i] * gamma[p, i]
                for k in range(H):
                    h2[a, k] += x * W2[i, k]
        s = np.float32(0.0)
        for k in range(H):
            h2[a, k] = max(h2[a, k], np.float32(0.0))
            s += h2[a, k] * v2[k]
        score[a] = s + w0[p] * base[p, a] + BOOST_SCALE * boosts[a] + extra[p, a]


@njit(cache=True, nogil=True, fastmath=EXACT)
def compare(v, h2, W3, U3, u3, b3, v3, score, p, log_p, mean, h3):
    """From the first scores (V,) of one position to the final ones; the rest is filled with what led there."""
    H, M = W3.shape
    highest = score[0]
    for a in range(1, v):
        highest = max(highest, score[a])
    total = np.float32(0.0)
    for a in range(v):
        p[a] = np.exp(score[a] - highest)
        total += p[a]
    log_total = np.log(total)
    mean[:] = np.float32(0.0)
    for a in range(v):
        log_p[a] = (score[a] - highest - log_total) * BASE_SCALE
        p[a] /= total
        for k in range(H):
            mean[k] += p[a] * h2[a, k]
    common = b3.copy()
    for k in range(H):
        for i in range(M):
            common[i] += mean[k] * U3[k, i]
    for a in range(v):
        for i in range(M):
            h3[a, i] = common[i] + log_p[a] * u3[i]
        for k in range(H):
            x = h2[a, k]
            if x > 0:
                for i in range(M):
                    h3[a, i] += x * W3[k, i]
        s = np.float32(0.0)
        for i in range(M):
            h3[a, i] = max(h3[a, i], np.float32(0.0))
            s += h3[a, i] * v3[i]
        score[a] += s


@njit(cache=True, nogil=True, fastmath=EXACT)
def compare_backward(
    v, d_score, h2, W3, U3, u3, v3, p, log_p, mean, h3, d_first, d_h2, d_W3, d_U3, d_u3, d_b3, d_v3,
):  # fmt: skip
    """Gradients of what ``compare`` was given, from those of its scores; those of its weights are added."""
    H, M = W3.shape
    turned = W3.T.copy()
    one = np.empty(M, np.float32)
    common = np.zeros(M, np.float32)
    d_mean = np.zeros(H, np.float32)
    of_log_p = np.float32(0.0)
    for a in range(v):
        s = np.float32(0.0)
        for i in range(M):
            d_v3[i] += d_score[a] * h3[a, i]
            one[i] = d_score[a] * v3[i] if h3[a, i] > 0 else np.float32(0.0)
            d_u3[i] += log_p[a] * one[i]
            common[i] += one[i]
            s += u3[i] * one[i]
        d_first[a] = s * BASE_SCALE
        of_log_p += d_first[a]
        d_h2[a, :] = np.float32(0.0)
        for i in range(M):
            if one[i] != 0:
                for k in range(H):
                    d_h2[a, k] += turned[i, k] * one[i]
        for k in range(H):
            x = h2[a, k]
            if x > 0:
                for i in range(M):
                    d_W3[k, i] += x * one[i]
    for i in range(M):
        d_b3[i] += common[i]
    for k in range(H):
        for i in range(M):
            d_mean[k] += U3[k, i] * common[i]
            d_U3[k, i] += mean[k] * common[i]
    of_mean = np.float32(0.0)
    for k in range(H):
        of_mean += d_mean[k] * mean[k]
    for a in range(v):
        s = np.float32(0.0)
        for k in range(H):
            s += d_mean[k] * h2[a, k]
            d_h2[a, k] += p[a] * d_mean[k]
        d_first[a] += d_score[a] + p[a] * (s - of_mean - of_log_p)


@njit(cache=True, nogil=True, fastmath=True)
def forward(
    pointer, row, context, cell, entry, base, num_candidates, kinds, W, S, wb, C, W2, b2, v2, W3, U3, u3, b3, v3,
    beta, gamma, w, w0, gate, extra, score,
):  # fmt: skip
    """Scores (P, V) of all candidates; what is no candidate keeps what ``score`` held."""
    P, V = base.shape
    H, M = W3.shape
    h1 = np.empty((V, H), np.float32)
    h2 = np.empty((V, H), np.float32)
    h3 = np.empty((V, M), np.float32)
    boosts = np.empty(V, np.float32)
    probability = np.empty(V, np.float32)
    log_p = np.empty(V, np.float32)
    mean = np.empty(H, np.float32)
    for p in range(P):
        v = num_candidates[p]
        score_one(
            p, v, pointer, row, context, cell, entry, base, kinds, W, S, wb, C, W2, b2, v2, beta, gamma, w, w0, gate,
            extra, h1, h2, boosts, score[p],
        )  # fmt: skip
        compare(v, h2, W3, U3, u3, b3, v3, score[p], probability, log_p, mean, h3)


@njit(cache=True, nogil=True, fastmath=True)
def backward(
    pointer, row, context, cell, entry, base, num_candidates, kinds, W, S, wb, C, W2, b2, v2, W3, U3, u3, b3, v3,
    beta, gamma, w, w0, gate, extra, d_score, d_W, d_S, d_wb, d_C, d_W2, d_b2, d_v2, d_W3, d_U3, d_u3, d_b3, d_v3,
    d_beta, d_gamma, d_w, d_w0, d_gate, d_extra,
):  # fmt: skip
    """Gradients of everything, given those of the scores, are added; those of ``extra`` are filled.

    Hidden units are computed again.
    """
    P, V = base.shape
    H, M = W3.shape
    h1 = np.empty((V, H), np.float32)
    d_h1 = np.empty((V, H), np.float32)
    h2 = np.empty((V, H), np.float32)
    d_h2 = np.empty((V, H), np.float32)
    h3 = np.empty((V, M), np.float32)
    boosts = np.empty(V, np.float32)
    score = np.empty(V, np.float32)
    probability = np.empty(V, np.float32)
    log_p = np.empty(V, np.float32)
    mean = np.empty(H, np.float32)
    for p in range(P):
        v = num_candidates[p]
        score_one(
            p, v, pointer, row, context, cell, entry, base, kinds, W, S, wb, C, W2, b2, v2, beta, gamma, w, w0, gate,
            extra, h1, h2, boosts, score,
        )  # fmt: skip
        compare(v, h2, W3, U3, u3, b3, v3, score, probability, log_p, mean, h3)
        d_first = d_extra[p]
        compare_backward(
            v, d_score[p], h2, W3, U3, u3, v3, probability, log_p, mean, h3, d_first, d_h2, d_W3, d_U3, d_u3, d_b3,
            d_v3,
        )  # fmt: skip
        for a in range(v):
            d = d_first[a]
            d_w0[p] += d * base[p, a]
            for k in range(H):
                on = h2[a, k] > 0
                d_v2[k] += d * h2[a, k]
                d_h2[a, k] = d * v2[k] + d_h2[a, k] if on else np.float32(0.0)
                d_b2[k] += d_h2[a, k]
            for i in range(H):
                if h1[a, i] > 0:
                    x = h1[a, i] * gamma[p, i]
                    s = np.float32(0.0)
                    for k in range(H):
                        d_W2[i, k] += x * d_h2[a, k]
                        s += W2[i, k] * d_h2[a, k]
                    d_gamma[p, i] += s * h1[a, i]
                    d_h1[a, i] = s * gamma[p, i]
                else:
                    d_h1[a, i] = 0.0
            x = base[p, a] * BASE_SCALE
            kind = kinds[a]
            for h in range(H):
                d = d_h1[a, h]
                d_beta[p, h] += d
                d_C[kind, h] += d
                d_wb[h] += x * d
        for k in range(pointer[p], pointer[p + 1]):
            a = row[k]
            j = context[k]
            c = cell[k]
            f0 = entry[k, 0]
            f1 = entry[k, 1]
            f2 = entry[k, 2]
            f3 = entry[k, 3]
            d_w[p, j] += BOOST_SCALE * d_first[a] * f0
            x = gate[p, j]
            s = np.float32(0.0)
            for h in range(H):
                d = d_h1[a, h]
                s += d * (S[c, h] + f0 * W[j, 0, h] + f1 * W[j, 1, h] + f2 * W[j, 2, h] + f3 * W[j, 3, h])
                d *= x
                d_S[c, h] += d
                d_W[j, 0, h] += f0 * d
                d_W[j, 1, h] += f1 * d
                d_W[j, 2, h] += f2 * d
                d_W[j, 3, h] += f3 * d
            d_gate[p, j] += s
