"""The weights of a scorer, as inference needs them: numpy alone, no PyTorch."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from protoglot.artefacts import load_artefact, save_artefact
from protoglot.errors import StorageError
from protoglot.reading import online
from protoglot.reading.characters import NUM_CLASSES
from protoglot.reading.first_occurrence import FirstOccurrence
from protoglot.reading.kernel import ENTRY_FEATURES, NUM_CELLS, NUM_CONTEXTS, PLACE_FEATURES
from protoglot.reading.lexicons import Lexicons
from protoglot.reading.scoring import NUM_LETTERS

Array = NDArray[np.float32]

KIND = "scorer"

UNKNOWN = 0
"""Letter of a character that the network of letters does not know."""

NOT_MET = 1
"""Letter of the candidate that stands for all characters not met yet."""

NUM_SPECIAL = 2

_CANDIDATES = ("W", "S", "wb", "C", "W2", "b2", "v2", "W3", "U3", "u3", "b3", "v3")
_PLACE = ("P1", "p1_bias", "P1_flag", "P2", "p2_bias", "Po", "po_bias", "Kinds", "kinds_bias")
_LETTERS = (
    "letters", "classes", "language", "Lu", "Lx", "L1", "l1_bias", "L2", "l2_bias", "Lp", "lp_bias",
    "Lo", "lo_bias", "O", "o_bias", "gate", "gate_bias",
)  # fmt: skip


_FIRST_LAYERS = (
    "letters", "Lx", "language", "Lu", "l1_bias", "L2", "l2_bias", "Lp", "lp_bias", "Lo", "lo_bias", "gate",
    "gate_bias", "P1", "p1_bias", "P1_flag", "P2", "p2_bias",
)  # fmt: skip


_CANDIDATE_LAYERS = ("O", "o_bias", "W", "S", "wb", "C", "W2", "W3", "U3", "u3", "b3", "v3")


@dataclass(frozen=True, slots=True)
class Scorer:
    """A network that turns evidence into probabilities.

    What it knows of particular letters is in the network of letters; the rest knows only classes of them.
    """

    weights: Mapping[str, Array]
    characters: Sequence[str]
    """Those that the network of letters knows; the i-th is letter ``i + NUM_SPECIAL``."""

    first: FirstOccurrence
    """What predicts characters that were not met before."""

    lexicons: Lexicons = field(default_factory=Lexicons.none)
    """Words of languages that may be relatives of the one that is read."""

    identity: str = field(init=False)
    """SHA-256 of all that decides a probability."""

    known: Mapping[str, int] = field(init=False)
    first_layers: tuple[Array, ...] = field(init=False)
    """What :func:`protoglot.reading.scoring.places_forward` takes, in its order."""

    candidate_layers: tuple[Array, ...] = field(init=False)
    """What :func:`protoglot.reading.scoring.score_batch` takes, in its order."""

    first_outputs: tuple[Array, Array] = field(init=False)
    """Letters of the characters of ``first`` as candidates, (C, Q) and (C,)."""

    output_layers: Array = field(init=False)
    """Those that a reader goes on training, one after the other (``online.NAMES``)."""

    def __post_init__(self) -> None:
        expected = {*_CANDIDATES, *_PLACE, *_LETTERS}
        if set(self.weights) != expected:
            wrong = sorted(set(self.weights) ^ expected)
            raise StorageError(
                f"scorer: weights {', '.join(wrong)} missing or unknown; wanted those of this version"
            )
        # As they are stored, so that a scorer is the same before it is saved and after.
        w = {
            name: np.ascontiguousarray(value.astype(np.float16), np.float32)
            for name, value in self.weights.items()
        }
        object.__setattr__(self, "weights", w)
        # The compiled code trusts these: an array that is too small would be read beyond its end.
        for name, shape in _shapes(w, len(self.characters) + NUM_SPECIAL).items():
            if w[name].shape != shape:
                raise StorageError(f"scorer: weight {name} has shape {w[name].shape}; wanted {shape}")
        size = w["letters"].shape[1]
        first = w["L1"].reshape(NUM_LETTERS, size, -1)  # (16, E, L)
        # The first layer looks at one of few letters in each place: its products are looked up.
        table = np.einsum("ge,kel->kgl", w["letters"], first).astype(np.float32)
        class_table = np.einsum("ge,kel->kgl", w["classes"], first).astype(np.float32)
        object.__setattr__(self, "identity", self._digest())
        object.__setattr__(self, "known", {c: i + NUM_SPECIAL for i, c in enumerate(self.characters)})
        first_layers = (
            np.ascontiguousarray(table), np.ascontiguousarray(class_table),
            *(w[name] for name in _FIRST_LAYERS),
        )  # fmt: skip
        object.__setattr__(self, "first_layers", first_layers)
        object.__setattr__(self, "candidate_layers", tuple(w[name] for name in _CANDIDATE_LAYERS))
        rows = [self.known.get(character, UNKNOWN) for character in self.first.characters]
        object.__setattr__(self, "first_outputs", (w["O"][rows], w["o_bias"][rows]))
        object.__setattr__(self, "output_layers", np.concatenate([w[name].ravel() for name in online.NAMES]))

    def letter_scores(self, query: Array) -> NDArray[np.float64]:
        """What the network of letters says of each character of ``first``.

        Args:
            query: what it asks for, and last the weight of its bias, (Q + 1,).
        """
        outputs, biases = self.first_outputs
        return np.asarray(outputs @ query[:-1] + query[-1] * biases, np.float64)

    def save(self, path: Path, *, provenance: Mapping[str, object] | None = None) -> None:
        """Write the scorer, in half precision.

        Raises:
            StorageError: if it cannot be written.
        """
        save_artefact(
            path,
            kind=KIND,
            content={
                "characters": "".join(self.characters),
                "first": {"characters": "".join(self.first.characters)},
                "lexicons": {
                    "characters": "".join(self.lexicons.characters),
                    "languages": list(self.lexicons.lists),
                },
                "provenance": dict(provenance or {}),
            },
            tensors={
                "weights": {name: value.astype(np.float16) for name, value in self.weights.items()},
                "first": {
                    "log_frequency": self.first.log_frequency,
                    "weights": self.first.weights,
                    "classes": self.first.classes,
                },
                "lexicons": self.lexicons.arrays(),
            },
        )

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a scorer from its directory.

        Raises:
            StorageError: if it is missing, damaged or of another version.
        """
        content, tensors = load_artefact(path, kind=KIND)
        try:
            first = tensors["first"]
            return cls(
                {name: value.astype(np.float32) for name, value in tensors["weights"].items()},
                list(content["characters"]),
                FirstOccurrence(
                    list(content["first"]["characters"]),
                    first["log_frequency"],
                    first["weights"],
                    first["classes"],
                ),
                Lexicons.from_arrays(
                    list(content["lexicons"]["characters"]), content["lexicons"]["languages"], tensors["lexicons"]
                ),
            )
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise StorageError(f"{path}: not what a scorer holds ({error}); wanted one of this version") from error

    def _digest(self) -> str:
        digest = hashlib.sha256(
            json.dumps(
                [list(self.characters), self.first.characters, self.lexicons.characters, list(self.lexicons.lists)]
            ).encode()
        )
        arrays: list[tuple[str, NDArray[Any]]] = [
            *sorted(self.weights.items()),
            ("first.log_frequency", self.first.log_frequency),
            ("first.weights", self.first.weights),
            ("first.classes", self.first.classes),
            *((f"lexicons.{name}", value) for name, value in sorted(self.lexicons.arrays().items())),
        ]
        for name, value in arrays:
            digest.update(f"{name} {value.shape} {value.dtype}".encode())
            digest.update(np.ascontiguousarray(value).tobytes())
        settings = (
            online.NUM_CHARACTERS_PER_STEP, online.LEARNING_RATE, online.FIRST_DECAY, online.SECOND_DECAY,
        )  # fmt: skip
        digest.update(repr(settings).encode())
        return digest.hexdigest()


