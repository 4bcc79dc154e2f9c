"""The words of many languages, and which of these languages are like a text.

A lexicon holds the commonest words of a language with their counts, and no running text. The languages of a text are
found by the text alone: by the trigrams of its letters. One more lexicon, the *pool*, has the words that many languages
share, such as names, each as often as there are languages that have it.
"""

import threading
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from protoglot.errors import StorageError
from protoglot.reading import lexical
from protoglot.reading.characters import folded, is_word_character

NUM_BUCKETS = 4096
NUM_RELATIVES = 4
"""Languages that are followed at once."""

CHOICES = (12, *(25 << k for k in range(11)))
"""Characters after which languages are chosen, from 12 to 25,600."""

POOL = "*"
"""Code of the pool."""

_NUM_WORDS = 9000  # of a language
_NUM_POOLED = 12_000
_FEWEST_LANGUAGES = 4  # that have a word of the pool
_EXPONENT = 0.75  # of counts: frequent words count, but not that much
_PER_DOUBLING = 8  # steps of stored counts
_CAPITAL = 128
_BACKGROUND = 0.5  # share of all languages together in the trigrams of each
_NATS = 80.0  # that a language is ahead of others for each standard deviation that it is nearer
_REACH = 2.0  # where letters are counted, a language counts e to this more often for each standard deviation
_NEAR = 0.9  # share of these counts; the rest counts all languages alike
_TRUST = 0.5  # power of the ratio of these counts to plain ones
_FEW_LETTERS = 1e-3  # share of letters from which on a language has a letter, not only in borrowed words
_FEW_LANGUAGES = 1e-4  # likewise, share of languages
_BLUR = 0.1  # of log likelihood ratios, as letters of a text depend on one another

Table = tuple[NDArray[Any], ...]


def words_of(text: str) -> list[tuple[str, bool]]:
    """Words of a text, in small letters, and whether each begins with a capital; none with digits.

    >>> words_of("Ta Sk'an, te 4 wixe")
    [('ta', True), ("sk'an", True), ('te', False), ('wixe', False)]
    """
    characters = set(text)
    separators = {ord(character): " " for character in characters if not is_word_character(character)}
    small = {ord(character): folded(character) for character in characters}
    return [
        (word.translate(small), folded(word[0]) != word[0])
        for word in text.translate(separators).split()
        if len(word) < lexical.LONGEST_WORD and not any(map(str.isdigit, word))
    ]


@dataclass(frozen=True, slots=True)
class WordList:
    """Words of a language, as they are stored: sorted, without the beginning that each has from the one before."""

    alphabet: NDArray[np.uint16]
    """Letters that occur, at most 255; as numbers of ``Lexicons.characters`` from 1."""

    shared: NDArray[np.uint8]
    """(W,) letters that each word has from the one before."""

    lengths: NDArray[np.uint8]
    """(W,) further letters of each."""

    counts: NDArray[np.uint8]
    """(W,) eight times the binary logarithm of its count; 128 more if it begins with a capital."""

    letters: NDArray[np.uint8]
    """Further letters of all words, as places in the alphabet."""

    @classmethod
    def of(cls, counts: Mapping[tuple[str, bool], int], numbers: Mapping[str, int]) -> Self:
        """The list of some words."""
        letters_of: Counter[str] = Counter()
        for (word, _), count in counts.items():
            for letter in word:
                letters_of[letter] += count
        alphabet = sorted(letter for letter, _ in letters_of.most_common(255) if letter in numbers)
        place = {letter: i for i, letter in enumerate(alphabet)}
        words = sorted(key for key in counts if all(letter in place for letter in key[0]))
        shared: list[int] = []
        lengths: list[int] = []
        stored: list[int] = []
        letters: list[int] = []
        before = ""
        for word, is_capital in words:
            same = 0
            while same < min(len(word), len(before)) and word[same] == before[same]:
                same += 1
            shared.append(same)
            lengths.append(len(word) - same)
            letters.extend(place[letter] for letter in word[same:])
            steps = min(round(_PER_DOUBLING * float(np.log2(counts[word, is_capital]))), _CAPITAL - 1)
            stored.append(steps + _CAPITAL * is_capital)
            before = word
        return cls(
            np.array([numbers[letter] for letter in alphabet], np.uint16),
            np.array(shared, np.uint8),
            np.array(lengths, np.uint8),
            np.array(stored, np.uint8),
            np.array(letters, np.uint8),
        )

    def check(self, name: str, num_characters: int) -> None:
        """Refuse what is no list.

        Raises:
            StorageError: if sizes or numbers are not what they can be.
        """
        total = self.shared.astype(np.int64) + self.lengths
        sizes = {len(self.shared), len(self.lengths), len(self.counts)}
        is_fine = (
            len(sizes) == 1
            and int(self.lengths.sum(dtype=np.int64)) == len(self.letters)
            and int(total.max(initial=0)) <= lexical.LONGEST_WORD
            and bool((self.shared[1:] <= total[:-1]).all() and (self.shared[:1] == 0).all())
            and int(self.alphabet.max(initial=0)) <= num_characters
            and int(self.letters.max(initial=0)) < max(len(self.alphabet), 1)
        )
        if not is_fine:
            raise StorageError(f"lexicon {name}: sizes or numbers that do not fit; wanted a list of words")

    def table(self) -> Table:
        """Its contexts, counted."""
        starts = np.zeros(len(self.shared) + 1, np.int64)
        np.cumsum(self.shared.astype(np.int64) + self.lengths, out=starts[1:])
        letters = np.zeros(int(starts[-1]), np.int32)
        known = self.alphabet.astype(np.int32)[self.letters] if len(self.letters) else np.zeros(0, np.int32)
        done = 0
        before = letters[:0]
        for i, (shared, length) in enumerate(zip(self.shared.tolist(), self.lengths.tolist(), strict=True)):
            word = letters[starts[i] : starts[i + 1]]
            word[:shared] = before[:shared]
            word[shared:] = known[done : done + length]
            done += length
            before = word
        capitals = (self.counts >= _CAPITAL).astype(np.int64)
        weights = np.exp2((self.counts % _CAPITAL) * (_EXPONENT / _PER_DOUBLING)).astype(np.float32)
        found: Table = lexical.count_words(letters, starts, weights, capitals)
        return found


