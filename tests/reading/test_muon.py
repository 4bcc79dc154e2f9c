"""Steps of Muon."""

import pytest
import torch

from protoglot.reading.muon import Muon, orthogonal_factor


@pytest.mark.parametrize("shape", [(6, 6), (9, 4), (4, 9)])
def test_singular_values_become_about_one(shape):
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    found = orthogonal_factor(matrix)
    values = torch.linalg.svdvals(found)
    assert values.min() > 0.6
    assert values.max() < 1.3
    # The singular vectors stay: what is left after them is diagonal.
    core = left.T @ found @ right.T
    torch.testing.assert_close(core, torch.diag(core.diagonal()), atol=1e-3, rtol=0)


def test_the_size_of_the_gradient_does_not_matter():
    start = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    gradient = torch.randn(5, 3, generator=torch.Generator().manual_seed(2))
    found = []
    for scale in (1.0, 1000.0):
        weight = torch.nn.Parameter(start.clone())
        optimizer = Muon([weight], lr=0.1)
        for _ in range(3):
            weight.grad = gradient * scale
            optimizer.step()
        found.append(weight.detach())
    torch.testing.assert_close(found[0], found[1], rtol=1e-4, atol=1e-5)
    assert (found[0] - start).abs().max() > 0.01


def test_steps_go_down_and_a_matrix_without_gradient_stays():
    goal = torch.randn(4, 6, generator=torch.Generator().manual_seed(3))
    weight, idle = torch.nn.Parameter(torch.zeros(4, 6)), torch.nn.Parameter(torch.ones(2, 2))
    optimizer = Muon([weight, idle], lr=0.05, weight_decay=0.1)
    for _ in range(100):
        loss = (weight - goal).square().sum()
        [weight.grad] = torch.autograd.grad(loss, [weight])
        optimizer.step()
    assert loss < 0.2 * goal.square().sum()
    assert idle.equal(torch.ones(2, 2))
