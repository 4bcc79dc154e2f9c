"""Dropout whose masks come from a generator that the caller seeds, so that a step can be repeated exactly."""

import numpy as np
import torch
from torch import Tensor

_LEVELS = 2**16
"""A share to drop is rounded to one in so many where random bits are compared with it."""


def variational_mask(
    num_sequences: int, size: int, rate: float, *, like: Tensor, generator: torch.Generator | None
) -> Tensor | None:
    """One mask for all time steps (Gal and Ghahramani 2016), scaled to keep expectations.

    Args:
        num_sequences: B.
        size: dimensions to drop, D.
        rate: share dropped; 0 gives no mask.
        like: a tensor of the wanted type and device.
        generator: source of randomness; ``None`` switches dropout off.

    Returns:
        (1, B, D), or ``None`` where nothing is dropped.
    """
    if generator is None or rate == 0:
        return None
    mask = torch.empty(1, num_sequences, size, dtype=like.dtype, device=like.device)
    return mask.bernoulli_(1 - rate, generator=generator).div_(1 - rate)  # (1, B, D)


def drop(values: Tensor, mask: Tensor | None) -> Tensor:
    """Values under a mask of :func:`variational_mask`."""
    return values if mask is None else values * mask


def dropconnect(weight: Tensor, rate: float, generator: torch.Generator | None) -> Tensor:
    """Weights with a share of them dropped (Wan et al. 2013), scaled to keep expectations."""
    if generator is None or rate == 0:
        return weight
    return weight * _kept(weight, rate, generator).to(weight).div_(1 - rate)


def _kept(weight: Tensor, rate: float, generator: torch.Generator) -> Tensor:
    """Which weights stay: ones and zeros, or booleans, of the same shape.

    A mask for all weights of a layer is drawn at every step, so it must be cheap: on the CPU four numbers of 16 bits
    are cut from each that NumPy draws, which takes a tenth of the time of as many Bernoulli draws.
    """
    if weight.is_cuda:
        return torch.empty_like(weight, dtype=torch.bool).bernoulli_(1 - rate, generator=generator)
    seed = int(torch.randint(2**63 - 1, (1,), generator=generator))
    bits = np.random.SFC64(seed).random_raw(-(-weight.numel() // 4)).view(np.uint16)[: weight.numel()]
    kept = (bits >= round(rate * _LEVELS)).view(np.uint8)  # which torch turns into floats faster than booleans
    return torch.from_numpy(kept).view_as(weight)
