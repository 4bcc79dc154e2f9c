"""A folder of plain text: ``<code>.txt``, one sentence a line, with an optional ``manifest.csv``."""

from collections.abc import Iterator
from pathlib import Path

from protoglot.corpus.interface import LanguageRecord
from protoglot.corpus.records import find_record
from protoglot.corpus.tables import read_table
from protoglot.errors import CorpusError
from protoglot.languages import language_name
from protoglot.text import normalise, read_sentences

MANIFEST = "manifest.csv"


class FolderCorpus:
    """The user's own data, and the form every other corpus can be imported into.

    Only the column ``code`` of the manifest is required; ``iso639_3``, ``language``, ``family``, ``source``
    and ``licence`` are used where present. A text without a row in the manifest is read all the same.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise CorpusError(f"{path}: not a directory; wanted a folder of <code>.txt files")
        self.path = path
        # path.iterdir() rather than glob: a folder name may contain glob characters.
        self._files = {
            file.stem: file
            for file in sorted(path.iterdir())
            if file.suffix == ".txt" and file.is_file() and not file.name.startswith(".")
        }
        if not self._files:
            raise CorpusError(f"{path}: no .txt file; wanted one <code>.txt per language")
        for code in self._files:
            if not code.isprintable():  # line breaks, or bytes that are not UTF-8: no table could show it
                raise CorpusError(f"{path}: file {f'{code}.txt'!a}; wanted a name in printable characters")
        self._records = self._make_records()

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.path.resolve().name

    def languages(self) -> tuple[LanguageRecord, ...]:
        """One record per text file."""
        return self._records

    def sentences(self, code: str) -> Iterator[str]:
        """Non-empty lines of ``<code>.txt``, normalised."""
        find_record(self._records, code, corpus=self.name)
        return read_sentences(self._files[code])

    def _make_records(self) -> tuple[LanguageRecord, ...]:
        rows = read_manifest(self.path / MANIFEST) if (self.path / MANIFEST).is_file() else {}
        records = []
        for code, file in self._files.items():
            # Normalised: a cell may hold line breaks or escape sequences, and tables show what it holds.
            row = {column: normalise(cell) for column, cell in rows.get(code, {}).items()}
            iso = row.get("iso639_3") or code
            records.append(
                LanguageRecord(
                    code=code,
                    iso639_3=iso,
                    name=row.get("language") or language_name(iso) or code,
                    family=row.get("family", ""),
                    source=row.get("source") or file.name,
                    licence=row.get("licence") or "unknown",
                )
            )
        return tuple(sorted(records, key=lambda record: record.code))


def read_manifest(path: Path) -> dict[str, dict[str, str]]:
    """Rows of a manifest by language code.

    Raises:
        CorpusError: if it has no column ``code``, a row without one, or the same code twice.
    """
    rows: dict[str, dict[str, str]] = {}
    for number, row in read_table(path, columns=("code",)):
        code = row["code"]
        if not code or code in rows:
            found = f"code {code!r} twice" if code else "a row without a code"
            raise CorpusError(f"{path}: line {number}: {found}; wanted one row per language")
        rows[code] = row
    return rows
