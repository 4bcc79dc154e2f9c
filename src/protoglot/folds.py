"""Which languages are held out, which are watched during training, and which are learned from."""

import csv
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from protoglot.corpus.interface import Corpus
from protoglot.errors import SplitError
from protoglot.languages import BIBLE_CORPUS_CORRECTIONS
from protoglot.splits import Split, shuffled, split_sentences

NUM_VALIDATION = 5
"""Validation languages of each fold, as in the paper (§5)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """A partition of the languages held out, and the roles of all others; the three sets are disjoint."""

    name: str
    held_out: tuple[str, ...]
    validation: tuple[str, ...]
    training: tuple[str, ...]


@lru_cache(maxsize=1)
def paper_partitions() -> dict[str, tuple[str, ...]]:
    """The four partitions of the paper's 77 languages, by the colours of its tables (codes as it writes them)."""
    table = resources.files("protoglot.data").joinpath("partitions77.csv").read_text(encoding="utf-8")
    partitions: dict[str, list[str]] = {}
    for row in csv.DictReader(table.splitlines()):
        partitions.setdefault(row["partition"], []).append(row["code"])
    return {name: tuple(sorted(codes)) for name, codes in sorted(partitions.items())}


def paper_languages() -> dict[str, str]:
    """ISO 639-3 code of each of the paper's 77 languages, by the code that it writes."""
    codes = sorted(code for partition in paper_partitions().values() for code in partition)
    return {code: BIBLE_CORPUS_CORRECTIONS.get(code, code) for code in codes}


def partition_languages(languages: Collection[str], number: int, *, seed: int) -> dict[str, tuple[str, ...]]:
    """Deal languages into partitions of nearly equal size, by seed.

    Raises:
        SplitError: if there are fewer languages than partitions.
    """
    distinct = set(languages)
    if not 1 <= number <= len(distinct):
        raise SplitError(f"{number} partitions of {len(distinct)} languages; wanted 1 to {len(distinct)}")
    dealt = shuffled(distinct, "partition", number, seed)
    return {str(index + 1): tuple(sorted(dealt[index::number])) for index in range(number)}


def make_fold(
    partitions: Mapping[str, Collection[str]],
    name: str,
    *,
    num_validation: int = NUM_VALIDATION,
    seed: int = 0,
    iso639_3: Mapping[str, str] | None = None,
) -> Fold:
    """Hold one partition out; draw validation languages from the others by seed; train on the rest.

    Args:
        partitions: languages by the name of their partition.
        name: of the one to hold out.
        num_validation: languages to draw.
        seed: decides which.
        iso639_3: of each code, where a language may have several texts: all of them get the same role.

    Raises:
        SplitError: for an unknown partition, a language in two of them, or too few languages.
    """
    if name not in partitions:
        raise SplitError(f"partition {name!r}: unknown; wanted one of {', '.join(partitions)}")
    everything = [language for languages in partitions.values() for language in languages]
    if len(set(everything)) != len(everything):
        twice = sorted({language for language in everything if everything.count(language) > 1})
        raise SplitError(f"partitions: {', '.join(twice)} in two of them; wanted each language in one")
    held_out = set(partitions[name])
    others = set(everything) - held_out
    texts = _texts_of_languages(others, iso639_3)
    if not 0 <= num_validation < len(texts):
        raise SplitError(
            f"{num_validation} validation languages of the {len(texts)} not held out; wanted 0 to {len(texts) - 1} "
            "(--validation-languages, or num_validation of a study)"
        )
    validation = {
        code for first in shuffled(texts, "validation", name, seed)[:num_validation] for code in texts[first]
    }
    return Fold(
        name=name,
        held_out=tuple(sorted(held_out)),
        validation=tuple(sorted(validation)),
        training=tuple(sorted(others - validation)),
    )


def fold_for(
    languages: Collection[str],
    hold_out: str,
    *,
    num_validation: int = NUM_VALIDATION,
    seed: int = 0,
    iso639_3: Mapping[str, str] | None = None,
) -> Fold:
    """The fold that the user asked for.

    Where a corpus has several texts of a language (two translations, or one text tokenised), they are held out
    together, watched together or learned from together: what was read in one is not unseen in another.

    Args:
        languages: all languages of the corpus.
        hold_out: ``partition:2`` (the paper's, if every language is one of its 77), ``partition:2/4``
            (the second of four made by seed), ``none``, or codes joined by commas.
        num_validation: languages watched during training.
        seed: chooses partitions and validation languages.
        iso639_3: which language each code is; by default each is one of its own.
    """
    known = set(languages)
    texts = _texts_of_languages(known, iso639_3)
    if match := re.fullmatch(r"partition:(\w+)(?:/(\d+))?", hold_out):
        name, number = match.groups()
        if number:
            dealt = partition_languages(texts, int(number), seed=seed)
            partitions = {
                key: [code for first in firsts for code in texts[first]] for key, firsts in dealt.items()
            }
            return make_fold(partitions, name, num_validation=num_validation, seed=seed, iso639_3=iso639_3)
        foreign = sorted(known - {code for codes in paper_partitions().values() for code in codes})
        if foreign:
            raise SplitError(
                f"hold-out {hold_out!r}: {', '.join(foreign[:3])}{' ...' if foreign[3:] else ''} not among "
                f"the paper's 77 languages; wanted partition:{name}/4 (made by seed), or codes joined by commas"
            )
        present = {key: [code for code in codes if code in known] for key, codes in paper_partitions().items()}
        return make_fold(present, name, num_validation=num_validation, seed=seed, iso639_3=iso639_3)
    held_out = [] if hold_out == "none" else [code.strip() for code in hold_out.split(",")]
    missing = sorted(set(held_out) - known)
    if missing:
        raise SplitError(
            f"hold-out {hold_out!r}: no language {', '.join(missing)} in the corpus; wanted codes joined by "
            "commas, partition:N, partition:N/M or none"
        )
    whole = {code for codes in texts.values() if not set(codes).isdisjoint(held_out) for code in codes}
    partitions = {"held out": sorted(whole), "others": sorted(known - whole)}
    return make_fold(partitions, "held out", num_validation=num_validation, seed=seed, iso639_3=iso639_3)


def _texts_of_languages(codes: Collection[str], iso639_3: Mapping[str, str] | None) -> dict[str, tuple[str, ...]]:
    """Codes of the texts of each language, under the first of them."""
    languages: dict[str, list[str]] = {}
    for code in sorted(codes):
        languages.setdefault(iso639_3.get(code, code) if iso639_3 else code, []).append(code)
    return {texts[0]: tuple(texts) for texts in languages.values()}


class FoldText:
    """The text of a corpus as one fold may see it.

    Training learns from :meth:`training` and watches :meth:`validation`; nothing of a held-out language, and the test
    part of none, can be had here.
    """

    def __init__(self, corpus: Corpus, fold: Fold) -> None:
        self._corpus = corpus
        self.fold = fold

    def training(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Training part of each training language."""
        for language in self.fold.training:
            yield language, self._split(language).train

    def validation(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Development part of each validation language."""
        for language in self.fold.validation:
            yield language, self._split(language).development

    def _split(self, language: str) -> Split:
        return split_sentences(self._corpus.sentences(language))
