"""Forecasts that learn from held-out rows of the reference, against plain twins."""

import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

import argmetric as am
from argmetric.classes import _forecast, _held_out
from argmetric.classes._calibrators import apply_temperature
from argmetric.classes._fit import MatrixLoss, fit_class_matrix, matrix_loss
from argmetric.classes._held_out import held_out_probabilities
from argmetric.classes._label_model import (
    N_LEVELS,
    PRIOR_SD,
    WIDER,
    fit_label_model,
    labels_of_nearest,
)
from argmetric.metrics import get_class_metric
from calibrated import softmax


def simulated(rng, m, n, count=6):
    """Scores of a model that is far too sure of some classes, with labels."""
    z = rng.normal(0, 1.2, (m + n, count)) - np.linspace(0, 2.5, count)
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    p = softmax(3.0 * (z + rng.normal(0, 0.8, z.shape)))
    return y[:m], p[:m], y[m:], p[m:]


def table(m, n_classes, votes=None):
    """Labelled rows of such a model, or of a vote."""
    rng = np.random.default_rng(0)
    y, p, _, _ = simulated(rng, m, 0, n_classes)
    if votes:
        p = np.array([rng.multinomial(votes, row) for row in p]) / votes
    return y, p


def without_row(loss, theta, i):
    """Logits of row i after one dense Newton step of the loss without it."""
    w = loss.w.copy()
    w[i] = 0.0
    other = MatrixLoss(loss.x, loss.low, loss.code, w, loss.centre)
    step = np.linalg.solve(other.curvature(theta, with_matrix=True), other(theta)[1])
    return other.probabilities(theta - step, slice(i, i + 1))[0][0]


@pytest.mark.parametrize("kind", ["probabilities", "votes", "logits"])
def test_held_out_rows_are_those_of_dense_newton_steps(kind):
    y, p = table(80, 3, votes=20 if kind == "votes" else None)
    logits = kind == "logits"
    p = np.log(p) if logits else p
    found = fit_class_matrix(y, p, logits=logits)
    held = held_out_probabilities(found, y, p, logits=logits)
    inside = p if logits else apply_temperature(p, found.temperature)
    loss, _ = matrix_loss(y, inside, np.ones(80), logits=logits)
    theta = np.r_[found.matrix.ravel(), found.biases, found.slope - 1, found.lump]
    for i in range(0, 80, 7):
        assert held[i] == pytest.approx(without_row(loss, theta, i), abs=1e-5)


def test_held_out_rows_are_near_to_refits():
    y, p = table(m=150, n_classes=3)
    found = fit_class_matrix(y, p, logits=False)
    held = held_out_probabilities(found, y, p, logits=False)
    rows = np.arange(0, 150, 8)
    refits = []
    for i in rows:
        kept = np.arange(150) != i
        other = fit_class_matrix(y[kept], p[kept], logits=False, draw=False)
        refits.append(other.apply(p[i : i + 1])[0])
    off = np.abs(held[rows] - refits).max(axis=1)
    moved = np.abs(found.apply(p[rows]) - refits).max(axis=1)
    assert np.median(off) < 0.1 * np.median(moved)
    assert off.max() < 0.02
    own = held[np.arange(150), y]
    assert np.log(own).mean() < np.log(found.apply(p)[np.arange(150), y]).mean()


def test_many_parameters_are_held_out_by_folds(monkeypatch):
    monkeypatch.setattr(_held_out, "MOST_DRAWN_TOGETHER", 0)
    y, p = table(m=60, n_classes=3)
    found = fit_class_matrix(y, p, logits=False)
    held = held_out_probabilities(found, y, p, logits=False)
    fold = np.arange(60) % 5 == 2
    other = fit_class_matrix(y[~fold], p[~fold], logits=False, draw=False)
    assert held[fold] == pytest.approx(other.apply(p[fold]), abs=1e-12)
    one = held_out_probabilities(found, y[:1], p[:1], logits=False)
    assert one == pytest.approx(found.apply(p[:1]))


def test_large_references_are_thinned(monkeypatch):
    """So many rows that none of them matters, and more than are needed for labels."""
    y, p = table(90, 3)
    found = fit_class_matrix(y, p, logits=False)
    monkeypatch.setattr(_held_out, "ENOUGH_ROWS", 90 / 12)
    held = held_out_probabilities(found, y, p, logits=False)
    assert (held == found.apply(p)).all()
    held = held_out_probabilities(found, y[:89], p[:89], logits=False)
    assert (held != found.apply(p[:89])).any()
    monkeypatch.setattr(_forecast, "MOST_LABELLED", 45)
    rng = np.random.default_rng(5)
    new, labels = rng.dirichlet(np.ones(3), 30), rng.integers(3, size=30)
    thinned = am.classes.forecast(new, labels, reference=(y, p))
    monkeypatch.setattr(_forecast, "MOST_LABELLED", 90)
    whole = am.classes.forecast(new, labels, reference=(y, p))
    assert thinned.mean == pytest.approx(whole.mean, abs=0.1)
    assert thinned.mean != whole.mean


