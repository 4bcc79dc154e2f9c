"""Counts of every context over everything read so far, in compiled code.

A *context* is what some function of the past looks like at a place: the last three letters, the word so far, the
vowels of the word. Each context seen is a *node*; each symbol seen after it is an *entry* of that node. The nodes of
the orders 0 to 8 also keep counts with PPM's update exclusion: an order counts a symbol only where no longer order
knew it. The contexts of new words count types, not tokens: a letter counts only where the same beginning of a word was
never followed by it before.

For every candidate symbol the *chain* interpolates the orders 0 to 8 with absolute discounting of the excluded counts.
Every other context is relative to the chain: the *boost* of a symbol is the log ratio of its discounted estimate
there to the estimate of the chain, up to a constant that is the same for all symbols. It is zero for all symbols
that the context has not seen, so only entries need be looked at.

Two more contexts count nothing that was read: they say what the words of related languages, and words that many
languages share, let expect (:mod:`protoglot.reading.lexical`). Their probabilities are of small letters and of the end
of the word; each stands for a group of symbols, and its boost is relative to what the chain gives to the group.
"""

import numpy as np
from numba import njit

from protoglot.reading.characters import NUM_CLASSES, Class
from protoglot.reading.lexical import (
    END,
    LONGEST_WORD,
    NUM_LEXICAL,
    clear_mixture,
    predict_letter,
    predict_mixture,
    weigh_lexicons,
    word_contexts,
)

CONTEXTS = (
    "order 1", "order 2", "order 3", "order 4", "order 5", "order 6", "order 7", "order 8",
    "order 10", "order 12", "order 16", "order 20",
    "word", "word, one before", "word, two before", "word, second before",
    "letters 2-3 back", "letters 2-4 back", "letters 1, 3 back", "letters 1-2, 4 back",
    "base order 3", "base order 4", "base order 6",
    "letter, shape of 6", "shape of 8", "letter, length", "two letters, length",
    "word before, letter", "end of word before, word", "word, place in line",
    "two vowels, letter", "two consonants, letter",
    "successors of order 1", "successors of order 2",
    "beginning of word, length, letter", "length of word before, word", "beginning of word before, word",
    "last separator, word", "base word", "base word, one before", "letters 2-5 back",
    "word, third before", "ends of two words before, word", "beginnings of two words before, word",
    "first word of line, word", "successors of word before, word", "same place in word before, letter",
    "new word, order 1", "new word, order 2", "new word, order 3", "new word, order 4", "new word, order 5",
    "new word, length, letter", "new word, shape, letter",
    "words of relatives", "words of many languages",
)  # fmt: skip
NUM_CONTEXTS = len(CONTEXTS)
NUM_COUNTED = NUM_CONTEXTS - 2  # the other two are of lexicons
RELATIVES, POOLED = NUM_COUNTED, NUM_COUNTED + 1
NUM_CHAIN = 8  # orders 1 to 8 come first; order 0 is node 0
OF_WORD = CONTEXTS.index("word")
OF_WORD_BEFORE = CONTEXTS.index("word before, letter")
OF_SUCCESSORS = CONTEXTS.index("successors of word before, word")
NEW_WORDS = CONTEXTS.index("new word, order 1")  # from here on, a context counts beginnings of words, each once
LONGEST_NEW = 5  # letters that such a context looks at

# Columns of a node; its hash and counts share a line of the cache.
(
    TOTAL, DISTINCT, HEAD, EXCLUDED, ONCE, TWICE, OFTEN, TIME, LAST, LAST_BUT_ONE, RUN, TOP, HASH_LOW, HASH_HIGH,
) = range(14)  # fmt: skip
NODE_COLUMNS = 16
# Columns of an entry.
SYMBOL, COUNT, EXCLUDED_COUNT, NEXT, SEEN, SEEN_TIME = range(6)
ENTRY_COLUMNS = 6
JOURNAL_COLUMNS = 3 + NODE_COLUMNS + ENTRY_COLUMNS

# The state of a place.
(
    WORD, PREVIOUS, SECOND, LENGTH, WORDS_IN_LINE, END_OF_PREVIOUS, START_OF_PREVIOUS, START, SEPARATOR,
    VOWEL_1, VOWEL_2, CONSONANT_1, CONSONANT_2, LETTER_1, LETTER_2, IN_LINE, PREVIOUS_LENGTH,
    BASE_WORD, PREVIOUS_BASE, MARKS, CAPITAL, THIRD, END_OF_SECOND, START_OF_SECOND, FIRST_WORD, SUCCESSORS,
    PREVIOUS_AT, PREVIOUS_SIZE, BASES,
) = range(29)  # fmt: skip
NUM_BASES = 6  # base letters that are remembered, the last one at BASES
PLACE_COLUMNS = 28 + NUM_BASES

# Columns of the properties of a symbol.
CLASS, FOLD, IS_WORD, IS_VOWEL, BASE, IS_MARK, LETTER = range(7)
PROPERTY_COLUMNS = 7

