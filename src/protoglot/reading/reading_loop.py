"""Scores and online weights along a piece of text, in compiled code."""

import numpy as np
from numba import njit

from protoglot.reading import online
from protoglot.reading.kernel import NOVEL, NUM_CHAIN, NUM_CONTEXTS, CONTEXT_FEATURES
from protoglot.reading.scoring import score_position


@njit(cache=True, nogil=True)
def score_batch(
    text, with_letters, letters, kinds, counts, batch, weights, corrections, rates, learning, nats, queries, last_probability
):  # fmt: skip
    """Cost of what came at each position of a batch; what comes last is predicted into ``last_probability``.

    Args:
        text: (T,) all symbols read.
        with_letters: whether the network of letters is asked.
        letters: (V + 1,) of each candidate column.
        kinds: (V + 1,) likewise.
        counts: (V + 1,) how often each symbol was read before the batch; changed along.
        batch: evidence.
        weights: of the scorer.
        corrections: online weights; changed along if ``learning``.
        rates: of their learning.
        learning: whether what came is known, and learned from.
        nats: (P,) filled.
        queries: (P, Q) what letters say of characters not met yet; filled.
        last_probability: (V + 1,) the last distribution; filled.
    """
    position, base, target, place, pointer, row, context, entry, columns = batch
    scales, boosts, states, symbols, pairs, triples = corrections
    score = np.empty(base.shape[1], np.float32)
    longest_feature = NUM_CONTEXTS * CONTEXT_FEATURES + 9
    for p in range(len(position)):
        t = position[p]
        v = columns[p]
        score_position(
            p, text, t, v, with_letters, letters, kinds, counts, base, place, pointer, row, context, entry,
            *weights, queries[p], score,
        )  # fmt: skip
        highest = score[0]
        for a in range(1, v):
            highest = max(highest, score[a])
        total = 0.0
        for a in range(v):
            total += np.exp(np.float64(score[a] - highest))
        norm = np.float32(highest + np.log(total))
        for a in range(v):
            score[a] -= norm
        the_set = 1 + int(place[p, longest_feature] * NUM_CHAIN + 0.5)
        last = text[t - 1] + 1 if t >= 1 else 0
        before = text[t - 2] + 1 if t >= 2 else 0
        online.corrected(
            score, v, scales, boosts, states, symbols, pairs, triples, the_set, last, before,
            pointer[p], pointer[p + 1], row, context, entry, last_probability,
        )  # fmt: skip
        if learning:
            nats[p] = -np.log(last_probability[target[p]])
            online.learn(
                score, v, scales, boosts, states, symbols, pairs, triples, the_set, last, before,
                pointer[p], pointer[p + 1], row, context, entry, last_probability, target[p], rates,
            )  # fmt: skip
            counts[text[t] + 1] += 1
