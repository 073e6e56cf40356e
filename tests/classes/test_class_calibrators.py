"""Maps of class probabilities against plain formulas."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

import argmetric as am
import strategies as nasty
from argmetric.classes._fit import (
    MOST_CLASSES_WITH_MATRIX,
    fit_class_matrix,
    matrix_loss,
)
from calibrated import softmax
from refusing import refuses


def table(m=300, n_classes=4, seed=0, votes=None):
    """Scores that are too sure and confuse classes, with labels of the right ones."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 1.5, (m, n_classes)) - np.linspace(0, 2, n_classes)
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    noise = rng.normal(0, 0.6 / np.sqrt(n_classes), (n_classes, n_classes))
    p = softmax(z @ (1.6 * np.eye(n_classes) + noise))
    if votes:
        p = np.array([rng.multinomial(votes, row) for row in p]) / votes
    return y, p


def plain_logits(p, theta, floor, centre):
    """The calibrator of the docstring, cell by cell."""
    n_classes = p.shape[1]
    w = theta[: n_classes**2].reshape(n_classes, n_classes)
    b, a, s = theta[n_classes**2 : -2], theta[-2], theta[-1]
    z = np.empty(p.shape)
    for i, row in enumerate(p):
        x = [math.log(max(v, floor)) for v in row]
        for c in range(n_classes):
            z[i, c] = (1 + a) * x[c] + b[c] + s * (row[c] <= floor)
            z[i, c] += sum((x[j] - centre[j]) * w[j, c] for j in range(n_classes))
    return z


def plain_loss(theta, y, p, weight, floor, centre):
    total = 0.0
    for row, code, w in zip(
        plain_logits(p, theta, floor, centre), y, weight, strict=True
    ):
        total += w * (np.logaddexp.reduce(row) - row[code])
    k = p.shape[1]
    w, b, a, s = theta[: k * k], theta[k * k : -2], theta[-2], theta[-1]
    penalty = (w**2).sum() / 0.2**2 + (b**2).sum() / 0.5**2 + 0.001 * a**2 + 0.3 * s**2
    return total + penalty / 2


def parameters(fitted):
    return np.concatenate(
        [fitted.matrix.ravel(), fitted.biases, [fitted.slope - 1, fitted.lump]]
    )


def plain_floor(p, m=None):
    count = p.shape[1]
    m = len(p) if m is None else m
    return max(p[p > 0].min() / 2, min(1 / (4 * m), 1 / (30 * count)))


@pytest.mark.parametrize("votes", [None, 12])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_fit_is_the_optimum_of_the_plain_formula(votes, weighted):
    y, p = table(60, 3, votes=votes)
    weight = np.random.default_rng(1).integers(0, 4, y.size).astype(float)
    w = weight if weighted else np.ones(y.size)
    fitted = am.classes.calibrate(y, p, sample_weight=weight if weighted else None)
    used = w > 0
    y, p, w = y[used], p[used], w[used]
    floor = plain_floor(p, w.sum())
    assert fitted.floor == pytest.approx(floor, rel=1e-14)
    centre = np.average(np.log(np.maximum(p, floor)), axis=0, weights=w)
    np.testing.assert_allclose(fitted.centre, centre, rtol=1e-12)
    arguments = (y, p, w, floor, centre)
    theirs = minimize(plain_loss, np.zeros(14), arguments, method="BFGS")
    ours = parameters(fitted)
    np.testing.assert_allclose(ours, theirs.x, atol=2e-4)
    assert plain_loss(ours, *arguments) <= theirs.fun + 1e-8
    mapped = softmax(plain_logits(p, ours, floor, centre))
    np.testing.assert_allclose(fitted.apply(p), mapped, rtol=1e-10)
    np.testing.assert_allclose(
        fitted.prevalences, np.bincount(y, w) / w.sum(), rtol=1e-12
    )
    assert fitted.n == used.sum()


def test_scores_that_are_far_too_sure_get_a_temperature_first():
    y, p = table(1200, 4, seed=5)
    p = softmax(np.log(p) / 4)
    sure = softmax(16 * np.log(p))
    plain = am.classes.calibrate(y[:300], p[:300])
    fitted = am.classes.calibrate(y[:300], sure[:300])
    assert plain.temperature == 1.0
    assert fitted.temperature in (4.0, 8.0, 16.0)
    # the same map, fitted to scores that were cooled by hand
    cool = softmax(np.log(sure) / fitted.temperature)
    by_hand = am.classes.calibrate(y[:300], cool[:300])
    assert by_hand.temperature == 1.0
    np.testing.assert_allclose(fitted.apply(sure), by_hand.apply(cool), rtol=1e-4)
    logs = np.log(sure)
    by_logs = np.exp(fitted.apply_logits(logs))
    np.testing.assert_allclose(by_logs, fitted.apply(sure), rtol=1e-3)

    def loss(mapped):
        return -np.log(mapped[np.arange(300, 1200), y[300:]]).mean()

    theirs = loss(plain.apply(p))
    assert loss(fitted.apply(sure)) < theirs + 0.02
    assert "of p^(1/" in fitted.formula


