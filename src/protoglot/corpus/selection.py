"""A part of a corpus: some of its languages, under other codes if need be, or those of one script."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import islice

from protoglot.corpus.interface import Corpus, LanguageRecord
from protoglot.corpus.records import find_record
from protoglot.errors import CorpusError
from protoglot.scripts import SCRIPTS, script_shares

MIN_SCRIPT_SHARE = 0.9
"""Share of a language's letters that must be in a script for the language to count as written in it.

Not all of them: names and quotations in other scripts occur in any text.
"""

_SCRIPT_SAMPLE = 200  # sentences that decide on the script of a language


class Selection:
    """Some languages of a corpus, under codes of one's own.

    Args:
        corpus: the whole.
        codes: of the texts in the corpus, by the code that each is to have.
    """

    def __init__(self, corpus: Corpus, codes: Mapping[str, str]) -> None:
        self._corpus, self._codes = corpus, codes
        records = {record.code: record for record in corpus.languages()}
        self._records = tuple(replace(records[codes[code]], code=code) for code in sorted(codes))

    @property
    def name(self) -> str:
        """Name of the whole corpus."""
        return self._corpus.name

    def languages(self) -> tuple[LanguageRecord, ...]:
        """The selected languages."""
        return self._records

    def sentences(self, code: str) -> Iterator[str]:
        """Sentences of a selected language."""
        return self._corpus.sentences(self._codes[find_record(self._records, code, corpus=self.name).code])


def select_languages(corpus: Corpus, codes: Collection[str]) -> Corpus:
    """The languages of these codes.

    Raises:
        CorpusError: if the corpus lacks one of them.
    """
    found = [find_record(corpus.languages(), code, corpus=corpus.name).code for code in codes]
    return Selection(corpus, {code: code for code in found})


def select_by_iso(corpus: Corpus, iso639_3: Mapping[str, str]) -> Corpus:
    """One text of each of some languages, under given codes; languages that the corpus lacks are left out.

    Of several texts of a language, that with the shortest code is taken.

    Args:
        corpus: with other codes, but the same ISO codes.
        iso639_3: of each language, by the code it is to have.

    Raises:
        CorpusError: if none of them is there.
    """
    texts: dict[str, str] = {}
    for record in sorted(corpus.languages(), key=lambda record: (len(record.code), record.code)):
        texts.setdefault(record.iso639_3, record.code)
    codes = {code: texts[iso] for code, iso in iso639_3.items() if iso in texts}
    if not codes:
        raise CorpusError(
            f"corpus {corpus.name}: none of {len(iso639_3)} languages; wanted a corpus with some of them"
        )
    return Selection(corpus, codes)


def select_script(corpus: Corpus, script: str) -> Corpus:
    """The languages written in a script, judged by their first sentences; the paper keeps Latin only (§5).

    Raises:
        CorpusError: for an unknown script, or if no language is left.
    """
    known = {name.casefold(): name for name in SCRIPTS}
    if script.casefold() not in known:
        raise CorpusError(f"script {script!r}: unknown; wanted a Unicode script such as {', '.join(SCRIPTS[:5])}")
    wanted = known[script.casefold()]
    codes = [
        record.code
        for record in corpus.languages()
        if _share_of_script(corpus, record.code, wanted) >= MIN_SCRIPT_SHARE
    ]
    if not codes:
        raise CorpusError(f"corpus {corpus.name}: no language in {wanted} script")
    return select_languages(corpus, codes)


def _share_of_script(corpus: Corpus, code: str, script: str) -> float:
    counts: Counter[str] = Counter()
    for sentence in islice(corpus.sentences(code), _SCRIPT_SAMPLE):
        counts.update(sentence)
    return script_shares(counts).get(script, 0.0)
