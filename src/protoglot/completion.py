"""How a text may go on: the likeliest next characters, and the likeliest words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from protoglot.adapted import AdaptedModel, Cursor
from protoglot.errors import ConfigError
from protoglot.model.network import NUM_UNPREDICTED
from protoglot.model.settling import settle_on_language
from protoglot.text import LINE_BREAK
from protoglot.vocabulary import BEGIN, END, NUM_SYMBOLS, OTHER

_MOST_EXPLORED = 4000
"""Places that are remembered for the next keystroke, at ten kilobytes or so; beyond, those that it cannot reach go."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A way in which a text may go on."""

    text: str
    """What comes next: a character, or the rest of a word. The end of a sentence is a line break."""

    probability: float
    """Of a character: that it comes next. Of a word: that exactly this comes next, and then a blank or the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeamConfig:
    """How words are searched for."""

    width: int = 16
    """Unfinished words that are pursued at once; more find likelier words, and take longer."""

    longest: int = 24
    """Characters after which a word that has not ended is given up."""

    def __post_init__(self) -> None:
        for name in ("width", "longest"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigError(f"completion.{name}: {value!r}; wanted a whole number from 1")


class _Place(NamedTuple):
    cursor: Cursor
    log_probabilities: Tensor  # of what comes next, (V - 1,)
    ending: float  # probability that the word is over: a blank comes, or the end of the sentence


class _Beam(NamedTuple):
    text: str
    nats: float
    place: _Place


class Completer:
    """Completes a text that is being typed.

    What the model has read stays with every character of the text, so that one more character costs one step, and
    taking some back costs none. What a search for words has read is remembered too: whoever types on along one of them
    costs nothing, and the next search begins where that one was.

    Args:
        model: any.
        beam: how words are searched for.
    """

    def __init__(self, model: AdaptedModel, beam: BeamConfig | None = None) -> None:
        network = settle_on_language(model.network, model.features_tensor())
        self._model = replace(model, network=network, features=None)
        self._beam = beam or BeamConfig()
        characters = model.vocabulary.characters
        blanks = [id_ for id_, character in enumerate(characters, start=NUM_SYMBOLS) if character.isspace()]
        self._endings = [id_ - NUM_UNPREDICTED for id_ in (END, *blanks)]  # of a word, as positions in predictions
        self._places = self._read([self._model.start()], [BEGIN])  # after the begin, and after each character
        self._text = ""
        self._explored: dict[str, _Place] = {}  # by the whole text before them: what searches for words have read

    @property
    def text(self) -> str:
        """What has been typed; a line break ends a sentence."""
        return self._text

    @text.setter
    def text(self, text: str) -> None:
        shared = 0
        while shared < min(len(text), len(self._text)) and text[shared] == self._text[shared]:
            shared += 1
        del self._places[shared + 1 :]
        self._text = text[:shared]
        for character in text[shared:]:
            longer = self._text + character
            known = self._explored.get(longer)
            if known is None:
                id_ = END if character == LINE_BREAK else self._model.vocabulary.encode(character).ids[0]
                known = self._read([self._places[-1].cursor], [id_])[0]
            self._places.append(known)
            self._text = longer
        if len(self._explored) > _MOST_EXPLORED:
            self._explored = {
                before: place for before, place in self._explored.items() if before.startswith(self._text)
            }

    @property
    def begun_word(self) -> str:
        """What there is of the word that the text ends in; nothing after a blank."""
        return "" if self._text[-1:].isspace() or not self._text else self._text.split()[-1]

    def characters(self, number: int = 5) -> list[Completion]:
        """The likeliest next characters, the likeliest first; OTHER, which names none, is left out."""
        log_probabilities = self._places[-1].log_probabilities.clone()
        log_probabilities[OTHER - NUM_UNPREDICTED] = -torch.inf
        values, positions = log_probabilities.topk(min(number, len(log_probabilities) - 1))
        return [
            Completion(self._show(position + NUM_UNPREDICTED), math.exp(value))
            for value, position in zip(values.tolist(), positions.tolist(), strict=True)
        ]

    def words(self, number: int = 5) -> list[Completion]:
        """The likeliest rests of the word that the text ends in, or next words after a blank; the likeliest first.

        The search ends when no unfinished word can become likelier than the last of those that are wanted.
        """
        beams = [_Beam("", 0.0, self._places[-1])]
        found: list[Completion] = []
        for length in range(self._beam.longest + 1):
            if length or self.begun_word:
                found += [Completion(beam.text, math.exp(-beam.nats) * beam.place.ending) for beam in beams]
                found = sorted(found, key=lambda word: (-word.probability, word.text))[:number]
            beams = self._hopeful(beams, found, number)
            if not beams or length == self._beam.longest:
                break
            beams = self._extend(beams)
        return found

    def _hopeful(self, beams: Sequence[_Beam], found: Sequence[Completion], number: int) -> list[_Beam]:
        """Unfinished words that can still become likelier than those that were found."""
        if len(found) < number:
            return list(beams)
        return [beam for beam in beams if math.exp(-beam.nats) > found[-1].probability]

    def _extend(self, beams: Sequence[_Beam]) -> list[_Beam]:
        """The likeliest unfinished words that are one character longer."""
        scores = torch.stack([beam.place.log_probabilities.double() - beam.nats for beam in beams])  # (B, V - 1)
        scores[:, [*self._endings, OTHER - NUM_UNPREDICTED]] = -torch.inf
        values, positions = scores.flatten().topk(min(self._beam.width, scores.numel()))
        chosen = [
            (value, *divmod(position, scores.shape[1]))
            for value, position in zip(values.tolist(), positions.tolist(), strict=True)
            if value > -math.inf
        ]
        if not chosen:
            return []
        ids = [position + NUM_UNPREDICTED for _, _, position in chosen]
        texts = [beams[row].text + self._show(id_) for (_, row, _), id_ in zip(chosen, ids, strict=True)]
        unknown = [number for number, text in enumerate(texts) if self._text + text not in self._explored]
        if unknown:
            cursors = [beams[chosen[number][1]].place.cursor for number in unknown]
            places = self._read(cursors, [ids[number] for number in unknown])
            for number, place in zip(unknown, places, strict=True):
                self._explored[self._text + texts[number]] = place
        return [
            _Beam(text, -value, self._explored[self._text + text])
            for (value, _, _), text in zip(chosen, texts, strict=True)
        ]

    def _read(self, cursors: Sequence[Cursor], ids: Sequence[int]) -> list[_Place]:
        log_probabilities, after = self._model.read_side_by_side(cursors, ids)
        endings = log_probabilities[:, self._endings].exp().sum(dim=1).tolist()
        return [_Place(*parts) for parts in zip(after, log_probabilities, endings, strict=True)]

    def _show(self, id_: int) -> str:
        return LINE_BREAK if id_ == END else self._model.vocabulary.characters[id_ - NUM_SYMBOLS]
