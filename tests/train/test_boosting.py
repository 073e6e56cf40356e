"""The metric as an objective of LightGBM and XGBoost, in the libraries themselves."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import average_precision_score

import argmetric as am
from argmetric.train._objectives import GoldLabels, expected_f
from refusing import refuses

F1 = am.FBeta(1)
KINDS = ("weighted", "soft", "expected")


def data(n=3000, seed=0):
    """Two interacting features, about 6 % positives, many of them below one half."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    z = 1.6 * X[:, 0] + 1.2 * X[:, 1] * (X[:, 2] > 0) - 4.2
    return X, (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)


@pytest.fixture(scope="module")
def split():
    (X, y), (X_test, y_test) = data(), data(6000, seed=1)
    return X, y, X_test, y_test


# ----------------------------------------------------------------- derivatives


@pytest.mark.parametrize("metric", ["f1", "f2", "mcc", "gmean", "sec"])
@pytest.mark.parametrize("objective", ["soft", "expected"])
def test_gradient_is_that_of_the_metric(metric, objective):
    if objective == "expected" and not metric.startswith("f"):
        return
    rng = np.random.default_rng(0)
    y, margin, weight = rng.random(30) < 0.3, rng.normal(size=30), rng.random(30) + 0.5
    goal = am.metric_objective(metric, objective=objective)
    gradient, hessian = goal(y, margin, weight)
    kind = am.get_metric(metric)
    sign = 1 if kind.greater_is_better else -1

    def loss(z):
        p = 1 / (1 + np.exp(-z))
        if objective == "expected":
            return -expected_f(p, 1 - p, GoldLabels(y, weight), kind.beta**2)[0]
        tp, k = weight[y] @ p[y], weight @ p
        return -sign * kind.value(tp, k, weight[y].sum(), weight.sum())

    numeric = np.empty(30)
    for i in range(30):
        step = np.zeros(30)
        step[i] = 1e-5
        numeric[i] = (loss(margin + step) - loss(margin - step)) / 2e-5
    # The gradient is that of the loss times one positive number.
    factor = gradient @ numeric / (numeric @ numeric)
    assert factor > 0
    np.testing.assert_allclose(gradient, factor * numeric, rtol=1e-5, atol=1e-7)
    assert (hessian > 0).all()
    assert (np.abs(gradient) <= hessian * (1 + 1e-12)).all()
    p = 1 / (1 + np.exp(-margin))
    assert np.abs(gradient / (p * (1 - p))).sum() == pytest.approx(weight.sum())


