"""What every corpus offers: languages, and for each its sentences, licence and source."""

import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from protoglot.errors import CorpusError

Text = TypeVar("Text")


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
    """Languages -> sentences."""

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


class TextsByLanguage(Generic[Text]):
    """A corpus of one text for each language, in whatever form: a file, a list, sentences of another corpus.

    Args:
        name: of the corpus.
        texts: each with its record; in any order.
        read: gives the sentences of a text as a stream, from the beginning each time.
    """

    def __init__(
        self, name: str, texts: Iterable[tuple[LanguageRecord, Text]], read: Callable[[Text], Iterator[str]]
    ) -> None:
        self.name = name
        self._texts = {record.code: (record, text) for record, text in texts}
        self._records = tuple(self._texts[code][0] for code in sorted(self._texts))
        self._read = read

    def languages(self) -> tuple[LanguageRecord, ...]:
        """All languages, sorted by code."""
        return self._records

    def sentences(self, code: str) -> Iterator[str]:
        """Sentences of one language.

        Raises:
            CorpusError: naming the nearest codes and names, if the corpus does not have the language.
        """
        return self._read(self._texts[find_record(self, code).code][1])


def find_record(corpus: Corpus, code: str) -> LanguageRecord:
    """The record of a code.

    Raises:
        CorpusError: naming the nearest codes and names, if there is none.
    """
    by_code = {record.code: record for record in corpus.languages()}
    if code in by_code:
        return by_code[code]
    by_name = {record.name.casefold(): record.code for record in by_code.values()}
    near = difflib.get_close_matches(code, by_code, n=3, cutoff=0.5)
    near += [by_name[name] for name in difflib.get_close_matches(code.casefold(), by_name, n=3)]
    shown = ", ".join(f"{near_code} ({by_code[near_code].name})" for near_code in dict.fromkeys(near))
    hint = f"nearest: {shown}" if shown else f"wanted one of its {len(by_code)} codes"
    raise CorpusError(f"corpus {corpus.name}: no language {code!r}; {hint}")
