"""Which writing system a text is in."""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

import regex

# Scripts with living users or sizeable corpora, roughly by how often they are met: the order is the order
# of the tests. A letter of any other script counts as "Other".
SCRIPTS = (
    "Latin", "Cyrillic", "Arabic", "Han", "Devanagari", "Greek", "Hebrew", "Bengali", "Hangul", "Hiragana",
    "Katakana", "Thai", "Tamil", "Telugu", "Kannada", "Malayalam", "Gujarati", "Gurmukhi", "Oriya", "Sinhala",
    "Georgian", "Armenian", "Ethiopic", "Khmer", "Lao", "Myanmar", "Tibetan", "Mongolian", "Cherokee",
    "Canadian_Aboriginal", "Coptic", "Syriac", "Thaana", "Tifinagh", "Nko", "Vai", "Yi", "Lisu", "Bopomofo",
    "Ol_Chiki", "Meetei_Mayek", "Cham", "Javanese", "Balinese", "Sundanese", "Buginese", "Tagalog", "Limbu",
    "Lepcha", "Tai_Le", "New_Tai_Lue", "Tai_Tham", "Tai_Viet", "Kayah_Li", "Saurashtra", "Rejang", "Batak",
    "Bamum", "Adlam", "Osage", "Hanifi_Rohingya", "Deseret", "Runic", "Ogham", "Gothic", "Glagolitic",
)  # fmt: skip

OTHER_SCRIPT = "Other"

MANY_CHARACTERS = frozenset({"Han", "Hiragana", "Katakana", "Hangul"})
"""Scripts whose characters are too many to be learned one by one."""


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, "regex.Pattern[str]"], ...]:
    return tuple((script, regex.compile(rf"\p{{Script={script}}}")) for script in SCRIPTS)


@lru_cache(maxsize=65_536)
def script_of(character: str) -> str | None:
    """Script of a letter or of a mark that belongs to one script; ``None`` for all that scripts share.

    >>> script_of("ß"), script_of("ж"), script_of(","), script_of("3")
    ('Latin', 'Cyrillic', None, None)
    """
    if not regex.match(r"[\p{L}\p{M}]", character) or regex.match(
        r"\p{Script=Common}|\p{Script=Inherited}", character
    ):
        return None
    for script, pattern in _patterns():
        if pattern.match(character):
            return script
    return OTHER_SCRIPT


def script_shares(counts: Mapping[str, int]) -> dict[str, float]:
    """Share of each script among the letters counted, largest first; empty if there are no letters."""
    by_script: Counter[str] = Counter()
    for character, count in counts.items():
        script = script_of(character)
        if script is not None:
            by_script[script] += count
    total = by_script.total()
    ordered = sorted(by_script.items(), key=lambda item: (-item[1], item[0]))
    return {script: count / total for script, count in ordered}
