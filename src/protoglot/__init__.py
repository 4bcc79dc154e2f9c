"""protoglot: language models for languages with next to no text.

Importing the package does no work; every heavy import happens where it is used.
"""

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

_CALLS = ("load_model", "load_prior")  # of protoglot.api, which takes seconds to import

__all__ = ["__version__", "load_model", "load_prior"]


def __getattr__(name: str) -> "Any":  # noqa: ANN401 - whatever the name stands for
    """The calls of :mod:`protoglot.api`, imported where they are first used."""
    import importlib

    if name in _CALLS:
        return getattr(importlib.import_module("protoglot.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
