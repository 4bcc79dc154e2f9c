"""Running text -> sequences -> batches, for training.

A language's training text is one stream of ids: its sentences in order, each followed by END. An epoch cuts every
stream into sequences that together hold each character exactly once, and deals them into batches of
one language and one length. The whole plan is a function of a seed and the number of the epoch.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protoglot.errors import ConfigError
from protoglot.vocabulary import BEGIN, END, Vocabulary

Stream = NDArray[np.uint16]
"""BEGIN, then every character and END of a text: position n predicts position n + 1."""


def make_stream(sentences: Iterable[str], vocabulary: Vocabulary) -> Stream:
    """Ids of a whole text, in two bytes a character."""
    if len(vocabulary) > np.iinfo(np.uint16).max:
        raise ConfigError(f"vocabulary of {len(vocabulary):,} ids; wanted at most {np.iinfo(np.uint16).max:,}")
    end = np.array([END], dtype=np.uint16)
    pieces: list[Stream] = [np.array([BEGIN], dtype=np.uint16)]
    for sentence in sentences:
        pieces.append(vocabulary.encode_to_array(sentence).astype(np.uint16))
        pieces.append(end)
    return np.concatenate(pieces)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchingConfig:
    """How sequences are cut and dealt (§5)."""

    batch_size: int = 128
    """Sequences in a mini-batch, all of one language."""

    mean_length: float = 125.0
    """Mean of the normal distribution of lengths, in characters."""

    length_deviation: float = 5.0
    """Its standard deviation."""

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ConfigError(f"batching.batch_size: {self.batch_size}; wanted a whole number from 1")
        if self.mean_length < 1:
            raise ConfigError(f"batching.mean_length: {self.mean_length}; wanted a number from 1")
        if self.length_deviation < 0:
            raise ConfigError(f"batching.length_deviation: {self.length_deviation}; wanted a number from 0")


class Batch(NamedTuple):
    """Where the sequences of a mini-batch are: positions in the stream of one language."""

    language: str
    starts: NDArray[np.int64]  # (B,)
    length: int  # T

    @property
    def num_characters(self) -> int:
        """Characters to predict."""
        return len(self.starts) * self.length

    def ids(self, stream: Stream) -> NDArray[np.int64]:
        """The sequences and, before each, the character it begins after: (T + 1, B)."""
        offsets = np.arange(self.length + 1, dtype=np.int64)[:, None]
        ids: NDArray[np.int64] = stream[offsets + self.starts].astype(np.int64)
        return ids


def plan_epoch(lengths: Mapping[str, int], config: BatchingConfig, *, seed: int, epoch: int) -> list[Batch]:
    """Deal all characters of all languages into batches, in random order.

    For each batch of a language a length is drawn; the text is cut into consecutive sequences whose batches are in
    random order, so that the sequences of one batch come from all over the text. What does not fill
    a last batch makes a smaller one, and the very last characters one of a single sequence: nothing is dropped.

    A uniformly random order of all batches draws, at each step, a language in proportion to its remaining text.

    Args:
        lengths: characters to predict in each language's stream.
        config: sizes.
        seed: of the whole run.
        epoch: number of the epoch, from 0.
    """
    generator = np.random.default_rng([seed, epoch])
    batches = []
    for language in sorted(lengths):
        batches.extend(_cut(language, lengths[language], config, generator))
    order = generator.permutation(len(batches))
    return [batches[index] for index in order]


def _cut(
    language: str, num_characters: int, config: BatchingConfig, generator: np.random.Generator
) -> list[Batch]:
    """Cut one stream into sequences and deal them into batches."""
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
    sequence_lengths = np.array([length for _, length in sizes], dtype=np.int64)[labels]
    starts = np.cumsum(sequence_lengths) - sequence_lengths
    return [Batch(language, starts[labels == label], length) for label, (_, length) in enumerate(sizes)]


def stream_lengths(streams: Mapping[str, Stream]) -> dict[str, int]:
    """Characters to predict in each stream: all but the BEGIN it starts with."""
    return {language: len(stream) - 1 for language, stream in streams.items()}


def total_characters(batches: Sequence[Batch]) -> int:
    """Characters to predict in some batches."""
    return sum(batch.num_characters for batch in batches)
