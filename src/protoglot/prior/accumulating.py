"""Means over languages of something measured for each weight, which may be stopped and taken up again."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from protoglot.artefacts import load_artefact, save_artefact
from protoglot.batching import Stream
from protoglot.errors import StorageError
from protoglot.trained import TrainedModel

_KIND = "unfinished prior"
_SUMS = "sums"


def mean_over_languages(
    trained: TrainedModel,
    streams: Mapping[str, Stream],
    measure: Callable[[str], tuple[Mapping[str, Tensor], int]],
    *,
    settings: object,
    unfinished: Path | None,
    on_restored: Callable[[int], None] | None = None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> tuple[dict[str, Tensor], dict[str, int]] | None:
    """Measure languages one after the other, and average.

    Args:
        trained: the model that is measured.
        streams: their text, by code; it must not have changed when measuring goes on.
        measure: what to average for a language, by name of the weight, and from how many pieces of text.
        settings: JSON values that, with the weights, must not have changed when measuring goes on.
        unfinished: where to keep what is done after each language; ``None`` keeps nothing.
        on_restored: called with the pieces of text that were measured in an earlier sitting.
        stop_asked: looked at after every language.

    Returns:
        The means, and the number of pieces by language; ``None`` if it was asked to stop before all were done.
    """
    codes = sorted(streams)
    weights = dict(trained.model.named_parameters())
    total = {name: torch.zeros_like(weight).detach() for name, weight in weights.items()}
    counts: dict[str, int] = {}
    sums = {name: float(weight.detach().double().sum()) for name, weight in weights.items()}
    texts = {code: hashlib.sha256(streams[code].astype("<i8").tobytes()).hexdigest()[:16] for code in codes}
    identity = json.dumps([settings, texts, sums], sort_keys=True)
    if unfinished is not None and unfinished.is_dir():
        counts = _restore(unfinished, identity, total)
        if on_restored is not None:
            on_restored(sum(counts.values()))
    for code in codes:
        if code in counts:
            continue
        if stop_asked():
            return None
        values, counts[code] = measure(code)
        for name, value in values.items():
            total[name] += value / len(codes)
        if unfinished is not None:
            save_artefact(
                unfinished,
                kind=_KIND,
                content={"identity": identity, "counts": counts},
                tensors={_SUMS: {name: values.cpu().numpy() for name, values in total.items()}},
            )
    return total, counts


def _restore(path: Path, identity: str, total: Mapping[str, Tensor]) -> dict[str, int]:
    """Take up the sums of an earlier sitting."""
    content, tensors = load_artefact(path, kind=_KIND)
    if content.get("identity") != identity:
        raise StorageError(
            f"{path}: of another model, text or other settings; wanted it removed, or the same ones"
        )
    arrays: Mapping[str, NDArray[Any]] = tensors[_SUMS]
    for name, values in total.items():
        values.copy_(torch.from_numpy(arrays[name]))
    counts: dict[str, int] = content["counts"]
    return counts
