"""Scores and standard errors of the routes, bins, and the line of the log-odds."""

import json
import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss

import argmetric as am
from checked import expit, queries, times


@pytest.mark.parametrize("n", [600, 100_000])
def test_standard_errors_are_those_of_means(n):
    """Of accuracies, and of their difference: sd/√n, drawn singly or in blocks."""
    rng = np.random.default_rng(4)
    p = rng.beta(1, 2, n)
    y = rng.random(n) < p
    check = am.calibration_check(y, times(p, 4), "accuracy", n_bootstrap=400)
    half, decide = times(p, 4) >= 0.5, am.decide(times(p, 4), "accuracy").labels == 1
    route = next(one for one in check.routes if one.name == "half")
    assert route.score == np.mean(half == y)
    error = (half == y).std() / math.sqrt(n)
    assert route.standard_error == pytest.approx(error, rel=0.15)
    gain = (half == y) * 1.0 - (decide == y)
    assert route.gain == pytest.approx(gain.mean(), abs=1e-12)
    error = gain.std() / math.sqrt(n)
    assert route.gain_standard_error == pytest.approx(error, rel=0.15, abs=1e-12)


@pytest.mark.parametrize("average", ["groups", "pooled"])
def test_standard_errors_count_groups_not_copies(average):
    """All rows of a group alike: the errors of so many rows, and of their mean."""
    y, p, _ = queries(n_groups=30)
    once = am.calibration_check(y, p, "accuracy")
    rows = np.repeat(np.arange(y.size), 10)
    given = {"groups": rows, "average": average}
    copied = am.calibration_check(y[rows], p[rows], "accuracy", **given)
    of_half = [check.routes[-1].standard_error for check in (once, copied)]
    assert of_half[1] == pytest.approx(of_half[0], rel=0.2)
    assert copied.n_units == y.size
    assert once.n_units is None
    # The line of the log-odds too: ten times the rows, the same errors.
    naive = am.calibration_check(y[rows], p[rows], "accuracy")
    assert copied.slope_standard_error == pytest.approx(
        once.slope_standard_error, rel=0.2
    )
    assert naive.slope_standard_error < once.slope_standard_error / 2


def test_a_loss_is_a_loss_for_a_metric_that_is_minimised():
    y, p, _ = queries(n_groups=100)
    check = am.calibration_check(y, times(p, 5), am.SquaredCountError())
    assert check.score_recalibrated < check.score_as_is
    assert check.route == "recalibrate"
    assert check.loss == check.score_as_is - check.score_recalibrated
    assert check.fit_to_decide == "no"


# Log-odds, and labels of other kinds


def test_log_odds_labels_and_seeds():
    y, p, _ = queries(n_groups=60)
    off = times(p, 3)
    first = am.calibration_check(y, off)
    odds = am.calibration_check(y, np.log(off / (1 - off)), logits=True)
    words = am.calibration_check(np.where(y, "yes", "no"), off, pos_label="yes")
    assert words.to_dict() == first.to_dict()
    assert am.calibration_check(y.tolist(), off.tolist()).to_dict() == first.to_dict()
    assert odds.score_as_is == first.score_as_is
    for name in ("log_loss", "brier", "ece", "expected"):
        assert getattr(odds, name) == pytest.approx(getattr(first, name), rel=1e-6)
    # Probabilities are cut off near 0 and 1, log-odds are not; here that is little.
    for name in ("loss", "slope", "intercept"):
        assert getattr(odds, name) == pytest.approx(getattr(first, name), abs=0.002)
    other = am.calibration_check(y, off, random_state=1)
    assert other.loss_standard_error != first.loss_standard_error
    i = np.arange(60)
    said = (i % 3 > 0) ^ (i % 5 == 0)  # a fifth is wrong
    sure = am.calibration_check(i % 3 > 0, np.where(said, 900.0, -900.0), logits=True)
    assert np.isfinite(sure.log_loss)
    assert sure.log_loss > 100


