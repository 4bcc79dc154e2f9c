"""Which known character a new one is most like: where the network may start from when it meets a new letter.

An accented letter is like the plain one, a capital like the small letter, and a letter of another script like the Latin
one that its name in Unicode begins with (``CYRILLIC SMALL LETTER BE``, ``ARABIC LETTER BEH``: b).
"""

import contextlib
import unicodedata
from collections.abc import Container, Iterator

_MARKS = {
    "COMMA": ",",
    "QUESTION MARK": "?",
    "EXCLAMATION MARK": "!",
    "SEMICOLON": ";",
    "COLON": ":",
    "FULL STOP": ".",
    "DANDA": ".",
    "APOSTROPHE": "'",
    "QUOTATION MARK": '"',
    "LEFT PARENTHESIS": "(",
    "RIGHT PARENTHESIS": ")",
    "HYPHEN": "-",
    "DASH": "-",
}
_SOUNDS = (" LETTER ", " VOWEL SIGN ", " SYLLABLE ")


def find_relative(character: str, known: Container[str]) -> str | None:
    """The known character that one is most like, if there is any.

    >>> find_relative("é", "abcde"), find_relative("Б", "abc"), find_relative("٣", "0123"), find_relative("語", "abc")
    ('e', 'b', '3', None)
    """
    return next((each for each in _candidates(character) if each != character and each in known), None)


def _candidates(character: str) -> Iterator[str]:
    """Characters like one, the most alike first; not all of them letters, and some maybe none at all."""
    yield from (character.lower(), character.upper())
    plain = unicodedata.normalize("NFKD", character)[:1]
    yield from (plain, plain.lower())
    if (digit := unicodedata.decimal(character, None)) is not None:
        yield str(digit)
    name = unicodedata.name(character, "")
    base = name.partition(" WITH ")[0]
    if base != name:
        with contextlib.suppress(KeyError):
            yield unicodedata.lookup(base)
    for words, mark in _MARKS.items():
        if name.endswith(words):
            yield mark
    for words in _SOUNDS:
        if words in base:
            spelled = base.rpartition(" ")[2]
            if base.startswith("LATIN") and len(spelled) > 1:
                continue  # a name, such as SCHWA, that is not how the letter is written elsewhere
            sound = spelled[:1]
            if "CAPITAL" in base:
                yield sound
            yield sound.lower()
