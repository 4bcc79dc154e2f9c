"""Codes and names of the world's languages (ISO 639)."""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

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


class RetiredLanguage(NamedTuple):
    """A code that ISO 639-3 has withdrawn."""

    name: str
    successors: tuple[str, ...]
    """Codes that ISO 639-3 gives instead; empty where the language was found not to exist."""


@lru_cache(maxsize=512)
def retired_language(code: str) -> RetiredLanguage | None:
    """What ISO 639-3 says of a withdrawn code, or ``None`` for any other.

    >>> retired_language("mol")
    RetiredLanguage(name='Moldavian', successors=('ron',))
    """
    from iso639 import Lang
    from iso639.exceptions import DeprecatedLanguageValue, InvalidLanguageValue

    try:
        Lang(code)
    except DeprecatedLanguageValue as retired:
        # After a split the successors are named only in a sentence: "Split into Gwak [jgk] and Bankal [jjr]".
        successors = [retired.change_to] if retired.change_to else re.findall(r"\[(\w{3})\]", retired.ret_remedy)
        return RetiredLanguage(str(retired.name), tuple(dict.fromkeys(successors)))
    except InvalidLanguageValue:
        pass
    return None


@lru_cache(maxsize=512)
def from_bibliographic(code: str) -> str | None:
    """ISO 639-3 code of a bibliographic code of ISO 639-2 that differs from it, or ``None``.

    >>> from_bibliographic("alb")
    'sqi'
    """
    from iso639 import Lang
    from iso639.exceptions import DeprecatedLanguageValue, InvalidLanguageValue

    try:
        three = Lang(pt2b=code).pt3
    except (InvalidLanguageValue, DeprecatedLanguageValue):
        return None
    return str(three) if three and three != code else None


def is_current(code: str) -> bool:
    """Whether a code is in ISO 639-3 as it stands (not withdrawn, not of another part of ISO 639)."""
    from iso639 import Lang
    from iso639.exceptions import DeprecatedLanguageValue, InvalidLanguageValue

    try:
        return bool(Lang(pt3=code).pt3)
    except (InvalidLanguageValue, DeprecatedLanguageValue):
        return False


def relatives(code: str) -> tuple[str, ...]:
    """Macrolanguage of a code of ISO 639-3 (first) and that macrolanguage's other members, or its own members.

    >>> relatives("nob")
    ('nor', 'nno')
    """
    from iso639 import Lang

    if not is_current(code):
        return ()
    language = Lang(pt3=code)
    macrolanguage = language.macro()
    members = [str(member.pt3) for member in (macrolanguage or language).individuals()]
    heads = [str(macrolanguage.pt3)] if macrolanguage else []
    return tuple(other for other in (*heads, *members) if other != code)


@lru_cache(maxsize=1)
def codes_by_name() -> Mapping[str, frozenset[str]]:
    """English names of ISO 639-3, reference and others, in lower case -> the codes that bear them."""
    from iso639 import iter_langs

    codes: dict[str, set[str]] = {}
    for language in iter_langs():
        if language.pt3:
            for name in (language.name, *language.other_names()):
                codes.setdefault(name.casefold(), set()).add(str(language.pt3))
    return MappingProxyType({name: frozenset(bearers) for name, bearers in codes.items()})
