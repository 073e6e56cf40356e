"""Calibration maps against scikit-learn, scipy, their optimality, and after a file."""

from __future__ import annotations

import json
import math
import pickle
import warnings
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import argmetric as am
import strategies as nasty
from argmetric._calibrate import calibrate as _calibrate
from argmetric._calibrate import spline as _spline
from argmetric._calibrate.calibrate import (
    calibrate_out_of_fold,
    choose_method,
    fold_numbers,
)
from argmetric._calibrate.calibrator import ChainedMap, FunctionMap
from argmetric._calibrate.cells import MOST_CELLS, cells_of
from argmetric._calibrate.logistic import N_DRAWS, fit_logistic
from argmetric._calibrate.maps import (
    BetaMap,
    ClassTemperatureMap,
    IdentityMap,
    IsotonicMap,
    PlattMap,
    TemperatureMap,
)
from argmetric._calibrate.prior import PriorShift
from argmetric._calibrate.reference import Reference, row_count
from argmetric._calibrate.spline import SplineMap

METHODS = ("spline", "platt", "beta", "temperature", "isotonic")
few = settings(deadline=None, max_examples=60)


def expit(x):
    return 1 / (1 + np.exp(-np.asarray(x, float)))


def logit(p):
    return np.log(p) - np.log1p(-p)


def sample(n=600, slope=0.6, intercept=-1.0, seed=0, centre=0.0):
    """Log-odds that are off, and labels drawn from the right ones."""
    rng = np.random.default_rng(seed)
    x = rng.normal(centre, 2, n)
    return (rng.random(n) < expit(slope * x + intercept)).astype(int), x


class Scores(ClassifierMixin, BaseEstimator):
    """A classifier whose decision function is its first column."""

    def __init__(self, n_classes=2):
        self.n_classes = n_classes

    def fit(self, X, y):
        self.classes_ = np.arange(self.n_classes)
        return self

    def decision_function(self, X):
        return X[:, 0] if self.n_classes == 2 else X

    def predict(self, X):
        raise NotImplementedError("scikit-learn only asks whether it is there")


class Probabilities(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are its columns."""

    def __init__(self, n_classes=2):
        self.n_classes = n_classes

    def fit(self, X, y):
        self.classes_ = np.arange(self.n_classes)
        return self

    def predict_proba(self, X):
        return np.stack([1 - X[:, 0], X[:, 0]], axis=1) if self.n_classes == 2 else X

    predict = Scores.predict


def sklearn_map(estimator, X, y, method, X_new, sample_weight=None):
    fitted = CalibratedClassifierCV(FrozenEstimator(estimator.fit(X, y)), method=method)
    with warnings.catch_warnings():  # that weights do not reach a frozen estimator
        warnings.filterwarnings("ignore", "Since FrozenEstimator does not")
        fitted.fit(X, y, sample_weight=sample_weight)
    return fitted.predict_proba(X_new)


NEW = np.linspace(-9, 9, 301)


# The same numbers as scikit-learn's


@pytest.mark.parametrize("weighted", [False, True])
def test_platt_equals_the_sigmoid_method_on_log_odds(weighted):
    y, x = sample()
    w = np.random.default_rng(1).uniform(0.1, 3, y.size) if weighted else None
    theirs = sklearn_map(Scores(), x[:, None], y, "sigmoid", NEW[:, None], w)[:, 1]
    ours = am.calibrate(y, x, "platt", sample_weight=w, logits=True)
    np.testing.assert_allclose(ours.apply(NEW, logits=True), theirs, atol=1e-8)
    # Probabilities are cut off at the reach, in the fit and after it.
    same = am.calibrate(y, expit(x), "platt", sample_weight=w)
    near, new = (np.clip(a, -same.reach, same.reach)[:, None] for a in (x, NEW))
    theirs = sklearn_map(Scores(), near, y, "sigmoid", new, w)[:, 1]
    np.testing.assert_allclose(same.apply(expit(NEW)), theirs, atol=1e-8)


def unpenalised(columns, target, weight):
    """Soft targets as two rows each: positive with weight t, negative with 1-t."""
    X = np.stack(columns, axis=1)
    both = np.concatenate([X, X])
    y = np.repeat([1, 0], len(X))
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    model.fit(both, y, np.concatenate([weight * target, weight * (1 - target)]))
    return np.append(model.coef_[0], model.intercept_)


def platt_targets(y, weight):
    positive, negative = weight[y == 1].sum(), weight[y == 0].sum()
    return np.where(y == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))


@pytest.mark.parametrize("weighted", [False, True])
def test_platt_equals_a_logistic_regression_on_log_odds(weighted):
    y, x = sample(slope=1.7)
    w = np.random.default_rng(2).uniform(0.1, 3, y.size) if weighted else np.ones(600)
    slope, intercept = unpenalised([x], platt_targets(y, w), w)
    ours = am.calibrate(y, x, "platt", sample_weight=w, logits=True)
    assert ours.slope == pytest.approx(slope, rel=1e-9)
    assert ours.intercept == pytest.approx(intercept, rel=1e-9)


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


@pytest.mark.parametrize("weighted", [False, True])
def test_temperature_equals_theirs(weighted):
    y, x = sample(intercept=0.0)
    w = np.random.default_rng(4).uniform(0.1, 3, y.size) if weighted else None
    theirs = sklearn_map(Scores(), x[:, None], y, "temperature", NEW[:, None], w)[:, 1]
    ours = am.calibrate(y, x, "temperature", sample_weight=w, logits=True)
    np.testing.assert_allclose(ours.apply(NEW, logits=True), theirs, atol=1e-7)


@pytest.mark.parametrize("from_scores", [False, True])
def test_temperature_of_classes_equals_theirs(from_scores):
    rng = np.random.default_rng(5)
    z = rng.normal(0, 2, (800, 4))
    y = np.array([rng.choice(4, p=row) for row in softmax(0.4 * z)])
    P = softmax(z)
    theirs = sklearn_map(
        Scores(4) if from_scores else Probabilities(4),
        z if from_scores else P,
        y,
        "temperature",
        z[:50] if from_scores else P[:50],
    )
    ours = am.calibrate(y, z if from_scores else P, logits=from_scores)
    assert isinstance(ours, ClassTemperatureMap)
    assert ours.method == "temperature"
    assert ours.temperature == pytest.approx(2.5, rel=0.1)
    mapped = ours.apply(z[:50] if from_scores else P[:50], logits=from_scores)
    np.testing.assert_allclose(mapped, theirs, atol=1e-7)
    np.testing.assert_allclose(mapped.sum(axis=1), 1, rtol=1e-14)


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


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


def test_the_fit_without_smoothing_equals_theirs():
    y, x = sample(n=300)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    model.fit(x[:, None], y)
    slope, intercept = fit_logistic([x], y.astype(float)).coefficients
    assert slope == pytest.approx(model.coef_[0, 0], rel=1e-10)
    assert intercept == pytest.approx(model.intercept_[0], rel=1e-10)


# Optimal, monotone, finite


def quiet(function, *arguments, **keywords):
    """A map; None where the scores rank backwards or do not suffice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*arguments, **keywords)
        except ValueError as error:
            reasons = ("backwards", "one class", "are equal", "no temperature", "three")
            if not any(reason in str(error) for reason in reasons):
                raise
            return None


@st.composite
def references(draw):
    p = draw(nasty.probability_vectors(min_size=2, max_size=12))
    y = draw(st.lists(st.booleans(), min_size=p.size, max_size=p.size))
    return np.array(y), p


@few
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


def between(p, ends):
    """Log-odds with scores of 0 and 1 at the two ends."""
    with np.errstate(divide="ignore"):
        return np.clip(logit(p), *ends)


def within(p, reach):
    """Log-odds, cut off."""
    with np.errstate(divide="ignore"):
        return np.clip(logit(p), -reach, reach)


@few
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


@few
@given(references())
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
    free = fit_logistic([np.log(p), -np.log1p(-p)], y.astype(float))
    assert free.coefficients[1] < 0
    fitted = am.calibrate(y, p, "beta")
    assert fitted.b == 0.0
    target = platt_targets(y.astype(int), np.ones(p.size))
    a, c = fit_logistic([np.log(p)], target).coefficients
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


def test_a_platt_map_by_hand():
    """Two scores: the map gives each its mean target."""
    y, x = [0, 0, 1, 0, 1, 1], [-1.0, -1.0, -1.0, 2.0, 2.0, 2.0]
    fitted = am.calibrate(y, x, "platt", logits=True)
    high, low = (4 / 5 * 2 + 1 / 5) / 3, (1 / 5 * 2 + 4 / 5) / 3
    np.testing.assert_allclose(
        fitted.apply([-1.0, 2.0], logits=True), [low, high], rtol=1e-12
    )
    slope = (logit(high) - logit(low)) / 3
    assert fitted.slope == pytest.approx(slope, rel=1e-12)
    assert fitted.intercept == pytest.approx(logit(low) + slope, rel=1e-11)
    assert (fitted.n, fitted.prevalence) == (6, 0.5)


