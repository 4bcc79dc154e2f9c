import math
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from protoglot.report.svg import LinearScale, LogScale, SlotScale, marker, nice_step, padded_range, spread

finite = st.floats(-1e6, 1e6)


@given(finite, finite)
def test_linear_ticks_are_round_few_and_within(low, high):
    assume(high - low > 1e-6)
    ticks = LinearScale(low, high, 0, 100).ticks()
    assert 1 <= len(ticks) <= 14
    slack = (high - low) * 1e-6
    assert all(low - slack <= value <= high + slack for value, _ in ticks)
    assert len({label for _, label in ticks}) == len(ticks)
    assert all(float(label) == pytest.approx(value, abs=slack) for value, label in ticks)


def test_scales_map_ends_to_ends():
    linear, log = LinearScale(2, 4, 10, 110), LogScale(0.1, 1000, 200, 0)
    assert [linear(2), linear(3), linear(4)] == [10, 60, 110]
    assert [round(log(value), 6) for value in (0.1, 10, 1000)] == [200, 100, 0]
    assert SlotScale(("a", "b"), 0, 100)(1) == 75


@given(st.floats(-30, 30), st.floats(0.5, 30))
def test_log_ticks_are_within_and_some_have_labels(exponent, decades):
    low, high = 10**exponent, 10 ** (exponent + decades)
    ticks = LogScale(low, high, 0, 100).ticks()
    assert all(low * 0.999 <= value <= high * 1.001 for value, _ in ticks)
    labelled = [value for value, label in ticks if label]
    assert all(math.log10(value) == pytest.approx(round(math.log10(value))) for value in labelled)
    assert len(labelled) <= 10
    if decades >= 8:
        assert len(labelled) >= 2


@given(st.floats(1e-9, 1e9))
def test_a_nice_step_is_not_below_and_not_far_above(rough):
    step = nice_step(rough)
    assert rough * (1 - 1e-6) <= step <= rough * 2.5 * (1 + 1e-6)


@given(st.lists(finite))
def test_a_padded_range_holds_all_and_is_not_empty(values):
    low, high = padded_range(values)
    assert low < high
    assert all(low <= value <= high for value in values)


@given(st.lists(st.floats(0, 1000), max_size=12), st.floats(1, 50))
def test_spread_labels_keep_their_order_and_distance(wanted, gap):
    placed = spread(wanted, gap)
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    for first, second in pairwise(order):
        assert placed[second] - placed[first] >= gap * (1 - 1e-9) - 1e-9
    far = all(abs(a - b) >= gap for i, a in enumerate(wanted) for b in wanted[:i])
    if far:
        assert placed == pytest.approx(wanted)


@pytest.mark.parametrize("shape", ["circle", "square", "triangle", "diamond", "cross"])
def test_markers_have_their_names_escaped(shape):
    drawn = marker((1, 2), shape=shape, colour="#000000", title="<b>")
    assert "<title>&lt;b&gt;</title>" in drawn
