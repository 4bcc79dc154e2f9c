r"""N-grams in the ARPA format, which KenLM, SRILM and others read.

An interpolated model has an exact back-off form: for a pair that was seen, the whole probability
:math:`P_k(c \mid h) = a_k(h, c) + b_k(h) \, P_{k-1}(c \mid h')`; for all others :math:`b_k(h) \, P_{k-1}(c \mid h')`,
where the back-off weight :math:`b_k(h)` stands beside the n-gram h.

A token is one character. ``<s>`` and ``</s>`` are the begin and the end of a sentence, ``<unk>`` is any character
outside the inventory (which one it is, the file does not say). White space and characters that cannot be printed, which
the format cannot carry, are written as ``<U+0020>``: their code point in hexadecimal. So ``ab c`` is the sentence
``a b <U+0020> c``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protoglot.ngram import NGram
from protoglot.vocabulary import END, Vocabulary

BEGIN_TOKEN, END_TOKEN, OTHER_TOKEN = "<s>", "</s>", "<unk>"
_NEVER = -99.0  # what the format writes for the logarithm of zero
KENLM_ORDER = 6
"""The highest order that KenLM reads unless it was compiled for more."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def token_of(character: str) -> str:
    """A character as the format can carry it.

    >>> token_of("a"), token_of(" ")
    ('a', '<U+0020>')
    """
    return f"<U+{ord(character):04X}>" if character.isspace() or not character.isprintable() else character


def arpa_lines(ngram: NGram, *, max_order: int | None = None) -> Iterator[str]:
    """The file, line by line.

    Args:
        ngram: the model.
        max_order: leave longer n-grams out; what is left is the model that the longer ones are interpolated with.
    """
    levels = _back_off_form(ngram)[:max_order]
    tokens = _tokens(ngram.vocabulary)
    yield "\\data\\\n"
    yield f"ngram 1={len(tokens)}\n"
    yield from (f"ngram {length + 1}={len(level.symbols)}\n" for length, level in enumerate(levels) if length)
    contexts = [""]  # of this length, by number, in tokens
    for length, level in enumerate(levels):
        yield f"\n\\{length + 1}-grams:\n"
        longer = levels[length + 1] if length + 1 < len(levels) else None
        longer_contexts = [] if longer is None else _names(longer, contexts, tokens)
        back_off = {} if longer is None else dict(zip(longer_contexts, longer.back_off.tolist(), strict=True))
        for name, value in _entries(level, contexts, tokens, ngram):
            # What never was a context has the weight 1, whose logarithm is 0.
            yield f"{value:.9f}\t{name}" + (f"\t{back_off.get(name, 0.0):.9f}\n" if longer is not None else "\n")
        contexts = longer_contexts
    yield "\n\\end\\\n"


@dataclass(frozen=True, slots=True)
class _Level:
    """Contexts of k symbols, and the pairs of one and the symbol after it."""

    shorter: Ints  # of each context, the number of the one without its oldest symbol
    oldest: Ints  # of each context, that symbol
    back_off: Floats  # of each context, log10
    pair_contexts: Ints  # of each pair
    symbols: Ints  # of each pair
    log_probabilities: Floats  # of each pair, log10


def _back_off_form(ngram: NGram) -> list[_Level]:
    """Whole probabilities of all pairs, from the shortest contexts to the longest."""
    _, arrays = ngram.parts()
    size = len(ngram.vocabulary)
    levels: list[_Level] = []
    below: Floats = np.zeros(0)
    pairs_below: Ints = np.zeros(0, dtype=np.int64)
    for length in range(ngram.order):
        keys, pairs = arrays[f"context_keys_{length}"], arrays[f"pair_keys_{length}"]
        back_off, gains = arrays[f"back_off_{length}"], arrays[f"gains_{length}"]
        contexts, symbols = pairs // size, pairs % size
        if length == 0:
            probability = gains + back_off[contexts] / (size - 1)
        else:
            # What was seen after a context was seen after the shorter one.
            found = np.searchsorted(pairs_below, keys[contexts] // size * size + symbols)
            probability = gains + back_off[contexts] * below[found]
        levels.append(
            _Level(keys // size, keys % size, np.log10(back_off), contexts, symbols, np.log10(probability))
        )
        below, pairs_below = probability, pairs
    return levels


def _names(level: _Level, shorter: list[str], tokens: list[str]) -> list[str]:
    """Contexts in tokens, from the names of those one symbol shorter; END before a sentence is its begin."""
    return [
        f"{BEGIN_TOKEN if oldest == END else tokens[oldest]} {shorter[number]}".rstrip()
        for number, oldest in zip(level.shorter.tolist(), level.oldest.tolist(), strict=True)
    ]


def _entries(level: _Level, contexts: list[str], tokens: list[str], ngram: NGram) -> Iterator[tuple[str, float]]:
    """Every n-gram of a length with its log10 probability."""
    if contexts != [""]:
        for context, symbol, value in zip(
            level.pair_contexts.tolist(), level.symbols.tolist(), level.log_probabilities.tolist(), strict=True
        ):
            yield f"{contexts[context]} {tokens[symbol]}", value
        return
    # Seen or not: there is nothing below to back off to.
    values = np.full(len(ngram.vocabulary), level.back_off[0] - np.log10(len(ngram.vocabulary) - 1))
    values[level.symbols] = level.log_probabilities
    yield BEGIN_TOKEN, _NEVER
    for id_ in range(END, len(tokens)):
        yield tokens[id_], float(values[id_])


def _tokens(vocabulary: Vocabulary) -> list[str]:
    """By id."""
    return [BEGIN_TOKEN, END_TOKEN, OTHER_TOKEN, *map(token_of, vocabulary.characters)]
