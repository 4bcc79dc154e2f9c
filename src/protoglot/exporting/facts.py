"""A model's facts as JSON, for programs that are not written in Python.

``{"format": "protoglot-facts", "version": 1, "facts": ..., "vocabulary": ...}``. The facts are those of
:func:`protoglot.description.describe`: language, settings, sizes (of the n-gram, how many contexts and n-grams there
are of each length), how it was made, licences and checksums. The vocabulary lists what can be read and predicted, each
with its id: the symbols ``begin``, ``end`` and ``other``, and all characters of the inventory with their code points.
"""

import json
from pathlib import Path
from typing import Any

from protoglot.artefacts import HEADER, read_header
from protoglot.description import describe
from protoglot.errors import StorageError, VocabularyError
from protoglot.vocabulary import BEGIN, END, NUM_SYMBOLS, OTHER, Vocabulary

_FORMAT = "protoglot-facts"
_VERSION = 1


def to_json_facts(path: Path) -> str:
    """The facts of a directory that protoglot wrote.

    Raises:
        StorageError: if it is something else, damaged, or without a vocabulary.
    """
    facts = describe(path)
    name = str(path / HEADER)
    try:
        vocabulary = Vocabulary.from_json(read_header(path)["content"].get("vocabulary"), name=name)
    except VocabularyError as error:
        raise StorageError(str(error)) from error
    entries: list[dict[str, Any]] = [
        {"id": BEGIN, "symbol": "begin"},
        {"id": END, "symbol": "end"},
        {"id": OTHER, "symbol": "other"},
        *(
            {"id": id_, "character": character, "code_point": ord(character)}
            for id_, character in enumerate(vocabulary.characters, start=NUM_SYMBOLS)
        ),
    ]
    value = {"format": _FORMAT, "version": _VERSION, "facts": facts, "vocabulary": entries}
    return json.dumps(value, indent=1) + "\n"
