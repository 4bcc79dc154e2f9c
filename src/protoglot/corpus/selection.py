"""A part of a corpus: some of its languages, under other codes if need be, or those of one script."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import islice

from protoglot.corpus.interface import Corpus, TextsByLanguage, find_record
from protoglot.errors import CorpusError
from protoglot.scripts import SCRIPTS, script_shares

MIN_SCRIPT_SHARE = 0.9
"""Share of a language's letters that must be in a script for the language to count as written in it.

Not all of them: names and quotations in other scripts occur in any text.
"""

_SCRIPT_SAMPLE = 200  # sentences that decide on the script of a language


def select_languages(corpus: Corpus, codes: Collection[str]) -> Corpus:
    """The languages of these codes.

    Raises:
        CorpusError: if the corpus lacks one of them.
    """
    found = (find_record(corpus, code) for code in codes)
    return TextsByLanguage(corpus.name, [(record, record.code) for record in found], corpus.sentences)


def select_by_iso(corpus: Corpus, iso639_3: Mapping[str, str]) -> Corpus:
    """One text of each of some languages, under given codes; languages that the corpus lacks are left out.

    Of several texts of a language, that with the shortest code is taken.

    Args:
        corpus: with other codes, but the same ISO codes.
        iso639_3: of each language, by the code it is to have.

    Raises:
        CorpusError: if none of them is there.
    """
    shortest_last = sorted(corpus.languages(), key=lambda record: (len(record.code), record.code), reverse=True)
    records = {record.iso639_3: record for record in shortest_last}
    texts = [
        (replace(records[iso], code=code), records[iso].code) for code, iso in iso639_3.items() if iso in records
    ]
    if not texts:
        raise CorpusError(
            f"corpus {corpus.name}: none of {len(iso639_3)} languages; wanted a corpus with some of them"
        )
    return TextsByLanguage(corpus.name, texts, corpus.sentences)


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
