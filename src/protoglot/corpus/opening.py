"""From what the user wrote after ``--corpus`` to a corpus."""

import os
from collections.abc import Callable
from pathlib import Path

from protoglot.corpus.interface import Corpus
from protoglot.errors import CorpusError

INSTALLED = {
    "eld": "sentences installed with the package eld: 60 languages, 1,000 sentences each (the default)",
    "udhr": "the Universal Declaration of Human Rights, installed with the extra protoglot[udhr]",
}
ON_DISK = {
    "folder": "a folder of <code>.txt files, one sentence a line",
    "christos": "a copy of christos-c/bible-corpus: CES XML and metadata.csv",
    "ebible": "a copy of BibleNLP/ebible: corpus/*.txt and vref.txt",
}


def open_corpus(name: str) -> Corpus:
    """Open a corpus by name, by path, or by ``kind:path``.

    Args:
        name: ``eld`` or ``udhr`` for text installed with a package; a path, whose kind is then recognised by the
            files in it; or ``folder:PATH``, ``christos:PATH``, ``ebible:PATH``.

    Raises:
        CorpusError: if there is no such corpus.
    """
    if name in INSTALLED:
        return _open_installed(name)
    kind, separator, rest = name.partition(":")
    if separator and kind in ON_DISK:
        return _read(_READERS[kind], _expanded(rest))
    path = _expanded(name)
    if not os.path.exists(path):  # noqa: PTH110 - Path.exists raises for a name that is too long to be one
        raise CorpusError(
            f"corpus {name!r}: neither a path nor a known name; wanted {', '.join(INSTALLED)}, a path, "
            f"or one of {', '.join(kind + ':PATH' for kind in ON_DISK)}"
        )
    return _read(lambda found: _READERS[recognise(found)](found), path)


def _read(reader: Callable[[Path], Corpus], path: Path) -> Corpus:
    try:
        return reader(path)
    except OSError as error:
        raise CorpusError(
            f"{path}: cannot be read ({error.strerror or error}); wanted the folder of a corpus"
        ) from error


def recognise(path: Path) -> str:
    """Kind of the corpus in a directory, by the files that only this kind has."""
    if (path / "vref.txt").is_file() or (path / "metadata" / "vref.txt").is_file():
        return "ebible"
    if (path / "metadata.csv").is_file() or any(path.glob("bibles/*.xml")) or any(path.glob("*.xml")):
        return "christos"
    return "folder"


def _expanded(text: str) -> Path:
    """A path with ``~`` replaced, where there is such a user."""
    return Path(os.path.expanduser(text))  # noqa: PTH111 - Path.expanduser raises for an unknown user


def _open_installed(name: str) -> Corpus:
    if name == "eld":
        from protoglot.corpus.eld import EldCorpus

        return EldCorpus()
    from protoglot.corpus.udhr import UdhrCorpus

    return UdhrCorpus()


def _folder(path: Path) -> Corpus:
    from protoglot.corpus.folder import FolderCorpus

    return FolderCorpus(path)


def _christos(path: Path) -> Corpus:
    from protoglot.corpus.christos import ChristosCorpus

    return ChristosCorpus(path)


def _ebible(path: Path) -> Corpus:
    from protoglot.corpus.ebible import EbibleCorpus

    return EbibleCorpus(path)


_READERS: dict[str, Callable[[Path], Corpus]] = {"folder": _folder, "christos": _christos, "ebible": _ebible}
