import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from protoglot.statistics import (
    paired_bootstrap,
    pearson,
    regularised_incomplete_beta,
    sign_test,
    standard_error,
    student_t_p_value,
)

NUMBERS = st.integers(-1000, 1000).map(float)
PAIRS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=30)
PARAMETERS = st.floats(0.5, 200)
SHARES = st.integers(0, 1 << 20).map(lambda x: x / (1 << 20))  # so that 1 - x is exact


@given(PARAMETERS, PARAMETERS, SHARES)
def test_both_tails_of_a_beta_distribution_sum_to_one(a, b, x):
    both = regularised_incomplete_beta(a, b, x) + regularised_incomplete_beta(b, a, 1 - x)
    assert both == pytest.approx(1, abs=1e-12)


@given(PARAMETERS, PARAMETERS, SHARES, SHARES)
def test_the_incomplete_beta_function_grows_with_x(a, b, x, y):
    low, high = sorted([x, y])
    assert regularised_incomplete_beta(a, b, low) <= regularised_incomplete_beta(a, b, high) + 1e-12


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 20).map(lambda x: x / 20))
def test_the_incomplete_beta_function_is_a_binomial_tail_for_whole_numbers(a, b, x):
    """I_x(a, b) is the chance of a or more successes in a + b - 1 trials."""
    trials = a + b - 1
    tail = math.fsum(math.comb(trials, k) * x**k * (1 - x) ** (trials - k) for k in range(a, trials + 1))
    assert regularised_incomplete_beta(a, b, x) == pytest.approx(tail, rel=1e-10, abs=1e-300)


@pytest.mark.parametrize(("a", "b", "x"), [(0, 1, 0.5), (1, -1, 0.5), (1, 1, -0.1), (1, 1, 1.1), (1, 1, math.nan)])
def test_the_incomplete_beta_function_refuses_what_has_no_value(a, b, x):
    with pytest.raises(ValueError, match="wanted a > 0"):
        regularised_incomplete_beta(a, b, x)


@pytest.mark.parametrize(
    ("degrees_of_freedom", "t", "p_value"),
    [  # two-sided critical values as printed in any table
        (1, 12.706, 0.05),
        (1, 63.657, 0.01),
        (2, 4.303, 0.05),
        (5, 2.571, 0.05),
        (5, 4.032, 0.01),
        (10, 2.228, 0.05),
        (10, 4.587, 0.001),
        (30, 2.042, 0.05),
        (60, 2.660, 0.01),
        (120, 3.373, 0.001),
        (1_000_000, 1.960, 0.05),
    ],
)
def test_student_t_agrees_with_printed_tables(degrees_of_freedom, t, p_value):
    assert student_t_p_value(t, degrees_of_freedom) == pytest.approx(p_value, rel=2e-3)
    assert student_t_p_value(-t, degrees_of_freedom) == student_t_p_value(t, degrees_of_freedom)


@given(st.floats(0, 1e6))
def test_student_t_is_in_closed_form_for_one_and_two_degrees_of_freedom(t):
    assert student_t_p_value(t, 1) == pytest.approx(2 / math.pi * math.atan2(1, t), rel=1e-10)
    wanted = 2 / ((t * t + 2) * (1 + t / math.sqrt(t * t + 2)))  # 1 - t / sqrt(t^2 + 2) without cancellation
    assert student_t_p_value(t, 2) == pytest.approx(wanted, rel=1e-10)


def test_student_t_is_exact_near_its_centre():
    assert 1 - student_t_p_value(1e-9, 1) == pytest.approx(2e-9 / math.pi, rel=1e-6)


def test_student_t_at_its_ends():
    assert student_t_p_value(1e200, 7) == 0
    assert student_t_p_value(0, 7) == 1
    assert student_t_p_value(math.inf, 7) == 0


@given(PAIRS)
def test_a_correlation_is_symmetric_bounded_and_indifferent_to_order(pairs):
    first, second = zip(*pairs, strict=True)
    found = pearson(first, second)
    assert found.num_pairs == len(pairs)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert math.isnan(found.coefficient)
        assert math.isnan(found.p_value)
        return
    assert -1 <= found.coefficient <= 1
    assert 0 <= found.p_value <= 1
    assert pearson(second, first).coefficient == pytest.approx(found.coefficient, abs=1e-12)
    mixed = random.Random(0).sample(pairs, len(pairs))
    assert pearson(*zip(*mixed, strict=True)).coefficient == pytest.approx(found.coefficient, abs=1e-12)
    assert found.coefficient == pytest.approx(np.corrcoef(first, second)[0, 1], abs=1e-12)


