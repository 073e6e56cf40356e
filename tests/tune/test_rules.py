"""Rules as values: labels, files, equality, thresholds that survive other formats."""

from __future__ import annotations

import copy
import json
import math
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import argmetric as am
from argmetric import tune
from argmetric._tune._rule import FORMAT
from argmetric._tune._scan import Cuts
from argmetric.metrics._names import metric_from_dict, metric_to_dict

INF, NAN = math.inf, math.nan
QUICK = {"n_bootstrap": 0, "cv": None}
Y = np.array([0, 0, 1, 0, 1, 1, 0, 1])
P = np.array([0.1, 0.2, 0.3, 0.4, 0.6, 0.9, 0.35, 0.8])


def many(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    return y, 1 / (1 + np.exp(-(2 * y - 1 + rng.normal(0, 1, n))))


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


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series])
def test_labels_in_any_container(kind):
    names = kind(["yes" if one else "no" for one in Y])
    rule = tune(names, kind(P.tolist()), pos_label="yes", **QUICK)
    assert rule == tune(names, P, pos_label="yes", **QUICK)
    for numbers in (kind(Y.tolist()), kind((Y == 1).tolist())):
        assert tune(numbers, P, **QUICK).threshold == 0.5


def test_nullable_and_categorical_labels():
    nullable = pd.Series(Y.tolist(), dtype="Int64")
    assert tune(nullable, P, **QUICK).threshold == 0.5
    with pytest.raises(ValueError, match="y has no label at row 2"):
        tune(nullable.where(pd.Series(range(8)) != 2), P)
    words = pd.Series(np.where(Y == 1, "b", "a")).astype("category")
    assert tune(words, P, pos_label="b", **QUICK).threshold == 0.5


def test_the_kind_of_the_input_comes_back():
    rule = tune(Y, P, **QUICK)
    series = pd.Series([0.1, 0.9], index=["x", "y"])
    pd.testing.assert_series_equal(
        rule.apply(series), pd.Series([0, 1], index=["x", "y"], name="decision")
    )
    assert rule.apply(pl.Series([0.1, 0.9])).to_list() == [0, 1]


@pytest.mark.parametrize(
    ("y", "p", "options", "message"),
    [
        ([1, 1], [0.1, 0.2], {}, "y has one class only: every label is 1"),
        ([False, False], [0.1, 0.2], {}, "one class only: every label is False"),
        (["a", "a"], [0.1, 0.2], {"pos_label": "a"}, "every label is 'a'"),
        (["a", "b"], [0.1, 0.2], {}, "pass pos_label='b' or pos_label='a'"),
        ([1, 2], [0.1, 0.2], {}, "y holds 1, 2, not 0 and 1; pass pos_label=2 or"),
        (
            ["a", "b"],
            [0.1, 0.2],
            {"pos_label": "c"},
            "y never holds 'c', which",
        ),
        (
            [0, 1, 2],
            [0.1, 0.2, 0.3],
            {},
            r"y holds 0, 1, 2 \(2 at row 2\)",
        ),
        ([0, 1, NAN], [0.1, 0.2, 0.3], {}, "y has no label at row 2"),
        (["a", None], [0.1, 0.2], {"pos_label": "a"}, "y has no label at row 1"),
        ([0, 1, 1], [0.1, 0.2], {}, "y has 3 rows but p has 2"),
        ([0, 1], [0.1, NAN], {}, "p has NaN at row 1"),
        ([0, 1], [0.1, INF], {}, "p is inf at row 1: scores must be finite"),
        ([], [], {}, "p is empty"),
        (
            [0, 1],
            [0.1, 0.2],
            {"sample_weight": [1, -1]},
            "sample_weight is -1 at row 1",
        ),
        (
            [0, 1],
            [0.1, 0.2],
            {"sample_weight": [1, NAN]},
            "sample_weight is nan at row",
        ),
        ([0, 1], [0.1, 0.2], {"sample_weight": [0, 0]}, "0 on every row"),
        ([0, 1], [0.1, 0.2], {"sample_weight": [1, 0]}, "0 on every positive row"),
        ([0, 1], [0.1, 0.2], {"sample_weight": [1]}, "sample_weight has shape"),
        ([0, 1], [0.1, 0.2], {"choice": "two_se"}, "choice must be one of"),
        ([0, 1], [0.1, 0.2], {"coverage": 1.0}, "coverage must lie"),
        ([0, 1], [0.1, 0.2], {"n_bootstrap": -1}, "n_bootstrap must be"),
        ([0, 1], [0.1, 0.2], {"cv": 1}, "cv must be at least 2"),
        ([0, 1], [0.1, 0.2], {"average": "macro"}, "needs groups"),
        ([0, 1], [0.1, 0.2], {"groups": [0]}, "groups has 1 rows"),
        ([0, 1], [0.1, 0.2], {"groups": [0, 1], "average": "micro"}, "average must be"),
        ([0, 1], [0.1, 0.2], {"metric": "f11x"}, "unknown metric"),
        ([0, 1], [0.1, 0.2], {"metric": []}, "empty list"),
        ([0, 1], [0.1, 0.2], {"min_recall": 1.2}, "min_recall must lie"),
        ([0, 1], [-0.1, 0.2], {"calibrator": lambda p: p}, "outside of"),
        ([0, 1], [0.1, 0.2], {"calibrator": lambda p: p * 9}, "calibrated p is"),
        ([0, 1], [0.1, 0.2], {"calibrator": lambda p: p[:1]}, "gives shape"),
        ([[0, 1]], [0.1, 0.2], {}, "y must have one dimension"),
        ([0, 1], [[[0.1]]], {}, "one or two dimensions"),
    ],
)
def test_bad_input_is_refused_with_its_place(y, p, options, message):
    with pytest.raises(ValueError, match=message):
        tune(y, p, **options)


