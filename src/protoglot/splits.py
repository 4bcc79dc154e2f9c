"""Which sentences are for training, development and test, and which few a new language is learned from.

Everything here is a function of the text and a seed: no generator whose algorithm may change, no state.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from protoglot.errors import SplitError

Part = Literal["train", "development", "test"]

_DEVELOPMENT_SHARE = _TEST_SHARE = 10  # one sentence in ten


@dataclass(frozen=True, slots=True)
class Split:
    """One language's sentences in three parts; no sentence is in two of them, or twice in one."""

    train: tuple[str, ...]
    development: tuple[str, ...]
    test: tuple[str, ...]

    num_duplicates: int
    """Sentences of the text that repeated an earlier one, and were left out."""

    def part(self, name: Part) -> tuple[str, ...]:
        """A part by its name."""
        parts = {"train": self.train, "development": self.development, "test": self.test}
        return parts[name]


def split_sentences(sentences: Iterable[str]) -> Split:
    """Split a text 80/10/10 by sentence, in its own order.

    A sentence that repeats an earlier one is left out. Of the n that remain, the last floor(n / 10) are for
    test, the floor(n / 10) before them for development, and all others for training: running text stays
    running text, and a language with fewer than ten sentences has training text only.

    >>> split_sentences(str(n) for n in range(10)).development
    ('8',)
    """
    distinct: dict[str, None] = {}
    num_sentences = 0
    for sentence in sentences:
        num_sentences += 1
        distinct[sentence] = None
    kept = tuple(distinct)
    test_start = len(kept) - len(kept) // _TEST_SHARE
    development_start = test_start - len(kept) // _DEVELOPMENT_SHARE
    return Split(
        train=kept[:development_start],
        development=kept[development_start:test_start],
        test=kept[test_start:],
        num_duplicates=num_sentences - len(kept),
    )


def few_shot_sample(train: Sequence[str], number: int, *, language: str, seed: int) -> tuple[str, ...]:
    """Draw a few sentences from a language's training part.

    Samples with one seed are nested: the first ten of a sample of fifty are the sample of ten. With the
    whole sentence as the key of the draw, sentences added to a corpus do not reshuffle the others.

    Raises:
        SplitError: if there are fewer sentences than asked for.
    """
    if not 0 <= number <= len(train):
        raise SplitError(
            f"{language}: {number} sentences asked for; wanted 0 to {len(train)}, what its training part has"
        )
    return tuple(shuffled(train, "few-shot", language, seed)[:number])


def first_characters(sentences: Iterable[str], num_characters: int) -> tuple[str, ...]:
    """Whole sentences from the first on, of at most so many characters with their ends, but one if there is one."""
    taken: list[str] = []
    total = 0
    for sentence in sentences:
        if taken and total + len(sentence) + 1 > num_characters:
            break
        taken.append(sentence)
        total += len(sentence) + 1
    return tuple(taken)


def enough_sentences(sentences: Iterable[str], num_characters: int) -> tuple[str, ...]:
    """Whole sentences from the first on, until they have so many characters with their ends, or more."""
    taken: list[str] = []
    total = 0
    for sentence in sentences:
        if total >= num_characters:
            break
        taken.append(sentence)
        total += len(sentence) + 1
    return tuple(taken)


def shuffled(items: Iterable[str], *key: str | int) -> list[str]:
    """Distinct items in an order that looks random and depends on nothing but them and the key."""
    prefix = repr(key).encode()
    return sorted(items, key=lambda item: (_digest(prefix, item), item))


def _digest(prefix: bytes, item: str) -> bytes:
    return hashlib.blake2b(item.encode("utf-8", "surrogatepass"), key=hashlib.sha256(prefix).digest()).digest()
