"""The text that a study reads: known by its digest, and no more of it than the budgets allow."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping

from protoglot.corpus.interface import Corpus, TextsByLanguage, find_record
from protoglot.errors import CorpusError
from protoglot.splits import first_characters, split_sentences


def digest_of(sentences: Iterable[str]) -> str:
    """SHA-256 of a language's sentences, one a line."""
    digest = hashlib.sha256()
    for sentence in sentences:
        digest.update(sentence.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def unchanged(corpus: Corpus, digests: Mapping[str, str]) -> Corpus:
    """The languages of a corpus whose text must be the one that a study was planned with.

    After the last sentence of a language, a ``CorpusError`` tells if they are not what they were.

    Args:
        corpus: the text.
        digests: of each language, by code.

    Raises:
        CorpusError: if the corpus lacks one of them.
    """

    def read(code: str) -> Iterator[str]:
        digest = hashlib.sha256()
        for sentence in corpus.sentences(code):
            digest.update(sentence.encode("utf-8", "surrogatepass") + b"\n")
            yield sentence
        if digest.hexdigest() != digests[code]:
            raise CorpusError(
                f"corpus {corpus.name}: the text of {code} has changed since the study was started; "
                "wanted it as it was, or the study started once more"
            )

    return TextsByLanguage(corpus.name, [(find_record(corpus, code), code) for code in digests], read)


def shortened(corpus: Corpus, num_characters: int) -> Corpus:
    """A corpus with less text of each language, whose parts are beginnings of the parts of the whole text.

    Splitting what it gives yields the first sentences of the training part, and with them shares of the development
    and test parts in the same proportions: no sentence changes its part.

    Args:
        corpus: the whole text.
        num_characters: about so many characters of each training part are kept.
    """

    def read(code: str) -> Iterator[str]:
        split = split_sentences(corpus.sentences(code))
        train = first_characters(split.train, num_characters)
        # The split gives a tenth of all, rounded down, to each of the other two parts.
        others = min(len(train) // 8, len(split.test))
        yield from (*train, *split.development[:others], *split.test[:others])

    return TextsByLanguage(corpus.name, [(record, record.code) for record in corpus.languages()], read)
