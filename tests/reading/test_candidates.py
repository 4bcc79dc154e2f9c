"""The compiled network of candidates against numpy, and its gradients against differences."""

import numpy as np
import pytest

from protoglot.reading.candidates import BASE_SCALE, BOOST_SCALE, backward, forward
from protoglot.reading.characters import NUM_CLASSES
from protoglot.reading.kernel import ENTRY_FEATURES, NUM_CELLS, NUM_CONTEXTS

P, V, H, M = 3, 5, 4, 3
WEIGHTS = (
    "W", "S", "wb", "C", "W2", "b2", "v2", "W3", "U3", "u3", "b3", "v3", "beta", "gamma", "w", "w0", "gate", "extra",
)  # fmt: skip


@pytest.fixture(scope="module")
def case():
    """Evidence, weights and what the network of the place says, all at random."""
    rng = np.random.default_rng(3)

    def normal(*shape: int, scale: float = 1.0):
        return rng.normal(0.0, scale, shape).astype(np.float32)

    num_candidates = np.array([5, 4, 5], np.int32)
    pointer, row, context = [0], [], []
    for p in range(P):
        for j in rng.choice(NUM_CONTEXTS, 6, replace=False):
            for a in rng.choice(np.arange(1, num_candidates[p]), 2, replace=False):
                row.append(a)
                context.append(j)
        pointer.append(len(row))
    base = normal(P, V) - 2
    base[1, 4] = -np.inf  # no candidate
    evidence = (
        np.array(pointer, np.int64),
        np.array(row, np.int32),
        np.array(context, np.int16),
        np.array(context, np.int32) * NUM_CELLS + rng.integers(NUM_CELLS, size=len(row)).astype(np.int32),
        normal(len(row), ENTRY_FEATURES, scale=0.5),
        base,
        num_candidates,
        np.array([NUM_CLASSES, 0, 1, 3, 3], np.int64),
    )
    weights = {
        "W": normal(NUM_CONTEXTS, ENTRY_FEATURES, H, scale=0.4),
        "S": normal(NUM_CONTEXTS * NUM_CELLS, H, scale=0.4),
        "wb": normal(H),
        "C": normal(NUM_CLASSES + 1, H),
        "W2": normal(H, H),
        "b2": normal(H),
        "v2": normal(H),
        "W3": normal(H, M, scale=0.5),
        "U3": normal(H, M, scale=0.5),
        "u3": normal(M),
        "b3": normal(M) + 0.5,
        "v3": normal(M),
        "beta": normal(P, H),
        "gamma": normal(P, H) + 1,
        "w": normal(P, NUM_CONTEXTS) ** 2,
        "w0": normal(P) ** 2,
        "gate": normal(P, NUM_CONTEXTS) + 1,
        "extra": normal(P, V),
    }
    return evidence, weights


def reference(evidence, weights) -> np.ndarray:
    """Scores by the formulas of the module, in double precision."""
    pointer, row, context, cell, entry, base, num_candidates, kinds = evidence
    W, S, wb, C, W2, b2, v2, W3, U3, u3, b3, v3, beta, gamma, w, w0, gate, extra = (  # noqa: N806
        weights[name].astype(np.float64) for name in WEIGHTS
    )
    score = np.full(base.shape, np.nan)
    for p in range(len(base)):
        first, hidden = [], []
        for a in range(num_candidates[p]):
            x = np.float64(base[p, a])
            h1 = beta[p] + C[kinds[a]] + x * BASE_SCALE * wb
            boost = 0.0
            for k in range(pointer[p], pointer[p + 1]):
                if row[k] == a:
                    h1 = h1 + gate[p, context[k]] * (entry[k].astype(np.float64) @ W[context[k]] + S[cell[k]])
                    boost += w[p, context[k]] * entry[k, 0]
            h2 = np.maximum((np.maximum(h1, 0) * gamma[p]) @ W2 + b2, 0)
            first.append(v2 @ h2 + w0[p] * x + BOOST_SCALE * boost + extra[p, a])
            hidden.append(h2)
        log_p = np.array(first) - np.log(np.exp(np.array(first) - max(first)).sum()) - max(first)
        mean = np.exp(log_p) @ np.array(hidden)
        for a, h2 in enumerate(hidden):
            h3 = np.maximum(h2 @ W3 + mean @ U3 + log_p[a] * BASE_SCALE * u3 + b3, 0)
            score[p, a] = first[a] + v3 @ h3
    return score


def test_forward_is_the_formula_and_leaves_alone_what_is_no_candidate(case):
    evidence, weights = case
    score = np.full((P, V), -7.0, np.float32)
    forward(*evidence, *(weights[name] for name in WEIGHTS), score)
    wanted = reference(evidence, weights)
    assert score[1, 4] == -7
    np.testing.assert_allclose(score, np.where(np.isnan(wanted), -7, wanted), rtol=1e-4, atol=1e-5)


def test_backward_is_finite_differences(case):
    evidence, weights = case
    d_score = np.random.default_rng(4).normal(size=(P, V)).astype(np.float32)
    gradients = {name: np.zeros_like(weights[name]) for name in WEIGHTS}
    backward(*evidence, *(weights[name] for name in WEIGHTS), d_score, *(gradients[name] for name in WEIGHTS))

    def value(changed) -> float:
        return float(np.nansum(reference(evidence, changed) * d_score))

    step = 1e-6
    rng = np.random.default_rng(5)
    for name, gradient in gradients.items():
        used = np.flatnonzero(gradient)
        assert len(used), name
        unused = np.flatnonzero(gradient == 0)
        some = [*rng.permutation(used)[:150], *rng.permutation(unused)[:6]]
        for i in some:
            double = {other: weight.astype(np.float64) for other, weight in weights.items()}
            double[name].flat[i] += step
            above = value(double)
            double[name].flat[i] -= 2 * step
            difference = (above - value(double)) / (2 * step)
            assert gradient.flat[i] == pytest.approx(difference, rel=2e-4, abs=2e-5), (name, i)


def test_gradients_are_added_to_what_is_there(case):
    evidence, weights = case
    d_score = np.ones((P, V), np.float32)
    once, twice = ([np.zeros_like(weights[name]) for name in WEIGHTS] for _ in range(2))
    for gradients in (once, twice, twice):
        backward(*evidence, *(weights[name] for name in WEIGHTS), d_score, *gradients)
    for one, two in zip(once[:-1], twice[:-1], strict=True):  # but for those of ``extra``, which are filled
        np.testing.assert_allclose(two, 2 * one, rtol=1e-5, atol=1e-6)
