"""What a reader knows of a character before it has met it: its class, its lower case, whether it belongs to words."""

import unicodedata
from enum import IntEnum
from functools import lru_cache

LINE_FEED = 0
"""Symbol of the line feed in every reader."""

BLANK = 1
"""Symbol of the blank in every reader."""


class Class(IntEnum):
    """Classes of characters, the same for every script."""

    LINE_FEED = 0
    BLANK = 1
    VOWEL = 2
    CONSONANT = 3
    CAPITAL_VOWEL = 4
    CAPITAL_CONSONANT = 5
    DIGIT = 6
    STOP = 7
    COMMA = 8
    OPENING = 9
    CLOSING = 10
    APOSTROPHE = 11
    MARK = 12
    UNCASED = 13
    HYPHEN = 14
    OTHER = 15


NUM_CLASSES = len(Class)

_VOWELS = frozenset("aeiouyæœøıɨʉɯɪʏʊɘɵɤəɛɜɞʌɔɐɶɑɒαεηιουωаеиоуыэюя")
_STOPS = frozenset(".?!。।։؟۔።…")
_COMMAS = frozenset(",;:،؛፣፤፥·")
_APOSTROPHES = frozenset("'’ʼꞌˈʻʽˊ`´Ꞌꞌʹʾʿˀˁ")


@lru_cache(maxsize=65_536)
def class_of(character: str) -> Class:
    """Class of a character.

    >>> class_of("é").name, class_of("Ŋ").name, class_of("ܐ").name, class_of("«").name
    ('VOWEL', 'CAPITAL_CONSONANT', 'UNCASED', 'OPENING')
    """
    if character == "\n":
        return Class.LINE_FEED
    if character.isspace():
        return Class.BLANK
    for members, found in ((_STOPS, Class.STOP), (_COMMAS, Class.COMMA), (_APOSTROPHES, Class.APOSTROPHE)):
        if character in members:
            return found
    category = unicodedata.category(character)
    if category in ("Ll", "Lu", "Lt"):
        is_vowel = unicodedata.normalize("NFD", character)[0].lower() in _VOWELS
        if category == "Ll":
            return Class.VOWEL if is_vowel else Class.CONSONANT
        return Class.CAPITAL_VOWEL if is_vowel else Class.CAPITAL_CONSONANT
    by_category = {
        "Lm": Class.APOSTROPHE,
        "Lo": Class.UNCASED,
        "Ps": Class.OPENING,
        "Pi": Class.OPENING,
        "Pe": Class.CLOSING,
        "Pf": Class.CLOSING,
        "Pd": Class.HYPHEN,
    }
    if category[0] == "M":
        return Class.MARK
    if category[0] == "N":
        return Class.DIGIT
    return by_category.get(category, Class.OTHER)


_WORD_CLASSES = frozenset(
    {
        Class.VOWEL,
        Class.CONSONANT,
        Class.CAPITAL_VOWEL,
        Class.CAPITAL_CONSONANT,
        Class.DIGIT,
        Class.APOSTROPHE,
        Class.MARK,
        Class.UNCASED,
    }
)


def is_word_character(character: str) -> bool:
    """Whether a character is part of a word."""
    return class_of(character) in _WORD_CLASSES


def folded(character: str) -> str:
    """The lower-case form of a character, where that is one character."""
    lower = character.lower()
    return lower if len(lower) == 1 else character


@lru_cache(maxsize=65_536)
def base_letter(character: str) -> str:
    """The lower-case letter without its accents.

    >>> base_letter("Ế"), base_letter("ạ")
    ('e', 'a')
    """
    return folded(unicodedata.normalize("NFD", character)[0])
