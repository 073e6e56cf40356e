"""Weights of classes against brute force over all break points."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, matthews_corrcoef

import argmetric as am
from argmetric.classes import tune
from argmetric.classes._search import ClassRows, climb, objective_of, scan_class
from class_oracle import all_predictions, middles, ratios
from refusing import refuses

QUICK = {"n_bootstrap": 0, "cv": None}
INF, NAN = math.inf, math.nan
eighths = st.integers(0, 8).map(lambda i: i / 8)
row_weights = st.sampled_from((0.5, 1.0, 2.0, 3.0))
# Two rows turn one rounding error apart: a weight between them may not be there, or be.
UNREAL = (np.array([[5, 0, 5], [1, 0, 1], [5, 7, 0], [3, 7, 0]]) / 8, [2, 0, 0, 1])
REAL = (
    np.array([[0, 0, 0], [1, 0, 6], [1, 1, 1], [6, 0, 3], [0] * 3, [0] * 3, [2, 0, 4]])
    / 8,
    [0, 1, 2, 0, 0, 2, 0],
)


def plain_score(name, y, predicted, classes=3, w=None):
    """Independent formulas; those of F1 and of the correlation are scikit-learn's."""
    w = np.ones(len(y)) if w is None else np.asarray(w, float)
    mine, true = (np.arange(classes)[:, None] == a for a in (predicted, y))
    tp, k, t, n = (mine & true) @ w, mine @ w, true @ w, w.sum()
    if name == "f1":  # a class that is neither true nor predicted is left out
        return np.mean(2 * tp[k + t > 0] / (k + t)[k + t > 0])
    if name == "kappa":
        random = k @ t
        return 0.0 if random >= n * n else (n * tp.sum() - random) / (n * n - random)
    if name in ("balanced_accuracy", "gmean"):
        recall = tp[t > 0] / t[t > 0]
        mean = np.prod(recall) ** (1 / recall.size)
        return recall.mean() if name == "balanced_accuracy" else mean
    if name == "mcc":
        spread = (n * n - k @ k) * (n * n - t @ t)
        return 0.0 if spread <= 0 else (n * tp.sum() - k @ t) / math.sqrt(spread)
    values = am.get_metric(name).value(tp, k, t, n)
    return np.nanmean(values)


def test_the_slow_twin_agrees_with_scikit_learn():
    y, p = sample(200)
    predicted, w = np.argmax(p, axis=1), np.random.default_rng(0).random(200)
    for weight in (None, w):
        f1 = f1_score(y, predicted, average="macro", sample_weight=weight)
        assert plain_score("f1", y, predicted, 4, weight) == pytest.approx(f1)
        mcc = matthews_corrcoef(y, predicted, sample_weight=weight)
        assert plain_score("mcc", y, predicted, 4, weight) == pytest.approx(mcc)


def rows_of(p, y, name, w=None):
    metric = am.get_metric(name)
    sign = 1.0 if metric.greater_is_better else -1.0
    weight = None if w is None else np.asarray(w, float)
    return ClassRows(
        np.asarray(p, float), np.asarray(y), weight, objective_of(metric), sign
    )


@st.composite
def class_tables(draw, classes=3, max_rows=7, numbers=eighths):
    n = draw(st.integers(classes, max_rows))
    cells = draw(st.lists(numbers, min_size=n * classes, max_size=n * classes))
    y = draw(st.lists(st.integers(0, classes - 1), min_size=n, max_size=n))
    assume(len(set(y)) == classes)
    return np.array(cells).reshape(n, classes), np.array(y)


# ------------------------------------------------------------------ one coordinate


@pytest.mark.parametrize("name", ["f1", "mcc", "jaccard", "gmean", "sec"])
@given(data=st.data())
@settings(deadline=None, max_examples=20)
def test_a_scan_sees_every_break_point(name, data):
    p, y = data.draw(class_tables())
    w = data.draw(st.none() | st.lists(row_weights, min_size=len(y), max_size=len(y)))
    weights = np.array(data.draw(st.lists(row_weights, min_size=3, max_size=3)))
    j = data.draw(st.integers(0, 2))
    scan = scan_class(rows_of(p, y, name, w), weights, j)
    others = np.delete(p * weights, j, axis=1).max(axis=1)
    expected = sorted({r for r in ratios(others, p[:, j]) if 0 < r < INF})
    np.testing.assert_allclose(scan.breaks, expected, rtol=1e-15)
    for i, score in enumerate(scan.scores):
        value = scan.weight(i)
        if value is None:
            value = 1.0
        tried = weights.copy()
        tried[j] = value
        predicted = np.argmax(p * tried, axis=1)
        slow = plain_score(name, y, predicted, w=w)
        assert score == pytest.approx(slow, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ["f1", "mcc", "kappa"])