def test_other_bad_input():
    with pytest.raises(TypeError, match="calibrator must be made by calibrate"):
        tune(Y, P, calibrator=3)
    with pytest.raises(TypeError, match="p is not a number at row 0"):
        tune([0, 1], ["a", "b"])
    from scipy import sparse

    with pytest.raises(TypeError, match="p must be dense"):
        tune(Y, sparse.csr_matrix(P))
    with pytest.raises(TypeError, match="y must be dense"):
        tune(sparse.csr_matrix(Y), P)


def test_metrics_of_one_name_are_refused_together():
    functions = [lambda tp, k, t, n: tp / n, lambda tp, k, t, n: tp / (k + 1)]
    for metrics in (functions, ["f1", am.FBeta(1)]):
        with pytest.raises(ValueError, match="two metrics are called"):
            tune([0, 1], [0.1, 0.2], metrics)


def test_one_group_has_no_intervals():
    y, p = [0, 1, 0, 1, 1, 0], [0.1, 0.9, 0.3, 0.4, 0.8, 0.6]
    rule = tune(y, p, groups=[1] * 6)
    assert rule.score_interval is None
    assert rule.threshold_interval is None
    assert any("one group only" in note for note in rule.notes)
    assert rule.threshold == tune(y, p).threshold
    with pytest.raises(ValueError, match="no standard error"):
        tune(y, p, groups=[1] * 6, choice="one_se")


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
    assert not tune(*many()).notes


# ------------------------------------------------------------------ thresholds


wide = st.floats(-1e6, 1e6, allow_subnormal=False)
unit = st.floats(0, 1)


@given(st.lists(wide | unit, min_size=2, max_size=8, unique=True), st.data())
@settings(deadline=None, max_examples=200)
def test_cuts_separate_the_same_rows_as_32_bit_numbers(scores, data):
    scores = np.sort(np.array(scores))[::-1]
    cuts = Cuts(scores, np.zeros(scores.size + 1), np.zeros(scores.size + 1))
    cut = data.draw(st.integers(0, scores.size))
    threshold = cuts.threshold(cut)
    np.testing.assert_array_equal(scores >= threshold, np.arange(scores.size) < cut)
    small = scores.astype(np.float32)
    if cut == 0 or cut == scores.size or small[cut] < small[cut - 1]:
        np.testing.assert_array_equal(
            small.astype(float) >= threshold, np.arange(scores.size) < cut
        )
        np.testing.assert_array_equal(small >= threshold, np.arange(scores.size) < cut)


