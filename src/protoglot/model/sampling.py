"""Text sampled from a network over a closed inventory of characters."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from protoglot.generation import GenerationConfig, write
from protoglot.model.network import NUM_UNPREDICTED, LanguageModel, State
from protoglot.text import LINE_BREAK, normalise_beginning
from protoglot.vocabulary import BEGIN, END, NUM_SYMBOLS, Vocabulary


class IdReader(Protocol):
    """What reads B texts side by side and predicts how each goes on."""

    def read(self, ids: Tensor) -> Tensor:
        """Read on.

        Args:
            ids: the next ids of each text, (T, B), BEGIN at the very start.

        Returns:
            Scores of all ids that can be predicted next, on the CPU, (B, V - 1), id v at position v - 1.
        """
        ...


class NetworkReader:
    """A network as an :class:`IdReader`.

    Args:
        model: dropout is off.
        features: typological vector of the language, (K,), or ``None`` for BARE.
        num_texts: B.
    """

    def __init__(self, model: LanguageModel, features: Tensor | None, num_texts: int) -> None:
        self._model = model
        self._features = features
        self._state: State = model.initial_state(num_texts)

    @torch.no_grad()
    def read(self, ids: Tensor) -> Tensor:
        """Logits of what comes after the ids."""
        on_device = ids.to(self._model.embedding.device)
        vectors, self._state = self._model.hidden_states(on_device, self._features, self._state)
        return self._model.logits(vectors[-1]).cpu()


class NetworkTexts:
    """Texts over an inventory (:class:`protoglot.generation.Texts`); OTHER is never drawn, for it names no character.

    Args:
        reader: of as many texts, at their very start.
        vocabulary: its characters.
    """

    def __init__(self, reader: IdReader, vocabulary: Vocabulary) -> None:
        self._reader = reader
        self._vocabulary = vocabulary
        self._columns = [END - NUM_UNPREDICTED, *range(NUM_SYMBOLS - NUM_UNPREDICTED, len(vocabulary) - 1)]
        self._names = [LINE_BREAK, *vocabulary.characters]
        self._begin = [BEGIN]
        self._scores: NDArray[np.float64] = np.zeros((0, 0))

    def read(self, pieces: Sequence[str]) -> None:
        """Read on; a character outside the inventory is read as OTHER."""
        ids = [[*self._begin, *self._ids(piece)] for piece in pieces]
        self._begin = []
        self._scores = self._reader.read(torch.tensor(ids).T).double().numpy()

    def predict(self) -> tuple[Sequence[str], NDArray[np.float64]]:
        """Characters of the inventory and the end of a sentence, with their scores."""
        return self._names, self._scores[:, self._columns]

    def characters(self) -> Sequence[str]:
        """The inventory."""
        return self._vocabulary.characters

    def _ids(self, text: str) -> list[int]:
        first, *others = (self._vocabulary.encode(line).ids for line in text.split(LINE_BREAK))
        return [*first, *(id_ for line in others for id_ in (END, *line))]


def generate(
    model: LanguageModel,
    vocabulary: Vocabulary,
    features: Tensor | None,
    config: GenerationConfig,
    *,
    num_samples: int = 1,
    seed: int = 0,
) -> list[str]:
    """Sample texts from a network (see :func:`sample`).

    Args:
        model: dropout is off.
        vocabulary: its characters.
        features: typological vector of the language, (K,), or ``None`` for BARE.
        config: how to sample.
        num_samples: texts to return.
        seed: of the random numbers.
    """
    reader = NetworkReader(model, features, num_samples)
    return sample(reader, vocabulary, config, num_samples=num_samples, seed=seed)


def sample(
    reader: IdReader, vocabulary: Vocabulary, config: GenerationConfig, *, num_samples: int = 1, seed: int = 0
) -> list[str]:
    """Sample texts side by side; the same seed gives the same texts.

    ``start`` is read normalised, a line break as the end of a sentence, and shown as it is.

    Args:
        reader: of as many texts as are wanted, at their very start.
        vocabulary: its characters.
        config: how to sample.
        num_samples: texts to return.
        seed: of the random numbers.
    """
    start = None if config.start is None else normalise_beginning(config.start)
    texts = write(
        NetworkTexts(reader, vocabulary),
        replace(config, start=start),
        number=num_samples,
        generator=np.random.default_rng(seed),
    )
    return [(config.start or "") + text for text in texts]
