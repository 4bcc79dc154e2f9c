"""How a text may go on: the likeliest next characters, and the likeliest words."""

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from protoglot.errors import ConfigError

_BONUS = 0.2
"""Nats by which a longer unfinished word is read before a shorter one: about what its missing characters will cost."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A way in which a text may go on."""

    text: str
    """What comes next: a character, or the rest of a word. The end of a sentence is a line break."""

    probability: float
    """Of a character: that it comes next. Of a word: that exactly this comes next, and then a blank or the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchConfig:
    """How words are searched for."""

    most_read: int | None = None
    """Unfinished words that a search may read, beside those that the model guesses; more find likelier words, and take
    longer. By default as many as the model reads in a few hundredths of a second."""

    longest: int = 24
    """Characters after which a word that has not ended is given up."""

    least_probability: float = 1e-6
    """Less probable words are not searched for."""

    def __post_init__(self) -> None:
        for name in ("most_read", "longest"):
            value = getattr(self, name)
            if not (name == "most_read" and value is None) and (type(value) is not int or value < 1):
                raise ConfigError(f"completion.{name}: {value!r}; wanted a whole number from 1")
        if not 0 <= self.least_probability < 1:
            raise ConfigError(
                f"completion.least_probability: {self.least_probability!r}; wanted a share from 0, below 1"
            )


@dataclass(frozen=True)
class Outlook:
    """What may come next."""

    characters: Sequence[str]
    """Those that have a name; the end of a sentence is a line break."""

    probabilities: NDArray[np.float64]
    """Of each, (N,)."""

    @cached_property
    def ending(self) -> float:
        """Probability that the word is over: a blank comes, or the end of the sentence."""
        return float(self.probabilities[self._ends].sum())

    @cached_property
    def going_on(self) -> NDArray[np.float64]:
        """Probabilities of the characters that do not end a word; 0 for those that do, (N,)."""
        return np.where(self._ends, 0.0, self.probabilities)

    @cached_property
    def _ends(self) -> NDArray[np.bool_]:
        return np.array([character.isspace() for character in self.characters])

    def most_likely(self, number: int) -> list[Completion]:
        """The likeliest next characters, the likeliest first."""
        order = np.argsort(-self.probabilities, kind="stable")[:number]
        return [Completion(self.characters[i], float(self.probabilities[i])) for i in order]


class Lookahead(Protocol):
    """A model that stands at some place in a text and looks at what may come.

    It remembers what it looked at, so that whoever types on along it costs nothing.
    """

    side_by_side: int
    """Texts that it reads best at once."""

    most_read: int
    """Texts that it reads in a few hundredths of a second."""

    def go_to(self, text: str) -> None:
        """Stand at the end of a text."""
        ...

    def after(self, rests: Sequence[str]) -> list[Outlook]:
        """What may come after each continuation of the text.

        All but its last character was looked at before, or it is a guess.
        """
        ...

    def guesses(self) -> Sequence[tuple[str, float]]:
        """Rests of the begun word, or next words, that are known to the model: each with the probability that it comes.

        What follows it is left open. There may be none.
        """
        ...


class HasLookahead(Protocol):
    """A model that can look ahead."""

    def lookahead(self) -> Lookahead:
        """Look ahead from the place where the model stands; the model itself is left as it is."""
        ...


class Completer:
    """Completes a text that is being typed.

    Args:
        model: of either kind; left as it is.
        search: how words are searched for.
    """

    def __init__(self, model: HasLookahead, search: SearchConfig | None = None) -> None:
        self._lookahead = model.lookahead()
        self._search = search or SearchConfig()
        self._text = ""

    @property
    def text(self) -> str:
        """What has been typed; a line break ends a sentence."""
        return self._text

    @text.setter
    def text(self, text: str) -> None:
        self._lookahead.go_to(text)
        self._text = text

    @property
    def begun_word(self) -> str:
        """What there is of the word that the text ends in; nothing after a blank."""
        return "" if self._text[-1:].isspace() or not self._text else self._text.split()[-1]

    def characters(self, number: int = 5) -> list[Completion]:
        """The likeliest next characters, the likeliest first; those that have no name are left out."""
        return self._lookahead.after([""])[0].most_likely(number)

    def words(self, number: int = 5) -> list[Completion]:
        """The likeliest rests of the word that the text ends in, or next words after a blank; the likeliest first.

        First come words that the model guesses. Then the search is best-first: it reads on along the most promising
        unfinished words, and ends when none can become likelier than the last of those that are wanted, or when it has
        read as many as it may.
        """
        search, lookahead = self._search, self._lookahead
        may_read = search.most_read or lookahead.most_read
        is_word = bool(self.begun_word)
        found: list[Completion] = []
        order = itertools.count()  # decides between equals, so that a search is the same each time
        frontier: list[tuple[float, int, float, str]] = [(0.0, next(order), 1.0, "")]
        bound = search.least_probability  # what a word must exceed to be wanted
        guesses = sorted(lookahead.guesses(), key=lambda guess: (-guess[1], guess[0]))
        for rest, probability in guesses[:number]:
            found.append(Completion(rest, probability * lookahead.after([rest])[0].ending))
        guessed = {word.text for word in found}
        found = sorted(found, key=lambda word: (-word.probability, word.text))
        if len(found) == number:
            bound = max(bound, found[-1].probability)
        while frontier and may_read > 0:
            chosen: list[tuple[float, str]] = []
            while frontier and len(chosen) < min(lookahead.side_by_side, may_read):
                _, _, probability, rest = heapq.heappop(frontier)
                if probability > bound:
                    chosen.append((probability, rest))
            may_read -= len(chosen)
            for (probability, rest), outlook in zip(
                chosen, lookahead.after([rest for _, rest in chosen]), strict=True
            ):
                is_new = (rest or is_word) and rest not in guessed
                if is_new and probability * outlook.ending > bound:
                    found.append(Completion(rest, probability * outlook.ending))
                    found = sorted(found, key=lambda word: (-word.probability, word.text))[:number]
                    if len(found) == number:
                        bound = max(bound, found[-1].probability)
                if len(rest) == search.longest:
                    continue
                shares = probability * outlook.going_on
                bonus = _BONUS * (len(rest) + 1)
                for i in np.flatnonzero(shares > bound).tolist():
                    share = float(shares[i])
                    heapq.heappush(
                        frontier, (-math.log(share) - bonus, next(order), share, rest + outlook.characters[i])
                    )
        return found
