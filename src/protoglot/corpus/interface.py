"""What every corpus offers: languages, and for each its sentences, licence and source."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageRecord:
    """One language of a corpus and where its text comes from."""

    code: str
    """The name of the language in this corpus, and of its file when imported."""

    iso639_3: str
    """The code under which typology knows it; differs from ``code`` where a corpus uses another one."""

    name: str
    """English name, or the code where none is known."""

    family: str = ""
    """Language family as the corpus gives it; empty if it does not."""

    source: str = ""
    """Where the text was taken from."""

    licence: str = "unknown"
    """Licence of the text, in the words of its source."""


class Corpus(Protocol):
    """Languages -> sentences.

    Implementations read as little as possible: making one opens an index at most, and
    :meth:`sentences` streams from the source each time it is called.
    """

    @property
    def name(self) -> str:
        """Short name for tables and file names."""
        ...

    def languages(self) -> tuple[LanguageRecord, ...]:
        """All languages, sorted by code; codes are unique."""
        ...

    def sentences(self, code: str) -> Iterator[str]:
        """Normalised, non-empty sentences of one language, in the order of the source.

        Raises:
            CorpusError: if the corpus does not have the language.
        """
        ...
