"""Evidence by dictionaries and strings: slow, and written from the definitions rather than from the compiled code."""

import math
from collections import Counter
from dataclasses import dataclass, field

from protoglot.reading.characters import Class, base_letter, class_of, folded, is_word_character
from protoglot.reading.evidence import DISCOUNTS
from protoglot.reading.kernel import CONTEXTS, NUM_CHAIN

ORDERS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20)


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
    # A word of marks alone has no base letters, like no word at all.
    found["base word, one before"] = (base_word, marks, bases_of(finished[-1]) if finished else ())
    return found


class ReferenceEvidence:
    """As :class:`protoglot.reading.evidence.Evidence`."""

    def __init__(self) -> None:
        self.text = ""
        self.met = ["\n", " "]
        self.root = Node()
        self.nodes: dict[tuple[str, object], Node] = {}

    def found(self) -> dict[str, tuple[object, Node | None]]:
        """Key and node of each context here."""
        keys = contexts_of(self.text)
        for order in (1, 2):
            node = self.nodes.get((f"order {order}", keys.get(f"order {order}")))
            if node is not None:
                last_two = (node.followers[-1], node.followers[-2] if len(node.followers) > 1 else None)
                keys[f"successors of order {order}"] = (*last_two, self.text[-1])
        return {name: (keys[name], self.nodes.get((name, keys[name]))) for name in CONTEXTS if name in keys}

    def chain(self) -> tuple[dict[str | None, float], int]:
        """Probability of each symbol by the orders 0 to 8, ``None`` for all that were not met; the longest order."""
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
            p = {
                symbol: (
                    max(node.excluded[symbol] - discount[min(node.excluded[symbol], 3) - 1], 0.0)
                    * (node.excluded[symbol] > 0)
                    + node.escape(discount) * below
                )
                / total
                for symbol, below in p.items()
            }
        return p, longest

    def count(self, character: str) -> None:
        """Read one character on."""
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
        for name, (key, _) in found.items():
            if name not in {f"order {order}" for order in range(1, NUM_CHAIN + 1)}:
                node = self._node(name, key)
                node.followers.append(character)
                node.times.append(t)
        if character not in self.met:
            self.met.append(character)
        self.text += character

    def _node(self, name: str, key: object) -> Node:
        return self.nodes.setdefault((name, key), Node())

    def features_of(self, name: str) -> list[float]:
        """What is said of a context here, but for its gains; zeros where it was not seen."""
        node = self.found().get(name, (None, None))[1]
        if node is None:
            return [0.0] * 6
        total = len(node.followers)
        return [
            1.0,
            math.log(total) / 5,
            len(node.counts) / total,
            max(node.counts.values()) / total,
            math.log(node.run) / 3,
            math.log(1 + len(self.text) - node.times[-1]) / 8,
        ]

    def entries_of(self, name: str) -> dict[str, list[float]]:
        """What is said of each symbol seen in a context here."""
        node = self.found().get(name, (None, None))[1]
        if node is None:
            return {}
        chain, _ = self.chain()
        discount = DISCOUNTS[NUM_CHAIN + 1, 0]
        total = len(node.followers)
        found = {}
        for symbol, n in node.counts.items():
            latest = max(i for i, follower in enumerate(node.followers) if follower == symbol)
            found[symbol] = [
                math.log(1 + (n - discount) / (discount * len(node.counts) * chain[symbol])) / 4,
                math.log(n) / 3,
                math.log(n / total) / 2,
                (1 + math.log(node.run)) / 2 if symbol == node.followers[-1] else 0.0,
                1 / (total - latest),
                math.log(1 + len(self.text) - node.times[latest]) / 8,
            ]
        return found
