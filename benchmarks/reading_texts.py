"""The texts of the reading benchmark: languages that no part has read, a page of each and what comes after it.

The protocol is that of the rivals' figures. ``v`` are the lines of a text that are not empty, in order:

- page: ``random.Random(1).sample(v[:int(0.8 * len(v))], 100)``;
- test: the first 100 of ``v[int(0.9 * len(v)):]``.

Lines are joined by line feeds, with one at the end, and every line feed counts as a character. The Declaration has
fewer than a hundred lines: its page is the whole text in its own order, and there is no test.
"""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

EBIBLE, BIBLES, ELD, UDHR = "ebible", "bibles", "eld", "udhr"
VALIDATION = "validation"
CORPORA = {
    EBIBLE: "Bible verses, languages marked test",
    BIBLES: "Bible verses, nine languages left out before",
    ELD: "news",
    UDHR: "Declaration of Human Rights",
    VALIDATION: "validation languages: Bible verses, and news in three",
}
SAME_LANGUAGE = ("ekk", "zlm")
"""Marked test in ebible as well, but Estonian is among the nine Bibles and Malay among the news."""

BIBLE_CODES = ("afr", "dje", "est", "kek", "mri", "slk", "som", "tur", "xho")
ELD_CODES = ("aze", "cat", "kur", "msa", "yor")
UDHR_CODES = ("cym", "fij", "gle", "hau", "lug", "mlt", "sme", "uzn")

ELD_VALIDATION = ("bul", "isl", "lav")

PAGE = 100
"""Sentences of a page, and of a test."""

LONGEST = 100_000
"""Characters of the text of a curve."""


@dataclass(frozen=True, slots=True)
class Source:
    """A language of a corpus, and where the corpus is."""

    corpus: str
    language: str
    place: str
    """A path, or the name of a corpus that is installed."""

    def lines(self) -> list[str]:
        """Its text."""
        from protoglot.corpus.opening import open_corpus

        return list(open_corpus(self.place).sentences(self.language))


@dataclass(frozen=True, slots=True)
class Material:
    """What a system reads of a language."""

    source: Source
    page: Sequence[str]
    test: Sequence[str]
    """Empty for the Declaration."""


def find_sources(
    ebible: Path | None, bibles: Path | None, *, udhr: bool, only: Collection[str] = ()
) -> list[Source]:
    """The languages of the benchmark, in order.

    Args:
        ebible: folder of that corpus; without it, its languages are left out.
        bibles: folder of bible77, likewise.
        udhr: whether the Declaration is wanted, for which an extra must be installed.
        only: names of corpora, codes of languages, or both as ``corpus/code``; everything if empty.
    """
    found = [Source(ELD, code, "eld") for code in ELD_CODES]
    if ebible is not None:
        found = [Source(EBIBLE, code, str(ebible)) for code in test_languages(ebible)] + found
    if bibles is not None:
        found += [Source(BIBLES, code, str(bibles)) for code in BIBLE_CODES]
    if udhr:
        found += [Source(UDHR, code, "udhr") for code in UDHR_CODES]
    if not only:
        return found
    names = {source: {source.corpus, source.language, f"{source.corpus}/{source.language}"} for source in found}
    unknown = set(only).difference(*names.values())
    if unknown:
        raise SystemExit(f"--only {', '.join(sorted(unknown))}: no such corpus or language in the benchmark")
    return [source for source in found if not names[source].isdisjoint(only)]


def validation_sources(ebible: Path) -> list[Source]:
    """The languages on which parts of the reader are weighed."""
    found = [Source(VALIDATION, code, str(ebible)) for code in languages_for("validation", ebible)]
    return found + [Source(VALIDATION, code, "eld") for code in ELD_VALIDATION]


def test_languages(ebible: Path) -> list[str]:
    """The 40 languages of the corpus that are for benchmarks alone."""
    return [code for code in languages_for("test", ebible) if code not in SAME_LANGUAGE]


def languages_for(use: str, ebible: Path) -> list[str]:
    """Languages that the manifest of the corpus marks for a use."""
    from protoglot.corpus.folder import read_manifest

    return sorted(code for code, row in read_manifest(ebible / "manifest.csv").items() if row["use"] == use)


def read_material(source: Source) -> Material:
    """Page and test of a language."""
    v = source.lines()
    if source.corpus == UDHR:
        return Material(source, v[:PAGE], [])
    page = random.Random(1).sample(v[: int(0.8 * len(v))], PAGE)
    return Material(source, page, v[int(0.9 * len(v)) :][:PAGE])


def curve_text(v: Sequence[str], longest: int = LONGEST) -> str:
    """The page, and after it the other lines in random order, up to a number of characters."""
    generator = random.Random(1)
    page = generator.sample(range(int(0.8 * len(v))), PAGE)  # the same lines as those of the page
    rest = sorted(set(range(len(v))).difference(page))
    generator.shuffle(rest)
    return join([v[number] for number in [*page, *rest]])[:longest]


def join(lines: Sequence[str]) -> str:
    """A text of some lines, each with its line feed."""
    return "".join(f"{line}\n" for line in lines)