@given(case=class_tables(max_rows=8))
@example(case=UNREAL)
@example(case=REAL)
def test_a_climb_ends_where_no_single_weight_helps(name, case):
    p, y = case
    rows = rows_of(p, y, name)
    weights, (_, gain) = climb(rows, np.ones(3))
    assert gain >= plain_score(name, y, np.argmax(p, axis=1)) - 1e-12
    for j in range(3):
        others = np.delete(p * weights, j, axis=1).max(axis=1)
        for value in middles(ratios(others, p[:, j])):
            tried = weights.copy()
            tried[j] = value
            slow = plain_score(name, y, np.argmax(p * tried, axis=1))
            assert slow <= gain + 1e-9


@pytest.mark.parametrize("name", ["f1", pytest.param("mcc", marks=pytest.mark.slow)])
def test_restarts_find_the_best_of_all_weights(name):
    """A local search: never above the enumeration, and hardly ever below it."""
    rng = np.random.default_rng(0)
    equal = 0
    for _ in range(20):
        p = rng.dirichlet([1, 0.7, 0.4], 7)
        y = np.concatenate([[0, 1, 2], rng.integers(0, 3, 4)])
        best = max(plain_score(name, y, np.array(one)) for one in all_predictions(p))
        rule = tune(y, p, name, **QUICK)
        assert rule.score <= best + 1e-12
        equal += rule.score >= best - 1e-12
        own = plain_score(name, y, rule.apply(p))
        assert rule.score == pytest.approx(own, abs=1e-12)
    assert equal >= 19


# ------------------------------------------------------------------ whole rules


def sample(n=600, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1, 0.5, 0.3, 0.15], n)
    y = (p.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    return y.clip(0, 3), p


@pytest.mark.parametrize("name", ["f1", "f2", "mcc", "jaccard", "balanced_accuracy"])
def test_never_below_the_most_probable_class(name):
    y, p = sample()
    rule = tune(y, p, name, **QUICK)
    plain = plain_score(name, y, np.argmax(p, axis=1), 4)
    assert rule.argmax_score == pytest.approx(plain, rel=1e-12)
    assert rule.score > plain
    own = plain_score(name, y, rule.apply(p), 4)
    assert rule.score == pytest.approx(own, rel=1e-12)


def test_row_weights_are_repeated_rows():
    y, p = sample(200)
    w = np.random.default_rng(1).integers(1, 4, 200)
    once = tune(y, p, "f1", sample_weight=w, **QUICK)
    own = plain_score("f1", y, once.apply(p), 4, w)
    assert once.score == pytest.approx(own, rel=1e-12)
    again = np.repeat(np.arange(200), w)
    assert once.score == pytest.approx(
        f1_score(y[again], once.apply(p)[again], average="macro")
    )


def test_optimism_and_interval():
    y, p = sample(300)
    rule = tune(y, p)
    assert rule.optimism == pytest.approx(rule.score - rule.mean)
    assert rule.optimism > 0
    low, high = rule.interval
    assert low < rule.mean < high
    assert rule == tune(y, p)
    weighted = tune(y, p, sample_weight=np.full(300, 2.0), cv=None)
    plain = tune(y, p, cv=None)
    np.testing.assert_array_equal(weighted.weights, plain.weights)
    width = [r.interval[1] - r.interval[0] for r in (weighted, plain)]
    assert width[0] == pytest.approx(width[1], rel=0.3)


def test_many_rows_are_searched_on_a_sample_first():
    y, p = sample(9000)
    rule = tune(y, p, **QUICK)
    assert rule.score >= tune(y[:4000], p[:4000], **QUICK).score - 0.05
    own = plain_score("f1", y, rule.apply(p), 4)
    assert rule.score == pytest.approx(own, rel=1e-12)
    assert rule.score > rule.argmax_score


NAMES = np.array(["fox", "ant", "cow", "bee"])


def test_classes_name_the_columns():
    """In any order, with one that y lacks, and before the names of a frame."""
    y, p = sample()
    rule = tune(NAMES[y], p, classes=NAMES.tolist(), **QUICK)
    assert rule.classes == tuple(NAMES)
    order = np.argsort(NAMES)
    assert rule.argmax_score == tune(NAMES[y], p[:, order], **QUICK).argmax_score
    assert rule.score == plain_score("f1", y, rule.predicts(p), 4)
    kept = y != 3
    with pytest.raises(ValueError, match="a class does not occur in y, pass classes="):
        tune(NAMES[y[kept]], p[kept])
    rule = tune(NAMES[y[kept]], p[kept], classes=NAMES, **QUICK)
    assert rule.classes == tuple(NAMES)
    assert rule.score == plain_score("f1", y[kept], rule.predicts(p[kept]), 4)
    frame = pd.DataFrame(p[kept], columns=NAMES)
    assert tune(NAMES[y[kept]], frame, **QUICK) == rule
    other = frame.set_axis(["p0", "p1", "p2", "p3"], axis=1)
    assert tune(NAMES[y[kept]], other, classes=NAMES, **QUICK) == rule
    numbers = tune(y[kept], p[kept], classes=range(4), **QUICK)
    assert numbers.classes == (0, 1, 2, 3)
    assert numbers.score == rule.score
    assert am.Rule.from_dict(rule.to_dict()) == rule


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["fox", "ant", "cow"], "classes must name the 4 columns of p"),
        ([["fox", "ant", "cow", "bee"]], "classes must name the 4 columns of p"),
        (["fox", "ant", "cow", "cow"], "classes has 'cow' twice"),
        (["fox", "ant", "cow", "x"], "y has the label 'bee', which is not among"),
        (["fox", "ant", "cow", None], "classes has no label at row 3"),
    ],
)
def test_classes_that_do_not_fit(classes, message):
    y, p = sample()
    refuses(ValueError, message, tune, NAMES[y], p, classes=classes)


