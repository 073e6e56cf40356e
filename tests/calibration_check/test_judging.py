"""Scores and standard errors of the routes, bins, and the line of the log-odds."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss

import argmetric as am
import strategies as nasty
from argmetric._calibrate.calibrate import calibrate_out_of_fold
from argmetric._calibrate.reference import Reference
from argmetric._calibration_check._bins import (
    calibration_line,
    reliability_bins,
    wilson,
)
from argmetric._calibration_check._routes import (
    Case,
    judge,
    units_of,
)
from argmetric._input.layout import lay_out
from checked import expit, queries, times


def twin(metric, units, y, labels, weights):
    """The score by a loop over units."""
    if not units.per_unit:
        segment = np.zeros(y.size, int) if units.segment is None else units.segment
        groups = [segment == s for s in range(units.n_segments)]
    else:
        groups = [units.unit == u for u in range(units.n_units)]
    values = []
    for group in groups:
        w = weights[group]
        if w.sum() == 0:
            continue
        tp = (w * (labels & y)[group]).sum()
        k, t = (w * labels[group]).sum(), (w * y[group]).sum()
        values.append(float(metric.value(tp, k, t, w.sum())))
    values = [value for value in values if not math.isnan(value)]
    return sum(values) / len(values) if values else math.nan


KINDS = ("rows", "groups", "pooled", "samples", "macro", "micro")


@st.composite
def cases(draw):
    kind = draw(st.sampled_from(KINDS))
    bits = st.lists(st.booleans(), min_size=12, max_size=12)
    y, first, second = (np.array(draw(bits)) for _ in range(3))
    weights = np.array(
        draw(st.lists(st.integers(0, 3), min_size=12, max_size=12)), float
    )
    groups = np.array(draw(st.lists(st.integers(0, 3), min_size=12, max_size=12)))
    name = draw(st.sampled_from(["f1", "precision", "accuracy", "mcc"]))
    zero = draw(st.sampled_from([0.0, 1.0, math.nan]))
    metric = am.get_metric(name, zero_division=zero)
    return kind, metric, y, first, second, weights, groups


def laid_out(kind, groups):
    p = np.linspace(0.1, 0.9, 12)
    if kind in ("samples", "macro", "micro"):
        return lay_out(p.reshape(4, 3), average=kind), None
    if kind == "rows":
        return lay_out(p), None
    return lay_out(p, groups=groups, average=kind), groups


@given(cases())
def test_scores_equal_a_count_row_by_row(case):
    kind, metric, y, first, second, weights, groups = case
    if not weights.any():
        weights[:] = 1.0
    layout, groups = laid_out(kind, groups)
    units = units_of(layout, groups)
    judged = judge(
        Case(metric, units, y, (first, second), weights), 3, np.random.default_rng(0)
    )
    assert judged.samples.shape == (3, 2)
    for ours, labels in zip(judged.scores, (first, second), strict=True):
        theirs = twin(metric, units, y, labels, weights)
        assert ours == pytest.approx(theirs, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("kind", ["rows", "groups", "pooled", "samples", "macro"])
def test_standard_errors_equal_a_bootstrap_unit_by_unit(kind):
    """Units drawn with replacement, copied, and scored again."""
    rng = np.random.default_rng(3)
    y, first, second = (rng.random(12) < q for q in (0.5, 0.6, 0.4))
    weights = rng.uniform(0.5, 2, 12)
    layout, groups = laid_out(kind, np.arange(12) // 2)
    units, metric = units_of(layout, groups), am.FBeta(1)
    judged = judge(
        Case(metric, units, y, (first, second), weights), 50, np.random.default_rng(7)
    )
    drawn = np.random.default_rng(7).multinomial(
        units.n_units, np.full(units.n_units, 1 / units.n_units), 50
    )
    singles, differences = [], []
    unit = np.arange(12) if units.unit is None else units.unit
    for counts in drawn:
        chosen = np.repeat(np.arange(units.n_units), counts)
        parts = [np.flatnonzero(unit == u) for u in chosen]
        rows = np.concatenate(parts)
        copy = np.repeat(np.arange(len(parts)), [part.size for part in parts])
        again = type(units)(
            copy,
            None if units.segment is None else units.segment[rows],
            int(counts.sum()),
            units.n_segments,
            units.per_unit,
        )
        scores = [
            twin(metric, again, y[rows], labels[rows], weights[rows])
            for labels in (first, second)
        ]
        singles.append(scores[0])
        differences.append(scores[1] - scores[0])
    assert judged.error(0) == pytest.approx(np.std(singles, ddof=1), rel=1e-12)
    for i, j in ((0, 1), (1, 0)):
        assert judged.difference_error(i, j) == pytest.approx(
            np.std(differences, ddof=1), rel=1e-12
        )


@given(cases(), st.integers(1, 5))
def test_any_number_of_label_sets_is_judged_as_each_alone(case, count):
    kind, metric, y, first, second, weights, groups = case
    weights = weights + 1.0
    layout, groups = laid_out(kind, groups)
    units = units_of(layout, groups)
    sets = [first, second, first | second, first & second, ~first][:count]
    every = judge(
        Case(metric, units, y, tuple(sets), weights), 4, np.random.default_rng(0)
    )
    assert every.scores.shape == (count,)
    for i, labels in enumerate(sets):
        case = Case(metric, units, y, (labels,), weights)
        alone = judge(case, 4, np.random.default_rng(0))
        np.testing.assert_array_equal(alone.scores, every.scores[i : i + 1])
        np.testing.assert_array_equal(alone.samples[:, 0], every.samples[:, i])


def test_standard_errors_in_blocks_are_those_of_single_rows():
    """The mean of 100,000 rows: sd/√n, whether drawn singly or in 1,024 blocks."""
    rng = np.random.default_rng(4)
    y, first, second = (rng.random(100_000) < q for q in (0.5, 0.7, 0.4))
    units = units_of(lay_out(np.full(100_000, 0.5)), None)
    case = Case(am.Accuracy(), units, y, (first, second), None)
    judged = judge(case, 400, np.random.default_rng(0))
    difference = (second == y).astype(float) - (first == y)
    assert judged.difference_error(1, 0) == pytest.approx(
        difference.std() / math.sqrt(100_000), rel=0.15
    )


@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
def test_matrices_are_judged_as_evaluate_does(average):
    rng = np.random.default_rng(5)
    P = rng.beta(1, 3, (120, 4))
    Y = rng.random(P.shape) < P
    off = times(P, 4)
    check = am.calibration_check(Y, off, average=average, zero_division=1.0)
    mended = calibrate_out_of_fold(Y, off, groups=np.arange(120))
    for score, p in ((check.score_as_is, off), (check.score_recalibrated, mended)):
        decision = am.decide(p, average=average, zero_division=1.0)
        assert score == pytest.approx(
            am.evaluate(Y, decision.labels, average=average, zero_division=1.0)
        )
    assert check.n_units == 120
    assert check.expected == am.decide(off, average=average, zero_division=1.0).expected


def test_groups_are_judged_as_evaluate_does():
    y, p, groups = queries(n_groups=50)
    shuffled = np.random.default_rng(0).permutation(y.size)
    for rows in (slice(None), shuffled):
        check = am.calibration_check(y[rows], times(p, 5)[rows], groups=groups[rows])
        decision = am.decide(times(p, 5), groups=groups, average="groups")
        realised = am.evaluate(y, decision.labels, groups=groups)
        assert check.realised == pytest.approx(realised)
        assert check.expected == pytest.approx(decision.expected)
    pooled = am.calibration_check(y, times(p, 5), groups=groups, average="pooled")
    alone = am.calibration_check(y, times(p, 5))
    assert pooled.score_as_is == alone.score_as_is
    assert pooled.n_units == 50
    assert alone.n_units is None


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
    reach = Reference(off[rows], y[rows], None, False).reach
    x = np.clip(np.log(off / (1 - off)), -reach, reach)
    line = calibration_line(x[rows], y[rows], None, None)
    assert (ours.slope, ours.intercept) == pytest.approx((line.slope, line.intercept))
    assert ours.brier == pytest.approx(((off - y) ** 2)[rows].mean())
    assert ours.log_loss == pytest.approx(log_loss(y[rows], off[rows]))
    bins = reliability_bins(off[rows], y[rows] * 1.0, np.ones(rows.size), 10)
    np.testing.assert_allclose(ours.bins.rate, bins.rate)
    np.testing.assert_allclose(ours.bins.weight, bins.weight)
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
    mended = calibrate_out_of_fold(y, p)
    assert check.recalibrated.log_loss == pytest.approx(log_loss(y, mended), rel=1e-12)


@given(nasty.probability_vectors(max_size=14), st.integers(1, 6), st.randoms())
def test_bins_hold_every_row_once_and_split_no_tie(p, n_bins, random):
    y = np.array([random.random() < 0.5 for _ in p], float)
    w = np.array([random.choice([1.0, 2.0, 0.25]) for _ in p])
    bins = reliability_bins(p, y, w, n_bins)
    assert 1 <= len(bins) <= n_bins
    assert bins.weight.sum() == pytest.approx(w.sum())
    assert (bins.low[1:] > bins.high[:-1]).all()
    ece = 0.0
    for i in range(len(bins)):
        inside = (p >= bins.low[i]) & (p <= bins.high[i])
        mean, rate = (np.average(a[inside], weights=w[inside]) for a in (p, y))
        assert bins.weight[i] == pytest.approx(w[inside].sum())
        assert bins.mean[i] == pytest.approx(mean, rel=1e-12, abs=1e-300)
        assert bins.rate[i] == pytest.approx(rate)
        assert bins.rate_low[i] - 1e-12 <= rate <= bins.rate_high[i] + 1e-12
        ece += w[inside].sum() * abs(mean - rate) / w.sum()
    assert bins.ece == pytest.approx(ece, abs=1e-15)


def test_bins_of_distinct_scores_have_equal_mass():
    rng = np.random.default_rng(8)
    p = rng.random(1000)
    bins = reliability_bins(p, (p > 0.5) * 1.0, np.ones(1000), 8)
    np.testing.assert_array_equal(bins.weight, 125)
    assert bins.to_frame("polars").shape == (8, 7)


def test_wilson_intervals():
    """Where the normal test of a share is at its edge."""
    rate, n = np.array([0.0, 0.3, 1.0]), np.array([10.0, 50.0, 7.0])
    low, high = wilson(rate, n)
    for edge in (low[1], high[1]):
        z = (0.3 - edge) / math.sqrt(edge * (1 - edge) / 50)
        assert abs(z) == pytest.approx(1.959964, rel=1e-6)
    assert (low[0], high[2]) == (0.0, 1.0)
    assert high[0] == pytest.approx(1.959964**2 / (10 + 1.959964**2), rel=1e-6)


def test_the_line_equals_scikit_learn_and_its_errors_the_information():
    y, p, _ = queries(n_groups=40)
    x = np.log(p / (1 - p)) * 1.5 + 1
    line = calibration_line(x, y, None, None)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    model.fit(x[:, None], y)
    assert line.slope == pytest.approx(model.coef_[0, 0], rel=1e-9)
    assert line.intercept == pytest.approx(model.intercept_[0], rel=1e-9)

    def loss(slope, intercept):
        eta = slope * x + intercept
        return (np.logaddexp(0, eta) - y * eta).sum()

    h, at = 1e-4, (line.slope, line.intercept)
    hessian = np.empty((2, 2))
    for i in range(2):
        for j in range(2):
            di, dj = np.eye(2)[i] * h, np.eye(2)[j] * h
            hessian[i, j] = (
                loss(*(at + di + dj))
                - loss(*(at + di - dj))
                - loss(*(at - di + dj))
                + loss(*(at - di - dj))
            ) / (4 * h * h)
    covariance = np.linalg.inv(hessian)
    errors = np.sqrt(np.diag(covariance))
    assert (line.slope_error, line.intercept_error) == pytest.approx(errors, rel=1e-4)
    gap = np.array([line.slope - 1, line.intercept])
    distance = gap @ np.linalg.inv(covariance) @ gap
    assert line.p_value == pytest.approx(math.exp(-distance / 2), rel=0.05)


def test_errors_of_the_line_count_groups_not_copies():
    """Each row ten times in its group: ten times the rows, the same errors."""
    rng = np.random.default_rng(9)
    x = rng.normal(0, 2, 500)
    y = rng.random(500) < expit(x)
    once = calibration_line(x, y, None, np.arange(500))
    rows = np.repeat(np.arange(500), 10)
    copied = calibration_line(x[rows], y[rows], None, rows)
    naive = calibration_line(x[rows], y[rows], None, None)
    assert copied.slope_error == pytest.approx(once.slope_error, rel=1e-9)
    assert naive.slope_error < once.slope_error / 2
    plain = calibration_line(x, y, None, None)
    assert once.slope_error == pytest.approx(plain.slope_error, rel=0.2)


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
    assert text.startswith("CalibrationCheck\n  decide with p?        no: deciding ")
    assert "  forecast with p?      recalibrated: as p stands, " in text
    assert "pass reference=(y, p) to decide" in text
    assert text.count(", advised") == 1
    assert "undo_weights(p, ratio=...)" in text.splitlines()[-1]
    assert len(text.splitlines()) == 18
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
    assert fit == "reliable for decisions: no; for forecasts: after recalibration"
    assert ax.get_ylabel() == "Actual share of positives"
    assert check.plot(ax) is ax
    plt.close("all")


@pytest.mark.parametrize(
    ("y", "p", "options", "message"),
    [
        ([0, 0, 0], [0.1, 0.2, 0.3], {}, "one class only"),
        ([0, 1, 0], [0.1, 0.2, 0.3], {}, "two rows or more of each class"),
        ([0, 1, 0, 1], [0.3] * 4, {}, "scores are equal"),
        ([0, 1, 0, 1], [0.1, np.nan, 0.3, 0.2], {}, "NaN at row 1"),
        ([0, 1, 0], [0.1, 0.2, 0.3, 0.4], {}, "y has shape"),
        ([0, 1, 0, 1], [10, 80, 30, 60], {}, "divide by 100"),
        ([0, 1, 0, 1], [-1.0, 2.0, -3.0, 1.0], {}, "logits=True"),
        (["a", "b"], [0.1, 0.2], {}, "pos_label"),
        ([0, 1, 0, 1], [0.1, 0.8, 0.2, 0.7], {"n_bins": 0}, "n_bins must be"),
        ([0, 1, 0, 1], [0.1, 0.8, 0.2, 0.7], {"n_bootstrap": 1}, "n_bootstrap must"),
        ([0, 1, 0, 1], [0.1, 0.8, 0.2, 0.7], {"average": "macro"}, "needs groups"),
        ([[0, 1], [1, 0]], [[0.1, 0.8], [0.2, 0.7]], {}, "a matrix needs average"),
        ([0, 1] * 9, [0.8, 0.3, 0.7, 0.2, 0.9, 0.4] * 3, {}, "rank backwards"),
    ],
)
def test_bad_input(y, p, options, message):
    with pytest.raises(ValueError, match=message):
        am.calibration_check(y, p, **options)


def test_sparse_scores_are_refused():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="dense"):
        am.calibration_check(np.eye(3), sparse.csr_array(np.eye(3)), average="samples")


def test_a_promise_that_is_met_exactly_is_kept():
    rng = np.random.default_rng(1)
    p = rng.beta(0.5, 4, 3000)
    check = am.calibration_check(rng.random(3000) < p, p**0.5, "recall")
    assert check.score_recalibrated == 1.0
    assert check.expected_recalibrated == pytest.approx(1.0, rel=1e-14)
    assert check.fit_to_forecast == "recalibrated"


def test_equal_weights_are_none():
    rng = np.random.default_rng(1)
    p = rng.beta(0.5, 4, 3000)
    y = rng.random(3000) < p
    plain = am.calibration_check(y, p)
    assert am.calibration_check(y, p, sample_weight=np.full(3000, 7.0)).to_dict() == (
        plain.to_dict()
    )
