"""FrankWolfeClassifier against all classifiers of small problems, and the papers."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import argmetric as am
from argmetric.metrics import get_class_metric
from argmetric.train import FrankWolfeClassifier
from argmetric.train._mixtures import gain_of, slopes_of
from refusing import refuses


class Known(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose only feature is the number of a cell."""

    def __init__(self, p=None):
        self.p = p

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return np.arange(self.p.shape[1])

    def predict_proba(self, X):
        return self.p[np.asarray(X)[:, 0].astype(int)]


def problem(seed, cells=4, classes=2, groups=1):
    """Cells with counts of each class; the rows, once each, and their weights."""
    rng = np.random.default_rng(seed)
    shape = groups, cells, classes
    counts = rng.integers(1, 30, shape) ** 2 * (1.0 if classes == 2 else 0.5)
    group, cell, label = (a.ravel() for a in np.indices(shape))
    return counts, (group * cells + cell)[:, None], label, counts.ravel(), group


def vertices(counts):
    """Tables (n, groups, classes, classes) of every classifier of (group, cell)."""
    groups, cells, classes = counts.shape
    tables = []
    for labels in product(range(classes), repeat=groups * cells):
        table = np.zeros((groups, classes, classes))
        for (g, c), label in zip(np.ndindex(groups, cells), labels, strict=True):
            table[g, :, label] += counts[g, c]
        tables.append(table)
    return np.array(tables)


def fitted(seed, *, classes=2, cells=4, groups=1, **settings):
    counts, X, y, weight, group = problem(seed, cells, classes, groups)
    p = counts / counts.sum(axis=2, keepdims=True)
    known = FrozenEstimator(Known(p.reshape(-1, classes)))
    model = FrankWolfeClassifier(known, calibration=None, **settings)
    names = group if settings.get("parity") else None
    model.fit(X, y, weight, groups=names)
    return model, vertices(counts)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("metric", ["f1", "f2", "jaccard"])
@pytest.mark.parametrize("algorithm", ["bisection", "frank-wolfe"])
def test_ratios_reach_the_best_of_all_classifiers(seed, metric, algorithm):
    model, tables = fitted(seed, metric=metric, algorithm=algorithm)
    gain, _ = gain_of(metric, None, 2, 1)
    assert model.best_score_ == pytest.approx(gain(tables[:, 0]).max(), rel=1e-12)


@pytest.mark.filterwarnings("ignore:the best single member")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("limits", [{}, {"min_precision": 0.6}, {"min_recall": 0.6}])
def test_the_search_never_ends_far_below_a_tuned_threshold(seed, limits):
    """Within limits never below it; here probabilities are to the fourth power."""
    rng = np.random.default_rng(seed)
    p = rng.random(80).round(2) ** 4
    X, y = np.arange(80)[:, None], (rng.random(80) < p**0.25).astype(int)
    known = FrozenEstimator(Known(np.column_stack([1.0 - p, p])))
    for metric, randomised in product(["f1", "mcc", "gmean"], [False, True]):
        how = {"calibration": None, "randomised": randomised, **limits}
        model = FrankWolfeClassifier(known, metric, **how).fit(X, y)
        least = am.tune(y, p, metric, **limits).score - 1e-9
        assert model.best_score_ >= least - 0.02 * (not limits and not randomised)


def on_edges(gain, tables):
    """The best mixture of two classifiers: enough for concave gains of two rates."""
    steps = np.linspace(0.0, 1.0, 2001)[:, None, None]
    pairs = combinations(tables, 2)
    return max(gain(steps * a + (1.0 - steps) * b).max() for a, b in pairs)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("metric", ["gmean", "hmean", "qmean"])
def test_concave_metrics_reach_the_best_mixture_of_two(seed, metric):
    model, tables = fitted(seed, metric=metric, randomised=True)
    gain, _ = gain_of(metric, None, 2, 1)
    best = on_edges(gain, tables[:, 0])
    assert best - 1e-7 <= model.best_score_ <= best + 1e-5
    assert model.weights_.sum() == pytest.approx(1.0)
    single, _ = fitted(seed, metric=metric)
    alone = gain(tables[:, 0]).max()
    assert single.best_score_ <= alone + 1e-12
    assert single.best_score_ >= alone - 0.02


