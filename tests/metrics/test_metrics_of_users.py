"""Functions of the counts and metrics of other libraries, passed as a metric."""

import dataclasses
import functools
import math
import pickle

import numpy as np
import pytest
import sklearn.metrics

import argmetric as am
from argmetric._verbs.decide import decide_by
from refusing import refuses

NAN = math.nan


P = [0.9, 0.6, 0.2, 0.1]


# ----------------------------------------------------------- custom metrics


def squared(tp, k, t, n):
    return tp * tp / (k * t)


def nothing(tp, k, t, n):
    tp / (k + t)


def test_a_custom_metric_is_a_value():
    metric = am.CustomMetric(squared, "g2", False, zero_division=1)
    assert metric.name == "g2"
    assert not metric.greater_is_better
    assert am.CustomMetric(squared) == am.CustomMetric(squared, name="squared")
    assert metric != am.CustomMetric(squared, "g2", zero_division=1)
    assert repr(metric) == (
        f"CustomMetric(function={squared!r}, name='g2', greater_is_better=False, "
        "smooth=False, zero_division=1.0)"
    )
    for same in (
        pickle.loads(pickle.dumps(metric)),
        dataclasses.replace(metric),
        metric.with_zero_division(0).with_zero_division(1),
    ):
        assert same == metric
        assert hash(same) == hash(metric)
        assert (same.name, same.greater_is_better) == ("g2", False)


def test_a_function_without_return():
    refuses(TypeError, "nothing returns None", am.decide, P, nothing)
    with pytest.raises(TypeError, match="nothing returns None"):
        am.CustomMetric(nothing).value(1, 2, 2, 4)


def test_a_function_may_be_defined_without_a_hit_alone():
    def misses(tp, k, t, n):
        return np.where((tp == 0) & (k > 0) & (t > 0), 1.0, NAN)

    found = decide_by(P, misses, check=False, zero_division=NAN)
    assert found.n_positives > 0
    assert found.expected == pytest.approx(1.0)


def test_division_by_zero_at_the_margins_is_undefined():
    lift = am.CustomMetric(lambda tp, k, t, n: (tp + 1) / (k * t), zero_division=1)
    assert lift.value([0, 0, 1], [0, 1, 1], [2, 0, 2], 4).tolist() == [1, 1, 1]
    assert lift.value(0, 0, 2, 4) == 1
    bare = lift.with_zero_division(NAN)
    assert np.isnan(bare.value(0, 0, 2, 4))
    assert am.CustomMetric(lambda tp, k, t, n: 1 / (k - t)).value(1, 2, 2, 4) == np.inf


def test_check_metric_finds_what_is_undefined_inside():
    with pytest.raises(ValueError, match="at tp=0, k=1, t=1, n=12 is nan: only cells"):
        am.check_metric(lambda tp, k, t, n: tp / tp)
    with pytest.raises(ValueError, match="at tp=0, k=1, t=1, n=12 is inf: a metric"):
        am.check_metric(lambda tp, k, t, n: 1 / (k - t))
    assert am.check_metric(lambda tp, k, t, n: (tp + 1) / (k * t))


def test_check_metric_takes_what_get_metric_takes():
    for metric in ("f0.3", am.MCC, am.MCC(), am.FBeta(2, zero_division=1)):
        assert am.check_metric(metric)


def always_nan(tp, k, t, n):
    return tp * NAN


def test_a_function_that_is_always_nan_is_said_to_be():
    for call in (
        lambda: am.decide(P, always_nan),
        lambda: decide_by(P, always_nan, check=False),
        lambda: am.forecast(P, [1, 1, 0, 0], always_nan),
        lambda: am.evaluate([0, 1, 1, 0], [1, 1, 0, 0], always_nan),
        lambda: am.tune([0, 1, 1, 0], P, always_nan),
    ):
        refuses(ValueError, "metric always_nan gives nan for all cou", call)
    margins = am.CustomMetric(lambda tp, k, t, n: tp / (k * t * (n - k) * (n - t)))
    assert am.decide([0.4, 0.6], margins).n_positives == 1
    assert am.decide([0.4], always_nan).expected == 0.0  # n = 1 is all margin


