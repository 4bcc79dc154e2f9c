"""What there is of each language: counts, characters, scripts, repeated sentences."""

import hashlib
from collections import Counter
from dataclasses import dataclass

from protoglot.corpus.interface import Corpus
from protoglot.scripts import script_shares


@dataclass(frozen=True, slots=True, kw_only=True)
class TextStatistics:
    """Counts over all sentences of one language."""

    num_sentences: int
    num_duplicates: int
    """Sentences that repeat an earlier one."""

    character_counts: dict[str, int]
    """How often each character occurs, most frequent first, ties by code point."""

    @property
    def num_characters(self) -> int:
        """Characters, blanks within sentences included and ends of sentences not."""
        return sum(self.character_counts.values())

    @property
    def num_distinct_characters(self) -> int:
        """Size of the inventory."""
        return len(self.character_counts)

    @property
    def script_shares(self) -> dict[str, float]:
        """Share of each script among the letters, largest first."""
        return script_shares(self.character_counts)

    def most_frequent(self, number: int) -> str:
        """The most frequent characters other than the blank."""
        return "".join(character for character in self.character_counts if character != " ")[:number]


def measure(corpus: Corpus, code: str) -> TextStatistics:
    """Count one language's text in one pass; memory grows with its sentences' digests, not with the text."""
    counts: Counter[str] = Counter()
    digests: set[bytes] = set()
    num_sentences = 0
    for sentence in corpus.sentences(code):
        num_sentences += 1
        counts.update(sentence)
        digests.add(hashlib.blake2b(sentence.encode(), digest_size=16).digest())
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return TextStatistics(
        num_sentences=num_sentences,
        num_duplicates=num_sentences - len(digests),
        character_counts=dict(ordered),
    )
