"""Calibration maps against scikit-learn, against their optimality, and after a file."""

from __future__ import annotations

import json
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import argmetric as am
import strategies as nasty
from argmetric._calibrate import (
    BetaMap,
    ChainedMap,
    ClassTemperatureMap,
    FunctionMap,
    IsotonicMap,
    PlattMap,
    PriorShift,
    TemperatureMap,
    calibrate_out_of_fold,
    fit_logistic,
    fold_numbers,
)
from argmetric._calibrate._reference import row_count

METHODS = ("platt", "beta", "temperature", "isotonic")
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
    same = am.calibrate(y, expit(x), "platt", sample_weight=w)
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
    a, b, c = unpenalised([np.log(p), -np.log1p(-p)], platt_targets(y, w), w)
    ours = am.calibrate(y, p, "beta", sample_weight=w)
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
    fine = np.linspace(0, 1, 5001)
    np.testing.assert_allclose(ours.apply(fine), theirs.predict(fine), atol=1e-13)
    full = sklearn_map(
        Probabilities(), p[:, None], y, "isotonic", fine[:, None], sample_weight=w
    )
    np.testing.assert_allclose(ours.apply(fine), full[:, 1], atol=1e-13)


def test_the_fit_without_smoothing_equals_theirs():
    y, x = sample(n=300)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    model.fit(x[:, None], y)
    slope, intercept = fit_logistic([x], y.astype(float))
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


@few
@given(references())
def test_platt_is_where_the_gradient_vanishes(reference):
    """The loss is convex: no gradient, no better map."""
    y, p = reference
    fitted = quiet(am.calibrate, y, p, "platt")
    if fitted is None or fitted.slope == 0:
        return
    x = logit(np.clip(p, 2.0**-53, 1 - 2.0**-53))
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
    clipped = np.clip(p, 2.0**-53, 1 - 2.0**-53)
    columns = np.stack([np.log(clipped), -np.log1p(-clipped), np.ones(p.size)])
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
    assert free[1] < 0
    fitted = am.calibrate(y, p, "beta")
    assert fitted.b == 0.0
    a, c = fit_logistic([np.log(p)], platt_targets(y.astype(int), np.ones(p.size)))
    assert (fitted.a, fitted.c) == pytest.approx((a, c), rel=1e-9)
    ends = [expit(-53 * math.log(2) * a + c), expit(c)]  # 0 stands at 2^-53
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
    np.testing.assert_allclose(
        PlattMap(2.0, 1.0).apply(p),
        [*[math.e * 2.0**-106] * 2, expit(2 * math.log(0.25) + 1), expit(1), 1],
        rtol=1e-13,
    )
    np.testing.assert_allclose(
        BetaMap(1.0, 2.0, 0.5).apply(p)[2], expit(math.log(0.2 / 0.64) + 0.5)
    )
    far = math.exp(0.5) * 2.0**-53
    ends = BetaMap(1.0, 2.0, 0.5).apply([0.0, 1.0])
    assert ends == pytest.approx([far, 1], rel=1e-9, abs=0)
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


# auto


def test_auto_is_platt_on_small_references():
    y, x = sample(n=999)
    assert am.calibrate(y, expit(x)).method == "platt"
    y, x = sample(n=20_000, intercept=-8)
    assert y.sum() < 100
    assert am.calibrate(y, expit(x)).method == "platt"


def test_auto_keeps_platt_where_it_is_right_and_leaves_it_where_it_is_not():
    y, x = sample(n=8000)
    assert am.calibrate(y, expit(x)).method == "platt"
    rng = np.random.default_rng(7)
    p = rng.uniform(0.001, 0.999, 8000)
    one_sided = rng.random(p.size) < expit(3 * np.log(p) - 0.3 * np.log1p(-p) + 2)
    assert am.calibrate(one_sided, p).method == "beta"
    steps = rng.random(p.size) < np.where(p < 0.3, 0.05, np.where(p < 0.6, 0.5, 0.55))
    assert am.calibrate(steps, p).method == "isotonic"
    coarse = np.where(p < 0.5, 0.25, 0.75)
    assert am.calibrate(rng.random(p.size) < coarse, coarse).method == "platt"


def test_auto_compares_on_a_thinned_reference_that_stands_for_the_whole():
    from argmetric._calibrate._core import thinned
    from argmetric._calibrate._reference import Reference

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
    flipped = am.calibrate(words, 1 - p, pos_label="ham")
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


def test_a_matrix_gets_one_map_for_all_its_cells():
    y, x = sample(n=600)
    fitted = am.calibrate(y.reshape(200, 3), expit(x).reshape(200, 3))
    assert fitted == am.calibrate(y, expit(x))
    w = np.random.default_rng(9).uniform(1, 2, 200)
    rows = am.calibrate(y.reshape(200, 3), expit(x).reshape(200, 3), sample_weight=w)
    assert rows == am.calibrate(y, expit(x), sample_weight=np.repeat(w, 3))


