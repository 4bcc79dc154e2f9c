"""Letters that stand for others: in disguise while the network is taught, and for letters it has never met.

A network that is to learn any language must not rely on which language has which letters. So while it is taught the
letters of a language trade places, most of the time: vowels with vowels, consonants with consonants, and each capital
with its small letter. What it learns of a letter is then what it reads, and little else; and for a letter that it has
never met, any that is not in use will do.
"""

import unicodedata
from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from protoglot.relatives import find_relative
from protoglot.vocabulary import NUM_SYMBOLS, Vocabulary

Ids = NDArray[np.int64]

_VOWELS = frozenset("aeiouyæøœıɐɑɒɔəɘɛɜɨɪɯɵʉʊʌʏ")


def kind_of(character: str) -> str:
    """What letters may stand for each other.

    >>> kind_of("é"), kind_of("b"), kind_of("B"), kind_of("!")
    ('small vowel', 'small consonant', 'capital consonant', '')
    """
    if not character.isalpha():
        return ""
    plain = unicodedata.normalize("NFD", character)[0]
    sound = "vowel" if plain.lower() in _VOWELS else "consonant"
    return f"{'capital' if character.isupper() else 'small'} {sound}"


def disguise(vocabulary: Vocabulary, generator: np.random.Generator) -> Ids:
    """Ids of the characters that stand for those of a vocabulary, (V,); small letters are dealt among themselves."""
    found = np.arange(len(vocabulary))
    ids = {character: id_ for id_, character in enumerate(vocabulary.characters, start=NUM_SYMBOLS)}
    kinds: dict[str, list[int]] = {}
    for character, id_ in ids.items():
        if character.islower():
            kinds.setdefault(kind_of(character), []).append(id_)
    for members in kinds.values():
        found[members] = generator.permutation(members)
    for character, id_ in ids.items():
        small = ids.get(character.lower())
        if character.isupper() and small is not None:
            stand_in = vocabulary.characters[found[small] - NUM_SYMBOLS].upper()
            found[id_] = ids.get(stand_in, id_)
    return found


def stand_ins(vocabulary: Vocabulary, known: Vocabulary, used: Collection[str]) -> Ids:
    """Ids, in a vocabulary that the network knows, of characters that stand for those of another, (V,).

    A known character stands for itself. A new one is stood for by the one it is most like, if that is not in use; or
    else by an unused letter of the same kind, as long as there are any: two letters that look alike to the network
    could not be told apart.

    Args:
        vocabulary: extends ``known``.
        known: of the network.
        used: characters of the text at hand.
    """
    ids = {character: id_ for id_, character in enumerate(known.characters, start=NUM_SYMBOLS)}
    taken = set(used)
    found = np.arange(len(vocabulary))
    for place, character in enumerate(vocabulary.characters[len(known) - NUM_SYMBOLS :], start=len(known)):
        choices = list(_candidates(character, known))
        chosen = next((each for each in choices if each not in taken), choices[place % len(choices)])
        taken.add(chosen)
        found[place] = ids[chosen]
    return found


def _candidates(character: str, known: Vocabulary) -> Iterator[str]:
    """Known characters that might stand for a new one, the best first; never none."""
    relative = find_relative(character, known)
    if relative is not None:
        yield relative
    like = kind_of(relative or character)
    if like:
        yield from (each for each in known.characters if kind_of(each) == like)
        yield from (each for each in known.characters if kind_of(each) not in ("", like))
    yield from (each for each in known.characters if each != relative and not kind_of(each))
