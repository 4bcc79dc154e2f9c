"""Running text -> sequences -> batches, for training.

A language's training text is one stream of ids: its sentences in order, each followed by END. An epoch cuts every
stream into sequences that together hold each character exactly once, and deals them into batches of one length.
The whole plan is a function of a seed and the number of the epoch.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protoglot.errors import ConfigError
from protoglot.vocabulary import BEGIN, END, Vocabulary

Stream = NDArray[np.uint16]
"""BEGIN, then every character and END of a text: position n predicts position n + 1."""

_MAX_VOCABULARY = 1 << 16


def make_stream(sentences: Iterable[str], vocabulary: Vocabulary) -> Stream:
    """Ids of a whole text, in two bytes a character.

    Raises:
        ConfigError: if the vocabulary is too large for that.
    """
    check_vocabulary_size(vocabulary)
    listed = list(sentences)
    # Sentences are encoded as one text, with room for END after each: many short calls are slow.
    ids = vocabulary.encode_to_array("".join(f"{sentence}\n" for sentence in listed))
    stream = np.empty(len(ids) + 1, dtype=np.uint16)
    stream[0] = BEGIN
    stream[1:] = ids
    stream[np.cumsum([len(sentence) + 1 for sentence in listed], dtype=np.int64)] = END
    return stream


def check_vocabulary_size(vocabulary: Vocabulary) -> None:
    """Refuse a vocabulary whose ids a :data:`Stream` cannot hold.

    Raises:
        ConfigError: naming its size.
    """
    if len(vocabulary) > _MAX_VOCABULARY:
        raise ConfigError(f"vocabulary of {len(vocabulary):,} ids; wanted at most {_MAX_VOCABULARY:,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchingConfig:
    """How sequences are cut and dealt (§5)."""

    batch_size: int = 128
    """Sequences in a mini-batch."""

    mixed: bool = False
    """Whether a mini-batch mixes languages. Departs: the paper's batches are of one language each."""

    mean_length: float = 125.0
    """Mean of the normal distribution of lengths, in characters."""

    length_deviation: float = 5.0
    """Its standard deviation."""

    def __post_init__(self) -> None:
        if type(self.batch_size) is not int or self.batch_size < 1:
            raise ConfigError(f"batching.batch_size: {self.batch_size!r}; wanted a whole number from 1")
        if type(self.mixed) is not bool:
            raise ConfigError(f"batching.mixed: {self.mixed!r}; wanted true or false")
        for name, least in (("mean_length", 1), ("length_deviation", 0)):
            value = getattr(self, name)
            if type(value) not in (int, float) or not least <= value < math.inf:
                raise ConfigError(f"batching.{name}: {value!r}; wanted a number from {least}")


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Where the sequences of a mini-batch are."""

    languages: tuple[str, ...]
    """Language of each sequence, or one for all of them."""

    starts: NDArray[np.int64]
    """(B,): positions in the streams; the sequence is what follows."""

    length: int
    """Characters in each sequence, T."""

    @property
    def num_characters(self) -> int:
        """Characters to predict."""
        return len(self.starts) * self.length

    def ids(self, streams: Mapping[str, Stream]) -> NDArray[np.int64]:
        """The sequences and, before each, the character it begins after: (T + 1, B)."""
        offsets = np.arange(self.length + 1, dtype=np.int64)[:, None]
        if len(self.languages) == 1:
            ids: NDArray[np.int64] = streams[self.languages[0]][offsets + self.starts].astype(np.int64)
            return ids
        columns = [
            streams[language][start : start + self.length + 1]
            for language, start in zip(self.languages, self.starts, strict=True)
        ]
        return np.stack(columns, axis=1).astype(np.int64)


def plan_epoch(lengths: Mapping[str, int], config: BatchingConfig, *, seed: int, epoch: int) -> list[Batch]:
    """Deal all characters of all languages into batches, in random order.

    A uniformly random order of all batches draws, at each step, a language in proportion to its remaining text.
    What does not fill a batch makes a smaller one: nothing is dropped.

    Args:
        lengths: characters to predict in each language's stream.
        config: sizes.
        seed: of the whole run.
        epoch: number of the epoch, from 0.
    """
    generator = np.random.default_rng([seed, epoch])
    if config.mixed:
        batches = _deal_mixed(lengths, config, generator)
    else:
        batches = [
            batch
            for language in sorted(lengths)
            for batch in _deal_one_language(language, lengths[language], config, generator)
        ]
    return [batches[index] for index in generator.permutation(len(batches))]


def stream_lengths(streams: Mapping[str, Stream]) -> dict[str, int]:
    """Characters to predict in each stream: all but the BEGIN it starts with."""
    return {language: len(stream) - 1 for language, stream in streams.items()}


def _deal_one_language(
    language: str, num_characters: int, config: BatchingConfig, generator: np.random.Generator
) -> list[Batch]:
    """Batches of one language: a length is drawn for each batch, and its sequences come from all over the text."""
    sizes: list[tuple[int, int]] = []  # (sequences, length) of each batch
    rest = num_characters
    while rest > 0:
        drawn = generator.normal(config.mean_length, config.length_deviation)
        length = min(max(round(drawn), 1), rest)
        size = min(config.batch_size, rest // length)
        sizes.append((size, length))
        rest -= size * length
    labels = np.repeat(np.arange(len(sizes)), [size for size, _ in sizes])
    generator.shuffle(labels)
    starts = _starts(np.array([length for _, length in sizes], dtype=np.int64)[labels])
    return [Batch((language,), starts[labels == label], length) for label, (_, length) in enumerate(sizes)]


def _deal_mixed(lengths: Mapping[str, int], config: BatchingConfig, generator: np.random.Generator) -> list[Batch]:
    """Batches of many languages: a length is drawn for each sequence, and sequences of one length meet."""
    names = sorted(lengths)
    owners, starts, sizes = [], [], []
    for index, language in enumerate(names):
        drawn = _sequence_lengths(lengths[language], config, generator)
        owners.append(np.full(len(drawn), index))
        starts.append(_starts(drawn))
        sizes.append(drawn)
    owner, start, size = (np.concatenate(parts) for parts in (owners, starts, sizes))
    batches = []
    for length in np.unique(size):
        members = generator.permutation(np.flatnonzero(size == length))
        for first in range(0, len(members), config.batch_size):
            chosen = members[first : first + config.batch_size]
            languages = tuple(names[index] for index in owner[chosen])
            batches.append(Batch(languages, start[chosen], int(length)))
    return batches


def _sequence_lengths(
    num_characters: int, config: BatchingConfig, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Lengths drawn until they cover the text, the last one cut to fit."""
    shortest = max(int(config.mean_length - 4 * config.length_deviation), 1)
    enough = num_characters // shortest + 1
    drawn = generator.normal(config.mean_length, config.length_deviation, size=enough)
    lengths = np.maximum(np.rint(drawn), shortest).astype(np.int64)
    ends = np.cumsum(lengths)
    number = int(np.searchsorted(ends, num_characters)) + 1 if num_characters else 0
    kept = lengths[:number]
    if number:
        kept[-1] -= ends[number - 1] - num_characters
    return kept


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where consecutive pieces of these lengths begin."""
    starts: NDArray[np.int64] = np.cumsum(lengths) - lengths
    return starts
