"""Losses against sums over all outcomes, and their gradients."""

import itertools

import numpy as np
import pytest

import argmetric as am
from refusing import refuses
from tensors.libraries import library

torch = library("torch")  # skips this file where it is missing
METRICS = [
    am.FBeta(1),
    am.FBeta(2),
    am.Jaccard(),
    am.Tversky(0.3, 1.4),
    am.Tversky(2.0, 30.0),
]


def brute_force(x, z, metric):
    """E[metric] of drawn labels, one outcome after the other."""
    p = 1.0 / (1.0 + np.exp(-x))
    total = 0.0
    for y in itertools.product((0, 1), repeat=x.size):
        y = np.array(y)
        probability = np.where(y == 1, p, 1.0 - p).prod()
        total += probability * metric.value((y * z).sum(), y.sum(), z.sum(), z.size)
    return total


OTHERS = [am.MCC(), am.GMean(), am.GMean(zero_division=1.0)]


def some_rows(seed=0, rows=4, labels=6):
    rng = np.random.default_rng(seed)
    x = rng.normal(0.0, 2.0, (rows, labels))
    z = (rng.random((rows, labels)) < 0.4).astype(float)
    z[0] = 0.0
    return x, z


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@pytest.mark.parametrize("zero", [0.0, 1.0])
def test_expected_metric_is_the_sum_over_outcomes(metric, zero):
    from argmetric.tensors import ExpectedMetricLoss

    x, z = some_rows()
    known = metric.with_zero_division(zero)
    values = [brute_force(*row, known) for row in zip(x, z, strict=True)]
    given = torch.from_numpy(x), torch.from_numpy(z)
    loss = ExpectedMetricLoss(metric, zero_division=zero)
    assert float(loss(*given)) == pytest.approx(1.0 - np.mean(values), abs=1e-13)
    turned = given[0].T, given[1].T
    macro = ExpectedMetricLoss(metric, "macro", zero_division=zero)
    assert float(macro(*turned)) == pytest.approx(float(loss(*given)), abs=1e-14)
    one = ExpectedMetricLoss(metric, "batch", zero_division=zero)
    expected = 1.0 - brute_force(x[:2].ravel(), z[:2].ravel(), known)
    assert float(one(given[0][:2], given[1][:2])) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("metric", OTHERS, ids=repr)
@pytest.mark.parametrize("labels", [1, 2, 7])
def test_mcc_and_gmean_are_sums_over_outcomes(metric, labels):
    from argmetric.tensors import ExpectedMetricLoss

    x, z = some_rows(2, rows=6, labels=labels)
    z[1], x[2], x[3, :1] = 1.0, 300.0, -300.0
    values = [brute_force(*row, metric) for row in zip(x, z, strict=True)]
    given = torch.from_numpy(x).requires_grad_(), torch.from_numpy(z)
    loss = ExpectedMetricLoss(metric)
    value = float(loss(*given).detach())
    assert value == pytest.approx(1.0 - np.mean(values), abs=1e-12)
    assert torch.autograd.gradcheck(loss, given, atol=1e-7)
    single = loss(*(one.detach().float() for one in given))
    assert float(single) == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@pytest.mark.parametrize("kind", ["ExpectedMetricLoss", "SoftMetricLoss"])
def test_gradients(metric, kind):
    from argmetric import tensors

    x, z = some_rows(1)
    x[1, :2] = 40.0, -40.0
    given = torch.from_numpy(x).requires_grad_(), torch.from_numpy(z)
    loss = getattr(tensors, kind)(metric)
    assert torch.autograd.gradcheck(loss, given, atol=1e-8)


