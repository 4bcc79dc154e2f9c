"""Codes and names of the world's languages (ISO 639)."""

from functools import lru_cache

# Where the two-letter code names a macrolanguage but a single language is meant in practice, and
# URIEL has its data under that single language or under the macrolanguage's code.
_TWO_LETTER_EXCEPTIONS = {"no": "nor", "sq": "sqi", "et": "est", "lv": "lav"}


@lru_cache(maxsize=4096)
def language_name(code: str) -> str | None:
    """English reference name of an ISO 639-3 (or 639-1) code, or ``None``.

    >>> language_name("eus")
    'Basque'
    """
    from iso639 import Lang
    from iso639.exceptions import DeprecatedLanguageValue, InvalidLanguageValue

    try:
        name = Lang(code).name
    except (InvalidLanguageValue, DeprecatedLanguageValue):
        return None
    return str(name)


@lru_cache(maxsize=512)
def from_two_letters(code: str) -> str | None:
    """ISO 639-3 code of a two-letter code of ISO 639-1, or ``None``.

    >>> from_two_letters("eu")
    'eus'
    """
    from iso639 import Lang
    from iso639.exceptions import DeprecatedLanguageValue, InvalidLanguageValue

    if code in _TWO_LETTER_EXCEPTIONS:
        return _TWO_LETTER_EXCEPTIONS[code]
    try:
        three = Lang(pt1=code).pt3
    except (InvalidLanguageValue, DeprecatedLanguageValue):
        return None
    return str(three) or None
