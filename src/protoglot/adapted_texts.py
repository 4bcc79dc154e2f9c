"""Texts that an adapted network reads: side by side to write them, and ahead of what is typed to complete it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from torch import Tensor

from protoglot.completion import Outlook
from protoglot.model.network import NUM_UNPREDICTED, State
from protoglot.model.settling import settle_on_language
from protoglot.text import LINE_BREAK
from protoglot.vocabulary import BEGIN, END, NUM_SYMBOLS

if TYPE_CHECKING:
    from protoglot.adapted import AdaptedModel

_MOST_EXPLORED = 4000
"""Places that are remembered for the next keystroke, at ten kilobytes or so; beyond, those that it cannot reach go."""


class SideBySide:
    """Several texts that a model reads at once (a :class:`protoglot.model.sampling.IdReader`).

    Args:
        model: whose predictions are wanted.
        num_texts: B.
    """

    def __init__(self, model: "AdaptedModel", num_texts: int) -> None:
        self._model = model
        self._states = [model.start()] * num_texts

    def read(self, ids: Tensor) -> Tensor:
        """Read ids, (T, B); return log-probabilities of what comes next, (B, V - 1)."""
        for step in ids.tolist():
            found, self._states = self._model.read_side_by_side(self._states, step)
        return found


class _Place(NamedTuple):
    state: State
    outlook: Outlook


class NetworkLookahead:
    """An adapted network that looks ahead (:class:`protoglot.completion.Lookahead`).

    The state after every character of the text stays, so that one more character costs one step, and taking some back
    costs none.

    Args:
        model: left as it is.
    """

    side_by_side = 16
    most_read = 256

    def __init__(self, model: "AdaptedModel") -> None:
        network = settle_on_language(model.network, model.features_tensor())
        self._model = replace(model, network=network, features=None)
        self._names = [LINE_BREAK, *model.vocabulary.characters]
        self._columns = [END - NUM_UNPREDICTED, *range(NUM_SYMBOLS - NUM_UNPREDICTED, len(model.vocabulary) - 1)]
        self._places = self._read([self._model.start()], [BEGIN])  # after the begin, and after each character
        self._text = ""
        self._explored: dict[str, _Place] = {}  # by the whole text before them: what was looked at

    def go_to(self, text: str) -> None:
        """Stand at the end of a text."""
        shared = 0
        while shared < min(len(text), len(self._text)) and text[shared] == self._text[shared]:
            shared += 1
        del self._places[shared + 1 :]
        self._text = text[:shared]
        for character in text[shared:]:
            longer = self._text + character
            known = self._explored.get(longer)
            if known is None:
                known = self._read([self._places[-1].state], [self._id(character)])[0]
            self._places.append(known)
            self._text = longer
        if len(self._explored) > _MOST_EXPLORED:
            self._explored = {
                before: place for before, place in self._explored.items() if before.startswith(self._text)
            }

    def after(self, rests: Sequence[str]) -> list[Outlook]:
        """What may come after each continuation of the text."""
        unknown = [rest for rest in rests if rest and self._text + rest not in self._explored]
        if unknown:
            states = [self._place(rest[:-1]).state for rest in unknown]
            for rest, place in zip(
                unknown, self._read(states, [self._id(rest[-1]) for rest in unknown]), strict=True
            ):
                self._explored[self._text + rest] = place
        return [self._place(rest).outlook for rest in rests]

    def guesses(self) -> Sequence[tuple[str, float]]:
        """None: a network knows no words."""
        return ()

    def _place(self, rest: str) -> _Place:
        return self._explored[self._text + rest] if rest else self._places[-1]

    def _id(self, character: str) -> int:
        return END if character == LINE_BREAK else self._model.vocabulary.encode(character).ids[0]

    def _read(self, states: Sequence[State], ids: Sequence[int]) -> list[_Place]:
        log_probabilities, after = self._model.read_side_by_side(states, ids)
        probabilities = np.exp(log_probabilities.double().numpy()[:, self._columns])
        return [_Place(state, Outlook(self._names, row)) for state, row in zip(after, probabilities, strict=True)]
