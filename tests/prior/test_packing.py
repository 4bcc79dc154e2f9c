import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from protoglot.adaptation import learn_language
from protoglot.errors import StorageError
from protoglot.prior.packing import pack_means, pack_scales, unpack_means, unpack_scales
from protoglot.prior.universal import UniversalPrior
from test_language_learning import SENTENCES, UNSEEN, tuned_prior

POSITIVE = st.one_of(st.just(0.0), st.floats(1e-20, 1e20, width=64))


@given(arrays(np.float64, st.integers(1, 40), elements=POSITIVE))
def test_scales_come_back_within_half_a_step(values):
    packed, ranges = pack_scales({"x": values})
    found = unpack_scales(packed, ranges, name="x")["x"]
    assert packed["x"].dtype == np.uint8
    np.testing.assert_array_equal(found == 0, values == 0)
    positive = values > 0
    if positive.any():
        low, high = ranges["x"]
        half = (high - low) / 253 / 2 + 1e-6
        assert np.abs(np.log(found[positive].astype(np.float64)) - np.log(values[positive])).max() <= half


def test_means_come_back_to_three_digits():
    values = np.linspace(-3, 3, 101, dtype=np.float32)
    found = unpack_means(pack_means({"x": values}))["x"]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, values, rtol=1e-3, atol=1e-6)
    with pytest.raises(StorageError, match="too large"):
        pack_means({"x": np.array([1e6], dtype=np.float32)})


@pytest.mark.parametrize("conditioning", ["bare", "oest", "plat"])
def test_a_packed_prior_is_smaller_and_adapts_almost_the_same(tmp_path, conditioning):
    prior = tuned_prior(conditioning)
    prior = replace(prior, spread={name: values + 1e-6 for name, values in prior.fisher.items()})
    prior.save(tmp_path / "whole")
    prior.save(tmp_path / "packed", packed=True)
    again = UniversalPrior.load(tmp_path / "packed")
    features = prior.mean.features.get("wol")
    first, second = (learn_language(each, SENTENCES, features=features).score(UNSEEN) for each in (prior, again))
    assert second.bits_per_character == pytest.approx(first.bits_per_character, abs=0.005)
    sizes = [
        sum((tmp_path / name / f"{part}.safetensors").stat().st_size for part in ("weights", "fisher", "spread"))
        for name in ("whole", "packed")
    ]
    assert sizes[1] < sizes[0] / 2
    again.save(tmp_path / "again", packed=True)  # packing what was packed changes nothing more
    third = UniversalPrior.load(tmp_path / "again")
    for name, values in again.fisher.items():
        np.testing.assert_allclose(third.fisher[name].numpy(), values.numpy(), rtol=1e-3)


@pytest.mark.parametrize(
    "ranges", [None, {}, {"x": [0.0]}, {"x": [0.0, math.inf]}, {"x": [1.0, 0.0]}, {"x": ["a", "b"]}]
)
def test_ranges_that_cannot_be_are_refused(ranges):
    with pytest.raises(StorageError, match="damaged"):
        unpack_scales({"x": np.ones(3, dtype=np.uint8)}, ranges, name="here")
