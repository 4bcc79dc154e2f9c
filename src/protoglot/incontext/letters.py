"""Letters that stand for others: in disguise while the network is taught, and for letters it has never met.

A network that is to learn any language must not rely on which language has which letters. So while it is taught the
letters of a language trade places, most of the time: vowels with vowels, consonants with consonants, and each capital,
as far as it can, with its small letter. What it learns of a letter is then what it reads, and little else; and for a
letter that it has never met, any that is not in use will do.
"""

import string
import unicodedata
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from protoglot.relatives import find_relative
from protoglot.vocabulary import NUM_SYMBOLS, OTHER, Vocabulary

Ids = NDArray[np.int64]

_VOWELS = frozenset("aeiouyæøœıɐɑɒɔəɘɛɜɨɪɯɵʉʊʌʏ")


def kind_of(character: str) -> str:
    """What letters may stand for each other; those of scripts without capitals are small.

    >>> kind_of("é"), kind_of("b"), kind_of("B"), kind_of("и"), kind_of("!")
    ('small vowel', 'small consonant', 'capital consonant', 'small vowel', '')
    """
    if not character.isalpha():
        return ""
    plain = unicodedata.normalize("NFD", character)[0].lower()
    if plain not in _VOWELS and plain not in string.ascii_lowercase:
        plain = find_relative(plain, string.ascii_lowercase) or plain
    return f"{'capital' if character.isupper() else 'small'} {'vowel' if plain in _VOWELS else 'consonant'}"


def disguise(vocabulary: Vocabulary, generator: np.random.Generator) -> Ids:
    """Ids of the characters that stand for those of a vocabulary, (V,), each for one; letters keep their kind."""
    found = np.arange(len(vocabulary))
    ids = _ids_of(vocabulary)
    by_kind: dict[str, list[int]] = {}
    for character, id_ in ids.items():
        by_kind.setdefault(kind_of(character), []).append(id_)
    for kind, members in by_kind.items():
        if kind.startswith("small"):
            found[members] = generator.permutation(members)
    for kind, members in by_kind.items():
        if kind.startswith("capital"):
            found[members] = _deal_capitals(members, found, vocabulary, ids, generator)
    return found


def _deal_capitals(
    members: list[int], found: Ids, vocabulary: Vocabulary, ids: Mapping[str, int], generator: np.random.Generator
) -> list[int]:
    """Which capitals stand for those of a kind: that of the small letter's stand-in, or any that is left."""
    left = dict.fromkeys(generator.permutation(members).tolist())
    chosen: dict[int, int] = {}
    for id_ in members:
        small = ids.get(vocabulary.characters[id_ - NUM_SYMBOLS].lower())
        if small is not None:
            stand_in = ids.get(vocabulary.characters[found[small] - NUM_SYMBOLS].upper())
            if stand_in is not None and stand_in in left:
                chosen[id_] = stand_in
                del left[stand_in]
    rest = iter(left)
    return [chosen[id_] if id_ in chosen else next(rest) for id_ in members]


def stand_ins(vocabulary: Vocabulary, known: Vocabulary, used: Collection[str]) -> Ids:
    """Ids, in a vocabulary that the network knows, of characters that stand for those of another, (V,).

    A known character stands for itself. A new one is stood for by the one it is most like, if that is not in use; or
    else by an unused letter of the same kind, as long as there are any: two letters that look alike to the network
    are told apart by their company alone.

    Args:
        vocabulary: extends ``known``.
        known: of the network.
        used: characters of the text at hand.
    """
    ids = _ids_of(known)
    free: dict[
        str, list[str]
    ] = {}  # known characters that stand for nothing yet, by kind, the last to be taken first
    for character in reversed(known.characters):
        if character not in used:
            free.setdefault(kind_of(character), []).append(character)
    found = np.arange(len(vocabulary))
    for place, character in enumerate(vocabulary.characters[len(known) - NUM_SYMBOLS :], start=len(known)):
        relative = find_relative(character, ids)
        chosen = _take(free, relative, kind_of(relative or character)) or relative
        found[place] = OTHER if chosen is None else ids[chosen]
    return found


def _take(free: dict[str, list[str]], relative: str | None, kind: str) -> str | None:
    """Take a character that stands for nothing yet, the best there is; ``None`` if none is left."""
    if relative is not None and relative in free.get(kind, ()):
        free[kind].remove(relative)
        return relative
    others = [each for each in free if each and each != kind] if kind else []
    for choice in (kind, *others):
        if free.get(choice):
            return free[choice].pop()
    return None


def _ids_of(vocabulary: Vocabulary) -> dict[str, int]:
    return {character: id_ for id_, character in enumerate(vocabulary.characters, start=NUM_SYMBOLS)}
