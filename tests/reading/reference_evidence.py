"""Evidence by dictionaries and strings: slow, and written from the definitions rather than from the compiled code."""

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np

from protoglot.reading.characters import Class, base_letter, class_of, folded, is_word_character
from protoglot.reading.evidence import DISCOUNTS
from protoglot.reading.kernel import CONTEXTS, NUM_CELLS, NUM_CHAIN
from protoglot.reading.lexicons import Lexicons
from reading.reference_lexicons import END, ReferenceLexicons

ORDERS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20)
OF_RELATIVES, OF_MANY = "words of relatives", "words of many languages"
LEAST_PROBABILITY = 0.002
CHOICES = [12, *(25 * 2**i for i in range(11))]


@dataclass
class Node:
    """What followed a context."""

    followers: list[str] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    excluded: Counter[str] = field(default_factory=Counter)

    @property
    def counts(self) -> Counter[str]:
        return Counter(self.followers)

    @property
    def run(self) -> int:
        same = 0
        while same < len(self.followers) and self.followers[-1 - same] == self.followers[-1]:
            same += 1
        return same

    def escape(self, discount) -> float:
        return sum(discount[min(x, 3) - 1] for x in self.excluded.values())


def runs(text: str) -> list[tuple[bool, str]]:
    """Maximal runs of word characters and of others."""
    found: list[tuple[bool, str]] = []
    for character in text:
        kind = is_word_character(character)
        if found and found[-1][0] == kind:
            found[-1] = (kind, found[-1][1] + character)
        else:
            found.append((kind, character))
    return found


def is_mark(character: str) -> bool:
    return class_of(character) == Class.MARK


def is_vowel(character: str) -> bool:
    return class_of(folded(character)) in (Class.VOWEL, Class.MARK)


def fold(word: str) -> tuple[str, ...]:
    return tuple(folded(character) for character in word)


def bases_of(word: str) -> tuple[str, ...]:
    return tuple(base_letter(character) for character in word if not is_mark(character))


def shape_of(character: str | None) -> object:
    if character is None:
        return None
    return ("word", is_vowel(character)) if is_word_character(character) else class_of(character)


def contexts_of(past: str) -> dict[str, object]:
    """Key of each context after a text; no key where the context needs more text than there is."""
    found: dict[str, object] = {}
    for order in ORDERS:
        if len(past) >= order:
            found[f"order {order}"] = past[-order:]
    back = [past[-k] if len(past) >= k else None for k in range(1, 9)]
    pieces = runs(past)
    in_word = bool(pieces) and pieces[-1][0]
    current = pieces[-1][1] if pieces else ""
    word: object = ("word", fold(current)) if in_word else ("separators", tuple(current))
    base_word: object = ("word", bases_of(current)) if in_word else word
    length = min(len(current), 12) if in_word else 0
    line = past[past.rfind("\n") + 1 :]
    finished = [piece for is_word, piece in runs(line) if is_word]
    if in_word:
        finished.pop()
    previous = fold(finished[-1]) if finished else None
    second = fold(finished[-2]) if len(finished) > 1 else None
    third = fold(finished[-3]) if len(finished) > 2 else None
    # The last word of all, the present one included, lends its letters until the next begins.
    latest = next((piece for is_word, piece in reversed(pieces) if is_word), "")
    vowels = [folded(c) for c in reversed(latest) if is_vowel(c)][:2]
    consonants = [folded(c) for c in reversed(latest) if not is_vowel(c)][:2]
    separators = next((piece for is_word, piece in reversed(pieces) if not is_word), "")
    if len(pieces) == 1 and in_word:
        separators = ""
    marks = len(past) - len(past.rstrip("".join({c for c in past if is_mark(c)}) or "\0")) if past else 0
    bases = [base_letter(c) for c in reversed(past) if not is_mark(c)]
    bases = (bases + [""] * 6)[:6]
    found["word"] = word
    found["word, one before"] = (word, previous)
    found["word, two before"] = (word, previous, second)
    found["word, second before"] = (word, second)
    found["letters 2-3 back"] = (back[1], back[2])
    found["letters 2-4 back"] = (back[1], back[2], back[3])
    found["letters 1, 3 back"] = (back[0], back[2])
    found["letters 1-2, 4 back"] = (back[0], back[1], back[3])
    found["letters 2-5 back"] = (back[1], back[2], back[3], back[4])
    for order in (3, 4, 6):
        found[f"base order {order}"] = (marks, tuple(bases[:order]))
    found["letter, shape of 6"] = (back[0], tuple(map(shape_of, back[:6])))
    found["shape of 8"] = tuple(map(shape_of, back))
    found["letter, length"] = (back[0], length)
    found["two letters, length"] = (back[0], back[1], length)
    found["word before, letter"] = (back[0], previous, min(length, 1))
    end = fold(finished[-1])[-2:] if finished else None
    found["end of word before, word"] = (end, word)
    found["word, place in line"] = (min(len(finished), 3), word)
    found["two vowels, letter"] = (tuple(vowels), back[0])
    found["two consonants, letter"] = (tuple(consonants), back[0])
    found["beginning of word, length, letter"] = (fold(latest)[:2], length, back[0])
    found["length of word before, word"] = (min(len(finished[-1]), 12) if finished else 0, word)
    found["beginning of word before, word"] = (fold(finished[-1])[:2] if finished else None, word)
    found["last separator, word"] = (separators, word)
    found["base word"] = (base_word, marks)
    found["word, third before"] = (word, third)
    end_of_second = fold(finished[-2])[-2:] if len(finished) > 1 else None
    found["ends of two words before, word"] = (end, end_of_second, word)
    starts = [fold(other)[:2] for other in finished[-2:]]
    found["beginnings of two words before, word"] = (tuple(starts), word)
    found["first word of line, word"] = (fold(finished[0]) if finished else None, word)
    if in_word:
        folded_word = fold(current)
        size, last = len(folded_word), folded_word[-1]
        if previous is not None:
            copied = previous[size] if size < len(previous) else None
            is_same = size <= len(previous) and previous[size - 1] == last
            found["same place in word before, letter"] = (copied, is_same, last)
        for order in range(1, 6):
            if size >= order - 1:
                found[f"new word, order {order}"] = (None, *folded_word)[-order:]
        found["new word, length, letter"] = (length, last)
        found["new word, shape, letter"] = (tuple(map(is_vowel, current[-8:])), last)
    # A word of marks alone has no base letters, like no word at all.
    found["base word, one before"] = (base_word, marks, bases_of(finished[-1]) if finished else ())
    return found