def test_several_metrics_and_a_calibrator():
    y, p = sample(400)

    def roots(p):
        return np.sqrt(p) / np.sqrt(p).sum(axis=1, keepdims=True)

    both = tune(y, p, ["f1", "mcc"], reference=roots, **QUICK)
    assert list(both) == ["f1", "mcc"]
    rule = both["f1"]
    predicted = np.argmax(roots(p) * rule.weights, axis=1)
    np.testing.assert_array_equal(rule.apply(p), predicted)
    rows = tune(
        y, p, reference=sample(300), **QUICK
    )  # other rows that fit the calibrator
    again = tune(y, p, reference=am.classes.calibrate(*sample(300)), **QUICK)
    assert rows.weights.tolist() == again.weights.tolist()
    assert rows.calibrator == again.calibrator


@pytest.mark.parametrize(
    ("y", "p", "options", "message"),
    [
        ([0, 0], [[0.1, 0.9]] * 2, {}, "one class only: every label is 0"),
        ([0, 1], [0.1, 0.9], {}, r"one column per class, not have 1 dim"),
        ([[0, 1]] * 2, [[0.1, 0.9]] * 2, {}, "y"),
        ([0, 1, 2], [[0.1, 0.9]] * 3, {}, "p has 2 columns but y has 3 classes"),
        ([0, 1, 2], [[0.1, 0.9, 0]] * 2, {}, "y has 3 rows but p has 2"),
        ([0, 1, 2], [[0.1, 0.9, -1]] * 3, {}, "p is -1 at row 0, column 2"),
        ([0, 1, 2], [[0.1, NAN, 0]] * 3, {}, "p has NaN at row 0, column 1"),
        ([0, 1, NAN], [[0.1, 0.2, 0]] * 3, {}, "y has no label at row 2"),
        ([0, 1, 2], [[0.1, 0.9, 0]] * 3, {"average": "micro"}, "average"),
    ],
)
def test_bad_input_for_classes(y, p, options, message):
    refuses(ValueError, message, tune, y, p, **options)


def test_bad_input_for_apply():
    rule = tune(*sample(100), **QUICK)
    refuses(ValueError, "p must have 4 columns", rule.apply, [[0.1, 0.9]])
    refuses(ValueError, "NaN at row 0", rule.apply, [[0.1, 0.9, NAN, 0]])
    with pytest.raises(ValueError, match="positive finite"):
        am.classes.MultiClassRule((0, 1), [1.0, 0.0], am.FBeta(1))
    with pytest.raises(ValueError, match="2 classes but weights"):
        am.classes.MultiClassRule((0, 1), [1.0], am.FBeta(1))
    mixed = am.classes.MultiClassRule((0, "b"), [1.0, 2.0], am.FBeta(1))
    assert mixed.apply([[0.5, 0.4], [0.9, 0.1]]).tolist() == ["b", 0]
