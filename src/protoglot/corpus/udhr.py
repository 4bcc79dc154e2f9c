"""The Universal Declaration of Human Rights, from the XML that the package ``notofonttools`` installs.

A sentence is a title or a paragraph; notes of the editors are left out. Of the versions in the index those count
that are there in full (``stage`` 4 or 5).

Of several versions in a language one has the plain code: the one filed under the code itself, else the first by
name among those filed under a name that begins with the code, else the first by name. The others have a suffix
from that name (``roh-puter``, ``pov-008``). Versions in no language that has a code are ``und-<name>``.
"""

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path

from protoglot.corpus.codes import UNDETERMINED, distinct_codes, safe_code
from protoglot.corpus.interface import LanguageRecord, TextsByLanguage
from protoglot.corpus.safe_xml import XmlElement, read_elements
from protoglot.errors import CorpusError
from protoglot.text import normalise

LICENCE = "© The Office of the High Commissioner for Human Rights"
_PACKAGE = "notofonttools"
_DIRECTORY = "third_party/udhr"
_INDEX = "index.xml"
_COMPLETE_STAGES = ("4", "5")


class UdhrCorpus(TextsByLanguage[Path]):
    """Some 440 versions of one text of about 10,000 characters."""

    def __init__(self, path: Path | None = None) -> None:
        """Read the index.

        Args:
            path: a folder in the same form, in place of the one installed.

        Raises:
            CorpusError: if the package is not installed or its index is damaged.
        """
        path = path or _find_installed()
        versions = [
            version
            for version in read_elements(path / _INDEX, {"udhr"})
            if version.attributes.get("stage") in _COMPLETE_STAGES and _file_of(version, path).is_file()
        ]
        if not versions:
            raise CorpusError(
                f"{path / _INDEX}: no version with a file; wanted udhr_<f>.xml for each 'f' of the index"
            )
        versions.sort(key=_preference)
        files = [_file_of(version, path) for version in versions]
        records = (
            LanguageRecord(
                code=code,
                iso639_3=_language_of(version),
                name=normalise(version.attributes.get("n", "")) or code,
                source=f"{_PACKAGE}, {_DIRECTORY}/{file.name}",
                licence=LICENCE,
            )
            for code, version, file in zip(distinct_codes(map(_parts, versions)), versions, files, strict=True)
        )
        super().__init__("udhr", zip(records, files, strict=True), _read_paragraphs)


def _read_paragraphs(file: Path) -> Iterator[str]:
    elements = read_elements(file, {"title", "para"}, skipped={"note"})
    return filter(None, (normalise(element.text) for element in elements))


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


def _parts(version: XmlElement) -> tuple[str, str]:
    """Language, and what tells the version from others in it."""
    language = _language_of(version)
    return language, _key(version).removeprefix(f"{language}_")
