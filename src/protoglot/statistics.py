"""How sure one can be of a number: correlation, paired comparison, spread of a mean."""

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

_PRECISION = 1e-15  # relative; a continued fraction whose last factor is this close to one has converged
_TINY = 1e-300  # stands for a zero in a denominator
_MAX_TERMS = 100_000
_RESAMPLED_AT_ONCE = 1 << 20  # numbers drawn at once: bounds memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """Pearson's correlation of pairs of numbers."""

    coefficient: float
    """From -1 to 1; not a number if one side is constant, or with fewer than two pairs."""

    p_value: float
    """Two-sided; not a number with fewer than three pairs, or without a coefficient."""

    num_pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SignTest:
    """How often the first number of a pair is the larger one."""

    num_larger: int
    num_smaller: int
    num_ties: int
    """Pairs of equal numbers, which say nothing and are left out of the test."""

    p_value: float
    """Two-sided and exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean and how far off it may be."""

    mean: float
    low: float
    high: float
    confidence: float
    """Share of such intervals that hold the true mean, if the sample is large."""


def pearson(first: Sequence[float], second: Sequence[float]) -> Correlation:
    """Pearson's correlation coefficient r with a two-sided p-value.

    The p-value is that of Student's t with n - 2 degrees of freedom, exact for pairs from a normal distribution
    that are independent: the chance of a coefficient at least as far from 0.

    >>> pearson([1, 2, 3, 4], [2, 1, 4, 3]).coefficient
    0.6
    """
    number = _number_of_pairs(first, second)
    if number < 2 or min(first) == max(first) or min(second) == max(second):
        return Correlation(coefficient=math.nan, p_value=math.nan, num_pairs=number)
    left, right = _unit_deviations(first), _unit_deviations(second)
    coefficient = max(-1.0, min(1.0, math.fsum(map(operator.mul, left, right))))
    p_value = math.nan
    if number > 2:
        # t^2 = (n - 2) r^2 / (1 - r^2), so that (n - 2) / (n - 2 + t^2) = 1 - r^2: t itself is not needed.
        unexplained = (1 - coefficient) * (1 + coefficient)
        p_value = _incomplete_beta((number - 2) / 2, 0.5, unexplained, coefficient * coefficient)
    return Correlation(coefficient=coefficient, p_value=p_value, num_pairs=number)


def student_t_p_value(t: float, degrees_of_freedom: float) -> float:
    """Two-sided p-value: the chance that Student's t is at least as far from 0."""
    if math.isinf(t):
        return 0.0
    total = degrees_of_freedom + t * t
    return _incomplete_beta(degrees_of_freedom / 2, 0.5, degrees_of_freedom / total, t * t / total)


def sign_test(first: Sequence[float], second: Sequence[float]) -> SignTest:
    """Exact two-sided sign test of pairs: is the first as often larger as smaller?

    Ties are dropped. With none left the p-value is 1.

    >>> sign_test([3, 3, 3, 3, 3, 1], [1, 1, 1, 1, 1, 1]).p_value
    0.0625
    """
    number = _number_of_pairs(first, second)
    larger = sum(one > other for one, other in zip(first, second, strict=True))
    smaller = sum(one < other for one, other in zip(first, second, strict=True))
    untied = larger + smaller
    tail = sum(math.comb(untied, count) for count in range(min(larger, smaller) + 1))
    # Whole numbers until the one division. Both tails, which meet where larger and smaller are nearly equal.
    p_value = min(2 * tail, 2**untied) / 2**untied
    return SignTest(num_larger=larger, num_smaller=smaller, num_ties=number - untied, p_value=p_value)


