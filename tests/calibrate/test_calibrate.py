"""Calibration maps against scikit-learn, scipy, their optimality, and after a file."""

import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression

import argmetric as am
import strategies as nasty
from calibrated import (
    METHODS,
    NEW,
    beta_map,
    expit,
    isotonic_map,
    made,
    platt_map,
    platt_targets,
    quiet,
    references,
    sample,
    softmax,
    spline_map,
    temperature_map,
    unpenalised,
    within,
)
from refusing import refuses


class Scores(ClassifierMixin, BaseEstimator):
    """A classifier whose decision function is its first column."""

    def fit(self, X, y):
        self.classes_ = np.arange(2)
        return self

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        raise NotImplementedError("scikit-learn only asks whether it is there")


def sigmoid_map(X, y, X_new, sample_weight):
    frozen = FrozenEstimator(Scores().fit(X, y))
    fitted = CalibratedClassifierCV(frozen, method="sigmoid")
    with warnings.catch_warnings():  # that weights do not reach a frozen estimator
        warnings.filterwarnings("ignore", "Since FrozenEstimator does not")
        fitted.fit(X, y, sample_weight=sample_weight)
    return fitted.predict_proba(X_new)


# The same numbers as scikit-learn's


@pytest.mark.parametrize("weighted", [False, True])
def test_platt_equals_the_sigmoid_method_on_log_odds(weighted):
    y, x = sample()
    w = np.random.default_rng(1).uniform(0.1, 3, y.size) if weighted else None
    theirs = sigmoid_map(x[:, None], y, NEW[:, None], w)[:, 1]
    ours = am.calibrate(y, x, "platt", sample_weight=w, logits=True)
    np.testing.assert_allclose(ours.apply(NEW, logits=True), theirs, atol=1e-8)
    # Probabilities are cut off at the reach, in the fit and after it.
    same = am.calibrate(y, expit(x), "platt", sample_weight=w)
    near, new = (np.clip(a, -same.reach, same.reach)[:, None] for a in (x, NEW))
    theirs = sigmoid_map(near, y, new, w)[:, 1]
    np.testing.assert_allclose(same.apply(expit(NEW)), theirs, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_beta_equals_a_logistic_regression_on_two_logarithms(weighted):
    y, x = sample(n=2000)
    p = expit(x)
    w = np.random.default_rng(3).uniform(0.1, 3, y.size) if weighted else np.ones(2000)
    ours = am.calibrate(y, p, "beta", sample_weight=w)
    p = np.clip(p, expit(-ours.reach), expit(ours.reach))
    a, b, c = unpenalised([np.log(p), -np.log1p(-p)], platt_targets(y, w), w)
    assert min(a, b) > 0
    assert (ours.a, ours.b, ours.c) == pytest.approx((a, b, c), rel=1e-8)


def calibrated_by_root(y, z, z_new, w=1.0):
    """Softmax of b z_new, where Σ w (softmax(b z) - y) z, the slope in b, is 0."""
    one_hot = np.eye(z.shape[1])[y]
    b = brentq(lambda b: (w * ((softmax(b * z) - one_hot) * z).T).sum(), 1e-3, 1e3)
    return softmax(b * z_new)


def in_columns(x):
    """Scores of the second of two classes as those of both, (n,) to (n, 2)."""
    return np.stack([np.zeros_like(x), x], axis=1)


@pytest.mark.parametrize("weighted", [False, True])
def test_temperature_is_the_best_one(weighted):
    y, x = sample(intercept=0.0)
    w = np.random.default_rng(4).uniform(0.1, 3, y.size) if weighted else None
    ours = am.calibrate(y, x, "temperature", sample_weight=w, logits=True)
    mapped = ours.apply(NEW, logits=True)
    best = calibrated_by_root(
        y, in_columns(x), in_columns(NEW), 1.0 if w is None else w
    )
    np.testing.assert_allclose(mapped, best[:, 1], atol=1e-7)


@pytest.mark.parametrize("from_scores", [False, True])
def test_temperature_of_classes_is_the_best_one(from_scores):
    rng = np.random.default_rng(5)
    z = rng.normal(0, 2, (800, 4))
    y = np.array([rng.choice(4, p=row) for row in softmax(0.4 * z)])
    given = z if from_scores else softmax(z)
    ours = am.classes.calibrate(y, given, "temperature", logits=from_scores)
    assert ours.method == "temperature"
    assert ours.temperature == pytest.approx(2.5, rel=0.1)
    mapped = ours.apply(given[:50], logits=from_scores)
    np.testing.assert_allclose(mapped, calibrated_by_root(y, z, z[:50]), atol=1e-7)
    np.testing.assert_allclose(mapped.sum(axis=1), 1, rtol=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decimals", [1, 2, 17])
def test_isotonic_equals_theirs(weighted, decimals):
    y, x = sample(n=1500)
    p = np.round(expit(x), decimals)
    w = np.random.default_rng(6).uniform(0.1, 3, y.size) if weighted else None
    theirs = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    theirs.fit(p, y, sample_weight=w)
    ours = am.calibrate(y, p, "isotonic", sample_weight=w)
    # No height is nearer to 0 or 1 than so many rows can tell.
    m, share = (y.size, y.mean()) if w is None else (w.sum(), w @ y / w.sum())
    height = np.clip(theirs.y_thresholds_, share / (m + 1), 1 - (1 - share) / (m + 1))
    fine = np.linspace(0, 1, 5001)
    expected = np.interp(fine, theirs.X_thresholds_, height)
    np.testing.assert_allclose(ours.apply(fine), expected, atol=1e-13)


# Optimal, monotone, finite


@given(references(), st.sampled_from(METHODS))
def test_every_map_is_monotone_bounded_and_survives_a_file(reference, method):
    y, p = reference
    fitted = quiet(am.calibrate, y, p, method)
    if fitted is None:
        return
    grid = np.unique(np.concatenate([p, nasty.NASTY, np.linspace(0, 1, 23)]))
    mapped = fitted.apply(grid)
    assert ((mapped >= 0) & (mapped <= 1)).all()
    # Two roundings of logarithms and one of an exponential.
    assert (np.diff(mapped) >= -1e-13 * mapped[1:]).all()
    x = np.array([-np.inf, -800, -40, -1, 0, 1, 40, 800, np.inf])
    assert (np.diff(np.clip(fitted.apply_logits(x), -1e4, 1e4)) >= 0).all()
    again = am.Calibrator.from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert again == fitted
    assert hash(again) == hash(fitted)
    assert type(again) is type(fitted)
    np.testing.assert_array_equal(again.apply(grid), mapped)


@given(references())
def test_platt_is_where_the_gradient_vanishes(reference):
    """The loss is convex: no gradient, no better map."""
    y, p = reference
    fitted = quiet(am.calibrate, y, p, "platt")
    if fitted is None or fitted.slope == 0:
        return
    x = within(p, fitted.reach)
    target = platt_targets(y.astype(int), np.ones(y.size))
    eta = fitted.slope * x + fitted.intercept
    residual = np.where(eta < 0, expit(eta) - target, (1 - target) - expit(-eta))
    assert abs(residual.sum()) <= 1e-9
    assert abs(residual @ x) <= 1e-9 * np.abs(x).max()


@given(references())
@example((np.array([False, True, True]), np.array([0.0, 1.0, 1e-300])))  # two in reach
def test_beta_is_the_best_of_all_that_do_not_fall(reference):
    """Convex under bounds: small steps inside of them do not pay."""
    y, p = reference
    fitted = quiet(am.calibrate, y, p, "beta")
    if fitted is None:
        return
    x = within(p, fitted.reach)
    columns = [-np.logaddexp(0, -x), np.logaddexp(0, x), np.ones(p.size)]
    columns = np.stack(columns)
    target = platt_targets(y.astype(int), np.ones(y.size))

    def loss(theta):
        eta = theta @ columns
        return (np.logaddexp(0, eta) - target * eta).sum()

    best = np.array([fitted.a, fitted.b, fitted.c])
    least = loss(best)
    scale = columns.std(axis=1) + np.array([0, 0, 1.0])
    for i in range(3):
        for step in (-1e-3, 1e-3):
            other = best.copy()
            other[i] += step / max(scale[i], 1e-12)
            if (other[:2] >= 0).all():
                assert loss(other) >= least - 1e-9


def test_beta_holds_a_parameter_at_0_where_it_would_fall():
    rng = np.random.default_rng(11)
    p = rng.uniform(0.02, 0.98, 3000)
    # The true log-odds fall with -log(1-p) and rise with log p.
    y = rng.random(p.size) < expit(2 + 2 * np.log(p) + 0.5 * np.log1p(-p))
    ones = np.ones(p.size)
    assert unpenalised([np.log(p), -np.log1p(-p)], y, ones)[1] < 0
    fitted = am.calibrate(y, p, "beta")
    assert fitted.b == 0.0
    a, c = unpenalised([np.log(p)], platt_targets(y.astype(int), ones), ones)
    assert (fitted.a, fitted.c) == pytest.approx((a, c), rel=1e-9)
    nearest = min(p.min(), 1 - p.max()) / 2  # where 0 and 1 stand
    ends = expit(a * np.log([nearest, 1 - nearest]) + c)
    assert fitted.apply([0.0, 1.0]) == pytest.approx(ends, rel=1e-9, abs=0)


def test_separable_references_stay_finite():
    y, p = [0, 0, 0, 1, 1], [0.1, 0.2, 0.3, 0.7, 0.9]
    for method in METHODS:
        mapped = am.calibrate(y, p, method).apply(p)
        assert np.isfinite(mapped).all(), method
        assert (np.diff(mapped) >= 0).all(), method
    platt = am.calibrate(y, p, "platt")
    # Platt's targets are 3/4 and 1/5: no row goes far beyond.
    assert 0.05 < platt.apply(0.1) < 0.25
    assert 0.6 < platt.apply(0.9) < 0.95
    assert am.calibrate(y, p, "temperature").temperature > 0.1


def test_calibrators_by_hand():
    p = np.array([0.0, 1e-300, 0.2, 0.5, 1.0])
    inner = [expit(2 * math.log(0.25) + 1), expit(1)]
    np.testing.assert_allclose(
        platt_map(2.0, 1.0).apply(p), [0, 0, *inner, 1], rtol=1e-13
    )
    np.testing.assert_allclose(
        platt_map(2.0, 1.0, reach=3.0).apply(p),
        [expit(-5), expit(-5), *inner, expit(7)],
        rtol=1e-13,
    )
    np.testing.assert_allclose(
        beta_map(1.0, 2.0, 0.5).apply(p)[2], expit(math.log(0.2 / 0.64) + 0.5)
    )
    assert beta_map(1.0, 2.0, 0.5).apply([0.0, 1.0]).tolist() == [0, 1]
    ends = beta_map(1.0, 2.0, 0.5, reach=math.log(4)).apply([0.0, 1.0])
    by_hand = [math.log(0.2 / 0.64) + 0.5, math.log(0.8 / 0.04) + 0.5]
    assert ends == pytest.approx(expit(by_hand), rel=1e-12)
    assert temperature_map(2.0, reach=3.0).apply_logits([-9, 4]).tolist() == [-1.5, 1.5]
    assert made("identity").apply(p).tolist() == p.tolist()
    curve = spline_map(
        np.array([-1.0, 1.0]), np.array([0.0, 3.0]), 2.0, (-2.5, 2.5), -5.0, 5.5
    )
    x = [-np.inf, -2.5, -2.0, -1.0, 0.0, 1.0, 2.0, 2.4, 2.5, 9.0]
    y = [-5.0, -5.0, -2.0, 0.0, 1.5, 3.0, 5.0, 5.5, 5.5, 5.5]
    np.testing.assert_allclose(curve.apply_logits(x), y, rtol=1e-14)
    assert platt_map(0.0, 1.0).apply([0.0, 1.0]) == pytest.approx([expit(1)] * 2)
    np.testing.assert_allclose(temperature_map(2.0).apply(0.8), 2 / 3)
    steps = isotonic_map([0.2, 0.4], [0.1, 0.3])
    np.testing.assert_allclose(steps.apply([0.0, 0.3, 0.9]), [0.1, 0.2, 0.3])
    # Beyond 1 - 2^-53 only log-odds tell scores apart.
    np.testing.assert_allclose(
        platt_map(0.5, 1.0).apply_logits([100, -900]), [51, -449]
    )
    np.testing.assert_allclose(beta_map(0.5, 2.0, 1.0).apply_logits([100]), [201])
    assert beta_map(0.0, 1.0, 0.5).apply_logits([-np.inf, 0]).tolist() == [
        0.5,
        0.5 + math.log(2),
    ]


def test_shapes_and_kinds_of_what_is_mapped():
    pandas = pytest.importorskip("pandas")
    fitted = platt_map(1.5, -0.5)
    p = np.array([[0.1, 0.5], [0.9, 0.3]])
    assert fitted.apply(p).shape == (2, 2)
    np.testing.assert_array_equal(fitted.apply(pandas.DataFrame(p)), fitted.apply(p))
    np.testing.assert_array_equal(fitted.apply(p.tolist()), fitted(p))
    assert fitted.apply(0.1) == fitted.apply(p)[0, 0]
    assert np.ndim(fitted.apply(0.1)) == 0
    assert fitted.apply([]).shape == (0,)
    refuses(ValueError, "logits=True", fitted.apply, [-1.0, 0.5])
    refuses(ValueError, "NaN at row 1", fitted.apply, [0.2, np.nan])
