"""Which characters of a language stand beside which: what sentences tell of letters that one has never met.

A letter that stands between consonants, and hardly ever twice, is a vowel, whatever it looks like. So a network that
is to read any language, in any script, is told of each character how often it comes, and what comes before and after.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from protoglot.errors import StorageError
from protoglot.incontext.config import InContextConfig
from protoglot.vocabulary import END

NUM_RELATIONS = 4
"""Ways in which characters stand to each other."""

NUM_FACTS = 7
"""Of a character."""

NUM_LANGUAGE_FACTS = 3
"""Of a language, beside the mean of its characters' facts."""

_MOST_DIFFERENT = 200
"""Characters of a language; more look to the network like so many, for an alphabet hardly has them."""


@dataclass(frozen=True, slots=True)
class Relation:
    """One way in which characters stand to each other: P pairs, each once."""

    receivers: Tensor  # (P,), ids
    givers: Tensor  # (P,), ids that stand to them in this way
    shares: Tensor  # (P,): n times seen, they add up to n / (n + 1): what is seen seldom is told quietly

    def pass_on(self, values: Tensor) -> Tensor:
        """What the company of each character is like: sums over givers by their shares, (V, E) -> (V, E)."""
        # unlike that of an index, the gradient of an embedding is added up in one order: resuming stays exact
        given = F.embedding(self.givers, values) * self.shares.unsqueeze(1)  # (P, E)
        return torch.zeros_like(values).index_add(0, self.receivers, given)

    def variety(self, num_ids: int) -> tuple[Tensor, Tensor]:
        """The entropy of the shares of each character, and the largest of them, (V,) each; 0 for those without."""
        none = self.shares.new_zeros(num_ids)
        entropy = none.index_add(0, self.receivers, -self.shares * self.shares.log())
        return entropy, none.scatter_reduce(0, self.receivers, self.shares, "amax")


@dataclass(frozen=True, slots=True)
class Company:
    """What sentences tell of V characters."""

    relations: tuple[Relation, ...]
    """To what comes next, to what came before, and to what comes and came two characters further."""

    facts: Tensor  # (V, NUM_FACTS)
    frequencies: Tensor  # (V,), which add up to one
    language: Tensor  # (NUM_LANGUAGE_FACTS,)


@dataclass(frozen=True, slots=True)
class Letters:
    """What a network makes of the characters of a language, from what it knew of them and from their company."""

    embedding: Tensor  # (V, E)
    bias: Tensor  # (V,)
    named: Tensor  # (V,), bool: whether it is known which characters they are
    language: Tensor  # (H,): what every state there starts from

    def parts(self) -> dict[str, NDArray[Any]]:
        """The characters as arrays."""
        return {each.name: getattr(self, each.name).detach().cpu().numpy().copy() for each in fields(self)}

    @classmethod
    def from_parts(
        cls, arrays: Mapping[str, NDArray[Any]], config: InContextConfig, *, vocabulary_size: int, name: str
    ) -> "Letters":
        """The characters that :meth:`parts` took apart.

        Raises:
            StorageError: if something is missing or does not fit; ``name`` says where it was found.
        """
        shapes: dict[str, tuple[int, ...]] = {
            "embedding": (vocabulary_size, config.embedding_size),
            "bias": (vocabulary_size,),
            "named": (vocabulary_size,),
            "language": (config.hidden_size,),
        }
        if set(arrays) != set(shapes):
            raise StorageError(
                f"{name}: damaged letters: {', '.join(sorted(arrays))}; wanted {', '.join(sorted(shapes))}"
            )
        for part, shape in shapes.items():
            found = arrays[part]
            kind = np.bool_ if part == "named" else np.float32
            if found.shape != shape or found.dtype != kind or not np.isfinite(found).all():
                wanted = f"finite {np.dtype(kind)} {shape}"
                raise StorageError(
                    f"{name}: damaged letters: {part}: {found.dtype} {found.shape}; wanted {wanted}"
                )
        return cls(**{part: torch.tensor(arrays[part]) for part in shapes})


@torch.no_grad()
def company_of(ids: Tensor, next_ids: Tensor, num_ids: int) -> Company:
    """What running text, sentence after sentence, tells of its characters.

    Args:
        ids: read last at M consecutive positions of it, (M,).
        next_ids: that came next there, (M,).
        num_ids: V.
    """
    after, before = _relation(ids, next_ids, num_ids), _relation(next_ids, ids, num_ids)
    relations = (
        after,
        before,
        _relation(ids[:-1], next_ids[1:], num_ids),
        _relation(next_ids[1:], ids[:-1], num_ids),
    )
    counts = torch.bincount(next_ids, minlength=num_ids).float()
    (variety_after, most_after), (variety_before, most_before) = after.variety(num_ids), before.variety(num_ids)
    amount = torch.full_like(counts, math.log10(max(len(ids), 1)) - 3.5)
    facts = torch.stack(  # in the order of one, for any text
        [
            (counts + 0.5).log() / 3 - 1,
            (counts == 0).float(),
            variety_after / 2 - 0.5,
            variety_before / 2 - 0.5,
            most_after,
            most_before,
            amount,
        ],
        dim=1,
    )
    frequencies = counts / counts.sum().clamp_min(1)
    language = torch.stack(
        [
            -torch.special.xlogy(frequencies, frequencies).sum() / 2 - 1,
            (counts > 0).sum().clamp(max=_MOST_DIFFERENT) / 50 - 1,
            frequencies[END] * 10,
        ]
    )
    return Company(relations, facts, frequencies, language)


def _relation(receivers: Tensor, givers: Tensor, num_ids: int) -> Relation:
    pairs, counts = torch.unique(receivers * num_ids + givers, return_counts=True)
    rows = pairs // num_ids
    totals = torch.bincount(receivers, minlength=num_ids)
    return Relation(rows, pairs % num_ids, counts / (totals[rows] + 1))