def test_whole_weights_are_repeated_rows():
    y, p, _ = queries(n_groups=60)
    off = times(p, 3)
    w = np.random.default_rng(6).integers(0, 3, y.size)
    ours = am.calibration_check(y, off, sample_weight=w)
    rows = np.repeat(np.arange(y.size), w)
    repeated = am.calibration_check(y[rows], off[rows])
    assert (ours.slope, ours.intercept) == pytest.approx(
        (repeated.slope, repeated.intercept)
    )
    np.testing.assert_allclose(ours.bins.rate, repeated.bins.rate)
    np.testing.assert_allclose(ours.bins.weight, repeated.bins.weight)
    assert ours.brier == pytest.approx(((off - y) ** 2)[rows].mean())
    assert ours.log_loss == pytest.approx(log_loss(y[rows], off[rows]))
    assert ours.n == (w > 0).sum()
    labels = am.decide(off).labels
    assert ours.score_as_is == pytest.approx(am.evaluate(y[rows], labels[rows]))
    assert any("ignore the weights" in note for note in ours.notes)


# The figures that know of no decision


def test_quality_equals_scikit_learn():
    y, p, _ = queries(n_groups=50)
    check = am.calibration_check(y, p)
    assert check.brier == pytest.approx(brier_score_loss(y, p), rel=1e-12)
    assert check.log_loss == pytest.approx(log_loss(y, p), rel=1e-12)
    rate, mean = calibration_curve(y, p, n_bins=10, strategy="quantile")
    np.testing.assert_allclose(check.bins.rate, rate, atol=0.02)
    np.testing.assert_allclose(check.bins.mean, mean, atol=0.005)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("digits", [1, 2, 12])
def test_bins_hold_every_row_once_and_split_no_tie(digits, weighted):
    rng = np.random.default_rng(digits)
    p = np.round(rng.beta(1, 2, 400), digits)
    y = (rng.random(400) < p) * 1.0
    w = rng.choice([1.0, 2.0, 0.25], 400) if weighted else np.ones(400)
    bins = am.calibration_check(y, p, sample_weight=w, n_bins=8).bins
    assert 1 < len(bins) <= 8
    assert bins.weight.sum() == pytest.approx(w.sum())
    assert (bins.low[1:] > bins.high[:-1]).all()
    assert bins.to_frame("polars").shape == (len(bins), 7)
    ece = 0.0
    for i in range(len(bins)):
        inside = (p >= bins.low[i]) & (p <= bins.high[i])
        mean, rate = (np.average(a[inside], weights=w[inside]) for a in (p, y))
        assert bins.weight[i] == pytest.approx(w[inside].sum())
        assert (bins.mean[i], bins.rate[i]) == pytest.approx((mean, rate), rel=1e-12)
        ece += w[inside].sum() * abs(mean - rate) / w.sum()
        rows = w[inside].sum() ** 2 / (w[inside] ** 2).sum()
        for edge in (bins.rate_low[i], bins.rate_high[i]):  # Wilson: a z-test's edge
            if 0 < edge < 1:
                z = (rate - edge) / math.sqrt(edge * (1 - edge) / rows)
                assert abs(z) == pytest.approx(1.959964, rel=1e-5)
    assert bins.ece == pytest.approx(ece, abs=1e-15)
    if digits == 12 and not weighted:
        np.testing.assert_array_equal(bins.weight, 50)


def test_the_line_equals_scikit_learn_and_its_errors_the_information():
    rng = np.random.default_rng(0)
    x = rng.normal(-0.5, 1, 800)
    y = rng.random(800) < expit((x - 1) / 1.5)
    line = am.calibration_check(y, x, logits=True)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    model.fit(x[:, None], y)
    assert line.slope == pytest.approx(model.coef_[0, 0], rel=1e-9)
    assert line.intercept == pytest.approx(model.intercept_[0], rel=1e-9)
    q = model.predict_proba(x[:, None])[:, 1]
    design = np.stack([x, np.ones(800)])
    information = (design * q * (1 - q)) @ design.T
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    found = line.slope_standard_error, line.intercept_standard_error
    assert found == pytest.approx(errors, rel=1e-6)
    gap = np.array([line.slope - 1, line.intercept])
    assert line.p_value == pytest.approx(math.exp(-gap @ information @ gap / 2))


