"""protoglot: language models for languages with next to no text.

Importing the package does no work; every heavy import happens where it is used.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
