"""A folder of plain text: ``<code>.txt``, one sentence a line, with an optional ``manifest.csv``."""

from pathlib import Path

from protoglot.corpus.interface import LanguageRecord, TextsByLanguage
from protoglot.corpus.tables import read_table
from protoglot.errors import CorpusError
from protoglot.languages import language_name
from protoglot.text import normalise, read_sentences

MANIFEST = "manifest.csv"


class FolderCorpus(TextsByLanguage[Path]):
    """The user's own data, and the form every other corpus can be imported into.

    Only the column ``code`` of the manifest is required; ``iso639_3``, ``language``, ``family``, ``source``
    and ``licence`` are used where present. A text without a row in the manifest is read all the same.
    """

    def __init__(self, path: Path) -> None:
        # path.iterdir() rather than glob: a folder name may contain glob characters.
        files = [
            file
            for file in sorted(path.iterdir())
            if file.suffix == ".txt" and file.is_file() and not file.name.startswith(".")
        ]
        if not files:
            raise CorpusError(f"{path}: no .txt file; wanted one <code>.txt per language")
        for file in files:
            if not file.name.isprintable():  # line breaks, or bytes that are not UTF-8: no table could show it
                raise CorpusError(f"{path}: file {file.name!a}; wanted a name in printable characters")
        rows = read_manifest(path / MANIFEST) if (path / MANIFEST).is_file() else {}
        texts = [(_describe(file, rows.get(file.stem, {})), file) for file in files]
        super().__init__(path.resolve().name, texts, read_sentences)


def _describe(file: Path, row: dict[str, str]) -> LanguageRecord:
    # Normalised: a cell may hold line breaks or escape sequences, and tables show what it holds.
    cells = {column: normalise(cell) for column, cell in row.items()}
    iso = cells.get("iso639_3") or file.stem
    return LanguageRecord(
        code=file.stem,
        iso639_3=iso,
        name=cells.get("language") or language_name(iso) or file.stem,
        family=cells.get("family", ""),
        source=cells.get("source") or file.name,
        licence=cells.get("licence") or "unknown",
    )


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
