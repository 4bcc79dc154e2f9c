"""A model together with all that is needed to use it: vocabulary, languages, typology, provenance."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from protoglot.artefacts import HEADER, load_artefact, save_artefact
from protoglot.corpus.interface import LanguageRecord
from protoglot.errors import ConfigError, StorageError, VocabularyError
from protoglot.folds import Fold
from protoglot.model.config import Conditioning, ModelConfig
from protoglot.model.network import LanguageModel
from protoglot.vocabulary import Vocabulary

KIND = "model"
LATEST = "latest.json"
"""In a run's directory: which of its checkpoints is the newest."""
CHECKPOINTS = "checkpoints"
BEST = "best"
"""In the directory of a run with early stopping: the model with the best score on validation languages."""
WEIGHTS = "weights.safetensors"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedModel:
    """What training makes and everything else starts from."""

    model: LanguageModel
    vocabulary: Vocabulary
    languages: Mapping[str, LanguageRecord]
    """All languages of the corpus, by code."""

    features: Mapping[str, NDArray[np.float32]]
    """Typological vector of each language, (K,); empty for BARE."""

    fold: Fold
    """Which languages were trained on, watched and held out."""

    provenance: Mapping[str, object] = field(default_factory=dict)
    """Corpus, settings, budget, versions: how it was made."""

    def features_of(self, language: str) -> Tensor | None:
        """The typological vector that the model reads for a language; ``None`` for BARE."""
        if self.model.config.conditioning is Conditioning.BARE:
            return None
        if language not in self.features:
            raise ConfigError(f"{language}: no typological vector in the model; wanted one of its languages")
        # A copy in memory that torch aligns: sums over memory that is not may differ in the last bit, so that a
        # model read from disk would not compute quite as it did before.
        return torch.tensor(self.features[language]).to(self.model.embedding)


Parts = tuple[dict[str, object], dict[str, Mapping[str, NDArray[Any]]]]
"""Content and tensors of an artefact (see :mod:`protoglot.artefacts`)."""


def parts_of(trained: TrainedModel) -> Parts:
    """A model as the content and tensors of an artefact, to which more may be added."""
    with_features = sorted(trained.features)
    tensors: dict[str, Mapping[str, NDArray[Any]]] = {"weights": weights_as_arrays(trained.model)}
    if with_features:
        tensors["typology"] = {"features": np.stack([trained.features[code] for code in with_features])}
    content: dict[str, object] = {
        "model": trained.model.config.to_json(),
        "num_features": trained.model.num_features,
        "vocabulary": trained.vocabulary.to_json(),
        "languages": [asdict(record) for record in trained.languages.values()],
        "languages_with_features": with_features,
        "fold": asdict(trained.fold),
        "provenance": dict(trained.provenance),
    }
    return content, tensors


def save_trained(
    path: Path,
    trained: TrainedModel,
    *,
    state: Mapping[str, object] | None = None,
    optimizer: Mapping[str, NDArray[Any]] | None = None,
) -> None:
    """Write a model, with the state of its training if it is to go on."""
    content, tensors = parts_of(trained)
    content["state"] = dict(state or {})
    if optimizer is not None:
        tensors["optimizer"] = optimizer
    save_artefact(path, kind=KIND, content=content, tensors=tensors)


def load_trained(path: Path, *, device: str = "cpu") -> TrainedModel:
    """Read a model from its directory, or from that of a run: its best, if it stops early, or its newest.

    Raises:
        StorageError: if there is none, or it is damaged.
    """
    if newest_checkpoint(path) is not None and (path / BEST).is_dir():
        path = path / BEST
    return load_with_state(path, device=device)[0]


