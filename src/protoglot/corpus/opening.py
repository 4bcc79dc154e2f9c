"""From what the user wrote after ``--corpus`` to a corpus."""

import os
from collections.abc import Callable
from pathlib import Path

from protoglot.corpus.christos import ChristosCorpus
from protoglot.corpus.ebible import EbibleCorpus
from protoglot.corpus.eld import EldCorpus
from protoglot.corpus.folder import FolderCorpus
from protoglot.corpus.interface import Corpus
from protoglot.corpus.udhr import UdhrCorpus
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
_INSTALLED: dict[str, Callable[[], Corpus]] = {"eld": EldCorpus, "udhr": UdhrCorpus}
_ON_DISK: dict[str, Callable[[Path], Corpus]] = {
    "folder": FolderCorpus,
    "christos": ChristosCorpus,
    "ebible": EbibleCorpus,
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
        return _INSTALLED[name]()
    kind, separator, rest = name.partition(":")
    is_named = bool(separator) and kind in ON_DISK
    text = rest if is_named else name
    path = Path(os.path.expanduser(text))  # noqa: PTH111 - Path.expanduser raises for an unknown user
    if not is_named and not os.path.exists(path):  # noqa: PTH110 - Path.exists raises for a name that is too long
        raise CorpusError(
            f"corpus {name!r}: neither a path nor a known name; wanted {', '.join(INSTALLED)}, a path, "
            f"or one of {', '.join(kind + ':PATH' for kind in ON_DISK)}"
        )
    try:
        if not path.is_dir():
            raise CorpusError(f"{path}: not a directory; wanted the folder of a corpus")
        return _ON_DISK[kind if is_named else recognise(path)](path)
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
