"""The Universal Declaration of Human Rights, from the XML that the package ``notofonttools`` installs.

A sentence is a title or a paragraph; notes of the editors are left out. Of the versions in the index those count
that are there in full (``stage`` 4 or 5).

Of several versions in a language one has the plain code: the one filed under the code itself, else the first by
name among those filed under a name that begins with the code, else the first by name. The others have a suffix
from that name (``roh-puter``, ``pov-008``). Versions in no language that has a code are ``und-<name>``.
"""

import importlib.metadata
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from protoglot.corpus.codes import distinct_codes, safe_code
from protoglot.corpus.interface import LanguageRecord
from protoglot.corpus.records import find_record
from protoglot.corpus.safe_xml import XmlElement, read_elements
from protoglot.errors import CorpusError
from protoglot.text import normalise

LICENCE = "© The Office of the High Commissioner for Human Rights"
UNDETERMINED = "und"
_PACKAGE = "notofonttools"
_DIRECTORY = "third_party/udhr"
_INDEX = "index.xml"
_COMPLETE_STAGES = ("4", "5")


class UdhrCorpus:
    """Some 440 versions of one text of about 10,000 characters."""

    name = "udhr"

    def __init__(self, path: Path | None = None) -> None:
        """Read the index.

        Args:
            path: a folder in the same form, in place of the one installed.

        Raises:
            CorpusError: if the package is not installed or its index is damaged.
        """
        self.path = path or _find_installed()
        self._records, self._files = _name_versions(self.path)

    def languages(self) -> tuple[LanguageRecord, ...]:
        """One record per version."""
        return self._records

    def sentences(self, code: str) -> Iterator[str]:
        """Titles and paragraphs of one version, normalised."""
        find_record(self._records, code, corpus=self.name)
        return _read_paragraphs(self._files[code])


def _read_paragraphs(file: Path) -> Iterator[str]:
    for element in read_elements(file, {"title", "para"}, skipped={"note"}):
        sentence = normalise(element.text)
        if sentence:
            yield sentence


def _find_installed() -> Path:
    wanted = 'wanted it installed (pip install "protoglot[udhr]")'
    try:
        located = importlib.metadata.distribution(_PACKAGE).locate_file(_DIRECTORY)
    except importlib.metadata.PackageNotFoundError:
        raise CorpusError(f"package {_PACKAGE}: not found; {wanted}") from None
    path = Path(str(located))
    if not (path / _INDEX).is_file():
        raise CorpusError(f"package {_PACKAGE}: no {_DIRECTORY}/{_INDEX} in it; {wanted}")
    return path


def _name_versions(path: Path) -> tuple[tuple[LanguageRecord, ...], dict[str, Path]]:
    """A record for each complete version of an index and the file of each code."""
    versions = [
        version
        for version in read_elements(path / _INDEX, {"udhr"})
        if version.attributes.get("stage") in _COMPLETE_STAGES and _file_of(version, path).is_file()
    ]
    if not versions:
        raise CorpusError(
            f"{path / _INDEX}: no version with a file; wanted udhr_<f>.xml for each 'f' of the index"
        )
    ordered = sorted(versions, key=_preference)
    codes: list[str] = []
    for language, group in groupby(ordered, key=_language_of):
        suffixed = [f"{language}-{safe_code(_suffix(version))}" for version in group]
        codes += suffixed if language == UNDETERMINED else [language, *suffixed[1:]]
    records, files = [], {}
    for code, version in zip(distinct_codes(codes), ordered, strict=True):
        file = _file_of(version, path)
        record = LanguageRecord(
            code=code,
            iso639_3=_language_of(version),
            name=normalise(version.attributes.get("n", "")) or code,
            source=f"{_PACKAGE}, {_DIRECTORY}/{file.name}",
            licence=LICENCE,
        )
        records.append(record)
        files[code] = file
    return tuple(sorted(records, key=lambda record: record.code)), files


def _key(version: XmlElement) -> str:
    return version.attributes.get("f", "")


def _file_of(version: XmlElement, path: Path) -> Path:
    # Only the last part of a name counts: an index must not lead out of its folder.
    return path / Path(f"udhr_{_key(version)}.xml").name


def _language_of(version: XmlElement) -> str:
    return safe_code(version.attributes.get("iso639-3", "")) or UNDETERMINED


def _preference(version: XmlElement) -> tuple[str, bool, str]:
    language, key = _language_of(version), _key(version)
    return language, not key.startswith(language), key


def _suffix(version: XmlElement) -> str:
    return _key(version).removeprefix(f"{_language_of(version)}_")
