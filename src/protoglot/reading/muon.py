"""Muon (Jordan et al., 2024) in single precision: steps along the orthogonal factor of the momentum of each matrix."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

_COEFFICIENTS = (3.4445, -4.775, 2.0315)
_NUM_ITERATIONS = 5
_LIKE_ADAM = 0.2  # root mean square of a step, relative to the learning rate (Liu et al., 2025)


class Muon(torch.optim.Optimizer):
    """SGD with Nesterov momentum whose steps have singular values near one.

    ``torch.optim.Muon`` iterates in bfloat16, which is slow on CPUs and ends some of them; this one does not.

    Args:
        weights: matrices.
        lr: root mean square of a step, times five.
        momentum: share of the running mean that is kept.
        weight_decay: decoupled, as in AdamW.
    """

    def __init__(
        self, weights: Iterable[Tensor], *, lr: float, momentum: float = 0.95, weight_decay: float = 0.0
    ) -> None:
        super().__init__(weights, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        for group in self.param_groups:
            for weight in group["params"]:
                self.state[weight]["momentum"] = torch.zeros_like(weight)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """One step; matrices without a gradient stay as they are."""
        assert closure is None
        for group in self.param_groups:
            rate, momentum = group["lr"], group["momentum"]
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                mean = self.state[weight]["momentum"].lerp_(weight.grad, 1 - momentum)
                direction = orthogonal_factor(weight.grad.lerp(mean, momentum))
                size = rate * _LIKE_ADAM * max(weight.shape) ** 0.5
                weight.mul_(1 - rate * group["weight_decay"]).add_(direction, alpha=-size)


def orthogonal_factor(matrix: Tensor) -> Tensor:
    """Nearly U Vᵀ of the singular value decomposition U S Vᵀ, by a Newton-Schulz iteration."""
    a, b, c = _COEFFICIENTS
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if is_tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(_NUM_ITERATIONS):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if is_tall else x
