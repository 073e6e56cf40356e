"""The interval of a macro-average: rows are drawn, and a row has all its labels."""

import json
import pickle

import numpy as np
import pytest
from scipy import sparse, stats

import argmetric as am

METRICS = ("f1", "jaccard", "balanced_accuracy", "recall")


def draw_rows(rng, rates, n, *, quality=1.5, shared=0.3):
    """Draw labels and predictions whose logits share a part within every row."""
    z, e = (
        np.sqrt(shared) * rng.standard_normal((n, 1))
        + np.sqrt(1 - shared) * rng.standard_normal((n, len(rates)))
        for _ in range(2)
    )
    cut = stats.norm.isf(rates)
    return z > cut, (quality * z + e) / np.sqrt(quality**2 + 1) > cut


def macro(metric, y, labels, weight):
    """Return the mean over labels of weighted counts, with 0 for 0/0."""
    w = weight[:, None]
    tp, k, t = ((w * x).sum(axis=0) for x in (y & labels, labels, y))
    values = am.get_metric(metric).value(tp, k, t, np.full(tp.shape, weight.sum()))
    return float(np.mean(values))


def evaluate(y, labels, metric="f1", **how):
    return am.evaluate(y, labels, metric, average="macro", **how)


@pytest.mark.parametrize("metric", METRICS)
def test_frequent_labels_have_the_interval_of_a_bootstrap_of_rows(metric):
    """The slow twin weighs whole rows by exponential variates (Rubin's bootstrap)."""
    rng = np.random.default_rng(1)
    y, labels = draw_rows(rng, np.linspace(0.2, 0.6, 6), 2000, shared=0.8)
    draws = [macro(metric, y, labels, rng.exponential(size=2000)) for _ in range(800)]
    low, high = np.quantile(draws, (0.05, 0.95))
    found = evaluate(y, labels, metric).interval
    assert found == pytest.approx((low, high), abs=0.12 * (high - low))
    mixed = np.array([rng.permutation(2000) for _ in range(6)]).T
    apart = [np.take_along_axis(x, mixed, axis=0) for x in (y, labels)]
    narrow = evaluate(*apart, metric).interval  # the same counts, independent labels
    assert found[1] - found[0] > 1.25 * (narrow[1] - narrow[0])


@pytest.mark.parametrize(
    ("n", "n_labels", "lowest", "highest"),
    [
        (30, 4, 0.1, 0.5),
        (30, 30, 0.01, 0.3),
        (300, 40, 0.003, 0.1),
        (3000, 6, 0.002, 0.3),
    ],
)
def test_it_holds_the_score_of_the_population_at_both_ends(
    n, n_labels, lowest, highest, monkeypatch
):
    monkeypatch.setattr("argmetric._verbs.decide._macro_interval.DRAWS", 400)
    rng, missed = np.random.default_rng(5), {name: np.zeros(2) for name in METRICS}
    rates = np.geomspace(lowest, highest, n_labels)
    many = draw_rows(rng, rates, 400_000 // n_labels)
    truth = {name: float(evaluate(*many, name)) for name in METRICS}
    for _ in range(30):
        y, labels = draw_rows(rng, rates, n)
        for name, value in truth.items():
            low, high = evaluate(y, labels, name).interval
            missed[name] += value < low, value > high
    for name, (below, above) in missed.items():  # 5 % of 30 is 1.5; 5 has p = .016
        assert below <= 5, name
        assert above <= 5, name


def test_equal_columns_have_the_interval_of_one_label():
    rng = np.random.default_rng(3)
    y, labels = draw_rows(rng, np.array([0.4]), 1000)
    one = am.evaluate(y[:, 0], labels[:, 0]).interval
    found = evaluate(np.repeat(y, 5, axis=1), np.repeat(labels, 5, axis=1)).interval
    assert found == pytest.approx(one, abs=0.15 * (one[1] - one[0]))
    assert evaluate(y, labels).interval == one  # one label
    assert evaluate(y, labels).n_groups == 1


def test_a_label_without_positives_may_score_as_the_others_on_more_rows():
    rng = np.random.default_rng(4)
    y, labels = draw_rows(rng, np.full(6, 0.3), 300)
    y[:, 0] = labels[:, 0] = False
    low, high = evaluate(y, labels).interval
    others = float(evaluate(y[:, 1:], labels[:, 1:]))
    score = evaluate(y, labels)
    assert score == pytest.approx(others * 5 / 6)
    assert low < score
    assert high > others
    left_out = evaluate(y, labels, zero_division=np.nan)
    assert left_out == pytest.approx(others)
    assert left_out.n_groups == 5
    assert left_out.interval[0] < others < left_out.interval[1]
    assert evaluate(y, labels, zero_division=1.0).interval[0] < others


@pytest.mark.parametrize("n", [1, 40])
def test_equal_rows_show_no_dependence_so_labels_vary_as_one(n):
    row = np.array([[1, 0, 0, 1]])
    score = evaluate(np.repeat(row, n, axis=0), np.repeat(row, n, axis=0))
    low, high = score.interval
    assert low <= score == 0.5 <= high <= 1.0
    assert score._tables.ratio == pytest.approx(2.0 if n == 1 else 1.45, abs=0.15)
    nothing = evaluate(0 * row, 0 * row).interval
    assert nothing[0] == 0.0 < nothing[1] < 1.0


def test_weights_count_as_rows_and_widen_the_interval():
    rng = np.random.default_rng(6)
    y, labels = draw_rows(rng, np.full(4, 0.3), 400)
    plain = evaluate(y, labels).interval
    for weight in (2.5, 1e-3):
        same = evaluate(y, labels, sample_weight=np.full(400, weight)).interval
        assert same == pytest.approx(plain, rel=1e-9)
    weight = rng.exponential(size=400) ** 2  # (Σw)²/Σw² is about a sixth of the rows
    low, high = evaluate(y, labels, sample_weight=weight).interval
    assert (high - low) / (plain[1] - plain[0]) == pytest.approx(6**0.5, rel=0.35)
    half = np.arange(400) < 200
    found = evaluate(y, labels, sample_weight=half.astype(float)).interval
    assert found == pytest.approx(evaluate(y[half], labels[half]).interval, rel=1e-9)


def test_sparse_labels_have_the_same_interval():
    rng = np.random.default_rng(7)
    y, labels = (x.astype(int) for x in draw_rows(rng, np.full(5, 0.2), 300))
    plain = evaluate(y, labels).interval
    packed = evaluate(sparse.csr_array(y), sparse.csr_array(labels)).interval
    assert packed == pytest.approx(plain, rel=1e-9)


def test_thousands_of_labels_and_a_metric_of_amounts():
    rng = np.random.default_rng(8)
    y, labels = (rng.random((2, 50, 3000)) < 0.1).astype(int)
    score = evaluate(y, labels)
    assert score.interval[0] < score < score.interval[1] < score + 0.2
    worth = evaluate(y[:, :4], labels[:, :4], am.Utility(tp=1, fp=-1, fn=-4))
    assert worth.interval[0] < worth < worth.interval[1]


def test_it_stands_wherever_the_score_is_shown():
    rng = np.random.default_rng(9)
    score = evaluate(*draw_rows(rng, np.full(4, 0.3), 200))
    assert json.loads(json.dumps(score.to_dict()))["interval"] == list(score.interval)
    assert pickle.loads(pickle.dumps(score)).interval == score.interval
    assert score.assumptions == ("independent rows",)
    low, high = (f"{x:.3f}" for x in score.interval)
    assert f"90% interval {low} to {high}" in score._repr_html_()
