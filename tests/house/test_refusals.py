"""Values of the wrong kind are refused in words, and change nothing."""

from __future__ import annotations

import math
import os
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import dok_matrix
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import argmetric as am
import opened
from argmetric import sequence
from argmetric._ground.features import check_features
from argmetric.search import Costing, Parser, Summarizer, Tagger

NAN = math.nan


@pytest.mark.parametrize(
    "load",
    [am.Rule.load, am.Calibrator.load, Tagger.load, Parser.load, Summarizer.load],
)
def test_a_file_descriptor_is_no_path(load):
    reading, writing = os.pipe()
    for number in (reading, writing, True):
        with pytest.raises(TypeError, match="path must be the name of a file"):
            load(number)
    os.write(writing, b"open")  # neither end was closed
    assert os.read(reading, 4) == b"open"
    os.close(reading)
    os.close(writing)


def test_a_file_descriptor_is_not_written_to():
    rule = am.tune([0, 1, 0, 1], [0.1, 0.9, 0.4, 0.6])
    with pytest.raises(TypeError, match="path must be the name of a file"):
        rule.save(1)


@pytest.mark.parametrize("size", [1e38, 1e39, 1e300])
@pytest.mark.parametrize("groups", [None, np.arange(60) % 5])
def test_scores_on_both_sides_of_the_largest_32_bit_number(size, groups):
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 60), rng.normal(size=60)
    large = am.tune(y, size * scores, groups=groups)
    small = am.tune(y, scores, groups=groups)
    assert large.score == small.score
    np.testing.assert_array_equal(large.apply(size * scores), small.apply(scores))


def test_all_rows_above_a_threshold_that_32_bits_cannot_hold():
    rule = am.tune([1, 0, 1], np.array([1.0, 2.0, 3.0]) * 1e39, "recall")
    assert rule.threshold == float(np.finfo(np.float32).max)
    assert rule.apply(np.array([1e39, 3e38])).tolist() == [1, 0]


@pytest.mark.parametrize(
    "call",
    [
        lambda masked: am.decide([0.3, 0.4], max_positives=masked),
        lambda masked: am.decide([0.3, 0.4], min_positives=masked),
        lambda masked: am.decide([0.3, 0.4], min_precision=masked),
        lambda masked: am.forecast([0.3], [1], prior=masked),
        lambda masked: am.forecast([0.3], [1], overdispersion=masked),
        lambda masked: am.decide([0.3, 0.4], logits=masked),
        lambda masked: am.FBeta(masked),
    ],
)
@pytest.mark.parametrize("masked", [np.ma.masked, np.ma.array(1, mask=True)])
def test_a_masked_number_is_none(call, masked):
    with pytest.raises(TypeError, match=r"must be .*not"):
        call(masked)


def test_a_number_that_could_be_masked_counts():
    assert am.decide([0.9, 0.8], max_positives=np.ma.array(1)).n_positives == 1


@pytest.mark.parametrize("form", ["array", "list", "frame"])
@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: am.MetricClassifier(LogisticRegression()).fit(X, y),
        lambda X, y: am.MetricLogisticRegression().fit(X, y),
        lambda X, y: am.stream.OnlineClassifier().partial_fit(X, y, classes=[0, 1]),
        lambda X, y: am.stream.OnlineThreshold(GaussianNB()).fit(X, y),
    ],
)
def test_a_whole_number_beyond_floats_among_features(fit, form):
    X, y = np.zeros((40, 2), dtype=object), np.arange(40) % 2
    X[:, 0] = y
    X[7, 1] = 10**400
    given = {"array": X, "list": X.tolist(), "frame": pd.DataFrame(X)}[form]
    with pytest.raises(ValueError, match="row 7, column 1 that is beyond all floats"):
        fit(given, y)


def test_a_whole_number_beyond_floats_where_labels_are_predicted():
    X, y = np.zeros((40, 1)), np.arange(40) % 2
    X[:, 0] = y
    huge = np.array([[1], [-(10**400)]], dtype=object)
    for model in (
        am.MetricClassifier(LogisticRegression()),
        am.MetricLogisticRegression(),
        am.stream.OnlineThreshold(GaussianNB()),
        Costing(LogisticRegression(), n_draws=1),
    ):
        model.fit(X, y)
        with pytest.raises(ValueError, match="row 1, column 0"):
            model.predict(huge)


@pytest.mark.parametrize(
    "model",
    [
        am.MetricClassifier(LogisticRegression()),
        am.stream.OnlineThreshold(SGDClassifier(random_state=0)),
        Costing(LogisticRegression(), n_draws=1),
    ],
)
def test_a_nan_that_cannot_be_compared(model):
    X = (np.arange(40) % 2)[:, None]
    model.fit(X, X.ravel())
    assert model.predict([[1], [0]]).tolist() == [1, 0]
    with pytest.raises(ValueError, match=r"X has Decimal\('sNaN'\)"):
        model.predict([[1], [Decimal("sNaN")]])


