"""Any corpus -> a folder of plain text with a manifest, which :class:`FolderCorpus` reads."""

import csv
import hashlib
from collections.abc import Callable
from pathlib import Path

from protoglot.corpus.folder import MANIFEST
from protoglot.corpus.interface import Corpus
from protoglot.errors import CorpusError
from protoglot.storage import directory_written_whole

MANIFEST_COLUMNS = (
    "code",
    "iso639_3",
    "language",
    "family",
    "source",
    "licence",
    "sentences",
    "characters",
    "distinct_characters",
    "sha256",
)


def import_corpus(corpus: Corpus, destination: Path, *, on_language: Callable[[str], None] | None = None) -> int:
    """Write every language of a corpus as ``<code>.txt``, and ``manifest.csv`` beside them.

    Languages without a sentence are left out. The folder appears whole or not at all.

    Args:
        corpus: where to read.
        destination: folder to make.
        on_language: called with each code before it is read.

    Returns:
        The number of languages written.

    Raises:
        CorpusError: if the corpus has no sentence at all.
        StorageError: if the folder exists or cannot be written.
    """
    rows = []
    with directory_written_whole(destination) as folder:
        for record in corpus.languages():
            if on_language is not None:
                on_language(record.code)
            num_sentences, num_characters = 0, 0
            distinct: set[str] = set()
            digest = hashlib.sha256()
            file = folder / f"{record.code}.txt"
            with file.open("wb") as stream:
                for sentence in corpus.sentences(record.code):
                    line = f"{sentence}\n".encode()
                    stream.write(line)
                    digest.update(line)
                    num_sentences += 1
                    num_characters += len(sentence)
                    distinct.update(sentence)
            if num_sentences == 0:
                file.unlink()
                continue
            rows.append(
                (
                    record.code,
                    record.iso639_3,
                    record.name,
                    record.family,
                    record.source,
                    record.licence,
                    num_sentences,
                    num_characters,
                    len(distinct),
                    digest.hexdigest(),
                )
            )
        if not rows:
            raise CorpusError(f"corpus {corpus.name}: no sentences; wanted text in at least one language")
        with (folder / MANIFEST).open("w", encoding="utf-8", newline="") as stream_of_text:
            writer = csv.writer(stream_of_text, lineterminator="\n")
            writer.writerow(MANIFEST_COLUMNS)
            writer.writerows(rows)
    return len(rows)