def test_the_maps_by_hand():
    p = np.array([0.0, 1e-300, 0.2, 0.5, 1.0])
    inner = [expit(2 * math.log(0.25) + 1), expit(1)]
    np.testing.assert_allclose(
        PlattMap(2.0, 1.0).apply(p), [0, 0, *inner, 1], rtol=1e-13
    )
    np.testing.assert_allclose(
        PlattMap(2.0, 1.0, reach=3.0).apply(p),
        [expit(-5), expit(-5), *inner, expit(7)],
        rtol=1e-13,
    )
    np.testing.assert_allclose(
        BetaMap(1.0, 2.0, 0.5).apply(p)[2], expit(math.log(0.2 / 0.64) + 0.5)
    )
    assert BetaMap(1.0, 2.0, 0.5).apply([0.0, 1.0]).tolist() == [0, 1]
    ends = BetaMap(1.0, 2.0, 0.5, reach=math.log(4)).apply([0.0, 1.0])
    by_hand = [math.log(0.2 / 0.64) + 0.5, math.log(0.8 / 0.04) + 0.5]
    assert ends == pytest.approx(expit(by_hand), rel=1e-12)
    assert TemperatureMap(2.0, reach=3.0).apply_logits([-9, 4]).tolist() == [-1.5, 1.5]
    assert IdentityMap().apply(p).tolist() == p.tolist()
    curve = SplineMap(
        np.array([-1.0, 1.0]), np.array([0.0, 3.0]), 2.0, (-2.5, 2.5), -5.0, 5.5
    )
    x = [-np.inf, -2.5, -2.0, -1.0, 0.0, 1.0, 2.0, 2.4, 2.5, 9.0]
    y = [-5.0, -5.0, -2.0, 0.0, 1.5, 3.0, 5.0, 5.5, 5.5, 5.5]
    np.testing.assert_allclose(curve.apply_logits(x), y, rtol=1e-14)
    assert PlattMap(0.0, 1.0).apply([0.0, 1.0]) == pytest.approx([expit(1)] * 2)
    np.testing.assert_allclose(TemperatureMap(2.0).apply(0.8), 2 / 3)
    steps = IsotonicMap(np.array([0.2, 0.4]), np.array([0.1, 0.3]))
    np.testing.assert_allclose(steps.apply([0.0, 0.3, 0.9]), [0.1, 0.2, 0.3])
    # Beyond 1 - 2^-53 only log-odds tell scores apart.
    np.testing.assert_allclose(PlattMap(0.5, 1.0).apply_logits([100, -900]), [51, -449])
    np.testing.assert_allclose(BetaMap(0.5, 2.0, 1.0).apply_logits([100]), [201])
    assert BetaMap(0.0, 1.0, 0.5).apply_logits([-np.inf, 0]).tolist() == [
        0.5,
        0.5 + math.log(2),
    ]


def test_shapes_and_kinds_of_what_is_mapped():
    pandas = pytest.importorskip("pandas")
    fitted = PlattMap(1.5, -0.5)
    p = np.array([[0.1, 0.5], [0.9, 0.3]])
    assert fitted.apply(p).shape == (2, 2)
    np.testing.assert_array_equal(fitted.apply(pandas.DataFrame(p)), fitted.apply(p))
    np.testing.assert_array_equal(fitted.apply(p.tolist()), fitted(p))
    assert fitted.apply(0.1) == fitted.apply(p)[0, 0]
    assert np.ndim(fitted.apply(0.1)) == 0
    assert fitted.apply([]).shape == (0,)
    with pytest.raises(ValueError, match="logits=True"):
        fitted.apply([-1.0, 0.5])
    with pytest.raises(ValueError, match="NaN at row 1"):
        fitted.apply([0.2, np.nan])


# The spline


def spline_twin(y, x, ends, sizes=(0.1, 0.3, 1.0, 3.0)):
    """The map by rows, scipy's trust region and scikit-learn's isotonic regression."""
    first, last = ends or (-np.inf, np.inf)
    ones = np.ones(y.size)
    line = unpenalised([x], platt_targets(y, ones), ones)
    order = np.argsort(x)
    c = expit(line[0] * x + line[1])[order]
    information = np.cumsum(c * (1 - c))
    shares = (np.arange(8) + 0.5) / 8 * information[-1]
    knots = np.unique([x[order][np.argmax(information >= one)] for one in shares])
    steps = list(pairwise(knots))
    lumps = [end for end in (x <= first, x >= last) if end.sum() >= 2]
    ramps = [np.interp(x, step, [0, 1]) for step in steps]
    weight = expit(line[0] * x + line[1])
    weight = weight * (1 - weight)
    centre = weight @ x / weight.sum()
    X = np.stack([ones, x - centre, *ramps, *(1.0 * lump for lump in lumps)], axis=1)
    mean = np.array([centre, 1.0, *[0.0] * (X.shape[1] - 2)])
    modes, evidence = [], []
    shift = line[0] * centre + line[1] - centre
    wide = max(2.0, abs(shift)), max(1.0, abs(line[0] - 1))
    scales = ((wide, 1.0), ((0.5, 0.4), 2.0), ((0.1, 0.1), 10.0))
    for (scale, odds), size in product(scales, sizes):
        walk = [size * math.sqrt((b - a) / np.ptp(knots)) for a, b in steps]
        precision = np.array([*scale, *walk, *[1.5] * len(lumps)]) ** -2

        def loss(theta, precision=precision):
            eta = X @ theta
            rows = (np.logaddexp(0, eta) - y * eta).sum()
            return rows + precision @ (theta - mean) ** 2 / 2

        def gradient(theta, precision=precision):
            return X.T @ (expit(X @ theta) - y) + precision * (theta - mean)

        def hessian(theta, precision=precision):
            p = expit(X @ theta)
            return (X.T * (p * (1 - p))) @ X + np.diag(precision)

        found = minimize(
            loss, mean, jac=gradient, hess=hessian, method="trust-exact", tol=1e-8
        ).x
        volume = np.linalg.slogdet(hessian(found))[1]
        modes.append(found)
        chance = -loss(found) + np.log(precision).sum() / 2 - volume / 2
        evidence.append(chance + math.log(odds))
    share = np.exp(np.array(evidence) - max(evidence))
    theta = np.average(modes, axis=0, weights=share)
    inner = (x > first) & (x < last)
    places = np.unique([*knots, x[inner].min(), x[inner].max()])
    ramps = [np.interp(places, step, [0, 1]) for step in steps]
    climbed = sum((h * ramp for h, ramp in zip(theta[2:], ramps, strict=False)), 0.0)
    values = theta[0] + theta[1] * (places - centre) + climbed
    nearest = np.abs(x[inner][:, None] - places).argmin(axis=1)
    mass = np.bincount(nearest, minlength=places.size)
    slope = max(theta[1], 0.0)
    if ends is not None:
        sides = [int(np.sign(x[lump][0])) for lump in lumps]
        own = dict(zip(sides, theta[theta.size - len(lumps) :], strict=True))
        low = values[0] + slope * (first - places[0]) + own.get(-1, 0.0)
        high = values[-1] + slope * (last - places[-1]) + own.get(1, 0.0)
        values = np.array([low, *values, high])
        mass = np.array([(x <= first).sum(), *mass, (x >= last).sum()])
    points, chance = np.arange(values.size), expit(values)
    pooled = IsotonicRegression().fit(points, chance, np.maximum(mass, 1e-9))
    return places, logit(pooled.predict(points)), slope


def forest(n=1500, seed=5, votes=16):
    """Shares of votes: 0 and 1 pile up, and are wrong at times."""
    rng = np.random.default_rng(seed)
    p = rng.binomial(votes, rng.beta(0.4, 1.2, n)) / votes
    return (rng.random(n) < 0.04 + 0.9 * p**1.5).astype(int), p


def spline_cases():
    rng = np.random.default_rng(21)
    n = 1000  # each a cell of its own
    x = rng.normal(0, 2, n)
    bent = (rng.random(n) < expit(x + 0.9 * np.sin(1.3 * x) - 1)).astype(int)
    falls = (rng.random(n) < expit(2 * np.cos(1.5 * x) + 0.3 * x)).astype(int)
    steep = 40 * (x - 1)  # log-odds far beyond 1/4m, of both classes
    sure = (rng.random(n) < expit(x - 1)).astype(int)
    few, few_x = sample(n=25, seed=3)
    return {
        "log-odds": (bent, x, True),
        "probabilities": (bent, expit(x), False),
        "pooled": (falls, x, True),
        "few": (few, expit(few_x), False),
        "lumps": (*forest(), False),
        "one lump": (*forest(votes=400), False),
        "very sure": (sure, expit(steep), False),
    }


@pytest.mark.parametrize("case", spline_cases())
def test_the_spline_equals_a_penalised_likelihood_over_rows(case):
    y, scores, logits = spline_cases()[case]
    ours = am.calibrate(y, scores, logits=logits)
    assert isinstance(ours, SplineMap)
    x = scores if logits else between(scores, ours.ends)
    knots, values, slope = spline_twin(y, x, ours.ends)
    np.testing.assert_allclose(ours.knots, knots, rtol=1e-12)
    assert ours.slope == pytest.approx(slope, abs=1e-7)
    if ours.ends is None:
        assert (ours.low, ours.high) == (None, None)
        np.testing.assert_allclose(ours.values, values, atol=1e-7)
    else:
        levels = [ours.low, *ours.values, ours.high]
        np.testing.assert_allclose(levels, values, atol=1e-7)
    if case == "pooled":
        assert (np.diff(ours.values) == 0).sum() >= 2


