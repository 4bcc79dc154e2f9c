"""Failures that the user can mend.

Each message is one line that names the thing, the value found and the value wanted. The command line
prints it and exits with 2; any other exception is a bug and keeps its traceback.
"""


class ProtoglotError(Exception):
    """Base of all errors of the user's making."""


class TextError(ProtoglotError):
    """A text that cannot be read as Unicode sentences."""


class CorpusError(ProtoglotError):
    """A corpus that is missing, damaged, not of the kind it claims to be, or cannot be fetched."""


class StorageError(ProtoglotError):
    """A file that cannot be written, or one that is damaged, truncated or foreign."""


class TypologyError(ProtoglotError):
    """A language or feature that the typological database does not know."""


class SplitError(ProtoglotError):
    """A split, sample or partition that cannot be made as asked."""


class VocabularyError(ProtoglotError):
    """A saved vocabulary that is damaged, or an id outside it."""


class ConfigError(ProtoglotError):
    """A setting that is unknown or out of range."""


class TrainingError(ProtoglotError):
    """A training run that cannot start or go on."""