def losses(n_classes=3, votes=10, logits=False):
    y, p = table(40, n_classes, seed=2, votes=votes)
    w = np.random.default_rng(3).uniform(0.2, 3, y.size)
    scores = np.log(np.maximum(p, 1e-3)) * 2 if logits else p
    loss, floor = matrix_loss(y, scores, w, logits=logits)
    theta = np.random.default_rng(4).normal(0, 0.3, loss.precision.size)
    return loss, floor, theta, (y, p, w)


@pytest.mark.parametrize("logits", [False, True])
def test_loss_gradient_and_curvature_against_differences(logits):
    loss, floor, theta, (y, p, w) = losses(logits=logits)
    value, gradient = loss(theta)
    if not logits:
        assert value == pytest.approx(plain_loss(theta, y, p, w, floor, loss.centre))
    slope = approx_fprime(theta, lambda t: loss(t)[0], 1e-7)
    np.testing.assert_allclose(gradient, slope, rtol=1e-5, atol=1e-4)
    bend = approx_fprime(theta, lambda t: loss(t)[1], 1e-6)
    curvature = loss.curvature(theta, with_matrix=True)
    np.testing.assert_allclose(curvature, bend, rtol=1e-4, atol=1e-4)
    alone = loss.curvature(theta, with_matrix=False)
    np.testing.assert_allclose(alone, curvature[-5:, -5:], rtol=1e-10, atol=1e-10)
    zero = np.zeros_like(theta)
    np.testing.assert_allclose(
        loss.curvatures_at_zero(),
        np.diag(loss.curvature(zero, with_matrix=True)),
        rtol=1e-10,
    )


def test_many_classes_have_no_matrix_and_the_right_gradient():
    for count in (MOST_CLASSES_WITH_MATRIX, MOST_CLASSES_WITH_MATRIX + 1):
        y, p = table(400, count, seed=5)
        fitted = am.classes.calibrate(y, p, classes=range(count))
        with_matrix = count == MOST_CLASSES_WITH_MATRIX
        assert (fitted.matrix is not None) == with_matrix
        assert ("without a matrix" in fitted.formula) == (not with_matrix)
        assert fitted.draws.shape == (16, count + 2)  # the matrix stays as it is
        other = fitted.alternatives[3]
        assert other.matrix is fitted.matrix
        np.testing.assert_array_equal(other.biases, fitted.draws[3, :-2])
    used = softmax(np.log(p) / fitted.temperature)
    loss, _ = matrix_loss(y, used, np.ones(y.size), logits=False)
    theta = np.random.default_rng(4).normal(0, 0.3, count + 2)
    slope = approx_fprime(theta, lambda t: loss(t)[0], 1e-7)
    np.testing.assert_allclose(loss(theta)[1], slope, rtol=1e-4, atol=1e-3)
    found = parameters_alone(fitted)
    assert np.abs(loss(found)[1]).max() < 1e-2
    np.testing.assert_allclose(fitted.apply(p).sum(axis=1), 1, rtol=1e-12)


def parameters_alone(fitted):
    return np.append(fitted.biases, [fitted.slope - 1, fitted.lump])


def test_draws_have_the_curvature_of_the_loss():
    y, p = table(400, 3, votes=15)
    fitted = am.classes.calibrate(y, p)
    loss, _ = matrix_loss(y, p, np.ones(y.size), logits=False)
    theta = parameters(fitted)
    root = np.linalg.cholesky(loss.curvature(theta, with_matrix=True)).T
    away = fitted.draws - theta
    away[:, -2] -= 1.0
    normal = np.random.default_rng(0).standard_normal((theta.size, 16))
    np.testing.assert_allclose(root @ away.T, normal, atol=1e-3)
    assert len(fitted.alternatives) == 16
    first = fitted.alternatives[0]
    np.testing.assert_array_equal(first.matrix.ravel(), fitted.draws[0, :9])
    assert (first.slope, first.lump) == tuple(fitted.draws[0, -2:])
    assert first.alternatives == ()
    assert first.floor == fitted.floor