CONTEXT_FEATURES = 9
RECENT_CLASSES = 4
NUM_LAST_COSTS = 4  # last characters of which the cost is known one by one
NUM_GENERAL = 10 + NUM_LAST_COSTS
PLACE_FEATURES = NUM_CONTEXTS * CONTEXT_FEATURES + NUM_GENERAL + RECENT_CLASSES * NUM_CLASSES
ENTRY_FEATURES = 4  # boost, log count, occurrences of the context and log of characters since it came
_LEXICAL_BOOST = 10.0
_LEAST = 0.002  # probability; a lexicon is silent about what is less

# An entry falls into one of the cells of its context: by its count, by the count of all other symbols there, and by
# whether it was the last symbol there. A cell is to a context what a state is to a state map of a compressor.
NUM_COUNT_CELLS = 5
NUM_OTHER_CELLS = 6
NUM_LAST_CELLS = 3
NUM_CELLS = NUM_COUNT_CELLS * NUM_OTHER_CELLS * NUM_LAST_CELLS

_CAPITAL_VOWEL = int(Class.CAPITAL_VOWEL)
_CAPITAL_CONSONANT = int(Class.CAPITAL_CONSONANT)

WHOLE, CHAIN_ALONE = 1, 2  # what evidence is wanted of a position; 0 for none
NUM_SYMBOLS_AT_START = 2  # line feed and blank
NOVEL = 0  # column of the candidate that stands for all characters not met yet; symbol s is column s + 1

_K1 = np.uint64(0x9E3779B97F4A7C15)
_K2 = np.uint64(0xBF58476D1CE4E5B9)
_S29 = np.uint64(29)
_S32 = np.uint64(32)
_ONE = np.uint64(1)
_LOW = np.uint64(0xFFFFFFFF)


@njit(cache=True, inline="always")
def _mix(h, x):
    h = (h ^ (x + _ONE)) * _K1
    h = (h ^ (h >> _S29)) * _K2
    return h ^ (h >> _S32)


@njit(cache=True, inline="always")
def _salt(number):
    """Where the hash of a context begins: far from that of every other, whatever small numbers are mixed in."""
    return _mix(np.uint64(0), np.uint64(number))


@njit(cache=True, nogil=True)
def rebuild_table(table, nodes, num_nodes):
    """Fill an empty table with the nodes there are."""
    mask = np.uint64(len(table) - 1)
    for node in range(1, num_nodes):
        slot = np.uint64(np.uint32(nodes[node, HASH_LOW])) & mask
        while table[slot] != 0:
            slot = (slot + _ONE) & mask
        table[slot] = node


@njit(cache=True, inline="always")
def _cell(n, others, run):
    """Number of the cell of a symbol that came ``n`` times, ``run`` times in a row up to now, and others ``others``."""
    count = n - 1 if n < 4 else 3 if n < 7 else 4
    if others < 3:
        other = others
    elif others < 6:
        other = 3
    else:
        other = 4 if others < 16 else 5
    return (count * NUM_OTHER_CELLS + other) * NUM_LAST_CELLS + min(run, 2)


@njit(cache=True, inline="always")
def _find(table, nodes, h):
    mask = np.uint64(len(table) - 1)
    slot = h & _LOW & mask
    low = np.int32(h & _LOW)
    high = np.int32(h >> _S32)
    while True:
        found = np.int64(table[slot])
        if found == 0:
            return -1
        if nodes[found, HASH_LOW] == low and nodes[found, HASH_HIGH] == high:
            return found
        slot = (slot + _ONE) & mask


@njit(cache=True, inline="always")
def _insert(table, h, node):
    mask = np.uint64(len(table) - 1)
    slot = h & _LOW & mask
    while table[slot] != 0:
        slot = (slot + _ONE) & mask
    table[slot] = node
    return slot


@njit(cache=True, inline="always")
def _symbol_back(text, t, k):
    return np.uint64(text[t - k] + 1) if t >= k else np.uint64(0)