@given(PAIRS, st.floats(0.1, 10), st.floats(-10, 10))
def test_a_correlation_does_not_change_with_units(pairs, factor, shift):
    first, second = zip(*pairs, strict=True)
    assume(len(set(first)) > 1)
    assume(len(set(second)) > 1)
    found = pearson(first, second)
    moved = pearson([factor * value + shift for value in first], [-value for value in second])
    assert moved.coefficient == pytest.approx(-found.coefficient, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_a_line_is_a_correlation_of_one_in_any_size(scale):
    values = [scale * number for number in range(9)]
    found = pearson(values, [3 * value for value in values])
    assert found.coefficient == pytest.approx(1, abs=1e-15)
    assert found.p_value < 1e-50


@pytest.mark.parametrize(
    ("number", "coefficient"),
    [(5, 0.878), (10, 0.632), (20, 0.444), (32, 0.349), (102, 0.195)],  # critical values at 5 %, two-sided
)
def test_p_values_agree_with_printed_tables_of_coefficients(number, coefficient):
    """With two orthogonal vectors of length one, any coefficient can be made."""
    position = np.arange(number) - (number - 1) / 2
    one = position / np.linalg.norm(position)
    other = position**2 - np.mean(position**2)
    other /= np.linalg.norm(other)
    found = pearson(one, coefficient * one + math.sqrt(1 - coefficient**2) * other)
    assert found.coefficient == pytest.approx(coefficient, abs=1e-12)
    assert found.p_value == pytest.approx(0.05, abs=6e-4)


def test_a_permutation_test_agrees_with_the_p_value():
    """An oracle without any formula: the share of all orders that give so large a coefficient."""
    first, second = [1.0, 2.1, 2.9, 4.2, 5.0, 6.3, 7.1, 8.4], [2.0, 1.1, 3.2, 5.9, 3.8, 4.1, 7.7, 5.2]
    found = pearson(first, second)
    left = np.array(first) - np.mean(first)
    orders = np.array(list(itertools.permutations(second)))
    products = np.abs((orders - orders.mean(axis=1, keepdims=True)) @ left)
    share = (products >= abs((np.array(second) - np.mean(second)) @ left) - 1e-9).mean()
    assert found.p_value == pytest.approx(share, abs=0.01)


def test_too_few_pairs_have_no_p_value():
    assert math.isnan(pearson([], []).coefficient)
    assert math.isnan(pearson([1], [2]).coefficient)
    two = pearson([1, 2], [5, 3])
    assert two.coefficient == pytest.approx(-1)
    assert math.isnan(two.p_value)


def test_a_correlation_wants_pairs():
    with pytest.raises(ValueError, match="2 and 1 numbers; wanted pairs"):
        pearson([1, 2], [1])


@pytest.mark.parametrize(
    ("larger", "smaller", "p_value"),
    [(5, 0, 2 / 32), (0, 5, 2 / 32), (6, 0, 2 / 64), (9, 1, 22 / 1024), (5, 5, 1), (0, 0, 1), (1, 0, 1)],
)
def test_sign_test_by_hand(larger, smaller, p_value):
    found = sign_test([2] * larger + [0] * smaller + [1] * 4, [1] * (larger + smaller + 4))
    assert (found.num_larger, found.num_smaller, found.num_ties) == (larger, smaller, 4)
    assert found.p_value == p_value


@given(st.lists(st.sampled_from([-1, 1]), max_size=12))
def test_sign_test_is_the_share_of_all_signs_that_are_as_uneven(signs):
    found = sign_test(signs, [0] * len(signs))
    outcomes = [abs(sum(outcome)) for outcome in itertools.product([-1, 1], repeat=len(signs))]
    assert found.p_value == sum(outcome >= abs(sum(signs)) for outcome in outcomes) / len(outcomes)


def test_sign_test_of_many_pairs_does_not_overflow():
    assert sign_test([1] * 1500, [0] * 1500).p_value == 0  # 2 ** -1499
    assert sign_test([1, 0] * 750, [0, 1] * 750).p_value == 1


def test_bootstrap_of_a_constant_difference_has_no_spread():
    found = paired_bootstrap([3.0, 5.0, 8.0], [1.0, 3.0, 6.0], seed=0, num_resamples=100)
    assert (found.mean, found.low, found.high, found.confidence) == (2, 2, 2, 0.95)


def test_bootstrap_depends_on_the_seed_alone_and_changes_sign_with_the_order():
    first, second = [1.0, 4.0, 2.0, 8.0, 5.0], [0.0, 5.0, 1.0, 3.0, 3.5]
    one = paired_bootstrap(first, second, seed=1, num_resamples=500)
    assert one == paired_bootstrap(first, second, seed=1, num_resamples=500)
    assert one != paired_bootstrap(first, second, seed=2, num_resamples=500)
    other = paired_bootstrap(second, first, seed=1, num_resamples=500)
    assert (other.mean, other.low, other.high) == pytest.approx((-one.mean, -one.high, -one.low))
    assert one.low < one.mean < one.high


def test_bootstrap_is_near_the_interval_of_a_normal_mean():
    values = np.random.default_rng(0).normal(3, 2, size=400)
    found = paired_bootstrap(values, np.zeros(400), seed=0, confidence=0.9)
    half = 1.645 * standard_error(values)
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.02)


def test_bootstrap_may_draw_in_parts(monkeypatch):
    values = np.random.default_rng(0).normal(size=50)
    monkeypatch.setattr("protoglot.statistics._RESAMPLED_AT_ONCE", 50 * 7)
    found = paired_bootstrap(values, np.zeros(50), seed=0, num_resamples=2000)
    half = 1.96 * standard_error(values)
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.04)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 95])
def test_bootstrap_refuses_what_makes_no_sense(confidence):
    with pytest.raises(ValueError, match="wanted some pairs"):
        paired_bootstrap([1.0], [2.0], seed=0, confidence=confidence)
    with pytest.raises(ValueError, match="0 pairs"):
        paired_bootstrap([], [], seed=0)


def test_standard_error_by_hand():
    assert standard_error([1, 3]) == pytest.approx(1)  # s = sqrt(2), n = 2
    assert standard_error([2, 4, 4, 4, 5, 5, 7, 9]) == pytest.approx(math.sqrt(32 / 7 / 8))
    assert math.isnan(standard_error([1]))
    assert math.isnan(standard_error([]))
