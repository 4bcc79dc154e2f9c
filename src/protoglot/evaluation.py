"""Bits per character of running text, every character and end of sentence counted exactly once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from protoglot.batching import Stream, make_stream
from protoglot.model.config import Conditioning
from protoglot.model.network import LanguageModel
from protoglot.scores import Score
from protoglot.vocabulary import OTHER, Vocabulary

CHUNK_LENGTH = 256
"""Characters read between two looks at the clock; bounds memory and changes no score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredText:
    """A text to score in one language."""

    stream: Stream
    """Ids, from BEGIN on."""

    others_nats: float
    """What naming the characters outside the inventory costs (see :meth:`Vocabulary.other_nats`)."""

    features: Tensor | None = None
    """Typological vector of the language, (K,); ``None`` for BARE."""


def make_scored_text(
    sentences: tuple[str, ...], vocabulary: Vocabulary, features: Tensor | None = None
) -> ScoredText:
    """Sentences as one running text, ready to be scored."""
    stream = make_stream(sentences, vocabulary)
    others = 0.0
    if (stream == OTHER).any():
        others = vocabulary.others_nats("".join(vocabulary.encode(sentence).others for sentence in sentences))
    return ScoredText(stream=stream, others_nats=others, features=features)


@torch.no_grad()
def evaluate(
    model: LanguageModel,
    texts: Mapping[str, ScoredText],
    *,
    texts_at_once: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> dict[str, Score]:
    """Score each text as one stream whose state is never reset, as in the paper (§4).

    Texts are read side by side; how many at once changes the speed and not the scores. Dropout is off.

    Args:
        model: left as it was.
        texts: what to score, by any name.
        texts_at_once: rows of a batch; by default all (one for PLAT, whose weights differ by language).
        on_progress: called with the number of characters scored since the last call.
    """
    if model.config.conditioning is Conditioning.PLAT:
        texts_at_once = 1
    # Longest first, so that the texts of a batch end at about the same time.
    names = sorted(texts, key=lambda name: (-len(texts[name].stream), name))
    step = texts_at_once or max(len(names), 1)
    scores: dict[str, Score] = {}
    for first in range(0, len(names), step):
        group = {name: texts[name] for name in names[first : first + step]}
        scores.update(_score_side_by_side(model, group, on_progress))
    return {name: scores[name] for name in texts}


def _score_side_by_side(
    model: LanguageModel, texts: Mapping[str, ScoredText], on_progress: Callable[[int], None] | None
) -> dict[str, Score]:
    """Score texts as the rows of one batch; a row leaves the batch when its text is over."""
    device = model.embedding.device
    names = list(texts)  # longest first
    lengths = np.array([len(texts[name].stream) - 1 for name in names])
    nats = np.zeros(len(names))
    state = model.initial_state(len(names))
    features = _rows_of_features(model, [texts[name].features for name in names])
    position = 0
    active = int((lengths > 0).sum())
    while active:
        num_steps = int(min(CHUNK_LENGTH, lengths[0] - position))
        # Rows that end within the chunk are filled up; what is read after their end is not counted.
        ids = np.ones((num_steps + 1, active), dtype=np.int64)
        for row in range(active):
            piece = texts[names[row]].stream[position : position + num_steps + 1]
            ids[: len(piece), row] = piece
        on_device = torch.from_numpy(ids).to(device)
        state = state.rows(slice(active))
        rows = features if features is None or features.dim() == 1 else features[:active]
        costs, state = model.nats(on_device[:-1], on_device[1:], rows, state)  # (T, B)
        costs = costs.double().cpu()
        counted = np.minimum(lengths[:active] - position, num_steps)
        for row in range(active):
            nats[row] += float(costs[: counted[row], row].sum())
        if on_progress is not None:
            on_progress(int(counted.sum()))
        position += num_steps
        active = int((lengths > position).sum())
    return {
        name: Score(float(nats[row]) + texts[name].others_nats, int(lengths[row]))
        for row, name in enumerate(names)
    }


def _rows_of_features(model: LanguageModel, features: list[Tensor | None]) -> Tensor | None:
    """Features as the model takes them: one vector for one text, a matrix for several."""
    if model.config.conditioning is Conditioning.BARE:
        return None
    known = [vector for vector in features if vector is not None]
    if len(known) != len(features):
        return None  # the model says what is missing
    if len(known) == 1:
        return known[0].to(model.embedding)
    return torch.stack(known).to(model.embedding)