def best_linear(worth, limits):
    """Highest worth of a mixture of all classifiers with limits @ mixture ≥ 0."""
    result = linprog(
        -worth, -limits, np.zeros(len(limits)), np.ones((1, worth.size)), [1.0]
    )
    return -result.fun if result.success else None


@pytest.mark.parametrize("seed", range(6))
def test_accuracy_with_recall_floors_of_three_classes_is_the_linear_program(seed):
    floors = {0: 0.7, 2: 0.5}
    how = {"classes": 3, "metric": "accuracy", "min_recall": floors}
    tables = fitted(seed, classes=3)[1].sum(axis=1)
    true = tables[0].sum(axis=1)
    worth = np.trace(tables, axis1=1, axis2=2) / true.sum()
    limits = np.array([tables[:, c, c] / true[c] - f for c, f in floors.items()])
    best = best_linear(worth, limits)
    if best is None:
        with pytest.raises(ValueError, match="no mixture keeps min_recall"):
            fitted(seed, randomised=True, **how)
        return
    model, _ = fitted(seed, randomised=True, **how)
    assert model.best_score_ == pytest.approx(best, abs=1e-6)
    recall = np.diagonal(model.table_) / true
    assert (recall[[0, 2]] >= np.array([0.7, 0.5]) - 1e-6).all()
    inside = (limits >= -1e-9).all(axis=0)
    if inside.any():
        try:
            single, _ = fitted(seed, **how)
        except ValueError:
            return
        recall = np.diagonal(single.table_) / true
        assert (recall[[0, 2]] >= np.array([0.7, 0.5]) - 1e-6).all()
        assert single.best_score_ <= worth[inside].max() + 1e-9


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rate", ["recall", "selection_rate"])
def test_parity_is_the_linear_program_over_all_classifiers(seed, rate):
    gap = 0.05
    how = {"cells": 3, "groups": 2, "metric": "accuracy", "parity": (rate, gap)}
    model, tables = fitted(seed, randomised=True, **how)

    def rates(table):
        size = table[..., 1, :].sum(-1) if rate == "recall" else table.sum((-2, -1))
        positive = table[..., 1, 1] if rate == "recall" else table[..., :, 1].sum(-1)
        return positive / size

    apart = rates(tables)[:, 0] - rates(tables)[:, 1]
    worth = np.trace(tables.sum(axis=1), axis1=1, axis2=2) / tables[0].sum()
    best = best_linear(worth, np.array([gap - apart, gap + apart]))
    assert model.best_score_ == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_precision_floor_is_the_linear_program(seed):
    model, tables = fitted(
        seed, metric="recall", min_precision=0.6, randomised=True, cells=5
    )
    pooled = tables[:, 0]
    worth = pooled[:, 1, 1] / pooled[0, 1].sum()
    kept = pooled[:, 1, 1] - 0.6 * pooled[:, :, 1].sum(axis=1)
    best = best_linear(worth, kept[None] / pooled[0].sum())
    assert model.best_score_ == pytest.approx(best, abs=1e-6)


def literal_frank_wolfe(counts, gain, steps):
    """Algorithm 1 of Narasimhan et al. (2015), word by word, on known probabilities."""
    p = counts / counts.sum(axis=1, keepdims=True)
    classes = counts.shape[1]
    table = np.repeat(counts.sum(axis=0)[:, None] / classes, classes, axis=1)
    for t in range(1, steps + 1):
        loss = -slopes_of(gain, table)
        labels = (p @ loss).argmin(axis=1)
        new = np.zeros_like(table)
        np.add.at(new.T, labels, counts)
        table = (1 - 2 / (t + 1)) * table + 2 / (t + 1) * new
    return float(gain(table))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_papers_loop_comes_to_the_same_value(seed, classes):
    """The slow twin; it reaches the optimum at the rate of 1 / steps only."""
    counts = problem(seed, 5, classes)[0][0]
    positive = 1 if classes == 2 else None
    gain, _ = gain_of("gmean", None, classes, positive)
    model, _ = fitted(
        seed, cells=5, classes=classes, metric="gmean", randomised=True, max_iter=60
    )
    twin = literal_frank_wolfe(counts, gain, 1500)
    assert twin <= model.best_score_ + 1e-6
    assert model.best_score_ - twin < 3e-3


