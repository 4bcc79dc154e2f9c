"""Several n-grams in one, to look all of them up at once.

Looking up takes a handful of array operations for each length of context, which for a few positions, as when somebody
types, cost their calls and nothing else. So the contexts of each length are put one n-gram after the other, and
numbered through: the empty context of n-gram j has the number j, and whoever begins there sees that n-gram alone.
"""

from collections.abc import Sequence

import numpy as np

from protoglot.ngram import NGram, NGramLevel


def join_ngrams(ngrams: Sequence[NGram]) -> NGram:
    """One n-gram with a root for each of some over the same vocabulary, which may be of different orders."""
    size = len(ngrams[0].vocabulary)
    nothing = np.zeros(0)
    absent = NGramLevel(nothing.astype(np.int64), nothing, nothing.astype(np.int64), nothing)
    levels: list[NGramLevel] = []
    shorter = np.zeros(len(ngrams), dtype=np.int64)  # number of the first context, of those one symbol shorter
    for length in range(max(ngram.order for ngram in ngrams)):
        of_length = [ngram.levels[length] if length < ngram.order else absent for ngram in ngrams]
        amounts = [len(level.context_keys) for level in of_length]
        firsts = np.cumsum([0, *amounts[:-1]])
        keys = [level.context_keys + size * first for level, first in zip(of_length, shorter, strict=True)]
        pairs = [level.pair_keys + size * first for level, first in zip(of_length, firsts, strict=True)]
        levels.append(
            NGramLevel(
                np.concatenate(keys) if length else np.arange(len(ngrams)),
                np.concatenate([level.back_off for level in of_length]),
                np.concatenate(pairs),
                np.concatenate([level.gains for level in of_length]),
            )
        )
        shorter = firsts
    return NGram(ngrams[0].vocabulary, levels, ngrams[0].smoothing)
