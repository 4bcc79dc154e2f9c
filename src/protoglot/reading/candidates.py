"""The part of the scorer that looks at each candidate symbol, forward and backward, in compiled code.

For candidate ``a`` with entries in contexts j (features x_j(a), the first of them the boost b_j(a); cell s_j(a)), with
weights W and S and what the network of the place says (``beta``, ``gamma``, ``w``, ``w0``, ``gate``)::

    h1 = relu(sum_j gate_j (x_j W_j + S[s_j]) + base wb + C[class] + beta)
    h2 = relu(W2 (h1 * gamma) + b2)
    score = v h2 + w0 base + sum_j w_j b_j + extra

Entries are few beside candidates times contexts, so the sums run over entries; units that are off cost nothing.
"""

import numpy as np
from numba import njit

BASE_SCALE = np.float32(0.25)
BOOST_SCALE = np.float32(4.0)


@njit(cache=True, nogil=True, fastmath=True)
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


@njit(cache=True, nogil=True, fastmath=True)
def score_one(
    p, v, pointer, row, context, cell, entry, base, kinds, W, S, wb, C, W2, b2, v2, beta, gamma, w, w0, gate, extra,
    h1, h2, boosts, score,
):  # fmt: skip
    """Scores (V,) of the candidates of one position; what the units and the boosts were stays in their arrays."""
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
            s += max(h2[a, k], np.float32(0.0)) * v2[k]
        score[a] = s + w0[p] * base[p, a] + BOOST_SCALE * boosts[a] + extra[p, a]


@njit(cache=True, nogil=True, fastmath=True)
def forward(
    pointer, row, context, cell, entry, base, num_candidates, kinds, W, S, wb, C, W2, b2, v2, beta, gamma, w, w0, gate,
    extra, score,
):  # fmt: skip
    """Scores (P, V) of all candidates; what is no candidate keeps what ``score`` held."""
    P, V = base.shape
    H = W.shape[2]
    h1 = np.empty((V, H), np.float32)
    h2 = np.empty((V, H), np.float32)
    boosts = np.empty(V, np.float32)
    for p in range(P):
        score_one(
            p, num_candidates[p], pointer, row, context, cell, entry, base, kinds, W, S, wb, C, W2, b2, v2, beta, gamma,
            w, w0, gate, extra, h1, h2, boosts, score[p],
        )  # fmt: skip


@njit(cache=True, nogil=True, fastmath=True)
def backward(
    pointer, row, context, cell, entry, base, num_candidates, kinds, W, S, wb, C, W2, b2, v2, beta, gamma, w, w0, gate,
    d_score, d_W, d_S, d_wb, d_C, d_W2, d_b2, d_v2, d_beta, d_gamma, d_w, d_w0, d_gate,
):  # fmt: skip
    """Gradients of everything, given those of the scores; hidden units are computed again."""
    P, V = base.shape
    H = W.shape[2]
    h1 = np.empty((V, H), np.float32)
    d_h1 = np.empty((V, H), np.float32)
    h2 = np.empty(H, np.float32)
    boosts = np.empty(V, np.float32)
    for p in range(P):
        v = num_candidates[p]
        _hidden(p, v, pointer, row, context, cell, entry, base, kinds, W, S, wb, C, beta, w, gate, boosts, h1)
        for a in range(v):
            d = d_score[p, a]
            for k in range(H):
                h2[k] = b2[k]
            for i in range(H):
                if h1[a, i] > 0:
                    x = h1[a, i] * gamma[p, i]
                    for k in range(H):
                        h2[k] += x * W2[i, k]
            d_w0[p] += d * base[p, a]
            for k in range(H):
                on = h2[k] > 0
                d_v2[k] += d * h2[k] if on else np.float32(0.0)
                h2[k] = d * v2[k] if on else np.float32(0.0)
                d_b2[k] += h2[k]
            for i in range(H):
                if h1[a, i] > 0:
                    x = h1[a, i] * gamma[p, i]
                    s = np.float32(0.0)
                    for k in range(H):
                        d_W2[i, k] += x * h2[k]
                        s += W2[i, k] * h2[k]
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
            d_w[p, j] += BOOST_SCALE * d_score[p, a] * f0
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
