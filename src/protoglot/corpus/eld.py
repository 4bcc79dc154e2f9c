"""Sentences in 60 languages that the package ``eld`` installs for its own tests.

``tests/data/big-test.txt`` has a sentence a line, ``code<TAB>sentence``, with two-letter codes. Lines without a
tab, without text, or with a code that ISO 639-1 does not have are ignored. The package is not imported.
"""

import importlib.metadata
import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path

from protoglot.corpus.interface import LanguageRecord, TextsByLanguage
from protoglot.errors import CorpusError
from protoglot.languages import from_two_letters, language_name
from protoglot.text import normalise, read_lines

_PACKAGE = "eld"
_FILE = Path("tests", "data", "big-test.txt")


class EldCorpus(TextsByLanguage[list[str]]):
    """The default corpus: it is there wherever protoglot is installed. Its 8 MB of text are kept in memory."""

    def __init__(self, path: Path | None = None) -> None:
        """Read the text.

        Args:
            path: a text in the same form, in place of the one installed.

        Raises:
            CorpusError: if the package or its text is not installed, or has no sentence.
            TextError: if the text is damaged.
        """
        path = path or _find_installed()
        texts: dict[str, list[str]] = {}
        for _, line in read_lines(path):
            label, _, sentence = line.partition("\t")
            code = from_two_letters(label) if len(label) == 2 and sentence.strip() else None
            if code:
                texts.setdefault(code, []).append(sentence)
        if not texts:
            raise CorpusError(f"{path}: no line 'code<TAB>sentence'; wanted the test data of eld 1.0.6")
        version = _installed_version()
        records = (
            LanguageRecord(
                code=code,
                iso639_3=code,
                name=language_name(code) or code,
                source=f"{_PACKAGE} {version}, {_FILE.as_posix()}",
                licence=f"Apache-2.0 (package {_PACKAGE} {version})",
            )
            for code in texts
        )
        super().__init__("eld", zip(records, texts.values(), strict=True), _normalised)


def _normalised(sentences: Iterable[str]) -> Iterator[str]:
    return filter(None, map(normalise, sentences))


def _find_installed() -> Path:
    spec = importlib.util.find_spec(_PACKAGE)
    for location in (spec.submodule_search_locations or ()) if spec else ():
        file = Path(location) / _FILE
        if file.is_file():
            return file
    found = f"without {_FILE.as_posix()}" if spec else "not installed"
    raise CorpusError(f"package {_PACKAGE}: {found}; wanted release 1.0.6 (pip install eld==1.0.6)")


def _installed_version() -> str:
    try:
        return importlib.metadata.version(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return "of unknown release"
