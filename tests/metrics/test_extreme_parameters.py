"""Metrics with parameters at the ends of the floats, by every verb, in fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import argmetric as am

NUMBERS = [0.0, 5e-324, 1e-300, 1e-160, 1e-20, 1e-9, 0.5, 1.0, 3.0]
NUMBERS += [1e5, 1e9, 1e16, 1e20, 1e155, 1e200, 1e308, np.finfo(float).max]
ZERO_DIVISIONS = st.sampled_from([0.0, 1.0])


@st.composite
def metrics(draw):
    """A metric, and its value in fractions."""
    zero = draw(ZERO_DIVISIONS)
    one, two = draw(st.sampled_from(NUMBERS)), draw(st.sampled_from(NUMBERS))
    if draw(st.booleans()):
        beta = one or 1.0
        square = Fraction(beta) ** 2
        weights = 1 / (1 + square), square / (1 + square)
        metric = am.FBeta(beta, zero_division=zero)
    else:
        weights = Fraction(one), Fraction(two or 1.0)
        metric = am.Tversky(one, two or 1.0, zero_division=zero)

    def value(tp, k, t):
        below = tp + weights[0] * (k - tp) + weights[1] * (t - tp)
        return Fraction(tp) / below if below else Fraction(zero)

    return metric, value


rows = st.lists(st.integers(0, 8), min_size=1, max_size=5)


def expected(value, p, labels):
    total = Fraction(0)
    for truth in itertools.product((0, 1), repeat=len(p)):
        probability = math.prod(
            x if y else 1 - x for x, y in zip(p, truth, strict=True)
        )
        if probability:
            tp = sum(a & b for a, b in zip(truth, labels, strict=True))
            total += probability * value(tp, sum(labels), sum(truth))
    return total


@given(metrics(), rows)
def test_decide_and_forecast(made, eighths):
    metric, value = made
    p = [Fraction(x, 8) for x in eighths]
    found = am.decide(np.array(eighths) / 8, metric)
    sets = itertools.product((0, 1), repeat=len(p))
    best = max(expected(value, p, labels) for labels in sets)
    labels = [int(x) for x in found.labels]
    exact = expected(value, p, labels)
    assert found.expected == pytest.approx(float(exact), rel=1e-11, abs=1e-300)
    assert float(exact) == pytest.approx(float(best), rel=1e-11, abs=1e-300)
    for forecast in (
        found.forecast(),
        am.forecast(np.array(eighths) / 8, labels, metric),
    ):
        assert forecast.mean == pytest.approx(float(exact), rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("n", [40, 200, 1000])
@pytest.mark.parametrize(
    "metric",
    [am.FBeta(x) for x in (5e-324, 1e-9, 1e9, 1e15, 1e17, 1e308)]
    + [am.Tversky(*x) for x in ((1e5, 0), (0, 1e5), (1e308, 1e-9), (0.5, 1e308))],
    ids=lambda metric: metric.name,
)
def test_of_many_rows_decide_expects_the_mean_of_the_distribution(metric, n):
    p = np.random.default_rng(n).beta(0.2, 2, n)
    found = am.decide(p, metric)
    assert found.expected == pytest.approx(found.forecast().mean, rel=1e-9, abs=1e-300)
    rank = np.argsort(-p)
    for k in (1, found.n_positives // 2, n // 2, n):
        labels = np.zeros(n, dtype=bool)
        labels[rank[:k]] = True
        other = am.forecast(p, labels, metric).mean
        assert other <= found.expected * (1 + 1e-9) + 1e-300


@given(metrics(), st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_evaluate(made, pairs):
    metric, value = made
    truth, labels = (np.array(side, dtype=int) for side in zip(*pairs, strict=True))
    exact = value(int((truth & labels).sum()), int(labels.sum()), int(truth.sum()))
    found = am.evaluate(truth, labels, metric)
    assert float(found) == pytest.approx(float(exact), rel=1e-12, abs=1e-300)


@given(metrics(), st.lists(st.booleans(), min_size=2, max_size=12))
def test_tune(made, truth):
    metric, value = made
    truth = [True, False, *truth]
    scores = np.linspace(0.9, 0.1, len(truth))
    found = am.tune(truth, scores, metric, n_bootstrap=0)
    best = max(value(sum(truth[:k]), k, sum(truth)) for k in range(len(truth) + 1))
    assert found.score == pytest.approx(float(best), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("name", ["f11", "F11", "f10.5", "f1e160"])
def test_a_beta_above_10_is_no_name(name):
    with pytest.raises(ValueError, match=rf"10 pass FBeta\({name[1:]}\); did you"):
        am.get_metric(name)


def test_names_of_any_size():
    assert am.get_metric("f1e-160") == am.FBeta(1e-160)
    assert am.get_metric("f10") == am.FBeta(10)
    assert am.decide([0.4, 0.2], am.FBeta(1e160)).n_positives == 2
    assert am.decide([0.4], am.Tversky(1e308, 1e308)).expected == pytest.approx(0.4)
