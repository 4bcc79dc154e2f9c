"""What a model pays to predict text."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Score:
    """Nats paid for a number of characters, ends of sentences included.

    Scores are added first and divided once, so that no way of cutting a text into pieces changes the result.

    >>> (Score(1.0, 2) + Score(2.0, 1)) == Score(3.0, 3)
    True
    """

    nats: float
    num_characters: int

    def __add__(self, other: "Score") -> "Score":
        return Score(self.nats + other.nats, self.num_characters + other.num_characters)

    @property
    def bits_per_character(self) -> float:
        """BPC; not a number for a text without characters."""
        return self.nats / (self.num_characters * math.log(2)) if self.num_characters else math.nan


def mean_bits_per_character(scores: Iterable[Score]) -> float:
    """Unweighted mean over languages, the average of the paper's tables."""
    values = [score.bits_per_character for score in scores]
    return math.fsum(values) / len(values) if values else math.nan
