"""Forecasts of labels of several classes, held to all truths and to coverage."""

import pickle

import numpy as np
import pytest

import argmetric as am
from class_oracle import few_rows
from refusing import refuses


@pytest.mark.parametrize("name", ["f1", "gmean"])
def test_many_rows_draw_counts(name):
    # a class of 8 expected rows, and one row more than are drawn one by one
    p = np.random.default_rng(0).dirichlet(np.array([3, 2, 1, 2e-3]), size=40_001)
    labels = (p * [1, 1, 1, 5]).argmax(axis=1)
    drawn = am.classes.forecast(p[1:], labels[1:], name)
    counted = am.classes.forecast(p, labels, name)
    assert counted.mean == pytest.approx(drawn.mean, abs=0.003)
    assert counted.std == pytest.approx(drawn.std, rel=0.15)
    assert counted.interval == pytest.approx(drawn.interval, abs=0.015)


def test_known_classes_are_certain():
    p = few_rows(4, n=6)
    truth = [0, 1, 2, 0, 1, 2]
    labels = [0, 1, 2, 0, 1, 1]
    f = am.classes.forecast(p, labels, known=truth)
    actual = am.classes.evaluate(truth, labels, classes=[0, 1, 2])
    assert f.mean == pytest.approx(actual)
    assert f.interval == pytest.approx((actual, actual))
    half = am.classes.forecast(p, labels, known=[0, None, 2, None, 1, None])
    certain = p.copy()
    certain[::2] = np.eye(3)[[0, 2, 1]]
    assert half.mean == am.classes.forecast(certain, labels).mean


def test_the_decision_forecasts_itself_until_it_is_pickled():
    d = am.classes.decide(few_rows(4, n=30))
    assert d.forecast().mean == pytest.approx(d.expected)
    again = pickle.loads(pickle.dumps(d))
    assert again.expected == d.expected
    refuses(ValueError, "needs p again", again.forecast)


def test_a_reference_widens_the_interval():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.array([4, 2, 1.0]), size=1300)
    y = np.array([rng.choice(3, p=row) for row in p])
    d = am.classes.decide(p[300:], reference=(y[:300], p[:300]))
    f = d.forecast()
    assert f.interval[0] < f.interval_given_calibrator[0]
    assert f.interval[1] > f.interval_given_calibrator[1]
    actual = am.classes.evaluate(y[300:], d.labels)
    assert f.interval[0] <= actual <= f.interval[1]
    same = am.classes.forecast(p[300:], d.labels, reference=(y[:300], p[:300]))
    assert same.interval == f.interval


def test_the_gmean_may_be_0_where_a_class_was_rare_in_the_reference():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.array([6, 3, 0.06]), size=1200)
    y = np.array([rng.choice(3, p=row) for row in p])
    reference = y[:600], p[:600]
    d = am.classes.decide(p[600:], "gmean", reference=am.classes.calibrate(*reference))
    f = d.forecast()
    given_calibrator = am.classes.forecast(d._batch.p, d.codes, "gmean")
    assert f.mean == pytest.approx(given_calibrator.mean)
    assert f.cdf(0.0) > given_calibrator.cdf(0.0)
    assert f.values @ f.probabilities == pytest.approx(f.mean, abs=0.02)
    learnt = am.classes.forecast(p[600:], d.codes, "gmean", reference=reference)
    for one in (f, learnt):
        assert one.interval_given_calibrator == given_calibrator.interval
        assert one.interval[0] < one.interval_given_calibrator[0]


def test_actual_scores_know_their_table():
    score = am.classes.evaluate(["a", "b", "b", "c"], ["a", "b", "c", "c"])
    assert score.classes == ("a", "b", "c")
    assert score.confusion.tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 1]]
    assert score.per_class == pytest.approx([1, 2 / 3, 2 / 3])
    low, high = score.interval
    assert low < score < high
    assert score.to_dict()["confusion"] == score.confusion.tolist()
    assert score.plot().get_xlabel() == "Predicted"


def test_a_score_outside_of_the_interval_is_a_surprise():
    p = few_rows(3, n=60)
    labels = p.argmax(axis=1)
    f = am.classes.forecast(p, labels)
    assert f.surprise(f.mean) is None
    assert "classes.check(y, p)" in f.surprise(-1.0)
    wrong = (labels + 1) % 3
    with pytest.warns(UserWarning, match="the actual macro f1 is 0.0000, outside"):
        am.classes.evaluate(wrong, labels, forecast=f)
    assert f.plot().get_xlabel() == "macro F1"
