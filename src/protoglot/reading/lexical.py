"""What the words of related languages say of the next letter, in compiled code.

The words of a language, each as often as it came there, are counted by the letters before each letter: the last 0 to 5
of the word, and the whole word so far. From the longest context known to the shortest, absolute discounting gives each
letter, or the end of the word, its probability. Several languages are mixed with weights that follow how well each has
predicted: Bayes' rule with forgetting and a fixed share for a change.
"""

import numpy as np
from numba import njit

NUM_ORDERS = 6  # suffixes of 0 to 5 letters; the context after these is the whole word so far
NUM_LEXICAL = NUM_ORDERS + 1
LONGEST_WORD = 40  # letters of a word that are looked at
END = 0  # in place of a letter: the word ends
UNKNOWN = -1  # a letter of no lexicon

DISCOUNT = 0.7
_FORGETTING = 0.98
_SHARE = 0.005
_FLOOR = 1e-3  # probability that a language gives to what it does not know, where languages are weighed

_K1 = np.uint64(0x9E3779B97F4A7C15)
_K2 = np.uint64(0xBF58476D1CE4E5B9)
_S29 = np.uint64(29)
_S32 = np.uint64(32)
_ONE = np.uint64(1)


@njit(cache=True, inline="always")
def _mix(h, x):
    h = (h ^ (x + _ONE)) * _K1
    h = (h ^ (h >> _S29)) * _K2
    return h ^ (h >> _S32)


@njit(cache=True, nogil=True)
def word_contexts(word, length, is_capital, hashes):
    """Hashes of the contexts after the first letters of a word; 0 where there is none.

    Args:
        word: letters.
        length: how many of them there are so far.
        is_capital: whether the first is a capital.
        hashes: (7,) filled.
    """
    hashes[:] = np.uint64(0)
    if length >= LONGEST_WORD:
        return
    h = _mix(np.uint64(0), np.uint64(77))
    for m in range(NUM_ORDERS):
        if m > 0:
            # A word begins with a mark of its own, which is a letter of the context like any other.
            if m > length + 1:
                break
            letter = word[length - m] if m <= length else 50_000
            if letter < 0:
                break
            h = _mix(h, np.uint64(letter))
        if m > 0 or length > 0:
            hashes[m] = _mix(h, np.uint64(m))
    if length > 0:
        h = _mix(np.uint64(0), np.uint64(78 + is_capital))
        for i in range(length):
            if word[i] < 0:
                return
            h = _mix(h, np.uint64(word[i]))
        hashes[NUM_ORDERS] = h


@njit(cache=True, inline="always")
def _find(slots, keys, h):
    mask = np.uint64(len(slots) - 1)
    slot = h & mask
    while True:
        found = slots[slot]
        if found < 0 or keys[found] == h:
            return found
        slot = (slot + _ONE) & mask


@njit(cache=True, nogil=True)
def count_words(letters, starts, weights, capitals):
    """Count the contexts of some words.

    Args:
        letters: of all words, one after the other.
        starts: (W + 1,) where each word begins.
        weights: (W,) how much each counts, at least 1.
        capitals: (W,) whether each begins with a capital.

    Returns:
        slots, keys, first entries (N + 1,), totals of the contexts; letters and weights of the entries.
    """
    num = 0
    for i in range(len(weights)):
        num += (starts[i + 1] - starts[i] + 1) * NUM_LEXICAL
    size = 1024
    while size < num:
        size *= 2
    slots = np.full(size, -1, np.int32)
    keys = np.empty(num, np.uint64)
    heads = np.empty(num, np.int32)
    distinct = np.zeros(num, np.int32)
    totals = np.zeros(num, np.float32)
    symbol = np.empty(num, np.int16)
    weight = np.empty(num, np.float32)
    after = np.empty(num, np.int32)
    num_nodes = 0
    num_entries = 0
    hashes = np.zeros(NUM_LEXICAL, np.uint64)
    mask = np.uint64(size - 1)
    for i in range(len(weights)):
        word = letters[starts[i] : starts[i + 1]]
        for length in range(len(word) + 1):
            word_contexts(word, length, capitals[i], hashes)
            s = word[length] if length < len(word) else END
            for m in range(NUM_LEXICAL):
                h = hashes[m]
                if h == 0:
                    continue
                slot = h & mask
                while slots[slot] >= 0 and keys[slots[slot]] != h:
                    slot = (slot + _ONE) & mask
                node = slots[slot]
                if node < 0:
                    node = num_nodes
                    num_nodes += 1
                    slots[slot] = node
                    keys[node] = h
                    heads[node] = -1
                e = heads[node]
                while e >= 0 and symbol[e] != s:
                    e = after[e]
                if e < 0:
                    e = num_entries
                    num_entries += 1
                    symbol[e] = s
                    weight[e] = 0.0
                    after[e] = heads[node]
                    heads[node] = e
                    distinct[node] += 1
                weight[e] += weights[i]
                totals[node] += weights[i]
    firsts = np.zeros(num_nodes + 1, np.int32)
    symbols_in_order = np.empty(num_entries, np.int16)
    weights_in_order = np.empty(num_entries, np.float32)
    k = 0
    for node in range(num_nodes):
        firsts[node] = k
        e = heads[node]
        while e >= 0:
            symbols_in_order[k] = symbol[e]
            weights_in_order[k] = weight[e]
            k += 1
            e = after[e]
    firsts[num_nodes] = k
    small = 1024
    while small < 2 * num_nodes:
        small *= 2
    slots = np.full(small, -1, np.int32)
    mask = np.uint64(small - 1)
    for node in range(num_nodes):
        slot = keys[node] & mask
        while slots[slot] >= 0:
            slot = (slot + _ONE) & mask
        slots[slot] = node
    return slots, keys[:num_nodes].copy(), firsts, totals[:num_nodes].copy(), symbols_in_order, weights_in_order


