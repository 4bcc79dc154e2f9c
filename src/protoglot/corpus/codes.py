"""Codes of languages that are unique in their corpus and safe as names of files."""

import re
from collections.abc import Iterable

_UNSAFE = re.compile(r"[^A-Za-z0-9_]+")


def safe_code(text: str) -> str:
    """Text with everything but ASCII letters, digits and ``_`` replaced by single hyphens.

    >>> safe_code("K'iche'-NT")
    'K-iche-NT'
    """
    return _UNSAFE.sub("-", text).strip("-")


def distinct_codes(codes: Iterable[str]) -> list[str]:
    """Codes with ``-2``, ``-3``, ... added to those that occurred before, upper and lower case taken as the same.

    >>> distinct_codes(["eng", "eng-WEB", "eng-web", "eng"])
    ['eng', 'eng-WEB', 'eng-web-2', 'eng-2']
    """
    taken: set[str] = set()
    distinct = []
    for code in codes:
        candidate, number = code, 1
        while candidate.casefold() in taken:
            number += 1
            candidate = f"{code}-{number}"
        taken.add(candidate.casefold())
        distinct.append(candidate)
    return distinct