def test_a_row_without_positives_has_a_gradient():
    from argmetric.tensors import ExpectedMetricLoss

    x = torch.zeros(1, 3, requires_grad=True)
    ExpectedMetricLoss()(x, torch.zeros(1, 3)).backward()
    # 1 - Π(1-p): its slope in x is p·Π(1-p)
    np.testing.assert_allclose(x.grad, 0.5 * 0.125, rtol=1e-6)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_float32_has_the_loss_and_gradient_of_float64(metric):
    from argmetric.tensors import ExpectedMetricLoss

    found = []
    for dtype in (torch.float32, torch.float64):
        x, z = (torch.from_numpy(one).to(dtype) for one in some_rows(4, labels=200))
        x[1, :3] = torch.tensor([-100.0, 0.0, 100.0])
        x.requires_grad_()
        value = ExpectedMetricLoss(metric)(x, z)
        value.backward()
        found.append((value.detach().double(), x.grad.double()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-8)


def test_long_rows_and_mixed_precision():
    from argmetric.tensors import ExpectedMetricLoss

    generator = torch.Generator().manual_seed(2)
    x = torch.randn(3, 700, generator=generator) * 6.0
    z = (torch.rand(3, 700, generator=generator) < 0.05).float()
    loss = ExpectedMetricLoss("jaccard")
    exact = float(loss(x.double(), z))
    assert float(loss(x, z)) == pytest.approx(exact, rel=1e-5)
    half = x.bfloat16().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        value = loss(half, z)
    value.backward()
    assert value.dtype == torch.float32
    assert half.grad.dtype == torch.bfloat16
    assert bool(torch.isfinite(half.grad).all())
    hard = torch.where(z > 0, 1e4, -1e4).requires_grad_()
    value = loss(hard, z)
    value.backward()
    assert value.item() == pytest.approx(0.0, abs=1e-6)
    assert bool(torch.isfinite(hard.grad).all())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["ExpectedMetricLoss", "SoftMetricLoss"])
@pytest.mark.parametrize("average", ["samples", "macro", "batch"])
def test_one_graph(kind, average):
    from argmetric import tensors

    x, z = (torch.from_numpy(one) for one in some_rows(3))
    loss = getattr(tensors, kind)("f1", average)
    whole = torch.compile(loss, fullgraph=True, backend="aot_eager")
    x.requires_grad_()
    for rows in (4, 3):  # the last batch of an epoch is smaller
        (expected,) = torch.autograd.grad(loss(x[:rows], z[:rows]), x)
        (got,) = torch.autograd.grad(whole(x[:rows], z[:rows]), x)
        np.testing.assert_allclose(got, expected, atol=1e-14)


def test_soft_counts():
    from argmetric.tensors import SoftMetricLoss

    x, z = torch.zeros(2, 4), torch.tensor([[1, 0, 0, 0], [0, 0, 0, 0]])
    assert float(SoftMetricLoss()(x, z)) == pytest.approx(1.0 - (1.0 / 3.0) / 2.0)


def test_refusals():
    from argmetric.tensors import ExpectedMetricLoss

    refuses(ValueError, "kappa has no such loss: use F-", ExpectedMetricLoss, "kappa")
    refuses(ValueError, "average must be", ExpectedMetricLoss, average="micro")
    loss = ExpectedMetricLoss()
    assert repr(loss) == "ExpectedMetricLoss('f1', average='samples')"
    refuses(ValueError, "targets has shape", loss, torch.zeros(2, 2), torch.zeros(2, 3))
    with pytest.raises(TypeError, match="logits must be floats"):
        loss(torch.zeros(2, 2, dtype=torch.int64), torch.zeros(2, 2))
    refuses(ValueError, "two dimensions", loss, torch.zeros(2), torch.zeros(2))


@pytest.mark.parametrize("metric", ["f1", "mcc", "gmean"])
@pytest.mark.filterwarnings("ignore")  # of the compiler itself
def test_losses_are_traced_without_a_break(metric):
    from argmetric.tensors import ExpectedMetricLoss

    x, z = (torch.from_numpy(one) for one in some_rows(5))
    loss = ExpectedMetricLoss(metric)
    found = torch.compile(loss, fullgraph=True, backend="aot_eager")(x, z)
    assert float(found) == pytest.approx(float(loss(x, z)), abs=1e-12)
