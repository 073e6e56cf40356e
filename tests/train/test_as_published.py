"""The training of Jansche (2005), and several operating points of one model."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.utils import check_random_state

import argmetric as am
from argmetric import MetricLogisticRegression


def hard(n=300, k=4, seed=0):
    """Positives at both ends of the first column: several local optima."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, k)) * np.linspace(1, 30, k) + 5
    score = np.abs(X[:, 0] - 5) + 0.02 * X[:, 1]
    return X, (score + 0.3 * rng.normal(size=n) > 1.5).astype(int)


def published(**settings):
    return MetricLogisticRegression(
        objective="soft", init="random", solver="bfgs", C=np.inf, **settings
    )


def figure_1(X, y, alpha):
    """The loss -F~ and its gradient, line by line from the paper's pseudo-code."""
    wide = np.column_stack([X, np.ones(y.size)])
    positive = y == 1

    def fdf(theta):
        p = expit(wide @ theta)
        A, m = p[positive].sum(), p.sum()
        t = (p * (1 - p))[:, None] * wide
        h = 1 / (alpha * positive.sum() + (1 - alpha) * m)
        return -h * A, -h * (
            t[positive].sum(axis=0) - h * A * (1 - alpha) * t.sum(axis=0)
        )

    return fdf


@pytest.mark.parametrize("alpha", [0.5, 0.75])
def test_the_published_training_equals_its_plain_twin(alpha):
    X, y = hard()
    model = published(
        metric=am.FBeta((alpha / (1 - alpha)) ** 0.5), n_restarts=6, random_state=3
    ).fit(X, y)
    rng = np.random.default_rng(check_random_state(3).randint(2**31 - 1))
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    ends = [
        -minimize(
            figure_1(standard, y, alpha),
            scale * rng.standard_normal(5),
            method="BFGS",
            jac=True,
            options={"gtol": 1e-4},
        ).fun
        for scale in (1, 3, 10, 1, 3, 10)
    ]
    np.testing.assert_allclose(model.restarts_, ends, atol=1e-6)
    assert np.ptp(ends) > 0.01  # or the starts would not matter
    assert model.objective_ == max(model.restarts_)


def test_random_starts_do_not_fall_short_of_those_of_scipy():
    """Toy sets; twenty starts each, those of scipy from N(0, 1) in the columns."""
    short = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(20, 100)), int(rng.integers(1, 4))
        X = rng.normal(size=(n, k)) * rng.uniform(0.3, 3, size=k) + rng.normal(size=k)
        y = (rng.random(n) < expit(1.5 * X @ rng.normal(size=k))).astype(int)
        y[:2] = 0, 1
        ends = [
            -minimize(
                figure_1(X, y, 0.5), rng.standard_normal(k + 1), method="BFGS", jac=True
            ).fun
            for _ in range(20)
        ]
        model = published(n_restarts=20, random_state=0).fit(X, y)
        short.append(max(ends) - model.objective_)
    assert np.mean(short) < 0.0
    assert max(short) < 0.01


def test_random_starts_depend_on_the_seed_and_may_follow_a_solution():
    X, y = hard()
    one, other = (published(n_restarts=3, random_state=i).fit(X, y) for i in (0, 1))
    assert not np.allclose(one.restarts_, other.restarts_)
    warm = published(n_restarts=2, random_state=2, warm_start=True)
    warm.fit(X, y)
    before, steps = warm.objective_, warm.n_iter_[0]
    warm.fit(X, y)
    assert warm.restarts_[0] == pytest.approx(before, abs=1e-6)
    assert warm.n_iter_[0] < steps or warm.objective_ > before


def test_both_solvers_climb_to_the_same_place():
    X, y = hard()
    values = [
        MetricLogisticRegression(solver=solver, n_restarts=2, tol=1e-8, random_state=0)
        .fit(X, y)
        .objective_
        for solver in ("lbfgs", "bfgs")
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-7)


def test_several_operating_points_maximise_the_mean_of_their_metrics():
    X, y = hard(200)
    metrics = [am.FBeta(0.5), am.MCC(), am.Accuracy()]
    model = MetricLogisticRegression(metrics, tol=1e-8, random_state=0).fit(X, y)

    def goal(theta):
        """The mean of the metrics at smooth counts, less the penalty of C = 10."""
        values = []
        for metric, intercept in zip(metrics, theta[4:], strict=True):
            p = expit(X @ theta[:4] + intercept)
            values.append(metric.value(p @ y, p.sum(), y.sum(), y.size))
        return np.mean(values) - (theta[:4] ** 2).sum() / (2 * 10 * y.size)

    theta = np.append(model.coef_[0], model.intercepts_)
    assert model.objective_ == pytest.approx(goal(theta), rel=1e-12)
    for step in 1e-4 * np.eye(7):
        up, down = goal(theta + step), goal(theta - step)
        assert abs(up - down) / 2e-4 < 1e-5 * max(1.0, np.abs(X).max())


def test_a_list_of_one_metric_is_that_metric():
    X, y = hard()
    plain = MetricLogisticRegression("f1", random_state=0).fit(X, y)
    listed = MetricLogisticRegression(["f1"], random_state=0).fit(X, y)
    np.testing.assert_array_equal(plain.coef_, listed.coef_)
    np.testing.assert_array_equal(plain.intercept_, listed.intercept_)
    assert plain.at("f1").intercept_ == plain.intercept_


@pytest.mark.parametrize(("pos_label", "init"), [(0, "random"), (1, "likelihood")])
def test_one_training_serves_several_operating_points(pos_label, init):
    X, y = hard(600)
    y = y if pos_label else 1 - y
    metrics = [am.FBeta(0.5), "f1", am.FBeta(3)]
    model = MetricLogisticRegression(
        metrics, init=init, pos_label=pos_label, C=1e6, n_restarts=8, random_state=0
    ).fit(X, y)
    assert model.intercepts_.shape == (3,)
    taken = [(model.at(one).predict(X) == pos_label).mean() for one in metrics]
    assert taken == sorted(taken)  # the more recall weighs, the more are taken
    assert taken[0] < taken[2]
    np.testing.assert_array_equal(model.predict(X), model.at(metrics[0]).predict(X))
    # no other intercept serves a point much better
    truth, scores = y == pos_label, model.decision_function(X)
    scores = scores if pos_label else -scores
    for one in metrics:
        metric = am.get_metric(one)
        taken = model.at(one).predict(X) == pos_label
        cuts = [metric.score(truth, scores >= cut) for cut in scores]
        assert metric.score(truth, taken) > max(cuts) - 0.03


def test_what_cannot_be_is_refused_by_name():
    X, y = hard()
    model = MetricLogisticRegression(["f1", "mcc"], random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="recall is not among the metrics fitted: f1"):
        model.at("recall")
    with pytest.raises(ValueError, match="metric is an empty list"):
        MetricLogisticRegression([]).fit(X, y)
    with pytest.raises(ValueError, match="init must be one of"):
        MetricLogisticRegression(init="zero").fit(X, y)
    with pytest.raises(ValueError, match="solver must be one of"):
        MetricLogisticRegression(solver="newton").fit(X, y)
    with pytest.raises(ValueError, match=r"for at most 5,000 of them, but X has 5,001"):
        MetricLogisticRegression(solver="bfgs").fit(np.ones((4, 5001)), [0, 1, 0, 1])
    with pytest.raises(ValueError, match='objective="soft" takes any metric'):
        MetricLogisticRegression(["f1", "mcc"], objective="expected").fit(X, y)
