"""What tests of decisions check of every answer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import settings

import argmetric as am
import oracle

NAN = math.nan
CONVENTIONS = (0.0, 1.0, NAN)
SPECIAL = {
    "tversky": am.Tversky(0.25, 1.5),
    "linear_fractional": am.LinearFractional(
        oracle.LINEAR_FRACTIONAL_C, oracle.LINEAR_FRACTIONAL_D
    ),
    "utility": am.Utility(*oracle.UTILITY),
    "custom": am.CustomMetric(lambda tp, k, t, n: tp * tp / (k * t)),
}
METRIC_AND_CONVENTION = [
    pytest.param(name, zd, id=f"{name}-{zd:g}")
    for name in oracle.NAMES
    for zd in CONVENTIONS
]
few = settings(deadline=None, max_examples=12)
some = settings(deadline=None, max_examples=30)


def saved_map(kind, **values):
    """A map of probabilities with these parameters, as a file has them."""
    head = {"calibrator": kind, "format": 3, "draws": None, "counts": None}
    return am.Calibrator.from_dict(head | values)


MAP = saved_map("platt", slope=0.8, intercept=-1.5, n=1000, prevalence=0.2, reach=None)
STEPS = saved_map(
    "isotonic", x=[0.3, 0.5, 0.7], y=[0.2, 0.2, 0.6], n=0, prevalence=None
)


def spec(name):
    """What to hand to `decide`: the name where there is one."""
    return SPECIAL.get(name, name)


def tolerance(name, scale):
    """Absolute tolerance for a value whose E|value| is `scale`.

    1e-11 of the value; of its terms where they have both signs and may cancel.
    """
    if name in oracle.TWO_DIMENSIONAL:
        return 1e-9
    terms = {"youden": 1.0, "markedness": 1.0, "utility": sum(map(abs, oracle.UTILITY))}
    scale = np.nan_to_num(np.abs(np.asarray(scale, float)))
    return 1e-11 * np.maximum(scale, terms.get(name, 0.0)) + 1e-300


def assert_close(got, expected, within):
    got, expected = np.asarray(got, float), np.asarray(expected, float)
    assert got.shape == expected.shape
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    excess = np.abs(got - expected) - within
    assert not (excess > 0).any(), f"{got}\n{expected}\nexcess {np.nanmax(excess)}"


def gain(name, value):
    return -value if name in oracle.MINIMISED else value


def assert_top_set(labels, p):
    labels, p = np.asarray(labels), np.asarray(p)
    assert set(np.unique(labels)) <= {0, 1}
    if 0 < labels.sum() < p.size:
        assert p[labels == 1].min() >= p[labels == 0].max()


def assert_threshold_reproduces(decision, p):
    """A threshold that is given works; it is missing only where ties split."""
    k = decision.n_positives
    ranked = np.sort(np.asarray(p, float))[::-1]
    if 0 < k < ranked.size and ranked[k - 1] == ranked[k]:
        assert decision.threshold is None
        return
    assert decision.threshold is not None
    np.testing.assert_array_equal(np.asarray(p) >= decision.threshold, decision.labels)
    if k == 0:
        assert decision.threshold == math.inf


def assert_optimal(name, p, zd, decision, keep=None):
    """Right curve, right value, and no prediction of all 2^n that beats it."""
    curve, scale = oracle.enumerated_curve(name, p, zd)
    assert_close(decision.curve, curve, tolerance(name, scale))
    labels = np.asarray(decision.labels)
    assert labels.shape == np.shape(p)
    assert labels.sum() == decision.n_positives
    if math.isnan(zd) and not np.any(np.asarray(p) > 0):
        # A certain negative is not predicted only to leave 0/0.
        assert decision.n_positives == 0
        return
    assert_top_set(labels, p)
    reached = oracle.enumerated_mean(name, p, labels, zd)
    within = tolerance(name, scale[decision.n_positives])
    assert abs(decision.expected - float(reached)) <= within
    best, best_scale = oracle.enumerated_best(name, p, zd, keep)
    slack = tolerance(name, best_scale) + within
    assert gain(name, float(reached)) >= gain(name, float(best)) - slack
    assert_threshold_reproduces(decision, p)


def defined_somewhere(name, p, zd):
    return not np.isnan(oracle.enumerated_curve(name, p, zd)[0]).all()


def count_pmfs(p):
    """PMFs of the number of positives among the first 0, 1, … items."""
    found = [np.ones(1)]
    for x in p:
        found.append(np.convolve(found[-1], [1 - x, x]))
    return found


def curve_by_pmfs(p, metric):
    """E[value | defined] for every k: a plain sum over the whole PMFs."""
    p = np.sort(p)[::-1]
    m, hits, misses = p.size, count_pmfs(p), count_pmfs(p[::-1])
    curve = np.full(m + 1, np.nan)
    for k in range(m + 1):
        a, r = np.ogrid[: k + 1.0, : m - k + 1.0]
        value = metric.value(a, float(k), a + r, float(m))
        weights = hits[k][:, None] * misses[m - k]
        defined = ~np.isnan(value)
        mass = weights[defined].sum()
        if mass > 0.0:
            curve[k] = (weights[defined] * value[defined]).sum() / mass
    return curve
