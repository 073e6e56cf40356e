"""The choice of a method, labels and weights, and maps out of fold."""

import math

import numpy as np
import pytest

import argmetric as am
from argmetric._calibrate.calibrate import calibrate_out_of_fold, fold_numbers
from argmetric._calibrate.reference import check_reference
from calibrated import METHODS, NEW, expit, logit, sample
from slow import SLOW


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
    for seed in range(3 if SLOW else 1):
        for slope, intercept, method in (
            (1.0, 0.0, "identity"),
            (0.4, 0.0, "temperature"),
            (0.4, -1.0, "platt"),
        ):
            y, x = sample(2000, slope, intercept, seed)
            assert am.calibrate(y, expit(x), "auto").method == method


@pytest.mark.parametrize("seed", range(6))
def test_auto_takes_no_map_that_did_worse_than_none(seed):
    """Few rows of scores that are nearly right: most maps do harm out of fold."""
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 2, 60)
    y = rng.random(60) < np.round(p, 1)
    chosen = am.calibrate(y, p, "auto").method
    if chosen != "identity":
        check = am.calibration_check(y, p, method=chosen, n_bootstrap=2)
        assert check.recalibrated.log_loss <= check.log_loss + 1e-12


# Labels and weights


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


def test_a_rule_is_no_calibrator(tmp_path):
    path = tmp_path / "rule.json"
    am.tune([0, 1, 0, 1], [0.1, 0.9, 0.3, 0.6]).save(path)
    with pytest.raises(ValueError, match="no saved calibrator, but 'argmetric rule'"):
        am.Calibrator.load(path)
    with pytest.raises(FileNotFoundError, match=r"/no'$"):
        am.calibrate([0, 1, 0, 1], [0.1, 0.9, 0.3, 0.6]).save(tmp_path / "no" / "x")


# Out of fold


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


def out_of_fold(y, p, weight=None, groups=None):
    reference = check_reference(y, p, weight, logits=False)
    return calibrate_out_of_fold(reference, p, weight=weight, groups=groups)


def test_out_of_fold_with_weights_groups_and_matrices():
    y, x = sample(n=240)
    p, w = expit(x), np.random.default_rng(1).integers(0, 3, 240)
    ours = out_of_fold(y, p, w)
    part = w > 0
    np.testing.assert_allclose(ours[part], out_of_fold(y[part], p[part], w[part]))
    whole = am.calibrate(y, p, sample_weight=w)
    np.testing.assert_allclose(ours[~part], whole.apply(p[~part]))
    rows = np.arange(80)
    matrix = out_of_fold(y.reshape(80, 3), p.reshape(80, 3), groups=rows)
    same = out_of_fold(y, p, groups=np.repeat(rows, 3))
    np.testing.assert_array_equal(matrix.ravel(), same)


def test_auto_compares_some_of_very_many_rows():
    y, x = sample(n=150_000, intercept=-1.0)
    assert am.calibrate(y, x, "auto", logits=True).method == "platt"
