"""The in-context network with the sentences of a language in its memory: a model of that language."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from protoglot.batching import make_stream
from protoglot.errors import ConfigError, StorageError
from protoglot.incontext.company import Letters
from protoglot.incontext.config import InContextConfig
from protoglot.incontext.letters import stand_ins
from protoglot.incontext.memory import Memory
from protoglot.incontext.network import MOST_CHARACTERS, InContextNetwork
from protoglot.incontext.windows import Windows
from protoglot.splits import enough_sentences
from protoglot.trained import check_weights, load_weights, weights_as_arrays
from protoglot.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class InContextModel:
    """What predicts a language from its sentences, beside the n-gram of them."""

    network: InContextNetwork
    memory: Memory
    letters: Letters

    @classmethod
    @torch.no_grad()
    def read(
        cls, network: InContextNetwork, known: Vocabulary, sentences: Sequence[str], vocabulary: Vocabulary
    ) -> "InContextModel":
        """Read the sentences of a language, the first characters of them where they are very many.

        Args:
            network: as it was taught.
            known: its vocabulary.
            sentences: of the language.
            vocabulary: extends ``known`` by the characters of the sentences.
        """
        known_ids = torch.from_numpy(stand_ins(vocabulary, known, set().union(*sentences)))
        some = enough_sentences(sentences, MOST_CHARACTERS)
        stream = make_stream(some, vocabulary).astype(np.int64)[: MOST_CHARACTERS + 1]
        windows = torch.from_numpy(Windows(stream, network.config.window).of(0, len(stream) - 1))
        read, next_ids = windows[:, -1], torch.from_numpy(stream[1:])
        letters = network.letters_of(read, next_ids, known_ids)
        memory = network.memorise(network.states(windows, letters), read, next_ids)
        return cls(network=network, memory=memory, letters=letters)

    @property
    def window(self) -> int:
        """W: ids that it reads before a position."""
        return self.network.config.window

    @torch.no_grad()
    def log_probabilities(
        self, windows: NDArray[np.int64], orders: Tensor, depth: Tensor, *, num_characters: int
    ) -> Tensor:
        """What comes next at N positions, (N, V - 1).

        Args:
            windows: ids before them, (N, W); see :mod:`protoglot.incontext.windows`.
            orders: log-probabilities of the n-gram's orders, (N, K, V - 1).
            depth: length of the longest context that the n-gram knows, (N,).
            num_characters: that the n-gram has counted.
        """
        read = torch.from_numpy(windows)
        return self.network.predict(
            self.network.states(read, self.letters),
            read[:, -1],
            orders,
            depth,
            self.memory,
            self.letters,
            num_characters=num_characters,
        )

    def parts(self) -> tuple[dict[str, object], dict[str, Mapping[str, NDArray[Any]]]]:
        """The model as JSON values and arrays by file."""
        facts, weights = network_parts(self.network)
        return facts, {"incontext": weights, "memory": self.memory.parts(), "letters": self.letters.parts()}

    @classmethod
    def from_parts(
        cls,
        facts: Mapping[str, Any],
        tensors: Mapping[str, Mapping[str, NDArray[Any]]],
        *,
        vocabulary_size: int,
        name: str,
    ) -> "InContextModel":
        """The model that :meth:`parts` took apart.

        Raises:
            StorageError: if something is missing or does not fit; ``name`` says where it was found.
        """
        network = network_from_parts(facts, tensors.get("incontext", {}), name=name)
        memory = Memory.from_parts(
            tensors.get("memory", {}), key_size=network.config.key_size, vocabulary_size=vocabulary_size, name=name
        )
        letters = Letters.from_parts(
            tensors.get("letters", {}), network.config, vocabulary_size=vocabulary_size, name=name
        )
        return cls(network=network, memory=memory, letters=letters)


def network_parts(network: InContextNetwork) -> tuple[dict[str, object], dict[str, NDArray[Any]]]:
    """A network as JSON values and arrays."""
    facts = {"config": network.config.to_json(), "vocabulary_size": network.vocabulary_size}
    return facts, weights_as_arrays(network)


def network_from_parts(
    facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, name: str
) -> InContextNetwork:
    """The network that :func:`network_parts` took apart.

    Raises:
        StorageError: if something is missing or does not fit; ``name`` says where it was found.
    """
    try:
        config = InContextConfig.from_json(facts["config"], name=name)
        size = facts["vocabulary_size"]
        if type(size) is not int or not 0 < size < 1 << 21:
            raise TypeError(f"vocabulary_size {size!r}")
    except (KeyError, TypeError) as error:
        raise StorageError(f"{name}: not an in-context network ({error!r})") from error
    except ConfigError as error:
        raise StorageError(str(error)) from error
    with torch.device("meta"):
        network = InContextNetwork(config, vocabulary_size=size)
    check_weights(network, arrays, name=name)
    for part, values in arrays.items():
        if not np.isfinite(values).all():
            raise StorageError(f"{name}: {part}: values that are not finite; wanted finite ones")
    network = network.to_empty(device="cpu")
    load_weights(network, arrays, name=name)
    return network
