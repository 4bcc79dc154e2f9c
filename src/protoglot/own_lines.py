"""What lines of its own language cost a model that has not read them: what costs more is not known to it.

The *share* of a line is what it costs the model, divided by what it costs a model without knowledge of the language.
Lines of the language have shares below one, those of other languages shares about one. How far below differs from text
to text, so each model measures it: a reader predicts every line of its page before it reads it, and so the lines of
the later part of the page are lines that it had not read.
"""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Self

from protoglot.errors import StorageError

MOST_MEASURED = 200
"""Lines at the end of a page that are measured: more make the reading longer and the figures no better."""

_FEWEST = 5
_QUANTILE = 2.2
"""Of the normal distribution, for one line in seventy: fewer than may be unknown, as texts differ from pages."""


@dataclass(frozen=True, slots=True)
class OwnLines:
    """Shares of lines that a model had not read."""

    num_lines: int
    median_share: float
    most_share: float
    """Share above which a line is unknown to the model; at most 1."""

    @classmethod
    def of(cls, shares: Sequence[float]) -> Self | None:
        """By the shares of some lines; ``None`` if these are too few to say anything.

        The bound is the upper end of the prediction interval of Student's t for one further line, around the median.
        The deviation is that of the lines above the median: lines that repeat much of earlier ones, which are far below
        it, say nothing of how expensive a line may be.

        >>> found = OwnLines.of([0.6, 0.7, 0.5, 0.65, 0.55, 0.6])
        >>> found.num_lines, found.median_share, round(found.most_share, 2)
        (6, 0.6, 0.83)
        >>> OwnLines.of([0.6, 0.7]) is None
        True
        """
        if len(shares) < _FEWEST:
            return None
        median, freedom = statistics.median(shares), len(shares) - 1
        deviation = math.sqrt(2 * math.fsum((share - median) ** 2 for share in shares if share > median) / freedom)
        margin = _student(_QUANTILE, freedom) * deviation * math.sqrt(1 + 1 / len(shares))
        return cls(len(shares), median, min(median + margin, 1.0))

    @classmethod
    def from_json(cls, value: object) -> Self | None:
        """What :meth:`to_json` gave; ``None`` for a model that measured nothing.

        Raises:
            StorageError: if it is something else.
        """
        if value is None:
            return None
        try:
            if not isinstance(value, Mapping):
                raise TypeError(value)
            found = cls(**value)
            if not (found.num_lines >= _FEWEST and found.median_share > 0 and 0 < found.most_share <= 1):
                raise ValueError(found)
        except (TypeError, ValueError) as error:
            raise StorageError(f"own_lines: {value!r}; wanted the shares of lines that were not read") from error
        return found

    def to_json(self) -> dict[str, object]:
        """As JSON values."""
        return asdict(self)


def lines_to_measure(sentences: Sequence[str]) -> Iterator[int]:
    """Places of the lines of a page that are like lines that were not read.

    They are in its second half, where the model has read enough to know its language, and did not come before.
    """
    first = max(len(sentences) // 2, len(sentences) - MOST_MEASURED)
    read = set(sentences[:first])
    for place in range(first, len(sentences)):
        if sentences[place] not in read:
            yield place
        read.add(sentences[place])


def _student(quantile: float, freedom: int) -> float:
    """Quantile of Student's t, from that of the normal distribution (Cornish and Fisher, to the second order)."""
    first = (quantile**3 + quantile) / 4
    second = (5 * quantile**5 + 16 * quantile**3 + 3 * quantile) / 96
    return quantile + first / freedom + second / freedom**2
