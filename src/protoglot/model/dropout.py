"""Dropout whose masks come from a generator that the caller seeds, so that a step can be repeated exactly."""

import torch
from torch import Tensor


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
    mask = torch.empty_like(weight).bernoulli_(1 - rate, generator=generator).div_(1 - rate)
    return weight * mask
