"""Episodes in which learning is taught: some sentences of a language are evidence, and others are predicted.

Both sides of an episode have as many sentences, and each serves the other as evidence, so that no text is there for
one purpose alone. One side are sentences drawn from all over a text, the other is a running piece of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from protoglot.batching import make_stream
from protoglot.errors import ConfigError
from protoglot.incontext.letters import disguise
from protoglot.incontext.network import MOST_CHARACTERS
from protoglot.incontext.windows import Windows
from protoglot.ngram import NGram, NGramConfig
from protoglot.splits import first_characters
from protoglot.vocabulary import NUM_SYMBOLS, OTHER, Vocabulary

_FEWEST_PAIRS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeConfig:
    """What episodes are like."""

    fewest: int = 6
    """Sentences of each side, at least; how many, is drawn evenly on a logarithmic scale. Of long ones, only as many
    are taken as there is room for in a memory."""

    most_at_first: int = 20
    most: int = 128
    """At most: a number that grows from this to that while the network is taught. Small episodes teach faster."""

    disguised: float = 0.7
    """Share of the episodes whose letters trade places (see :mod:`protoglot.incontext.letters`)."""

    most_strangers: int = 40
    """Characters that occur nowhere in an episode and might, at most."""

    def __post_init__(self) -> None:
        if not 1 <= self.fewest <= self.most_at_first <= self.most:
            sizes = f"{self.fewest}, {self.most_at_first} and {self.most}"
            raise ConfigError(f"episodes: {sizes} sentences; wanted numbers from 1 up, none below the one before")
        if not 0 <= self.disguised <= 1:
            raise ConfigError(f"episodes.disguised: {self.disguised}; wanted a share from 0 to 1")

    def most_at(self, share: float) -> float:
        """Sentences of each side, at most, when this share of the time has passed."""
        return float(self.most_at_first * (self.most / self.most_at_first) ** share)


@dataclass(frozen=True, slots=True)
class Side:
    """A text that is predicted from that of the other side."""

    windows: Tensor  # (N, W): ids before each position
    next_ids: Tensor  # (N,): to predict
    orders: Tensor  # (N, K, V - 1): log-probabilities by the n-gram of the other side
    depth: Tensor  # (N,)


@dataclass(frozen=True, slots=True)
class Episode:
    """Two texts of one language, in a vocabulary of their own."""

    language: str
    sides: tuple[Side, Side]
    known_ids: Tensor  # (V,): ids that the network knows, which stand for those of the episode

    @property
    def num_characters(self) -> int:
        """That are predicted, ends of sentences included."""
        return sum(len(side.depth) for side in self.sides)


def draw_episode(
    texts: Mapping[str, Sequence[str]],
    vocabulary: Vocabulary,
    ngram: NGramConfig,
    config: EpisodeConfig,
    *,
    window: int,
    seed: int,
    step: int,
    share: float = 1.0,
) -> Episode:
    """An episode, from nothing but what is given here.

    Args:
        texts: training text by language, each with at least two sentences.
        vocabulary: that the network knows; other characters of the texts look all alike to it.
        ngram: that is evidence.
        config: settings.
        window: characters that the network reads before a position, W.
        seed: of all episodes.
        step: which one.
        share: of the time that the network is taught for, which has passed.
    """
    generator = np.random.default_rng([seed, step])
    language = sorted(texts)[int(generator.integers(len(texts)))]
    sentences = texts[language]
    drawn = float(generator.uniform(np.log(config.fewest), np.log(config.most_at(share) + 1)))
    number = min(int(np.exp(drawn)), len(sentences) // 2)
    scattered = [sentences[index] for index in generator.choice(len(sentences), number, replace=False)]
    chosen = set(scattered)
    first = int(generator.integers(max(len(sentences) - _FEWEST_PAIRS * number, 0) + 1))
    running = [each for each in sentences[first : first + 3 * number] if each not in chosen][:number]
    scattered, running = (list(first_characters(side, MOST_CHARACTERS)) for side in (scattered, running))
    strangers = generator.choice(
        vocabulary.characters,
        min(int(generator.integers(config.most_strangers + 1)), len(vocabulary.characters)),
        replace=False,
    )
    own = Vocabulary.of([*scattered, *running, "".join(strangers)])
    numbers = {character: id_ for id_, character in enumerate(vocabulary.characters, start=NUM_SYMBOLS)}
    known = np.array([*range(NUM_SYMBOLS), *(numbers.get(character, OTHER) for character in own.characters)])
    if generator.random() < config.disguised:
        known = disguise(vocabulary, generator)[known]
    sides = (
        _make_side(scattered, running, own, ngram, window),
        _make_side(running, scattered, own, ngram, window),
    )
    return Episode(language, sides, torch.from_numpy(known))


def _make_side(
    sentences: Sequence[str], evidence: Sequence[str], own: Vocabulary, ngram: NGramConfig, window: int
) -> Side:
    counted = NGram.train(evidence, own, order=ngram.order, smoothing=ngram.smoothing)
    pieces = list(counted.by_order(sentences, positions_at_once=4096))
    stream = make_stream(sentences, own).astype(np.int64)
    return Side(
        torch.from_numpy(Windows(stream, window).of(0, len(stream) - 1)),
        torch.from_numpy(stream[1:]),
        torch.cat([torch.from_numpy(found).float() for found, _ in pieces]).log_(),
        torch.cat([torch.from_numpy(depth) for _, depth in pieces]),
    )
