"""Labels of every kind, in evaluate and forecast."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import argmetric as am
from argmetric import stream
from refusing import refuses

P = [0.9, 0.7, 0.6, 0.6, 0.2, 0.1]


def test_a_class_that_is_never_predicted_is_no_mistake():
    assert am.evaluate(["a", "b", "b"], ["b", "b", "b"], pos_label="a") == 0.0
    assert am.evaluate(["ok"] * 3, ["ok"] * 3, pos_label="fraud") == 0.0
    assert am.forecast(P, ["ok"] * 6, pos_label="fraud").n_positives == 0


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
