"""Languages of other corpora that a prior has not read, for what is learned once for all languages."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from protoglot.checking import MANY_NEW, share_of_new_characters
from protoglot.corpus.interface import Corpus, LanguageRecord
from protoglot.errors import TypologyError
from protoglot.languages import codes_for
from protoglot.prior.features import features_for
from protoglot.prior.universal import UniversalPrior
from protoglot.splits import Split, shuffled, split_sentences

_NO_LANGUAGE = "und"
"""What ISO 639 calls a text of which nobody knows the language."""

FEWEST = 20
"""Sentences of a stranger's training part."""


@dataclass(frozen=True, slots=True)
class Stranger:
    """A language that a prior has not read."""

    code: str
    corpus: str
    """That its text is of."""

    split: Split
    features: NDArray[np.float32] | None
    """Typological vector, (K,); ``None`` for BARE."""


def find_strangers(
    prior: UniversalPrior, corpus: Corpus, number: int, *, leave_out: Collection[str] = (), seed: int = 0
) -> list[Stranger]:
    """Some languages of a corpus, drawn by seed, one text of each.

    Languages of the prior's own corpus are none, whatever their role there, and whether they go under the code of a
    macrolanguage or of its members; neither are those without a code, in another script, or with too little text.

    Args:
        prior: left as it was.
        corpus: another than the prior's.
        number: at most so many.
        leave_out: codes, of the corpus or ISO 639-3, of languages that are not to be looked at; that of a
            macrolanguage stands for its members, and theirs for it.
        seed: of the draw.
    """
    own = {record.iso639_3 for record in prior.mean.languages.values()} | set(prior.mean.fold.held_out)
    barred = {_NO_LANGUAGE}.union(*(codes_for(code) for code in own | set(leave_out)))
    records: dict[str, LanguageRecord] = {}
    for record in corpus.languages():
        if barred.isdisjoint((record.code, record.iso639_3)):
            records.setdefault(record.iso639_3, record)
    found: list[Stranger] = []
    for iso639_3 in shuffled(records, "strangers", seed):
        if len(found) == number:
            break
        found += _read(prior, corpus, records[iso639_3])
    return found


def _read(prior: UniversalPrior, corpus: Corpus, record: LanguageRecord) -> Iterator[Stranger]:
    """A language, if it will do."""
    split = split_sentences(corpus.sentences(record.code))
    if len(split.train) < FEWEST or share_of_new_characters(split.train, prior.mean.vocabulary) > MANY_NEW:
        return
    try:
        features = features_for(prior, record.iso639_3)
    except TypologyError:
        features = features_for(prior, None)
    yield Stranger(record.code, Path(corpus.name).name, split, features.vector)