def plain_b(theta, count, sizes):
    """B of the docstring, cell by cell."""
    u, h, m = theta[0], theta[1 : 1 + count], theta[1 + count : 1 + 2 * count]
    b = np.empty((count, count))
    for c in range(count):
        for a in range(count):
            b[c, a] = u + h[a] if c == a else m[c]
            if sizes is not None:
                b[c, a] -= theta[-1] * sizes[c, a]
    return b


@pytest.mark.parametrize("metric", ["gmean", "quadratic_kappa"])
def test_the_model_of_labels_is_the_likeliest(metric):
    y, p = table(m=70, n_classes=4)
    labels = (p * [1, 1, 2, 2]).argmax(axis=1)
    of_classes = get_class_metric(metric, n_classes=4)
    sizes = None
    if metric == "quadratic_kappa":
        away = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
        errors = p[labels[:, None] != np.arange(4)].sum()
        mean = (p * away[labels] ** 2).sum() / errors
        sizes = away / math.sqrt(mean)
    model = fit_label_model(y, p, labels, of_classes)

    def loss(theta):
        b = plain_b(theta, 4, sizes)
        total = (theta**2).sum() / (2 * PRIOR_SD**2)
        for row, code, a in zip(p, y, labels, strict=True):
            z = np.log(row) + b[:, a]
            total += np.logaddexp.reduce(z) - z[code]
        return total

    found = minimize(loss, np.zeros(model.mode.size), options={"gtol": 1e-7})
    assert model.mode == pytest.approx(found.x, abs=1e-5)
    slope = approx_fprime(model.mode, loss, 1e-6)
    assert np.abs(slope).max() < 1e-3
    bend = approx_fprime(model.mode, lambda t: approx_fprime(t, loss, 1e-5), 1e-4)
    assert model.covariance @ bend == pytest.approx(np.eye(len(bend)), abs=0.02)
    factors = np.log(model.factors(3))
    assert factors.shape == (N_LEVELS, 4, 4)
    mean = plain_b(model.mode, 4, sizes)
    assert factors[::2] + factors[1::2] == pytest.approx(
        np.broadcast_to(2 * mean, (N_LEVELS // 2, 4, 4)), abs=1e-9
    )
    spread = model.covariance[0, 0] + model.covariance[1, 1]
    spread = math.sqrt(spread + 2 * model.covariance[0, 1])
    if sizes is None:
        assert factors[:, 0, 0].std() == pytest.approx(WIDER * spread, rel=0.35)


def test_odd_rows_have_a_model():
    """Certain and wrong probabilities, labels and classes that never come."""
    q = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1e-300, 1.0 - 1e-16, 0.0]])
    for y in ([0, 0, 0], [1, 2, 0]):
        model = fit_label_model(
            np.array(y), q, q.argmax(axis=1), get_class_metric("gmean", n_classes=3)
        )
        assert np.isfinite(model.mode).all()
        assert np.isfinite(model.factors(0)).all()
        assert (model.factors(0) > 0.0).all()


def test_the_nearest_row_gives_its_label():
    rng = np.random.default_rng(0)
    q, rows = rng.dirichlet(np.ones(3), 40), rng.dirichlet(np.ones(3), 25)
    labels = rng.integers(3, size=40)
    away = ((np.sqrt(rows)[:, None] - np.sqrt(q)) ** 2).sum(axis=2)
    assert (labels_of_nearest(q, labels, rows) == labels[away.argmin(axis=1)]).all()


def test_forecasts_of_mean_recall_are_not_too_high():
    """Over 16 references the mean is right; without their rows it is too high."""
    rng = np.random.default_rng(2)
    off, before = [], []
    for _ in range(16):
        y, p_old, truth, p = simulated(rng, 200, 500)
        d = am.classes.decide(p, "balanced_accuracy", reference=(y, p_old))
        actual = am.classes.evaluate(truth, d.labels, "balanced_accuracy")
        off.append(d.forecast().mean - actual)
        found = am.classes.calibrate(y, p_old)
        same = {"labels": d.labels, "metric": "balanced_accuracy"}
        before.append(am.classes.forecast(p, reference=found, **same).mean - actual)
    error = np.std(off) / math.sqrt(len(off))
    assert abs(np.mean(off)) < 3 * error
    assert np.mean(before) > abs(np.mean(off)) + 0.01


