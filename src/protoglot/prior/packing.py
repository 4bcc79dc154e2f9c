r"""Priors in a quarter of the space: means in half precision, precisions as eight bits of their logarithm.

A precision is a scale, so what matters is its ratio to the true one: with 254 steps between the smallest and the
largest of a tensor, evenly spaced in the logarithm, none is off by more than half a step.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protoglot.errors import StorageError

Arrays = Mapping[str, NDArray[Any]]

_STEPS = 254  # code 0 stands for zero


def pack_means(arrays: Arrays) -> dict[str, NDArray[np.float16]]:
    """Weights in half precision.

    Raises:
        StorageError: if one is too large for it.
    """
    with np.errstate(over="ignore"):  # what is too large is complained about below
        packed = {name: values.astype(np.float16) for name, values in arrays.items()}
    for name, values in packed.items():
        if not np.isfinite(values).all():
            raise StorageError(f"{name}: a weight too large for half precision; wanted the prior unpacked")
    return packed


def unpack_means(arrays: Arrays) -> dict[str, NDArray[np.float32]]:
    """Weights in single precision again."""
    return {name: values.astype(np.float32) for name, values in arrays.items()}


def pack_scales(arrays: Arrays) -> tuple[dict[str, NDArray[np.uint8]], dict[str, list[float]]]:
    """Numbers from zero on as codes, with the logarithms of the smallest and largest above zero by name."""
    packed, ranges = {}, {}
    for name, values in arrays.items():
        positive = values[values > 0].astype(np.float64)
        low, high = (float(np.log(positive.min())), float(np.log(positive.max()))) if positive.size else (0.0, 0.0)
        step = (high - low) / (_STEPS - 1) or 1.0
        with np.errstate(divide="ignore"):
            codes = np.rint((np.log(values.astype(np.float64)) - low) / step) + 1
        packed[name] = np.where(values > 0, np.clip(codes, 1, _STEPS), 0).astype(np.uint8)
        ranges[name] = [low, high]
    return packed, ranges


def unpack_scales(arrays: Arrays, ranges: object, *, name: str) -> dict[str, NDArray[np.float32]]:
    """The numbers that :func:`pack_scales` packed, each within half a step.

    Raises:
        StorageError: if codes and ranges do not fit together; ``name`` says where they were found.
    """
    if not isinstance(ranges, Mapping) or set(ranges) != set(arrays):
        raise StorageError(f"{name}: damaged; wanted the range of each packed tensor")
    unpacked = {}
    for key, codes in arrays.items():
        bounds = ranges[key]
        if (
            codes.dtype != np.uint8
            or not isinstance(bounds, list)
            or len(bounds) != 2
            or not all(isinstance(bound, float) and math.isfinite(bound) for bound in bounds)
            or not -80 < bounds[0] <= bounds[1] < 80
        ):
            raise StorageError(f"{name}: {key}: damaged; wanted codes of one byte, and their range")
        low, high = bounds
        step = (high - low) / (_STEPS - 1) or 1.0
        values = np.exp(low + step * (codes.astype(np.float64) - 1))
        unpacked[key] = np.where(codes > 0, values, 0.0).astype(np.float32)
    return unpacked
