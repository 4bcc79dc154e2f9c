"""The scorer that is installed with protoglot."""

from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from protoglot.errors import StorageError
from protoglot.reading.scorer import Scorer


def shipped_scorer_path() -> Path:
    """Directory of the scorer that is part of the package.

    Raises:
        StorageError: if the package was built without it.
    """
    path = Path(str(files("protoglot.data") / "scorer"))
    if not path.is_dir():
        raise StorageError(f"{path}: no scorer is installed; wanted one, or the path of your own")
    return path


@lru_cache(maxsize=1)
def shipped_scorer() -> Scorer:
    """The scorer that is part of the package, read once."""
    return Scorer.load(shipped_scorer_path())