@given(st.floats(0.01, 0.99), st.integers(1, 12))
@settings(deadline=None, max_examples=200)
def test_neighbouring_32_bit_scores_are_separated(start, steps):
    """Half-way itself can round to the lower one."""
    lower = np.float32(start)
    upper = np.float32(lower)
    for _ in range(1 + steps % 3):
        upper = np.nextafter(upper, np.float32(2))
    tiny = float(np.spacing(lower)) * (steps - 6) / 14
    scores = np.array([float(upper) + tiny, float(lower) - tiny])
    if scores[0] > scores[1] and np.float32(scores[0]) > np.float32(scores[1]):
        threshold = Cuts(scores, np.zeros(3), np.zeros(3)).threshold(1)
        assert scores[1] < threshold <= scores[0]
        small = scores.astype(np.float32)
        assert (small.astype(float) >= threshold).tolist() == [True, False]
        assert (small >= threshold).tolist() == [True, False]  # rounded to 32 bits


def test_a_rule_is_the_same_on_32_bit_scores_and_from_csv(tmp_path):
    y, p = many(5000)
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


def test_scores_of_any_scale_are_taken():
    y, p = many()
    margin = np.log(p / (1 - p)) * 1e3
    rule = tune(y, margin)
    assert rule.score == tune(y, p).score
    assert "score >= " in repr(rule)
    with pytest.raises(ValueError, match="p has NaN at row 1"):
        rule.apply([0.1, NAN])


def test_logits_that_meet_a_rule_for_probabilities_are_noticed():
    rule = tune(*many())
    with pytest.warns(UserWarning, match="are these logits") as seen:
        rule.apply([-2.0, 3.0])
    assert seen[0].filename == __file__
    with pytest.raises(ValueError, match=r"p\[:, 1\]"):
        rule.apply([[0.2, 0.8]])
    assert rule.apply([]).size == 0


# ------------------------------------------------------------------ calibrators


def test_a_calibrator_is_applied_first_and_saved(tmp_path):
    y, p = many(600)
    calibrator = am.calibrate(y, p, "platt")
    rule = tune(y, p, calibrator=calibrator)
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
    free = tune(None, p, calibrator=calibrator)
    assert free.calibrator == calibrator
    expected = tune(None, calibrator.apply(p))
    assert free.threshold == expected.threshold


def test_a_function_as_calibrator_works_but_cannot_be_saved(tmp_path):
    rule = tune(Y, P, calibrator=np.sqrt)
    assert rule.apply(P).tolist() == tune(Y, P).apply(P).tolist()
    assert rule == tune(Y, P, calibrator=np.sqrt)
    with pytest.raises(TypeError, match="no file can hold"):
        rule.save(tmp_path / "rule.json")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------ files


@pytest.fixture(scope="module")
def all_rules():
    y, p = many()
    matrix = np.stack([p, 1 - p, p**2], axis=1)
    labels = np.stack([y, 1 - y, y], axis=1)
    classes = np.array(["a", "b", "c"])[(y + (p > 0.6)).astype(int)]
    shares = matrix / matrix.sum(axis=1, keepdims=True)
    return {
        "f1": tune(y, p),
        "empty": tune(y, p, "precision", zero_division=1.0),
        "left out": tune(y, p, "precision", zero_division=NAN),
        "limits": tune(y, p, "mcc", min_recall=0.5, max_positives=0.4),
        "one_se": tune(y, p, am.Tversky(0.2, 0.9), choice="one_se"),
        "fractional": tune(None, p, am.LinearFractional((0, 2, 0, 0), (0, 0, 1, 1))),
        "cost": tune(y, p, cost=(1, 5), cv=None),
        "strings": tune(np.where(y == 1, "jä", "nein"), p, pos_label="jä"),
        "labels": tune(labels, matrix),
        "micro": tune(labels, matrix, average="micro"),
        "classes": tune(classes, shares, "mcc"),
        "margins": tune(y, 7 * p - 3),
    }


NAMES = (
    *("f1", "empty", "left out", "limits", "one_se", "fractional"),
    *("cost", "strings", "labels", "micro", "classes", "margins"),
)


