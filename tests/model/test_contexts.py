import itertools

import pytest
import torch

from protoglot.model.config import ContextTable
from protoglot.model.contexts import MULTIPLIERS, PRIME, SCALE, context_rows, num_recent, read_contexts
from protoglot.vocabulary import BEGIN
from tiny import tiny_model


def rows_of(contexts, table: ContextTable) -> torch.Tensor:
    """The row of each of some contexts, which are read from the first character to the last."""
    ids = torch.tensor(list(contexts)).T  # (length, contexts)
    return context_rows(ids, table, reach=table.length - 1)[0]


@pytest.mark.parametrize("length", [2, 3])
def test_contexts_spread_evenly_over_the_rows(length):
    table = ContextTable(length=length, rows=64, size=1)
    contexts = itertools.product(range(1, 60 if length == 2 else 20), repeat=length)
    counts = rows_of(contexts, table).bincount(minlength=table.rows)
    assert counts.min() > 0.7 * counts.float().mean()
    assert counts.max() < 1.4 * counts.float().mean()


def test_a_large_table_tells_nearly_all_contexts_apart():
    table = ContextTable(length=3, rows=2**20, size=1)
    rows = rows_of(itertools.product(range(3, 33), repeat=3), table)
    assert len(rows.unique()) > 0.98 * len(rows)


def test_the_order_of_characters_matters_and_older_ones_do_not():
    table = ContextTable(length=2, rows=2**16, size=1)
    ids = torch.tensor([[5, 5, 9], [6, 6, 6], [7, 6, 7]])
    first, second, third = rows_of(ids.T.tolist(), ContextTable(length=3, rows=2**16, size=1)).tolist()
    assert len({first, second, third}) == 3
    first, second, third = context_rows(ids, table, reach=2)[0].tolist()
    assert first == third != second
    assert rows_of([(5, 6)], table) != rows_of([(6, 5)], table)


def test_rows_do_not_change_when_a_vocabulary_grows():
    """Characters of a new language get ids behind the known ones; what was learned of the known must stay theirs."""
    small, large = tiny_model(vocabulary_size=9), tiny_model(vocabulary_size=30)
    ids, before = torch.tensor([[4], [8], [5]]), torch.tensor([[BEGIN], [3]])
    for one, other in zip(small.contexts, large.contexts, strict=True):
        other.data.copy_(one.data)
    assert torch.equal(small.read_contexts(ids, before)[0], large.read_contexts(ids, before)[0])


def test_each_position_reads_its_own_row():
    table = ContextTable(length=2, rows=11, size=3)
    weight = torch.randn(table.rows, table.size)
    ids = torch.randint(0, 50, (6, 2))
    read = read_contexts(ids, (table,), [weight], reach=1)
    assert read.shape == (5, 2, 3)
    row = (MULTIPLIERS[0] * int(ids[4, 1]) + MULTIPLIERS[1] * int(ids[3, 1])) % PRIME % 11
    torch.testing.assert_close(read[3, 1], weight[row] * SCALE)


def test_what_must_be_remembered_is_what_the_longest_context_reads():
    assert num_recent(()) == 0
    assert num_recent((ContextTable(length=4, rows=4, size=2), ContextTable(length=2, rows=4, size=2))) == 3


def test_the_largest_numbers_do_not_overflow():
    assert sum(multiplier * (2**16 - 1) for multiplier in MULTIPLIERS) < 2**63
    assert len(set(MULTIPLIERS)) == len(MULTIPLIERS)
    assert all(0 < multiplier < PRIME for multiplier in MULTIPLIERS)


def test_only_rows_that_are_read_learn():
    model = tiny_model("bare")
    ids = torch.tensor([[3], [4], [5]])
    nats, _ = model.nats(ids[:-1], ids[1:], None)
    nats.sum().backward()
    for table, weight in zip(model.config.contexts, model.contexts, strict=True):
        before = torch.full((table.length - 1, 1), BEGIN)
        read = context_rows(torch.cat([before, ids[:-1]]), table, reach=table.length - 1).flatten()
        learned = weight.grad.any(dim=1).nonzero().flatten()
        assert set(learned.tolist()) == set(read.tolist())