def test_sizes_of_the_curve_are_averaged_by_shares_that_sum_to_one(monkeypatch):
    y, x, _ = spline_cases()["log-odds"]
    whole = am.calibrate(y, x, logits=True)
    alone = []
    for size in (0.1, 0.3, 1.0, 3.0):
        monkeypatch.setattr(_spline, "CURVE_SCALES", (size,))
        once = am.calibrate(y, x, logits=True)
        expected = spline_twin(y, x, None, (size,))[1]
        np.testing.assert_allclose(once.values, expected, atol=1e-7)
        monkeypatch.setattr(_spline, "CURVE_SCALES", (size, size))
        twice = am.calibrate(y, x, logits=True)
        np.testing.assert_allclose(twice.values, once.values, atol=1e-8)
        alone.append(once.values)
    # Small sizes hardly bend: the average is none of them, and lies between.
    assert np.ptp(alone, axis=0).max() > 0.3
    low, high = np.min(alone, axis=0), np.max(alone, axis=0)
    ties = [np.diff(one, prepend=-np.inf, append=np.inf) == 0 for one in alone]
    pooled = np.any([tie[1:] | tie[:-1] for tie in ties], axis=0)
    assert pooled.sum() <= 4
    between = (whole.values >= low - 1e-8) & (whole.values <= high + 1e-8)
    assert (between | pooled).all()


def test_knots_hold_equal_shares_of_the_information():
    y, x = sample(n=8000, slope=1.0, intercept=-4.0)
    lowest, *knots, highest = am.calibrate(y, x, logits=True).knots
    assert (lowest, highest) == (x.min(), x.max())
    slope, intercept = unpenalised([x], platt_targets(y, x * 0 + 1), x * 0 + 1)
    c = expit(slope * x + intercept)
    below = [(c * (1 - c))[x <= knot].sum() for knot in knots]
    share = np.array(below) / (c * (1 - c)).sum()
    np.testing.assert_allclose(share, (np.arange(8) + 0.5) / 8, atol=0.001)


def test_a_lump_has_a_level_of_its_own():
    """Of 1,000 zeros 5 % are positive, of 500 ones 90 %, of the rest what they say."""
    scores = np.array([0.0, 0.2, 0.5, 0.8, 1.0])
    size = np.array([1000, 400, 400, 400, 500])
    p = np.repeat(scores, size)
    for zeros in (0.02, 0.05):
        share = np.array([zeros, 0.2, 0.5, 0.8, 0.9])
        hits = np.round(share * size).astype(int)
        y = np.concatenate([np.arange(n) < k for n, k in zip(size, hits, strict=True)])
        fitted = am.calibrate(y, p)
        assert fitted.ends == pytest.approx((-logit(0.9), logit(0.9)))
        error = np.sqrt(share * (1 - share) / size)  # one standard error of a share
        assert (np.abs(fitted.apply(scores) - share) < error).all()
        # What lies nearer to 0 or 1 than half of any other score goes with the lump.
        assert fitted.apply(0.0999) == fitted.apply(0.03) == fitted.apply(0.0)
        assert fitted.apply(0.1001) > fitted.apply(0.0999) + 0.005
        assert fitted.apply(0.9001) == fitted.apply(1.0)


def test_lumps_have_cells_of_their_own():
    """Also where they are smaller than a cell: 60 zeros among 400,000 rows."""
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1.5, 400_000)
    y, p = rng.random(x.size) < expit(x), expit(x)
    p[:60], y[:60], p[-50:], y[-50:] = 0.0, np.arange(60) < 30, 1.0, np.arange(50) < 30
    reference = Reference(p, y, None, False)
    cells = cells_of(reference)
    assert (cells.x[0], cells.x[-1]) == reference.axis.ends == cells.ends
    low, high = np.log(p[p > 0].min()) - np.log(2), logit(p[p < 1].max()) + np.log(2)
    ends = min(low, -reference.reach), max(high, reference.reach)
    assert cells.ends == pytest.approx(ends, rel=1e-3)
    assert (cells.total[0], cells.total[-1]) == (60, 50)


def test_beyond_the_knots_the_slope_goes_on():
    y, x = sample(n=2000, slope=1.6, intercept=-0.5)
    fitted = am.calibrate(y, x, logits=True)
    assert fitted.slope == pytest.approx(1.6, abs=0.2)
    far = np.array([0.5, 3.0, 200.0])
    for knot, value, side in (
        (fitted.knots[0], fitted.values[0], -1),
        (fitted.knots[-1], fitted.values[-1], 1),
    ):
        np.testing.assert_allclose(
            fitted.apply_logits(knot + side * far), value + side * far * fitted.slope
        )
    assert fitted.apply_logits([-np.inf, np.inf]).tolist() == [-np.inf, np.inf]
    flat = SplineMap(np.array([0.0]), np.array([1.0]), 0.0, None, None, None)
    assert flat.apply_logits([-np.inf, 3.0, np.inf]).tolist() == [1.0, 1.0, 1.0]
    cut = am.calibrate(y, expit(x))
    beyond = cut.knots[-1] + 0.9 * (cut.ends[1] - cut.knots[-1])
    expected = cut.values[-1] + cut.slope * (beyond - cut.knots[-1])
    assert cut.apply_logits(beyond) == pytest.approx(min(expected, cut.high))
    assert cut.apply_logits(cut.ends[1] + 1) == cut.apply_logits(np.inf) == cut.high


def test_very_sure_scores_keep_their_order():
    """Log-odds 20 times too steep: within 1/4m of 0 or 1 they were one tie."""
    rng = np.random.default_rng(0)
    y = rng.random(8000) < 0.1
    s = rng.normal(2.0 * y, 1.0)
    p = expit(20 * (s - 0.5))
    known, new = slice(4000), slice(4000, None)
    d = am.decide(p[new], reference=(y[known], p[known]))
    plain = am.decide(
        20 * (s[new] - 0.5), reference=(y[known], 20 * (s[known] - 0.5)), logits=True
    )
    rule = am.tune(y[known], p[known], n_bootstrap=0, cv=0)
    score, same, tuned = (
        am.evaluate(y[new], labels)
        for labels in (d.labels, plain.labels, rule.apply(p[new]))
    )
    assert score == pytest.approx(same, abs=0.02)
    assert score > tuned - 0.02
    mapped = am.calibrate(y[known], p[known]).apply(p[known])
    inside = (p[known] > 0) & (p[known] < 1)
    assert np.unique(mapped[inside]).size > 0.9 * np.unique(p[known][inside]).size


def test_maps_of_format_2_are_read(tmp_path):
    """Both ends stood at one distance, the reach, and there were no counts."""
    y, x = sample(n=300)
    fitted = am.calibrate(y, expit(x))
    plain = fitted.to_dict() | {"format": 2, "reach": 5.0}
    del plain["ends"], plain["counts"]
    again = am.Calibrator.from_dict(plain)
    assert (again.ends, again.counts) == ((-5.0, 5.0), None)
    assert again.apply(1e-9) == again.apply(0.0) == pytest.approx(expit(fitted.low))
    assert am.Calibrator.from_dict(fitted.to_dict()) == fitted
    labels = expit(x) > 0.5
    assert am.forecast(expit(x), labels, calibrator=again).std > 0.0


@pytest.mark.parametrize("distinct", [2, 3, 16])
def test_few_distinct_scores_get_their_own_shares(distinct):
    p = np.linspace(0.1, 0.9, distinct)
    share = np.round(4000 * expit(0.4 * logit(p) + p**3)) / 4000
    y = np.concatenate([np.arange(4000) < 4000 * one for one in share])
    fitted = am.calibrate(y, np.repeat(p, 4000))
    assert fitted.knots.size == min(distinct, 10)
    error = np.sqrt(share * (1 - share) / 4000)
    # One standard error; two where a straight line joins several scores.
    most = error if distinct <= 8 else 2 * error
    assert (np.abs(fitted.apply(p) - share) < most).all()


def test_one_knot_is_a_line():
    y, p = np.arange(1002) % 2 == 0, np.full(1002, 0.5)
    p[:2], y[:2] = [0.2, 0.9], [False, True]
    fitted = am.calibrate(y, p)
    np.testing.assert_allclose(fitted.knots, logit(np.array([0.2, 0.5, 0.9])))
    assert fitted.apply(0.5) == pytest.approx(0.5, abs=0.01)
    inner = [0.15, 0.3, 0.8, 0.9]
    expected = fitted.values[1] + fitted.slope * logit(np.array(inner))
    np.testing.assert_allclose(fitted.apply(inner), expit(expected), rtol=1e-12)
    assert len(fitted.alternatives) == N_DRAWS


@few
@given(references())
def test_splines_and_all_their_draws_rise(reference):
    y, p = reference
    fitted = quiet(am.calibrate, y, p)
    if fitted is None:
        return
    grid = np.unique(np.concatenate([p, nasty.NASTY, np.linspace(0, 1, 41)]))
    x = np.concatenate([[-np.inf, -800], np.linspace(-40, 40, 81), [800, np.inf]])
    assert len(fitted.alternatives) == N_DRAWS
    for one in (fitted, *fitted.alternatives):
        mapped = one.apply(grid)
        assert ((mapped > 0) & (mapped < 1)).all()
        assert (np.diff(mapped) >= -1e-13 * mapped[1:]).all()
        assert (np.diff(one.apply_logits(x)) >= 0).all()


