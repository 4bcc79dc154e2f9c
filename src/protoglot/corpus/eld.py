"""Sentences in 60 languages that the package ``eld`` installs for its own tests.

``tests/data/big-test.txt`` has a sentence a line, ``code<TAB>sentence``, with two-letter codes. Lines without a
tab, without text, or with a code that ISO 639-1 does not have are ignored. The package is not imported.
"""

import importlib.metadata
import importlib.util
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from protoglot.corpus.interface import LanguageRecord
from protoglot.corpus.records import find_record
from protoglot.errors import CorpusError
from protoglot.languages import from_two_letters, language_name
from protoglot.text import MAX_SENTENCE_CHARACTERS, normalise

_PACKAGE = "eld"
_FILE = Path("tests", "data", "big-test.txt")
_MAX_LINE_BYTES = 4 * MAX_SENTENCE_CHARACTERS


class EldCorpus:
    """The default corpus: it is there wherever protoglot is installed."""

    name = "eld"

    def __init__(self, path: Path | None = None) -> None:
        """Find the text, without reading it.

        Args:
            path: a text in the same form, in place of the one installed.

        Raises:
            CorpusError: if the package or its text is not installed.
        """
        self.path = path or _find_installed()

    def languages(self) -> tuple[LanguageRecord, ...]:
        """One record per language; ``code`` is ISO 639-3."""
        return self._records

    def sentences(self, code: str) -> Iterator[str]:
        """Non-empty sentences of one language, normalised."""
        find_record(self._records, code, corpus=self.name)
        return self._read(self._spans[code])

    @cached_property
    def _records(self) -> tuple[LanguageRecord, ...]:
        version = _installed_version()
        return tuple(
            LanguageRecord(
                code=code,
                iso639_3=code,
                name=language_name(code) or code,
                source=f"{_PACKAGE} {version}, {_FILE.as_posix()}",
                licence=f"Apache-2.0 (package {_PACKAGE} {version})",
            )
            for code in sorted(self._spans)
        )

    @cached_property
    def _spans(self) -> dict[str, list[tuple[int, int]]]:
        """For each language the stretches of the file, in bytes, that hold its lines.

        One pass over the file, so that reading a language later costs no more than its own text.
        """
        spans: dict[str, list[tuple[int, int]]] = {}
        start = 0
        for line in self._read_raw_lines():
            end = start + len(line)
            label, tab, _ = line.partition(b"\t")
            code = from_two_letters(label.decode("ascii", "replace")) if tab and len(label) == 2 else None
            if code:
                stretches = spans.setdefault(code, [])
                if stretches and stretches[-1][1] == start:
                    stretches[-1] = (stretches[-1][0], end)
                else:
                    stretches.append((start, end))
            start = end
        if not spans:
            raise CorpusError(f"{self.path}: no line 'code<TAB>sentence'; wanted the test data of eld 1.0.6")
        return spans

    def _read(self, stretches: list[tuple[int, int]]) -> Iterator[str]:
        try:
            with self.path.open("rb") as stream:
                for start, end in stretches:
                    stream.seek(start)
                    while start < end:
                        line = stream.readline(_MAX_LINE_BYTES)
                        start += len(line) or end  # a file that has shrunk must not be read for ever
                        sentence = normalise(line.rstrip(b"\r\n").partition(b"\t")[2].decode("utf-8"))
                        if sentence:
                            yield sentence
        except UnicodeDecodeError as error:
            raise CorpusError(f"{self.path}: invalid UTF-8 ({error.reason}); wanted UTF-8 text") from error
        except OSError as error:
            raise CorpusError(f"{self.path}: cannot be read ({error.strerror or error}); wanted a text") from error

    def _read_raw_lines(self) -> Iterator[bytes]:
        try:
            with self.path.open("rb") as stream:
                while line := stream.readline(_MAX_LINE_BYTES):
                    if len(line) == _MAX_LINE_BYTES:
                        raise CorpusError(
                            f"{self.path}: a line of {_MAX_LINE_BYTES:,} bytes or more; wanted one sentence a line"
                        )
                    yield line
        except OSError as error:
            raise CorpusError(f"{self.path}: cannot be read ({error.strerror or error}); wanted a text") from error


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