def _shapes(weights: Mapping[str, Array], num_letters: int) -> dict[str, tuple[int, ...]]:
    """The shape of every weight, given the sizes of the layers."""
    hidden = weights["wb"].size
    compared = weights["b3"].size
    place = weights["p1_bias"].size
    letters = weights["l1_bias"].size
    query = weights["lo_bias"].size
    embedding = weights["letters"].shape[-1]
    language = weights["language"].shape[-1]
    return {
        "W": (NUM_CONTEXTS, ENTRY_FEATURES, hidden),
        "S": (NUM_CONTEXTS * NUM_CELLS, hidden),
        "wb": (hidden,),
        "C": (NUM_CLASSES + 1, hidden),
        "W2": (hidden, hidden),
        "b2": (hidden,),
        "v2": (hidden,),
        "W3": (hidden, compared),
        "U3": (hidden, compared),
        "u3": (compared,),
        "b3": (compared,),
        "v3": (compared,),
        "P1": (PLACE_FEATURES, place),
        "p1_bias": (place,),
        "P1_flag": (place,),
        "P2": (place, place),
        "p2_bias": (place,),
        "Po": (place, 2 * NUM_CONTEXTS + 1 + 2 * hidden),
        "po_bias": (2 * NUM_CONTEXTS + 1 + 2 * hidden,),
        "Kinds": (place, NUM_CLASSES + 1),
        "kinds_bias": (NUM_CLASSES + 1,),
        "letters": (num_letters, embedding),
        "classes": (NUM_CLASSES + 1, embedding),
        "language": (num_letters, language),
        "Lu": (language, letters),
        "Lx": (embedding, letters),
        "L1": (NUM_LETTERS * embedding, letters),
        "l1_bias": (letters,),
        "L2": (letters, letters),
        "l2_bias": (letters,),
        "Lp": (letters, place),
        "lp_bias": (place,),
        "Lo": (letters, query),
        "lo_bias": (query,),
        "O": (num_letters, query),
        "o_bias": (num_letters,),
        "gate": (place, 1),
        "gate_bias": (1,),
    }