def test_weights_of_any_scale_give_nearly_the_same_curve():
    """Scaled down they count (Σw)²/Σw² rows, 8 % fewer here."""
    y, x = sample(n=3000)
    w = np.random.default_rng(2).uniform(0.5, 1.5, y.size)
    plain = am.calibrate(y, expit(x), sample_weight=w)
    inside = np.linspace(-4, 4, 33)
    narrow = am.calibrate(y, expit(x), "platt", sample_weight=w).draws.std(axis=0)
    for size in (1e-6, 1e-200):
        scaled = am.calibrate(y, expit(x), sample_weight=w * size)
        gap = scaled.apply_logits(inside) - plain.apply_logits(inside)
        assert 0 < np.abs(gap).max() < 0.01
        wide = am.calibrate(y, expit(x), "platt", sample_weight=w * size).draws
        ratio = wide.std(axis=0) / narrow
        np.testing.assert_allclose(ratio, math.sqrt(1 + 1 / 12), rtol=0.01)


@pytest.mark.parametrize("n", [3000, 30_000])
def test_cells_cost_no_accuracy(n, monkeypatch):
    """More distinct scores than cells, and fewer: the curve of the rows themselves."""
    y, x = sample(n=n)
    reference = Reference(x, y == 1, None, True)
    ours = am.calibrate(y, x, logits=True)
    assert (cells_of(reference).x.size < n) == (n > MOST_CELLS)
    where = np.linspace(*np.quantile(x, [0.001, 0.999]), 101)
    for most in (n, 600):
        monkeypatch.setattr(_spline, "cells_of", lambda rows, k=most: cells_of(rows, k))
        other = am.calibrate(y, x, logits=True)
        gap = np.abs(other.apply_logits(where) - ours.apply_logits(where))
        assert gap.max() < 1e-3 if most == n else gap.max() < 0.02


@pytest.mark.parametrize("n", [3, 10, 49, 1000, 12_345])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_lump_is_known_however_its_mean_is_rounded(n, weighted):
    p = np.concatenate([np.zeros(n), np.linspace(0.01, 0.99, 99), np.ones(n)])
    y = np.random.default_rng(n).random(p.size) < 0.1 + 0.7 * p
    w = np.random.default_rng(1).uniform(1, 3, p.size) if weighted else None
    reference = Reference(p, y, w, False)
    cells = cells_of(reference)
    assert (cells.x[0], cells.x[-1]) == cells.ends
    basis = _spline.Basis.of(cells, np.array([1.0, 0.0]))
    assert basis.lumps == (True, True)


@pytest.mark.parametrize("most", [7, 50, 10_000])
def test_cells_hold_every_row_once_in_order(most):
    y, x = sample(n=900)
    x, w = np.round(x, 1), np.random.default_rng(3).uniform(1, 4, 900)
    p = expit(x)
    reference = Reference(p, y == 1, w, False)
    cells = cells_of(reference, most)
    assert cells.x.size <= min(most + 2, np.unique(x).size)
    assert cells.total.sum() == pytest.approx(w.sum())
    assert cells.positive.sum() == pytest.approx(w @ y)
    assert cells.total @ cells.x == pytest.approx(w @ reference.x)
    assert cells.total @ cells.score == pytest.approx(w @ p)
    assert (np.diff(cells.x) > 0).all()
    if most == 10_000:
        by_hand = [w[x == one].sum() for one in np.unique(x)]
        np.testing.assert_allclose(cells.total, by_hand)
    elif most == 50:  # no cell far from its share but for ties
        ties = max(w[x == one].sum() for one in np.unique(x))
        assert cells.total.max() <= w.sum() / most + ties


@pytest.mark.parametrize("seed", range(4))
def test_calibrated_scores_stay_as_they_are(seed):
    y, x = sample(20_000, 1.0, 0.0, seed)
    bulk = np.linspace(-3, 3, 61)
    moved = am.calibrate(y, expit(x)).apply_logits(bulk) - bulk
    assert np.abs(moved).max() < 0.12
    assert np.abs(moved).mean() < 0.05


# Draws: what else the reference allows


@pytest.mark.parametrize("weighted", [False, True])
def test_draws_of_platt_have_the_inverse_information_as_covariance(weighted):
    y, x = sample(n=400)
    w = np.random.default_rng(1).integers(1, 4, 400) if weighted else np.ones(400)
    fitted = am.calibrate(y, x, "platt", sample_weight=w, logits=True)
    p = expit(fitted.slope * x + fitted.intercept)
    X = np.stack([x, np.ones(400)])
    information = (X * (w * p * (1 - p))) @ X.T
    assert fitted.draws.shape == (N_DRAWS, 2)
    np.testing.assert_allclose(
        fitted.draws.mean(axis=0), [fitted.slope, fitted.intercept], atol=1e-6
    )
    np.testing.assert_allclose(
        np.cov(fitted.draws.T, bias=True), np.linalg.inv(information), rtol=1e-4
    )


def spread(fitted, x):
    """Standard deviation of the log-odds that the draws give."""
    return np.std([one.apply_logits(x) for one in fitted.alternatives], axis=0)


@pytest.mark.parametrize("method", ["platt", "beta", "temperature", "spline"])
def test_draws_spread_as_new_references_do(method):
    """300 references of 500 rows, a map for each: what one of them says of the rest."""
    at = np.array([-2.0, -0.5, 1.0, 2.5])
    maps = []
    for seed in range(300):
        y, x = sample(500, 0.7, 0.0, seed)
        maps.append(am.calibrate(y, x, method, logits=True))
    truth = np.std([one.apply_logits(at) for one in maps], axis=0)
    said = np.mean([spread(one, at) for one in maps[:40]], axis=0)
    if method == "spline":  # its prior moves the map less than it leaves open
        assert (said > 0.9 * truth).all()
        assert (said < 1.6 * truth).all()
    else:
        np.testing.assert_allclose(said, truth, rtol=0.15)


@pytest.mark.parametrize("method", METHODS)
def test_draws_narrow_with_more_rows(method):
    """By √16 = 4 where parameters are few, by 16^⅓ = 2.5 where they are not."""
    at = np.array([-1.0, 0.0, 1.0])
    few, many = (
        spread(am.calibrate(*sample(n, 0.7, 0.3), method, logits=True), at)
        for n in (2000, 32_000)
    )
    part = at != 0 if method == "temperature" else at < 9  # it leaves 0 as it is
    ratio = np.mean(few[part] / many[part])
    expected, margin = {"isotonic": (2.5, 0.5), "spline": (3.7, 0.4)}.get(
        method, (4, 0.2)
    )
    assert ratio == pytest.approx(expected, abs=margin)