@njit(cache=True, nogil=True)
def context_hashes(text, t, properties, place, hashes):
    """Hashes of the contexts of position ``t``, except those that need the nodes of orders 1 and 2."""
    zero = np.uint64(0)
    h = _salt(77)
    j = 0
    limit = 20
    for k in range(1, limit + 1):
        h = _mix(h, _symbol_back(text, t, k))
        if k <= 8 or k == 10 or k == 12 or k == 16 or k == 20:
            hashes[j] = _mix(h, np.uint64(1000 + j)) if t >= k else zero
            j += 1
    word = np.uint64(place[WORD])
    previous = np.uint64(place[PREVIOUS])
    second = np.uint64(place[SECOND])
    length = np.uint64(min(place[LENGTH], 12))
    s1 = _symbol_back(text, t, 1)
    s2 = _symbol_back(text, t, 2)
    s3 = _symbol_back(text, t, 3)
    s4 = _symbol_back(text, t, 4)
    one = _mix(_salt(9), word)
    hashes[12] = _mix(one, np.uint64(12))
    hashes[13] = _mix(_mix(one, previous), np.uint64(13))
    hashes[14] = _mix(_mix(_mix(one, previous), second), np.uint64(14))
    hashes[15] = _mix(_mix(one, second), np.uint64(15))
    hashes[16] = _mix(_mix(_mix(_salt(16), s2), s3), zero)
    hashes[17] = _mix(_mix(_mix(_salt(17), s2), s3), s4)
    hashes[18] = _mix(_mix(_mix(_salt(18), s1), s3), zero)
    hashes[19] = _mix(_mix(_mix(_salt(19), s1), s2), s4)
    s5 = _symbol_back(text, t, 5)
    hashes[40] = _mix(_mix(hashes[17], s5), np.uint64(40))
    f = _mix(_salt(20), np.uint64(place[MARKS]))
    shape = _salt(23)
    shape6 = zero
    for k in range(1, 9):
        if t >= k:
            s = text[t - k]
            c = properties[s, CLASS]
            coarse = c
            if properties[s, IS_WORD] == 1:
                coarse = 100 + properties[s, IS_VOWEL]
            shape = _mix(shape, np.uint64(coarse))
        else:
            shape = _mix(shape, np.uint64(999))
        if k <= NUM_BASES:
            f = _mix(f, np.uint64(place[BASES + k - 1]))
        if k == 3:
            hashes[20] = _mix(f, np.uint64(20))
        elif k == 4:
            hashes[21] = _mix(f, np.uint64(21))
        elif k == 6:
            hashes[22] = _mix(f, np.uint64(22))
            shape6 = shape
    hashes[23] = _mix(_mix(shape6, s1), np.uint64(23))
    hashes[24] = _mix(shape, np.uint64(24))
    hashes[25] = _mix(_mix(_salt(25), s1), length)
    hashes[26] = _mix(_mix(_mix(_salt(26), s1), s2), length)
    hashes[27] = _mix(_mix(_mix(_salt(27), s1), previous), np.uint64(min(place[LENGTH], 1)))
    hashes[28] = _mix(_mix(_salt(28), np.uint64(place[END_OF_PREVIOUS])), word)
    hashes[29] = _mix(_mix(_salt(29), np.uint64(min(place[WORDS_IN_LINE], 3))), word)
    hashes[30] = _mix(_mix(_mix(_salt(30), np.uint64(place[VOWEL_1])), np.uint64(place[VOWEL_2])), s1)
    hashes[31] = _mix(_mix(_mix(_salt(31), np.uint64(place[CONSONANT_1])), np.uint64(place[CONSONANT_2])), s1)
    hashes[34] = _mix(_mix(_mix(_salt(34), np.uint64(place[START])), length), s1)
    hashes[35] = _mix(_mix(_salt(35), np.uint64(place[PREVIOUS_LENGTH])), word)
    hashes[36] = _mix(_mix(_salt(36), np.uint64(place[START_OF_PREVIOUS])), word)
    base = _mix(_mix(_salt(38), np.uint64(place[BASE_WORD])), np.uint64(place[MARKS]))
    hashes[38] = base
    hashes[39] = _mix(base, np.uint64(place[PREVIOUS_BASE]))
    hashes[37] = _mix(_mix(_salt(37), np.uint64(place[SEPARATOR])), word)
    hashes[41] = _mix(_mix(one, np.uint64(place[THIRD])), np.uint64(41))
    ends = _mix(_mix(_salt(42), np.uint64(place[END_OF_PREVIOUS])), np.uint64(place[END_OF_SECOND]))
    hashes[42] = _mix(ends, word)
    starts = _mix(_mix(_salt(43), np.uint64(place[START_OF_PREVIOUS])), np.uint64(place[START_OF_SECOND]))
    hashes[43] = _mix(starts, word)
    hashes[44] = _mix(_mix(_salt(44), np.uint64(place[FIRST_WORD])), word)
    _hash_new_word(text, t, properties, place, hashes)


@njit(cache=True, inline="always")
def _hash_new_word(text, t, properties, place, hashes):
    """Hashes of the contexts that look at letters of a word that has begun; there are none between words."""
    size = place[LENGTH]
    for j in range(NEW_WORDS - 1, NUM_COUNTED):
        hashes[j] = np.uint64(0)
    if size == 0:
        return
    last = np.uint64(properties[text[t - 1], FOLD] + 1)
    if place[PREVIOUS_SIZE] > 0:
        at = place[PREVIOUS_AT]
        copied = properties[text[at + size], FOLD] + 1 if size < place[PREVIOUS_SIZE] else 0
        is_same = size <= place[PREVIOUS_SIZE] and properties[text[at + size - 1], FOLD] + 1 == np.int64(last)
        h = _mix(_mix(_salt(46), np.uint64(copied)), np.uint64(1 if is_same else 0))
        hashes[NEW_WORDS - 1] = _mix(h, last)
    h = _salt(47)
    for k in range(1, LONGEST_NEW + 1):
        letter = np.uint64(properties[text[t - k], FOLD] + 1) if size >= k else np.uint64(0)
        h = _mix(h, letter)
        hashes[NEW_WORDS + k - 1] = _mix(h, np.uint64(k)) if size >= k - 1 else np.uint64(0)
    hashes[NEW_WORDS + 5] = _mix(_mix(_salt(52), np.uint64(min(size, 12))), last)
    shape = _mix(_salt(53), last)
    for k in range(1, min(size, 8) + 1):
        shape = _mix(shape, np.uint64(1 + properties[text[t - k], IS_VOWEL]))
    hashes[NEW_WORDS + 6] = shape


