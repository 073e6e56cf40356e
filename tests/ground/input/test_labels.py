"""Labels of every kind, in evaluate and forecast."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import argmetric as am
from argmetric import stream
from refusing import refuses

P = [0.9, 0.7, 0.6, 0.6, 0.2, 0.1]


def test_a_class_that_is_never_predicted_is_no_mistake():
    assert am.evaluate(["a", "b", "b"], ["b", "b", "b"], pos_label="a") == 0.0
    assert am.evaluate(["ok"] * 3, ["ok"] * 3, pos_label="fraud") == 0.0
    assert am.forecast(P, ["ok"] * 6, pos_label="fraud").n_positives == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: am.evaluate(["ok", "fraud"], ["ok", "ok"]),
            ValueError,
            "y holds 'fraud', 'ok', not 0 and 1; pass pos_label='ok' or",
        ),
        (
            lambda: am.forecast(P, list("abbbbb")),
            ValueError,
            "labels holds 'a', 'b', not 0 and 1; pass pos_label='b' or pos_label='a'",
        ),
        (
            lambda: am.evaluate(["ok", "fraud"], ["ok", "ok"], pos_label="frad"),
            ValueError,
            "y and labels never hold 'frad', which pos_label names; they hold '",
        ),
        (
            lambda: am.evaluate([0, 1], [0, 1], pos_label=[1]),
            TypeError,
            r"pos_label must be one label, not \[1\]",
        ),
        (
            lambda: am.evaluate(["a", None], ["a", "a"], pos_label="a"),
            ValueError,
            "y has no label at row 1; every row needs a label",
        ),
        (
            lambda: am.evaluate([0, -1, 1], [0, 0, 1]),
            ValueError,
            r"y holds -1, 0, 1 \(-1 at row 1\); labels have two values; pass",
        ),
        (
            lambda: am.forecast([0.5, 0.5], [0, 1], known=[2, None]),
            ValueError,
            "known holds 2, not 0 and 1; pass pos_label=2",
        ),
        (
            lambda: am.evaluate(sp.eye_array(2), sp.eye_array(2), pos_label=0),
            ValueError,
            "pos_label=0 goes with dense labels: those of a sparse matrix such as y",
        ),
        (
            lambda: am.evaluate([0, 1], [0.2, 0.7]),
            ValueError,
            r"labels holds 0\.2, 0\.7, not .*, if these are labels, not scores",
        ),
    ],
)
def test_what_is_wrong_is_said(call, error, message):
    refuses(error, message, call)


COLUMN = np.array([0, 1, 2, 1])[:, None]
P3 = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.4, 0.5, 0.1]])
TWO = np.array([[0], [1], [1], [0]])
ONE_COLUMN = {
    "y, evaluated": lambda: am.classes.evaluate(COLUMN, [0, 1, 1, 2]),
    "labels, evaluated": lambda: am.classes.evaluate([0, 1, 1, 2], COLUMN),
    "classes": lambda: am.classes.evaluate([0, 1], [0, 1], classes=[[0, 1]]),
    "known": lambda: am.classes.decide(P3).forecast(known=COLUMN),
    "labels": lambda: am.classes.forecast(P3, COLUMN, classes=[0, 1, 2]),
    "y": lambda: am.classes.check(COLUMN, P3),
    "y, tuned": lambda: am.tune(TWO, [0.1, 0.8, 0.6, 0.3]),
    "y, a surface": lambda: am.MetricSurfaceDisplay.from_data(
        np.arange(4.0)[:, None], pd.DataFrame({"y": [0, 1, 1, 0]})
    ),
    "y_true, a stream": lambda: stream.ProgressiveScore("f1").update(TWO, TWO),
    "y_true, a display": lambda: stream.StreamDisplay.from_predictions(TWO, TWO),
    "y, a scorer": lambda: am.optimal_scorer("f1")(
        LogisticRegression().fit(np.arange(4.0)[:, None], TWO.ravel()),
        np.arange(4.0)[:, None],
        TWO,
    ),
}


@pytest.mark.parametrize("name", ONE_COLUMN)
def test_a_column_where_labels_are_needed_is_refused_by_name(name):
    word = name.partition(",")[0]
    refuses(ValueError, rf"^{word} must hold one label for each row", ONE_COLUMN[name])


MASKED = np.ma.masked


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: am.decide([0.5, MASKED]), "p has NaN at row 1"),
        (lambda: am.decide(np.ma.array([0.5, 0.4], mask=[0, 1])), "p has NaN at row 1"),
        (lambda: am.evaluate([1, MASKED], [1, 0]), "y has no label at row 1"),
        (lambda: am.decide([[0.5, MASKED], [0.2, 0.1]], average="samples"), "column 1"),
        (
            lambda: am.decide(
                [np.ma.array([0.5, 0.4], mask=[0, 1]), [0.1, 0.2]], average="samples"
            ),
            "p has NaN at row 0, column 1",
        ),
        (
            lambda: am.classes.decide([P3[0], np.ma.array(P3[1], mask=True)]),
            "p has NaN at row 1, column 0",
        ),
        (
            lambda: am.classes.decide([P3[0], MASKED]),
            "p is ragged: row 1 is missing or masked; drop or fill it first",
        ),
        (
            lambda: am.classes.decide([P3[0].tolist(), None]),
            "p is ragged: row 1 is missing or masked",
        ),
    ],
)
def test_a_masked_row_is_told(call, words):
    refuses(ValueError, words, call)


@pytest.mark.parametrize(
    "call",
    [
        lambda: am.evaluate(list("abc"), list("abb")),
        lambda: am.evaluate(list("abc"), list("abb"), pos_label="a"),
        lambda: am.evaluate([0, 1, 2], [0, 1, 1], groups=[1, 1, 2], average="groups"),
        lambda: am.FBeta().score([0, 1, 2], [0, 1, 1]),
    ],
)
def test_names_of_classes_are_shown_the_way_for_classes(call):
    refuses(ValueError, r"or call argmetric\.classes\.evaluate", call)
