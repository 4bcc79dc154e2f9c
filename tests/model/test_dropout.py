import pytest
import torch

from protoglot.model.dropout import drop, dropconnect, variational_mask

RATES = [0.1, 0.4, 0.75]
LIKE = torch.zeros(0, dtype=torch.float64)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("rate", RATES)
def test_masks_drop_their_share_and_keep_expectations(rate):
    mask = variational_mask(300, 400, rate, like=LIKE, generator=generator())
    assert mask.shape == (1, 300, 400)
    assert mask.dtype == LIKE.dtype
    assert set(mask.unique().tolist()) == {0.0, 1 / (1 - rate)}
    assert (mask == 0).double().mean().item() == pytest.approx(rate, abs=0.01)
    assert mask.mean().item() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("rate", RATES)
def test_dropconnect_drops_its_share_and_keeps_expectations(rate):
    weight = torch.full((300, 400), 2.0, dtype=torch.float64)
    dropped = dropconnect(weight, rate, generator())
    assert set(dropped.unique().tolist()) == {0.0, 2 / (1 - rate)}
    assert dropped.mean().item() == pytest.approx(2, abs=0.03)
    assert (weight == 2).all()


def test_expectations_are_kept_in_every_place():
    """Not only on average: no row or column is dropped more often than another."""
    source = generator()
    masks = [variational_mask(3, 4, 0.4, like=LIKE, generator=source) for _ in range(4000)]
    torch.testing.assert_close(torch.stack(masks).mean(dim=0), torch.ones(1, 3, 4).double(), rtol=0, atol=0.06)


def test_no_generator_or_no_rate_means_no_dropout():
    weight = torch.randn(5, 5, generator=generator())
    for rate, source in [(0.5, None), (0.0, generator())]:
        assert variational_mask(2, 3, rate, like=LIKE, generator=source) is None
        assert dropconnect(weight, rate, source) is weight
    assert drop(weight, None) is weight


def test_a_mask_meets_every_time_step():
    values = torch.ones(6, 2, 3, dtype=torch.float64)
    mask = variational_mask(2, 3, 0.5, like=LIKE, generator=generator(3))
    dropped = drop(values, mask)
    assert torch.equal(dropped, mask.expand(6, -1, -1))


def test_the_global_generator_is_left_alone():
    before = torch.get_rng_state()
    variational_mask(2, 3, 0.5, like=LIKE, generator=generator())
    dropconnect(torch.ones(3, 3), 0.5, generator())
    assert torch.equal(torch.get_rng_state(), before)
