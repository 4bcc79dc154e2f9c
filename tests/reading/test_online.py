"""Learning of the output layers while a text is read."""

import numpy as np
import pytest

from protoglot.reading import online
from protoglot.reading.kernel import NUM_CONTEXTS
from protoglot.reading.reader import Reader

BEFORE = "Kard a mente, anna est.\nUra dok 11"
TEXT = " anna mente ura, e\u0301 Kard"


def weights_of(reader: Reader):
    return reader._adaptive[0]


def gradient_of(reader: Reader):
    return reader._adaptive[1]


def learning_ones(scorer):
    """Which of the output layers learn: all but those of the gates of the contexts."""
    num_out = scorer.weights["Po"].shape[1]
    is_gate = np.arange(num_out) >= num_out - NUM_CONTEXTS
    parts = [scorer.weights[name] for name in online.NAMES]
    masks = [
        np.broadcast_to(~is_gate, part.shape) if part.shape[-1:] == (num_out,) else np.ones(part.shape, bool)
        for part in parts
    ]
    return np.concatenate([mask.ravel() for mask in masks])


@pytest.mark.parametrize("with_letters", [True, False], ids=["letters", "no letters"])
def test_the_gradient_is_finite_differences(scorer, with_letters):
    start = Reader(scorer, with_letters=with_letters, learn_online=False)
    start.read(BEFORE)

    def nats(change: np.ndarray) -> float:
        reader = start.copy()
        weights_of(reader)[:] += change
        return reader.read(TEXT).total_bits * np.log(2)

    learning = start.copy()
    learning.learn_online = True
    learning.read(TEXT)  # too short for a step
    gradient = gradient_of(learning).copy()
    np.testing.assert_array_equal(weights_of(learning), weights_of(start))
    learns = learning_ones(scorer)
    assert not gradient[~learns].any()
    some = np.random.default_rng(0).permutation(np.flatnonzero(learns))[:250]
    differences = []
    for i in some:
        change = np.zeros(len(gradient), np.float32)
        change[i] = 1e-3
        differences.append((nats(change) - nats(-change)) / 2e-3)
    error = np.abs(gradient[some] - differences)
    assert np.abs(gradient[some]).max() > 0.5
    assert np.quantile(error, 0.9) < 2e-3
    assert error.max() < 0.06  # where a unit is switched on or off in between


def test_the_first_step_comes_in_time_and_goes_down(scorer):
    reader = Reader(scorer)
    size = online.NUM_CHARACTERS_PER_STEP
    text = (BEFORE + TEXT) * 3
    reader.read(text[: size - 1])
    before = weights_of(reader).copy()
    np.testing.assert_array_equal(before, weights_of(Reader(scorer)))
    without = Reader(scorer, learn_online=False)
    without.read(text[: size - 1])
    assert not np.any(gradient_of(without))
    reader.read(text[size - 1 : size])
    change = weights_of(reader) - before
    # Adam's first step has one length for all weights that mattered.
    moved = np.abs(change) > 0.5 * online.LEARNING_RATE
    assert moved[learning_ones(scorer)].mean() > 0.5
    assert np.abs(change).max() <= online.LEARNING_RATE * 1.001
    assert not np.any(gradient_of(reader))
    fresh, learned = Reader(scorer, learn_online=False), Reader(scorer, learn_online=False)
    weights_of(learned)[:] = weights_of(reader)
    assert learned.read(text[:size]).total_bits < fresh.read(text[:size]).total_bits


def test_steps_are_those_of_adam():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=5).astype(np.float32)
    expected = weights.astype(np.float64)
    gradient, first, second = (np.zeros(5, np.float32) for _ in range(3))
    counts = np.zeros(2, np.int64)
    m, v = np.zeros(5), np.zeros(5)
    for number in range(1, 4):
        total = np.zeros(5)
        for _ in range(online.NUM_CHARACTERS_PER_STEP):
            added = rng.normal(size=5).astype(np.float32)
            total += added
            gradient += added
            online.step(weights, gradient, first, second, counts)
        mean = total / online.NUM_CHARACTERS_PER_STEP
        m = online.FIRST_DECAY * m + (1 - online.FIRST_DECAY) * mean
        v = online.SECOND_DECAY * v + (1 - online.SECOND_DECAY) * mean**2
        corrected = m / (1 - online.FIRST_DECAY**number), v / (1 - online.SECOND_DECAY**number)
        expected -= online.LEARNING_RATE * corrected[0] / (np.sqrt(corrected[1]) + 1e-8)
        np.testing.assert_allclose(weights, expected, rtol=1e-4, atol=1e-6)
        assert counts.tolist() == [0, number]