def test_certain_rows_and_separated_classes_are_said():
    y = np.array([0, 1] * 20)
    p = np.where(np.arange(40) < 20, 0.3 + 0.4 * y, 0.6)
    p[:4] = [1.0, 1.0, 0.0, 0.0]
    check = am.calibration_check(y, p)
    assert check.log_loss == math.inf
    assert check.as_is.n_certain_and_wrong == 2
    assert any("2 rows were certain" in note for note in check.notes)
    assert check.to_dict()["log_loss"] == "inf"
    assert "f1" in check.advice[0]
    assert check.fit_to_forecast == "recalibrated"
    with pytest.warns(UserWarning, match="are these predicted labels"):
        sure = am.calibration_check(
            [0, 1, 0, 1, 1, 0, 1, 0] * 5, [0, 1, 0, 1, 1, 0, 1, 1] * 5
        )
    assert sure.expected == 1.0
    assert sure.fit_to_forecast != "yes"  # 5 of 40 rows were certain and wrong
    apart = am.calibration_check(y, 0.2 + 0.5 * y + 0.01 * (np.arange(40) % 3))
    assert apart.slope == math.inf
    assert any("separate the classes" in note for note in apart.notes)
    assert apart.score_as_is == 1.0
    json.dumps(apart.to_dict(), allow_nan=False)


# Printed forms and errors


def test_printed_forms_and_plot():
    matplotlib = pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    y, p, groups = queries(n_groups=60)
    check = am.calibration_check(y, times(p, 30), groups=groups)
    text = repr(check)
    assert text.startswith("CalibrationCheck: decide with p? no, forecast with p? ")
    assert "\n  decide with p?        no: deciding " in text
    assert "  forecast with p?      recalibrated: as p stands, " in text
    assert "pass reference=(y, p) to decide" in text
    assert text.count(", advised") == 1
    assert "undo_weights(p, ratio=...)" in text.splitlines()[-1]
    assert len(text.splitlines()) == 10
    assert "<table" in check._repr_html_()
    plain = json.loads(json.dumps(check.to_dict(), allow_nan=False))
    assert plain["loss"] == check.loss
    assert plain["fit_to_decide"] == check.fit_to_decide == "no"
    assert plain["fit_to_forecast"] == check.fit_to_forecast == "recalibrated"
    assert plain["advice"] == list(check.advice)
    assert plain["route"] == "recalibrate"
    assert plain["routes"]["recalibrate"]["gain"] == check.loss
    assert list(plain["routes"]) == ["recalibrate", "decide", "tune", "half"]
    assert plain["gap"] == check.gap
    assert len(plain["bins"]["rate"]) == len(check.bins)
    ax = check.plot()
    cost, fit = ax.get_title().splitlines()
    assert cost.startswith(f"Actual F1: {check.score_as_is:.3f} with p as given, ")
    assert fit == "reliable for decisions: no; for forecasts: recalibrated"
    assert ax.get_ylabel() == "Actual share of positives"
    assert check.plot(ax) is ax
    plt.close("all")


FOUR = {"y": [0, 1, 0, 1], "p": [0.1, 0.8, 0.2, 0.7]}
ALIKE = {  # of four groups, the two with negatives are dealt to one fold
    "y": [1] * 5 + [0] * 2 + [1] * 7 + [0] * 2 + [1] * 2,
    "p": np.r_[5:10, 1:3, 4:11, 2:4, 6:8] / 12,
    "groups": np.repeat([0, 1, 2, 3], [7, 4, 5, 2]),
}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": [0, 0, 0], "p": [0.1, 0.2, 0.3]}, "one class only"),
        ({"y": [0, 1, 0], "p": [0.1, 0.2, 0.3]}, "each class in two rows or more"),
        ({"groups": [0, 1, 2, 1]}, "each class in two groups or more"),
        (ALIKE, "rows of both classes outside of every fold"),
        ({"p": [0.3] * 4}, "scores are equal"),
        ({"p": [0.1, np.nan, 0.3, 0.2]}, "NaN at row 1"),
        ({"y": [0, 1, 0]}, "y has shape"),
        ({"p": [10, 80, 30, 60]}, "divide by 100"),
        ({"p": [-1.0, 2.0, -3.0, 1.0]}, "logits=True"),
        ({"y": ["a", "b"], "p": [0.1, 0.2]}, "pos_label"),
        ({"n_bins": 0}, "n_bins must be"),
        ({"n_bootstrap": 1}, "n_bootstrap must"),
        ({"average": "macro"}, "needs groups"),
        ({"y": np.eye(2), "p": [[0.1, 0.8], [0.2, 0.7]]}, "a matrix needs average"),
        ({"y": [0, 1] * 9, "p": [0.8, 0.3, 0.7, 0.2, 0.9, 0.4] * 3}, "rank backwards"),
        ({"y": np.eye(3), "p": sparse.csr_array(np.eye(3))}, "dense"),
    ],
)
def test_bad_input(given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        am.calibration_check(**FOUR | given)