@pytest.mark.parametrize("name", NAMES)
def test_files_give_the_same_rule_back(name, all_rules, tmp_path):
    rule = all_rules[name]
    path = tmp_path / "rule.json"
    rule.save(path)
    for loaded in (
        am.Rule.load(path),
        am.MultiClassRule.load(str(path)),
        am.Rule.from_dict(rule.to_dict()),
        pickle.loads(pickle.dumps(rule)),
        copy.deepcopy(rule),
    ):
        assert type(loaded) is type(rule)
        assert loaded == rule
        assert hash(loaded) == hash(rule)
        assert repr(loaded) == repr(rule)
        assert loaded._repr_html_() == rule._repr_html_()
        assert loaded.to_dict() == rule.to_dict()
    assert rule != all_rules["f1" if name != "f1" else "empty"]
    assert rule != "a rule"
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert saved["format"] == FORMAT
    if "versions" in saved:
        expected = {"argmetric": am.__version__, "numpy": np.__version__}
        assert saved["versions"] == expected


def test_numbers_are_saved_to_the_last_bit(all_rules, tmp_path):
    rule = all_rules["f1"]
    rule.save(tmp_path / "a.json")
    loaded = am.Rule.load(tmp_path / "a.json")
    for name in ("threshold", "score", "prevalence", "optimism", "plateau"):
        assert getattr(loaded, name) == getattr(rule, name)
    np.testing.assert_array_equal(loaded.optimal_thresholds, rule.optimal_thresholds)
    assert loaded.thresholds is None
    empty = all_rules["empty"].to_dict()
    assert empty["threshold"] == "inf"
    assert all_rules["left out"].to_dict()["metric"]["zero_division"] == "nan"


def test_a_file_reads_the_same_in_another_process(all_rules, tmp_path):
    rule = all_rules["strings"]
    rule.save(tmp_path / "rule.json")
    code = (
        "import sys, argmetric as am; rule = am.Rule.load(sys.argv[1]);"
        "print(rule.apply([.1, .9]).tolist(), repr(rule.threshold));"
        "print([m for m in ('scipy', 'sklearn', 'numba') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "rule.json")],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
        env={"PYTHONIOENCODING": "utf-8"},
    )
    first, second = done.stdout.strip().splitlines()
    assert first == f"['nein', 'jä'] {rule.threshold!r}"
    assert second == "[]"


@pytest.mark.parametrize("kept", [0, 1, 10, 200, -3])
def test_a_file_cut_short_says_so(kept, all_rules, tmp_path):
    path = tmp_path / "rule.json"
    all_rules["f1"].save(path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ValueError, match=r"rule\.json is no rule, or was cut short"):
        am.Rule.load(path)


def damaged(rule, **changes):
    return {k: v for k, v in (rule.to_dict() | changes).items() if v != "gone"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": FORMAT + 1}, "update argmetric"),
        ({"format": "1"}, "odd format"),
        ({"file": "something"}, "no saved rule"),
        ({"kind": "tree"}, "no rule of the kind 'tree'"),
        ({"threshold": "gone"}, "lacks threshold"),
        ({"threshold": None}, "where a number belongs"),
        ({"threshold": "nan"}, "threshold must be a number"),
        ({"threshold": "high"}, "'high' where a number belongs"),
        ({"n": "many"}, "'many' where a number belongs"),
        ({"n": 1.5}, "1.5 where a count belongs"),
        ({"coverage": "most"}, "'most' where a number belongs"),
        ({"operator": ">"}, "operator must be one of"),
        ({"metric": {"class": "Nothing", "name": "x"}}, "no metric of the class"),
        ({"metric": {"class": "FBeta", "name": "f1", "b": 1}}, "odd parameters"),
        ({"metric": "f1"}, "no saved metric"),
        ({"optimal_thresholds": 3}, "damaged"),
        ({"plateau": [1]}, "where two numbers belong"),
    ],
)
def test_damaged_files_are_refused(changes, message, all_rules, tmp_path):
    path = tmp_path / "rule.json"
    path.write_text(json.dumps(damaged(all_rules["f1"], **changes)))
    with pytest.raises(ValueError, match=message) as error:
        am.Rule.load(path)
    assert "rule.json" in str(error.value)