@pytest.mark.parametrize("seed", range(5))
def test_the_papers_bisection_comes_to_the_same_classifier(seed):
    counts = problem(seed, 6)[0][0]
    p = counts[:, 1] / counts.sum(axis=1)
    low, high, best = 0.0, 1.0, None
    for _ in range(40):  # Algorithm 2, F1 = ⟨A, C⟩/⟨B, C⟩
        middle = (low + high) / 2
        positive = p > middle / 2  # where 2 p - middle (1 + p) + middle p > 0
        tp, k = counts[positive, 1].sum(), counts[positive].sum()
        value = 2 * tp / (k + counts[:, 1].sum())
        if value >= middle:
            low, best = middle, value
        else:
            high = middle
    model, _ = fitted(seed, cells=6, metric="f1")
    assert model.best_score_ == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("metric", ["f1", "gmean", "balanced_accuracy"])
@pytest.mark.parametrize("classes", [2, 3])
def test_refits_of_a_tree_reach_what_known_probabilities_do(metric, classes):
    """A full tree is best for any weights of rows, as these cells are its leaves."""
    _, X, y, weight, _ = problem(1, 5, classes)
    whole = np.arange(y.size)
    tree = DecisionTreeClassifier(random_state=0)
    how = {"metric": metric, "cv": [(whole, whole)], "randomised": True}
    model = FrankWolfeClassifier(tree, oracle="weights", **how).fit(X, y, weight)
    plug_in, _ = fitted(1, cells=5, classes=classes, metric=metric, randomised=True)
    assert model.best_score_ == pytest.approx(plug_in.best_score_, abs=1e-6)
    assert len(model.members_) == model.weights_.size


@pytest.mark.filterwarnings("ignore:the best single member")
@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.0, 0.6), st.sampled_from(["f1", "mcc"]))
def test_limits_hold_in_the_held_out_table(seed, floor, metric):
    how = {"min_recall": floor, "metric": metric, "max_iter": 6}
    model, tables = fitted(seed, cells=3, **how)
    table = model.table_
    assert table[1, 1] >= (floor - 1e-6) * table[1].sum()
    np.testing.assert_allclose(table.sum(axis=1), tables[0, 0].sum(axis=1))
    mixed, _ = fitted(seed, cells=3, randomised=True, **how)
    gain, _ = gain_of(metric, None, 2, 1)
    kept = tables[:, 0, 1, 1] >= floor * table[1].sum()
    assert mixed.best_score_ >= model.best_score_ - 1e-6
    assert model.best_score_ <= gain(tables[kept, 0]).max() + 1e-9


def test_slopes_are_those_of_formulas():
    table = np.array([[50.0, 10.0], [5.0, 20.0]])
    gain, ratio = gain_of("f1", None, 2, 1)
    # F = 2 tp / (k + t): rows that move from 0 to 1 count tp by 2 / (k + t)
    slopes = slopes_of(gain, table)
    f = 40 / 55
    assert slopes[1, 1] - slopes[1, 0] == pytest.approx((2 - f) / 55, rel=1e-5)
    assert slopes[0, 1] - slopes[0, 0] == pytest.approx(-f / 55, rel=1e-5)
    above, below = ratio
    assert (above * table).sum() / (below * table).sum() == pytest.approx(f)
    assert gain_of("gmean", None, 2, 1)[1] is None
    least, _ = gain_of("sec", None, 2, 1)
    assert least(table) <= 0.0


def rare(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + rng.normal(size=n) > 1.4).astype(int)


X, Y = rare()


def test_the_table_is_that_of_out_of_fold_refits():
    """The member is fitted anew by hand, with weights of its own gains."""
    splits = [
        (np.arange(300), np.arange(300, 600)),
        (np.arange(300, 600), np.arange(300)),
    ]
    base = LogisticRegression()
    model = FrankWolfeClassifier(base, "gmean", oracle="weights", cv=splits).fit(X, Y)
    gains = model.gains_[0, 0]
    cost = np.abs(gains[:, 1] - gains[:, 0])[Y]  # each row as an example of its class
    assert gains[1, 1] > gains[1, 0]
    assert gains[0, 0] > gains[0, 1]
    table = np.zeros((2, 2))
    for train, test in splits:
        weight = cost[train] * train.size / cost[train].sum()
        labels = clone(base).fit(X[train], Y[train], weight).predict(X[test])
        np.add.at(table, (Y[test], labels), 1)
    np.testing.assert_array_equal(model.table_, table)
    refit = clone(base).fit(X, Y, cost * Y.size / cost.sum())
    np.testing.assert_array_equal(model.predict(X), refit.predict(X))
    assert model.score(X, Y) == am.evaluate(Y, refit.predict(X), "gmean")


