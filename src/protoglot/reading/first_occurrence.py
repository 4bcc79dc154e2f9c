"""Which character comes when one comes that was not met before.

Characters that other languages have are ranked by how many have them, by the script and the case of what was met, by the
class of the character before, and by what the network of letters says. All other code points share the rest: most of
it goes to the Unicode blocks of what was met.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from protoglot.reading.characters import NUM_CLASSES, base_letter, class_of
from protoglot.scripts import script_of

BLOCK = 128
"""Code points that count as neighbours."""

NEAR = 0.9
"""Share of the blocks of what was met in the probability of characters that no other language has."""

NUM_CODE_POINTS = 0x110000
NUM_FEATURES = 6
"""Bias of the outside, log frequency, same script, other case met, base letter met, what letters say."""




class FirstOccurrence:
    """A distribution over all characters that were not met.

    Args:
        characters: those that other languages have.
        log_frequency: log of the share of languages that have each.
        weights: of the features, (6,).
        classes: weight of each class of character after each class, (17, 17); the last row is the begin of the text.
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
        self.classes = np.asarray(classes, np.float64)
        scripts = [script_of(character) or "" for character in self.characters]
        self._scripts = np.array(scripts)
        self._kinds = np.array([int(class_of(character)) for character in self.characters])
        self._other_case = [_other_case(character) for character in self.characters]
        self._bases = [base_letter(character) for character in self.characters]

    def features(self, met: Sequence[str]) -> NDArray[np.float64]:
        """What is known of each character, (C, 4): log frequency, same script, other case met, base letter met."""
        shares: dict[str, float] = {}
        for character in met:
            script = script_of(character)
            if script is not None:
                shares[script] = shares.get(script, 0.0) + 1.0
        total = sum(shares.values()) or 1.0
        same = np.array([shares.get(script, 0.0) / total if script else 0.5 for script in self._scripts])
        all_met = set(met)
        other = np.array([case in all_met for case in self._other_case], np.float64)
        bases = {base_letter(character) for character in met}
        base = np.array([b in bases for b in self._bases], np.float64)
        return np.stack([self.log_frequency, same, other, base], axis=1)

    def log_probabilities(
        self, met: Sequence[str], before: int, letters: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float]:
        """Log probability of each known character, -inf for those met, and of all others together.

        Args:
            met: the characters met.
            before: class of the character before.
            letters: what the network of letters says of each known character, (C,).
        """
        scores = self.features(met) @ self.weights[1:5]
        scores += self.classes[before, self._kinds] + self.weights[5] * letters
        for character in met:
            position = self.index.get(character)
            if position is not None:
                scores[position] = -np.inf
        num_known_met = sum(character in self.index for character in met)
        outside = self.weights[0] + math.log((len(met) - num_known_met + 0.5) / (len(met) + 1.0))
        highest = max(float(scores.max(initial=-np.inf)), outside)
        total = float(np.exp(scores - highest).sum()) + math.exp(outside - highest)
        norm = highest + math.log(total)
        return scores - norm, outside - norm

    def log_share_outside(self, character: str, met: Sequence[str]) -> float:
        """Log probability of a character that no other language has, among all such that were not met."""
        excluded = {ord(c) for c in met} | {ord(c) for c in self.characters}
        blocks = {ord(c) // BLOCK for c in met}
        num_near = len(blocks) * BLOCK - sum(code // BLOCK in blocks for code in excluded)
        num_far = NUM_CODE_POINTS - len(blocks) * BLOCK - sum(code // BLOCK not in blocks for code in excluded)
        near = NEAR if num_near else 0.0
        if ord(character) // BLOCK in blocks:
            return math.log(near / num_near)
        return math.log((1.0 - near) / num_far)


def _other_case(character: str) -> str:
    for other in (character.lower(), character.upper()):
        if other != character and len(other) == 1:
            return other
    return ""
