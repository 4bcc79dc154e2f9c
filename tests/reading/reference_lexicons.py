"""Lexicons by dictionaries of strings: slow, and written from the definitions rather than from the compiled code."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from protoglot.reading.characters import Class, class_of, folded, is_word_character
from protoglot.reading.lexical import DISCOUNT
from protoglot.reading.lexicons import Lexicons, WordList

LONGEST_SUFFIX = 5
WHOLE_WORD = LONGEST_SUFFIX + 1
FEWEST_LETTERS_TOO_MANY = 40
END = ""  # in place of a letter
EXPONENT = 0.75
FORGETTING, SHARE, FLOOR = 0.98, 0.005, 1e-3


def weight_of(count: float) -> float:
    """How much a word counts that came so often: what is stored is an eighth of a doubling, up to 127 of them."""
    return 2 ** (min(round(8 * math.log2(count)), 127) / 8 * EXPONENT)


def stored_words(words: WordList, characters: list[str]) -> dict[tuple[str, bool], int]:
    """Words of a list, each with what is stored of its count."""
    alphabet = [characters[number - 1] for number in words.alphabet]
    found: dict[tuple[str, bool], int] = {}
    word, done = "", 0
    for shared, length, count in zip(words.shared, words.lengths, words.counts, strict=True):
        further = "".join(alphabet[place] for place in words.letters[done : done + length])
        done += length
        word = word[:shared] + further
        assert (word, count >= 128) not in found
        found[word, bool(count >= 128)] = int(count) % 128
    assert done == len(words.letters)
    return found


def is_capital(character: str) -> bool:
    return class_of(character) in (Class.CAPITAL_VOWEL, Class.CAPITAL_CONSONANT)


class ReferenceLexicon:
    """What follows the beginning of a word.

    Args:
        words: weight of each, with whether it begins with a capital.
    """

    def __init__(self, words: Mapping[tuple[str, bool], float]) -> None:
        self.followers: dict[tuple[int, object], Counter[str]] = defaultdict(Counter)
        for (word, capital), weight in words.items():
            for i in range(len(word) + 1):
                letter = word[i] if i < len(word) else END
                for context in self.contexts(word[:i], capital):
                    self.followers[context][letter] += weight

    @classmethod
    def of(cls, lexicons: Lexicons, code: str) -> "ReferenceLexicon":
        """The one of a language."""
        stored = stored_words(lexicons.lists[code], lexicons.characters)
        return cls({word: 2 ** (steps / 8 * EXPONENT) for word, steps in stored.items()})

    @staticmethod
    def contexts(start: str, capital: bool) -> Iterator[tuple[int, object]]:
        """The longest first; the beginning of a word is a letter of its own."""
        if len(start) >= FEWEST_LETTERS_TOO_MANY:
            return
        if start:
            yield WHOLE_WORD, (start, capital)
        marked = "^" + start
        for order in range(LONGEST_SUFFIX, 0, -1):
            if len(marked) >= order:
                yield order, marked[-order:]
        if start:
            yield 0, ""

    def predict(self, start: str, capital: bool) -> tuple[dict[str, float], int, float]:
        """Probability of each letter and of the end; the longest context known, -1 for none; what is left to others."""
        found: dict[str, float] = defaultdict(float)
        longest, left = -1, 1.0
        for order, context in self.contexts(start, capital):
            if (order, context) not in self.followers:
                continue
            followers = self.followers[order, context]
            longest = max(longest, order)
            for letter, weight in followers.items():
                found[letter] += left * (weight - DISCOUNT) / followers.total()
            left *= DISCOUNT * len(followers) / followers.total()
        return dict(found), longest, left


class ReferenceLexicons:
    """What the lexicons say while a text is read."""

    def __init__(self, lexicons: Lexicons) -> None:
        self.lexicons = lexicons
        self.known = set(lexicons.characters)
        self.single = {code: ReferenceLexicon.of(lexicons, code) for code in lexicons.lists}
        self.shares: dict[str, float] = {}

    def letter_of(self, character: str) -> str | None:
        """Letter of a character: its small form, the end of a word, or none if no lexicon has it."""
        if not is_word_character(character):
            return END
        return folded(character) if folded(character) in self.known else None

    @staticmethod
    def start_of_word(text: str) -> tuple[str, bool]:
        """The word so far in small letters, and whether it begins with a capital."""
        first = len(text)
        while first and is_word_character(text[first - 1]):
            first -= 1
        word = text[first:]
        return "".join(map(folded, word)), bool(word) and is_capital(word[0])

    def of_relatives(self, text: str) -> tuple[dict[str, float], int]:
        """The mixture of the languages that are followed, and the longest context that one of them knows."""
        found: dict[str, float] = defaultdict(float)
        longest = -1
        for code, share in self.shares.items():
            single, known, _ = self.single[code].predict(*self.start_of_word(text))
            longest = max(longest, known)
            for letter, p in single.items():
                found[letter] += share * p
        return dict(found), longest

    def of_pool(self, text: str) -> tuple[dict[str, float], int]:
        """What the words of many languages say."""
        if "*" not in self.single:
            return {}, -1
        found, longest, _ = self.single["*"].predict(*self.start_of_word(text))
        return found, longest

    def weigh(self, text: str, character: str) -> None:
        """Weigh the languages by what each gave to a character, where that belongs to a word or ends one."""
        start, capital = self.start_of_word(text)
        letter = self.letter_of(character)
        if letter is None or (letter == END and not start):
            return
        for code in self.shares:
            p = self.single[code].predict(start, capital)[0].get(letter, 0.0)
            self.shares[code] = self.shares[code] ** FORGETTING * ((1 - FLOOR) * p + FLOOR)
        total = sum(self.shares.values())
        for code in self.shares:
            self.shares[code] = (1 - SHARE) * self.shares[code] / total + SHARE / len(self.shares)