@njit(cache=True, inline="always")
def _indirect(nodes, node, s, salt):
    """A context of what followed the last two times that another context came."""
    if node < 0:
        return np.uint64(0)
    h = _mix(_salt(salt), np.uint64(nodes[node, LAST] + 1))
    return _mix(_mix(h, np.uint64(nodes[node, LAST_BUT_ONE] + 1)), s)


@njit(cache=True, nogil=True)
def advance_place(place, s, t, properties):
    """Go past a symbol at position ``t``."""
    place[IN_LINE] = 0 if s == 0 else place[IN_LINE] + 1
    if properties[s, IS_MARK] == 1:
        place[MARKS] += 1
    else:
        place[MARKS] = 0
        for k in range(NUM_BASES - 1, 0, -1):
            place[BASES + k] = place[BASES + k - 1]
        place[BASES] = properties[s, BASE] + 1
    if properties[s, IS_WORD] == 1:
        f = properties[s, FOLD] + 1
        if place[LENGTH] == 0:
            c = properties[s, CLASS]
            place[CAPITAL] = 1 if c in (_CAPITAL_VOWEL, _CAPITAL_CONSONANT) else 0
            place[WORD] = 0
            place[BASE_WORD] = 0
            place[START] = 0
            place[VOWEL_1] = place[VOWEL_2] = place[CONSONANT_1] = place[CONSONANT_2] = 0
            place[LETTER_1] = place[LETTER_2] = 0
        place[WORD] = np.int64(_mix(np.uint64(place[WORD]), np.uint64(f)) >> _ONE)
        if properties[s, IS_MARK] == 0:
            place[BASE_WORD] = np.int64(_mix(np.uint64(place[BASE_WORD]), np.uint64(properties[s, BASE])) >> _ONE)
        if place[LENGTH] < 2:
            place[START] = np.int64(_mix(np.uint64(place[START]), np.uint64(f)) >> _ONE)
        place[LENGTH] += 1
        place[LETTER_2] = place[LETTER_1]
        place[LETTER_1] = f
        if properties[s, IS_VOWEL] == 1:
            place[VOWEL_2] = place[VOWEL_1]
            place[VOWEL_1] = f
        else:
            place[CONSONANT_2] = place[CONSONANT_1]
            place[CONSONANT_1] = f
    else:
        if place[LENGTH] > 0:
            if place[WORDS_IN_LINE] == 0:
                place[FIRST_WORD] = place[WORD]
            place[THIRD] = place[SECOND]
            place[SECOND] = place[PREVIOUS]
            place[PREVIOUS] = place[WORD]
            place[END_OF_SECOND] = place[END_OF_PREVIOUS]
            place[START_OF_SECOND] = place[START_OF_PREVIOUS]
            place[PREVIOUS_AT] = t - place[LENGTH]
            place[PREVIOUS_SIZE] = place[LENGTH]
            place[PREVIOUS_BASE] = place[BASE_WORD]
            place[END_OF_PREVIOUS] = place[LETTER_1] * 100003 + place[LETTER_2]
            place[START_OF_PREVIOUS] = place[START]
            place[PREVIOUS_LENGTH] = min(place[LENGTH], 12)
            place[LENGTH] = 0
            place[WORDS_IN_LINE] += 1
            place[SEPARATOR] = 0
            place[WORD] = 0
        place[SEPARATOR] = np.int64(_mix(np.uint64(place[SEPARATOR]), np.uint64(s)) >> _ONE)
        # Between words, the separators since the last one take the place of the word so far.
        place[WORD] = np.int64(_mix(np.uint64(place[WORD]), np.uint64(s + 1_000_000)) >> _ONE)
        place[BASE_WORD] = place[WORD]
        if s == 0:
            place[PREVIOUS] = place[SECOND] = place[THIRD] = place[PREVIOUS_BASE] = place[FIRST_WORD] = 0
            place[END_OF_PREVIOUS] = place[START_OF_PREVIOUS] = place[PREVIOUS_LENGTH] = 0
            place[END_OF_SECOND] = place[START_OF_SECOND] = place[PREVIOUS_SIZE] = 0
            place[WORDS_IN_LINE] = 0


@njit(cache=True, inline="always")
def _entry_of(nodes, entries, node, s):
    e = nodes[node, HEAD]
    while e >= 0 and entries[e, SYMBOL] != s:
        e = entries[e, NEXT]
    return e


