import math

import numpy as np
import pytest
import torch

from protoglot.errors import ConfigError
from protoglot.prior.calibration import Calibration, fit_calibration, mean_frequencies


def random_logits(num_positions=400, size=9, *, seed=0):
    return 4 * torch.randn(num_positions, size, generator=torch.Generator().manual_seed(seed))


FREQUENCIES = torch.tensor([0.5, 0.2, 0.2, 0.1, 0, 0, 0, 0, 0])


@pytest.mark.parametrize(
    "calibration", [Calibration(), Calibration(temperature=2.5, broad_share=0.3), Calibration(broad_share=0.9)]
)
def test_probabilities_sum_to_one(calibration):
    found = calibration.log_probabilities(random_logits(), FREQUENCIES).exp()
    torch.testing.assert_close(found.sum(dim=1), torch.ones(400), rtol=0, atol=1e-5)


def test_no_calibration_is_the_model():
    logits = random_logits()
    torch.testing.assert_close(Calibration().log_probabilities(logits, FREQUENCIES), torch.log_softmax(logits, 1))


def test_fitting_softens_a_model_that_is_too_sure():
    logits = random_logits()
    truth = torch.softmax(logits / 3, dim=1)
    targets = torch.multinomial(truth, 1, generator=torch.Generator().manual_seed(1)).squeeze(1)
    found = fit_calibration([(logits, targets)], FREQUENCIES)
    before = -torch.log_softmax(logits, 1).gather(1, targets.unsqueeze(1)).mean()
    after = -found.log_probabilities(logits, FREQUENCIES).gather(1, targets.unsqueeze(1)).mean()
    assert found.temperature > 1.5
    assert float(after) < float(before) - 0.1


def test_frequencies_are_means_over_languages_whatever_their_size():
    streams = {"a": np.array([0, 1, 1, 2], dtype=np.int32), "b": np.array([0] + [2] * 100, dtype=np.int32)}
    np.testing.assert_allclose(mean_frequencies(streams, 4), [(2 / 3) / 2, (1 / 3 + 1) / 2, 0], rtol=1e-6)


@pytest.mark.parametrize("wrong", [{"temperature": 0.0}, {"broad_share": 1.5}, {"even_share": math.nan}])
def test_settings_out_of_range_are_named(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Calibration(**wrong)
