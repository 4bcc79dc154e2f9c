r"""Vectors of the last few characters together: what an n-gram knows, for next to no arithmetic.

A network has to learn which letters follow *tion* in its recurrent weights, a product of matrices at a time. A table
with a row for every context of a few characters says it at once: looking a row up takes no arithmetic, and a row learns
from the first text that has its context. What the rows say is added to the network's prediction, which is left to
learn the rest (after Mikolov et al. 2011, where the rows are weights of a maximum-entropy model).

Languages share rows, and do not agree on what follows. So the hidden state, which knows the language by then, has a
gate for each dimension of the rows, :math:`2 \sigma(G W h_t + b)`, with :math:`W` the projection that comes before the
softmax: some of what they say passes, and the rest does not.

No table could have a row for each of the V^n contexts of n characters. Those of n characters :math:`c_0` (read last),
:math:`c_1`, ... share :math:`R` rows by a fixed hash, :math:`(\sum_k m_k c_k \bmod p) \bmod R`, so that also a language
that nobody has seen finds rows for its contexts.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from protoglot.model.config import ContextTable

SCALE = 12.0
"""Rows are multiplied by this where they are read.

Adam moves every weight as far, whatever the size of its gradient. A row is read once in a while, where other weights
are used at every character; so it is to move further when its turn comes.
"""

PRIME = 2**31 - 1
MULTIPLIERS = (1_640_531_527, 805_459_861, 1_259_221_613, 2_097_152_041, 1_466_527_309, 1_013_904_223)
"""Of the characters of a context, the last one first; their products with ids and the sum of these fit into 64 bits."""


def num_recent(tables: tuple[ContextTable, ...]) -> int:
    """How many ids before the one read last are part of some context."""
    return max((table.length for table in tables), default=1) - 1


def context_rows(ids: Tensor, table: ContextTable, *, reach: int) -> Tensor:
    """Which row of a table each position reads.

    Args:
        ids: characters read, behind ``reach`` ids that came before them, (reach + T, B).
        table: its length and number of rows.
        reach: at least the length of the table's contexts, less one.

    Returns:
        Numbers of rows, (T, B).
    """
    num_steps = len(ids) - reach
    total = sum(
        multiplier * ids[reach - back : reach - back + num_steps]
        for back, multiplier in enumerate(MULTIPLIERS[: table.length])
    )
    assert isinstance(total, Tensor)
    return total.remainder(PRIME).remainder(table.rows)


def read_contexts(ids: Tensor, tables: tuple[ContextTable, ...], weights: list[Tensor], *, reach: int) -> Tensor:
    """The rows of all tables along a text, one beside the other.

    Args:
        ids: as for :func:`context_rows`.
        tables: what they are.
        weights: what they hold, (R, D) each.
        reach: as for :func:`context_rows`.

    Returns:
        (T, B, D), D being the sum of the sizes of the tables.
    """
    read = [
        F.embedding(context_rows(ids, table, reach=reach), weight)
        for table, weight in zip(tables, weights, strict=True)
    ]
    return torch.cat(read, dim=-1) * SCALE