@njit(cache=True, nogil=True)
def read(
    text, start, stop, emit, properties, num_symbols,
    table, nodes, entries, sizes, place, gains, costs, discounts, journal, num_journal, lexicons,
    out_position, out_base, out_target, out_place, out_pointer, out_row, out_context, out_cell, out_entry, out_sizes,
):  # fmt: skip
    """Read ``text[start:stop]``; where ``emit`` is set, write the evidence for the next symbol first.

    Args:
        text: symbols, with room for more; -1 stands for one that is not known yet.
        start: position to begin at.
        stop: position to end before.
        emit: (stop - start,) whether the evidence of each position is wanted.
        properties: of each symbol.
        num_symbols: (1,) how many symbols were met; changed, as are the next ones.
        table: from hash to node.
        nodes: counts of each context.
        entries: counts of each symbol in each context.
        sizes: (2,) how many nodes and entries there are.
        place: what the contexts need to know of the past.
        gains: (J, 4) how well each context predicted lately and always, how often, and how well the last few times.
        costs: (7,) likewise the chain: lately, always, how often; and the last four characters one by one.
        discounts: (orders + 2, 3) of counts of one, two and more; the last row is that of the contexts.
        journal: what was there before each change.
        num_journal: (1,) its length; -1 where no changes are noted.
        lexicons: tables of those that are followed, how many, their weights, the letters of the word so far, which
            letters were met, and room to work in (``evidence.Lexical``).
        out_position: (P,) of the evidence; this and the next ones are described in ``evidence.Batch``.
        out_base: (P, V + 1).
        out_target: (P,).
        out_place: (P, F).
        out_pointer: (P + 1,).
        out_row: (N,).
        out_context: (N,).
        out_cell: (N,).
        out_entry: (N, 4).
        out_sizes: (2,) how many positions and entries are written.

    Returns:
        The position at which it stopped: earlier than ``stop`` where the room for entries is used up.
    """
    num_contexts = NUM_COUNTED
    tables, num_active, shares, word, is_met, single, touched, num_touched, mixtures, mixed, masses = lexicons
    word_hashes = np.zeros(NUM_LEXICAL, np.uint64)
    num_mixed = np.zeros(2, np.int64)
    longest = np.zeros(2, np.int64)
    pool = tables[len(tables) - 1]
    hashes = np.zeros(num_contexts, np.uint64)
    found = np.full(num_contexts, -1, np.int64)
    chain = np.zeros(out_base.shape[1], np.float64)
    is_marked = num_journal[0] >= 0
    for t in range(start, stop):
        v = num_symbols[0]
        # What stands at the end of the text may be unknown yet: then only evidence is wanted.
        s = text[t] if t < len(text) else -1
        context_hashes(text, t, properties, place, hashes)
        for j in range(num_contexts):
            if j != 32 and j != 33 and j != OF_SUCCESSORS:
                found[j] = _find(table, nodes, hashes[j]) if hashes[j] != 0 else -1
        hashes[32] = _indirect(nodes, found[0], _symbol_back(text, t, 1), 32)
        hashes[33] = _indirect(nodes, found[1], _symbol_back(text, t, 1), 33)
        if place[LENGTH] == 0:
            place[SUCCESSORS] = np.int64(_indirect(nodes, found[OF_WORD_BEFORE], np.uint64(0), 45) >> _ONE)
        hashes[OF_SUCCESSORS] = _mix(_mix(_salt(45), np.uint64(place[SUCCESSORS])), np.uint64(place[WORD]))
        for j in (32, 33, OF_SUCCESSORS):
            found[j] = _find(table, nodes, hashes[j]) if hashes[j] != 0 else -1

        word_contexts(word, place[LENGTH], place[CAPITAL], word_hashes)
        num_mixed[0], longest[0] = predict_mixture(
            tables, num_active[0], shares, word_hashes, single, touched, num_touched, mixtures[0], mixed[0]
        )
        num_mixed[1], longest[1] = predict_letter(pool, word_hashes, mixtures[1], mixed[1])

        mode = emit[t - start]
        if mode != 0:
            p = out_sizes[0]
            room = 0
            if mode != CHAIN_ALONE:
                room = 2 * (v + 1)
                for j in range(num_contexts):
                    if found[j] >= 0:
                        room += nodes[found[j], DISTINCT]
            if p >= len(out_position) or out_sizes[1] + room > len(out_row):
                clear_mixture(num_active[0], single, touched, num_touched, mixtures, mixed, num_mixed)
                return t
            _emit(
                t, s, v, mode, text, properties, found, nodes, entries, place, gains, costs, discounts, chain, p,
                num_active[0], shares, is_met, mixtures, mixed, num_mixed, longest, masses,
                out_position, out_base, out_target, out_place, out_pointer, out_row, out_context, out_cell, out_entry,
                out_sizes,
            )  # fmt: skip
        if s < 0:
            clear_mixture(num_active[0], single, touched, num_touched, mixtures, mixed, num_mixed)
            continue

        # What the chain and each context gave the symbol that came.
        once = nodes[0, ONCE]
        x0 = nodes[0, EXCLUDED]
        novel = (once + 0.5) / (x0 + 1.5)
        p_chain = novel if s >= v else (1.0 - novel) / v
        is_known = False
        for k in range(0, NUM_CHAIN + 1):
            node = 0 if k == 0 else found[k - 1]
            if node < 0 or nodes[node, EXCLUDED] == 0:
                if k == 0:
                    continue
                break
            x = 0
            if s < v:
                e = _entry_of(nodes, entries, node, s)
                if e >= 0:
                    x = entries[e, EXCLUDED_COUNT]
            escape = (
                discounts[k, 0] * nodes[node, ONCE]
                + discounts[k, 1] * nodes[node, TWICE]
                + discounts[k, 2] * nodes[node, OFTEN]
            )
            kept = x - discounts[k, min(x, 3) - 1] if x > 0 else 0.0
            p_chain = (kept + escape * p_chain) / nodes[node, EXCLUDED]
        cost = -np.log(p_chain)
        costs[0] += 0.05 * (cost - costs[0])
        costs[1] += max(0.003, 1.0 / (costs[2] + 2.0)) * (cost - costs[1])
        costs[2] += 1.0
        for k in range(NUM_LAST_COSTS - 1, 0, -1):
            costs[3 + k] = costs[2 + k]
        costs[3] = cost

        for j in range(num_contexts):
            node = found[j]
            if node < 0:
                continue
            e = _entry_of(nodes, entries, node, s) if s < v else -1
            n = entries[e, COUNT] if e >= 0 else 0
            d = discounts[NUM_CHAIN + 1, 0]
            escape = d * nodes[node, DISTINCT]
            kept = n - d if n > 0 else 0.0
            gain = np.log((kept / p_chain + escape) / nodes[node, TOTAL])
            gain = min(max(gain, -3.0), 3.0)
            gains[j, 0] += 0.05 * (gain - gains[j, 0])
            gains[j, 1] += max(0.004, 1.0 / (gains[j, 2] + 4.0)) * (gain - gains[j, 1])
            gains[j, 2] += 1.0
            gains[j, 3] += 0.3 * (gain - gains[j, 3])

        letter = properties[s, LETTER]
        if letter > END:
            for i in range(2):
                if num_mixed[i] == 0:
                    continue
                gain = np.log((0.99 * mixtures[i, letter] + 0.01) / p_chain)
                gain = min(max(gain, -3.0), 3.0)
                j = RELATIVES + i
                gains[j, 0] += 0.05 * (gain - gains[j, 0])
                gains[j, 1] += max(0.004, 1.0 / (gains[j, 2] + 4.0)) * (gain - gains[j, 1])
                gains[j, 2] += 1.0
                gains[j, 3] += 0.3 * (gain - gains[j, 3])
        if num_active[0] > 0 and (letter > END or (letter == END and place[LENGTH] > 0)):
            weigh_lexicons(num_active[0], shares, single, letter)
        clear_mixture(num_active[0], single, touched, num_touched, mixtures, mixed, num_mixed)
        if properties[s, IS_WORD] == 1 and place[LENGTH] < LONGEST_WORD:
            word[place[LENGTH]] = letter
        if letter >= 0:
            is_met[letter] = 1

        # A beginning of a word is new if its last character never followed the ones before it in a word.
        is_new = found[OF_WORD] < 0 or _entry_of(nodes, entries, found[OF_WORD], s) < 0

        # Count it: longest order first, so that exclusion knows what longer ones knew.
        for step in range(-NUM_CHAIN, num_contexts - NUM_CHAIN + 1):
            if step < 0:
                j = -step - 1  # orders 8 to 1
            elif step == 0:
                j = -1  # order 0
            else:
                j = NUM_CHAIN + step - 1
            if j >= 0:
                node = found[j]
                if hashes[j] == 0 or (j >= NEW_WORDS and not is_new):
                    continue
            else:
                node = 0
            slot = -1
            if node < 0:
                node = sizes[0]
                sizes[0] += 1
                for column in range(NODE_COLUMNS):
                    nodes[node, column] = 0
                nodes[node, HEAD] = -1
                nodes[node, LAST] = -1
                nodes[node, LAST_BUT_ONE] = -1
                nodes[node, TOP] = -1
                nodes[node, HASH_LOW] = np.int32(hashes[j] & _LOW)
                nodes[node, HASH_HIGH] = np.int32(hashes[j] >> _S32)
                slot = np.int64(_insert(table, hashes[j], node))
            e = _entry_of(nodes, entries, node, s)
            was_known = e >= 0
            if is_marked:
                n = num_journal[0]
                num_journal[0] = n + 1
                journal[n, 0] = node
                journal[n, 1] = slot
                journal[n, 2] = e
                for column in range(NODE_COLUMNS):
                    journal[n, 3 + column] = nodes[node, column]
                if was_known:
                    for column in range(ENTRY_COLUMNS):
                        journal[n, 3 + NODE_COLUMNS + column] = entries[e, column]
            if not was_known:
                e = sizes[1]
                sizes[1] += 1
                entries[e, SYMBOL] = s
                entries[e, COUNT] = 0
                entries[e, EXCLUDED_COUNT] = 0
                entries[e, NEXT] = nodes[node, HEAD]
                entries[e, SEEN] = 0
                nodes[node, HEAD] = e
                nodes[node, DISTINCT] = nodes[node, DISTINCT] + 1
            entries[e, COUNT] = entries[e, COUNT] + 1
            nodes[node, TOTAL] = nodes[node, TOTAL] + 1
            entries[e, SEEN] = nodes[node, TOTAL]
            entries[e, SEEN_TIME] = t
            if nodes[node, LAST] == s:
                nodes[node, RUN] = nodes[node, RUN] + 1
            else:
                nodes[node, RUN] = 1
            nodes[node, LAST_BUT_ONE] = nodes[node, LAST]
            nodes[node, LAST] = s
            nodes[node, TIME] = t
            top = nodes[node, TOP]
            if top < 0 or entries[e, COUNT] > entries[top, COUNT]:
                nodes[node, TOP] = e
            if step <= 0 and not is_known:
                x = entries[e, EXCLUDED_COUNT] + 1
                entries[e, EXCLUDED_COUNT] = x
                nodes[node, EXCLUDED] = nodes[node, EXCLUDED] + 1
                if x == 1:
                    nodes[node, ONCE] = nodes[node, ONCE] + 1
                elif x == 2:
                    nodes[node, ONCE] = nodes[node, ONCE] - 1
                    nodes[node, TWICE] = nodes[node, TWICE] + 1
                elif x == 3:
                    nodes[node, TWICE] = nodes[node, TWICE] - 1
                    nodes[node, OFTEN] = nodes[node, OFTEN] + 1
            if step <= 0 and was_known:
                is_known = True
        if s >= v:
            num_symbols[0] = s + 1
        advance_place(place, s, t, properties)
    return stop


