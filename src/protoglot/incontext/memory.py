"""What a network remembers of sentences, and how it looks there for what may come next."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from protoglot.errors import StorageError

_POSITIONS_AT_ONCE = 4096
_FEW = 32


@dataclass(frozen=True, slots=True)
class Memory:
    """M positions of a text, those after the same id together."""

    ids: Tensor  # (M,), sorted: read last at each position
    keys: Tensor  # (M, D)
    outcomes: Tensor  # (M,): what came next, as a position in predictions

    @classmethod
    def of(cls, keys: Tensor, ids: Tensor, outcomes: Tensor) -> "Memory":
        """A memory of positions in any order, which it forgets: they are sorted by id, and then by what came next."""
        by_outcome = torch.argsort(outcomes, stable=True)
        order = by_outcome[torch.argsort(ids[by_outcome], stable=True)]
        return cls(ids[order].contiguous(), keys[order], outcomes[order])

    def parts(self) -> dict[str, NDArray[Any]]:
        """The memory as arrays."""
        return {name: getattr(self, name).detach().cpu().numpy().copy() for name in ("ids", "keys", "outcomes")}

    @classmethod
    def from_parts(
        cls, arrays: Mapping[str, NDArray[Any]], *, key_size: int, vocabulary_size: int, name: str
    ) -> "Memory":
        """The memory that :meth:`parts` took apart.

        Raises:
            StorageError: if something is missing or does not fit; ``name`` says where it was found.
        """
        try:
            ids, keys, outcomes = (torch.tensor(arrays[part]) for part in ("ids", "keys", "outcomes"))
        except KeyError as error:
            raise StorageError(f"{name}: damaged memory; wanted {error}") from error
        sound = (
            ids.dim() == outcomes.dim() == 1
            and ids.dtype == outcomes.dtype == torch.int64
            and keys.dtype == torch.float32
            and tuple(keys.shape) == (len(ids), key_size)
            and len(outcomes) == len(ids)
        )
        if sound and len(ids):
            sound = (
                bool((ids.diff() >= 0).all() and keys.isfinite().all())
                and 0 <= int(ids[0]) <= int(ids[-1]) < vocabulary_size
                and 0 <= int(outcomes.min()) <= int(outcomes.max()) < vocabulary_size - 1
            )
        if not sound:
            raise StorageError(f"{name}: damaged memory; wanted sorted ids, finite keys and known outcomes")
        return cls(ids, keys, outcomes)


def recall(queries: Tensor, ids: Tensor, memory: Memory, *, num_outcomes: int) -> tuple[Tensor, Tensor]:
    """What came next where the network was in a similar state, after the same id.

    Args:
        queries: of N positions, (N, D).
        ids: read last there, (N,).
        memory: of other text.
        num_outcomes: V - 1.

    Returns:
        Probabilities, (N, V - 1), even where the id is not remembered; and how sure and how rich the memory is there,
        (N, 2): the logarithms of the sum of squared shares, and of the number of positions.
    """
    if len(ids) <= _FEW and not torch.is_grad_enabled():
        return _recall_each(queries, ids, memory, num_outcomes)
    order = torch.argsort(ids, stable=True)
    wanted, amounts = torch.unique_consecutive(ids[order], return_counts=True)
    firsts = torch.searchsorted(memory.ids, wanted).tolist()
    lasts = torch.searchsorted(memory.ids, wanted, right=True).tolist()
    sorted_queries = queries[order] / math.sqrt(queries.shape[1])
    found: list[Tensor] = []
    sureness: list[Tensor] = []
    begin = 0
    for amount, first, last in zip(amounts.tolist(), firsts, lasts, strict=True):
        for some in torch.split(sorted_queries[begin : begin + amount], _POSITIONS_AT_ONCE):
            if first == last:
                found.append(queries.new_full((len(some), num_outcomes), 1 / num_outcomes))
                sureness.append(queries.new_zeros(len(some), 2))
                continue
            shares = F.softmax(some @ memory.keys[first:last].T, dim=1)  # (n, m)
            found.append(_add_up(shares, memory.outcomes[first:last], num_outcomes))
            with torch.no_grad():
                concentration = shares.square().sum(dim=1).clamp_min(1e-9).log()
                richness = torch.full_like(concentration, math.log(last - first))
            sureness.append(torch.stack([concentration, richness], dim=1))
        begin += amount
    back = torch.argsort(order)
    return torch.cat(found)[back], torch.cat(sureness)[back]


def _recall_each(queries: Tensor, ids: Tensor, memory: Memory, num_outcomes: int) -> tuple[Tensor, Tensor]:
    """The same for a few positions, as when somebody types: one after the other, with as few calls as can be."""
    firsts = torch.searchsorted(memory.ids, ids.contiguous()).tolist()
    lasts = torch.searchsorted(memory.ids, ids.contiguous(), right=True).tolist()
    scaled = queries / math.sqrt(queries.shape[1])
    found = queries.new_zeros(len(ids), num_outcomes)
    sureness = queries.new_ones(len(ids), 2)  # of which the logarithms are wanted
    for query, row, sure, first, last in zip(scaled, found, sureness, firsts, lasts, strict=True):
        if first == last:
            row.fill_(1 / num_outcomes)
            continue
        shares = torch.softmax(memory.keys[first:last].mv(query), dim=0)  # (m,)
        row.scatter_add_(0, memory.outcomes[first:last], shares)
        sure[0] = shares.dot(shares)
        sure[1] = last - first
    return found, sureness.clamp_min_(1e-9).log_()


def _add_up(shares: Tensor, outcomes: Tensor, num_outcomes: int) -> Tensor:
    """Shares of positions, (n, m), added up by what came next there, (m,): (n, V - 1)."""
    if torch.is_grad_enabled():  # with many positions and few outcomes a product is faster, and so is its gradient
        return shares @ F.one_hot(outcomes, num_outcomes).to(shares)
    return shares.new_zeros(len(shares), num_outcomes).scatter_add_(1, outcomes.expand_as(shares), shares)
