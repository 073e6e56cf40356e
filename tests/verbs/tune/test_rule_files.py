"""Rules in files: they come back equal, and damaged ones are refused."""

import copy
import json
import math
import pickle
import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import argmetric as am
from argmetric import tune
from exported import labelled
from refusing import refuses

NAN = math.nan
FORMAT = am.Rule("f1", 0.5).to_dict()["format"]
Y = np.array([0, 0, 1, 0, 1, 1, 0, 1])
P = np.array([0.1, 0.2, 0.3, 0.4, 0.6, 0.9, 0.35, 0.8])


# ------------------------------------------------------------------ files


@pytest.fixture(scope="module")
def all_rules():
    y, p = labelled(400)
    matrix = np.stack([p, 1 - p, p**2], axis=1)
    labels = np.stack([y, 1 - y, y], axis=1)
    classes = np.array(["a", "b", "c"])[(y + (p > 0.6)).astype(int)]
    shares = matrix / matrix.sum(axis=1, keepdims=True)
    return {
        "f1": tune(y, p),
        "empty": tune(y, p, "precision", zero_division=1.0),
        "left out": tune(y, p, "precision", zero_division=NAN),
        "limits": tune(y, p, "mcc", min_recall=0.5, max_positives="40%"),
        "tversky": tune(y, p, am.Tversky(0.2, 0.9)),
        "fractional": tune(None, p, am.LinearFractional((0, 2, 0, 0), (0, 0, 1, 1))),
        "cost": tune(y, p, am.Utility(0, -1, -5), cv=None),
        "strings": tune(np.where(y == 1, "jä", "nein"), p, pos_label="jä"),
        "labels": tune(labels, matrix),
        "micro": tune(labels, matrix, average="micro"),
        "classes": am.classes.tune(classes, shares, "mcc"),
        "margins": tune(y, 7 * p - 3),
    }


NAMES = "f1,empty,left out,limits,tversky,fractional,cost,strings,labels,micro,classes"


def without_curve(view):
    """The curve is not saved, and not drawn of what was loaded."""
    return re.sub(r"<svg.*</svg>", "", view)


@pytest.mark.parametrize("name", [*NAMES.split(","), "margins"])
def test_files_give_the_same_rule_back(name, all_rules, tmp_path):
    rule = all_rules[name]
    path = tmp_path / "rule.json"
    rule.save(path)
    for loaded in (
        am.Rule.load(path),
        am.classes.MultiClassRule.load(str(path)),
        am.Rule.from_dict(rule.to_dict()),
        pickle.loads(pickle.dumps(rule)),
        copy.deepcopy(rule),
    ):
        assert type(loaded) is type(rule)
        assert loaded == rule
        assert hash(loaded) == hash(rule)
        assert repr(loaded) == repr(rule)
        views = (without_curve(one._repr_html_()) for one in (loaded, rule))
        assert len(set(views)) == 1
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


@pytest.mark.parametrize("kept", [0, 1, 10, 200, -3])
def test_a_file_cut_short_says_so(kept, all_rules, tmp_path):
    path = tmp_path / "rule.json"
    all_rules["f1"].save(path)
    path.write_bytes(path.read_bytes()[:kept])
    refuses(ValueError, r"rule\.json is no rule, or was cut short", am.Rule.load, path)


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
        ({"threshold": "0.5"}, "'0.5' where a number belongs"),
        ({"interval": [0.4, "0.5"]}, "'0.5' where a number belongs"),
        ({"interval": [2, 1]}, "interval must begin with its lower end"),
        ({"threshold_interval": [0.4, 0.3]}, "threshold_interval must begin with its"),
        ({"plateau": [0.4, 0.3]}, "plateau must begin with its lower end"),
        ({"n": "3"}, "'3' where a number belongs"),
        ({"coverage": 7}, "coverage must lie strictly between 0 and 1, not 7"),
        ({"neg_label": 1}, "pos_label and neg_label are both 1"),
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
        refuses(ValueError, "no saved rule", am.Rule.load, tmp_path / "a.json")
    (tmp_path / "a.json").write_bytes(b"\xff\xfe\x00")
    refuses(ValueError, "no rule", am.Rule.load, tmp_path / "a.json")
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
    refuses(TypeError, "neg_label of type object cannot be saved", odd.save, path)
    assert path.read_bytes() == before
    assert odd == odd
    assert [one.name for one in tmp_path.iterdir()] == ["rule.json"]


# ------------------------------------------------------------------ metrics in files


def through_a_file(metric):
    rule = json.loads(json.dumps(am.Rule(metric, 0.5).to_dict(), allow_nan=False))
    return am.Rule.from_dict(rule).metric


