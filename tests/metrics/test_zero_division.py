"""Each value of zero_division counts, or is refused: one table of all metrics."""

import math

import numpy as np
import pytest

import argmetric as am
import oracle
from argmetric.metrics import get_class_metric
from refusing import refuses

NAN, N = math.nan, 4
# Values beside nan that a metric can take; None: it is never 0/0
BINARY = dict.fromkeys(am.metric_names(), (0.0, 1.0)) | {
    "balanced_accuracy": (),
    "mcc": (0.0,),
    "lift": (1.0,),
    "accuracy": None,
    "sec": None,
}
CLASSES = {
    "f1": (0.0, 1.0),
    "f2": (0.0, 1.0),
    "jaccard": (0.0, 1.0),
    "precision": (0.0, 1.0),
    "recall": (),
    "balanced_accuracy": (),
    "gmean": (),
    "mcc": (0.0,),
    "kappa": (0.0,),
    "quadratic_kappa": (0.0,),
    "accuracy": None,
}
REFUSED = "would change nothing for"


def values(metric):
    tp, k, t = np.array(oracle.feasible_cells(N)).T
    return metric.value(tp, k, t, N)


@pytest.mark.parametrize("value", [0.0, 1.0, NAN])
@pytest.mark.parametrize("name", BINARY)
def test_a_value_counts_or_is_refused(name, value):
    known = BINARY[name]
    if known is not None and not math.isnan(value) and value not in known:
        for call in (am.get_metric, lambda one, **how: am.decide([0.5], one, **how)):
            refuses(ValueError, REFUSED, call, name, zero_division=value)
        if value:
            with pytest.raises(ValueError, match=REFUSED):
                type(am.get_metric(name))(zero_division=value)
        return
    found, own = values(am.get_metric(name, zero_division=value)), am.get_metric(name)
    if known is None or name == "balanced_accuracy":
        assert np.array_equal(found, values(own))
        return
    undefined = np.isnan(values(own.with_zero_division(NAN)))
    assert undefined.any()
    if math.isnan(value):
        assert np.isnan(found[undefined]).all()
    elif len(known) == 1:
        assert (found[undefined] == value).all()
    else:  # some is not that of the other value
        other = values(am.get_metric(name, zero_division=1.0 - value))
        assert (found != other)[undefined].any()
        assert np.array_equal(found[~undefined], other[~undefined])


# Classes 0 to 2 occur, 3 is absent
Y, Z = [0, 1, 2, 0], [2, 0, 2, 0]


@pytest.mark.parametrize("value", [0.0, 1.0, NAN])
@pytest.mark.parametrize("name", CLASSES)
def test_a_value_of_absent_classes_counts_or_is_refused(name, value):
    how = {"classes": [0, 1, 2, 3], "zero_division": value}
    known = CLASSES[name]
    p = np.eye(4)[Z] * 0.6 + 0.1
    calls = [
        lambda: am.classes.evaluate(Y, Z, name, **how),
        lambda: am.classes.decide(p, name, **how),
        lambda: am.classes.forecast(p, Z, name, **how),
    ]
    if name != "quadratic_kappa":
        calls.append(lambda: am.classes.tune(Y, p, name, n_bootstrap=0, cv=None, **how))
    if known is not None and not math.isnan(value) and value not in known:
        for call in calls:
            refuses(ValueError, REFUSED, call)
        return
    score = calls[0]()
    plain = am.classes.evaluate(Y, Z, name, classes=[0, 1, 2, 3])
    if math.isnan(value) or known is None or len(known) < 2:
        assert score == plain
    else:
        assert score == pytest.approx((3 * plain + value) / 4, abs=1e-15)


def test_a_function_says_itself_what_it_counts():
    def share(table):
        return table[0, 0] / table.sum()

    refuses(ValueError, REFUSED, am.classes.evaluate, Y, Z, share, zero_division=0)


def test_the_option_changes_the_metric_of_a_decision():
    d = am.classes.decide(np.eye(4)[Z] * 0.6 + 0.1, "f1")
    plain, counted = (
        am.classes.evaluate(Y, d, classes=[0, 1, 2, 3], zero_division=zero)
        for zero in (None, 1.0)
    )
    assert counted == pytest.approx((3 * plain + 1) / 4)
    with pytest.raises(ValueError, match="average='weighted' is not that of macro f1"):
        am.classes.evaluate(Y, d, average="weighted")
    assert get_class_metric(d.metric, n_classes=4) == d.metric


@pytest.mark.parametrize(("name", "kind"), [("mcc", "MCC"), ("am", "BalancedAccuracy")])
def test_a_file_of_before_keeps_what_the_metric_computed(name, kind, tmp_path):
    rule = am.tune([0, 1, 0, 1], [0.1, 0.6, 0.4, 0.9], name, n_bootstrap=0, cv=None)
    values = rule.to_dict()
    assert values["metric"]["class"] == kind
    values["metric"]["zero_division"] = 1.0  # ignored when it was written
    assert am.Rule.from_dict(values) == rule


def test_of_several_metrics_one_has_to_obey():
    y, p = [0, 1, 0, 1], [0.1, 0.6, 0.4, 0.9]
    how = {"n_bootstrap": 0, "cv": None, "zero_division": 1.0}
    found = am.tune(y, p, ["f1", "mcc"], **how)
    assert [rule.metric.zero_division for rule in found.values()] == [1.0, 0.0]
    of_classes = am.classes.tune(y, np.c_[np.subtract(1, p), p], ["f1", "mcc"], **how)
    assert list(of_classes) == ["f1", "mcc"]
    both = ["mcc", "balanced_accuracy"]
    refuses(ValueError, f"{REFUSED} mcc", am.tune, y, p, both, **how)
    with pytest.raises(ValueError, match=f"{REFUSED} macro recall of several classes"):
        am.classes.tune(y, np.c_[np.subtract(1, p), p], ["recall", "gmean"], **how)


def test_a_sequence_refuses_a_value_that_would_change_nothing():
    labels = am.sequence.Independent([0.9, 0.2])
    refuses(ValueError, REFUSED, am.sequence.decode, "mcc", labels, zero_division=1.0)