@njit(cache=True, nogil=True)
def go_back(table, nodes, entries, journal, start, stop, is_same_table):
    """Take back what the journal notes from ``start`` to ``stop``, the last first."""
    for n in range(stop - 1, start - 1, -1):
        node = journal[n, 0]
        for column in range(NODE_COLUMNS):
            nodes[node, column] = journal[n, 3 + column]
        e = journal[n, 2]
        if e >= 0:
            for column in range(ENTRY_COLUMNS):
                entries[e, column] = journal[n, 3 + NODE_COLUMNS + column]
        if is_same_table and journal[n, 1] >= 0:
            table[journal[n, 1]] = 0


@njit(cache=True, nogil=True)
def _emit(
    t, s, v, mode, text, properties, found, nodes, entries, place, gains, costs, discounts, chain, p,
    num_active, shares, is_met, mixtures, mixed, num_mixed, longest_words, masses,
    out_position, out_base, out_target, out_place, out_pointer, out_row, out_context, out_cell, out_entry, out_sizes,
):  # fmt: skip
    num_contexts = NUM_COUNTED
    out_position[p] = t
    out_target[p] = NOVEL if s >= v else s + 1  # unknown yet: -1 + 1, which nobody reads

    novel = (nodes[0, ONCE] + 0.5) / (nodes[0, EXCLUDED] + 1.5)
    chain[NOVEL] = novel
    for c in range(1, v + 1):
        chain[c] = (1.0 - novel) / v
    longest = 0
    for k in range(0, NUM_CHAIN + 1):
        node = 0 if k == 0 else found[k - 1]
        if node < 0 or nodes[node, EXCLUDED] == 0:
            if k == 0:
                continue
            break
        longest = k
        x_total = nodes[node, EXCLUDED]
        escape = (
            discounts[k, 0] * nodes[node, ONCE]
            + discounts[k, 1] * nodes[node, TWICE]
            + discounts[k, 2] * nodes[node, OFTEN]
        ) / x_total
        for c in range(0, v + 1):
            chain[c] *= escape
        e = nodes[node, HEAD]
        while e >= 0:
            x = entries[e, EXCLUDED_COUNT]
            if x > 0:
                chain[entries[e, SYMBOL] + 1] += (x - discounts[k, min(x, 3) - 1]) / x_total
            e = entries[e, NEXT]
    entropy = 0.0
    highest = 0.0
    for c in range(0, v + 1):
        log_p = np.log(chain[c])
        out_base[p, c] = log_p
        entropy -= chain[c] * log_p
        highest = max(highest, chain[c])
    for c in range(v + 1, out_base.shape[1]):
        out_base[p, c] = -np.inf

    d = discounts[NUM_CHAIN + 1, 0]
    w = out_sizes[1]
    if mode == CHAIN_ALONE:
        out_place[p, :] = 0.0
        num_contexts = 0
    for j in range(num_contexts):
        node = found[j]
        q = j * CONTEXT_FEATURES
        if node < 0:
            for i in range(CONTEXT_FEATURES):
                out_place[p, q + i] = 0.0
        else:
            total = nodes[node, TOTAL]
            escape = d * nodes[node, DISTINCT]
            out_place[p, q] = 1.0
            out_place[p, q + 1] = np.log(total) / 5.0
            out_place[p, q + 2] = nodes[node, DISTINCT] / total
            out_place[p, q + 3] = entries[nodes[node, TOP], COUNT] / total
            out_place[p, q + 4] = np.log(nodes[node, RUN]) / 3.0
            out_place[p, q + 5] = np.log(1.0 + t - nodes[node, TIME]) / 8.0
            out_place[p, q + 6] = gains[j, 0]
            e = nodes[node, HEAD]
            last = nodes[node, LAST]
            while e >= 0:
                symbol = entries[e, SYMBOL]
                n = entries[e, COUNT]
                out_row[w] = symbol + 1
                out_context[w] = j
                out_cell[w] = j * NUM_CELLS + _cell(n, total - n, nodes[node, RUN] if symbol == last else 0)
                out_entry[w, 0] = np.log(1.0 + (n - d) / (escape * chain[symbol + 1])) / 4.0
                out_entry[w, 1] = np.log(n) / 3.0
                out_entry[w, 2] = 1.0 / (1.0 + total - entries[e, SEEN])
                out_entry[w, 3] = np.log(1.0 + t - entries[e, SEEN_TIME]) / 8.0
                w += 1
                e = entries[e, NEXT]
        out_place[p, q + 7] = gains[j, 1]
        out_place[p, q + 8] = gains[j, 3]
    best = 0.0
    for k in range(num_active):
        best = max(best, shares[k])
    for i in range(2 if mode != CHAIN_ALONE else 0):
        w = _emit_lexical(
            i, v, p, w, place[LENGTH] > 0, properties, chain, gains, best if i == 0 else 0.0, is_met, mixtures[i],
            mixed[i], num_mixed[i], longest_words[i], masses, out_place, out_row, out_context, out_cell, out_entry,
        )  # fmt: skip
    out_sizes[1] = w
    q = NUM_CONTEXTS * CONTEXT_FEATURES
    out_place[p, q] = entropy / 3.0
    out_place[p, q + 1] = highest
    out_place[p, q + 2] = np.log(chain[NOVEL]) / 8.0
    out_place[p, q + 3] = costs[0] / 3.0
    out_place[p, q + 4] = costs[1] / 3.0
    out_place[p, q + 5] = np.log(t + 10.0) / 8.0
    out_place[p, q + 6] = np.log(v) / 4.0
    out_place[p, q + 7] = min(place[LENGTH], 15) / 8.0
    out_place[p, q + 8] = np.log(1.0 + place[IN_LINE]) / 4.0
    out_place[p, q + 9] = longest / 8.0
    for k in range(NUM_LAST_COSTS):
        out_place[p, q + 10 + k] = costs[3 + k] / 4.0
    q += NUM_GENERAL
    for i in range(RECENT_CLASSES * NUM_CLASSES):
        out_place[p, q + i] = 0.0
    for k in range(1, RECENT_CLASSES + 1):
        if t >= k:
            out_place[p, q + (k - 1) * NUM_CLASSES + properties[text[t - k], CLASS]] = 1.0
    out_pointer[p + 1] = w
    out_sizes[0] = p + 1


