"""Beyond enumeration: the near-linear routes against windowed sums and each other."""

import numpy as np
import pytest

import argmetric as am
import oracle
from routes import decide_by

SMOOTH = {
    "uniform": lambda rng, n: rng.random(n),
    "skewed": lambda rng, n: rng.beta(0.1, 2, n),
    "equal": lambda rng, n: np.full(n, 0.3),
    "separated": lambda rng, n: rng.choice([0.01, 0.98], n),
    "rare": lambda rng, n: 0.01 * rng.random(n),
    "certain": lambda rng, n: rng.choice([0.0, 1.0, 0.5], n),
}


def draw(pmf, n):
    return SMOOTH[pmf](np.random.default_rng(n), n)


def test_a_function_that_is_not_smooth_says_how_wrong_it_may_be():
    """A step function defeats quadrature; the reported error has to cover it."""

    def at_least_half(tp, k, t, n):
        return np.where(tp >= 0.5 * t, 1.0, 0.0)

    p = draw("uniform", 1000)
    fast = am.decide(p, am.CustomMetric(at_least_half))
    slow = decide_by(p, am.CustomMetric(at_least_half), method="windows")
    assert slow.error < 1e-12
    assert abs(fast.expected - slow.curve[fast.n_positives]) <= fast.error
    assert fast.error < 1e-9 or any("numerical error" in note for note in fast.notes)


def test_closed_forms():
    p = np.sort(draw("skewed", 20_000))[::-1]
    mu, k = np.concatenate([[0.0], np.cumsum(p)]), np.arange(p.size + 1)
    n = p.size
    accuracy = am.decide(p, "accuracy").curve
    np.testing.assert_allclose(accuracy, (2 * mu + n - k - mu[-1]) / n, rtol=1e-12)
    sec = am.decide(p, "sec")
    variance = float(p @ (1 - p))
    expected = (variance + (mu[-1] - k) ** 2) / n**2
    np.testing.assert_allclose(sec.curve, expected, rtol=1e-11)
    assert sec.n_positives == round(mu[-1])
    markedness = am.decide(p, "markedness").curve[1:-1]
    inner = k[1:-1]
    np.testing.assert_allclose(
        markedness,
        (n * mu[1:-1] - inner * mu[-1]) / (inner * (n - inner)),
        rtol=1e-9,
        atol=1e-13,
    )


def test_equal_probabilities_against_the_binomial_distribution():
    """All p equal: T without an item is binomial, summed in exact arithmetic."""
    n, x = 2000, 0.3
    curve = am.decide(np.full(n, x), "f1").curve
    pmf = oracle.binomial_pmf(n - 1, x)
    for k in (1, 10, 600, 1999, 2000):
        t = np.arange(n, dtype=np.longdouble)
        exact = 2 * k * np.longdouble(x) * (pmf / (k + 1 + t)).sum()
        assert curve[k] == pytest.approx(float(exact), rel=1e-13)