def test_logits_are_taken_through_the_softmax():
    y, p = table(300, 4)
    shift = np.random.default_rng(0).normal(0, 30, (300, 1))
    fitted = am.classes.calibrate(y, np.log(p) + shift, logits=True)
    assert fitted.floor is None
    assert fitted.lump == 0.0
    by_scores = fitted.apply(np.log(p) - shift, logits=True)
    np.testing.assert_allclose(by_scores, fitted.apply(p), rtol=1e-9)
    np.testing.assert_allclose(np.exp(fitted.apply_logits(np.log(p))), by_scores)
    far = fitted.apply_logits([[-900.0, 0.0, 0.0, 0.0]])
    assert np.isfinite(far).all()
    plain = am.classes.calibrate(y, p)  # probabilities may be given as logits too
    np.testing.assert_allclose(
        plain.apply(np.log(p) + shift, logits=True), plain.apply(p), rtol=1e-9
    )


def test_classes_by_name_and_classes_that_do_not_occur():
    y, p = table(200, 4)
    names = np.array(["fox", "ant", "cow", "bee"])
    kept = y != 3
    fitted = am.classes.calibrate(names[y[kept]], p[kept], classes=names)
    assert fitted.classes == tuple(names)
    assert fitted.prevalences[3] == 0.0
    assert fitted.apply(p)[:, 3].min() > 0.0
    assert fitted.apply(p)[:, 3].mean() < p[:, 3].mean()
    frame = pd.DataFrame(p[kept], columns=names)
    assert am.classes.calibrate(names[y[kept]], frame) == fitted
    refuses(ValueError, "pass classes=", am.classes.calibrate, names[y[kept]], p[kept])
    numbers = am.classes.calibrate(y[kept], p[kept])  # numbers of columns
    assert numbers.classes == (0, 1, 2, 3)
    np.testing.assert_array_equal(numbers.matrix, fitted.matrix)
    order = np.argsort(names)
    by_alphabet = am.classes.calibrate(names[y], p[:, order])
    assert by_alphabet.classes == tuple(names[order])
    with pytest.raises(ValueError, match="which is not among classes"):
        am.classes.calibrate(names[y], p, classes=["fox", "ant", "cow", "owl"])


def test_weights_count_rows_and_scaled_weights_do_not_drown_in_the_prior():
    y, p = table(120, 3)
    twice = am.classes.calibrate(np.tile(y, 2), np.tile(p, (2, 1)))
    weighted = am.classes.calibrate(y, p, sample_weight=np.full(120, 2.0))
    np.testing.assert_allclose(weighted.matrix, twice.matrix, atol=1e-4)
    tiny = am.classes.calibrate(y, p, sample_weight=np.full(120, 1e-9))
    np.testing.assert_allclose(
        tiny.matrix, am.classes.calibrate(y, p).matrix, atol=1e-6
    )


def test_files_names_and_pictures():
    y, p = table(100, 5, votes=9)
    fitted = am.classes.calibrate(np.array(list("abcde"))[y], p)
    loaded = am.Calibrator.from_dict(fitted.to_dict())
    assert loaded.classes == tuple("abcde")
    for one, other in zip(loaded.alternatives, fitted.alternatives, strict=True):
        np.testing.assert_array_equal(one.apply(p), other.apply(p))
    assert "100 labelled rows" in repr(fitted)
    assert "biases" in repr(fitted)
    for changes, message in (
        ({"matrix": None}, "matrix with centre"),
        ({"biases": [0.0] * 4}, "must be finite numbers of shape"),
        ({"classes": list("abcdd")}, "'d' twice"),
        ({"draws": [[1.0, 2.0]]}, "a row of draws must hold"),
        ({"slope": "1"}, "slope"),
    ):
        with pytest.raises(ValueError, match=message):
            am.Calibrator.from_dict(fitted.to_dict() | changes)
    matplotlib = pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ax = fitted.plot()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list("abcde")
    np.testing.assert_array_equal(ax.images[0].get_array(), fitted.matrix)
    assert am.classes.calibrate(y, p, "temperature").plot().get_xlabel() == "p as given"
    plt.close("all")