def cell_of(count: int, others: int, run: int) -> int:
    """Cell of a symbol by its count, the count of all others there, and how often it came in a row up to now."""
    by_count = bisect_right([1, 2, 3, 4, 7], count) - 1
    by_others = bisect_right([0, 1, 2, 3, 6, 16], others) - 1
    return (by_count * 6 + by_others) * 3 + min(run, 2)


def lexical_cell_of(longest: int, probability: float) -> int:
    """Cell of what a lexicon says, by the longest context known and by the probability."""
    return longest * 7 + bisect_right([0.01, 0.03, 0.1, 0.25, 0.5, 0.8], probability)


@dataclass
class Entry:
    """What is said of a symbol in a context."""

    cell: int
    features: list[float]


@dataclass
class Gains:
    """How well a context predicted."""

    lately: float = 0.0
    always: float = 0.0
    number: int = 0
    last: float = 0.0

    def add(self, gain: float) -> None:
        gain = min(max(gain, -3.0), 3.0)
        self.lately += 0.05 * (gain - self.lately)
        self.always += max(0.004, 1 / (self.number + 4)) * (gain - self.always)
        self.last += 0.3 * (gain - self.last)
        self.number += 1


class ReferenceEvidence:
    """As :class:`protoglot.reading.evidence.Evidence`."""

    def __init__(self, lexicons: Lexicons | None = None) -> None:
        self.text = ""
        self.met = ["\n", " "]
        self.root = Node()
        self.nodes: dict[tuple[str, object], Node] = {}
        self.gains: dict[str, Gains] = defaultdict(Gains)
        self.all_costs: list[float] = []
        self.cost_lately = self.cost_always = 3.0
        self.lexicons = ReferenceLexicons(Lexicons.none() if lexicons is None else lexicons)
        self._successors_after: dict[str, tuple[str | None, ...] | None] = {}
        self._found: dict[str, tuple[object, Node | None]] | None = None
        self._chain: tuple[dict[str | None, float], int] | None = None

    def found(self) -> dict[str, tuple[object, Node | None]]:
        """Key and node of each context here."""
        if self._found is None:
            keys = contexts_of(self.text)
            for order in (1, 2):
                node = self.nodes.get((f"order {order}", keys.get(f"order {order}")))
                if node is not None:
                    last_two = (node.followers[-1], node.followers[-2] if len(node.followers) > 1 else None)
                    keys[f"successors of order {order}"] = (*last_two, self.text[-1])
            keys["successors of word before, word"] = (self._successors(), keys["word"])
            self._found = {
                name: (keys[name], self.nodes.get((name, keys[name]))) for name in CONTEXTS if name in keys
            }
        return self._found

    def _successors(self) -> tuple[str | None, ...] | None:
        """First letters of the last two words that came after the word before this one, when this one began."""
        past = self.text
        while past and is_word_character(past[-1]):
            past = past[:-1]
        if past not in self._successors_after:
            name = "word before, letter"
            node = self.nodes.get((name, contexts_of(past)[name]))
            latest = None if node is None else (node.followers[-1], *node.followers[-2:-1])
            self._successors_after[past] = latest
        return self._successors_after[past]

    def chain(self) -> tuple[dict[str | None, float], int]:
        """Probability of each symbol by the orders 0 to 8, ``None`` for all that were not met; the longest order."""
        if self._chain is not None:
            return self._chain
        found = self.found()
        once = sum(x == 1 for x in self.root.excluded.values())
        novel = (once + 0.5) / (self.root.excluded.total() + 1.5)
        p: dict[str | None, float] = {None: novel} | {c: (1.0 - novel) / len(self.met) for c in self.met}
        longest = 0
        for order in range(NUM_CHAIN + 1):
            node = self.root if order == 0 else found.get(f"order {order}", (None, None))[1]
            if node is None or not node.excluded:
                if order:
                    break
                continue
            longest = order
            discount = DISCOUNTS[order]
            total = node.excluded.total()
            escape = node.escape(discount)
            p = {
                symbol: (
                    max(node.excluded[symbol] - discount[min(node.excluded[symbol], 3) - 1], 0.0)
                    * (node.excluded[symbol] > 0)
                    + escape * below
                )
                / total
                for symbol, below in p.items()
            }
        self._chain = p, longest
        return self._chain

    def read(self, character: str) -> None:
        """Read one character on."""
        mine = self.chain()[0][character if character in self.met else None]
        self._add_cost(-math.log(mine))
        for name, (_, node) in self.found().items():
            if node is not None:
                n, discount = node.counts[character], DISCOUNTS[NUM_CHAIN + 1, 0]
                kept = (n - discount) / mine if n else 0.0
                self.gains[name].add(math.log((kept + discount * len(node.counts)) / len(node.followers)))
        letter = self.lexicons.letter_of(character)
        for name in (OF_RELATIVES, OF_MANY):
            said = self.said_by(name)[0]
            if said and letter is not None and letter != END:
                self.gains[name].add(math.log((0.99 * said.get(letter, 0.0) + 0.01) / mine))
        self.lexicons.weigh(self.text, character)
        self._count(character)
        if len(self.text) in CHOICES:
            self._choose_relatives()

    def _add_cost(self, cost: float) -> None:
        self.cost_lately += 0.05 * (cost - self.cost_lately)
        self.cost_always += max(0.003, 1 / (len(self.all_costs) + 2)) * (cost - self.cost_always)
        self.all_costs.append(cost)

    def _choose_relatives(self) -> None:
        lexicons = self.lexicons.lexicons
        letters = [lexicons.number_of(character) for character in self.text]
        choice = lexicons.choose(np.array([letter if letter > 0 else -1 for letter in letters]))
        self.lexicons.shares = dict(zip(choice.languages, choice.shares.tolist(), strict=True))

    def _count(self, character: str) -> None:
        found = self.found()
        t = len(self.text)
        is_known = False
        for order in range(NUM_CHAIN, -1, -1):
            if order and f"order {order}" not in found:
                continue
            node = self._node(f"order {order}", found[f"order {order}"][0]) if order else self.root
            if not is_known:
                node.excluded[character] += 1
            is_known = is_known or character in node.followers
            node.followers.append(character)
            node.times.append(t)
        of_word = self.nodes.get(("word", found["word"][0]))
        is_new = of_word is None or character not in of_word.followers
        for name, (key, _) in found.items():
            if name.startswith("new word") and not is_new:
                continue
            if name not in {f"order {order}" for order in range(1, NUM_CHAIN + 1)}:
                node = self._node(name, key)
                node.followers.append(character)
                node.times.append(t)
        if character not in self.met:
            self.met.append(character)
        self.text += character
        self._found = self._chain = None

    def _node(self, name: str, key: object) -> Node:
        return self.nodes.setdefault((name, key), Node())

    def said_by(self, name: str) -> tuple[dict[str, float], int]:
        """What lexicons say of each letter here, and the longest context that they know."""
        of = self.lexicons.of_relatives if name == OF_RELATIVES else self.lexicons.of_pool
        return of(self.text)

    def features_of(self, name: str) -> list[float]:
        """What is said of a context here; but for some of its gains, zeros where it says nothing."""
        gains = self.gains[name]
        if name in (OF_RELATIVES, OF_MANY):
            said, longest = self.said_by(name)
            best = max(self.lexicons.shares.values(), default=0.0) if name == OF_RELATIVES else 0.0
            here = [1.0, longest / 6, len(said) / 20, max(said.values(), default=0.0), best, sum(said.values())]
            return [*(here if said else [0.0] * 6), gains.lately, gains.always, gains.last]
        node = self.found().get(name, (None, None))[1]
        if node is None:
            return [0.0] * 7 + [gains.always, gains.last]
        total = len(node.followers)
        return [
            1.0,
            math.log(total) / 5,
            len(node.counts) / total,
            max(node.counts.values()) / total,
            math.log(node.run) / 3,
            math.log(1 + len(self.text) - node.times[-1]) / 8,
            gains.lately,
            gains.always,
            gains.last,
        ]

    def general_features(self) -> list[float]:
        """What is said of the place as a whole."""
        chain, longest = self.chain()
        current = runs(self.text)[-1] if self.text else (False, "")
        last_costs = [*reversed(self.all_costs[-4:]), 0.0, 0.0, 0.0, 0.0][:4]
        return [
            -sum(q * math.log(q) for q in chain.values()) / 3,
            max(chain.values()),
            math.log(chain[None]) / 8,
            self.cost_lately / 3,
            self.cost_always / 3,
            math.log(len(self.text) + 10) / 8,
            math.log(len(self.met)) / 4,
            min(len(current[1]), 15) / 8 if current[0] else 0.0,
            math.log(1 + len(self.text) - (self.text.rfind("\n") + 1)) / 4,
            longest / 8,
            *(cost / 4 for cost in last_costs),
        ]

    def last_classes(self) -> list[list[float]]:
        """The class of each of the last four characters, one of sixteen; of none where there is no character."""
        classes = [class_of(character) for character in reversed(self.text[-4:])]
        return [[float(kind == other) for other in Class] for kind in [*classes, None, None, None, None][:4]]

    def entries_of(self, name: str) -> dict[str | None, Entry]:
        """What is said of each symbol that a context says something of here."""
        if name in (OF_RELATIVES, OF_MANY):
            return self._lexical_entries_of(name)
        node = self.found().get(name, (None, None))[1]
        if node is None:
            return {}
        chain, _ = self.chain()
        discount = DISCOUNTS[NUM_CHAIN + 1, 0]
        total = len(node.followers)
        found: dict[str | None, Entry] = {}
        for symbol, n in node.counts.items():
            latest = max(i for i, follower in enumerate(node.followers) if follower == symbol)
            run = node.run if symbol == node.followers[-1] else 0
            features = [
                math.log(1 + (n - discount) / (discount * len(node.counts) * chain[symbol])) / 4,
                math.log(n) / 3,
                1 / (total - latest),
                math.log(1 + len(self.text) - node.times[latest]) / 8,
            ]
            found[symbol] = Entry(CONTEXTS.index(name) * NUM_CELLS + cell_of(n, total - n, run), features)
        return found

    def _lexical_entries_of(self, name: str) -> dict[str | None, Entry]:
        said, longest = self.said_by(name)
        if not said:
            return {}
        chain, _ = self.chain()
        in_word = bool(self.lexicons.start_of_word(self.text)[0])
        letter_of = self.lexicons.letter_of
        # Between words, a lexicon says with which letter the next one begins, if one begins.
        may_come = {c: p for c, p in chain.items() if c is None or in_word or is_word_character(c)}
        met = {letter_of(character) for character in self.text}
        best = max(self.lexicons.shares.values(), default=0.0) if name == OF_RELATIVES else 0.0
        found: dict[str | None, Entry] = {}
        for symbol in may_come:
            if symbol is None:
                p = sum(q for letter, q in said.items() if letter not in met)
                group = chain[None]
            else:
                p = said.get(letter_of(symbol), 0.0)
                group = sum(chain[other] for other in self.met if letter_of(other) == letter_of(symbol))
            if p >= LEAST_PROBABILITY:
                features = [
                    math.log(1 + 10 * p * sum(may_come.values()) / group) / 4, math.log(p) / 3, best, longest / 6,
                ]  # fmt: skip
                found[symbol] = Entry(CONTEXTS.index(name) * NUM_CELLS + lexical_cell_of(longest, p), features)
        return found
