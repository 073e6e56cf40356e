"""Forecasts and actual scores of tensors against those of arrays."""

import math

import numpy as np
import pytest

import argmetric as am
from argmetric import tensors
from oracle import obeyed
from tensors.libraries import LIBRARIES, NEW_NUMPY, array, library

pytestmark = NEW_NUMPY

every_library = pytest.mark.parametrize("name", LIBRARIES)
METRICS = ["f1", "jaccard", am.Tversky(0.2, 0.7), "mcc", "recall", "gmean", "accuracy"]


@every_library
@pytest.mark.parametrize("zero_division", [0.0, 1.0, math.nan])
@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_short_rows_have_the_distribution_of_the_array_path(
    name, metric, zero_division
):
    rng = np.random.default_rng(1)
    p = rng.beta(0.5, 0.8, (4, 7))
    labels = (rng.random((4, 7)) < 0.5).astype(int)
    options = {"zero_division": obeyed(metric, zero_division)}
    given = array(name, p), array(name, labels)
    got = tensors.forecast(*given, metric, 0.8, average="samples", **options)
    for i in range(4):
        plain = am.forecast(p[i], labels[i], metric, 0.8, **options)
        assert float(got.means[i]) == pytest.approx(plain.mean, abs=1e-13)
        assert float(got.std[i]) == pytest.approx(plain.std, abs=1e-12)
        ends = [float(end[i]) for end in got.interval]
        assert ends == pytest.approx(plain.interval, abs=1e-12)
    mean = am.forecast(p, labels, metric, 0.8, average="samples", **options)
    if not math.isnan(zero_division):
        assert float(got.mean) == pytest.approx(mean.mean, abs=1e-12)
        assert float(got.std_of_mean) == pytest.approx(mean.std, rel=1e-6)


@pytest.mark.parametrize("zero_division", [0.0, 1.0])
@pytest.mark.parametrize("metric", ["f1", "f2", "jaccard", am.Tversky(0.2, 0.7)])
def test_long_rows_have_mean_and_deviation(metric, zero_division):
    rng = np.random.default_rng(2)
    p = rng.beta(0.1, 8.0, (2, 90))
    labels = p > np.array([[0.3], [1.0]])
    options = {"zero_division": zero_division}
    got = tensors.forecast(p, labels, metric, average="samples", **options)
    assert got.interval is None
    for i in range(2):
        plain = am.forecast(p[i], labels[i], metric, **options)
        assert float(got.means[i]) == pytest.approx(plain.mean, rel=1e-12)
        assert float(got.std[i]) == pytest.approx(plain.std, rel=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 30.0, 1e3])
def test_a_heavy_false_positive_does_not_overflow(alpha):
    p = np.random.default_rng(6).beta(0.3, 0.6, 90)
    metric = am.Tversky(alpha, 0.5)
    got = tensors.forecast(p, p > 0.6, metric)
    plain = am.forecast(p, p > 0.6, metric)
    assert float(got.means) == pytest.approx(plain.mean, rel=1e-12)
    assert float(got.std) == pytest.approx(plain.std, rel=1e-10)
    decision = tensors.decide(p, metric)
    expected = am.forecast(p, decision.labels, metric).mean
    assert float(decision.expected) == pytest.approx(expected, rel=1e-12)
    assert expected >= plain.mean


def test_long_rows_of_other_metrics_have_a_mean():
    rng = np.random.default_rng(3)
    p = rng.random(80)
    labels = rng.random(80) < 0.5
    for metric in ("mcc", "kappa", "balanced_accuracy", "accuracy"):
        got = tensors.forecast(p, labels, metric)
        expected = am.forecast(p, labels, metric).mean
        assert float(got.means) == pytest.approx(expected, abs=1e-12)
        assert math.isnan(got.std)


@every_library
@pytest.mark.parametrize("metric", ["f1", "gmean"])
def test_groups_and_log_odds(name, metric):
    rng = np.random.default_rng(4)
    x, groups = rng.normal(size=30), rng.integers(0, 6, 30)
    labels = (x > 0.2).astype(int)
    given = [array(name, one) for one in (x, labels, groups)]
    got = tensors.forecast(*given[:2], metric, groups=given[2], logits=True)
    plain = am.forecast(x, labels, metric, groups=groups, logits=True)
    assert float(got.mean) == pytest.approx(plain.mean, abs=1e-12)
    assert float(got.std_of_mean) == pytest.approx(plain.std, rel=1e-6)
    assert repr(got).startswith("TensorForecast(")


@pytest.mark.parametrize("name", ["array_api_strict", "torch"])
@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
def test_evaluate(name, average):
    rng = np.random.default_rng(5)
    true, pred = (rng.integers(0, 2, (5, 6)) for _ in range(2))
    plain = am.evaluate(true, pred, "f1", average=average)
    given = array(name, true), array(name, pred == 1)
    got = am.evaluate(*given, "f1", average=average)
    assert got == pytest.approx(plain, abs=1e-15)
    assert got.to_dict() == plain.to_dict()
    groups = rng.integers(0, 2, 5)
    by_group = am.evaluate(true[:, 0], pred[:, 0], groups=groups)
    some = [array(name, one) for one in (true[:, 0], pred[:, 0], groups)]
    assert am.evaluate(*some[:2], groups=some[2]) == pytest.approx(by_group)


@every_library
def test_sums_of_rows_weigh_true_labels_predictions_and_hits(name):
    rng = np.random.default_rng(6)
    true, pred = (rng.integers(0, 2, (5, 6)) for _ in range(2))
    factors = rng.normal(size=(3, 6))
    found = tensors.sums_of_rows(array(name, true), array(name, pred), *factors)
    plain = true @ factors[0] + pred @ factors[1] + (true & pred) @ factors[2]
    assert found == pytest.approx(plain, abs=1e-12)


@pytest.mark.parametrize("name", ["array_api_strict", "torch"])
def test_the_public_verbs_dispatch(name):
    p, labels = array(name, [0.9, 0.6, 0.2]), array(name, [1, 1, 0])
    assert isinstance(am.decide(p), tensors.TensorDecision)
    got = am.forecast(p, labels)
    assert isinstance(got, tensors.TensorForecast)
    plain = am.forecast([0.9, 0.6, 0.2], [1, 1, 0])
    assert float(got.mean) == pytest.approx(plain.mean, abs=1e-14)
    with pytest.raises(ValueError, match="known and pos_label cannot be used with te"):
        am.forecast(p, labels, known=labels, pos_label=1)
    with pytest.raises(TypeError, match="labels must be a tensor, as p is, not list"):
        am.forecast(p, [1, 1, 0])
    with pytest.raises(ValueError, match=r"labels has shape \(2,\) but p has shape"):
        am.forecast(p, array(name, [1, 1]))
    with pytest.raises(ValueError, match="labels must hold 0 and 1"):
        am.forecast(p, array(name, [1, 2, 0]))
    with pytest.raises(ValueError, match="y is empty"):
        am.evaluate(array(name, np.zeros(0)), array(name, np.zeros(0)))


def test_labels_on_another_device():
    torch = library("torch")
    with pytest.raises(ValueError, match="labels is on meta but p is on cpu"):
        am.forecast(torch.rand(3), torch.zeros(3, device="meta"))
