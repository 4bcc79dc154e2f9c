"""A copy of BibleNLP/ebible: one verse a line, aligned with ``vref.txt``.

``corpus/<code>-<translation>.txt`` (or the texts in the folder itself) has on line n the verse that line n of
``vref.txt`` (in ``metadata/`` or in the folder) names. A blank line is a verse that the translation does not have;
``<range>`` is one joined to the verse before it, where its text stands. Both are skipped. Other names of files
than ``<code>.txt`` and ``<code>-<translation>.txt``, with a code of two or three small letters, are ignored.

Of several translations into a language the largest file has the plain code (the first by name if two are of the
same size), since opening a corpus must not read its texts; the others are called by the name of their file.
"""

import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from protoglot.corpus.codes import distinct_codes
from protoglot.corpus.interface import LanguageRecord, TextsByLanguage
from protoglot.corpus.tables import read_table
from protoglot.errors import CorpusError
from protoglot.languages import from_two_letters, language_name
from protoglot.text import normalise, read_lines

VERSES = "vref.txt"
LICENCE = "see BibleNLP/ebible"
_JOINED = "<range>"
_NAME = re.compile(r"(?P<language>[a-z]{2,3})(-(?P<translation>.+))?", re.DOTALL)


class EbibleCorpus(TextsByLanguage[Path]):
    """``vref.txt`` and the texts aligned with it; licences from ``metadata/`` where it has them."""

    def __init__(self, path: Path) -> None:
        verses = next((file for file in (path / VERSES, path / "metadata" / VERSES) if file.is_file()), None)
        if verses is None:
            raise CorpusError(f"{path}: no {VERSES} in it or in metadata/; wanted a copy of BibleNLP/ebible")
        directory = path / "corpus" if (path / "corpus").is_dir() else path
        files = [file for file in directory.iterdir() if _is_text(file)]
        if not files:
            raise CorpusError(f"{directory}: no <code>-<translation>.txt; wanted a copy of BibleNLP/ebible")
        files.sort(key=lambda file: (_parts(file)[0], -file.stat().st_size, file.stem))
        licences = _read_licences(path / "metadata")
        codes = distinct_codes(map(_parts, files))
        texts = [(_make_record(code, file, licences), file) for code, file in zip(codes, files, strict=True)]
        super().__init__(path.resolve().name, texts, partial(_read_verses, verses))


def _read_verses(verses: Path, file: Path) -> Iterator[str]:
    """Verses of a translation without the missing and the joined ones; an error at the end if it is not aligned."""
    wanted = _count_lines(verses)
    number = 0
    for number, line in read_lines(file):
        sentence = normalise(line)
        if sentence and sentence != _JOINED and number <= wanted:
            yield sentence
    if number != wanted:
        raise CorpusError(f"{file}: {number:,} lines; wanted {wanted:,}, one for each line of {verses}")


@cache
def _count_lines(file: Path) -> int:
    return sum(1 for _ in read_lines(file))


def _is_text(file: Path) -> bool:
    named = file.suffix == ".txt" and file.name != VERSES and _NAME.fullmatch(file.stem)
    return bool(named) and file.is_file()


def _parts(file: Path) -> tuple[str, str]:
    """Language and translation."""
    language, _, translation = file.stem.partition("-")
    return language, translation


def _make_record(code: str, file: Path, licences: dict[str, str]) -> LanguageRecord:
    language, translation = _parts(file)
    iso = from_two_letters(language) or language if len(language) == 2 else language
    return LanguageRecord(
        code=code,
        iso639_3=iso,
        name=language_name(iso) or code,
        source=f"BibleNLP/ebible, corpus/{file.name}",
        licence=licences.get(file.stem) or licences.get(translation) or LICENCE,
    )


def _read_licences(metadata: Path) -> dict[str, str]:
    """Licences by the name of the file or of the translation, as far as the metadata state them.

    ``licences.tsv`` names a text ``aak-aak``, or in another release ``aak`` (and ``abt_maprik`` for the
    translation ``abt-maprik``); ``translations.csv`` has only a line on the copyright, and counts where the other
    says nothing.
    """
    licences: dict[str, str] = {}
    if (metadata / "translations.csv").is_file():
        for _, row in read_table(metadata / "translations.csv", columns=("translationId",)):
            licences[row["translationId"]] = normalise(row.get("Copyright", ""))
    if (metadata / "licences.tsv").is_file():
        for _, row in read_table(metadata / "licences.tsv", columns=("ID", "Licence Type")):
            licence = _describe_licence(row)
            if licence:
                licences[row["ID"].replace("_", "-")] = licence
    return licences


def _describe_licence(row: dict[str, str]) -> str:
    """Licence and copyright of a row of ``licences.tsv`` in one phrase.

    >>> _describe_licence({"Licence Type": "by-nd", "Licence Version": "4.0", "Copyright Holder": "A Society"})
    'CC BY-ND 4.0; A Society'
    """
    kind = row["Licence Type"]
    if kind.startswith("by"):
        kind = f"CC {kind.upper()} {row.get('Licence Version', '')}".rstrip()
    holder = f"{row.get('Copyright Years', '')} {row.get('Copyright Holder', '')}".strip()
    parts = [part for part in dict.fromkeys((kind, holder)) if part]
    return normalise("; ".join(parts))
