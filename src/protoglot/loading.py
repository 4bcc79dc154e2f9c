"""Models of a language on disk, of either kind."""

from pathlib import Path
from typing import TYPE_CHECKING

from protoglot.artefacts import read_header
from protoglot.errors import StorageError
from protoglot.reader_model import ReaderModel
from protoglot.reading.reader import KIND as READER
from protoglot.reading.scorer import Scorer

if TYPE_CHECKING:
    from protoglot.adapted import AdaptedModel

NETWORK = "adapted model"
"""Kind of the artefact of an adapted network."""


def is_reader(path: Path) -> bool:
    """Whether a directory holds a reader.

    Raises:
        StorageError: if it holds neither a reader nor an adapted network, or is damaged.
    """
    kind = read_header(path)["kind"]
    if kind not in (READER, NETWORK):
        raise StorageError(f"{path}: a directory of kind {kind!r}; wanted a model that `adapt` wrote")
    return bool(kind == READER)


def load_language(
    path: Path, *, device: str = "cpu", scorer: Scorer | None = None
) -> "ReaderModel | AdaptedModel":
    """Read what ``protoglot adapt`` wrote; PyTorch is imported for networks alone.

    Args:
        path: the directory.
        device: for a network.
        scorer: that a reader was made with; by default the installed one.

    Raises:
        StorageError: if it is damaged or something else.
    """
    if is_reader(path):
        return ReaderModel.load(path, scorer)
    from protoglot.adapted import AdaptedModel

    return AdaptedModel.load(path, device=device)