@pytest.mark.parametrize("zd", [0.0, 1.0, NAN])
def test_every_metric_comes_back(zd):
    own = [am.FBeta(0.7), am.Tversky(0.2, 1 / 3), am.Utility(1, -2, 0.5, 0)]
    own.append(am.LinearFractional((0, 2, 0, 0.1), (0, 0, 1, 1)))
    for one in (*am.metric_names(), *own):
        metric = am.get_metric(one).with_zero_division(zd)
        assert through_a_file(metric) == metric


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


# ------------------------------------------------------------------ values


def test_rules_cannot_be_changed(all_rules):
    rule = all_rules["limits"]
    with pytest.raises(FrozenInstanceError):
        rule.threshold = 0.1
    with pytest.raises(TypeError, match="read-only"):
        rule.constraints["min_recall"] = 0.9
    refuses(TypeError, "read-only", rule.versions.update, numpy="1")
    with pytest.raises(ValueError, match="read-only"):
        rule.optimal_thresholds[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        rule.scores[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        all_rules["classes"].weights[0] = 3


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
    assert repr(rule).startswith("Rule: p >= 0.3, for F2")
    assert am.Rule("f1", 0.3, "<").apply([0.2, 0.3]).tolist() == [1, 0]
    refuses(ValueError, "not nan", am.Rule, "f1", NAN)
    mixed = am.Rule("f1", 0.3, pos_label="yes", neg_label=0)
    assert mixed.apply([0.1, 0.9]).tolist() == [0, "yes"]


CLASSES = {"classes": ("a", "b"), "weights": [1.0, 2.0], "metric": am.FBeta(1)}


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"pos_label": 0}, "pos_label and neg_label are both 0"),
        ({"pos_label": "a", "neg_label": "a"}, "both 'a': a rule tells two labels"),
        ({"interval": (2, 1)}, "interval must begin .* not 2 to 1"),
        ({"threshold_interval": "ab"}, "threshold_interval must be two numbers or"),
        ({"interval": (0.1, "x")}, "interval must be a number, not 'x'"),
        ({"threshold": "0.5"}, "threshold must be a number, not '0.5'"),
        ({"score": "0.5"}, "score must be a number"),
        ({"coverage": 0}, "coverage must lie strictly between 0 and 1"),
        ({"n": -4}, "n must be a whole number"),
        (CLASSES | {"classes": ("a", "a")}, "classes has a class twice: 'a', 'a'"),
        (CLASSES | {"interval": (2, 1)}, "interval must begin with its"),
        (CLASSES | {"coverage": 2}, "coverage must lie strictly"),
    ],
)
def test_a_rule_by_hand_that_contradicts_itself(facts, message):
    made = am.classes.MultiClassRule if "classes" in facts else am.Rule
    known = {} if "classes" in facts else {"metric": "f1", "threshold": 0.3}
    refuses((TypeError, ValueError), message, made, **known | facts)


@pytest.mark.parametrize("load", [am.Rule.load, am.Calibrator.load, am.Monitoring.load])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"file": 1, "a": {"b": 1, "b": 2}}', "the key 'b' stands there twice"),
        ('{"file": 1, "a": [1e400]}', "the number 1e400 is beyond all floats"),
        ('{"file": 1, "a": -1e999}', "the number -1e999 is beyond all floats"),
    ],
)
def test_a_file_that_can_be_read_in_two_ways(load, text, message, tmp_path):
    path = tmp_path / "saved.json"
    path.write_text(text)
    refuses(ValueError, rf"saved\.json is no \w+: {message}", load, path)


def test_the_printed_form_fits_one_screen(all_rules):
    for rule in all_rules.values():
        lines = repr(rule).splitlines()
        assert len(lines) <= 10
        assert max(map(len, lines)) <= 88
    shown = repr(all_rules["limits"])
    for part in ("min_recall=0.5", "mean", "as good", "400, ", "(90%)"):
        assert part in shown
    assert "'jä', else 'nein'" in repr(all_rules["strings"])


def test_plots_show_the_curve_the_plateau_and_the_interval(all_rules):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    for name in ("f1", "tversky", "empty", "margins"):
        ax = all_rules[name].plot()
        assert ax.get_ylabel().startswith("Actual ")
        assert len(ax.get_legend().get_texts()) >= 3
        plt.close(ax.figure)
    figure, ax = plt.subplots()
    assert tune(*labelled(9000)).plot(ax) is ax
    plt.close(figure)
    with pytest.raises(ValueError, match="no curve to draw"):
        am.Rule("f1", 0.3).plot()


def test_a_pickle_of_many_rows_is_small():
    y, p = labelled(50_000)
    rule = tune(y, p, n_bootstrap=0, cv=None)
    assert rule.scores.size > 49_000
    data = pickle.dumps(rule)
    assert len(data) < 60_000
    assert pickle.loads(data).scores.size == 2000
