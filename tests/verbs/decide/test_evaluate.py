"""The result of evaluate: a float with counts, an interval and a picture."""

import copy
import json
import pickle

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, f1_score

import argmetric as am

RNG = np.random.default_rng(3)
Y = (RNG.random(400) < 0.3).astype(int)
PREDICTED = np.where(RNG.random(400) < 0.8, Y, 1 - Y)
GROUPS = np.arange(400) % 40


def pickled(value):
    return pickle.loads(pickle.dumps(value))


def test_it_is_a_float_in_every_respect():
    score = am.evaluate(Y, PREDICTED)
    value = f1_score(Y, PREDICTED)
    assert isinstance(score, float)
    assert score == pytest.approx(value, rel=1e-12)
    assert (repr(score), str(score), f"{score:.3f}") == (
        repr(float(score)),
        str(float(score)),
        f"{value:.3f}",
    )
    assert json.loads(json.dumps({"score": score})) == {"score": float(score)}
    for found in (score + 1, 2 * score, -score, abs(score), round(score, 2), score**2):
        assert type(found) is float
    assert type(score.score) is float
    assert {score: 1}[float(score)] == 1


def test_counts_are_those_of_the_confusion_matrix():
    score = am.evaluate(Y, PREDICTED, "mcc")
    (tn, fp), (fn, tp) = confusion_matrix(Y, PREDICTED).tolist()
    assert score.counts == {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    assert score.n == 400
    assert (score.average, score.n_groups, score.metric.name) == (None, None, "mcc")


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickled])
def test_copies_keep_everything(make):
    score = am.evaluate(Y, PREDICTED, groups=GROUPS)
    again = make(score)
    assert type(again) is type(score)
    assert again == score
    assert again.to_dict() == score.to_dict()


@pytest.mark.parametrize("metric", ["f1", "accuracy", "mcc"])
def test_the_interval_holds_the_score_of_the_population_as_often_as_it_says(metric):
    """True shares are known: 300 samples, each with an interval of its own."""
    shares = np.array([0.2, 0.1, 0.1, 0.6])
    tp, fp, fn, _ = shares
    truth = float(am.get_metric(metric).value(tp, tp + fp, tp + fn, 1.0))
    cells = np.array([(1, 1), (0, 1), (1, 0), (0, 0)])
    rng, inside = np.random.default_rng(8), 0
    for _ in range(300):
        y, predicted = cells[rng.choice(4, 60, p=shares)].T
        low, high = am.evaluate(y, predicted, metric).interval
        inside += low <= truth <= high
    assert inside / 300 == pytest.approx(0.9, abs=0.05)


def test_few_rows_have_a_wide_interval_that_holds_the_score():
    perfect = am.evaluate([1, 0] * 5, [1, 0] * 5)
    low, high = perfect.interval
    assert high == perfect == 1.0
    assert low < 0.8
    many = am.evaluate([1, 0] * 500, [1, 0] * 500).interval
    assert many[0] > 0.99


def test_the_interval_of_a_mean_over_groups_is_that_of_its_standard_error():
    score = am.evaluate(Y, PREDICTED, "accuracy", groups=GROUPS)
    own = np.array([(Y == PREDICTED)[g == GROUPS].mean() for g in range(40)])
    reach = 1.645 * own.std(ddof=1) / np.sqrt(40)
    assert score.interval == pytest.approx((own.mean() - reach, own.mean() + reach))
    assert (score.average, score.n_groups) == ("groups", 40)
    assert score.counts == am.evaluate(Y, PREDICTED).counts


def test_averages_over_matrices():
    truth, predicted = Y.reshape(100, 4), PREDICTED.reshape(100, 4)
    found = {
        average: am.evaluate(truth, predicted, average=average, zero_division=np.nan)
        for average in ("samples", "macro", "micro")
    }
    assert found["macro"].interval is None
    assert found["macro"].n_groups == 4
    assert found["micro"].interval == am.evaluate(Y, PREDICTED).interval
    defined = ((truth + predicted).sum(axis=1) > 0).sum()
    assert found["samples"].n_groups == defined < 100
    assert am.evaluate(Y, PREDICTED, groups=np.zeros(400)).interval is None


def test_pictures_and_tables_name_the_actual_score():
    plt = pytest.importorskip("matplotlib.pyplot")
    score = am.evaluate(Y, PREDICTED)
    ax = score.plot()
    title = f"Actual F1: {score:.3f}"
    assert (ax.get_title(), ax.get_xlabel(), ax.get_ylabel()) == (
        title,
        "Predicted",
        "Actual",
    )
    assert any(f"{score.counts['tp']:,}" in one.get_text() for one in ax.texts)
    plt.close("all")
    assert f">{score:.3f}</div>" in score._repr_html_()
    assert "90% interval" in score._repr_html_()
