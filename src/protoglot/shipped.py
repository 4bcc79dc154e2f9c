"""The prior that is installed with protoglot."""

from importlib.resources import files
from pathlib import Path

from protoglot.errors import StorageError

SCORER, PRIOR = "scorer", "prior"
"""Directories in the package, and in what ``protoglot build`` makes."""


def shipped_prior() -> Path:
    """Directory of the prior that is part of the package.

    Raises:
        StorageError: if the package was built without it.
    """
    path = Path(str(files("protoglot.data") / PRIOR))
    if not path.is_dir():
        raise StorageError(f"{path}: no prior is installed; wanted one, or the path of your own")
    return path
