"""Rules as values: labels, files, equality, thresholds that survive other formats."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import argmetric as am
from argmetric import tune
from exported import labelled
from refusing import refuses

INF, NAN = math.inf, math.nan
QUICK = {"n_bootstrap": 0, "cv": None}
Y = np.array([0, 0, 1, 0, 1, 1, 0, 1])
P = np.array([0.1, 0.2, 0.3, 0.4, 0.6, 0.9, 0.35, 0.8])


# ------------------------------------------------------------------ labels


@pytest.mark.parametrize(
    ("names", "pos_label", "expected"),
    [
        ([0, 1], None, [0, 1]),
        ([0.0, 1.0], None, [0, 1]),
        ([False, True], None, [False, True]),
        ([-1, 1], None, [-1, 1]),
        (["no", "yes"], "yes", ["no", "yes"]),
        (["spam", "ham"], "ham", ["spam", "ham"]),
        ([2, 1], 1, [2, 1]),
        ([0, 1], 1, [0, 1]),
        ([1, 0], 0, [1, 0]),
        ([True, False], False, [True, False]),
    ],
)
def test_labels_of_any_kind_come_back(names, pos_label, expected):
    y = [names[i] for i in Y]
    rule = tune(y, P, pos_label=pos_label, **QUICK)
    assert rule.threshold == 0.5
    assert rule.score == tune(Y, P, **QUICK).score
    assert rule.apply([0.1, 0.9]).tolist() == expected
    assert (rule.neg_label, rule.pos_label) == tuple(expected)
    assert am.Rule.from_dict(rule.to_dict()).apply([0.1, 0.9]).tolist() == expected


def test_the_kind_of_the_input_comes_back():
    rule = tune(Y, P, **QUICK)
    series = pd.Series([0.1, 0.9], index=["x", "y"])
    pd.testing.assert_series_equal(
        rule.apply(series), pd.Series([0, 1], index=["x", "y"], name="decision")
    )
    assert rule.apply(pl.Series([0.1, 0.9])).to_list() == [0, 1]


SAME_NAME = [lambda tp, k, t, n: tp / n, lambda tp, k, t, n: tp / (k + 1)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": [1, 1]}, "y has one class only: every label is 1"),
        ({"y": [False, False]}, "one class only: every label is False"),
        ({"y": ["a", "a"], "pos_label": "a"}, "every label is 'a'"),
        ({"y": ["a", "b"]}, "pass pos_label='b' or pos_label='a'"),
        ({"y": [1, 2]}, "y holds 1, 2, not 0 and 1; pass pos_label=2 or"),
        ({"y": ["a", "b"], "pos_label": "c"}, "y never holds 'c', which"),
        ({"y": [0, 1, 2], "p": [0.1] * 3}, r"y holds 0, 1, 2 \(2 at row 2\)"),
        ({"y": [0, 1, NAN], "p": [0.1] * 3}, "y has no label at row 2"),
        ({"y": ["a", None], "pos_label": "a"}, "y has no label at row 1"),
        ({"y": [0, 1, 1]}, "y has 3 rows but p has 2"),
        ({"y": [[0, 1]]}, "y must hold one label for each row"),
        ({"y": sparse.csr_matrix([0, 1])}, "y must be dense"),
        ({"p": [0.1, NAN]}, "p has NaN at row 1"),
        ({"p": [0.1, INF]}, "p is inf at row 1: scores must be finite"),
        ({"y": [], "p": []}, "p is empty"),
        ({"p": [[[0.1]]]}, "one or two dimensions"),
        ({"p": ["a", "b"]}, "p is not a number at row 0"),
        ({"p": sparse.csr_matrix([0.1, 0.2])}, "p must be dense"),
        ({"sample_weight": [1, -1]}, "sample_weight is -1 at row 1"),
        ({"sample_weight": [1, NAN]}, "sample_weight is nan at row"),
        ({"sample_weight": [0, 0]}, "0 on every row"),
        ({"sample_weight": [1, 0]}, "0 on every positive row"),
        ({"sample_weight": [1]}, "sample_weight has shape"),
        ({"coverage": 1.0}, "coverage must lie"),
        ({"n_bootstrap": -1}, "n_bootstrap must be"),
        ({"cv": 1}, "cv must be at least 2"),
        ({"average": "macro"}, "needs groups"),
        ({"groups": [0]}, "groups has 1 rows"),
        ({"groups": [0, 1], "average": "micro"}, "average must be"),
        ({"metric": "f11x"}, "unknown metric"),
        ({"metric": []}, "empty list"),
        ({"metric": SAME_NAME}, "two metrics are called"),
        ({"metric": ["f1", am.FBeta(1)]}, "two metrics are called"),
        ({"min_recall": 1.2}, "min_recall must lie"),
        *(
            ({"max_positives": most}, "max_positives must be")
            for most in (-1, 1.5, True, "3", "120%", "-1%", "%", NAN, INF)
        ),
        ({"max_positives": 0.05}, 'a share of them is a text, "5%"'),
        ({"min_positives": 0.5}, 'a share of them is a text, "50%"'),
        ({"min_positives": 1, "confidence": 0.9}, "min_positives has no guarantee"),
        ({"budget": 5.0}, "budget must be a pair"),
        ({"budget": ([1, 2, 3], 5)}, "one number per row"),
        ({"budget": ([1, -2], 5)}, "cost of budget.* is -2 in row 1"),
        ({"budget": ([1, 2], -5)}, "the most of budget=.* must be"),
        ({"budget": ([1, 1], 5), "confidence": 0.9}, "costs of new rows are not known"),
        ({"y": None, "budget": ([1, 1], 5)}, "budget needs labels"),
        ({"cost": (1, 4)}, r"no cost: .* metric=Utility\(tp=0, fp=-1, fn=-4\)"),
        ({"choice": "one_se"}, "no choice: the best .* max_positives='5%' or min_p"),
        ({"for_rows": 9}, "no for_rows: .* is new_rows=200"),
        ({"unlabelled": [0.1]}, "no unlabelled: .* are new_rows=scores"),
        ({"min_precison": 0.9}, "'min_precison': is min_precision meant"),
        ({"sample_weigth": [1, 2]}, "is sample_weight meant"),
        ({"limits": {"min_recall": 0.5}}, r"argument 'limits'\. Its limits are min_"),
        ({"min_sensitivity": 0.9}, "'min_sensitivity': is min_recall meant"),
        ({"min_ppv": 0.9}, "'min_ppv': is min_precision meant"),
        ({"max_fpr": 0.1}, "'max_fpr': is min_specificity meant"),
        ({"min_spec": 0.9}, "'min_spec': is min_specificity meant"),
        ({"min_f1": 0.9}, r"'min_f1'\. Its limits are"),
        (
            {"fpr": 0.1},
            r"'fpr'\. Its limits are min_positives, .*, budget, parity, missed$",
        ),
        ({"reference": 3}, "or a fitted Calibrator"),
        ({"p": [-0.1, 0.2], "reference": lambda p: p}, "outside of"),
        ({"reference": lambda p: p * 9}, "calibrator gives is"),
        ({"reference": lambda p: p[:1]}, "of shape"),
        ({"y": None, "min_recall": 0.5}, "min_recall needs labels .* obeys it$"),
        (
            {"y": None, "min_recall": 0.5, "max_positives": 1},
            "min_recall, max_positives need labels .* obeys them$",
        ),
        (
            {"confidence": 0.9, "new_rows": [[0.8, 0.2], [0.3, 0.7]]},
            r"new_rows has shape \(2, 2\): its scores are one column",
        ),
        ({"y": None, "groups": [0, 1]}, "groups needs labels"),
        ({"y": None, "pos_label": 1}, "pos_label needs labels"),
        ({"y": None, "p": [-1.0, 2.0]}, "outside of"),
        ({"y": None, "p": [[0.2, 0.8]]}, "one column"),
        ({"y": None, "p": [0.0, 0.0]}, "every p is 0"),
    ],
)
def test_bad_input_is_refused_with_its_place(changes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        tune(**{"y": [0, 1], "p": [0.1, 0.2]} | changes)


def test_equal_scores_warn_once_and_predict_all_or_none():
    with pytest.warns(UserWarning, match="all scores equal 0.3") as seen:
        rule = tune([0, 1, 1], [0.3, 0.3, 0.3])
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert rule.apply([0.3]).tolist() == [1]
    assert rule.score == 0.8
    with pytest.warns(UserWarning, match="all scores equal"):
        none = tune([0, 1, 0], [0.3, 0.3, 0.3], "accuracy")
    assert none.threshold == INF


def test_few_rows_are_noted_and_not_warned_of():
    assert any("tuned on 8 rows" in note for note in tune(Y, P).notes)
    assert not tune(*labelled(400)).notes


# ------------------------------------------------------------------ thresholds


wide = st.floats(-1e6, 1e6, allow_subnormal=False)
unit = st.floats(0, 1)


def cut_after(scores, count):
    """The threshold that has so many of descending scores at or above it."""
    if count == scores.size:  # all of them: the metric is the number of positives
        y, metric = np.arange(scores.size) % 2, am.Utility(tp=1.0, fp=1.0)
    else:
        y, metric = (np.arange(scores.size) < count).astype(int), "accuracy"
    return tune(y, scores, metric, **QUICK).threshold


@given(st.lists(wide | unit, min_size=2, max_size=8, unique=True), st.data())
@settings(deadline=None, max_examples=200)
def test_cuts_separate_the_same_rows_as_32_bit_numbers(scores, data):
    scores = np.sort(np.array(scores))[::-1]
    count = data.draw(st.integers(1, scores.size))
    threshold, wanted = cut_after(scores, count), np.arange(scores.size) < count
    np.testing.assert_array_equal(scores >= threshold, wanted)
    small = scores.astype(np.float32)
    if count == scores.size or small[count] < small[count - 1]:
        np.testing.assert_array_equal(small.astype(float) >= threshold, wanted)
        np.testing.assert_array_equal(small >= threshold, wanted)


def test_a_rule_is_the_same_on_32_bit_scores_and_from_csv(tmp_path):
    y, p = labelled(5000)
    for metric in ("f1", "mcc", "recall"):
        rule = tune(y, p, metric, **QUICK)
        expected = rule.apply(p)
        np.testing.assert_array_equal(rule.apply(p.astype(np.float32)), expected)
        path = tmp_path / "scores.csv"
        pd.DataFrame({"p": p}).to_csv(path, index=False)
        np.testing.assert_array_equal(rule.apply(pd.read_csv(path)["p"]), expected)
        rule.save(tmp_path / "rule.json")
        loaded = am.Rule.load(tmp_path / "rule.json")
        np.testing.assert_array_equal(loaded.apply(p), expected)


def test_logits_that_meet_a_rule_for_probabilities_are_noticed():
    rule = tune(*labelled(400))
    with pytest.warns(UserWarning, match="are these logits") as seen:
        rule.apply([-2.0, 3.0])
    assert seen[0].filename == __file__
    refuses(ValueError, r"p\[:, 1\]", rule.apply, [[0.2, 0.8]])
    assert rule.apply([]).size == 0


# ------------------------------------------------------------------ calibrators


def test_a_calibrator_is_applied_first_and_saved(tmp_path):
    y, p = labelled()
    calibrator = am.calibrate(y, p, "platt")
    rule = tune(y, p, reference=calibrator)
    plain = tune(y, p)
    assert rule.score == plain.score  # a monotone map moves the threshold alone
    assert rule.threshold != plain.threshold
    np.testing.assert_array_equal(
        rule.applies(p), calibrator.apply(p) >= rule.threshold
    )
    np.testing.assert_array_equal(rule.apply(p), plain.apply(p))
    rule.save(tmp_path / "rule.json")
    loaded = am.Rule.load(tmp_path / "rule.json")
    assert loaded == rule
    np.testing.assert_array_equal(loaded.apply(p), rule.apply(p))
    assert "calibrated p >= " in repr(rule)
    free = tune(None, p, reference=calibrator)
    assert free.calibrator == calibrator
    expected = tune(None, calibrator.apply(p))
    assert free.threshold == expected.threshold


@given(st.floats(0.01, 0.99), st.integers(1, 12))
@settings(deadline=None, max_examples=200)
def test_neighbouring_32_bit_scores_are_separated(start, steps):
    """Half-way itself can round to the lower one."""
    lower = upper = np.float32(start)
    for _ in range(1 + steps % 3):
        upper = np.nextafter(upper, np.float32(2))
    tiny = float(np.spacing(lower)) * (steps - 6) / 14
    scores = np.array([float(upper) + tiny, float(lower) - tiny])
    small = scores.astype(np.float32)
    if scores[0] > scores[1] and small[0] > small[1]:
        threshold = cut_after(scores, 1)
        assert scores[1] < threshold <= scores[0]
        assert (small.astype(float) >= threshold).tolist() == [True, False]
        assert (small >= threshold).tolist() == [True, False]  # rounded to 32 bits


def test_a_function_as_calibrator_works_but_cannot_be_saved(tmp_path):
    rule = tune(Y, P, reference=np.sqrt)
    assert rule.apply(P).tolist() == tune(Y, P).apply(P).tolist()
    assert rule == tune(Y, P, reference=np.sqrt)
    refuses(TypeError, "cannot be saved", rule.save, tmp_path / "rule.json")
    assert list(tmp_path.iterdir()) == []


def test_predict_is_apply_for_every_rule():
    y, p = np.arange(60) % 3, np.random.default_rng(0).dirichlet(np.ones(3), 60)
    quick = {"n_bootstrap": 0, "cv": None}
    groups = np.arange(60) % 6
    rules = [
        (tune(y == 1, p[:, 1], **quick), p[:, 1]),
        (tune(y == 1, p[:, 1], groups=groups, **quick), p[:, 1]),
        (tune(["no", "yes"] * 30, p[:, 1], pos_label="yes", **quick), p[:, 1]),
        (tune(np.eye(3, dtype=int)[y], p, **quick), p),
        (tune(np.eye(3, dtype=int)[y], p, average="micro", **quick), p),
        (am.classes.tune(y, p, **quick), p),
    ]
    for rule, scores in rules:
        found = rule.predict(scores)
        np.testing.assert_array_equal(found, rule.apply(scores))
        assert found.dtype == rule.apply(scores).dtype
    rule, scores = rules[0]
    assert isinstance(rule.predict(pd.Series(scores)), pd.Series)
    for way in (rule.predict, rule.apply):
        with pytest.warns(UserWarning, match="are these logits") as told:
            way([3.0])
        assert told[0].filename == __file__


def test_scores_of_new_rows_may_be_a_column():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = (rng.random(400) < p).astype(int)
    terms = {"min_precision": 0.5, "confidence": 0.9, "n_bootstrap": 0, "cv": 0}
    plain = tune(y, p, new_rows=p[:90], **terms)
    assert tune(y, p, new_rows=p[:90, None], **terms) == plain
