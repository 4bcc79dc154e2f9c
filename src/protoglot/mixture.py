"""What the components of a model predict along a text, side by side."""

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from protoglot.batching import make_stream
from protoglot.incontext.model import InContextModel
from protoglot.incontext.windows import Windows, windows_after
from protoglot.model.network import NUM_UNPREDICTED, LanguageModel, State
from protoglot.neighbours.model import NeighbourModel
from protoglot.ngram import NGram
from protoglot.prior.mixer import Predictions
from protoglot.vocabulary import BEGIN, END, Vocabulary

POSITIONS_AT_ONCE = 512
"""Bounds memory; changes no score."""

CHARACTERS_AT_ONCE = 1 << 16
"""Of a text that is read bit by bit: about as many are held in memory, in whole sentences."""


class RunningText:
    """A network's place in a text, whose state is never reset, however the text is cut into pieces.

    Args:
        network: dropout is off.
        vocabulary: its characters.
        features: typological vector of the language, (K,); ``None`` for BARE.
        positions_at_once: bounds memory.
    """

    def __init__(
        self,
        network: LanguageModel,
        vocabulary: Vocabulary,
        features: Tensor | None,
        *,
        positions_at_once: int = POSITIONS_AT_ONCE,
    ) -> None:
        self._network = network
        self._vocabulary = vocabulary
        self._features = features
        self._positions_at_once = positions_at_once
        self._state: State = network.initial_state(1)
        self._last_id = BEGIN

    @torch.no_grad()
    def logits(self, sentences: Sequence[str]) -> Iterator[tuple[Tensor, Tensor]]:
        """Scores along the sentences that come next in the text; to be used up before the next call.

        Yields:
            For the next N positions, logits of all ids that can be predicted, (N, V - 1), and the positions in them
            of the ids that came, (N,).
        """
        network, step = self._network, self._positions_at_once
        stream = make_stream(sentences, self._vocabulary).astype("int64")
        stream[0] = self._last_id
        ids = torch.from_numpy(stream).to(network.embedding.device)
        for first in range(0, len(ids) - 1, step):
            read = ids[first : min(first + step, len(ids) - 1)]
            vectors, self._state = network.hidden_states(read.unsqueeze(1), self._features, self._state)
            self._last_id = END
            yield (
                network.logits(vectors.squeeze(1)).cpu(),
                ids[first + 1 : first + 1 + len(read)].cpu() - NUM_UNPREDICTED,
            )