def widest(y, scores, **options):
    """The map of the widest scale alone, about which draws lie."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_spline, "SCALE_ODDS", (1.0, 1e-300, 1e-300))
        return quiet(am.calibrate, y, scores, **options)


def test_the_mean_chance_of_the_draws_is_that_of_the_widest_scale():
    y, x = sample(n=4000, slope=1.0, intercept=-3.0)
    for scores, logits in ((x, True), (expit(x), False)):
        fitted = am.calibrate(y, scores, logits=logits)
        wide = widest(y, scores, logits=logits)
        np.testing.assert_array_equal(fitted.draws, wide.draws)
        chances = [expit(one.values) for one in fitted.alternatives]
        np.testing.assert_allclose(
            np.mean(chances, axis=0), expit(wide.values), rtol=2e-5
        )
        # The mean of the log-odds is another matter: chances are skewed.
        assert fitted.draws[:, 0].mean() < wide.values[0] - 0.01
    # Few labels leave the map nearer to the scores than its draws are on average.
    y, x = sample(n=100, slope=1.2, intercept=-0.3)
    moved, move = (
        np.abs(one.values - one.knots).mean()
        for one in (am.calibrate(y, expit(x)), widest(y, expit(x)))
    )
    assert moved < 0.8 * move


def test_a_lump_above_its_neighbours_lifts_few_of_them():
    """Of 60 zeros 30 are positive: monotone, they must share that with some others."""
    rng = np.random.default_rng(0)
    x = rng.normal(-4, 1.5, 50_000)
    y, p = rng.random(x.size) < expit(x), np.clip(expit(x), 1e-3, 1)
    p[:60], y[:60] = 0.0, np.arange(60) < 30
    mapped = am.calibrate(y, p).apply(p)
    low, next_ = (p > 0) & (p < 0.01), (p > 0.02) & (p < 0.05)
    assert y[low].sum() < mapped[low].sum() < y[low].sum() + 3 * 30
    assert mapped[next_].sum() == pytest.approx(y[next_].sum(), rel=0.1)


@pytest.mark.parametrize("method", ["spline", "platt"])
@pytest.mark.parametrize("factor", [1e-3, 1e-4, 1e-6, 1e4])
def test_scores_on_another_scale_keep_their_order(method, factor):
    """The cut near 0 and 1 is for rare tails, not for where the positives are."""
    rng = np.random.default_rng(0)
    x = rng.normal(-2, 1.5, 12_000)
    y, off = rng.random(x.size) < expit(x), expit(x + math.log(factor))
    fitted = am.calibrate(y[:2000], off[:2000], method)
    mended = am.decide(off[2000:], calibrator=fitted).labels
    right = am.decide(expit(x[2000:])).labels
    assert am.evaluate(y[2000:], mended) > am.evaluate(y[2000:], right) - 0.02


@pytest.mark.parametrize("changes", [{"low": math.nan}, {"high": "x"}, {"slope": "2"}])
def test_damaged_ends_are_refused(changes):
    rng = np.random.default_rng(0)
    p = rng.random(200)
    values = am.calibrate(rng.random(200) < p, p).to_dict()
    with pytest.raises((TypeError, ValueError), match=next(iter(changes))):
        am.Calibrator.from_dict(values | {"draws": None} | changes)
    with pytest.raises(ValueError, match="high must be a finite number of at least 50"):
        am.Calibrator.from_dict(values | {"draws": None, "low": 50.0})


def test_draws_do_not_depend_on_the_unit_of_log_odds():
    rng = np.random.default_rng(0)
    x = rng.normal(-2, 1.5, 2000)
    y = rng.random(2000) < expit(x)
    one, other = (am.calibrate(y, x * s, "platt", logits=True) for s in (1, 1e6))
    np.testing.assert_allclose(other.draws[:, 0] * 1e6, one.draws[:, 0], rtol=1e-5)
    np.testing.assert_allclose(other.draws[:, 1], one.draws[:, 1], rtol=1e-5)


def test_folds_of_groups_that_leave_one_class_are_refused():
    y = np.array([1] * 5 + [0] * 2 + [1] * 7 + [0] * 2 + [1] * 2)
    groups = np.repeat([0, 1, 2, 3], [7, 4, 5, 2])
    p = np.random.default_rng(0).random(y.size) * 0.5 + 0.4 * y
    with pytest.raises(ValueError, match="rows of both classes outside of every fold"):
        calibrate_out_of_fold(y, p, groups=groups, cv=2)


@few
@given(references())
@example((np.array([True, False, True]), np.array([1e-203, 1.0, 0.0125779358])))
def test_draws_promise_as_many_positives_as_the_map_of_their_scale(reference):
    """Pooling keeps the mean chance over points, by the rows about each."""
    y, p = reference
    fitted = widest(y, p)
    if fitted is None:
        return
    x, (first, last) = between(p, fitted.ends), fitted.ends
    inner = (x > first) & (x < last)
    nearest = np.searchsorted((fitted.knots[1:] + fitted.knots[:-1]) / 2, x[inner])
    mass = np.bincount(nearest, minlength=fitted.knots.size)
    mass = np.array([(x <= first).sum(), *mass, (x >= last).sum()])

    def promised(one):
        return mass @ expit([one.low, *one.values, one.high])

    mean = np.mean([promised(one) for one in fitted.alternatives])
    assert mean == pytest.approx(promised(fitted), abs=1e-4 * p.size)


def test_draws_of_isotonic_maps_are_fits_to_rows_drawn_again():
    y, x = sample(n=500)
    p = np.round(expit(x), 1)
    fitted = am.calibrate(y, p, "isotonic")
    ours = np.array([one.apply(fitted.x) for one in fitted.alternatives])
    np.testing.assert_array_equal(ours, fitted.draws)
    rng = np.random.default_rng(4)
    theirs = []
    for _ in range(400):
        rows = rng.integers(0, 500, 500)
        again = IsotonicRegression(out_of_bounds="clip").fit(p[rows], y[rows])
        theirs.append(again.predict(fitted.x))
    # Three standard errors of a mean and of a deviation over 48 draws; at the lowest
    # score there was no positive, and all that draws keep is the floor.
    wide = np.std(theirs, axis=0)
    off = np.abs(ours.mean(axis=0) - np.mean(theirs, axis=0))
    assert (off < 3 * wide / math.sqrt(N_DRAWS) + 1e-3).all()
    some = wide > 0
    np.testing.assert_allclose(ours.std(axis=0)[some], wide[some], rtol=0.31)


def test_no_draw_of_an_isotonic_map_is_certain():
    rng = np.random.default_rng(0)
    p = rng.beta(0.3, 3, 100_000)
    y = rng.random(p.size) < 0.3 * p**3
    floor = y.mean() / (p.size + 1)
    assert floor < 1e-7
    for fitted, least in (
        (am.calibrate(y, p, "isotonic"), lambda draws: draws.min()),
        (am.calibrate(~y, 1 - p, "isotonic"), lambda draws: 1 - draws.max()),
    ):
        assert least(fitted.draws) == pytest.approx(floor, rel=1e-4)
        assert len(fitted.alternatives) == N_DRAWS


def test_maps_without_a_reference_have_no_alternatives():
    for one in (PlattMap(1.0, 0.0), IdentityMap(), FunctionMap(np.sqrt)):
        assert one.alternatives == ()
    assert am.calibrate(*sample(n=50), "identity", logits=True).alternatives == ()
    shift = am.adjust_prior([0.5], prevalence=0.1, reference_prevalence=0.5)
    assert shift.then(shift).alternatives == ()


def test_chains_vary_where_their_parts_do():
    y, x = sample(n=300)
    first = am.calibrate(y, expit(x))
    shift = am.adjust_prior([0.5], prevalence=0.1, reference_prevalence=0.5)
    p = np.array([0.05, 0.5, 0.8])
    both = first.then(shift)
    assert len(both.alternatives) == N_DRAWS
    for one, other in zip(both.alternatives, first.alternatives, strict=True):
        np.testing.assert_array_equal(one.apply(p), shift.apply(other.apply(p)))
    again = am.Calibrator.from_dict(json.loads(json.dumps(both.to_dict())))
    np.testing.assert_array_equal(
        [one.apply(p) for one in again.alternatives],
        [one.apply(p) for one in both.alternatives],
    )


@pytest.mark.parametrize("method", METHODS)
def test_draws_survive_a_file_and_damaged_ones_are_refused(method):
    y, p = forest(400)
    fitted = am.calibrate(y, p, method)
    values = json.loads(json.dumps(fitted.to_dict()))
    new = np.linspace(0, 1, 21)
    for again in (am.Calibrator.from_dict(values), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(again.draws, fitted.draws)
        for one, other in zip(again.alternatives, fitted.alternatives, strict=True):
            assert one == other
            np.testing.assert_array_equal(one.apply(new), other.apply(new))
    rows = values["draws"]
    long = [*rows[0], *rows[0]]
    for damaged in (
        [],
        rows[0],
        [[]],
        [[math.nan] * len(rows[0])],
        [long],
        [[-9.0 - i for i, _ in enumerate(rows[0])]],
        [rows],
        "none",
        [rows[0], rows[0][:-1]],
        [rows[0], [-9.0 - i for i, _ in enumerate(rows[0])]],  # no map, further down
    ):
        with pytest.raises(ValueError):  # noqa: PT011 (numpy's own for some)
            am.Calibrator.from_dict(values | {"draws": damaged})
    with pytest.raises(ValueError, match="has no draws"):
        IdentityMap(draws=np.ones((3, 1)))


def test_maps_keep_apart_what_they_do_not_tie():
    y, x = sample(n=300)
    platt = am.calibrate(y, expit(x), "platt")
    assert platt.keeps_apart(-platt.reach, platt.reach)
    assert not platt.keeps_apart(-platt.reach - 0.01, 0.0)
    assert not platt.keeps_apart(0.0, np.inf)
    assert am.calibrate(y, x, "platt", logits=True).keeps_apart(-np.inf, np.inf)
    assert IdentityMap().keeps_apart(-np.inf, np.inf)
    assert not PlattMap(0.0, 1.0).keeps_apart(-1.0, 1.0)
    assert BetaMap(0.0, 1.0, 0.0).keeps_apart(-1.0, 1.0)
    for method in ("spline", "isotonic"):
        assert not am.calibrate(y, expit(x), method).keeps_apart(-1.0, 1.0)
    # The second map of a chain gets what the first one gives.
    chained = PlattMap(2.0, 0.0).then(PlattMap(1.0, 0.0, reach=3.0))
    assert chained.keeps_apart(-1.5, 1.5)
    assert not chained.keeps_apart(-1.5, 1.6)


# Models whose scores pile up at 0


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("kind", ["forest", "neighbours"])
def test_a_reference_does_no_harm_to_scores_that_pile_up_at_0(kind, seed):
    """A line through scores of 0 taken as 2^-53 took F1 from .81 to .18 here."""
    X, y = make_classification(
        10_000,
        20,
        n_informative=8,
        weights=[0.97],
        class_sep=1.5,
        flip_y=0.01,
        random_state=seed,
    )
    model = RandomForestClassifier(40, random_state=0)
    if kind == "neighbours":
        model = KNeighborsClassifier(15)
    model.fit(X[:2000], y[:2000])
    p = model.predict_proba(X)[:, 1]
    assert (p[2000:4000] == 0).mean() > 0.5
    reference = (y[2000:4000], p[2000:4000])
    raw = am.evaluate(y[4000:], am.decide(p[4000:]).labels)
    for options in (
        {"reference": reference},
        {"calibrator": am.calibrate(*reference, "platt")},
    ):
        mended = am.decide(p[4000:], **options).labels
        assert am.evaluate(y[4000:], mended) > raw - 0.01
    assert raw > 0.7


# auto


def test_auto_takes_the_simplest_map_that_will_do():
    for n, intercept in ((999, -1), (8000, -1), (6000, -6)):
        y, x = sample(n=n, intercept=intercept)
        assert am.calibrate(y, expit(x), "auto").method == "platt"
    rng = np.random.default_rng(7)
    p = rng.uniform(0.001, 0.999, 8000)
    one_sided = rng.random(p.size) < expit(3 * np.log(p) - 0.3 * np.log1p(-p) + 2)
    assert am.calibrate(one_sided, p, "auto").method == "beta"
    steps = rng.random(p.size) < np.where(p < 0.3, 0.05, np.where(p < 0.6, 0.5, 0.55))
    assert am.calibrate(steps, p, "auto").method == "isotonic"
    x = logit(p)
    bent = rng.random(p.size) < expit(x + 0.8 * np.sin(1.2 * x))
    assert am.calibrate(bent, p, "auto").method == "spline"
    coarse = np.where(p < 0.5, 0.25, 0.75)
    assert am.calibrate(rng.random(p.size) < coarse, coarse, "auto").method == (
        "identity"
    )
    for seed in range(3):
        for slope, intercept, method in (
            (1.0, 0.0, "identity"),
            (0.4, 0.0, "temperature"),
            (0.4, -1.0, "platt"),
        ):
            y, x = sample(2000, slope, intercept, seed)
            assert am.calibrate(y, expit(x), "auto").method == method


def out_of_fold_loss(y, p, method):
    """Mean log-loss of maps that were fitted on the other four folds."""
    fold, mapped = fold_numbers(y, 5), np.empty(y.size)
    for number in range(fold.max() + 1):
        rest = fold != number
        fitted = am.calibrate(y[rest], p[rest], method)
        mapped[~rest] = fitted.apply(p[~rest])
    mapped = np.clip(mapped, 1 / (2 * y.size), 1 - 1 / (2 * y.size))
    return -np.where(y, np.log(mapped), np.log1p(-mapped)).mean()


@pytest.mark.parametrize("seed", range(12))
def test_auto_takes_no_map_that_did_worse_than_none(seed):
    """Few rows of scores that are nearly right: most maps do harm."""
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 2, 60)
    y = rng.random(60) < np.round(p, 1)
    reference = Reference(p, y, None, False)
    chosen = choose_method(reference, "auto")
    assert choose_method(reference, "platt") == "platt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loss = {name: out_of_fold_loss(y, p, name) for name in (*METHODS, "identity")}
    assert loss[chosen] <= loss["identity"] + 1e-12
    assert any(one > loss["identity"] for one in loss.values())


def test_auto_by_hand(monkeypatch):
    """A noisy map within its error of the least is not taken if none did better."""
    rng = np.random.default_rng(0)
    y, x = sample(n=400)
    reference = Reference(x, y == 1, None, True)
    noise = rng.normal(0, 1, 400)
    noise -= noise.mean()
    losses = {
        "identity": np.full(400, 0.61),
        "temperature": 0.62 + noise,  # its standard error is 0.05
        "platt": np.full(400, 0.605),
        "beta": 0.604 + noise,
        "spline": np.full(400, 0.60),
        "isotonic": np.full(400, 0.59),
    }
    monkeypatch.setattr(
        _calibrate, "_log_losses", lambda reference, name, fold: losses[name]
    )
    assert choose_method(reference, "auto") == "beta"
    losses["beta"] = np.full(400, 0.7)
    assert choose_method(reference, "auto") == "isotonic"
    losses["temperature"] = 0.61 + noise - 1e-9
    assert choose_method(reference, "auto") == "temperature"
    losses["identity"] = 0.61 + noise
    assert choose_method(reference, "auto") == "identity"


def test_auto_compares_on_a_thinned_reference_that_stands_for_the_whole():
    from argmetric._calibrate.calibrate import thinned

    y, x = sample(n=5000, intercept=-3)
    whole = Reference(x, y == 1, None, True)
    part = thinned(whole, 700)
    assert (part.y.sum(), (~part.y).sum()) == (min(700, y.sum()), 700)
    np.testing.assert_allclose(part.masses, whole.masses)
    assert thinned(whole, 5000) is whole


# Labels and weights


def test_labels_of_every_kind_give_the_same_map():
    y, x = sample(n=200)
    p = expit(x)
    words = np.where(y == 1, "spam", "ham")
    expected = am.calibrate(y, p)
    for labels, pos_label in (
        (y == 1, None),
        (2 * y - 1, None),
        (y.astype(float), None),
        (words, "spam"),
        (words.tolist(), "spam"),
        (y + 1, 2),
        (y.astype(object), None),
    ):
        assert am.calibrate(labels, p, pos_label=pos_label) == expected
    expected = am.calibrate(y, p, "platt")
    flipped = am.calibrate(words, 1 - p, "platt", pos_label="ham")
    np.testing.assert_allclose(flipped.apply(1 - p), 1 - expected.apply(p), rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_whole_weights_are_repeated_rows(method):
    y, x = sample(n=300, intercept=0.0)
    w = np.random.default_rng(8).integers(0, 4, y.size)
    ours = am.calibrate(y, x, method, sample_weight=w, logits=True)
    rows = np.repeat(np.arange(y.size), w)
    repeated = am.calibrate(y[rows], x[rows], method, logits=True)
    assert ours.n == (w > 0).sum()
    np.testing.assert_allclose(ours.apply(expit(NEW)), repeated.apply(expit(NEW)))
    if method != "isotonic":  # whose draws are counts, drawn again
        np.testing.assert_allclose(ours.draws, repeated.draws, rtol=1e-5, atol=1e-5)


def test_a_matrix_gets_one_map_for_all_its_cells():
    y, x = sample(n=600)
    fitted = am.calibrate(y.reshape(200, 3), expit(x).reshape(200, 3))
    assert fitted == am.calibrate(y, expit(x))
    w = np.random.default_rng(9).uniform(1, 2, 200)
    rows = am.calibrate(y.reshape(200, 3), expit(x).reshape(200, 3), sample_weight=w)
    assert rows == am.calibrate(y, expit(x), sample_weight=np.repeat(w, 3))


def test_certain_scores_in_the_reference_stand_at_a_distance():
    y = np.array([0, 1, 0, 1, 0, 1])
    p = np.array([0.0, 0.2, 0.3, 0.6, 1.0, 1.0])
    fitted = am.calibrate(y, p, "platt")
    assert fitted.reach == pytest.approx(math.log(0.9 / 0.1))  # half of 0.2
    away = logit(np.clip(p, 0.1, 0.9))
    same = am.calibrate(y, away, "platt", logits=True)
    assert (fitted.slope, fitted.intercept) == pytest.approx(
        (same.slope, same.intercept), rel=1e-12
    )
    assert fitted.apply(0.0) == fitted.apply(0.05)
    assert fitted.apply(0.0) == pytest.approx(same.apply(0.1), rel=1e-12)
    assert same.reach is None  # log-odds stand as they are
    for far in (-20.0, -100.0):
        x = np.array([-np.inf, far, -0.8, 0.4, np.inf, np.inf])
        reach = max(36.7, -far)
        infinite = am.calibrate(y, x, "platt", logits=True)
        assert infinite.reach == reach
        finite = am.calibrate(y, np.clip(x, -reach, reach), "platt", logits=True)
        assert (infinite.slope, infinite.intercept) == (finite.slope, finite.intercept)
        assert infinite.apply_logits(-np.inf) == finite.apply_logits(-reach)


@pytest.mark.parametrize(
    ("p", "weight", "nearest"),
    [
        ([0.2, 0.97], None, 0.015),  # half the least distance
        ([0.2, 0.9999], None, 1 / 400),  # few rows count as 100
        ([0.0, 1.0], None, 0.25),
        ([1e-9, 0.5], 1000.0, 1 / 8000),  # 2,000 rows by weight
        ([1e-4, 0.5], 10_000.0, 5e-5),
    ],
)
def test_how_far_scores_are_believed(p, weight, nearest):
    weights = None if weight is None else np.full(2, weight)
    reference = Reference(np.array(p), np.array([False, True]), weights, False)
    assert expit(-reference.reach) == pytest.approx(nearest, rel=1e-12)
    np.testing.assert_allclose(reference.x, within(np.array(p), reference.reach))


@pytest.mark.parametrize("method", METHODS)
def test_scores_of_0_and_1_that_were_wrong_do_not_stay_certain(method):
    # A forest of few trees: many rows get 0 or 1, and some of them the wrong one.
    rng = np.random.default_rng(5)
    p = rng.binomial(4, rng.beta(0.5, 1.5, 4000)) / 4
    y = rng.random(p.size) < 0.04 + 0.9 * p
    mapped = am.calibrate(y, p, method).apply([0.0, 0.5, 1.0])
    assert 0.01 < mapped[0] < mapped[1] < mapped[2] < 0.99
    if method != "temperature":  # which has no constant to meet the mean with
        whole = am.calibrate(y, p, method).apply(p)
        assert whole.mean() == pytest.approx(y.mean(), abs=1e-3)
    out = calibrate_out_of_fold(y, p, method)
    assert 0.0 < out.min() < out.max() < 1.0


def test_weights_count_rows_only_where_they_can():
    rng = np.random.default_rng(6)
    x = rng.normal(size=40)
    y = rng.random(40) < expit(2 * x)
    plain, curve = (am.calibrate(y, expit(x), one) for one in ("platt", "spline"))
    for size in (1 / 40, 1e-300):  # scaled to a sum of 1, or smaller still
        options = {"sample_weight": np.full(40, size)}
        same = am.calibrate(y, expit(x), "spline", **options)
        np.testing.assert_allclose(same.values, curve.values, rtol=1e-7, atol=1e-9)
        scaled = am.calibrate(y, expit(x), "platt", **options)
        assert scaled.slope == pytest.approx(plain.slope, rel=1e-9)
        assert scaled.intercept == pytest.approx(plain.intercept, rel=1e-9)
    assert row_count(np.array([2.0, 3.0, 1.0])) == 6.0  # copies of rows
    assert row_count(np.array([0.5, 0.25, 0.25])) == pytest.approx(1 / 0.375)


def test_a_rule_is_no_calibrator(tmp_path):
    path = tmp_path / "rule.json"
    am.tune([0, 1, 0, 1], [0.1, 0.9, 0.3, 0.6]).save(path)
    with pytest.raises(ValueError, match="no saved calibrator, but 'argmetric rule'"):
        am.Calibrator.load(path)
    with pytest.raises(FileNotFoundError, match=r"/no'$"):
        am.calibrate([0, 1, 0, 1], [0.1, 0.9, 0.3, 0.6]).save(tmp_path / "no" / "x")


# Out of fold


def test_out_of_fold_is_a_fit_on_the_other_folds():
    y, x = sample(n=101)
    p = expit(x)
    for method in METHODS:
        if method == "temperature":
            continue
        ours = calibrate_out_of_fold(y, p, method, cv=4, random_state=3)
        fold = fold_numbers(y == 1, 4, random_state=3)
        for number in range(4):
            inside = fold == number
            fitted = am.calibrate(y[~inside], p[~inside], method)
            np.testing.assert_allclose(ours[inside], fitted.apply(p[inside]))


def test_folds_spread_classes_and_keep_groups_whole():
    y, _ = sample(n=203, intercept=-2)
    fold = fold_numbers(y == 1, 5)
    assert np.ptp(np.bincount(fold)) <= 1
    assert np.ptp(np.bincount(fold, y)) <= 1
    np.testing.assert_array_equal(fold, fold_numbers(y == 1, 5))
    assert (fold != fold_numbers(y == 1, 5, random_state=1)).any()
    groups = np.random.default_rng(0).integers(0, 40, y.size)
    fold = fold_numbers(y == 1, 5, groups)
    for group in np.unique(groups):
        assert np.unique(fold[groups == group]).size == 1
    assert np.ptp(np.bincount(fold, y)) <= 8
    y = np.array([1, 1, 1] + [0] * 20)
    assert fold_numbers(y == 1, 10).max() == 2


def test_out_of_fold_with_weights_groups_matrices_and_log_odds():
    y, x = sample(n=240)
    p, w = expit(x), np.random.default_rng(1).integers(0, 3, 240)
    ours = calibrate_out_of_fold(y, p, sample_weight=w)
    part = w > 0
    np.testing.assert_allclose(
        ours[part], calibrate_out_of_fold(y[part], p[part], sample_weight=w[part])
    )
    whole = am.calibrate(y, p, sample_weight=w)
    np.testing.assert_allclose(ours[~part], whole.apply(p[~part]))
    rows = np.arange(80)
    matrix = calibrate_out_of_fold(y.reshape(80, 3), p.reshape(80, 3), groups=rows)
    np.testing.assert_array_equal(
        matrix.ravel(), calibrate_out_of_fold(y, p, groups=np.repeat(rows, 3))
    )
    near = np.clip(p, 0.02, 0.98)
    at_hand = calibrate_out_of_fold(y, near, "platt")
    np.testing.assert_allclose(
        calibrate_out_of_fold(y, logit(near), "platt", logits=True), at_hand
    )


def test_out_of_fold_refuses_what_leaves_a_fold_without_a_class():
    with pytest.raises(ValueError, match="two rows or more of each class"):
        calibrate_out_of_fold([0, 0, 1], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="two groups"):
        calibrate_out_of_fold([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.1], groups=[0, 1, 1, 2])
    with pytest.raises(ValueError, match="cv must be"):
        calibrate_out_of_fold([0, 1], [0.1, 0.2], cv=1)


# Prior shift


def test_a_known_prevalence_is_bayes_rule():
    shift = am.adjust_prior([0.3], prevalence=0.1, reference_prevalence=0.4)
    factor = (0.1 / 0.9) / (0.4 / 0.6)
    p = np.array([0.0, 0.2, 0.5, 0.99, 1.0])
    odds = factor * p[:-1] / (1 - p[:-1])
    np.testing.assert_allclose(shift.apply(p), [*odds / (1 + odds), 1.0], rtol=1e-14)
    assert (shift.prevalence, shift.reference_prevalence) == (0.1, 0.4)
    assert shift.n_iterations == 0
    np.testing.assert_allclose(shift.apply_logits([900.0]), [900 + math.log(factor)])


def saerens(p, old, steps=200_000):
    """The EM iteration as it is printed."""
    pi = old
    for _ in range(steps):
        odds_p, odds_n = p * pi / old, (1 - p) * (1 - pi) / (1 - old)
        new = float((odds_p / (odds_p + odds_n)).mean())
        if abs(new - pi) < 1e-16:
            break
        pi = new
    return pi


@pytest.mark.parametrize("seed", range(5))
def test_the_prevalence_that_is_found_is_where_em_ends(seed):
    rng = np.random.default_rng(seed)
    p, old = rng.beta(1, 2, 60), rng.uniform(0.2, 0.5)
    ours = am.adjust_prior(p, reference_prevalence=old)
    assert ours.prevalence == pytest.approx(saerens(p, old), rel=1e-9)
    same = am.adjust_prior(logit(p), reference_prevalence=old, logits=True)
    assert same.prevalence == pytest.approx(ours.prevalence, rel=1e-12)
    assert (ours.n, 0 < ours.n_iterations < 50) == (60, True)


def test_a_simulated_shift_is_found_and_corrected():
    """Two normals: p is calibrated for 0.5, the batch has 0.1."""
    rng = np.random.default_rng(0)
    y = rng.random(40_000) < 0.1
    x = 2 * rng.normal(np.where(y, 1.0, -1.0), 1.0)  # log-odds under equal shares
    shift = am.adjust_prior(x, reference_prevalence=0.5, logits=True)
    assert shift.prevalence == pytest.approx(0.1, abs=0.005)
    corrected = shift.apply(x, logits=True)
    assert corrected.mean() == pytest.approx(y.mean(), abs=0.005)
    known = am.adjust_prior(
        x, prevalence=0.1, reference_prevalence=0.5, logits=True
    ).apply(x, logits=True)
    np.testing.assert_allclose(known, expit(x + math.log(1 / 9)), rtol=1e-12)
    for p in (corrected, known):
        slope, intercept = fit_logistic([logit(p)], y.astype(float)).coefficients
        assert slope == pytest.approx(1, abs=0.05)
        assert intercept == pytest.approx(0, abs=0.1)


def test_certain_rows_are_no_trouble():
    p = [0.0, 1.0, 0.3, 0.6]
    found = am.adjust_prior(p, reference_prevalence=0.3)
    assert found.prevalence == pytest.approx(saerens(np.array(p), 0.3), rel=1e-9)
    assert found.apply([0.0, 1.0]).tolist() == [0.0, 1.0]


def test_prior_errors():
    for bad in (0.0, 1.0, -0.2, 1.5, float("nan")):
        with pytest.raises(ValueError, match="prevalence must"):
            am.adjust_prior([0.3], prevalence=bad, reference_prevalence=0.5)
        with pytest.raises(ValueError, match="reference_prevalence must"):
            am.adjust_prior([0.3], prevalence=0.5, reference_prevalence=bad)
    with pytest.raises(ValueError, match="runs to 0: all 3 scores"):
        am.adjust_prior([0.1, 0.2, 0.1], reference_prevalence=0.5)
    with pytest.raises(ValueError, match="runs to 1"):
        am.adjust_prior([0.9, 0.7, 0.8], reference_prevalence=0.5)
    with pytest.raises(ValueError, match="empty"):
        am.adjust_prior([], reference_prevalence=0.5)
    with pytest.raises(ValueError, match="NaN at row 1"):
        am.adjust_prior([0.1, np.nan], reference_prevalence=0.5)
    with pytest.raises(TypeError, match="must be a number"):
        am.adjust_prior([0.1], prevalence="0.3", reference_prevalence=0.5)


# Chains, files, printed forms


def chain():
    return am.calibrate([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4]).then(
        am.adjust_prior([0.5], prevalence=0.1, reference_prevalence=0.5)
    )


def test_a_chain_is_one_map_after_the_other():
    both = chain()
    first, second = both.parts
    assert isinstance(both, ChainedMap)
    assert isinstance(second, PriorShift)
    p = np.array([0.0, 0.1, 0.7, 1.0])
    np.testing.assert_array_equal(both.apply(p), second.apply(first.apply(p)))
    np.testing.assert_allclose(
        both.apply_logits([-700.0, 3.0]),
        second.apply_logits(first.apply_logits([-700.0, 3.0])),
    )
    assert len(both.then(both).parts) == 4
    assert (both.n, both.prevalence) == (4, 0.1)
    with pytest.raises(TypeError, match="Calibrator"):
        both.then(np.sqrt)


def every_kind():
    y, x = sample(n=300, intercept=0.0)
    maps = [am.calibrate(y, expit(x), method) for method in METHODS]
    maps += [chain(), am.adjust_prior([0.2, 0.5, 0.7], reference_prevalence=0.4)]
    classes = am.calibrate([0, 1, 2, 0], softmax(np.diag([1.0, 2, 3, 0])[:, :3]))
    return [*maps, classes]


@pytest.mark.parametrize("fitted", every_kind(), ids=lambda one: one.kind)
def test_files_pickles_and_printed_forms(fitted, tmp_path):
    path = tmp_path / "map.json"
    fitted.save(path)
    loaded = am.Calibrator.load(path)
    assert loaded == fitted
    assert pickle.loads(pickle.dumps(fitted)) == fitted
    if fitted.kind != "class_temperature":
        p = np.random.default_rng(0).random(50)
        np.testing.assert_array_equal(loaded.apply(p), fitted.apply(p))
    assert path.read_text().startswith('{\n "calibrator": ')
    assert [item.name for item in tmp_path.iterdir()] == ["map.json"]
    text = repr(fitted)
    assert fitted.formula in text
    assert len(text.splitlines()) <= 6
    assert "<table" in fitted._repr_html_()
    assert fitted != am.calibrate([0, 1], [0.1, 0.9])
    assert fitted != 3


def test_files_that_are_no_calibrators_are_refused(tmp_path):
    path = tmp_path / "map.json"
    for text, message in (
        ("{", "is no calibrator, or was cut short"),
        ("[1]", "no saved calibrator"),
        ('{"calibrator": "pickle"}', "no calibrator of the kind 'pickle'"),
        ('{"calibrator": "platt", "format": 9}', "version 9 of its format"),
        ('{"calibrator": "platt", "slope": 1}', "missing or unknown keys"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            am.Calibrator.load(path)
    values = am.calibrate([0, 1], [0.1, 0.9], "platt").to_dict()
    for changes in ({"slope": -1.0}, {"slope": "2"}, {"intercept": None}):
        with pytest.raises((TypeError, ValueError), match=next(iter(changes))):
            am.Calibrator.from_dict(values | changes)
    with pytest.raises(ValueError, match="must rise"):
        IsotonicMap(np.array([0.5, 0.2]), np.array([0.1, 0.2]))
    with pytest.raises(TypeError, match="made by calibrate"):
        am.Calibrator()
    with pytest.raises(TypeError, match="cannot be saved"):
        FunctionMap(np.sqrt).to_dict()


def test_plots_of_maps():
    matplotlib = pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ax = chain().plot()
    assert ax.get_xlabel() == "p as given"
    assert chain().plot(ax) is ax
    plt.close("all")


# Bad input

GOOD_Y, GOOD_P = [0, 1, 0, 1], [0.1, 0.8, 0.3, 0.6]


@pytest.mark.parametrize(
    ("y", "p", "options", "message"),
    [
        ([0, 0, 0], [0.1, 0.2, 0.3], {}, "one class only: every label is 0"),
        ([1, 1], [0.1, 0.2], {}, "one class only: every label is 1"),
        (["a", "b"], [0.1, 0.2], {}, "pass pos_label='b' or"),
        (["a", "b"], [0.1, 0.2], {"pos_label": "c"}, "never holds 'c', which"),
        ([0, 2, 1], [0.1, 0.2, 0.3], {}, r"2 at row 1.; labels have two"),
        ([0, None, 1], [0.1, 0.2, 0.3], {}, "no label at row 1"),
        ([0.0, 1.0, np.nan], [0.1, 0.2, 0.3], {}, "no label at row 2"),
        (GOOD_Y, [0.3] * 4, {}, r"all 4 scores are equal \(0.3\)"),
        (GOOD_Y, [0.1, np.nan, 0.3, 0.2], {}, "NaN at row 1"),
        (GOOD_Y, [0.1, 0.2, 0.3], {}, r"y has shape \(4,\) but p has shape \(3,\)"),
        (GOOD_Y, [10.0, 80.0, 30.0, 60.0], {}, "divide by 100"),
        (GOOD_Y, [-2.0, 1.0, -1.0, 0.5], {}, "logits=True"),
        ([], [], {}, "empty"),
        (GOOD_Y, GOOD_P, {"method": "sigmoid"}, "method must be one of 'spline'"),
        (GOOD_Y, GOOD_P, {"sample_weight": [1, 1, -1, 1]}, "is -1 at row 2"),
        (GOOD_Y, GOOD_P, {"sample_weight": [1, 1]}, "sample_weight has shape"),
        (GOOD_Y, GOOD_P, {"sample_weight": [0] * 4}, "all weights are 0"),
        (GOOD_Y, GOOD_P, {"sample_weight": [1, 0, 1, 0]}, "one class only"),
        ([0, 1, 0], [0.3, 0.6, 0.3], {"method": "beta"}, "three distinct scores"),
        ([0, 1, 2], [[0.5, 0.5]] * 3, {}, "3 classes but p has 2 columns"),
        ([0, 1, 1], [[0.5, 0.7]] * 3, {}, "sums to 1.2 in row 0"),
        ([0, 1, 1], [[0.5, 0.5]] * 3, {}, "same score in every row"),
        ([1, 0, 1], [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]], {}, "no temperature fits"),
        ([0, 1], np.eye(2), {"method": "platt"}, "method='temperature'"),
        ([0, 1], np.eye(2), {"pos_label": 1}, "pass that column alone"),
    ],
)
def test_bad_input(y, p, options, message):
    with pytest.raises(ValueError, match=message):
        am.calibrate(y, p, **options)


def test_scores_that_rank_backwards_are_refused():
    y, x = sample(n=200, slope=1.0, intercept=0.0)
    for method in (*METHODS, "identity", "auto"):
        with pytest.raises(ValueError, match=r"rank backwards.*1 - p.*pos_label"):
            am.calibrate(y, 1 - expit(x), method)
    with pytest.raises(ValueError, match="rank backwards"):
        calibrate_out_of_fold(y, -x, logits=True)


def test_scores_that_tell_nothing_give_the_prevalence_and_one_warning():
    y, p = [1, 0, 1, 0], [0.1, 0.2, 0.2, 0.3]
    for method in ("platt", "beta", "spline"):
        with pytest.warns(UserWarning, match="tell nothing about the 4 labels") as seen:
            flat = am.calibrate(y, p, method)
        assert len(seen) == 1
        assert seen[0].filename == __file__
        assert not flat.keeps_apart(-1.0, 1.0)
        level = flat.apply([0.0, 0.2, 1.0])
        if method == "spline":  # four labels move it a little
            assert (np.diff(level) > 0).all()
        else:
            assert (level == level[0]).all()
            assert level[0] == pytest.approx(0.5, abs=1e-12)
    rng = np.random.default_rng(0)  # many labels do
    y, p = rng.random(20_000) < 0.3, rng.beta(1, 4, 20_000)
    y[:200] = p[:200] < np.median(p)
    with pytest.warns(UserWarning, match="tell nothing about the 20,000 labels"):
        flat = am.calibrate(y, p)
    assert flat.apply([0.05, 0.2, 0.6]) == pytest.approx([y.mean()] * 3, abs=0.03)


def test_temperatures_of_scores_without_an_error_stay_finite():
    # A score of one half says nothing, and one of 1e-200 next to nothing.
    for scores in ([-3.0, 0.0], [-1e-200, 1e-200]):
        fitted = am.calibrate([0, 1], scores, "temperature", logits=True)
        assert 0 < fitted.temperature < np.inf
        assert len(fitted.alternatives) == N_DRAWS
    fitted = am.calibrate([0, 1], [-3.0, 0.0], "temperature", logits=True)
    assert fitted.apply(-3.0, logits=True) == pytest.approx(1 / 3)  # Platt's target


def test_a_temperature_cannot_mend_a_constant():
    y, x = sample(n=400, slope=1.0, intercept=-6.0, centre=3.0)
    with pytest.raises(ValueError, match=r"off by a constant.*method='platt'"):
        am.calibrate(y, x, "temperature", logits=True)
    assert am.calibrate(y, x, "platt", logits=True).slope > 0
    assert np.isfinite(calibrate_out_of_fold(y, x, logits=True)).all()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3, 1e6, 1e9])
def test_margins_of_any_scale(scale):
    """A slope of 1 saturates margins in the millions: the fit starts elsewhere."""
    y, x = sample(n=3000)
    wanted = expit(0.6 * np.array([-4.0, -2, 0, 2]) - 1.0)
    fitted = am.calibrate(y, x * scale, logits=True)
    mapped = fitted.apply(np.array([-4.0, -2, 0, 2]) * scale, logits=True)
    np.testing.assert_allclose(mapped, wanted, atol=0.05)


def test_maps_of_the_first_format_are_read():
    old = {"calibrator": "platt", "format": 1, "n": 8, "prevalence": 0.5}
    again = am.Calibrator.from_dict(old | {"slope": 0.6, "intercept": 1.0})
    assert again == PlattMap(0.6, 1.0, n=8, prevalence=0.5)


def test_auto_changes_nothing_where_nothing_can_be_compared():
    y, p = [0] * 50 + [1], np.linspace(0, 1, 51)
    assert am.calibrate(y, p, "auto").method == "identity"


def test_an_isotonic_map_is_as_sure_with_weights_that_add_up_to_1():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = rng.random(300) < p
    usual = am.calibrate(y, p, "isotonic").draws
    for weight in (1 / 300, 1e-90, 5e-300):
        same = am.calibrate(y, p, "isotonic", sample_weight=np.full(300, weight)).draws
        # Ties by rounding make a few points more or fewer
        assert same.std(axis=0).mean() == pytest.approx(
            usual.std(axis=0).mean(), rel=0.1
        )


@pytest.mark.parametrize("method", ["beta", "isotonic", "platt"])
def test_one_row_may_outweigh_all_others(method):
    y, p = [1, 1, 0, 0, 0, 1], [0.9, 0.6, 0.3, 0.1, 0.7, 0.2]
    found = am.calibrate(y, p, method, sample_weight=[2**63, 2, 1, 1, 1, 1])
    assert np.isfinite(found.apply(p)).all()
