"""A language learned from some sentences: the model that a user keeps."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from protoglot.adapted_texts import Cursor, NetworkLookahead, SideBySide
from protoglot.artefacts import HEADER, load_artefact, save_artefact
from protoglot.errors import ConfigError, StorageError, VocabularyError
from protoglot.generation import GenerationConfig
from protoglot.incontext.model import InContextModel
from protoglot.mixture import network_logits, predict_next, predict_side_by_side
from protoglot.model.config import Conditioning, ModelConfig
from protoglot.model.network import NUM_UNPREDICTED, LanguageModel, State
from protoglot.model.sampling import sample
from protoglot.neighbours.model import NeighbourModel
from protoglot.ngram import NGram
from protoglot.prior.calibration import Calibration
from protoglot.prior.mixer import Mixer, Predictions, mixer_from_parts, mixer_parts
from protoglot.scores import Score
from protoglot.trained import WEIGHTS, check_weights, load_weights, weights_as_arrays
from protoglot.vocabulary import BEGIN, END, NUM_SYMBOLS, OTHER, Vocabulary

KIND = "adapted model"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptedModel:
    """A language: adapted network, what learns in context, n-gram of the same sentences, its neighbours, and a mixer.

    Where sentences that were held out say that the n-gram does better alone, the mixture is trusted less.

    Without a mixer the network predicts alone; without any sentence, softened by a calibration if there is one.
    """

    network: LanguageModel
    vocabulary: Vocabulary
    features: NDArray[np.float32] | None
    """Typological vector of the language, (K,); ``None`` for BARE."""

    num_characters: int
    """Characters that were learned from, ends of sentences included."""

    ngram: NGram | None = None
    incontext: InContextModel | None = None
    """What has read the same sentences in context; only with an n-gram, and used by the mixer."""

    neighbours: NeighbourModel | None = None
    """Languages that are like this one; only with an n-gram, and used by the mixer."""

    mixer: Mixer | None = None
    trust: float = 1.0
    """Share of the mixture; the rest is the n-gram's alone. Chosen on sentences held out: :mod:`protoglot.checking`."""

    calibration: Calibration | None = None
    frequencies: NDArray[np.float32] | None = None
    """For the calibration, (V - 1,)."""

    language: str = ""
    """Code or name of the language; may be empty."""

    provenance: Mapping[str, object] = field(default_factory=dict)
    """How it was made: prior, method, settings, licences."""

    def __post_init__(self) -> None:
        if type(self.trust) not in (int, float) or not 0 <= self.trust <= 1:
            raise ConfigError(f"trust: {self.trust!r}; wanted a share from 0 to 1")

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
        if self.ngram is not None and self.mixer is not None:
            for predictions, targets in self.side_by_side(self.ngram, sentences):
                yield self._mix(self.mixer, predictions), targets
            return
        for logits, targets in network_logits(self.network, self.vocabulary, self.features_tensor(), sentences):
            yield self._soften(logits), targets

    def side_by_side(self, ngram: NGram, sentences: Iterable[str]) -> Iterator[tuple[Predictions, Tensor]]:
        """Predictions of all components along a text."""
        return predict_side_by_side(
            self.network,
            self.features_tensor(),
            ngram,
            sentences,
            num_characters=self.num_characters,
            incontext=self.incontext,
            neighbours=self.neighbours,
        )

    def nats_by_sentence(self, sentences: Iterable[str]) -> Iterator[tuple[str, NDArray[np.float64]]]:
        """Cost of every character and end of sentence, naming of unknown characters included.

        Args:
            sentences: a running text, of which no more than a piece is in memory.

        Yields:
            Each sentence of T characters with its costs, (T + 1,).
        """
        read: deque[str] = deque()  # sentences whose costs are not all known yet

        def remembered() -> Iterator[str]:
            for sentence in sentences:
                read.append(sentence)
                yield sentence

        costs = np.zeros(0)
        for log_probabilities, targets in self.log_probabilities(remembered()):
            found = -log_probabilities.gather(1, targets.unsqueeze(1)).squeeze(1)
            costs = np.concatenate([costs, found.double().numpy()])
            while read and len(read[0]) < len(costs):
                sentence = read.popleft()
                own, costs = np.split(costs, [len(sentence) + 1])
                yield sentence, own + self._naming_nats(sentence)

    def _naming_nats(self, sentence: str) -> NDArray[np.float64]:
        """What naming the characters outside the inventory adds to the costs of a sentence."""
        nats = np.zeros(len(sentence) + 1)
        for position in np.flatnonzero(self.vocabulary.encode_to_array(sentence) == OTHER):
            nats[position] = self.vocabulary.other_nats(sentence[position])
        return nats

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

    def network_score(self, sentences: Iterable[str]) -> Score:
        """What the network pays without the n-gram."""
        return replace(self, mixer=None).score(sentences)

    def ngram_score(self, sentences: Sequence[str]) -> Score:
        """What the n-gram pays without the network.

        Raises:
            ConfigError: if there is none.
        """
        if self.ngram is None:
            raise ConfigError("the model has no n-gram; wanted one that learned from sentences")
        return self.ngram.score(sentences)

    def in_context_score(self, sentences: Sequence[str]) -> Score:
        """What the part that learns in context pays without the network.

        Raises:
            ConfigError: if there is none.
        """
        if self.ngram is None or self.incontext is None:
            raise ConfigError("nothing in the model learns in context; wanted one of a prior that was taught to")
        return self._component_score(1, self.ngram, sentences)

    def neighbours_score(self, sentences: Sequence[str]) -> Score:
        """What the n-gram pays together with its neighbours.

        Raises:
            ConfigError: if there are none.
        """
        if self.ngram is None or self.neighbours is None:
            raise ConfigError(
                "the model has no neighbours; wanted one of a prior that has n-grams of its languages"
            )
        return self._component_score(1 if self.incontext is None else 2, self.ngram, sentences)

    def _component_score(self, place: int, ngram: NGram, sentences: Sequence[str]) -> Score:
        """What the component at some place among all of them pays alone."""
        nats = 0.0
        for predictions, targets in self.side_by_side(ngram, sentences):
            found = predictions.log_probabilities[:, place]
            nats -= float(found.double().gather(1, targets.unsqueeze(1)).sum())
        naming = sum(float(self._naming_nats(sentence).sum()) for sentence in sentences)
        return Score(nats + naming, sum(len(sentence) + 1 for sentence in sentences))

    def start(self) -> Cursor:
        """The begin of a text."""
        return Cursor(self.network.initial_state(1), ())

    def read(self, cursor: Cursor, id_: int) -> tuple[Tensor, Cursor]:
        """Read one id, BEGIN at the very start.

        Returns:
            Log-probabilities of what comes next, (V - 1,), and the place after the id.
        """
        found, cursors = self.read_side_by_side([cursor], [id_])
        return found[0], cursors[0]

    @torch.no_grad()
    def read_side_by_side(self, cursors: Sequence[Cursor], ids: Sequence[int]) -> tuple[Tensor, list[Cursor]]:
        """Read one id in each of B texts.

        Returns:
            Log-probabilities of what comes next, (B, V - 1), and the places after the ids.
        """
        contexts = [self._context_after(cursor, id_) for cursor, id_ in zip(cursors, ids, strict=True)]
        state = State.side_by_side([cursor.network for cursor in cursors])
        mixer = self.mixer if self.ngram is not None else None
        predictions, after = predict_next(
            self.network,
            self.features_tensor(),
            self.ngram if mixer is not None else None,
            ids,
            contexts,
            state,
            num_characters=self.num_characters,
            incontext=self.incontext,
            neighbours=self.neighbours,
        )
        network = predictions.log_probabilities[:, 0]
        found = self._soften(network) if mixer is None else self._mix(mixer, predictions)
        return found, [Cursor(*parts) for parts in zip(after.one_by_one(), contexts, strict=True)]

    def _context_after(self, cursor: Cursor, id_: int) -> tuple[int, ...]:
        if id_ in (BEGIN, END):
            return (id_,)
        longest = 1 if self.ngram is None else self.ngram.order
        if self.incontext is not None:
            longest = max(longest, self.incontext.window)
        if self.neighbours is not None:
            longest = max(longest, self.neighbours.joint.order)
        return (*cursor.context, id_)[-longest:]

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
        probabilities, _ = self.ngram.by_order_after([[END]])
        ids = np.append(vocabulary.encode_to_array(sentence), END)
        return even, -float(np.log(probabilities[0, 0, ids - 1]).sum()) + naming

    def _mix(self, mixer: Mixer, predictions: Predictions) -> Tensor:
        """The mixture, as far as it is trusted, and the n-gram of the highest order."""
        ngram = predictions.log_probabilities[:, -1]
        if self.trust == 0:
            return ngram
        mixed: Tensor = mixer(predictions)
        if self.trust == 1:
            return mixed
        return torch.logaddexp(mixed + math.log(self.trust), ngram + math.log1p(-self.trust))

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
            "incontext": None,
            "neighbours": None,
            "mixer": None,
            "trust": self.trust,
            "calibration": None if self.calibration is None else asdict(self.calibration),
        }
        if self.features is not None:
            tensors["typology"] = {"features": self.features}
        if self.frequencies is not None:
            tensors["frequencies"] = {"frequencies": self.frequencies}
        if self.ngram is not None:
            content["ngram"], tensors["ngram"] = self.ngram.parts()
        if self.incontext is not None:
            content["incontext"], files = self.incontext.parts()
            tensors.update(files)
        if self.neighbours is not None:
            content["neighbours"], tensors["neighbours"] = self.neighbours.parts()
        if self.mixer is not None:
            content["mixer"], tensors["mixer"] = mixer_parts(self.mixer)
        save_artefact(path, kind=KIND, content=content, tensors=tensors)

    @classmethod
    def load(cls, path: Path, *, device: str = "cpu") -> "AdaptedModel":
        """Read a model that :meth:`save` wrote.

        Raises:
            StorageError: if it is damaged or something else.
        """
        content, tensors = load_artefact(path, kind=KIND)
        name = str(path / HEADER)
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
            facts["trust"] = content.get("trust", 1.0)
            if type(facts["num_characters"]) is not int or not isinstance(facts["provenance"], dict):
                raise TypeError(f"num_characters {facts['num_characters']!r}")
            calibration = _calibration(content["calibration"], name=name)
            ngram, mixer, incontext = content["ngram"], content["mixer"], content.get("incontext")
            neighbours = content.get("neighbours")
            weights = tensors["weights"]
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
        made_incontext = None
        if incontext is not None:
            made_incontext = InContextModel.from_parts(
                incontext, tensors, vocabulary_size=len(vocabulary), name=name
            )
            order = made_incontext.network.config.ngram.order
            if made_ngram is None or made_ngram.order != order:
                raise StorageError(
                    f"{name}: what learns in context does not fit; wanted an n-gram of order {order}"
                )
        made_neighbours = None
        if neighbours is not None:
            if made_ngram is None or not isinstance(neighbours, dict):
                raise StorageError(f"{name}: neighbours without an n-gram; wanted one")
            made_neighbours = NeighbourModel.from_parts(
                neighbours, tensors.get("neighbours", {}), vocabulary, order=made_ngram.order, name=name
            )
        made_mixer = None if mixer is None else mixer_from_parts(mixer, tensors.get("mixer", {}), name=name)
        beside = 1 + sum(part is not None for part in (made_incontext, made_neighbours))
        if made_mixer is not None and (
            made_ngram is None or made_mixer.num_components != made_ngram.order + beside
        ):
            raise StorageError(f"{name}: a mixer that does not fit its n-gram; wanted one for each component")
        try:
            return cls(
                network=network.to(device),
                vocabulary=vocabulary,
                features=features,
                frequencies=frequencies,
                calibration=calibration,
                ngram=made_ngram,
                incontext=made_incontext,
                neighbours=made_neighbours,
                mixer=made_mixer,
                **facts,
            )
        except ConfigError as error:
            raise StorageError(f"{name}: {error}") from error


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
