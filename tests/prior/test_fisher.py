import copy

import pytest
import torch

from protoglot.model.config import TINY, Conditioning
from protoglot.model.network import LanguageModel
from protoglot.prior.fisher import sum_squared_gradients

NUM_FEATURES = 7
VOCABULARY_SIZE = 11


def make_model(conditioning: Conditioning, *, residual: bool = True, num_layers: int = 3) -> LanguageModel:
    from dataclasses import replace

    config = replace(TINY, conditioning=conditioning, residual=residual, num_layers=num_layers)
    model = LanguageModel(config, vocabulary_size=VOCABULARY_SIZE, num_features=NUM_FEATURES, seed=3).double()
    with torch.no_grad():  # no zeros anywhere, and some units of f(t) dead
        for weight in model.parameters():
            weight += 0.3 * torch.randn(
                weight.shape, dtype=weight.dtype, generator=torch.Generator().manual_seed(1)
            )
    return model


def make_ids(num_steps: int = 9, num_sequences: int = 7) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(1, VOCABULARY_SIZE, (num_steps + 1, num_sequences), generator=generator)
    ids[0, 0] = 0  # a sequence at the very beginning
    return ids


def loop_over_single_sequences(model: LanguageModel, ids, features) -> dict[str, torch.Tensor]:
    """The definition: one gradient per sequence by automatic differentiation, squared, summed."""
    total = {name: torch.zeros_like(weight) for name, weight in model.named_parameters()}
    for column in range(ids.shape[1]):
        one = ids[:, column : column + 1]
        nats, _ = model.nats(one[:-1], one[1:], features)
        gradients = torch.autograd.grad(nats.sum(), list(model.parameters()), allow_unused=False)
        for name, gradient in zip(total, gradients, strict=True):
            total[name] += gradient.square()
    return total


@pytest.mark.parametrize("conditioning", Conditioning)
@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("sequences_at_once", [1, 3, 100])
def test_equals_the_loop_over_single_sequences(conditioning, residual, sequences_at_once):
    model = make_model(conditioning, residual=residual)
    ids, features = make_ids(), torch.rand(NUM_FEATURES, generator=torch.Generator().manual_seed(5)).double()
    found = sum_squared_gradients(model, ids, features, sequences_at_once=sequences_at_once)
    wanted = loop_over_single_sequences(model, ids, features)
    assert set(found) == set(wanted)
    for name in wanted:
        torch.testing.assert_close(found[name], wanted[name], rtol=1e-9, atol=1e-15, msg=name)
        assert wanted[name].max() > 0


@pytest.mark.parametrize("conditioning", Conditioning)
@pytest.mark.parametrize("num_sequences", [1, 7])
def test_in_single_precision_it_is_the_same_as_far_as_that_goes(conditioning, num_sequences):
    """Other products are used there: those of a model in use."""
    exact, ids = make_model(conditioning), make_ids(num_sequences=num_sequences)
    features = torch.rand(NUM_FEATURES, generator=torch.Generator().manual_seed(5))
    found = sum_squared_gradients(copy.deepcopy(exact).float(), ids, features)
    wanted = loop_over_single_sequences(exact, ids, features.double())
    for name in wanted:
        least = 1e-5 * float(wanted[name].max())
        torch.testing.assert_close(found[name].double(), wanted[name], rtol=1e-3, atol=least, msg=name)


def test_is_not_the_square_of_a_batch_gradient():
    model, ids = make_model(Conditioning.BARE), make_ids()
    nats, _ = model.nats(ids[:-1], ids[1:], None)
    gradients = torch.autograd.grad(nats.sum(), list(model.parameters()))
    found = sum_squared_gradients(model, ids, None)
    assert not torch.allclose(found["projection"], dict(zip(found, gradients, strict=True))["projection"].square())


@pytest.mark.parametrize("conditioning", Conditioning)
def test_adds_up_over_parts_and_leaves_the_model_as_it_was(conditioning):
    model, ids = make_model(conditioning), make_ids()
    features = torch.rand(NUM_FEATURES).double()
    before = copy.deepcopy(model.state_dict())
    whole = sum_squared_gradients(model, ids, features)
    first = sum_squared_gradients(model, ids[:, :3], features)
    second = sum_squared_gradients(model, ids[:, 3:], features)
    for name in whole:
        torch.testing.assert_close(first[name] + second[name], whole[name], rtol=1e-12, atol=1e-18)
    for name, weight in model.state_dict().items():
        torch.testing.assert_close(weight, before[name], rtol=0, atol=0)
    assert all(weight.grad is None for weight in model.parameters())
