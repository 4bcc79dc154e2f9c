"""Codes and names of the world's languages (ISO 639)."""

import difflib
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

# Two-letter codes of macrolanguages stay macrolanguages in ISO 639-3 where URIEL has observed its features under
# the macrolanguage's code, as it has for all those of the installed text (ar az et fa ku lv ms no or sq zh). These
# are spelt out because databases of codes disagree about them, and the single languages have less (ekk, lvs, als).
_TWO_LETTER_EXCEPTIONS = {"no": "nor", "sq": "sqi", "et": "est", "lv": "lav"}

BIBLE_CORPUS_CORRECTIONS = {
    "alb": "sqi",  # the librarians' code (ISO 639-2/B) of Albanian; URIEL has most of its data under sqi
    "jak": "jac",  # Jakalteko under the code of Jakun, a language of Malaysia, in older releases
    "que": "quw",  # all of Quechua; the text is the lowland Quichua of Tena
    "rmn": "rom",  # Balkan Romani, of which URIEL has observed nothing; its data are under Romani
    "ssw": "swh",  # Swahili under the code of Swati, in the header of the file and in older releases
    "ttq": "tmh",  # Tamajaq, of which URIEL has observed nothing; its data are under Tamashek
}
"""Codes of christos-c/bible-corpus -> ISO 639-3 codes under which URIEL has the data of the language meant.

Its other codes are right, and URIEL knows them. Of ``dik``, ``dop``, ``pot``, ``ppk`` and ``slk`` it has
observed nothing, so that their features are all predicted; only of ``dik`` are there data under the
macrolanguage (``din``), which are not used, as in the paper.
"""


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


@lru_cache(maxsize=16_384)
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


def codes_for(code: str) -> frozenset[str]:
    """Codes under which text of a language may go: its own, its macrolanguage's, or those of its members.

    >>> sorted(codes_for("nob")), sorted(codes_for("nor"))
    (['nob', 'nor'], ['nno', 'nob', 'nor'])
    """
    from iso639 import Lang

    if not is_current(code):
        return frozenset([code])
    language = Lang(pt3=code)
    macrolanguage = language.macro()
    others = [macrolanguage] if macrolanguage else language.individuals()
    return frozenset([code, *(str(other.pt3) for other in others)])


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


def described_name(code: str) -> str | None:
    """English name of a code, withdrawn codes included, or ``None``.

    >>> described_name("mol")
    'Moldavian, a retired code'
    """
    if retired := retired_language(code):
        return f"{retired.name}, a retired code"
    return language_name(code)


def titled(code: str) -> str:
    """Name and code of a language, or the code alone where it has no name.

    >>> titled("eus")
    'Basque (eus)'
    """
    name = described_name(code)
    return f"{name} ({code})" if name else code


def readings(text: str, known: Collection[str]) -> list[str]:
    """Codes, among those known, of the languages that a text can mean: a code of two or three letters, or a name.

    A code in lower case is only read as a code (``fur`` is Friulian); with capitals it may be a name as well
    (``Fur``). A bibliographic code gives the code of ISO 639-3, even if it is known itself. A name that no
    language bears stands for all that add a qualifier ("Greek": "Greek, Modern", "Greek, Ancient", ...).
    """
    text = " ".join(text.split())
    code = _read_as_code(text.lower(), known)
    if code is not None and text.islower():
        return [code]
    wanted, names = text.casefold(), codes_by_name()
    bearers = set(names.get(wanted, ()))
    if not bearers and wanted:
        qualified = (f"{wanted} (", f"{wanted}, ")
        bearers = {bearer for name, codes in names.items() if name.startswith(qualified) for bearer in codes}
    return sorted({bearer for bearer in bearers if bearer in known} | ({code} if code else set()))


def substitutes(text: str, known: Collection[str]) -> list[str]:
    """Codes, among those known, that may serve for a language that is not, the best first.

    For a code of ISO 639-3: its macrolanguage and that one's members, the withdrawn codes that it replaces, or
    languages called by the last word of its name ("Western Armenian": "Armenian"); for a withdrawn code: those
    that replace it. Where these fail, languages of similar name, or whose code begins alike.
    """
    code = text.lower()
    name = text
    if retired := retired_language(code):
        name, kin = retired.name, list(retired.successors)
    elif is_current(code):
        name = language_name(code) or text
        kin = [*relatives(code), *(other for other in known if _is_replaced(other, by=code))]
        kin = kin or readings(name.split()[-1], known)
    else:
        kin = readings(text, known)  # for a caller who takes codes alone and was given a name
    near = [other for other in kin if other in known]
    if not near:
        near = _spelt_like(name, known)
    if not near and len(code) == 3:
        near = sorted(other for other in known if other[:2] == code[:2])
    return near


def _read_as_code(code: str, known: Collection[str]) -> str | None:
    better = from_two_letters(code) if len(code) == 2 else from_bibliographic(code)
    if better is not None and better in known:
        return better
    return code if code in known else None


def _is_replaced(code: str, *, by: str) -> bool:
    retired = retired_language(code)
    return retired is not None and by in retired.successors


def _spelt_like(text: str, known: Collection[str]) -> list[str]:
    names = {name: codes for name, codes in codes_by_name().items() if any(code in known for code in codes)}
    near = difflib.get_close_matches(text.casefold(), names, n=3)
    return list(dict.fromkeys(code for name in near for code in sorted(names[name]) if code in known))