def network_logits(
    network: LanguageModel,
    vocabulary: Vocabulary,
    features: Tensor | None,
    sentences: Iterable[str],
    *,
    positions_at_once: int = POSITIONS_AT_ONCE,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Scores of the network along a text, of which no more than a piece is in memory.

    Yields:
        As :meth:`RunningText.logits`.
    """
    text = RunningText(network, vocabulary, features, positions_at_once=positions_at_once)
    for piece in pieces_of(sentences):
        yield from text.logits(piece)


def pieces_of(sentences: Iterable[str], *, num_characters: int = CHARACTERS_AT_ONCE) -> Iterator[list[str]]:
    """Consecutive sentences with at least so many characters together, but for the last of the pieces.

    >>> list(pieces_of(["one", "two", "three", "four"], num_characters=8))
    [['one', 'two'], ['three', 'four']]
    """
    piece: list[str] = []
    size = 0
    for sentence in sentences:
        piece.append(sentence)
        size += len(sentence) + 1
        if size >= num_characters:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def predict_side_by_side(
    network: LanguageModel,
    features: Tensor | None,
    ngram: NGram,
    sentences: Iterable[str],
    *,
    num_characters: int,
    incontext: InContextModel | None = None,
    neighbours: NeighbourModel | None = None,
    positions_at_once: int = POSITIONS_AT_ONCE,
) -> Iterator[tuple[Predictions, Tensor]]:
    """Predictions of all components along a text, those that are no n-gram of the sentences alone first.

    They are the network, what learns in context, the n-gram with its neighbours, and the n-gram of orders 1, 2, ...

    Args:
        network: its ids are those of the n-gram's vocabulary.
        features: typological vector of the language, (K,); ``None`` for BARE.
        ngram: trained on the same sentences as the network.
        sentences: the text, of which no more than a piece is in memory.
        num_characters: that both have learned from.
        incontext: that has read the same sentences; without one, it is no component.
        neighbours: that were chosen for the same sentences; without them, they are no component.
        positions_at_once: bounds memory.

    Yields:
        Predictions for the next N positions, and the positions in them of the ids that came, (N,).
    """
    text = RunningText(network, ngram.vocabulary, features, positions_at_once=positions_at_once)
    for piece in pieces_of(sentences):
        by_order = ngram.by_order(piece, positions_at_once=positions_at_once)
        windows = None
        if incontext is not None:
            windows = Windows(make_stream(piece, ngram.vocabulary).astype("int64"), incontext.window)
        others = None if neighbours is None else neighbours.along(piece, positions_at_once=positions_at_once)
        first = 0
        for (scores, targets), (probabilities, found) in zip(text.logits(piece), by_order, strict=True):
            orders, depth = torch.from_numpy(probabilities).log().float(), torch.from_numpy(found)
            parts = [F.log_softmax(scores, dim=1).unsqueeze(1), orders]
            if neighbours is not None and others is not None:
                together = neighbours.mix(probabilities[:, -1], next(others), found)
                parts.insert(1, torch.from_numpy(together).log().float().unsqueeze(1))
            if incontext is not None and windows is not None:
                learned = incontext.log_probabilities(
                    windows.of(first, first + len(orders)), orders, depth, num_characters=num_characters
                )
                parts.insert(1, learned.unsqueeze(1))
            first += len(orders)
            yield Predictions(torch.cat(parts, dim=1), depth, num_characters), targets


@torch.no_grad()
def predict_next(
    network: LanguageModel,
    features: Tensor | None,
    ngram: NGram | None,
    last_ids: Sequence[int],
    contexts: Sequence[Sequence[int]],
    state: State,
    *,
    num_characters: int,
    incontext: InContextModel | None = None,
    neighbours: NeighbourModel | None = None,
) -> tuple[Predictions, State]:
    """Predictions of all components for the next id of each of B texts.

    Args:
        network: as for :func:`predict_side_by_side`.
        features: as there.
        ngram: as there; without one, the network is the only component.
        last_ids: the id that came last in each text, BEGIN at the very start.
        contexts: ids of each text since the begin of the sentence, the last included.
        state: of the network before the last ids, for B texts.
        num_characters: as for :func:`predict_side_by_side`.
        incontext: as there; only with an n-gram.
        neighbours: as there; only with an n-gram.

    Returns:
        Predictions for B positions, and the state after the last ids.
    """
    read = torch.tensor([list(last_ids)], device=network.embedding.device)  # (1, B)
    vectors, after = network.hidden_states(read, features, state)
    parts = [F.log_softmax(network.logits(vectors[0]).cpu(), dim=1).unsqueeze(1)]  # (B, 1, V - 1)
    depth = torch.zeros(len(last_ids), dtype=torch.int64)
    if ngram is not None:
        probabilities, found = ngram.by_order_after(contexts)
        orders, depth = torch.from_numpy(probabilities).log().float(), torch.from_numpy(found)
        parts.append(orders)
        if neighbours is not None:
            together = neighbours.mix(probabilities[:, -1], neighbours.after(contexts), found)
            parts.insert(1, torch.from_numpy(together).log().float().unsqueeze(1))
        if incontext is not None:
            learned = incontext.log_probabilities(
                windows_after(contexts, incontext.window), orders, depth, num_characters=num_characters
            )
            parts.insert(1, learned.unsqueeze(1))
    return Predictions(torch.cat(parts, dim=1), depth, num_characters), after
