"""Text sampled from a model, character by character."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from protoglot.errors import ConfigError
from protoglot.text import LINE_BREAK

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationConfig:
    """How to sample; the defaults are the paper's (appendix B)."""

    length: int = 25
    """Characters to generate, the beginning included if it was drawn."""

    start: str | None = None
    """What the text begins with; ``None`` draws a first character uniformly, as in the paper."""

    temperature: float = 1.0
    """Below 1 the likely becomes likelier; 0 takes the likeliest character each time."""

    top_p: float = 1.0
    """Sample only among the likeliest characters that together have this probability."""

    until_end: bool = False
    """Stop at the end of a sentence, if it comes before the length is reached."""

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ConfigError(f"generation.length: {self.length}; wanted a whole number from 1")
        if not 0 <= self.temperature < math.inf:
            raise ConfigError(f"generation.temperature: {self.temperature}; wanted a number from 0")
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"generation.top_p: {self.top_p}; wanted a share above 0, up to 1")


class Texts(Protocol):
    """B texts that a model reads side by side, at their very start."""

    def read(self, pieces: Sequence[str]) -> None:
        """Read on in each text, (B,); a line break ends a sentence."""
        ...

    def predict(self) -> tuple[Sequence[str], Floats]:
        """The characters that can come next, (N,), and their log probabilities in each text, (B, N).

        Characters that have no name are left out, so probabilities need not sum to one.
        """
        ...

    def characters(self) -> Sequence[str]:
        """The characters of the language, among which a first one is drawn uniformly."""
        ...


def write(texts: Texts, config: GenerationConfig, *, number: int, generator: np.random.Generator) -> list[str]:
    """Sample texts side by side.

    Args:
        texts: as many as are wanted.
        config: how to sample; ``start`` is normalised already.
        number: B.
        generator: of the random numbers.

    Returns:
        What comes after the start (with ``start`` ``None``, the first character included), (B,).
    """
    remaining = config.length
    if config.start is None:
        first = generator.choice(np.array(texts.characters(), dtype=object), number).tolist()
        remaining -= 1
    else:
        first = [config.start] * number
    written = [""] * number if config.start is not None else list(first)
    ended = [False] * number
    pieces = first
    while remaining > 0 and not all(ended):
        texts.read(pieces)
        characters, scores = texts.predict()
        pieces = [characters[index] for index in choose(scores, config, generator).tolist()]
        for place, piece in enumerate(pieces):
            ended[place] |= config.until_end and piece == LINE_BREAK
            if not ended[place]:
                written[place] += piece
        remaining -= 1
    return written


def choose(scores: Floats, config: GenerationConfig, generator: np.random.Generator) -> NDArray[np.int64]:
    """Draw a column of each row, (B, N) -> (B,).

    Args:
        scores: log probabilities, up to a constant for each row.
        config: temperature and top_p.
        generator: of the random numbers.
    """
    if config.temperature == 0:
        return np.asarray(scores.argmax(axis=1), np.int64)
    # Less the largest first: a quotient may overflow, but not to an infinity above all others.
    with np.errstate(over="ignore"):
        weights = np.exp((scores - scores.max(axis=1, keepdims=True)) / config.temperature)
    weights /= weights.sum(axis=1, keepdims=True)
    if config.top_p < 1:
        order = np.argsort(-weights, axis=1, kind="stable")
        ordered = np.take_along_axis(weights, order, axis=1)
        # Keep a character if those before it have less than the share: at least one is always kept.
        ordered[ordered.cumsum(axis=1) - ordered >= config.top_p] = 0
        np.put_along_axis(weights, order, ordered, axis=1)
    cumulative = weights.cumsum(axis=1)
    drawn = generator.random((len(scores), 1)) * cumulative[:, -1:]
    return np.asarray((cumulative <= drawn).sum(axis=1), np.int64)