@njit(cache=True, nogil=True)
def _emit_lexical(
    i, v, p, w, is_in_word, properties, chain, gains, best, is_met, probability, mixed, num_mixed, longest, masses,
    out_place, out_row, out_context, out_cell, out_entry,
):  # fmt: skip
    """Evidence of the relatives or of the pool; returns how many entries there are now."""
    j = RELATIVES + i
    q = j * CONTEXT_FEATURES
    for k in range(CONTEXT_FEATURES):
        out_place[p, q + k] = 0.0
    out_place[p, q + 6] = gains[j, 0]
    out_place[p, q + 7] = gains[j, 1]
    out_place[p, q + 8] = gains[j, 3]
    if num_mixed == 0:
        return w
    total = 0.0  # of the chain, for all that a lexicon may say something about
    for c in range(1, v + 1):
        letter = properties[c - 1, LETTER]
        if letter >= 0:
            masses[letter] += chain[c]
        if is_in_word or properties[c - 1, IS_WORD] == 1:
            total += chain[c]
    total += chain[NOVEL]
    known = 0.0
    new = 0.0
    top = 0.0
    for k in range(num_mixed):
        x = probability[mixed[k]]
        known += x
        top = max(top, x)
        if is_met[mixed[k]] == 0:
            new += x
    out_place[p, q] = 1.0
    out_place[p, q + 1] = longest / 6.0
    out_place[p, q + 2] = num_mixed / 20.0
    out_place[p, q + 3] = top
    out_place[p, q + 4] = best
    out_place[p, q + 5] = known
    for c in range(0, v + 1):
        if c == NOVEL:
            x = new
            group = chain[NOVEL]
        else:
            letter = properties[c - 1, LETTER]
            if letter < 0 or (letter == END and not is_in_word):
                continue
            x = probability[letter]
            group = masses[letter]
        if x < _LEAST:
            continue
        if x < 0.1:
            level = 0 if x < 0.01 else (1 if x < 0.03 else 2)
        elif x < 0.5:
            level = 3 if x < 0.25 else 4
        else:
            level = 5 if x < 0.8 else 6
        out_row[w] = c
        out_context[w] = j
        out_cell[w] = j * NUM_CELLS + max(longest, 0) * 7 + level
        out_entry[w, 0] = np.log(1.0 + _LEXICAL_BOOST * x * total / group) / 4.0
        out_entry[w, 1] = np.log(x) / 3.0
        out_entry[w, 2] = best
        out_entry[w, 3] = longest / 6.0
        w += 1
    for c in range(1, v + 1):
        letter = properties[c - 1, LETTER]
        if letter >= 0:
            masses[letter] = 0.0
    return w
