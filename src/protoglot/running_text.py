"""What a network predicts along a running text, of which no more than a piece is in memory."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from protoglot.batching import make_stream
from protoglot.model.network import NUM_UNPREDICTED, LanguageModel, State
from protoglot.vocabulary import BEGIN, END, OTHER, Vocabulary

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


def costs_by_sentence(
    predict: Callable[[Iterable[str]], Iterator[tuple[Tensor, Tensor]]],
    vocabulary: Vocabulary,
    sentences: Iterable[str],
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Cost of every character and end of sentence, naming of unknown characters included.

    Args:
        predict: yields log-probabilities along a text, with the positions in them of the ids that came.
        vocabulary: of these ids.
        sentences: a running text, of which no more than a piece is in memory.

    Yields:
        Each sentence of T characters with its nats, (T + 1,).
    """
    read: deque[str] = deque()  # sentences whose costs are not all known yet

    def remembered() -> Iterator[str]:
        for sentence in sentences:
            read.append(sentence)
            yield sentence

    costs = np.zeros(0)
    for log_probabilities, targets in predict(remembered()):
        found = -log_probabilities.gather(1, targets.unsqueeze(1)).squeeze(1)
        costs = np.concatenate([costs, found.double().numpy()])
        while read and len(read[0]) < len(costs):
            sentence = read.popleft()
            own, costs = np.split(costs, [len(sentence) + 1])
            yield sentence, own + _naming_nats(vocabulary, sentence)


def _naming_nats(vocabulary: Vocabulary, sentence: str) -> NDArray[np.float64]:
    """What naming the characters outside the inventory adds to the costs of a sentence."""
    nats = np.zeros(len(sentence) + 1)
    for position in np.flatnonzero(vocabulary.encode_to_array(sentence) == OTHER):
        nats[position] = vocabulary.other_nats(sentence[position])
    return nats