@pytest.fixture(scope="module")
def batch():
    y, p_old, truth, p = simulated(np.random.default_rng(1), 150, 60, count=3)
    return {"y": y, "p_old": p_old, "truth": truth, "p": p}


def test_all_of_a_forecast_are_of_one_distribution(batch):
    p, reference = batch["p"], (batch["y"], batch["p_old"])
    for metric in ("gmean", "f1", "accuracy", "quadratic_kappa"):
        f = am.classes.forecast(p, p.argmax(axis=1), metric, reference=reference)
        assert f.mean == pytest.approx(f.values @ f.probabilities, abs=1e-12)
        below = f.probabilities[f.values < f.interval.low].sum()
        above = f.probabilities[f.values > f.interval.high].sum()
        assert max(below, above) <= 0.05 + 1e-9
        assert 0.0 < f.mean_standard_error < 0.02
        assert f.n_draws >= 1000
        assert f"{f.mean:.3f}" in f.plot().get_title()


def test_what_the_model_of_labels_is_not_for_keeps_its_numbers(batch):
    """Shares that are known, a calibrator without rows, and more than 60 classes."""
    p, reference = batch["p"], (batch["y"], batch["p_old"])
    labels = p.argmax(axis=1)
    found = am.classes.calibrate(*reference)
    shares = [0.5, 0.3, 0.2]
    one = am.classes.forecast(p, labels, reference=reference, prior=shares)
    other = am.classes.forecast(p, labels, reference=found, prior=shares)
    assert one.to_dict() == other.to_dict()
    without = am.classes.forecast(found.apply(p), labels)
    assert am.classes.forecast(p, labels, reference=found).mean == without.mean
    learnt = am.classes.forecast(p, labels, reference=reference)
    assert learnt.mean != without.mean
    rng = np.random.default_rng(0)
    many = rng.dirichlet(np.ones(61), 80)
    y = rng.integers(61, size=40)
    d = am.classes.decide(many[40:], "accuracy", reference=(y, many[:40]))
    assert d.forecast().mean == pytest.approx(d.expected, abs=1e-12)


def test_groups_and_known_classes_are_forecast_too(batch):
    p, reference = batch["p"], (batch["y"], batch["p_old"])
    labels, truth = p.argmax(axis=1), batch["truth"]
    plain = am.classes.forecast(p, labels, "f1", reference=reference)
    whole = am.classes.forecast(
        p, labels, "f1", reference=reference, groups=np.zeros(60)
    )
    assert whole.mean == pytest.approx(plain.mean, abs=1e-12)
    assert whole.interval == pytest.approx(plain.interval, abs=1e-12)
    groups = np.arange(60) % 4
    f = am.classes.forecast(p, labels, "f1", reference=reference, groups=groups)
    parts = [
        am.classes.forecast(
            p[groups == g], labels[groups == g], "f1", reference=reference
        ).mean
        for g in range(4)
    ]
    error = f.mean_standard_error + plain.mean_standard_error
    assert f.mean == pytest.approx(np.mean(parts), abs=4 * error)
    actual = am.classes.evaluate(truth, labels, "f1", classes=[0, 1, 2])
    known = am.classes.forecast(p, labels, "f1", reference=reference, known=truth)
    assert known.mean == pytest.approx(actual, abs=1e-12)
    assert known.interval == pytest.approx((actual, actual), abs=1e-12)
    some = np.where(np.arange(60) < 40, truth, np.nan)
    half = am.classes.forecast(p, labels, "f1", reference=reference, known=some)
    assert half.std < plain.std


def test_kappa_is_forecast_where_the_mode_of_the_model_has_it():
    """Tables cell by cell: of the mode, and of draws that only say how far."""
    rng = np.random.default_rng(4)
    y, p_old, _, p = simulated(rng, 60, 300, count=4)
    d = am.classes.decide(p, "quadratic_kappa", reference=(y, p_old))
    metric, batch = d.metric, d._batch
    held, q = batch.labelled.held_out, batch.p
    chosen = labels_of_nearest(q, d.codes, held)
    model = fit_label_model(y, held, chosen, metric)
    factors = np.concatenate([model.factors_at_mode, model.factors(0)])
    scores = []
    for factor in factors:
        moved = q * factor.T[d.codes]
        moved /= moved.sum(axis=1, keepdims=True)
        table = np.stack([moved[d.codes == a].sum(axis=0) for a in range(4)], axis=1)
        scores.append(float(metric.score(table)))
    centre, noisy = scores[0], np.mean(scores[1:])
    assert np.log(factors[1:3]).sum(axis=0) == pytest.approx(2 * np.log(factors[0]))
    f = d.forecast()
    assert centre > noisy + 0.005  # what noise in the parameters takes off
    assert f.mean == pytest.approx(centre, abs=0.004)  # and 300 drawn rows
    assert f.mean_standard_error < 0.003
