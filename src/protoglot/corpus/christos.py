"""A copy of christos-c/bible-corpus: the Bible in 100 languages, in the Corpus Encoding Standard (XML).

Known defects of that corpus, and what is done about them:

* **Codes.** Some are wrong, or not the ones under which URIEL has its data. ``code`` is what ``metadata.csv``
  says; ``iso639_3`` is corrected by :data:`protoglot.languages.BIBLE_CORPUS_CORRECTIONS`. The header of a file can
  disagree with ``metadata.csv`` (Tuareg: ``tmh`` against ``ttq``; Swahili: ``ssw``, which is Swati, against
  ``swh``): the header counts only for a file that has no row there.
* **Rows and files that do not match.** A row without its file is skipped. A file without a row
  (``Amharic-NT.xml``: the row says ``Amharic.xml``) takes its code from the header, and its family
  from a row with that code.
* **Several files for a language.** One has the plain code: rather the plain text than the tokenised one
  (``-tok``), then rather a whole Bible than a New Testament (``-NT``) than parts (``-PART``), then the first by
  name. The others have a suffix from their names: ``eng-WEB``, ``cmn-tok``, ``quc-SIL``. What counts is the name
  of the file: ``metadata.csv`` calls the Estonian text, which is cut, whole, and the Amharic one a Bible.
* **Empty verses** are skipped.
* **Joined verses**, some with the numbers of the verses in between, stay one sentence and keep their digits:
  digits are letters in some orthographies (Wolaytta), so that they cannot be told from verse numbers safely.
* **Markup inside a verse** (once ``<sparr>`` in Swedish) is dropped and its text kept.
* **Cut text** (Estonian, at the letter õ) cannot be mended here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from protoglot.corpus.codes import distinct_codes, safe_code
from protoglot.corpus.interface import LanguageRecord, TextsByLanguage
from protoglot.corpus.safe_xml import read_elements
from protoglot.corpus.tables import read_table
from protoglot.errors import CorpusError
from protoglot.languages import BIBLE_CORPUS_CORRECTIONS, language_name
from protoglot.text import normalise

LICENCE = "CC0 1.0 (christos-c/bible-corpus)"
METADATA = "metadata.csv"
_TEXTS = "bibles"


class ChristosCorpus(TextsByLanguage[Path]):
    """``metadata.csv`` and XML files, in the folder itself or in ``bibles/``."""

    def __init__(self, path: Path) -> None:
        files = _xml_files(path / _TEXTS) or _xml_files(path)
        if not files:
            raise CorpusError(
                f"{path}: no .xml file in it or in {_TEXTS}/; wanted a copy of christos-c/bible-corpus"
            )
        texts = sorted(_describe(files, path / METADATA), key=lambda text: (text.code, text.preference))
        first = {text.code: text.file.stem for text in reversed(texts)}
        codes = distinct_codes((text.code, text.file.stem.removeprefix(first[text.code])) for text in texts)
        described = [(_make_record(code, text), text.file) for code, text in zip(codes, texts, strict=True)]
        super().__init__(path.resolve().name, described, _read_verses)


@dataclass(frozen=True, slots=True)
class _Text:
    """One file and what is said of it."""

    file: Path
    code: str
    name: str
    family: str

    @property
    def preference(self) -> tuple[bool, int, str]:
        """Sorts the files of one language, the one with the plain code first."""
        parts = self.file.stem.split("-")
        completeness = 2 if "PART" in parts else 1 if "NT" in parts else 0
        return "tok" in parts, completeness, self.file.stem


def _make_record(code: str, text: _Text) -> LanguageRecord:
    iso = BIBLE_CORPUS_CORRECTIONS.get(text.code, text.code)
    return LanguageRecord(
        code=code,
        iso639_3=iso,
        name=text.name or language_name(iso) or code,
        family=text.family,
        source=f"christos-c/bible-corpus, {text.file.name}",
        licence=LICENCE,
    )


def _xml_files(directory: Path) -> list[Path]:
    if not directory.is_dir():
        return []
    return sorted(file for file in directory.iterdir() if file.suffix == ".xml" and file.is_file())


def _read_verses(file: Path) -> Iterator[str]:
    verse = None
    for verse in read_elements(file, {"seg"}):
        sentence = normalise(verse.text)
        if sentence:
            yield sentence
    if verse is None:
        raise CorpusError(f"{file}: no <seg>; wanted verses in the Corpus Encoding Standard")


def _describe(files: list[Path], metadata: Path) -> list[_Text]:
    """Code, name and family of each file, from its row in the metadata or else from its header."""
    rows: dict[str, dict[str, str]] = {}
    if metadata.is_file():
        rows = {row["Filename"]: row for _, row in read_table(metadata, columns=("Filename", "ISO_639-3"))}
    families = {row["ISO_639-3"]: row.get("Family", "") for row in rows.values()}
    texts = []
    for file in files:
        row = rows.get(file.name, {})
        code, name = row.get("ISO_639-3", ""), row.get("Language", "")
        if not safe_code(code):
            code, name = _read_header(file)
        family = row.get("Family") or families.get(code, "")
        texts.append(_Text(file, safe_code(code), normalise(name), normalise(family)))
    return texts


def _read_header(file: Path) -> tuple[str, str]:
    """Code and name of the language by the header of a file."""
    for element in read_elements(file, {"language", "seg"}):
        if element.name == "seg":
            break
        code = element.attributes.get("iso639") or element.attributes.get("id", "")
        if safe_code(code):
            return code, element.text
    raise CorpusError(
        f'{file}: no row in {METADATA} and no <language iso639="..."> in its header; wanted one of them'
    )