def test_a_metric_that_is_undefined_throughout():
    with pytest.raises(ValueError, match="precision is undefined for every number of"):
        am.decide(P, "precision", max_positives=0, zero_division=NAN)
    with pytest.raises(ValueError, match="mcc is undefined for every number of"):
        am.decide(P, "mcc", groups=range(4), average="groups", zero_division=NAN)
    with pytest.raises(ValueError, match=r"f1 is undefined \(0/0\) on these labels"):
        am.evaluate([0, 0], [0, 0], zero_division=NAN)
    with pytest.raises(ValueError, match=r"precision is undefined \(0/0\) for these"):
        am.forecast(P, [0, 0, 0, 0], "precision", zero_division=NAN)
    nothing = am.decide([0.0, 0.0], zero_division=NAN)
    assert (nothing.n_positives, math.isnan(nothing.expected)) == (0, True)


# ------------------------------------------------------ metrics of other libraries


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("f1_score", "f1"),
        ("matthews_corrcoef", "mcc"),
        ("balanced_accuracy_score", "balanced_accuracy"),
        ("jaccard_score", "jaccard"),
        ("cohen_kappa_score", "kappa"),
        ("precision_score", "precision"),
        ("recall_score", "recall"),
        ("accuracy_score", "accuracy"),
    ],
)
def test_a_function_of_scikit_learn_is_named_as_ours(name, ours):
    function = getattr(sklearn.metrics, name)
    message = f'metric is {name} of scikit-learn, .* counts: pass metric="{ours}"'
    made = sklearn.metrics.make_scorer(function), functools.partial(function)
    for metric in (function, *made):
        refuses(TypeError, message, am.decide, P, metric)
    assert am.get_metric(ours).name == ours


@pytest.mark.parametrize(
    ("name", "judged"),
    [
        *((name, "order") for name in ("auc", "AUC", "roc_auc", "roc-auc", "auroc")),
        *((name, "order") for name in ("average_precision", "pr_auc", "ndcg_score")),
        *((name, "order") for name in ("roc_auc_ovr_weighted", "roc_auc_score")),
        *((name, "probabilities") for name in ("log_loss", "neg_log_loss", "logloss")),
        *((name, "probabilities") for name in ("brier", "neg_brier_score")),
        ("brier_score_loss", "probabilities"),
    ],
)
def test_scores_without_labels_to_choose(name, judged):
    with pytest.raises(ValueError, match=f"judges the {judged}.* no labels to choose"):
        am.decide(P, name)


# ---------------------------------------------------------- names and values


def test_metrics_with_nan_are_equal():
    one, other = (am.FBeta(zero_division=float("nan")) for _ in range(2))
    assert one == other == pickle.loads(pickle.dumps(one))
    assert hash(one) == hash(other) == hash(pickle.loads(pickle.dumps(one)))
    assert one != am.FBeta()
    assert one != am.Jaccard(zero_division=NAN)
    assert am.MCC() != "mcc"


def test_parameters_are_numbers():
    assert isinstance(am.FBeta(2).beta, float)
    assert am.FBeta(np.float32(2)) == am.FBeta(2)
    with pytest.raises(TypeError, match="c must be four numbers, not '1234'"):
        am.LinearFractional("1234", (1, 0, 0, 0))
    for wrong in ("warn", None, "1", 2):
        with pytest.raises(ValueError, match="zero_division must be 0, 1 or nan, not"):
            am.FBeta(zero_division=wrong)


@pytest.mark.parametrize("beta", [1 / 3, math.sqrt(2), 1e-7, 1.0, 9.75])
def test_the_name_of_f_reads_back(beta):
    metric = am.FBeta(beta)
    assert am.get_metric(metric.name) == metric


@pytest.mark.parametrize("weight", [1e-101, 1e101, 5e-324, 1e308, -1.0, np.nan, np.inf])
def test_weights_that_cannot_be_squared_beside_the_others_are_refused(weight):
    y, p = [1, 0, 1, 0], [0.8, 0.3, 0.6, 0.4]
    for verb in (am.tune, am.calibrate, am.calibration_check):
        with pytest.raises(ValueError, match=r"sample_weight is .* at row \d; weights"):
            verb(y, p, sample_weight=[1.0, weight, 1.0, 1.0])