@pytest.mark.parametrize("model", [GaussianNB(), SGDClassifier(random_state=0)])
def test_a_missing_value_of_pandas_that_a_model_cannot_take(model):
    X = (np.arange(40) % 2)[:, None]
    model = am.stream.OnlineThreshold(model).fit(X, X.ravel())
    with pytest.raises(TypeError, match=r"the model cannot take X: .*NA"):
        model.predict([[1], [pd.NA]])


def test_features_that_are_text_reach_the_model():
    words, y = [["a"], ["b"]] * 20, [1, 0] * 20
    codes = OneHotEncoder(handle_unknown="ignore")
    model = am.MetricClassifier(make_pipeline(codes, LogisticRegression()))
    assert model.fit(words, y).predict([["b"], ["a"]]).tolist() == [0, 1]


def test_rows_of_a_frame_are_drawn_as_those_of_an_array():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3 == 0
    X[:, 0] += 2 * y
    of_array = Costing(LogisticRegression()).fit(X, y)
    frame = pd.DataFrame(X, index=np.arange(60)[::-1])
    of_frame = Costing(LogisticRegression()).fit(frame, y)
    assert of_array.predict_proba(X).tolist() == of_frame.predict_proba(frame).tolist()


def test_a_lazy_frame_is_not_asked_for_its_types():
    X = pl.LazyFrame({"a": [0.0, 1.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((TypeError, ValueError)):
            am.MetricLogisticRegression().fit(X, [0, 1])


def test_a_float_of_more_than_64_bits_among_features():
    X = [[0.0], [1.0], [np.longdouble("1e4000")]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_features(X)


def test_a_series_of_objects_as_features_is_no_frame():
    """It has one type, not one a column."""
    check_features(pd.Series([1.0, None], dtype=object))
    with pytest.raises(ValueError, match=r"beyond|large|float"):
        check_features(pd.Series([1.0, 10**400], dtype=object))


def test_a_short_float_as_pos_label_beside_a_long_label():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="labels have two values"):
            am.calibrate([1, 3, -(10**18)], [0.1, 0.2, 0.3], pos_label=np.float16(3))


def test_files_are_not_read_to_their_end_before_they_are_checked():
    read = []

    class Endless:
        def __getitem__(self, i):
            read.append(i)
            return 0.5

    with pytest.raises(TypeError, match=r"files must be the name of a file, not 0\.5"):
        opened.evaluate(Endless(), "f1")
    assert read == [0]


@pytest.mark.parametrize("value", ["many", None, [[1, 2], [3]], 1j])
def test_the_number_of_items_of_a_metric(value):
    with pytest.raises(TypeError, match="n must hold counts"):
        am.MCC().tie_floor(value)


@pytest.mark.parametrize("share", [1e-300, 1e-307, 1e-320, 5e-324])
def test_a_share_on_both_sides_of_the_smallest_full_float(share):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="reference_prevalence"):
            am.adjust_prior([0.2, 0.5, 0.9], reference_prevalence=share)
        # Where each row is certain, the share of those that are 1
        found = am.adjust_prior([0.0, 1.0, 1.0, 0.0, 0.0], reference_prevalence=share)
    assert found.prevalence == pytest.approx(0.4, rel=1e-12)


@pytest.mark.parametrize(
    "score", [pl.Series([0.5]), pl.col("a"), "0.5", None, np.ma.masked, [0.5]]
)
def test_a_surprise_asks_for_a_number(score):
    with pytest.raises(TypeError, match="score must be a number"):
        am.forecast([0.3, 0.4], [1, 0]).surprise(score)


def test_a_surprise_of_numbers_at_the_edge():
    made = am.forecast([0.9, 0.9, 0.9], [1, 1, 1])
    assert made.surprise(made.interval[0]) is None
    assert "outside" in made.surprise(0.0)
    assert made.surprise(NAN) is None
    with pytest.raises(ValueError, match="finite"):
        made.surprise(10**400)


@pytest.mark.parametrize("name", ["mcc", "f1", "kappa", "gmean", "lift", "markedness"])
def test_rounding_of_more_items_than_floats_can_count(name):
    metric = am.get_metric(name)
    assert metric.tie_floor(1e308) == metric.tie_floor(2.0**53)


@pytest.mark.parametrize("values", [dok_matrix((2, 2)), {}, [1], None])
@pytest.mark.parametrize("kind", [am.Rule, am.Calibrator])
def test_what_is_no_saved_rule(kind, values):
    with pytest.raises(ValueError, match="this is no saved"):
        kind.from_dict(values)


@pytest.mark.parametrize("budget", [0, -1, 2.5, NAN, None, "many", np.ma.masked])
@pytest.mark.parametrize("metric", ["f1", "jaccard"])
def test_the_budget_of_a_search(metric, budget):
    chain = sequence.MarkovChain([0.7, 0.3], [[[0.9, 0.1], [0.4, 0.6]]] * 3)
    with pytest.raises((TypeError, ValueError), match="budget must be"):
        sequence.decode(metric, chain, budget=budget)
    assert sequence.decode(metric, chain, budget=1).labels.size == 4