def paired_bootstrap(
    first: Sequence[float],
    second: Sequence[float],
    *,
    seed: int,
    confidence: float = 0.95,
    num_resamples: int = 10_000,
) -> Interval:
    """Mean of the differences first - second, with an interval by the bootstrap of pairs.

    Pairs are drawn with replacement, as many as there are, again and again; the interval holds the middle of the
    means so found (the percentile method, too narrow for a handful of pairs).

    Args:
        first: numbers, such as the scores of one model.
        second: numbers for the same things in the same order.
        seed: of the draws.
        confidence: share of the means within the interval.
        num_resamples: how often to draw.

    Raises:
        ValueError: without pairs, or for a confidence that is not between 0 and 1.
    """
    number = _number_of_pairs(first, second)
    if number == 0 or not 0 < confidence < 1:
        raise ValueError(f"{number} pairs, confidence {confidence}; wanted some pairs, and 0 < confidence < 1")
    differences = np.subtract(first, second, dtype=np.float64)
    generator = np.random.default_rng(seed)
    at_once = max(_RESAMPLED_AT_ONCE // number, 1)
    means = np.concatenate(
        [
            differences[generator.integers(number, size=(min(at_once, num_resamples - done), number))].mean(axis=1)
            for done in range(0, num_resamples, at_once)
        ]
    )
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(mean=float(differences.mean()), low=float(low), high=float(high), confidence=confidence)


def standard_error(values: Sequence[float]) -> float:
    """Standard error of a mean, s / sqrt(n) with n - 1 in the variance; not a number for fewer than two values."""
    if len(values) < 2:
        return math.nan
    return float(np.std(np.asarray(values, dtype=np.float64), ddof=1)) / math.sqrt(len(values))


def regularised_incomplete_beta(a: float, b: float, x: float) -> float:
    r"""The distribution function of the beta distribution, :math:`I_x(a, b)`.

    Raises:
        ValueError: unless a > 0, b > 0 and 0 <= x <= 1.
    """
    if not (a > 0 and b > 0 and 0 <= x <= 1):
        raise ValueError(f"a {a}, b {b}, x {x}; wanted a > 0, b > 0 and 0 <= x <= 1")
    return _incomplete_beta(a, b, x, 1 - x)


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """I_x(a, b), given 1 - x as well: where x is near one, the caller may know it better than a subtraction does.

    By the continued fraction, which converges fast where x is below the centre of the distribution; beyond it by
    I_x(a, b) = 1 - I_(1 - x)(b, a).
    """
    if x == 0 or rest == 0:
        return float(rest == 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, rest, x)
    log_front = (
        a * math.log(x) + b * math.log(rest) - math.log(a) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    )
    return math.exp(log_front) / _continued_fraction(_beta_coefficients(a, b, x))


def _beta_coefficients(a: float, b: float, x: float) -> Iterator[float]:
    """Numerators d_1, d_2, ... of 1 + d_1 / (1 + d_2 / (1 + ...)), the reciprocal of the fraction of I_x(a, b)."""
    for m in itertools.count():
        yield -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        yield (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2))


def _continued_fraction(numerators: Iterator[float]) -> float:
    """Value of 1 + d_1 / (1 + d_2 / (1 + ...)), from the front (Lentz's method).

    The value is a product of ratios of successive numerators and denominators of its convergents.
    """
    value = ratio_above = 1.0
    ratio_below = 0.0
    for numerator in itertools.islice(numerators, _MAX_TERMS):
        ratio_above = 1 + numerator / ratio_above or _TINY
        ratio_below = 1 / (1 + numerator * ratio_below or _TINY)
        factor = ratio_above * ratio_below
        value *= factor
        if abs(factor - 1) < _PRECISION:
            return value
    raise ArithmeticError(f"continued fraction: no value after {_MAX_TERMS:,} terms")


def _unit_deviations(values: Sequence[float]) -> list[float]:
    """Deviations from the mean, as a vector of length one."""
    mean = math.fsum(values) / len(values)
    deviations = [value - mean for value in values]
    length = math.hypot(*deviations)  # neither overflows nor vanishes where squares would
    return [deviation / length for deviation in deviations]


def _number_of_pairs(first: Sequence[float], second: Sequence[float]) -> int:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} numbers; wanted pairs")
    return len(first)