def test_a_randomised_model_draws_members_by_their_weights():
    model = FrankWolfeClassifier(
        metric="recall", min_precision=0.55, randomised=True, random_state=3
    ).fit(X, Y)
    assert model.weights_.size > 1
    many = np.repeat(X, 50, axis=0)
    labels = model.predict(many)
    np.testing.assert_array_equal(labels, model.predict(many))
    p = model._class_probabilities(model.estimator_.predict_proba(X)[:, 1], False)
    each = [p @ gains[0] for gains in model.gains_]
    expected = sum(
        w * (e[:, 1] > e[:, 0]) for w, e in zip(model.weights_, each, strict=True)
    )
    np.testing.assert_allclose(labels.reshape(-1, 50).mean(axis=1), expected, atol=0.3)
    assert labels.mean() == pytest.approx(expected.mean(), abs=0.01)


def test_parity_needs_the_groups_of_new_rows_unless_refitted():
    group = np.where(X[:, 1] > 0, "a", "b")
    how = {"parity": ("selection_rate", 0.05), "randomised": True}
    model = FrankWolfeClassifier(LinearSVC(random_state=0), "mcc", **how)
    model.fit(X, Y, groups=group)
    refuses(ValueError, "predict\\(X, groups\\)", model.predict, X)
    wrong = np.where(group == "a", "a", "c")
    row = int(np.flatnonzero(group == "b")[0])
    refuses(ValueError, f"'c' at row {row}, .* \\['a', 'b'\\]", model.predict, X, wrong)
    rates = [model.predict(X, group)[group == one].mean() for one in "ab"]
    assert abs(rates[0] - rates[1]) < 0.1
    blind = FrankWolfeClassifier(
        LogisticRegression(), "mcc", oracle="weights", max_iter=4, **how
    )
    assert blind.fit(X, Y, groups=group).predict(X).shape == Y.shape


def test_several_classes_with_words_and_a_pipeline():
    y = np.array(["low", "middle", "top"])[np.digitize(X[:, 0], [-0.5, 1.5])]
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    for oracle in ("plug-in", "weights"):
        model = FrankWolfeClassifier(
            pipe, "f1", oracle=oracle, min_recall={"top": 0.8}, max_iter=10
        ).fit(X, y)
        recall = am.classes.evaluate(y, model.predict(X), "f1")
        assert model.score(X, y) == recall > 0.8
        assert model.table_[2, 2] >= 0.8 * model.table_[2].sum() - 1e-6


def test_a_function_of_the_table_and_a_minimised_metric():
    def least_recall(table):
        return (np.diagonal(table) / table.sum(axis=1)).min()

    y = np.digitize(X[:, 0], [-0.5, 1.5])
    model = FrankWolfeClassifier(metric=least_recall, max_iter=2).fit(X, y)
    assert model.best_score_ == least_recall(model.table_) > 0.75
    costs = am.metrics.SquaredCountError()
    counts = FrankWolfeClassifier(metric=costs, max_iter=10).fit(X, Y)
    assert counts.best_score_ == -float(
        costs.value(counts.table_[1, 1], counts.table_[:, 1].sum(), Y.sum(), Y.size)
    )


def test_steps_are_reported(capsys):
    FrankWolfeClassifier(metric="gmean", verbose=1).fit(X, Y)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("step 0: 0.")
    assert lines[0].endswith("4 members")


def test_a_single_member_far_below_the_mixture_is_warned_of():
    """Two cells: no single classifier keeps the floor but the constant."""
    X, y = np.array([[0], [0], [1], [1]]), np.array([0, 1, 0, 1])
    weight = np.array([90.0, 10.0, 10.0, 90.0])
    known = FrozenEstimator(Known(np.array([[0.9, 0.1], [0.1, 0.9]])))
    model = FrankWolfeClassifier(known, "accuracy", min_recall=0.95, calibration=None)
    with pytest.warns(UserWarning, match=r"reaches 0\.5 .* a mixture 0\.7: pass rand"):
        model.fit(X, y, weight)
    mixed = clone(model).set_params(randomised=True).fit(X, y, weight)
    assert mixed.best_score_ == pytest.approx(0.7)


