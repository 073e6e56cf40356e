"""The kernel for a GPU against the generic path; skipped where there is no GPU."""

import numpy as np
import pytest

import argmetric as am
from argmetric import tensors
from oracle import obeyed
from tensors.libraries import library
from tensors.long_rows import hard_rows, two_peaks

torch = library("torch")
library("triton")
if not torch.cuda.is_available():
    pytest.skip("there is no CUDA device", allow_module_level=True)

GENERIC = {"max_positives": "100%"}  # forbids nothing
METRICS = [
    *(am.FBeta(1), am.FBeta(3), am.Jaccard(), am.Tversky(1.5, 0.4)),
    *(am.Tversky(0.3, 4.0), am.Tversky(100.0, 0.5), am.Tversky(0.01, 300.0), am.MCC()),
    *(am.Kappa(), am.BalancedAccuracy(), am.Recall(), am.Specificity()),
    *(am.FowlkesMallows(), am.Youden(), am.Lift(), am.Precision(), am.Accuracy()),
    *(am.Markedness(), am.Utility(1.0, -0.5, -0.2, 0.1)),
]


@pytest.mark.parametrize("logits", [False, True])
@pytest.mark.parametrize("n", [1, 2, 20, 33, 100, 300, 1024])
@pytest.mark.parametrize("zero", [0.0, 1.0])
@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_fused_rows_get_the_labels_of_the_generic_path(metric, zero, n, logits):
    p = np.random.default_rng(n).beta(0.3, 2.0, (50, n))
    p[0], p[1], p[2] = 0.0, 1.0, 0.5
    p[3:6] = p[3:6].round(1)
    p[6], p[7] = 1.0 - 1e-3 * p[6], 1e-9 * p[7]
    if logits:
        p = np.log(p.clip(1e-9, 1 - 1e-9) / (1 - p.clip(1e-9, 1 - 1e-9)))
    x = torch.from_numpy(p)
    zero = obeyed(metric.name, zero)
    options = {"average": "samples", "zero_division": zero, "logits": logits}
    plain = tensors.decide(x, metric, **options, **GENERIC)
    fused = tensors.decide(x.cuda(), metric, **options)
    assert fused.labels.is_cuda
    assert torch.equal(fused.labels.cpu(), plain.labels)
    assert torch.equal(fused.n_positives.cpu(), plain.n_positives)
    values = fused.expected.cpu(), plain.expected
    torch.testing.assert_close(*values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("metric", ["f1", "jaccard"])
@pytest.mark.parametrize("shape", [(0.05, 1.0), (0.02, 4.0), (1.0, 1.0), (8.0, 200.0)])
def test_rows_with_few_and_many_expected_positives(shape, metric):
    p = np.random.default_rng(3).beta(*shape, (200, 900)).astype(np.float32)
    x = torch.from_numpy(p)
    options = {"average": "samples", "zero_division": 1.0}
    plain = tensors.decide(x, metric, **options, **GENERIC)
    fused = tensors.decide(x.cuda(), metric, **options)
    assert torch.equal(fused.labels.cpu(), plain.labels)
    torch.testing.assert_close(fused.expected.cpu(), plain.expected, rtol=1e-12, atol=0)


LONG = [*METRICS, am.Kappa(zero_division=1.0), am.Recall(zero_division=1.0)]


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
@pytest.mark.parametrize("n", [1025, 5000, 20000, 200000])
@pytest.mark.parametrize("metric", LONG, ids=repr)
def test_long_rows_get_the_labels_of_the_generic_path(metric, n, dtype):
    rows = torch.from_numpy(np.stack(list(hard_rows(n).values())))
    x = rows.to(getattr(torch, dtype)).cuda()
    fused = tensors.decide(x, metric, average="samples")
    plain = tensors.decide(x, metric, average="samples", max_positives=n)
    assert torch.equal(fused.n_positives, plain.n_positives)
    assert torch.equal(fused.labels.sum(1), fused.n_positives)
    values = fused.expected, plain.expected
    torch.testing.assert_close(*values, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [3000, 30000])
def test_each_maximum_of_mcc_is_looked_at(n, dtype):
    shifts = (-0.02, -1e-3, 0.0, 1e-3, 3e-3, 0.01, 0.02)
    rows = [two_peaks(n, 40, n // 6, one) for one in shifts]
    x = torch.from_numpy(np.stack(rows)).to(dtype)
    fused = tensors.decide(x.cuda(), "mcc", average="samples")
    plain = tensors.decide(x, "mcc", average="samples", max_positives=n)
    assert torch.equal(fused.labels.cpu(), plain.labels)
    values = fused.expected.cpu(), plain.expected
    torch.testing.assert_close(*values, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("metric", ["gmean", "hmean", "qmean"])
def test_metrics_without_a_kernel_are_decided_as_arrays(metric):
    p = np.random.default_rng(8).beta(0.4, 2.0, (5, 30))
    for options in ({}, {"max_positives": 3}):
        plain = am.decide(p, metric, average="samples", **options)
        x = torch.from_numpy(p).cuda()
        found = tensors.decide(x, metric, average="samples", **options)
        assert found.labels.is_cuda
        np.testing.assert_array_equal(found.labels.cpu(), plain.labels)
        np.testing.assert_allclose(found.expected.cpu(), plain.group_expected)


@pytest.mark.parametrize(("metric", "name"), [("dice", "f1"), ("iou", "jaccard")])
def test_fused_masks_are_those_of_the_generic_path(metric, name):
    rng = np.random.default_rng(5)
    rows = [rng.beta(0.2, 1.0, 20000), rng.beta(0.05, 9.0, 20000), np.full(20000, 0.3)]
    p = torch.from_numpy(np.stack([*rows, np.zeros(20000)]).astype(np.float32))
    plain = tensors.decide(p, name, average="samples", zero_division=1.0, **GENERIC)
    fused = tensors.decide_masks(p[None].cuda(), metric)
    assert torch.equal(fused.masks.cpu()[0], plain.labels)
    values = fused.expected.cpu()[0], plain.expected
    torch.testing.assert_close(*values, rtol=1e-12, atol=0)


def test_masks_are_captured_in_a_graph():
    rng = np.random.default_rng(6)
    p = torch.from_numpy(rng.beta(0.2, 1.0, (1, 3, 30000)).astype(np.float32)).cuda()
    expected = tensors.decide_masks(p)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = tensors.decide_masks(p)
    found.masks.zero_()
    graph.replay()
    assert torch.equal(found.masks, expected.masks)
    assert torch.equal(found.expected, expected.expected)


@pytest.mark.parametrize("labels", [1, 7, 1000, 4096])
@pytest.mark.parametrize(
    "metric", [am.FBeta(1), am.Jaccard(), am.Tversky(1.5, 0.4), am.Tversky(0.3, 4.0)]
)
def test_fused_losses_are_those_of_the_generic_path(metric, labels):
    rng = np.random.default_rng(labels)
    x = torch.from_numpy(rng.normal(-2.0, 3.0, (20, labels)))
    x[0], x[1] = -800.0, 800.0
    z = torch.from_numpy((rng.random((20, labels)) < 0.1).astype(float))
    z[2] = 0.0
    found = []
    for device in ("cpu", "cuda"):
        given = x.detach().to(device).requires_grad_()
        loss = tensors.ExpectedMetricLoss(metric)(given, z.to(device))
        loss.backward()
        found.append((loss.detach().cpu(), given.grad.cpu()))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-14)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the compiler itself
def test_a_compiled_loss_has_no_graph_break():
    x = torch.randn(64, 100, device="cuda", requires_grad=True)
    z = (torch.rand(64, 100, device="cuda") < 0.1).float()
    loss = tensors.ExpectedMetricLoss("f1")
    compiled = torch.compile(loss, fullgraph=True)(x, z)
    torch.testing.assert_close(compiled, loss(x, z))
    compiled.backward()
    assert bool(x.grad.isfinite().all())
