import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from protoglot.errors import StorageError
from protoglot.prior.mixer import Mixer, MixerFit, Mixing, Predictions, fit_mixer, mixer_from_parts, mixer_parts

NUM_COMPONENTS = 4


def random_predictions(num_positions=30, size=11, *, seed=0, num_characters=5000):
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(num_positions, NUM_COMPONENTS, size, generator=generator)
    depth = torch.randint(0, NUM_COMPONENTS, (num_positions,), generator=generator)
    return Predictions(torch.log_softmax(logits, dim=2), depth, num_characters)


def scattered_mixer(mixing, *, seed=0):
    mixer = Mixer(mixing, NUM_COMPONENTS, hidden_size=5)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in mixer.parameters():
            weight += torch.randn(weight.shape, generator=generator)
    return mixer


@pytest.mark.parametrize("mixing", Mixing)
@given(seed=st.integers(0, 1000))
@settings(max_examples=20)
def test_a_mixture_sums_to_one(mixing, seed):
    mixed = scattered_mixer(mixing, seed=seed)(random_predictions(seed=seed))
    torch.testing.assert_close(mixed.exp().sum(dim=1), torch.ones(len(mixed)), rtol=0, atol=1e-5)


def test_a_linear_mixture_is_the_weighted_mean():
    mixer = scattered_mixer(Mixing.LINEAR)
    predictions = random_predictions()
    weights = torch.softmax(mixer.by_depth, dim=1)[predictions.depth]
    wanted = (weights.unsqueeze(2) * predictions.log_probabilities.exp()).sum(dim=1)
    torch.testing.assert_close(mixer(predictions).exp(), wanted)


def test_a_log_linear_mixture_starts_as_a_geometric_mean():
    predictions = random_predictions()
    mixed = Mixer(Mixing.LOG_LINEAR, NUM_COMPONENTS)(predictions)
    torch.testing.assert_close(mixed, torch.log_softmax(predictions.log_probabilities.mean(dim=1), dim=1))


@pytest.mark.parametrize("mixing", Mixing)
def test_positions_do_not_influence_each_other(mixing):
    mixer, whole = scattered_mixer(mixing), random_predictions()
    one = Predictions(whole.log_probabilities[3:4], whole.depth[3:4], whole.num_characters)
    torch.testing.assert_close(mixer(one), mixer(whole)[3:4])


@pytest.mark.parametrize("mixing", Mixing)
def test_renaming_characters_changes_nothing(mixing):
    """The mixer knows of no character, so it serves any language."""
    mixer, predictions = scattered_mixer(mixing), random_predictions()
    order = torch.randperm(11, generator=torch.Generator().manual_seed(1))
    renamed = Predictions(predictions.log_probabilities[:, :, order], predictions.depth, 5000)
    torch.testing.assert_close(mixer(renamed), mixer(predictions)[:, order])


@pytest.mark.parametrize("mixing", Mixing)
def test_fitting_finds_the_component_that_is_right(mixing):
    """Component 2 is the truth when the context is long, component 0 when it is short."""
    predictions = random_predictions(4000, seed=2)
    generator = torch.Generator().manual_seed(3)
    right = torch.where(predictions.depth >= 2, 2, 0)
    truth = predictions.log_probabilities[torch.arange(4000), right].exp()
    targets = torch.multinomial(truth, 1, generator=generator).squeeze(1)
    mixer = Mixer(mixing, NUM_COMPONENTS)
    before = float(mixer.nats(predictions, targets).mean().detach())
    fit_mixer(mixer, [(predictions, targets)], MixerFit(num_epochs=60))
    after = float(mixer.nats(predictions, targets).mean().detach())
    best = float(-truth.log().gather(1, targets.unsqueeze(1)).mean())
    assert after < before
    assert after == pytest.approx(best, abs=0.1)


@pytest.mark.parametrize("mixing", Mixing)
def test_parts_make_the_same_mixer(mixing):
    mixer = scattered_mixer(mixing)
    facts, arrays = mixer_parts(mixer)
    again = mixer_from_parts(facts, {name: values.copy() for name, values in arrays.items()}, name="x")
    predictions = random_predictions()
    assert torch.equal(again(predictions), mixer(predictions))


def test_foreign_parts_are_refused():
    facts, arrays = mixer_parts(scattered_mixer(Mixing.LINEAR))
    with pytest.raises(StorageError, match="not a mixer"):
        mixer_from_parts({**facts, "mixing": "magic"}, arrays, name="x")
    with pytest.raises(StorageError, match="not a mixer"):
        mixer_from_parts({**facts, "num_components": 10**9}, arrays, name="x")
    for size in (0, True, "16"):
        with pytest.raises(StorageError, match="not a mixer"):
            mixer_from_parts({**facts, "hidden_size": size}, arrays, name="x")
    with pytest.raises(StorageError, match="by_depth"):
        mixer_from_parts(facts, {}, name="x")
    with pytest.raises(StorageError, match="finite"):
        mixer_from_parts(facts, {"by_depth": np.full((4, 4), math.nan, dtype=np.float32)}, name="x")
