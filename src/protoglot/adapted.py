"""A language learned from some sentences: the model that a user keeps."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from protoglot.adapted_texts import NetworkLookahead, SideBySide
from protoglot.artefacts import HEADER, load_artefact, refuse_former_parts, save_artefact
from protoglot.errors import ConfigError, StorageError, VocabularyError
from protoglot.generation import GenerationConfig
from protoglot.model.config import Conditioning, ModelConfig
from protoglot.model.network import NUM_UNPREDICTED, LanguageModel, State
from protoglot.model.sampling import sample
from protoglot.ngram import NGram
from protoglot.prior.calibration import Calibration
from protoglot.running_text import costs_by_sentence, network_logits
from protoglot.scores import Score
from protoglot.trained import WEIGHTS, check_weights, load_weights, weights_as_arrays
from protoglot.vocabulary import END, NUM_SYMBOLS, Vocabulary

KIND = "adapted model"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptedModel:
    """A network that was adapted to a language; without any sentence, softened by a calibration if there is one."""

    network: LanguageModel
    vocabulary: Vocabulary
    features: NDArray[np.float32] | None
    """Typological vector of the language, (K,); ``None`` for BARE."""

    num_characters: int
    """Characters that were learned from, ends of sentences included."""

    ngram: NGram | None = None
    """Of the same sentences: to be exported, and for :meth:`orderless_nats`; it takes no part in predictions."""

    calibration: Calibration | None = None
    frequencies: NDArray[np.float32] | None = None
    """For the calibration, (V - 1,)."""

    language: str = ""
    """Code or name of the language; may be empty."""

    provenance: Mapping[str, object] = field(default_factory=dict)
    """How it was made: prior, method, settings, licences."""

    def features_tensor(self) -> Tensor | None:
        """The typological vector as the network reads it."""
        return None if self.features is None else torch.tensor(self.features).to(self.network.embedding)

    @torch.no_grad()
    def log_probabilities(self, sentences: Iterable[str]) -> Iterator[tuple[Tensor, Tensor]]:
        """Predictions along a text, of which no more than a piece is in memory.

        Yields:
            For the next N positions, log-probabilities of all ids that can be predicted, (N, V - 1), id v at
            position v - 1; and the positions of the ids that came, (N,).
        """
        for logits, targets in network_logits(self.network, self.vocabulary, self.features_tensor(), sentences):
            yield self._soften(logits), targets

    def nats_by_sentence(self, sentences: Iterable[str]) -> Iterator[tuple[str, NDArray[np.float64]]]:
        """Cost of every character and end of sentence, naming of unknown characters included.

        Args:
            sentences: a running text, of which no more than a piece is in memory.

        Returns:
            Each sentence of T characters with its costs, (T + 1,).
        """
        return costs_by_sentence(self.log_probabilities, self.vocabulary, sentences)

    def nats(
        self, sentences: Iterable[str], *, on_progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float64]:
        """All costs of :meth:`nats_by_sentence`.

        Args:
            sentences: a running text.
            on_progress: called with the number of characters scored since the last call.
        """
        pieces = [np.zeros(0)]
        for _, costs in self.nats_by_sentence(sentences):
            pieces.append(costs)
            if on_progress is not None:
                on_progress(len(costs))
        return np.concatenate(pieces)

    def score(self, sentences: Iterable[str], *, on_progress: Callable[[int], None] | None = None) -> Score:
        """What the model pays for a running text."""
        nats = self.nats(sentences, on_progress=on_progress)
        return Score(math.fsum(nats.tolist()), len(nats))

    def start(self) -> State:
        """The begin of a text."""
        return self.network.initial_state(1)

    @torch.no_grad()
    def read_side_by_side(self, states: Sequence[State], ids: Sequence[int]) -> tuple[Tensor, list[State]]:
        """Read one id in each of B texts, BEGIN at the very start.

        Returns:
            Log-probabilities of what comes next, (B, V - 1), and the states after the ids.
        """
        read = torch.tensor([list(ids)], device=self.network.embedding.device)  # (1, B)
        vectors, after = self.network.hidden_states(read, self.features_tensor(), State.side_by_side(states))
        return self._soften(self.network.logits(vectors[0]).cpu()), list(after.one_by_one())

    def reader(self, num_texts: int) -> SideBySide:
        """What reads several texts at once and predicts how each goes on."""
        return SideBySide(self, num_texts)

    def lookahead(self) -> NetworkLookahead:
        """Look ahead from the begin of a text."""
        return NetworkLookahead(self)

    def write(self, config: GenerationConfig, *, number: int, seed: int) -> list[str]:
        """Sample texts."""
        return sample(self.reader(number), self.vocabulary, config, num_samples=number, seed=seed)

    def has_met(self, character: str) -> bool:
        """Whether a character is in the inventory."""
        return character in self.vocabulary

    def background_nats(self, sentence: str) -> float:
        """What a sentence costs the better of two models that know nothing of the order of letters."""
        return min(self.orderless_nats(sentence))

    def most_nats(self, sentence: str) -> float:
        """What a sentence may cost if it is in the language: as much as by the background."""
        return self.background_nats(sentence)

    def orderless_nats(self, sentence: str) -> tuple[float, float]:
        """What a sentence costs without regard to the order of its letters.

        Returns:
            With all of the inventory equally likely; and with letters as likely as the n-gram of order one has them,
            or the same once more if there is none.
        """
        vocabulary = self.vocabulary
        naming = vocabulary.others_nats(vocabulary.encode(sentence).others)
        even = (len(sentence) + 1) * math.log(
            len(vocabulary) - NUM_SYMBOLS + 2
        ) + naming  # END and OTHER beside it
        if self.ngram is None:
            return even, even
        probabilities, _ = next(self.ngram.by_order([""]))
        ids = np.append(vocabulary.encode_to_array(sentence), END)
        return even, -float(np.log(probabilities[0, 0, ids - 1]).sum()) + naming

    def _soften(self, logits: Tensor) -> Tensor:
        if self.calibration is None or self.frequencies is None:
            return F.log_softmax(logits, dim=-1)
        return self.calibration.log_probabilities(logits, torch.tensor(self.frequencies))

    def save(self, path: Path) -> None:
        """Write the model as one directory of safetensors and JSON, which can be moved, zipped and shared."""
        tensors: dict[str, Mapping[str, NDArray[Any]]] = {"weights": weights_as_arrays(self.network)}
        content: dict[str, object] = {
            "model": self.network.config.to_json(),
            "num_features": self.network.num_features,
            "vocabulary": self.vocabulary.to_json(),
            "num_characters": self.num_characters,
            "language": self.language,
            "provenance": dict(self.provenance),
            "ngram": None,
            "calibration": None if self.calibration is None else asdict(self.calibration),
        }
        if self.features is not None:
            tensors["typology"] = {"features": self.features}
        if self.frequencies is not None:
            tensors["frequencies"] = {"frequencies": self.frequencies}
        if self.ngram is not None:
            content["ngram"], tensors["ngram"] = self.ngram.parts()
        save_artefact(path, kind=KIND, content=content, tensors=tensors)

    @classmethod
    def load(cls, path: Path, *, device: str = "cpu") -> "AdaptedModel":
        """Read a model that :meth:`save` wrote.

        Raises:
            StorageError: if it is damaged or something else.
        """
        content, tensors = load_artefact(path, kind=KIND)
        name = str(path / HEADER)
        refuse_former_parts(content, name=name)
        try:
            config = ModelConfig.from_json(content["model"], name=name)
            vocabulary = Vocabulary.from_json(content["vocabulary"], name=name)
            with torch.device("meta"):
                network = LanguageModel(
                    config, vocabulary_size=len(vocabulary), num_features=content["num_features"]
                )
            features = tensors["typology"]["features"] if "typology" in tensors else None
            frequencies = tensors["frequencies"]["frequencies"] if "frequencies" in tensors else None
            _check_vector(features, network.num_features, config.conditioning is not Conditioning.BARE)
            _check_vector(frequencies, len(vocabulary) - NUM_UNPREDICTED, content["calibration"] is not None)
            facts = {key: content[key] for key in ("num_characters", "language", "provenance")}
            if type(facts["num_characters"]) is not int or not isinstance(facts["provenance"], dict):
                raise TypeError(f"num_characters {facts['num_characters']!r}")
            calibration = _calibration(content["calibration"], name=name)
            ngram, weights = content["ngram"], tensors["weights"]
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(f"{name}: not the header of an adapted model ({error!r})") from error
        except (ConfigError, VocabularyError) as error:  # both name the file
            raise StorageError(str(error)) from error
        except RuntimeError as error:  # sizes that no tensor can have
            raise StorageError(f"{name}: not the header of a model ({str(error).splitlines()[0]})") from error
        check_weights(network, weights, name=str(path / WEIGHTS))
        network = network.to_empty(device="cpu")
        load_weights(network, weights, name=str(path / WEIGHTS))
        made_ngram = None
        if ngram is not None:
            made_ngram = NGram.from_parts(ngram, tensors.get("ngram", {}), vocabulary, name=name)
        return cls(
            network=network.to(device),
            vocabulary=vocabulary,
            features=features,
            frequencies=frequencies,
            calibration=calibration,
            ngram=made_ngram,
            **facts,
        )


def _calibration(value: object, *, name: str) -> Calibration | None:
    if not isinstance(value, dict):
        return None
    try:
        return Calibration(**value)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from error


def _check_vector(vector: NDArray[Any] | None, size: int, wanted: bool) -> None:
    """A ``ValueError`` if a vector is missing, surplus or of another size."""
    if (vector is not None) != wanted:
        raise ValueError("a vector missing or surplus")
    if vector is not None and (vector.shape != (size,) or vector.dtype != np.float32):
        raise ValueError(f"{vector.dtype} {vector.shape}; wanted float32 {(size,)}")
