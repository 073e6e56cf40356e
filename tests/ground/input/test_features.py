"""Features that an estimator cannot take: messages name the cell and the way out."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, SGDClassifier

import argmetric as am
from argmetric.stream import OnlineClassifier, OnlineThreshold
from refusing import refuses

X = np.array([[0.2, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.5]] * 6)
Y = np.array([1, 0, 1, 0] * 6)
SHAPED = "X must be a matrix with a row for each item, not of shape {}. Reshape your"


def with_cell(value, kind=float):
    """X with another value in row 3, column 1."""
    rows = X.astype(kind)
    rows[3, 1] = value
    return rows


# What is passed, and the words of an estimator that takes numbers alone
WRONG = {
    "None": (None, "X must be a matrix of numbers, not None"),
    "text": ("abc", "X must be a matrix of numbers, not str"),
    "a dict": ({"a": 1}, "X must be a matrix of numbers, not dict"),
    "an iterator": (iter(X), "X must be a matrix of numbers, not iterator; pass list"),
    "a vector": (X[:, 0], SHAPED.format("(24,)")),
    "a cube": (np.array([X, X] * 12), SHAPED.format("(24, 24, 2)")),
    "ragged": ([[1, 2]] * 23 + [[1]], "X is ragged: row 23 has 1 values but row 0 has"),
    "nan": (with_cell(np.nan), "X has NaN at row 3, column 1; drop or fill it"),
    "None in a cell": (with_cell(None, object), "X has NaN at row 3, column 1"),
    "inf": (with_cell(np.inf), "X is inf at row 3, column 1: finite numbers"),
    "sparse": (sp.csr_array(with_cell(-np.inf)), "X is -inf at row 3, column 1"),
    "by column": (sp.csc_array(with_cell(np.nan)), "X has NaN at row 3, column 1"),
    "no rows": (X[:0], "X has no rows"),
    "no columns": (X[:, :0], "X has no columns: 0 feature(s) (shape=(24, 0))"),
    "complex": (X * 1j, "Complex data not supported: X is complex; pass X.real"),
    "a complex number": (
        with_cell(np.complex64(1), object).tolist(),
        "Complex data not supported: X is complex",
    ),
    "masked": (
        np.ma.array(X, mask=X == 0.5),
        "X is masked at row 3, column 1; drop or fill it first",
    ),
    "a masked row": (
        [*X[:23], np.ma.array(X[0], mask=True)],
        "X is masked at row 23, column 0",
    ),
    "a name": (
        pd.DataFrame(with_cell(np.nan), columns=["age", "debt"]),
        "X has NaN at row 3, column 'debt'",
    ),
    "dates": (
        X.astype("M8[D]"),
        "X holds dates or times; pass numbers, such as days since 2000",
    ),
    "a word": (
        with_cell("high", object),
        "X is not a number at row 3, column 1: 'high'; each cell of this argument",
    ),
    "other lengths": (X[:5], "rows but"),
}
# These may be what a model of the user's own can take
OF_THE_MODEL = {"a word", "dates", "None in a cell"}


def models():
    return {
        "MetricLogisticRegression": am.MetricLogisticRegression(max_iter=3),
        "OnlineClassifier": OnlineClassifier(),
        "OnlineThreshold": OnlineThreshold(
            SGDClassifier(loss="log_loss", random_state=0)
        ),
    }


@pytest.mark.parametrize("name", models())
@pytest.mark.parametrize("case", WRONG)
def test_wrong_features_are_told_with_their_place(name, case):
    wrong, words = WRONG[case]
    if name == "OnlineThreshold" and case in OF_THE_MODEL:
        words = "the model cannot take X: "
    if name == "OnlineThreshold" and case == "dates":
        pytest.skip("the model reads them as days")
    with pytest.raises((TypeError, ValueError)) as caught:
        models()[name].fit(wrong, Y if case != "no rows" else Y[:0])
    told = str(caught.value)
    if case == "no rows" and name == "OnlineThreshold":
        words = "y"  # two classes are looked for first
    assert words in told
    assert "\n" not in told


@pytest.mark.parametrize("name", models())
@pytest.mark.parametrize(
    "case", [one for one in WRONG if one not in ("other lengths", "no rows")]
)
def test_wrong_features_of_new_rows_are_told(name, case):
    model = models()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
        wrong, words = WRONG[case]
        if name == "OnlineThreshold" and case in OF_THE_MODEL:
            words = "the model cannot take X: "
        with pytest.raises((TypeError, ValueError)) as caught:
            model.predict(wrong)
    assert words in str(caught.value)


def test_masked_features_of_a_wrapped_estimator_are_refused():
    masked = np.ma.array(X, mask=X == 0.5)
    with pytest.raises(ValueError, match="X is masked at row 3, column 1"):
        am.MetricClassifier(LogisticRegression()).fit(masked, Y)


@pytest.mark.parametrize("name", models())
@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, r"\by\b"),
        (Y[:3], r"y has 3|3 rows"),
        ([Y], r"y should be|but y has 1|y has shape \(1"),
    ],
)
def test_wrong_labels_name_y(name, y, words):
    with pytest.raises(ValueError, match=words):
        models()[name].fit(X, y)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ("ab", "ids must be a list of ids, not str"),
        ([[0, 1]], "ids must be a list of ids, not of shape"),
        ([0, 1.5], r"ids must be whole numbers from predict_id, not .* position"),
        ([0, None], "not None at position 1"),
        ([False, True], "not False at position 0"),
        ([0, 99], "ids holds 99 at position 1, which predict_id never returned"),
        ([0, -1], "ids holds -1 at position 1, which predict_id never returned"),
        ([1, 1], "ids holds 1 twice: a row has one label"),
        ([0, 1, 2], "y has 2 rows but ids has 3"),
        (np.ma.array([0, 1], mask=[0, 1]), "not None at position 1"),
    ],
)
def test_wrong_ids_are_told_with_their_position(ids, words):
    model = OnlineClassifier().fit(X, Y)
    model.predict_id(X[:4])
    refuses((TypeError, ValueError), words, model.feedback, ids, [1, 0])
    assert model.feedback([0, 1], [1, 0]) == 2  # nothing was learned before


def test_one_row_at_a_time_needs_a_model_that_learns_so():
    model = OnlineThreshold(SGDClassifier(loss="log_loss")).fit(X, Y)
    for call in (model.predict_one, model.predict_proba_one):
        refuses(
            TypeError, r"with this model call partial_fit\(X, y\)", call, {"a": 1.0}
        )
    refuses(TypeError, "y must be one label", model.learn_one, {"a": 1.0}, [1])
