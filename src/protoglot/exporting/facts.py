"""A model's facts as JSON, for programs that are not written in Python.

``{"format": "protoglot-facts", "version": 1, "facts": ..., "vocabulary": ...}``. The facts are those of
:func:`protoglot.description.describe`: language, settings, sizes (of the n-gram, how many contexts and n-grams there
are of each length), how it was made, licences and checksums. The vocabulary lists what can be read and predicted, each
with its id: the symbols ``begin``, ``end`` and ``other``, and all characters of the inventory with their code points.
For a reader, it lists the characters that it has met, the line feed first, each with its number.
"""

import json
from pathlib import Path
from typing import Any

from protoglot.artefacts import HEADER, load_artefact, read_header
from protoglot.description import Facts, describe
from protoglot.errors import StorageError, VocabularyError
from protoglot.reading.reader import KIND as READER
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
    if facts["kind"] == READER:
        return _to_json(facts, _characters_met(path))
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
    return _to_json(facts, entries)


def _characters_met(path: Path) -> list[dict[str, Any]]:
    """The characters that a reader has met, each with its symbol."""
    _, files = load_artefact(path, kind=READER)
    codes = files["reader"]["characters"].tolist()
    return [{"id": id_, "character": chr(code), "code_point": code} for id_, code in enumerate(codes)]


def _to_json(facts: Facts, entries: list[dict[str, Any]]) -> str:
    value = {"format": _FORMAT, "version": _VERSION, "facts": facts, "vocabulary": entries}
    return json.dumps(value, indent=1) + "\n"