PARITY = ("recall", 0.1)
REFUSED = [
    (ValueError, "oracle must be one of", {"oracle": "refit"}),
    (ValueError, "algorithm must be one of", {"algorithm": "fw"}),
    (ValueError, "is for ratios", {"metric": "mcc", "algorithm": "bisection"}),
    (ValueError, "is for ratios", {"min_recall": 0.1, "algorithm": "bisection"}),
    (ValueError, "min_recall must lie from 0 to 1, not at 1.5", {"min_recall": 1.5}),
    (ValueError, "names the class 'x'", {"min_precision": {"x": 0.5}}),
    (ValueError, "no mixture keeps min_precision=1", {"min_precision": {0: 1, 1: 1}}),
    (ValueError, "parity needs groups", {"parity": PARITY}),
    (TypeError, "parity must be a rate and a gap", {"parity": 0.1}),
    (ValueError, "rate of parity must be one of", {"parity": ("precision", 0.1)}),
    (ValueError, "calibration must be one of", {"calibration": "best"}),
    (
        TypeError,
        "KNeighborsClassifier.fit takes no sample_weight.*oracle='plug-in'",
        {"estimator": KNeighborsClassifier(), "oracle": "weights"},
    ),
    (
        ValueError,
        "margins only: set a calibration",
        {"estimator": LinearSVC(), "calibration": None},
    ),
]


@pytest.mark.parametrize(("error", "message", "options"), REFUSED)
def test_what_is_refused(error, message, options):
    refuses(error, message, FrankWolfeClassifier(**options).fit, X, Y)


def test_groups_are_refused_without_parity_and_where_one_has_no_positives():
    group = np.where(Y == 1, "a", "b")
    refuses(ValueError, "groups are those of parity", FrankWolfeClassifier().fit, X, Y,
            groups=group)  # fmt: skip
    model = FrankWolfeClassifier(parity=PARITY)
    refuses(ValueError, "groups has 'b' with no row of class 1", model.fit, X, Y,
            groups=group)  # fmt: skip


@parametrize_with_checks(
    [
        FrankWolfeClassifier(cv=2, max_iter=5, randomised=True),
        FrankWolfeClassifier(
            RidgeClassifier(), "gmean", oracle="weights", cv=2, max_iter=2
        ),
    ]
)
@pytest.mark.filterwarnings("ignore:the out-of-fold scores")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_macro_f1_of_three_classes_is_near_the_best_of_all_classifiers():
    """The metric is not concave: the search may end at a lower peak."""
    short = []
    several = get_class_metric("f1", n_classes=3)
    for seed in range(6):
        model, tables = fitted(seed, classes=3, cells=5, metric="f1")
        short.append(several.score(tables[:, 0]).max() - model.best_score_)
    assert min(short) > -1e-12
    assert np.median(short) < 1e-9
    assert max(short) < 0.02


def test_a_constant_knows_its_columns():
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.arange(40) % 4 > 0
    model = FrankWolfeClassifier(metric="recall", oracle="weights", cv=2).fit(X, y)
    assert model.members_ == [1]
    assert model.n_features_in_ == 3
    assert model.predict(X.tolist()).tolist() == [True] * 40
    refuses(ValueError, "X has 2 features, but Frank", model.predict, X[:, :2])


@pytest.mark.parametrize("oracle", ["plug-in", "weights"])
def test_a_class_is_in_every_training_part(oracle):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.arange(40) // 20
    halves = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]
    model = FrankWolfeClassifier(oracle=oracle, cv=halves)
    refuses(ValueError, "fold 0 has no row of class 1; pass", model.fit, X, y)
    model = FrankWolfeClassifier(oracle=oracle, cv=2)
    labels = np.tile([0, 1, 2, 2], 10)
    weights = np.where(labels == 1, 0.0, 1.0)
    refuses(ValueError, "no row of class 1 with a positive weight", model.fit, X,
            labels, weights)  # fmt: skip
