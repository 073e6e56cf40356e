"""Probabilities that are something else: said where sure, and never of valid ones."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import cross_val_predict
from sklearn.multioutput import MultiOutputClassifier
from sklearn.tree import DecisionTreeClassifier

import argmetric as am
import strategies
from refusing import refuses

RNG = np.random.default_rng(5)
COLUMN = RNG.beta(1, 3, 40)
Y = (RNG.random(40) < COLUMN).astype(int)
BOTH = np.column_stack([1 - COLUMN, COLUMN])
BOTH_Y = np.column_stack([1 - Y, Y])
TWO = r"p has two columns that sum to 1 in all .* rows, .*: pass p\[:, 1\]"

VERBS = {
    "decide": lambda p, y, **more: am.decide(p, **more),
    "forecast": lambda p, y, **more: am.forecast(p, y, **more),
    "tune": lambda p, y, **more: am.tune(y, p, "f1", n_bootstrap=0, cv=0, **more),
    "calibration_check": lambda p, y, **more: am.calibration_check(
        y, p, n_bootstrap=2, **more
    ),
}


# ------------------------------------------------------- two columns of one model


@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", [np.array, np.float32, pd.DataFrame, list])
def test_both_columns_of_predict_proba(verb, average, kind):
    with pytest.raises(ValueError, match=TWO):
        VERBS[verb](kind(BOTH), BOTH_Y, average=average)


def test_a_table_in_the_place_of_its_column():
    table = pd.DataFrame({"probability": COLUMN, "label": Y})
    for whole in (table, table[["probability"]]):
        refuses(
            ValueError, r"pass one column, such as p\['probability'\]", am.decide, whole
        )


def test_columns_of_several_classes():
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 20)
    with pytest.warns(
        UserWarning, match="in all 20 rows: .*, call argmetric.classes.d"
    ):
        am.decide(p.round(4), average="macro")
    for few in (p[:19], p[:, :2], p * 0.99):
        am.decide(few, average="macro")


def test_both_columns_to_calibrate():
    refuses(ValueError, TWO, am.calibrate, BOTH_Y, BOTH)
    # One label per row and a column per class: that is what a temperature takes.
    assert am.classes.calibrate(Y, BOTH).n_classes == 2
    refuses(ValueError, r"such as p\[:, 1\]", am.tune, None, BOTH)
    refuses(ValueError, r"such as np.asarray.*-1\], or a matrix y", am.tune, Y, BOTH)


def test_three_rows_are_enough_and_two_are_not():
    with pytest.raises(ValueError, match="sum to 1 in all 3 rows"):
        am.decide([[0.25, 0.75], [0.5, 0.5], [0.9, 0.1]], average="macro")
    assert am.decide([[0.25, 0.75], [0.5, 0.5]], average="macro").n == 4


@pytest.mark.parametrize(
    "p",
    [
        np.where(np.arange(80).reshape(40, 2) == 7, 0.5, BOTH),  # all rows but one
        np.tile([0.0, 1.0], (5, 1)),
        np.full((9, 2), 0.5),
        np.column_stack([BOTH / 3, BOTH / 3]),
    ],
)
def test_valid_matrices_of_two_labels(p):
    for average in ("samples", "macro", "micro"):
        assert am.decide(p, average=average).n == p.size


@given(strategies.probability_matrices(max_rows=6, max_columns=3))
def test_no_matrix_is_accused_but_of_sums_of_1(p):

    assert am.decide(p, "accuracy", average="macro").n == p.size


def test_the_list_of_a_model_with_several_outputs():
    X, y = make_classification(60, random_state=0)
    model = MultiOutputClassifier(LogisticRegression()).fit(X, np.c_[y, 1 - y, y])
    p = model.predict_proba(X)
    with pytest.raises(ValueError, match="p is a list of 3 matrices") as caught:
        am.decide(p, average="macro")
    way_out = "np.column_stack([a[:, 1] for a in p])"
    assert way_out in str(caught.value)
    assert am.decide(eval(way_out), average="macro").n == 180
    with pytest.raises(ValueError, match=r"p is a list of 2 matrices, .*: pass one"):
        am.decide([np.ones((2, 3)), np.ones((2, 3))], average="macro")


def test_the_column_of_the_other_class():
    y, p = np.tile(Y, 8), np.tile(COLUMN, 8)
    from sklearn.metrics import roc_auc_score

    (note,) = am.tune(y, 1 - p, "f1").notes[-1:]
    area = roc_auc_score(y, 1 - p)
    assert f"positives have the lower scores (AUC {area:.2f})" in note
    weighed = am.tune(y, 1 - p, "f1", sample_weight=np.full(y.size, 1e6)).notes
    assert note in weighed
    for fine in (p, RNG.random(y.size)):
        assert not any("AUC" in one for one in am.tune(y, fine, "f1").notes)


# -------------------------------------------------------------- labels in place of p

HARD = "p has 40 values, all of them 0 or 1: are these predicted labels?"


@pytest.mark.parametrize("verb", VERBS)
def test_predicted_labels_in_place_of_p(verb):
    hard = np.where(np.arange(40) < 4, 1 - Y, Y)
    with pytest.warns(UserWarning, match=HARD) as seen:
        VERBS[verb](hard, Y)
    assert len(seen) == 1
    assert seen[0].filename == __file__


def test_predicted_labels_to_calibrate():
    hard = np.where(np.arange(40) < 4, 1 - Y, Y)
    with pytest.warns(UserWarning, match=HARD):
        am.calibrate(Y, hard)
    with (
        pytest.warns(UserWarning, match="the scores moved since the reference"),
        pytest.warns(UserWarning, match=HARD),
    ):
        am.decide(COLUMN, reference=(Y, hard))
    with pytest.warns(UserWarning, match=HARD):
        am.adjust_prior(hard, prevalence=0.2, reference_prevalence=0.5)
    with pytest.warns(UserWarning, match=HARD):
        calibrator = am.calibrate(Y, hard)
    assert am.decide(hard, reference=calibrator).n == 40  # no longer certain


def test_a_sparse_matrix_of_predicted_labels():
    ones = sp.csr_array(np.eye(40))
    with pytest.warns(UserWarning, match=HARD):
        am.decide(ones, average="samples")
    assert am.decide(ones * 0.99, average="samples").n_positives == 40


@pytest.mark.parametrize(
    "p", [Y[:19], np.zeros(40), np.ones(40), np.append(Y[:39], 0.5), COLUMN]
)
def test_certain_rows_are_not_accused(p):
    labels = np.ones(len(p))
    assert am.decide(p).n == am.forecast(p, labels).n == len(p)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_tree_that_knows_no_doubt_is_not_accused(classes):
    X, y = make_classification(
        90, n_informative=4, n_classes=classes, flip_y=0.1, random_state=0
    )
    tree = DecisionTreeClassifier(random_state=0)
    assert set(np.unique(tree.fit(X[:60], y[:60]).predict_proba(X[60:]))) == {0.0, 1.0}
    for calibration in (None, "auto"):
        am.MetricClassifier(tree, calibration=calibration, random_state=0).fit(X, y)
    assert am.optimal_scorer()(tree.fit(X[:60], y[:60]), X[60:], y[60:]) > 0.4


# --------------------------------------------------------- probabilities as log-odds

ODDS = "logits=True, but all 40 values of p lie between 0 and 1"


@pytest.mark.parametrize("verb", ["decide", "forecast", "calibration_check"])
def test_probabilities_called_logits(verb):
    with pytest.warns(UserWarning, match=ODDS) as seen:
        VERBS[verb](COLUMN, Y, logits=True)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    VERBS[verb](np.log(COLUMN / (1 - COLUMN)), Y, logits=True)


@given(st.lists(st.floats(-5, 5), min_size=20, max_size=40))
def test_log_odds_are_not_accused(x):
    assume(min(x) < 0 or max(x) > 1)
    assert am.decide(x, "accuracy", logits=True).n == len(x)


# ------------------------------------------------- a positive class of the alphabet

X, RARE = make_classification(120, weights=[0.8], flip_y=0.05, random_state=3)
MODELS = {
    "MetricClassifier": lambda **more: am.MetricClassifier(cv=2, **more),
    "MetricLogisticRegression": lambda **more: am.MetricLogisticRegression(**more),
    "OnlineClassifier": lambda **more: am.stream.OnlineClassifier(**more),
    "OnlineThreshold": lambda **more: am.stream.OnlineThreshold(
        SGDClassifier(loss="log_loss", random_state=0), **more
    ),
}
FRAUD = np.where(RARE == 1, "fraud", "ok")


@pytest.mark.parametrize("model", MODELS)
def test_the_common_class_as_the_positive_one(model):
    message = r"the positive class is 'ok', .* 80% of .*: pass pos_label='fraud' if"
    with pytest.warns(UserWarning, match=message) as seen:
        MODELS[model]().fit(X, FRAUD)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    for pos_label in ("fraud", "ok"):
        MODELS[model](pos_label=pos_label).fit(X, FRAUD)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "y",
    [
        1 - RARE,
        RARE == 0,
        1 - 2 * RARE,
        np.where(RARE == 1, "no", "yes"),
        np.where(RARE == 1, "0", "1"),
        np.where(RARE == 1, "spam", "ham"),
        np.where(np.arange(120) % 2 == 1, "fraud", "ok"),
    ],
    ids=["0/1", "booleans", "signs", "yes", "'1'", "spam", "halves"],
)
def test_other_classes_are_not_accused(model, y):
    assert set(MODELS[model]().fit(X, y).classes_) == set(y)


# ------------------------------------------------------------------------ real data


@pytest.mark.data
@pytest.mark.parametrize("name", ["mammography", "spambase", "scene"])
def test_nothing_is_said_of_real_probabilities(name, data_folder):
    stored = np.load(data_folder / "tabular" / f"{name}.npz")
    part = np.random.default_rng(0).permutation(len(stored["y"]))[:1500]
    X, y = stored["X"][part].astype(float), stored["y"][part].astype(int)
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9)
    columns = y.reshape(len(y), -1)[:, :2]
    options = {"cv": 3, "method": "decision_function"}
    margins = np.column_stack(
        [
            cross_val_predict(LogisticRegression(max_iter=500), X, column, **options)
            for column in columns.T
        ]
    )
    p = 1 / (1 + np.exp(-margins))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for average in ("samples", "macro", "micro"):
            decision = am.decide(p, average=average)
            assert am.forecast(p, decision.labels, average=average).n == p.size
            assert am.evaluate(columns, decision.labels, average=average) > 0
            assert am.decide(margins, average=average, logits=True).n == p.size
        am.tune(columns[:, 0], p[:, 0], n_bootstrap=2)
        am.calibration_check(columns[:, 0], p[:, 0], n_bootstrap=2)
        am.calibrate(columns[:, 0], margins[:, 0], logits=True)
