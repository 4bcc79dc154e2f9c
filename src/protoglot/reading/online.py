"""Weights that go on learning while a text is read, as the mixing weights of a compressor do.

The scores of the scorer are corrected by a log-linear model over the same evidence, whose weights begin at zero and take
one gradient step of the log loss for every character read: a scale, a weight for the boosts of each context (one for all
places, one for places with the same longest order), a bias for each state of an entry, and biases for symbols, alone
and after the last one or two.
"""

import numpy as np
from numba import njit

from protoglot.reading.kernel import NUM_CHAIN, NUM_CONTEXTS

NUM_SETS = NUM_CHAIN + 2
NUM_STATES = 10
NUM_BIASES = 1 << 15

SCALE_RATE, BOOST_RATE, STATE_RATE, SYMBOL_RATE, PAIR_RATE, TRIPLE_RATE, SET_RATE = range(7)
RATES = np.array([0.0, 0.003, 0.0, 0.0, 0.0, 0.01, 0.0])


@njit(cache=True, nogil=True, inline="always")
def _state(log_count, is_last):
    n = log_count * 3.0
    level = 0 if n < 0.4 else 1 if n < 0.9 else 2 if n < 1.5 else 3 if n < 2.25 else 4
    return 2 * level + (1 if is_last > 0 else 0)


@njit(cache=True, nogil=True)
def corrected(score, v, scales, boosts, states, symbols, pairs, triples, the_set, last, before, start, stop, row, context, entry, probability):
    """Probabilities (V,) of all candidates from their scores and the present corrections."""
    triple = before * 1_000_003 + last * 7919
    mask = NUM_BIASES - 1
    scale = 1.0 + scales[0] + scales[the_set]
    for a in range(v):
        probability[a] = score[a] * scale + symbols[a] + pairs[last, a] + triples[(triple + a * 31_337) & mask]
    for k in range(start, stop):
        j = context[k]
        state = _state(entry[k, 1], entry[k, 3])
        probability[row[k]] += (boosts[0, j] + boosts[the_set, j]) * entry[k, 0] + states[j, state]
    highest = probability[0]
    for a in range(1, v):
        highest = max(highest, probability[a])
    total = 0.0
    for a in range(v):
        probability[a] = np.exp(probability[a] - highest)
        total += probability[a]
    for a in range(v):
        probability[a] /= total


@njit(cache=True, nogil=True)
def learn(score, v, scales, boosts, states, symbols, pairs, triples, the_set, last, before, start, stop, row, context, entry, probability, target, rates):
    """One step along the gradient of the log probability of what came."""
    triple = before * 1_000_003 + last * 7919
    mask = NUM_BIASES - 1
    gradient = 0.0
    for a in range(v):
        error = (1.0 if a == target else 0.0) - probability[a]
        gradient += error * score[a]
        symbols[a] += rates[SYMBOL_RATE] * error
        pairs[last, a] += rates[PAIR_RATE] * error
        triples[(triple + a * 31_337) & mask] += rates[TRIPLE_RATE] * error
    scales[0] += rates[SCALE_RATE] * gradient
    scales[the_set] += rates[SCALE_RATE] * gradient
    for k in range(start, stop):
        a = row[k]
        error = (1.0 if a == target else 0.0) - probability[a]
        j = context[k]
        step = error * entry[k, 0]
        boosts[0, j] += rates[BOOST_RATE] * step
        boosts[the_set, j] += rates[SET_RATE] * step
        states[j, _state(entry[k, 1], entry[k, 3])] += rates[STATE_RATE] * error