@njit(cache=True, nogil=True)
def predict_letter(table, hashes, probability, touched):
    """Add the probabilities of what a lexicon knows to follow.

    Args:
        table: of :func:`count_words`.
        hashes: of the contexts.
        probability: by letter; added to.
        touched: letters whose probability is no longer zero; filled.

    Returns:
        How many were touched, and the longest context known (-1 for none).
    """
    slots, keys, firsts, totals, symbols, weights = table
    num = 0
    longest = -1
    left = 1.0
    for m in range(NUM_LEXICAL - 1, -1, -1):
        if hashes[m] == 0:
            continue
        node = _find(slots, keys, hashes[m])
        if node < 0:
            continue
        longest = max(longest, m)
        total = totals[node]
        first = firsts[node]
        stop = firsts[node + 1]
        for e in range(first, stop):
            s = symbols[e]
            if probability[s] == 0.0:
                touched[num] = s
                num += 1
            probability[s] += left * (weights[e] - DISCOUNT) / total
        left *= DISCOUNT * (stop - first) / total
    return num, longest


@njit(cache=True, nogil=True)
def predict_mixture(tables, num_active, shares, hashes, single, touched, num_touched, mixture, mixed):
    """The mixture of some lexicons.

    Args:
        tables: of the lexicons.
        num_active: how many of them count.
        shares: (K,) weights, which sum to one.
        hashes: of the contexts.
        single: (K, G) by lexicon; zero, filled.
        touched: (K, G) what is filled.
        num_touched: (K,) how much of it.
        mixture: (G,) zero, filled.
        mixed: (G,) letters of the mixture.

    Returns:
        How many letters the mixture has, and the longest context that some lexicon knows.
    """
    num = 0
    longest = -1
    for k in range(num_active):
        n, known = predict_letter(tables[k], hashes, single[k], touched[k])
        num_touched[k] = n
        longest = max(longest, known)
        for i in range(n):
            s = touched[k, i]
            if mixture[s] == 0.0:
                mixed[num] = s
                num += 1
            mixture[s] += shares[k] * single[k, s]
    return num, longest


@njit(cache=True, nogil=True)
def weigh_lexicons(num_active, shares, single, s):
    """Change the weights of the lexicons by how well each predicted."""
    total = 0.0
    for k in range(num_active):
        p = (1.0 - _FLOOR) * single[k, s] + _FLOOR
        shares[k] = shares[k] ** _FORGETTING * p
        total += shares[k]
    for k in range(num_active):
        shares[k] = (1.0 - _SHARE) * shares[k] / total + _SHARE / num_active


@njit(cache=True, nogil=True)
def clear_mixture(num_active, single, touched, num_touched, mixtures, mixed, num_mixed):
    """Make all probabilities zero again, those of single lexicons and those of both mixtures."""
    for k in range(num_active):
        for i in range(num_touched[k]):
            single[k, touched[k, i]] = 0.0
        num_touched[k] = 0
    for i in range(len(num_mixed)):
        for k in range(num_mixed[i]):
            mixtures[i, mixed[i, k]] = 0.0
        num_mixed[i] = 0


@njit(cache=True, nogil=True)
def count_trigrams(letters, counts):
    """Count the hashed trigrams of letters, -1 for what is no letter, around letters, into (B,) buckets."""
    mask = np.uint64(len(counts) - 1)
    for i in range(2, len(letters)):
        if letters[i - 1] < 0:
            continue
        h = _mix(np.uint64(0), np.uint64(letters[i - 2] + 2))
        h = _mix(h, np.uint64(letters[i - 1] + 2))
        h = _mix(h, np.uint64(letters[i] + 2))
        counts[h & mask] += 1
