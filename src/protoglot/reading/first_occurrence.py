"""Which character comes when one comes that was not met before.

Known characters are those that other languages have, and the other letters, marks and signs of their Unicode blocks.
They are ranked by how many languages have them, by the script, the case, the accents and the paired signs of what was
met, by the class of the character before, and by what the network of letters says. All other code points share the
rest: most of it goes to the Unicode blocks of what was met.
"""

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from protoglot.reading.characters import NUM_CLASSES, base_letter, class_of
from protoglot.scripts import script_of

BLOCK = 128
"""Code points that count as neighbours."""

NEAR = 0.9
"""Share of the blocks of what was met in the probability of characters that no other language has."""

NUM_CODE_POINTS = 0x110000
NUM_FEATURES = 8
"""Bias of the outside, log frequency, same script, other case met, base letter met, accent met, partner met, and
what the network of letters says."""

_PAIRS = ("()", "[]", "{}", "<>", "«»", "‹›", "“”", "‘’", "„“", "‚‘", "¿?", "¡!")


class FirstOccurrence:
    """A distribution over all characters that were not met.

    Args:
        characters: known ones.
        log_frequency: log of the share of languages that have each.
        weights: of the features, (8,).
        classes: weight of each class of character after each class, (17, 16); the last row is the begin of the text.
    """

    def __init__(
        self,
        characters: Sequence[str],
        log_frequency: NDArray[np.float64],
        weights: NDArray[np.float64],
        classes: NDArray[np.float64],
    ) -> None:
        self.characters = list(characters)
        self.index = {character: i for i, character in enumerate(self.characters)}
        self.log_frequency = np.asarray(log_frequency, np.float64)
        self.weights = np.asarray(weights, np.float64)
        if self.weights.shape != (NUM_FEATURES,):
            raise ValueError(f"weights of first occurrences: {self.weights.shape}; wanted {(NUM_FEATURES,)}")
        self.classes = np.asarray(classes, np.float64)
        self.kinds = np.array([int(class_of(character)) for character in self.characters], np.int64)
        self._scripts = _Groups(script_of(character) or "" for character in self.characters)
        self._bases = _Groups(base_letter(character) for character in self.characters)
        self._accents = _Groups(_accent(character) for character in self.characters)
        self._partners = _Groups(_PARTNERS.get(character, "") for character in self.characters)
        self._last_met: tuple[str, ...] | None = None
        self._last_scores: tuple[NDArray[np.float64], float] = (np.zeros(0), 0.0)
        self._other_cases = _Groups(_other_case(character) for character in self.characters)

    @classmethod
    def untrained(cls, frequencies: Mapping[str, float]) -> Self:
        """One that follows the frequencies alone.

        Args:
            frequencies: share of languages that have each character, above 0.
        """
        return cls(
            list(frequencies),
            np.log(list(frequencies.values())),
            np.array([-3.0, 1.0, *[0.0] * (NUM_FEATURES - 2)]),
            np.zeros((NUM_CLASSES + 1, NUM_CLASSES)),
        )

    def features(self, met: Sequence[str]) -> NDArray[np.float64]:
        """What is known of each character, (C, 6): the features but for the first and the last."""
        scripts = [script for character in met if (script := script_of(character)) is not None]
        same = self._scripts.counts(scripts) / (len(scripts) or 1)
        same[self._scripts.members("")] = 0.5
        other = self._other_cases.counts(met) > 0
        base = self._bases.counts(map(base_letter, met)) > 0
        accent = (self._accents.counts(map(_accent, met)) > 0) & ~self._accents.members("")
        partner = (self._partners.counts(met) > 0) & ~self._partners.members("")
        return np.stack([self.log_frequency, same, other, base, accent, partner], axis=1)

    def log_probabilities(
        self,
        met: Sequence[str],
        before: int,
        letters: NDArray[np.float64],
        change: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[np.float64], float]:
        """Log probability of each known character, -inf for those met, and of all others together.

        Args:
            met: the characters met.
            before: class of the character before.
            letters: what the network of letters says of each known character, (C,).
            change: added to the log frequencies, (C,).
        """
        of_met, outside = self._of_met(tuple(met))
        scores = of_met + self.classes[before, self.kinds] + self.weights[-1] * letters
        if change is not None:
            scores = scores + self.weights[1] * change
        highest = max(float(scores.max(initial=-np.inf)), outside)
        total = float(np.exp(scores - highest).sum()) + math.exp(outside - highest)
        norm = highest + math.log(total)
        return scores - norm, outside - norm

    def _of_met(self, met: tuple[str, ...]) -> tuple[NDArray[np.float64], float]:
        """What those met say of each known one (-inf for those met) and of all others; kept for the next call."""
        if met != self._last_met:
            scores = self.features(met) @ self.weights[1:-1]
            known = [position for character in met if (position := self.index.get(character)) is not None]
            scores[known] = -np.inf
            outside = self.weights[0] + math.log((len(met) - len(known) + 0.5) / (len(met) + 1.0))
            self._last_met, self._last_scores = met, (scores, float(outside))
        return self._last_scores

    def log_share_outside(self, character: str, met: Sequence[str]) -> float:
        """Log probability of a character that is not known, among all such that were not met."""
        codes = {ord(c) for c in met}
        blocks = {code // BLOCK for code in codes}
        known = [ord(c) for c in self.characters]
        num_known_near = sum(code // BLOCK in blocks for code in known)
        num_near = len(blocks) * BLOCK - len(codes.union(code for code in known if code // BLOCK in blocks))
        num_far = NUM_CODE_POINTS - len(blocks) * BLOCK - (len(known) - num_known_near)
        near = NEAR if num_near else 0.0
        if ord(character) // BLOCK in blocks:
            return math.log(near / num_near)
        return math.log((1.0 - near) / num_far)


class _Groups:
    """Names of some things, by which they are found.

    Args:
        names: one of each thing.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._numbers: dict[str, int] = {}
        self._group = np.array([self._numbers.setdefault(name, len(self._numbers)) for name in names], np.int64)

    def counts(self, names: Iterable[str]) -> NDArray[np.float64]:
        """How often the name of each thing is among these."""
        found = np.zeros(len(self._numbers))
        for name in names:
            number = self._numbers.get(name)
            if number is not None:
                found[number] += 1
        return found[self._group]

    def members(self, name: str) -> NDArray[np.bool_]:
        """Which things have a name."""
        return np.asarray(self._group == self._numbers.get(name, -1), np.bool_)


_PARTNERS = {pair[i]: pair[1 - i] for pair in _PAIRS for i in range(2)}


def _accent(character: str) -> str:
    """First mark of a letter, or the mark itself."""
    if unicodedata.category(character)[0] == "M":
        return character
    return unicodedata.normalize("NFD", character)[1:2]


def _other_case(character: str) -> str:
    for other in (character.lower(), character.upper()):
        if other != character and len(other) == 1:
            return other
    return ""
