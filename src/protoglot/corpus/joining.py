"""Several texts of each language as one corpus, in memory."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from protoglot.corpus.interface import LanguageRecord
from protoglot.corpus.records import find_record


class JoinedCorpus:
    """Languages whose texts, from wherever they are, are read one after the other.

    Args:
        name: of the corpus.
        records: of the languages.
        texts: one or more of each language, by its code.
    """

    def __init__(
        self, name: str, records: Sequence[LanguageRecord], texts: Mapping[str, Sequence[Sequence[str]]]
    ) -> None:
        self.name = name
        self._records = tuple(sorted(records, key=lambda record: record.code))
        self._texts = texts

    def languages(self) -> tuple[LanguageRecord, ...]:
        """All languages."""
        return self._records

    def sentences(self, code: str) -> Iterator[str]:
        """Sentences of all texts of a language."""
        return chain.from_iterable(self._texts[find_record(self._records, code, corpus=self.name).code])
