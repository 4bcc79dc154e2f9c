"""What a directory that protoglot wrote holds, in a few facts; every byte of it is checked on the way.

Nothing here needs PyTorch: sizes are those of the arrays.
"""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protoglot.artefacts import HEADER, load_artefact, read_header
from protoglot.errors import StorageError
from protoglot.reading.characters import LINE_FEED

RUN = "run.json"
"""In the directory of a run: its plan."""
_LATEST, _CHECKPOINTS, _BEST = "latest.json", "checkpoints", "best"

_MEASURED = ("predicted", "own_lines")  # what a reader has measured while it read its page

DETAILS = frozenset({"own_lines", "scorer", "made_from", "bytes", "files"})
"""Facts that few ask for."""

Facts = dict[str, object]
Arrays = Mapping[str, Mapping[str, NDArray[Any]]]


def describe(path: Path) -> Facts:
    """Facts about a model, a prior, an n-gram, a run, or anything else with a header, as JSON values.

    Raises:
        StorageError: if it is nothing that protoglot wrote, or damaged.
    """
    if (path / RUN).is_file() and not (path / HEADER).exists():
        return _describe_run(path)
    header = read_header(path)
    content, tensors = load_artefact(path, kind=header["kind"])
    facts: Facts = {"kind": header["kind"], "path": str(path)}
    describe_kind = _BY_KIND.get(header["kind"])
    if describe_kind is not None:
        try:
            facts |= describe_kind(content, tensors)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise StorageError(f"{path / HEADER}: not the header of a {header['kind']} ({error!r})") from error
    files = {name: dict(entry) for name, entry in sorted(header["files"].items())}
    facts["bytes"] = sum(entry["bytes"] for entry in files.values())
    facts["files"] = files
    facts["checksums"] = f"SHA-256 of {HEADER} and {len(files)} files verified"
    return facts


def flatten(facts: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Nested facts by their names joined with dots; lists of plain values become one.

    >>> flatten({"a": {"b": 1, "c": [2, 3]}})
    {'a.b': 1, 'a.c': '2, 3'}
    """
    flat: dict[str, object] = {}
    for key, value in facts.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        elif isinstance(value, list | tuple):
            flat[f"{prefix}{key}"] = ", ".join(map(str, value))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _describe_run(path: Path) -> Facts:
    """A run: its plan, and the model that it would be used by."""
    try:
        plan = json.loads((path / RUN).read_bytes())
        facts: Facts = {"kind": "run", "path": str(path), "has_model": False, "plan": dict(plan)}
        if (path / _LATEST).is_file():
            name = json.loads((path / _LATEST).read_bytes())["checkpoint"]
            if not isinstance(name, str) or Path(name).name != name:
                raise ValueError(name)
            newest = path / _CHECKPOINTS / name
            facts["has_model"] = True
            facts["newest_checkpoint"] = name
            facts["stops_early"] = (path / _BEST).is_dir()
            facts["model"] = describe(path / _BEST if facts["stops_early"] else newest)
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StorageError(f"{path}: damaged run ({error!r}); wanted {RUN} and {_LATEST}") from error
    return facts


def _network_facts(content: Mapping[str, Any], tensors: Arrays) -> Facts:
    return {
        "network": {
            **content["model"],
            "weights": sum(int(values.size) for values in tensors["weights"].values()),
            "typological_features": content["num_features"],
        },
        "inventory": len(content["vocabulary"]["characters"]),
    }


def _ngram_facts(content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Facts:
    lengths = range(content["order"])
    return {
        "order": content["order"],
        "smoothing": content["smoothing"],
        "contexts": [len(arrays[f"context_keys_{length}"]) for length in lengths],
        "ngrams": [len(arrays[f"pair_keys_{length}"]) for length in lengths],
    }


def _describe_adapted(content: Mapping[str, Any], tensors: Arrays) -> Facts:
    provenance = dict(content["provenance"])
    return {
        "language": content["language"] or "unknown",
        "learned_from": {
            "text": provenance.pop("text", "unknown"),
            "sentences": provenance.pop("num_sentences", "unknown"),
            "characters": content["num_characters"],
        },
        "adaptation": provenance.pop("adaptation", {}),
        **_network_facts(content, tensors),
        "ngram": None if content["ngram"] is None else _ngram_facts(content["ngram"], tensors["ngram"]),
        "calibration": content["calibration"],
        "licences": provenance.pop("licences", "unknown"),
        "made_from": provenance,
    }


def _describe_reader(content: Mapping[str, Any], tensors: Arrays) -> Facts:
    arrays = tensors["reader"]
    provenance = dict(content["provenance"])
    measured = {name: dict(provenance.pop(name)) for name in _MEASURED if name in provenance}
    return {
        **measured,
        "language": content["language"] or "unknown",
        "read": {
            "text": provenance.pop("text", "unknown"),
            "sentences": int((arrays["text"] == LINE_FEED).sum()),
            "characters": len(arrays["text"]),
            "distinct_characters": len(np.unique(arrays["text"])),
        },
        "network_of_letters": content["with_letters"],
        "scorer": content["scorer"],
        "made_from": provenance,
    }


def _describe_scorer(content: Mapping[str, Any], tensors: Arrays) -> Facts:
    return {
        "weights": sum(int(values.size) for values in tensors["weights"].values()),
        "letters": len(content["characters"]),
        "made_from": dict(content["provenance"]),
    }


def _describe_trained(content: Mapping[str, Any], tensors: Arrays) -> Facts:
    fold = content["fold"]
    learned = set(fold["training"])
    licences = Counter(entry["licence"] for entry in content["languages"] if entry["code"] in learned)
    facts = {
        **_network_facts(content, tensors),
        "languages": {role: list(fold[role]) for role in ("training", "validation", "held_out")},
        "licences": dict(licences.most_common()),
        "made_from": dict(content["provenance"]),
    }
    state = content.get("state")
    if state:
        facts["trained"] = {key: state[key] for key in ("step", "num_characters", "seconds") if key in state}
    return facts


def _describe_prior(content: Mapping[str, Any], tensors: Arrays) -> Facts:
    tuned = content.get("tuned")
    return {
        "prior_variance": content["prior_variance"],
        "training_sequences": content["num_training_sequences"],
        "measured_sequences": sum(content["num_sequences"].values()),
        "spread_over_languages": "spread" in tensors,
        "tuned": None
        if tuned is None
        else {
            "best": tuned["best"],
            "methods": {settings["method"]: dict(settings) for settings in tuned["methods"]},
            "ngram": dict(tuned["ngram"]),
            "calibration": tuned["calibration"],
            "trials": len(tuned["trials"]),
        },
        **_describe_trained(content, tensors),
    }


def _describe_ngram(content: Mapping[str, Any], tensors: Arrays) -> Facts:
    return {
        **_ngram_facts(content, tensors["ngram"]),
        "inventory": len(content["vocabulary"]["characters"]),
        "made_from": dict(content["provenance"]),
    }


_BY_KIND = {
    "reader": _describe_reader,
    "scorer": _describe_scorer,
    "adapted model": _describe_adapted,
    "model": _describe_trained,
    "prior": _describe_prior,
    "n-gram": _describe_ngram,
}
