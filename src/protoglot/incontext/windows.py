"""The last few characters before each position of a text, no further back than to the begin of the sentence."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from protoglot.vocabulary import BEGIN, END

Ids = NDArray[np.int64]

NOTHING = BEGIN
"""Stands where a window reaches back beyond the begin of its sentence, which is END, also for the first."""


class Windows:
    """Windows of a text.

    Args:
        stream: BEGIN or END, and then the ids of sentences, each with its END.
        size: W.
    """

    def __init__(self, stream: Ids, size: int) -> None:
        self._ids = np.where(stream == BEGIN, END, stream)
        self._size = size
        places = np.arange(len(stream))
        self._begins = np.maximum.accumulate(np.where(self._ids == END, places, 0))

    def __len__(self) -> int:
        """Positions to predict."""
        return len(self._ids) - 1

    def of(self, first: int, last: int) -> Ids:
        """Windows before some of the positions to predict, (last - first, W), the id read last at the end of each."""
        places = np.arange(first, last)[:, None] + np.arange(1 - self._size, 1)
        inside = places >= self._begins[first:last, None]
        return np.where(inside, self._ids[np.maximum(places, 0)], NOTHING)


def windows_after(contexts: Sequence[Sequence[int]], size: int) -> Ids:
    """Windows after some ids of each of N sentences, (N, W).

    Args:
        contexts: ids since the begin of each sentence, which END or BEGIN stands for; at least the last W of them.
        size: W.
    """
    found = np.full((len(contexts), size), NOTHING, dtype=np.int64)
    for row, context in zip(found, contexts, strict=True):
        recent = [END if id_ == BEGIN else id_ for id_ in context[-size:]]
        row[size - len(recent) :] = recent
    return found
