"""Values of the wrong kind are refused in words, and change nothing."""

import math
import os
import re
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB

import argmetric as am
import opened
from argmetric.search import Costing, Summarizer, Tagger

NAN = math.nan


@pytest.mark.parametrize(
    "load",
    [am.Rule.load, am.Calibrator.load, Tagger.load, Summarizer.load],
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


@pytest.mark.parametrize("verb", ["decide", "forecast"])
def test_what_is_no_tensor_is_refused(verb, monkeypatch):
    monkeypatch.setattr("argmetric.tensors._arrays.OLD_NUMPY", True)
    call, more = getattr(am.tensors, verb), {"forecast": [[True]]}.get(verb, [])
    arrays = f"numpy {np.__version__}"
    for p, kind in (([0.5], "list"), (None, "NoneType"), (np.array([0.5]), arrays)):
        with pytest.raises(TypeError, match=rf"not {re.escape(kind)}; functions such"):
            call(p, *more)


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


def test_a_lazy_frame_is_not_asked_for_its_types():
    X = pl.LazyFrame({"a": [0.0, 1.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError, match=r"not LazyFrame; pass X.collect\(\)"):
            am.MetricLogisticRegression().fit(X, [0, 1])


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


@pytest.mark.parametrize("share", [1e-300, 1e-307, 1e-320, 5e-324])
def test_a_share_on_both_sides_of_the_smallest_full_float(share):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="reference_prevalence"):
            am.adjust_prior([0.2, 0.5, 0.9], reference_prevalence=share)
        # Where each row is certain, the share of those that are 1
        found = am.adjust_prior([0.0, 1.0, 1.0, 0.0, 0.0], reference_prevalence=share)
    assert found.prevalence == pytest.approx(0.4, rel=1e-12)


def test_a_surprise_of_numbers_at_the_edge():
    made = am.forecast([0.9, 0.9, 0.9], [1, 1, 1])
    assert made.surprise(made.interval[0]) is None
    assert "outside" in made.surprise(0.0)
    assert made.surprise(NAN) is None
    with pytest.raises(ValueError, match="finite"):
        made.surprise(10**400)
