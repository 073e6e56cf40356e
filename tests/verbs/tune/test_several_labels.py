"""Rules for a matrix of labels: one for each column, or one for all cells."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import argmetric as am
from argmetric import tune
from refusing import refuses

QUICK = {"n_bootstrap": 0, "cv": None}


def label_table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random((n, 3)), 2)
    return (rng.random((n, 3)) < p**2).astype(int), p


def test_one_rule_per_label_equals_single_columns():
    y, p = label_table()
    rule = tune(y, p, "mcc")
    for j, one in enumerate(rule.rules):
        assert one == tune(y[:, j], p[:, j], "mcc")
    expected = np.stack(
        [one.apply(p[:, j]) for j, one in enumerate(rule.rules)], axis=1
    )
    np.testing.assert_array_equal(rule.apply(p), expected)
    assert rule.score == pytest.approx(am.evaluate(y, expected, "mcc", average="macro"))


def test_micro_is_one_threshold_for_all_cells():
    y, p = label_table()
    rule = tune(y, p, average="micro")
    flat = tune(y.ravel(), p.ravel(), **QUICK)
    assert len(set(rule.thresholds)) == 1
    assert (rule.rules[0].threshold, rule.score) == (flat.threshold, flat.score)
    np.testing.assert_array_equal(rule.apply(p), (p >= flat.threshold).astype(int))
    assert rule.score == pytest.approx(am.evaluate(y, rule.apply(p), average="micro"))


def test_samples_is_the_best_mean_over_rows():
    y, p = label_table()
    rule = tune(y, p, average="samples", zero_division=1.0)
    scores = [
        am.evaluate(y, (p >= t).astype(int), average="samples", zero_division=1.0)
        for t in [*np.unique(p), 2.0]
    ]
    assert rule.score == pytest.approx(max(scores), rel=1e-12)
    own = am.evaluate(y, rule.apply(p), average="samples", zero_division=1.0)
    assert own == pytest.approx(rule.score, rel=1e-12)


def test_frames_keep_their_names_and_kind():
    y, p = label_table()
    names = ["a", "b", "c"]
    frame = pd.DataFrame(p, columns=names)
    rule = tune(pd.DataFrame(y, columns=names), frame, **QUICK)
    assert rule.names == ("a", "b", "c")
    shown = rule.apply(frame)
    assert list(shown.columns) == names
    np.testing.assert_array_equal(shown, rule.apply(p))
    polars = rule.apply(pl.DataFrame(p, schema=names))
    np.testing.assert_array_equal(polars.to_numpy(), rule.apply(p))
    assert tune(sparse.csr_matrix(y), p, **QUICK).rules == rule.rules


def test_columns_in_another_order_are_refused():
    y = pd.DataFrame({"b": [1, 0, 1, 0], "a": [0, 1, 1, 0]})
    p = pd.DataFrame({"a": [0.2, 0.8, 0.6, 0.1], "b": [0.9, 0.1, 0.7, 0.3]})
    refuses(ValueError, "column 0 of y is 'b' but that of p is 'a'", tune, y, p)
    assert tune(y[p.columns], p).score == 1.0
    other = y.rename(columns={"a": "first", "b": "second"})  # names that say nothing
    assert tune(other, p).names == ("a", "b")


def test_a_label_of_one_class_is_named():
    y, p = label_table()
    y[:, 1] = 0
    refuses(ValueError, "column 1 of y has one class only", tune, y, p)
    with pytest.raises(ValueError, match="column 'b' of y has one class only"):
        tune(y, pd.DataFrame(p, columns=["a", "b", "c"]))


def test_bad_input_for_labels():
    y, p = label_table()
    rule = tune(y, p, **QUICK)
    refuses(ValueError, "p must have 3 columns", rule.apply, p[:, :2])
    refuses(ValueError, "y has shape", tune, y[:, :2], p)
    refuses(ValueError, "pass y == 2 or y == 1", tune, y + 1, p)
    refuses(ValueError, "average must be one of", tune, y, p, average="groups")
    refuses(ValueError, "3 rules and 2 names", am.MultiLabelRule, rule.rules, (0, 1))