def test_an_f_measure_by_another_name_has_an_exact_expectation():
    y, margin = np.arange(12) % 3 == 0, np.linspace(-2, 2, 12)
    named = am.LinearFractional((0, 5, 0, 0), (0, 0, 1, 4))
    for one, other in zip(
        *(
            am.metric_objective(m, objective="expected")(y, margin)
            for m in ("f2", named)
        ),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    for metric in ("jaccard", "mcc", "precision", "recall"):
        with pytest.raises(ValueError, match='objective="soft" takes any metric'):
            am.metric_objective(metric, objective="expected")


@pytest.mark.parametrize("metric", ["f1", "f2", "mcc", "gmean", "sec", "recall"])
def test_the_default_is_the_log_loss_with_weights_of_the_metric(metric):
    rng = np.random.default_rng(0)
    y, margin, weight = rng.random(30) < 0.3, rng.normal(size=30), rng.random(30) + 0.5
    gradient, hessian = am.metric_objective(metric)(y, margin, weight)
    soft, _ = am.metric_objective(metric, objective="soft")(y, margin, weight)
    p = 1 / (1 + np.exp(-margin))
    worth = -soft / (p * (1 - p))  # ∂U/∂p, whose test stands above
    assert np.abs(worth).sum() == pytest.approx(weight.sum())

    def loss(z):
        return np.abs(worth) * np.logaddexp(0, np.where(worth > 0, -z, z))

    first = (loss(margin + 1e-5) - loss(margin - 1e-5)) / 2e-5
    np.testing.assert_allclose(gradient, first, rtol=1e-6, atol=1e-9)
    second = (loss(margin + 1e-3) + loss(margin - 1e-3) - 2 * loss(margin)) / 1e-6
    np.testing.assert_allclose(hessian, second, rtol=1e-5, atol=1e-8)


@given(st.lists(st.tuples(st.booleans(), st.floats(-900, 900)), min_size=2))
def test_weights_of_f1_put_the_cut_at_half_of_it(rows):
    """The weights (a, c) of the classes are as (1 - F/2) to F/2: a cut of F/2 at 0."""
    y, margin = (np.array(column) for column in zip(*rows, strict=True))
    assume(y.any() and not y.all())
    gradient, hessian = am.metric_objective("f1")(y, margin)
    assert np.isfinite(gradient).all()
    assert (hessian > 0).all()
    p = expit(margin)
    half = p[y].sum() / (p.sum() + y.sum())
    assume(half > 1e-9)
    away = np.where(y, expit(-margin), p)  # what the log-loss gives each row
    seen = away > 1e-200
    a = (-gradient / np.where(seen, away, 1))[y & seen]
    c = (gradient / np.where(seen, away, 1))[~y & seen]
    if a.size and c.size:
        np.testing.assert_allclose(c[0] / (a[0] + c[0]), half, rtol=1e-7)
        np.testing.assert_allclose(a, a[0], rtol=1e-9)
        np.testing.assert_allclose(c, c[0], rtol=1e-9)


def test_eval_and_bad_input():
    goal = am.metric_objective("f1")
    assert goal.eval([1, 0, 1], [2.0, 1.0, -1.0]) == ("f1", 0.5, True)
    assert goal.score([1, 0, 1], [2.0, 1.0, -1.0], [1.0, 2.0, 1.0]) == 2 / 5
    assert am.metric_objective("sec").eval([1, 0], [1.0, -1.0]) == ("sec", 0.0, False)
    words = "one margin per row is needed"
    refuses(ValueError, words, goal, np.zeros(3), np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"the labels holds 0, 1, 2 \(2 at row 1\)"):
        goal([0, 2, 1], [0.0, 0.0, 0.0])
    refuses(ValueError, "2 labels but 3 margins", goal, [0, 1], [0.0, 0.0, 0.0])


# -------------------------------------------------------------- the real libraries

LIGHT = {"n_estimators": 60, "num_leaves": 8, "verbose": -1, "n_jobs": 1}
EXTREME = {"n_estimators": 60, "max_depth": 3, "n_jobs": 1}


# LightGBM 4.6, the oldest that fits with today's scikit-learn, gives names to columns
# that have none, of which scikit-learn then complains.
NAMES = "ignore:X does not have valid feature names:UserWarning"


@pytest.mark.filterwarnings("ignore:.*eval_set.*")  # the new name needs lightgbm 4.7
@pytest.mark.filterwarnings(NAMES)
def test_lightgbm_by_its_estimator(split):
    lightgbm = pytest.importorskip("lightgbm", reason="needs the extra 'boost'")
    X, y, X_test, y_test = split
    plain = lightgbm.LGBMClassifier(**LIGHT).fit(X, y)
    before = F1.score(y_test, plain.predict_proba(X_test)[:, 1] > 0.5)
    for objective in KINDS:
        goal = am.metric_objective("f1", objective=objective)
        model = clone(lightgbm.LGBMClassifier(objective=goal, **LIGHT))
        model.fit(X, y, eval_set=[(X_test, y_test)], eval_metric=goal.eval)
        margin = model.predict(X_test, raw_score=True)
        value = F1.score(y_test, margin > 0)
        assert value > before
        assert model.evals_result_["valid_0"]["f1"][-1] == pytest.approx(value)


@pytest.mark.filterwarnings(NAMES)
def test_the_default_ranks_like_the_log_loss_and_cuts_like_the_metric(split):
    lightgbm = pytest.importorskip("lightgbm", reason="needs the extra 'boost'")
    X, y, X_test, y_test = split
    goals = {kind: am.metric_objective("f1", objective=kind) for kind in KINDS[:2]}
    ranking, cut = {}, {}
    for kind, goal in {"log-loss": "binary", **goals}.items():
        model = lightgbm.LGBMClassifier(objective=goal, **LIGHT).fit(X, y)
        margin = model.predict(X_test, raw_score=True)
        ranking[kind] = average_precision_score(y_test, margin)
        cut[kind] = F1.score(y_test, margin > 0)
    assert ranking["weighted"] > ranking["log-loss"] - 0.01
    assert ranking["weighted"] > ranking["soft"] + 0.05
    assert cut["weighted"] > cut["log-loss"] + 0.1
    assert cut["weighted"] > cut["soft"]


def test_xgboost_by_its_estimator(split):
    xgboost = pytest.importorskip("xgboost", reason="needs the extra 'boost'")
    X, y, X_test, y_test = split
    plain = xgboost.XGBClassifier(**EXTREME).fit(X, y)
    before = F1.score(y_test, plain.predict(X_test))
    for objective in KINDS:
        goal = am.metric_objective("f1", objective=objective)
        model = xgboost.XGBClassifier(objective=goal, eval_metric=goal.score, **EXTREME)
        model = clone(model).fit(X, y, eval_set=[(X_test, y_test)], verbose=False)
        value = F1.score(y_test, model.predict(X_test, output_margin=True) > 0)
        assert value > before
        history = model.evals_result()["validation_0"]["score"]
        assert history[-1] == pytest.approx(value, abs=1e-6)


def test_margins_that_are_nan_are_refused_with_their_row():
    objective = am.metric_objective("f1")
    for call in (objective, objective.eval, objective.score):
        with pytest.raises(ValueError, match="the margins have NaN at row 1"):
            call([1, 0], [0.5, np.nan])
    with pytest.raises(ValueError, match="sample_weight: 1 weights but 2 margins"):
        objective.eval([1, 0], [0.5, 0.1], sample_weight=[1.0])
    assert objective.eval([1, 0], [0.5, -0.1], sample_weight=[]) == ("f1", 1.0, True)


def test_xgboost_by_its_own_interface(split):
    xgboost = pytest.importorskip("xgboost", reason="needs the extra 'boost'")
    X, y, X_test, y_test = split
    goal, weight = am.metric_objective("f1"), np.where(y == 1, 2.0, 1.0)
    train = xgboost.DMatrix(X, y, weight=weight)
    test = xgboost.DMatrix(X_test, y_test)
    seen = {}
    booster = xgboost.train(
        {"max_depth": 3, "nthread": 1},
        train,
        num_boost_round=60,
        obj=goal,
        custom_metric=goal.eval,
        evals=[(test, "test")],
        evals_result=seen,
        verbose_eval=False,
    )
    margin = booster.predict(test, output_margin=True)
    value = F1.score(y_test, margin > 0)
    assert seen["test"]["f1"][-1] == pytest.approx(value, abs=1e-6)
    plain = xgboost.XGBClassifier(**EXTREME).fit(X, y)
    assert value > F1.score(y_test, plain.predict(X_test))
    model = xgboost.XGBClassifier(objective=goal, **EXTREME)
    model.fit(X, y, sample_weight=weight)  # it begins at another constant
    same = model.predict(X_test, output_margin=True) > 0
    assert (same == (margin > 0)).mean() > 0.95
