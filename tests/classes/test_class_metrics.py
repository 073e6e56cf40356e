"""Scores of tables of counts, held to scikit-learn and to formulas."""

import math

import numpy as np
import pytest
from sklearn import metrics as sk

import argmetric as am
from argmetric.metrics import class_metric_from_dict, get_class_metric
from refusing import refuses

PAIRS = {
    "f1": lambda y, z: sk.f1_score(y, z, average="macro"),
    "f2": lambda y, z: sk.fbeta_score(y, z, beta=2, average="macro"),
    "jaccard": lambda y, z: sk.jaccard_score(y, z, average="macro"),
    "precision": lambda y, z: sk.precision_score(
        y, z, average="macro", zero_division=0
    ),
    "balanced_accuracy": sk.balanced_accuracy_score,
    "accuracy": sk.accuracy_score,
    "kappa": sk.cohen_kappa_score,
    "quadratic_kappa": lambda y, z: sk.cohen_kappa_score(y, z, weights="quadratic"),
    "mcc": sk.matthews_corrcoef,
}


def costs(value):
    return [[0, 1, 2], [1, 0, value], [1, 1, 0]]


def table(y, z, count):
    found = np.zeros((count, count))
    np.add.at(found, (y, z), 1)
    return found


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.filterwarnings("ignore:y_pred contains classes")
def test_scores_are_those_of_scikit_learn(name, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 30)
    z = np.where(rng.random(30) < 0.6, y, rng.integers(0, 4, 30))
    metric = get_class_metric(name, n_classes=6)  # two classes are absent
    if name == "quadratic_kappa":
        y[:4] = z[:4] = range(4)
    assert metric.score(table(y, z, 6)) == pytest.approx(PAIRS[name](y, z), abs=1e-12)


def test_weighted_means_count_rows():
    y, z = np.array([0, 0, 0, 1, 2, 2]), np.array([0, 0, 1, 1, 1, 2])
    metric = get_class_metric("f1", average="weighted", n_classes=3)
    expected = sk.f1_score(y, z, average="weighted")
    assert metric.score(table(y, z, 3)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("absent", "value"), [(0.0, 0.5), (1.0, 1.0), (math.nan, 1.0)])
def test_absent_classes_count_what_they_are_said_to(absent, value):
    counts = np.zeros((4, 4))
    counts[0, 0] = counts[1, 1] = 3
    metric = get_class_metric("f1", zero_division=absent, n_classes=4)
    assert metric.score(counts) == value


@pytest.mark.parametrize("average", ["macro", "weighted"])
@pytest.mark.parametrize("absent", [0.0, 1.0, math.nan])
def test_a_true_class_that_is_never_predicted_has_a_precision_of_0(average, absent):
    """As with 0 in scikit-learn; there 1 would reward who never predicts a class."""
    y, z = [0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1]
    how = {"average": average, "zero_division": absent}
    found = am.classes.evaluate(y, z, "precision", **how)
    expected = sk.precision_score(y, z, average=average, zero_division=0)
    assert found == pytest.approx(expected, abs=1e-12)
    assert "true class that is never predicted counts 0" in found.metric.convention
    f1 = am.classes.evaluate(y, z, "f1", **how)
    assert "never predicted" not in f1.metric.convention


def test_the_geometric_mean_is_of_the_recalls_that_exist():
    counts = np.array([[3.0, 1, 0], [1, 1, 0], [0, 0, 0]])
    metric = get_class_metric("gmean", n_classes=3)
    assert metric.score(counts) == pytest.approx(math.sqrt(0.75 * 0.5))
    counts[2, 0] = 1
    assert metric.score(counts) == 0.0


def test_costs_and_functions_score_a_table():
    counts = np.array([[3.0, 1], [2, 4]])
    cost = get_class_metric(cost=[[0, 1], [5, 0]], n_classes=2)
    assert cost.score(counts) == pytest.approx(-(1 + 10) / 10)
    own = get_class_metric(lambda t: t[0, 0] / t.sum(), n_classes=2)
    assert own.score(np.stack([counts, counts])).tolist() == [0.3, 0.3]


@pytest.mark.parametrize("name", [*PAIRS, "gmean"])
def test_a_saved_metric_scores_the_same(name):
    absent = 1.0 if name in ("f1", "f2", "jaccard", "precision", "accuracy") else None
    metric = get_class_metric(name, zero_division=absent, n_classes=3)
    counts = np.array([[3.0, 1, 0], [1, 1, 2], [0, 1, 4]])
    again = class_metric_from_dict(metric.to_dict())
    assert again.score(counts) == metric.score(counts)
    assert again.convention == metric.convention


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metric": "lift"}, "lift has no form for several classes"),
        ({"average": "samples"}, "must be one of 'macro', 'weighted'"),
        ({"metric": "mcc", "average": "weighted"}, "no mean over classes"),
        ({"zero_division": 0.5}, "zero_division"),
        ({"cost": [[0, 1]]}, "matrix of 3 x 3"),
        ({"cost": costs(math.inf)}, "cost is inf at row 1, column 2; costs are finite"),
        ({"cost": costs(math.nan)}, "cost is nan at row 1, column 2"),
        ({"cost": [[0, 1, 2], [1, 0], [1, 1, 0]]}, "cost is ragged: row 1 has 2"),
        ({"cost": [["a"] * 3] * 3}, "cost is not a number at row 0, column 0: 'a'"),
        ({"cost": "abc"}, "cost must be an array of numbers, not str"),
    ],
)
def test_what_has_no_form_is_refused(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        get_class_metric(**{"n_classes": 3} | options)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_function_that_gives_no_number_is_refused(value):
    def own(counts):
        return value

    p, words = np.full((4, 3), 1 / 3), rf"the metric own gives {value} for a table of 3"
    calls = (
        lambda: am.classes.decide(p, own),
        lambda: am.classes.evaluate([0, 1, 2], [0, 1, 1], own),
    )
    for call in calls:
        refuses(ValueError, words, call)


def test_a_function_may_be_undefined_elsewhere():
    def share(counts):
        return counts[0, 0] / counts[0].sum() if counts[0, 0] > 1 else math.nan

    assert am.classes.evaluate([0, 0, 1], [0, 0, 1], share) == 1.0
