import numpy as np
import pytest
import torch

from protoglot.errors import StorageError
from protoglot.incontext.memory import Memory, recall

IDS = torch.tensor([5, 3, 3, 5, 3])
OUTCOMES = torch.tensor([0, 1, 2, 2, 1])


def make_memory(seed=0):
    keys = torch.randn(5, 4, generator=torch.Generator().manual_seed(seed))
    return Memory.of(keys, IDS, OUTCOMES), keys


def test_what_is_recalled_is_a_mean_over_positions_after_the_same_id():
    memory, keys = make_memory()
    queries, ids = torch.randn(6, 4), torch.tensor([3, 5, 3, 9, 5, 3])
    found, sureness = recall(queries, ids, memory, num_outcomes=4)
    for row in range(6):
        same = [place for place in range(5) if IDS[place] == ids[row]]
        wanted = torch.zeros(4)
        if same:
            shares = torch.softmax(torch.stack([queries[row] @ keys[place] / 2 for place in same]), dim=0)
            for place, share in zip(same, shares, strict=True):
                wanted[OUTCOMES[place]] += share
            assert sureness[row, 0] == pytest.approx(float(shares.square().sum().log()), abs=1e-5)
            assert sureness[row, 1] == pytest.approx(np.log(len(same)))
        else:
            wanted += 0.25
        torch.testing.assert_close(found[row], wanted)


def test_what_is_recalled_sums_to_one_and_depends_on_no_other_position():
    memory, _ = make_memory()
    queries, ids = torch.randn(20, 4), torch.randint(3, 7, (20,))
    found, sureness = recall(queries, ids, memory, num_outcomes=4)
    torch.testing.assert_close(found.sum(dim=1), torch.ones(20))
    alone = [recall(queries[row : row + 1], ids[row : row + 1], memory, num_outcomes=4) for row in range(20)]
    torch.testing.assert_close(torch.cat([each for each, _ in alone]), found)
    torch.testing.assert_close(torch.cat([each for _, each in alone]), sureness)


def test_with_and_without_gradients_the_same_is_recalled():
    memory, _ = make_memory()
    queries, ids = torch.randn(8, 4), torch.randint(3, 7, (8,))
    wanted = recall(queries, ids, memory, num_outcomes=4)
    with torch.no_grad():
        few = recall(queries, ids, memory, num_outcomes=4)
        many = recall(queries.repeat(9, 1), ids.repeat(9), memory, num_outcomes=4)
    for found, other, more in zip(wanted, few, many, strict=True):
        torch.testing.assert_close(other, found)
        torch.testing.assert_close(more, found.repeat(9, 1))


def test_the_order_of_what_is_remembered_does_not_matter():
    memory, keys = make_memory()
    order = torch.tensor([4, 0, 3, 1, 2])
    other = Memory.of(keys[order], IDS[order], OUTCOMES[order])
    queries, ids = torch.randn(6, 4), torch.tensor([3, 5, 3, 9, 5, 3])
    for one, same in zip(
        recall(queries, ids, memory, num_outcomes=4), recall(queries, ids, other, num_outcomes=4), strict=True
    ):
        torch.testing.assert_close(one, same)


def test_a_memory_does_not_tell_in_what_order_it_was_read():
    _, keys = make_memory()
    order = torch.tensor([4, 0, 3, 1, 2])
    one, other = Memory.of(keys, IDS, OUTCOMES), Memory.of(keys[order], IDS[order], OUTCOMES[order])
    assert torch.equal(one.ids, other.ids)
    assert torch.equal(one.outcomes, other.outcomes)
    pairs = list(zip(one.ids.tolist(), one.outcomes.tolist(), strict=True))
    assert pairs == sorted(pairs)


def test_a_memory_is_the_same_after_it_was_taken_apart():
    memory, _ = make_memory()
    again = Memory.from_parts(memory.parts(), key_size=4, vocabulary_size=6, name="m")
    for part in ("ids", "keys", "outcomes"):
        assert torch.equal(getattr(memory, part), getattr(again, part))


@pytest.mark.parametrize(
    "change",
    [
        {"ids": np.array([5, 3, 3, 5, 3])},
        {"ids": np.array([3, 3, 3, 5, 6])},
        {"ids": np.array([3, 3, 3])},
        {"outcomes": np.array([0, 0, 0, 0, 5])},
        {"outcomes": np.array([0, 0, 0, 0, -1])},
        {"keys": np.zeros((5, 3), dtype=np.float32)},
        {"keys": np.full((5, 4), np.nan, dtype=np.float32)},
        {"keys": np.zeros((5, 4))},
    ],
    ids=["unsorted", "unknown id", "too few", "unknown outcome", "negative", "narrow", "not finite", "double"],
)
def test_a_damaged_memory_is_refused(change):
    parts = {**make_memory()[0].parts(), **change}
    with pytest.raises(StorageError, match="damaged memory"):
        Memory.from_parts(parts, key_size=4, vocabulary_size=6, name="m")


def test_a_memory_without_a_part_is_refused():
    parts = make_memory()[0].parts()
    del parts["keys"]
    with pytest.raises(StorageError, match="keys"):
        Memory.from_parts(parts, key_size=4, vocabulary_size=6, name="m")