def test_chains_of_class_maps():
    y, p = table(100, 3)
    first, second = (
        am.classes.calibrate(y, p),
        am.classes.calibrate(y, p, "temperature"),
    )
    both = first.then(second)
    assert both.kind == "chain"
    np.testing.assert_allclose(both.apply(p), second.apply(first.apply(p)))
    by_logits = both.apply(np.log(p), logits=True)
    np.testing.assert_allclose(by_logits, both.apply(p), rtol=1e-9)
    assert len(both.alternatives) == 16
    binary = am.calibrate([0, 1], [0.1, 0.9])
    refuses(ValueError, "does not go together", first.then, binary)
    with pytest.raises(ValueError, match="probabilities of several classes"):
        am.decide([0.1, 0.9], reference=both)


def test_what_is_taken_as_calibrator_and_reference_of_classes():
    y, p = table(100, 3)
    names = ("c", "a", "b")
    labels = np.array(names)[y]
    fitted = am.classes.calibrate(labels, p, classes=names)

    def decided(reference, classes=names):
        how = {"reference": reference, "classes": classes}
        return am.classes.decide(p, "accuracy", **how)

    found = decided((labels, p))
    assert found.rule.calibrator == fitted
    assert found.labels.tolist() == decided(fitted).labels.tolist()
    own = decided(lambda q: q[:, ::-1])
    np.testing.assert_array_equal(own.codes, p[:, ::-1].argmax(axis=1))
    binary = am.calibrate([0, 1], [0.1, 0.9])
    for arguments, message in (
        ((lambda q: q[:, 0],), "shape"),
        ((binary,), "for the probability of one class"),
        ((fitted, list("abc")), "fitted to the classes 'c', 'a', 'b'"),
        (((labels, p / 2),), "sums to 0.5 in row 0"),
        (((labels, p), list("abx")), "not among classes"),
    ):
        refuses(ValueError, message, decided, *arguments)
    refuses(TypeError, r"a pair \(y, p\).* or a fitted Calibrator", decided, (y, p, p))


BACKWARDS = [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]
TEMPERATURE = {"method": "temperature"}


@pytest.mark.parametrize(
    ("y", "p", "options", "message"),
    [
        ([0, 1, 2], [[0.5, 0.5]] * 3, {}, "2 columns but y has 3 classes"),
        ([0, 1, 1], [[0.5, 0.7]] * 3, {}, "sums to 1.2 in row 0"),
        ([0, 1, 1], [[0.5, 0.5]] * 3, TEMPERATURE, "same score in every row"),
        ([1, 0, 1], BACKWARDS, TEMPERATURE, "no temperature fits"),
        ([1, 0, 1] * 3, BACKWARDS * 3, {}, "the scores rank backwards: the true"),
        ([0, 0, 0], BACKWARDS, {}, "one class only: every label is 0"),
        ([0, 1, 1], BACKWARDS, {"sample_weight": [0] * 3}, "all weights are 0"),
        ([0, 1], np.eye(2), {"method": "platt"}, "one of 'matrix', 'temperature'"),
        ([0, 1], [0.2, 0.8], {}, "one column per class"),
    ],
)
def test_bad_input(y, p, options, message):
    refuses(ValueError, message, am.classes.calibrate, y, p, **options)


@st.composite
def nasty_tables(draw):
    """Rows of nasty probabilities that sum to 1, and a class for each row."""
    n_classes = draw(st.integers(2, 5))
    m = draw(st.integers(1, 6))
    cells = st.lists(nasty.any_probability, min_size=n_classes, max_size=n_classes)
    rows = []
    for _ in range(m):
        row = np.array(draw(cells))
        row[draw(st.integers(0, n_classes - 1))] += row.sum() == 0.0
        rows.append(row / row.sum())
    p = np.array(rows)
    if draw(st.booleans()):  # a class without any probability, in every row
        p[:, 0] = 0.0
        p[p.sum(axis=1) == 0.0, 1] = 1.0
        p /= p.sum(axis=1, keepdims=True)
    if draw(st.booleans()):
        p[:] = p[0]  # ties
    y = draw(st.lists(st.integers(0, n_classes - 1), min_size=m, max_size=m))
    return np.array(y), p


@given(nasty_tables(), st.booleans())
def test_nasty_probabilities(case, logits):
    y, p = case
    scores = np.log(np.maximum(p, 1e-300)) if logits else p
    fitted = fit_class_matrix(y, scores, logits=logits, strict=False)
    everything = (fitted, *fitted.alternatives)
    new = np.vstack([p, np.eye(p.shape[1]), np.full((1, p.shape[1]), 1 / p.shape[1])])
    for one in everything:
        mapped = one.apply(new)
        assert (mapped >= 0.0).all()
        np.testing.assert_allclose(mapped.sum(axis=1), 1.0, rtol=1e-12)
    assert am.Calibrator.from_dict(fitted.to_dict()) == fitted
