"""The text that a study reads: known by its digest, and no more of it than the budgets allow."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping

from protoglot.corpus.interface import Corpus, LanguageRecord
from protoglot.errors import CorpusError
from protoglot.splits import first_characters, split_sentences


def digest_of(sentences: Iterable[str]) -> str:
    """SHA-256 of a language's sentences, one a line."""
    digest = hashlib.sha256()
    for sentence in sentences:
        digest.update(sentence.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


class UnchangedCorpus:
    """A corpus whose text must be the one that a study was planned with.

    Args:
        corpus: the text.
        digests: of each language, by code.
    """

    def __init__(self, corpus: Corpus, digests: Mapping[str, str]) -> None:
        self._corpus, self._digests = corpus, digests

    @property
    def name(self) -> str:
        """Name of the corpus."""
        return self._corpus.name

    def languages(self) -> tuple[LanguageRecord, ...]:
        """All languages."""
        return self._corpus.languages()

    def sentences(self, code: str) -> Iterator[str]:
        """Sentences of a language.

        Raises:
            CorpusError: after the last of them, if they are not what they were.
        """
        digest = hashlib.sha256()
        for sentence in self._corpus.sentences(code):
            digest.update(sentence.encode("utf-8", "surrogatepass") + b"\n")
            yield sentence
        if digest.hexdigest() != self._digests[code]:
            raise CorpusError(
                f"corpus {self.name}: the text of {code} has changed since the study was started; "
                "wanted it as it was, or the study started once more"
            )


class ShortenedCorpus:
    """A corpus with less text of each language, whose parts are beginnings of the parts of the whole text.

    Splitting what it gives yields the first sentences of the training part, and with them shares of the development
    and test parts in the same proportions: no sentence changes its part.

    Args:
        corpus: the whole text.
        num_characters: about so many characters of each training part are kept.
    """

    def __init__(self, corpus: Corpus, num_characters: int) -> None:
        self._corpus, self._num_characters = corpus, num_characters

    @property
    def name(self) -> str:
        """Name of the corpus."""
        return self._corpus.name

    def languages(self) -> tuple[LanguageRecord, ...]:
        """All languages."""
        return self._corpus.languages()

    def sentences(self, code: str) -> Iterator[str]:
        """The sentences that are kept."""
        split = split_sentences(self._corpus.sentences(code))
        train = first_characters(split.train, self._num_characters)
        # The split gives a tenth of all, rounded down, to each of the other two parts.
        others = min(len(train) // 8, len(split.test))
        yield from (*train, *split.development[:others], *split.test[:others])
