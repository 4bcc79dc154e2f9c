"""Episodes of meta-training: a text of a language as a reader would meet it, some of whose characters are scored.

Sentences drawn from all over a text, then a running piece of it, or the other way round: the scorer is to serve both a
page of example sentences and running text, from the first character on.
"""

import math
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protoglot.reading import kernel
from protoglot.reading.characters import NUM_CLASSES, class_of
from protoglot.reading.evidence import Batch, Evidence
from protoglot.reading.lexicons import Lexicons
from protoglot.reading.scorer import NOT_MET, UNKNOWN
from protoglot.reading.scoring import NUM_LETTERS, count_unigrams


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeConfig:
    """What episodes are like."""

    fewest_sentences: int = 6
    most_scattered: int = 170
    """Sentences drawn from all over the text, at most; how many, is uniform on a logarithmic scale."""

    most_running: int = 170
    """Sentences in order, at most; likewise."""

    most_characters: int = 36_000
    num_positions: int = 2600
    """Characters that are scored in an episode."""

    more_where_free: float = 1.5
    """Times as many in a text whose letters may be known: there is more to learn from it."""

    early_share: float = 0.125
    """Share of them that are drawn from the beginning."""

    early_characters: int = 2500
    """What counts as the beginning."""


@dataclass(frozen=True, slots=True)
class MetaText:
    """Text of a language to meta-train on."""

    code: str
    sentences: Sequence[str]
    may_know_letters: bool
    """Whether its licence lets what was learned of its letters be passed on."""

    weight: float = 1.0
    """How often it is drawn, relative to others."""

    same_language: frozenset[str] = frozenset()
    """Codes of lexicons that are of this very language."""


@dataclass(frozen=True, slots=True)
class Episode:
    """Evidence at the scored positions of an episode, and the letters around them."""

    batch: Batch
    num_candidates: NDArray[np.int32]
    """(P,) characters met at each position, and the one that stands for all others."""

    letters: NDArray[np.int64]
    """(V + 1,) of each candidate column."""

    kinds: NDArray[np.int64]
    """(V + 1,) class of each candidate column."""

    last_letters: NDArray[np.int64]
    """(P, 16), the last first."""

    last_kinds: NDArray[np.int64]
    """(P, 16)."""

    unigrams: NDArray[np.float32]
    """(P, V + 1) square roots of the shares of each candidate so far."""

    with_letters: bool
    """Whether the network of letters takes part."""

    trains_letters: bool
    """Whether it is trained."""


def draw_text(sentences: Sequence[str], config: EpisodeConfig, rng: random.Random) -> str:
    """The text of an episode."""

    def draw(most: int) -> int:
        return int(math.exp(rng.uniform(math.log(config.fewest_sentences), math.log(most))))

    num_scattered, num_running = draw(config.most_scattered), draw(config.most_running)
    start = rng.randrange(max(1, len(sentences) - num_running))
    running = list(sentences[start : start + num_running])
    rest = [*sentences[:start], *sentences[start + num_running :]]
    scattered = rng.sample(rest, min(num_scattered, len(rest)))
    order = rng.random()
    chosen = scattered + running if order < 0.6 else running + scattered if order < 0.8 else scattered or running
    return "".join(f"{sentence}\n" for sentence in chosen)[: config.most_characters]


def make_episode(
    text: str, known: Mapping[str, int], config: EpisodeConfig, rng: random.Random, *, with_letters: bool,
    trains_letters: bool = True,
    lexicons: Lexicons | None = None, without: Collection[str] = (), chain_alone: bool = False,
) -> Episode:  # fmt: skip
    """Read a text, and keep the evidence at some positions.

    Args:
        text: not empty.
        known: letters by character.
        config: how many positions.
        rng: draws them.
        with_letters: whether the network of letters takes part.
        trains_letters: whether it is trained.
        lexicons: of all languages.
        without: codes of those that are not used.
        chain_alone: keep the probabilities of the chain at every position, and no other evidence.
    """
    evidence = Evidence(lexicons, without=without)
    symbols = evidence.encode(text)
    emit = np.zeros(len(symbols), np.uint8)
    if chain_alone:
        emit[:] = kernel.CHAIN_ALONE
    elif config.num_positions >= len(symbols):
        emit[:] = 1
    else:
        num_early = int(config.early_share * config.num_positions)
        early = range(min(config.early_characters, len(symbols)))
        emit[rng.sample(range(len(symbols)), config.num_positions - num_early)] = 1
        emit[rng.sample(early, min(num_early, len(early)))] = 1
    batch = evidence.read_symbols(symbols, emit)
    num_columns = len(evidence.characters) + 1
    letters = np.full(num_columns, NOT_MET, np.int64)
    kinds = np.full(num_columns, NUM_CLASSES, np.int64)
    for column, character in enumerate(evidence.characters, start=1):
        letters[column] = known.get(character, UNKNOWN)
        kinds[column] = class_of(character)
    num_positions = len(batch.position)
    last_letters = np.zeros((num_positions, NUM_LETTERS), np.int64)
    last_kinds = np.full((num_positions, NUM_LETTERS), NUM_CLASSES, np.int64)
    for k in range(NUM_LETTERS):
        where = batch.position - 1 - k
        there = where >= 0
        columns = symbols[where[there]] + 1
        last_letters[there, k] = letters[columns]
        last_kinds[there, k] = kinds[columns]
    unigrams = np.zeros((num_positions, num_columns), np.float32)
    count_unigrams(symbols, batch.position, unigrams)
    return Episode(
        batch=batch,
        num_candidates=np.isfinite(batch.base).sum(axis=1).astype(np.int32),
        letters=letters,
        kinds=kinds,
        last_letters=last_letters,
        last_kinds=last_kinds,
        unigrams=unigrams,
        with_letters=with_letters,
        trains_letters=trains_letters,
    )
