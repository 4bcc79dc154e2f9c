"""Fits what predicts first occurrences: softmax regression on the first occurrences in episodes."""

import math
import random
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from protoglot.reading.characters import NUM_CLASSES
from protoglot.reading.episodes import EpisodeConfig, MetaText, draw_text
from protoglot.reading.first_occurrence import BLOCK, FirstOccurrence
from protoglot.reading.reader import Reader
from protoglot.reading.scorer import Scorer
from protoglot.scripts import MANY_CHARACTERS, script_of

_NUM_EPISODES = 150
_NUM_CHARACTERS = 3000  # of an episode: most first occurrences come early
_NUM_STEPS = 300


_UNSEEN = 0.1
"""Number of languages that a known character counts for which none has."""

_FEWEST_OF_BLOCK = 3  # characters of a Unicode block; the others of its letters and signs are known with them
_UNICODE_KINDS = frozenset({"Ll", "Lu", "Lt", "Lm", "Lo", "Mn", "Mc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Nd"})


class _Event(NamedTuple):
    """A first occurrence."""

    features: Tensor  # (C, 7)
    is_open: Tensor  # (C,): not met yet
    before: int  # class of the character before
    target: int  # which character came; C stands for all that are not known
    outside: float  # log share of such among those met


def character_frequencies(texts: Sequence[MetaText]) -> dict[str, float]:
    """Share of the texts whose letters may be known in which each character occurs.

    Where some characters of a Unicode block occur in two texts, the other letters, marks and signs of the block are
    there too, with a small share.
    """
    free = [text for text in texts if text.may_know_letters]
    counts: Counter[str] = Counter()
    for text in free:
        counts.update(set().union(*text.sentences))
    counts["\n"] = counts[" "] = len(free)
    common = [
        ord(character) for character, n in counts.items() if n >= 2 and script_of(character) not in MANY_CHARACTERS
    ]
    blocks = Counter(code // BLOCK for code in common)
    known = {
        chr(code)
        for block, number in blocks.items()
        if number >= _FEWEST_OF_BLOCK
        for code in range(block * BLOCK, (block + 1) * BLOCK)
        if unicodedata.category(chr(code)) in _UNICODE_KINDS
    }
    known.update(character for character, n in counts.items() if n >= 2)
    return {character: max(counts[character], _UNSEEN) / len(free) for character in sorted(known)}


def fit_first_occurrence(
    scorer: Scorer,
    texts: Sequence[MetaText],
    *,
    seed: int = 0,
    num_episodes: int = _NUM_EPISODES,
    on_progress: Callable[[float], None] = lambda share: None,
) -> Scorer:
    """A scorer with fitted weights of first occurrences; all else stays.

    Args:
        scorer: whose network of letters is asked.
        texts: of which those whose letters may be known are read, without the language itself in the frequencies.
        seed: of the episodes.
        num_episodes: how many.
        on_progress: called with the share of the work that was done since.
    """
    events: list[_Event] = []
    free = [text for text in texts if text.may_know_letters]
    for number in range(num_episodes):
        rng = random.Random(f"{seed} first {number}")  # noqa: S311 - no secret
        text = rng.choice(free)
        drawn = draw_text(text.sentences, EpisodeConfig(most_characters=_NUM_CHARACTERS), rng)
        events += _events(scorer, drawn, set().union(*text.sentences), len(free))
        on_progress(1 / num_episodes)
    first = scorer.first
    weights = torch.tensor(first.weights, dtype=torch.float32, requires_grad=True)
    classes = torch.tensor(first.classes, dtype=torch.float32, requires_grad=True)
    kinds = torch.from_numpy(first.kinds)
    optimizer = torch.optim.Adam([weights, classes], lr=0.05)
    features = torch.stack([event.features for event in events])  # (N, C, 7)
    open_ = torch.stack([event.is_open for event in events])  # (N, C)
    before = torch.tensor([event.before for event in events])
    targets = torch.tensor([event.target for event in events])
    outside_share = torch.tensor([event.outside for event in events], dtype=torch.float32)
    for step in range(_NUM_STEPS):
        scores = features @ weights[1:] + classes[before][:, kinds]
        scores = scores.masked_fill(~open_, -torch.inf)
        outside = weights[0] + outside_share
        loss = torch.nn.functional.cross_entropy(torch.cat([scores, outside.unsqueeze(1)], dim=1), targets)
        loss = loss + 0.01 * classes.square().mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        for group in optimizer.param_groups:
            group["lr"] = 0.05 * (1 - step / _NUM_STEPS)
        optimizer.step()
    fitted = FirstOccurrence(
        first.characters, first.log_frequency, weights.detach().numpy(), classes.detach().numpy()
    )
    return replace(scorer, first=fitted)


class _Recorder(Reader):
    """A reader that notes every first occurrence."""

    def __init__(self, scorer: Scorer) -> None:
        super().__init__(scorer, learn_online=False)
        self.noted: list[tuple[str, list[str], int, NDArray[np.float64]]] = []

    def _first_cost(self, character: str, position: int, num_met: int, query: NDArray[np.float32]) -> float:
        text = self._evidence.text
        before = NUM_CLASSES if position == 0 else int(self._kinds[text[position - 1] + 1])
        met = self._evidence.characters[:num_met]
        self.noted.append((character, met, before, self.scorer.letter_scores(query)))
        return 0.0


def _events(scorer: Scorer, text: str, own: Collection[str], num_texts: int) -> list[_Event]:
    """First occurrences of a text, with the frequencies of characters in the other texts."""
    recorder = _Recorder(scorer)
    recorder.read(text)
    first = scorer.first
    counts = np.exp(first.log_frequency) * num_texts
    here = np.array([character in own for character in first.characters], np.float64)
    log_frequency = np.log(np.maximum(counts - here, _UNSEEN) / max(num_texts - 1, 1))
    found = []
    for character, met, before, letters in recorder.noted:
        features = first.features(met)
        features[:, 0] = log_frequency
        met_set = set(met)
        is_open = np.array([c not in met_set for c in first.characters], bool)
        num_known = sum(c in first.index for c in met)
        found.append(
            _Event(
                torch.from_numpy(np.concatenate([features, letters[:, None]], axis=1)).float(),
                torch.from_numpy(is_open),
                before,
                first.index.get(character, len(first.characters)),
                math.log((len(met) - num_known + 0.5) / (len(met) + 1.0)),
            )
        )
    return found