def test_certain_scores_in_the_reference_stand_at_a_distance():
    y = [0, 1, 0, 1, 0, 1]
    p = np.array([0.0, 0.2, 0.3, 0.6, 1.0, 1.0])
    away = np.clip(p, 2.0**-53, 1 - 2.0**-53)
    assert am.calibrate(y, p) == am.calibrate(y, away)
    x = logit(away)
    x[[0, 4, 5]] = [-np.inf, np.inf, np.inf]
    infinite = am.calibrate(y, x, logits=True)
    assert infinite.slope == pytest.approx(am.calibrate(y, p).slope, rel=1e-9)
    x[1] = -100.0
    assert am.calibrate(y, x, logits=True) == am.calibrate(
        y, np.clip(x, -100, 100), logits=True
    )


@pytest.mark.parametrize("method", ["platt", "beta", "temperature", "isotonic"])
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
    plain = am.calibrate(y, expit(x))
    for size in (1 / 40, 1e-300):  # scaled to a sum of 1, or smaller still
        scaled = am.calibrate(y, expit(x), sample_weight=np.full(40, size))
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
    np.testing.assert_allclose(
        calibrate_out_of_fold(y, x, logits=True), calibrate_out_of_fold(y, p)
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
        slope, intercept = fit_logistic([logit(p)], y.astype(float))
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
    assert "<table>" in fitted._repr_html_()
    assert fitted != am.calibrate([0, 1], [0.1, 0.9])
    assert fitted != 3


def test_files_that_are_no_calibrators_are_refused(tmp_path):
    path = tmp_path / "map.json"
    for text, message in (
        ("{", "is no calibrator, or was cut short"),
        ("[1]", "no saved calibrator"),
        ('{"calibrator": "pickle"}', "no calibrator of the kind 'pickle'"),
        ('{"calibrator": "platt", "format": 9}', "format 9"),
        ('{"calibrator": "platt", "slope": 1}', "missing or unknown keys"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            am.Calibrator.load(path)
    values = am.calibrate([0, 1], [0.1, 0.9]).to_dict()
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
        ([0, 0, 0], [0.1, 0.2, 0.3], {}, "one class only: all 3 rows are negative"),
        ([1, 1], [0.1, 0.2], {}, "one class only: all 2 rows are positive"),
        (["a", "b"], [0.1, 0.2], {}, "say with pos_label"),
        (["a", "b"], [0.1, 0.2], {"pos_label": "c"}, "'c' is not among the labels"),
        ([0, 2, 1], [0.1, 0.2, 0.3], {}, "y is 2 at row 1; labels are 0 or 1"),
        ([0, None, 1], [0.1, 0.2, 0.3], {}, "no label at row 1"),
        ([0.0, 1.0, np.nan], [0.1, 0.2, 0.3], {}, "no label at row 2"),
        (GOOD_Y, [0.3] * 4, {}, r"all 4 scores are equal \(0.3\)"),
        (GOOD_Y, [0.1, np.nan, 0.3, 0.2], {}, "NaN at row 1"),
        (GOOD_Y, [0.1, 0.2, 0.3], {}, r"y has shape \(4,\) but p has shape \(3,\)"),
        (GOOD_Y, [10.0, 80.0, 30.0, 60.0], {}, "divide by 100"),
        (GOOD_Y, [-2.0, 1.0, -1.0, 0.5], {}, "logits=True"),
        ([], [], {}, "empty"),
        (GOOD_Y, GOOD_P, {"method": "sigmoid"}, "method must be one of 'auto'"),
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
    for method in METHODS:
        with pytest.raises(ValueError, match=r"rank backwards.*1 - p.*pos_label"):
            am.calibrate(y, 1 - expit(x), method)
    with pytest.raises(ValueError, match="rank backwards"):
        calibrate_out_of_fold(y, -x, logits=True)


def test_scores_that_tell_nothing_give_the_prevalence_and_one_warning():
    y, p = [1, 0, 1, 0], [0.1, 0.2, 0.2, 0.3]
    for method in ("platt", "beta"):
        with pytest.warns(UserWarning, match="tell nothing about the 4 labels") as seen:
            flat = am.calibrate(y, p, method)
        assert len(seen) == 1
        assert seen[0].filename == __file__
        np.testing.assert_allclose(flat.apply([0.0, 0.2, 1.0]), 0.5, rtol=1e-12)
        assert not flat.strict


def test_a_temperature_cannot_mend_a_constant():
    y, x = sample(n=400, slope=1.0, intercept=-6.0, centre=3.0)
    with pytest.raises(ValueError, match=r"off by a constant.*method='platt'"):
        am.calibrate(y, x, "temperature", logits=True)
    assert am.calibrate(y, x, "platt", logits=True).slope > 0
    assert np.isfinite(calibrate_out_of_fold(y, x, logits=True)).all()
