"""Codes of languages that are unique in their corpus and safe as names of files."""

import re
from collections.abc import Iterable

UNDETERMINED = "und"
"""Code of texts in no language that has one."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_]+")


def safe_code(text: str) -> str:
    """Text with everything but ASCII letters, digits and ``_`` replaced by single hyphens.

    >>> safe_code("K'iche'-NT")
    'K-iche-NT'
    """
    return _UNSAFE.sub("-", text).strip("-")


def distinct_codes(texts: Iterable[tuple[str, str]]) -> list[str]:
    """A code for each text, given as its language and what tells it from others in that language.

    The first text in a language has its code, the others a suffix, as have all that are :data:`UNDETERMINED`.
    ``-2``, ``-3``, ... follow where that is not enough, upper and lower case taken as the same.

    >>> distinct_codes([("eng", "KJV"), ("eng", "WEB"), ("eng", "web"), ("eng", "?"), ("und", "012")])
    ['eng', 'eng-WEB', 'eng-web-2', 'eng-other', 'und-012']
    """
    taken = {UNDETERMINED}
    codes = []
    for language, suffix in texts:
        is_first = language.casefold() not in taken
        wanted = language if is_first else f"{language}-{safe_code(suffix) or 'other'}"
        code, number = wanted, 1
        while code.casefold() in taken:
            number += 1
            code = f"{wanted}-{number}"
        taken.add(code.casefold())
        codes.append(code)
    return codes