def test_other_kinds_of_damage(all_rules, tmp_path):
    for content in ("[]", "3", "null", '"rule"'):
        (tmp_path / "a.json").write_text(content)
        with pytest.raises(ValueError, match="no saved rule"):
            am.Rule.load(tmp_path / "a.json")
    (tmp_path / "a.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="no rule"):
        am.Rule.load(tmp_path / "a.json")
    with pytest.raises(ValueError, match="lacks"):
        am.Rule.from_dict(damaged(all_rules["classes"], weights="gone"))
    inner = [all_rules["labels"].to_dict()] * 3
    with pytest.raises(ValueError, match="odd rules"):
        am.Rule.from_dict(damaged(all_rules["labels"], rules=inner))
    with pytest.raises(FileNotFoundError):
        am.Rule.load(tmp_path / "nowhere.json")


def test_a_failed_save_leaves_the_old_file(all_rules, tmp_path):
    path = tmp_path / "rule.json"
    all_rules["f1"].save(path)
    before = path.read_bytes()
    odd = am.Rule("f1", 0.5, pos_label=(1, 2), neg_label=object())
    with pytest.raises(TypeError, match="neg_label of type object cannot be saved"):
        odd.save(path)
    assert path.read_bytes() == before
    assert odd == odd
    assert [one.name for one in tmp_path.iterdir()] == ["rule.json"]


# ------------------------------------------------------------------ metrics in files


@pytest.mark.parametrize("name", am.metric_names())
@pytest.mark.parametrize("zd", [0.0, 1.0, NAN])
def test_every_metric_of_the_catalogue_comes_back(name, zd):
    metric = am.get_metric(name, zero_division=zd)
    values = json.loads(json.dumps(metric_to_dict(metric), allow_nan=False))
    assert metric_from_dict(values) == metric


@pytest.mark.parametrize(
    "metric",
    [
        am.FBeta(0.7),
        am.Tversky(0.2, 1 / 3),
        am.LinearFractional((0, 2, 0, 0.1), (0, 0, 1, 1)),
        am.Utility(1, -2, 0.5, 0),
    ],
)
def test_metrics_with_parameters_come_back(metric):
    values = json.loads(json.dumps(metric_to_dict(metric), allow_nan=False))
    assert metric_from_dict(values) == metric


def test_a_function_is_saved_by_name_and_says_so_when_asked(tmp_path):
    def squared(tp, k, t, n):
        return tp * tp / (k * t)

    rule = tune(Y, P, squared)
    rule.save(tmp_path / "rule.json")
    loaded = am.Rule.load(tmp_path / "rule.json")
    assert loaded == rule
    assert loaded.metric.name == "squared"
    assert loaded.apply(P).tolist() == rule.apply(P).tolist()
    with pytest.raises(
        RuntimeError, match="'squared' is a function that a file cannot"
    ):
        loaded.metric.value(1, 2, 2, 4)


def test_a_metric_class_of_the_users_own_is_saved_by_name():
    class Odd(am.Accuracy):
        @property
        def greater_is_better(self):
            return False

    loaded = metric_from_dict(metric_to_dict(Odd()))
    assert loaded.name == "accuracy"
    assert not loaded.greater_is_better


# ------------------------------------------------------------------ values


def test_rules_cannot_be_changed(all_rules):
    rule = all_rules["limits"]
    with pytest.raises(FrozenInstanceError):
        rule.threshold = 0.1
    with pytest.raises(TypeError, match="read-only"):
        rule.constraints["min_recall"] = 0.9
    with pytest.raises(TypeError, match="read-only"):
        rule.versions.update(numpy="1")
    with pytest.raises(ValueError, match="read-only"):
        rule.optimal_thresholds[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        rule.scores[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        all_rules["classes"].weights[0] = 3


def test_copies_cannot_be_changed_either(all_rules):
    copied = pickle.loads(pickle.dumps(all_rules["limits"]))
    with pytest.raises(TypeError, match="read-only"):
        copied.constraints.clear()
    with pytest.raises(ValueError, match="read-only"):
        copied.optimal_thresholds[0] = 0
    mine = np.array([1.0, 2.0])
    am.MultiClassRule((0, 1), mine, am.FBeta(1))
    mine[0] = 3.0  # an array that was handed in stays writable


def test_rules_inside_models_survive_skops(all_rules):
    import skops.io

    for name in ("limits", "labels", "classes"):
        data = skops.io.dumps(all_rules[name])
        trusted = skops.io.get_untrusted_types(data=data)
        assert all(one.startswith("argmetric.") for one in trusted)
        assert skops.io.loads(data, trusted=trusted) == all_rules[name]


def test_a_rule_by_hand():
    rule = am.Rule("f2", 0.3)
    assert rule.metric == am.FBeta(2)
    assert rule.apply([0.2, 0.3]).tolist() == [0, 1]
    assert repr(rule).startswith("Rule(p >= 0.3, metric=f2)")
    assert am.Rule("f1", 0.3, "<").apply([0.2, 0.3]).tolist() == [1, 0]
    with pytest.raises(ValueError, match="operator must be"):
        am.Rule("f1", 0.3, ">")
    with pytest.raises(ValueError, match="not nan"):
        am.Rule("f1", NAN)
    mixed = am.Rule("f1", 0.3, pos_label="yes", neg_label=0)
    assert mixed.apply([0.1, 0.9]).tolist() == [0, "yes"]


def test_the_printed_form_fits_one_screen(all_rules):
    for rule in all_rules.values():
        lines = repr(rule).splitlines()
        assert len(lines) <= 16
        assert max(map(len, lines)) <= 88
    shown = repr(all_rules["limits"])
    for part in ("min_recall=0.5", "out of fold", "as good", "400, 0.", "(90%)"):
        assert part in shown
    assert "'jä', else 'nein'" in repr(all_rules["strings"])
    assert "within one SE" in repr(all_rules["one_se"])


def test_a_pickle_of_many_rows_is_small():
    y, p = many(50_000)
    rule = tune(y, p, **QUICK)
    assert rule.scores.size > 49_000
    data = pickle.dumps(rule)
    assert len(data) < 60_000
    assert pickle.loads(data).scores.size == 2000


def test_the_curve_is_that_of_the_rows():
    rule = tune(Y, P, **QUICK)
    for threshold, score in zip(rule.thresholds, rule.scores, strict=True):
        predicted = (threshold <= P).astype(int)
        assert am.FBeta(1).score(Y, predicted) == pytest.approx(score, rel=1e-15)


def test_plots_show_the_curve_the_plateau_and_the_interval(all_rules):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    for name in ("f1", "one_se", "empty", "margins"):
        ax = all_rules[name].plot()
        assert ax.get_ylabel() == all_rules[name].metric.name
        assert len(ax.get_legend().get_texts()) >= 3
        plt.close(ax.figure)
    figure, ax = plt.subplots()
    assert tune(*many(9000)).plot(ax) is ax
    plt.close(figure)
    with pytest.raises(ValueError, match="no curve to draw"):
        am.Rule("f1", 0.3).plot()


def test_importing_and_tuning_loads_nothing_heavy():
    code = (
        "import sys, argmetric as am\n"
        "rule = am.tune([0, 1, 0, 1], [.1, .9, .2, .4], 'f1', groups=[0, 0, 1, 1])\n"
        "rule = am.tune([0, 1, 2, 1], [[.8, .1, .1]] * 2 + [[.1, .1, .8]] * 2, 'mcc')\n"
        "print([m for m in ('scipy', 'sklearn', 'numba', 'pandas', 'matplotlib') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_keys_of_costs_that_are_no_text_are_named():
    with pytest.raises(ValueError, match="cost has keys among fp, fn, tp, tn, not"):
        am.tune([1, 0], [0.8, 0.3], cost=sp.dok_array(np.eye(2)))
    with pytest.raises(ValueError, match=r"cost has keys among .*, not \[1, 'a'\]"):
        am.tune([1, 0], [0.8, 0.3], cost={1: 2, "a": 3, "fp": 1})
