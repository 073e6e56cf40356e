"""Objectives of training: against finite differences, enumeration and plain twins."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

import argmetric as am
from argmetric._expected.kernels.nodes import exponential_sum
from argmetric.train._objectives import (
    ExpectedMetric,
    GoldLabels,
    SoftMetric,
    expected_f,
)
from argmetric.train._rows import BLOCK, TrainingRows
from refusing import refuses
from strategies import probability_vectors
from twins import logistic as twin

SMOOTH = [
    am.FBeta(1),
    am.FBeta(2.5),
    am.Jaccard(),
    am.Tversky(0.3, 0.9),
    am.LinearFractional((0.2, 1, 0.3, 0.1), (0.5, -0.2, 0.3, 0.4)),
    am.Accuracy(),
    am.Precision(),
    am.Recall(),
    am.Specificity(),
    am.BalancedAccuracy(),
    am.Youden(),
    am.GMean(),
    am.HMean(),
    am.QMean(),
    am.MCC(),
    am.Kappa(),
    am.Markedness(),
    am.Lift(),
    am.FowlkesMallows(),
    am.SquaredCountError(),
    am.Utility(1, -2, -0.5, 0.1),
    am.CustomMetric(lambda tp, k, t, n: tp * tp / (k * t), name="g2"),
]
by_name = pytest.mark.parametrize("metric", SMOOTH, ids=lambda metric: metric.name)


def problem(kind="dense", n=60, k=4, seed=0, weighted=True, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, k)) * (rng.random((n, k)) < 0.7)).astype(dtype)
    positive = rng.random(n) < 1 / (1 + np.exp(-X[:, 0] - 0.5 * X[:, -1]))
    weight = rng.uniform(0.2, 3, n) if weighted else np.ones(n)
    return TrainingRows(sparse.csr_array(X) if kind == "csr" else X, positive, weight)


def assert_gradient(function, theta):
    """The gradient agrees with central differences to 1e-6 of its largest entry."""
    _, gradient = function(theta)
    numeric = np.empty_like(theta)
    for j in range(theta.size):
        step = np.zeros_like(theta)
        step[j] = 1e-5
        numeric[j] = (function(theta + step)[0] - function(theta - step)[0]) / 2e-5
    assert np.abs(gradient - numeric).max() <= 1e-6 * np.abs(gradient).max()


# ----------------------------------------------------------------- passes of rows


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("likelihood", [False, True])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 2), (64, 5), (203, 7), (21, 700)])
def test_a_pass_equals_its_twin(kind, dtype, likelihood, n, k):
    rows = problem(kind, n, k, dtype=dtype)
    rng = np.random.default_rng(1)
    theta = rng.normal(size=k + 1)
    X = rows.X.toarray() if kind == "csr" else rows.X
    sums, by_class = rows.sums(theta, 1.3, likelihood=likelihood)
    expected = twin.row_sums(
        X, rows.positive, rows.weight, theta[:-1], theta[-1], 1.3, likelihood
    )
    np.testing.assert_allclose(sums, expected[0], rtol=1e-12)
    np.testing.assert_allclose(by_class, expected[1], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        rows.margins(theta), X @ theta[:-1] + theta[-1], rtol=1e-10, atol=1e-12
    )
    factor = rng.normal(size=n)
    wide = np.column_stack([X, np.ones(n)])
    np.testing.assert_allclose(
        rows.combine(factor), factor @ wide, rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("margin", [-800.0, -40.0, 0.0, 40.0, 800.0])
def test_far_margins_give_no_nan(margin):
    rows = TrainingRows(np.ones((2, 1)), np.array([True, False]), np.ones(2))
    theta = np.array([0.0, margin])
    for likelihood in (False, True):
        sums, by_class = rows.sums(theta, 1.0, likelihood=likelihood)
        assert np.isfinite(sums).all()
        assert np.isfinite(by_class).all()
    for goal in (SoftMetric(rows, am.FBeta(1)), ExpectedMetric(rows, am.FBeta(1))):
        value, gradient = goal.value_and_gradient(theta)
        assert 0 <= value <= 1
        assert np.isfinite(gradient).all()
    tail = rows.sums(np.array([0.0, -40.0]), 1.0)[0]
    assert tail[0] == pytest.approx(math.exp(-40), rel=1e-14)


# ---------------------------------------------------------------- soft objective


@by_name
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_gradient_of_the_soft_metric(metric, kind):
    rows = problem(kind)
    theta = np.array([0.6, -0.2, 0.3, 0.1, -0.4])
    goal = SoftMetric(rows, metric, 1.7)
    assert_gradient(goal.value_and_gradient, theta)


def test_undefined_counts_turn_a_search_back():
    metric = am.CustomMetric(lambda tp, k, t, n: math.nan, zero_division=math.nan)
    value, gradient = SoftMetric(problem(), metric).value_and_gradient(np.zeros(5))
    assert value == -2
    assert not gradient.any()
    rows = problem()
    model = am.MetricLogisticRegression(metric)
    with pytest.raises(ValueError, match="is undefined wherever the search began"):
        model.fit(rows.X, rows.positive)


# ------------------------------------------------------------- expected objective


def f_of_outputs(positive, weight, b2):
    """F of every output, in fractions; the last item changes fastest."""
    weight = [Fraction(x) for x in weight]
    gold = sum(w for w, y in zip(weight, positive, strict=True) if y)
    for output in itertools.product([False, True], repeat=len(weight)):
        chosen = [(w, y) for w, o, y in zip(weight, output, positive, strict=True) if o]
        below = sum((w for w, _ in chosen), Fraction(0)) + b2 * gold
        above = (1 + b2) * sum((w for w, y in chosen if y), Fraction(0))
        yield above / below if below else Fraction(1)


def mean_over_outputs(values, p):
    """E[F] of independent items: one item after the other is averaged out."""
    values = list(values)
    for x in map(Fraction, reversed(p)):
        pairs = zip(values[::2], values[1::2], strict=True)
        values = [without + x * (held - without) for without, held in pairs]
    return values[0]


WEIGHTS = {
    "equal": lambda n: np.ones(n),
    "rising": lambda n: np.arange(1.0, n + 1),
    "far apart": lambda n: 1e3 ** np.arange(n),
}


@given(
    probability_vectors(min_size=1, max_size=7),
    st.integers(0, 2**7),
    st.sampled_from(list(WEIGHTS)),
    st.sampled_from([1.0, 4.0, 0.25]),
)
@example(np.array([0.0, 1.0, 0.0, 0.0, 1.0]), 2, "far apart", 1.0)
def test_expected_f_against_enumeration(p, bits, weights, b2):
    n = p.size
    positive = np.array([(bits >> i) & 1 for i in range(n)], dtype=bool)
    weight = WEIGHTS[weights](n)
    value, by_p = expected_f(p, 1 - p, GoldLabels(positive, weight), b2, undefined=1.0)
    outputs = list(f_of_outputs(positive, weight, Fraction(b2)))
    exact = mean_over_outputs(outputs, p)
    assert value == pytest.approx(float(exact), rel=1e-12, abs=1e-300)
    for j in range(n):
        ends = []
        for certain in (1.0, 0.0):  # multilinear: the slope is a difference
            moved = p.copy()
            moved[j] = certain
            ends.append(mean_over_outputs(outputs, moved))
        assert by_p[j] == pytest.approx(float(ends[0] - ends[1]), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("distinct", [1, 3, 1000])
def test_expected_f_equals_its_twin(distinct):
    rng = np.random.default_rng(0)
    n = 400
    p = rng.choice([0, 1, 0.5, 1e-300, 1 - 1e-16, 1e-5], n) * (rng.random(n) < 0.5)
    p = np.where(rng.random(n) < 0.5, rng.beta(0.3, 2, n), p)
    positive = rng.random(n) < 0.2
    weight = rng.choice(np.linspace(0.5, 3, distinct), n)
    gold, b2 = GoldLabels(positive, weight), 2.0
    low = b2 * gold.total + weight[positive].min()
    s, w = exponential_sum(1.0, low, b2 * gold.total + weight.sum())
    value, by_p = expected_f(p, 1 - p, gold, b2)
    plain = twin.expected_f(p, 1 - p, positive, weight, b2, s, w)
    assert value == pytest.approx(plain[0], rel=1e-12)
    np.testing.assert_allclose(by_p, plain[1], rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gamma", [1.0, 2.5])
def test_gradient_of_the_expected_metric(kind, weighted, gamma):
    rows = problem(kind, weighted=weighted)
    theta = np.array([0.6, -0.2, 0.3, 0.1, -0.4])
    goal = ExpectedMetric(rows, am.FBeta(1.5), gamma)
    assert_gradient(goal.value_and_gradient, theta)


def test_the_expected_metric_of_math_is_not_the_soft_one():
    """Erratum 25: p = (.5, .5), gold (1, 0): .4167 against .5."""
    rows = TrainingRows(np.zeros((2, 1)), np.array([True, False]), np.ones(2))
    theta = np.zeros(2)
    soft = SoftMetric(rows, am.FBeta(1)).value_and_gradient(theta)[0]
    exact = ExpectedMetric(rows, am.FBeta(1)).value_and_gradient(theta)[0]
    assert soft == 0.5
    assert exact == pytest.approx(5 / 12, rel=1e-14)


# ------------------------------------------------- the toy data of Jansche's Table 2

TOY_X, TOY_Y = np.arange(4.0)[:, None], np.array([1, 0, 1, 1])


def beta_of(alpha):
    return am.FBeta(math.sqrt(alpha / (1 - alpha)))


@pytest.mark.parametrize("objective", ["soft", "expected"])
@pytest.mark.parametrize(
    ("alpha", "labels", "own", "crossed"),
    [(0.5, [1, 1, 1, 1], 6 / 7, 4 / 5), (0.25, [0, 0, 1, 1], 8 / 9, 4 / 5)],
)
def test_toy_optima(objective, alpha, labels, own, crossed):
    model = am.MetricLogisticRegression(
        beta_of(alpha), objective=objective, C=1e3, random_state=0
    )
    predicted = model.fit(TOY_X, TOY_Y).predict(TOY_X)
    np.testing.assert_array_equal(predicted, labels)
    assert beta_of(alpha).score(TOY_Y, predicted) == pytest.approx(own, rel=1e-14)
    other = beta_of(0.75 - alpha)
    assert other.score(TOY_Y, predicted) == pytest.approx(crossed, rel=1e-14)
    assert model.objective_ == pytest.approx(own, abs=0.02)


def test_toy_surfaces():
    matplotlib = pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    display = am.MetricSurfaceDisplay.from_data(TOY_X, TOY_Y, beta_of(0.25))
    assert display.values.shape == (101, 101)
    row, column = np.unravel_index(display.values.argmax(), display.values.shape)
    assert display.theta1[row] > 5
    assert display.theta0[column] < -5
    rows = TrainingRows(TOY_X, TOY_Y == 1, np.ones(4))
    theta = np.array([display.theta1[70], display.theta0[30]])
    soft = SoftMetric(rows, beta_of(0.25)).value_and_gradient(theta)[0]
    assert display.values[70, 30] == pytest.approx(soft, rel=1e-13)
    likelihood = am.MetricSurfaceDisplay.from_data(
        TOY_X[:, 0], TOY_Y, "log_likelihood", theta0=[0.35], theta1=[0.57]
    )
    signed = np.where(TOY_Y == 1, 1, -1) * (0.35 + 0.57 * TOY_X[:, 0])
    exact = -np.log1p(np.exp(-signed)).sum()
    assert likelihood.values[0, 0] == pytest.approx(exact, rel=1e-13)
    assert likelihood.name == "log-likelihood"
    drawn = display.plot()
    assert drawn is display
    assert display.ax_.get_xlabel() == "θ₀"
    assert display.surface_ is not None
    assert display.plot(kind="surface").ax_.name == "3d"
    refuses(ValueError, "projection", display.plot, plt.subplots()[1], kind="surface")
    with pytest.raises(ValueError, match="one feature"):
        am.MetricSurfaceDisplay.from_data(np.ones((4, 2)), TOY_Y)
    with pytest.raises(ValueError, match="y has 3 rows"):
        am.MetricSurfaceDisplay.from_data(TOY_X, TOY_Y[:3])
    plt.close("all")


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_sums_do_not_depend_on_the_number_of_threads(kind):
    one = problem(kind, n=3 * BLOCK + 5, k=3)
    theta = np.array([0.3, -0.7, 0.1, 0.2])
    for count in (2, 3, 8):
        other = TrainingRows(one.X, one.positive, one.weight, count)
        for left, right in zip(one.sums(theta, 1), other.sums(theta, 1), strict=True):
            np.testing.assert_array_equal(left, right)
        np.testing.assert_array_equal(one.margins(theta), other.margins(theta))
        goals = [ExpectedMetric(rows, am.FBeta(1)) for rows in (one, other)]
        ends = [goal.value_and_gradient(theta) for goal in goals]
        assert ends[0][0] == ends[1][0]
        np.testing.assert_array_equal(ends[0][1], ends[1][1])