_DTYPES = {name: np.uint16 if name == "alphabet" else np.uint8 for name in WordList.__slots__}


@dataclass(frozen=True, slots=True)
class Choice:
    """Lexicons to follow."""

    tables: tuple[Table, ...]
    """Of as many lexicons as can be followed, the pool last; some may be empty."""

    languages: tuple[str, ...]
    """Codes of those that count."""

    shares: NDArray[np.float64]
    """How much each counts at first."""


class Lexicons:
    """Lexicons of many languages.

    Args:
        characters: small letters of all; the i-th is letter ``i + 1``.
        lists: by language code; the pool under its own.
        profiles: (languages without the pool, buckets) log probabilities of hashed trigrams.
    """

    def __init__(
        self, characters: Sequence[str], lists: Mapping[str, WordList], profiles: NDArray[np.float16]
    ) -> None:
        self.characters = list(characters)
        self.numbers = {character: i for i, character in enumerate(self.characters, start=1)}
        self.lists = dict(lists)
        self.codes = [code for code in self.lists if code != POOL]
        self.profiles = profiles
        if profiles.shape != (len(self.codes), NUM_BUCKETS):
            raise StorageError(f"lexicons: profiles {profiles.shape}; wanted {(len(self.codes), NUM_BUCKETS)}")
        for code, words in self.lists.items():
            words.check(code, len(self.characters))
        self._tables: dict[str, Table] = {}
        self._lock = threading.Lock()
        self._nothing = WordList.of({}, {}).table()

    @classmethod
    def none(cls) -> Self:
        """No lexicons at all."""
        return cls([], {}, np.zeros((0, NUM_BUCKETS), np.float16))

    @classmethod
    def of(cls, texts: Iterable[tuple[str, Sequence[str]]], *, num_words: int = _NUM_WORDS) -> Self:
        """Lexicons of some texts, by language code; two texts of a code are one."""
        counts: dict[str, Counter[tuple[str, bool]]] = {}
        lines: dict[str, list[str]] = {}
        for code, sentences in texts:
            counts.setdefault(code, Counter()).update(words_of("\n".join(sentences)))
            lines.setdefault(code, []).extend(sentences)
        total: Counter[str] = Counter()
        for found in counts.values():
            total.update({letter for word, _ in found for letter in word})
        characters = sorted(total)
        numbers = {character: i for i, character in enumerate(characters, start=1)}
        pooled: Counter[tuple[str, bool]] = Counter()
        for found in counts.values():
            pooled.update(found.keys())
        common = {word: n for word, n in pooled.most_common(_NUM_POOLED) if n >= _FEWEST_LANGUAGES}
        lists = {code: WordList.of(dict(counts[code].most_common(num_words)), numbers) for code in sorted(counts)}
        lists[POOL] = WordList.of(common, numbers)
        profiles = np.zeros((len(counts), NUM_BUCKETS), np.float64)
        for row, code in enumerate(sorted(counts)):
            text = np.array([numbers.get(folded(c), -1) for c in "\n".join(lines[code])], np.int64)
            lexical.count_trigrams(text, profiles[row])
        profiles /= np.maximum(profiles.sum(axis=1, keepdims=True), 1.0)
        of_all = profiles.mean(axis=0) + 1e-6
        profiles = np.log((1 - _BACKGROUND) * profiles + _BACKGROUND * of_all)
        return cls(characters, lists, profiles.astype(np.float16))

    def number_of(self, character: str) -> int:
        """Letter of a character: that of its small form, the end of a word, or none."""
        if not is_word_character(character):
            return lexical.END
        return self.numbers.get(folded(character), lexical.UNKNOWN)

    def choose(
        self,
        letters: NDArray[np.int64],
        without: Collection[str] = (),
        nearness: NDArray[np.float64] | None = None,
    ) -> Choice:
        """The languages that a text is most like.

        Args:
            letters: of the text, -1 for what is no letter.
            without: codes of languages that do not come into question.
            nearness: what else speaks for each language (:mod:`protoglot.reading.nearness`).
        """
        counts = np.zeros(NUM_BUCKETS, np.float64)
        lexical.count_trigrams(letters, counts)
        used = np.flatnonzero(counts)
        chosen: list[int] = []
        scores = np.zeros(0)
        if self.codes and (len(used) or nearness is not None):
            scores = self.profiles[:, used].astype(np.float64) @ counts[used]
            if nearness is not None:
                scores += _NATS * nearness
            for row, code in enumerate(self.codes):
                if code in without:
                    scores[row] = -np.inf
            order = np.argsort(-scores, kind="stable")[:NUM_RELATIVES]
            chosen = [int(row) for row in order if np.isfinite(scores[row])]
        shares = np.exp(_BLUR * (scores[chosen] - scores[chosen[0]])) if chosen else np.zeros(0)
        tables = [self.table(self.codes[row]) for row in chosen]
        tables += [self._nothing] * (NUM_RELATIVES - len(tables))
        pool = self.table(POOL) if POOL in self.lists else self._nothing
        return Choice((*tables, pool), tuple(self.codes[row] for row in chosen), shares / shares.sum())

    def change_of_frequency(self, nearness: NDArray[np.float64], characters: Sequence[str]) -> NDArray[np.float64]:
        """What is added to the log frequency of characters when those of near languages count most, (C,).

        Nothing is added for what is no letter: the lexicons have letters alone.

        Args:
            nearness: of each language (:mod:`protoglot.reading.nearness`).
            characters: those asked for.
        """
        weights = np.exp(_REACH * (nearness - nearness.max()))
        has_letter = self._has_letter
        plain = has_letter.mean(axis=0)
        near = (1.0 - _NEAR) * plain + _NEAR * (weights @ has_letter) / weights.sum()
        change = _TRUST * np.log((near + _FEW_LANGUAGES) / (plain + _FEW_LANGUAGES))
        change[0] = 0.0
        letters = [self.numbers.get(folded(character), 0) for character in characters]
        return np.asarray(change[np.array(letters, np.int64)])

    @cached_property
    def _has_letter(self) -> NDArray[np.float64]:
        """Whether each language has each letter, from 0 to 1, (languages, letters)."""
        rows = []
        for code in self.codes:
            words = self.lists[code]
            counts = np.bincount(words.alphabet[words.letters], minlength=len(self.characters) + 1)
            rows.append(counts / max(int(counts.sum()), 1))
        shares = np.array(rows)
        return np.asarray(shares / (shares + _FEW_LETTERS))

    def no_choice(self) -> Choice:
        """Before anything is known of a text: the pool alone."""
        pool = self.table(POOL) if POOL in self.lists else self._nothing
        return Choice((*[self._nothing] * NUM_RELATIVES, pool), (), np.zeros(0))

    def table(self, code: str) -> Table:
        """Contexts of a lexicon, counted when they are first asked for."""
        with self._lock:
            found = self._tables.get(code)
            if found is None:
                found = self._tables[code] = self.lists[code].table()
            return found

    def words(self, code: str) -> frozenset[str]:
        """Words of a lexicon, in small letters."""
        found, before, done = [], "", 0
        words = self.lists[code]
        letters = [self.characters[number - 1] for number in words.alphabet[words.letters].tolist()]
        for shared, length in zip(words.shared.tolist(), words.lengths.tolist(), strict=True):
            before = before[:shared] + "".join(letters[done : done + length])
            done += length
            found.append(before)
        return frozenset(found)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that must be stored, with :attr:`codes` and :attr:`characters`."""
        lists = list(self.lists.values())
        return {
            "profiles": self.profiles,
            **{
                name: np.concatenate([np.zeros(0, _DTYPES[name]), *(getattr(words, name) for words in lists)])
                for name in WordList.__slots__
            },
            **{
                f"num_{name}": np.array([len(getattr(words, name)) for words in lists], np.int64)
                for name in WordList.__slots__
            },
        }

    @classmethod
    def from_arrays(
        cls, characters: Sequence[str], codes: Sequence[str], arrays: Mapping[str, NDArray[Any]]
    ) -> Self:
        """What :meth:`arrays` gave.

        Raises:
            StorageError: if they are not lexicons.
        """
        pieces: dict[str, list[NDArray[Any]]] = {}
        for name in WordList.__slots__:
            sizes = arrays[f"num_{name}"]
            wanted = _DTYPES[name]
            if arrays[name].dtype != wanted or len(sizes) != len(codes) or sizes.sum() != len(arrays[name]):
                raise StorageError(
                    f"lexicons: {name} of {arrays[name].dtype}, {len(sizes)} lists; wanted {len(codes)}"
                )
            pieces[name] = np.split(arrays[name], np.cumsum(sizes)[:-1]) if len(codes) else []
        lists = {
            code: WordList(**{name: pieces[name][i] for name in WordList.__slots__})
            for i, code in enumerate(codes)
        }
        return cls(characters, lists, arrays["profiles"])