def load_with_state(
    path: Path, *, device: str = "cpu"
) -> tuple[TrainedModel, dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a model with the state of its training and of its optimiser, which are empty if it was not kept."""
    path = newest_checkpoint(path) or path
    content, tensors = load_artefact(path, kind=KIND)
    trained = trained_from_parts(content, tensors, path=path, device=device)
    state = content.get("state")
    if not isinstance(state, dict):
        raise StorageError(f"{path / HEADER}: not the header of a model (no state)")
    return trained, state, tensors.get("optimizer", {})


def trained_from_parts(
    content: Mapping[str, Any],
    tensors: Mapping[str, Mapping[str, NDArray[Any]]],
    *,
    path: Path,
    device: str = "cpu",
) -> TrainedModel:
    """The model that :func:`parts_of` took apart.

    Raises:
        StorageError: if something is missing or does not fit; ``path`` says where it was found.
    """
    name = str(path / HEADER)
    try:
        config = ModelConfig.from_json(content["model"], name=name)
        vocabulary = Vocabulary.from_json(content["vocabulary"], name=name)
        records = {entry["code"]: LanguageRecord(**entry) for entry in content["languages"]}
        roles = content["fold"]
        fold = Fold(
            name=roles["name"],
            held_out=tuple(roles["held_out"]),
            validation=tuple(roles["validation"]),
            training=tuple(roles["training"]),
        )
        with torch.device("meta"):  # no memory and no initial weights before the sizes are known to be right
            model = LanguageModel(config, vocabulary_size=len(vocabulary), num_features=content["num_features"])
        features = _features_by_language(content["languages_with_features"], tensors, model.num_features)
        weights, provenance = tensors["weights"], dict(content["provenance"])
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(f"{name}: not the header of a model ({error!r})") from error
    except (ConfigError, VocabularyError) as error:  # both name the file
        raise StorageError(str(error)) from error
    except RuntimeError as error:  # sizes that no tensor can have
        raise StorageError(f"{name}: not the header of a model ({str(error).splitlines()[0]})") from error
    check_weights(model, weights, name=str(path / WEIGHTS))
    model = model.to_empty(device="cpu")
    load_weights(model, weights, name=str(path / WEIGHTS))
    return TrainedModel(
        model=model.to(device),
        vocabulary=vocabulary,
        languages=records,
        features=features,
        fold=fold,
        provenance=provenance,
    )


def newest_checkpoint(run: Path) -> Path | None:
    """The newest checkpoint in the directory of a run; ``None`` if the path is not one or has none yet."""
    pointer = run / LATEST
    if not pointer.is_file():
        return None
    try:
        name = json.loads(pointer.read_bytes())["checkpoint"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise StorageError(f"{pointer}: damaged; wanted the name of a checkpoint") from error
    if not isinstance(name, str) or Path(name).name != name or name in ("", "..") or not name.isprintable():
        raise StorageError(f"{pointer}: checkpoint {name!r}; wanted a name in {CHECKPOINTS}/")
    return run / CHECKPOINTS / name


def weights_as_arrays(model: nn.Module) -> dict[str, NDArray[Any]]:
    """The model's weights by name, sharing memory where they are on the CPU."""
    return {name: weight.detach().cpu().numpy() for name, weight in model.named_parameters()}


@torch.no_grad()
def load_weights(model: nn.Module, weights: Mapping[str, NDArray[Any]], *, name: str) -> None:
    """Copy weights into a model, strictly: every name, every shape, the same type.

    Raises:
        StorageError: if one is missing, surplus, or of another shape or type; the model is then as before.
    """
    check_weights(model, weights, name=name)
    for key, parameter in model.named_parameters():
        parameter.copy_(torch.from_numpy(weights[key]))


def check_weights(model: nn.Module, weights: Mapping[str, NDArray[Any]], *, name: str) -> None:
    """Compare names, shapes and types of weights with those of a model.

    Raises:
        StorageError: at the first that differs; ``name`` says where they were found.
    """
    wanted = dict(model.named_parameters())
    if set(weights) != set(wanted):
        odd = sorted(set(weights) ^ set(wanted))
        raise StorageError(f"{name}: weights {', '.join(odd[:3])} missing or surplus; wanted those of its model")
    for key, parameter in wanted.items():
        found = torch.from_numpy(weights[key])
        if found.shape != parameter.shape or found.dtype != parameter.dtype:
            raise StorageError(
                f"{name}: {key}: {found.dtype} {tuple(found.shape)}; "
                f"wanted {parameter.dtype} {tuple(parameter.shape)}"
            )


def _features_by_language(
    languages: list[str], tensors: Mapping[str, Mapping[str, NDArray[Any]]], num_features: int
) -> dict[str, NDArray[np.float32]]:
    """Rows of the matrix of typological features; a ``ValueError`` if it is not what the header promises."""
    if not isinstance(languages, list):
        raise TypeError(f"languages_with_features: {languages!r}")
    if not languages:
        return {}
    matrix = tensors["typology"]["features"]
    if matrix.shape != (len(languages), num_features) or matrix.dtype != np.float32:
        raise ValueError(
            f"typology: {matrix.dtype} {matrix.shape}; wanted float32 {(len(languages), num_features)}"
        )
    return dict(zip(languages, matrix, strict=True))
