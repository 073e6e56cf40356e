"""The kernel for a GPU against the generic path; skipped where there is no GPU."""

import numpy as np
import pytest

import argmetric as am
from argmetric import tensors
from tensors.libraries import library

torch = library("torch")
library("triton")
if not torch.cuda.is_available():
    pytest.skip("there is no CUDA device", allow_module_level=True)


@pytest.mark.parametrize("logits", [False, True])
@pytest.mark.parametrize("n", [1, 2, 20, 33, 100, 300, 1024])
@pytest.mark.parametrize("zero", [0.0, 1.0])
@pytest.mark.parametrize(
    "metric", [am.FBeta(1), am.FBeta(3), am.Jaccard(), am.Tversky(1.5, 0.4)]
)
def test_fused_rows_get_the_labels_of_the_generic_path(metric, zero, n, logits):
    p = np.random.default_rng(n).beta(0.3, 2.0, (50, n))
    p[0], p[1], p[2] = 0.0, 1.0, 0.5
    p[3:6] = p[3:6].round(1)
    if logits:
        p = np.log(p.clip(1e-9, 1 - 1e-9) / (1 - p.clip(1e-9, 1 - 1e-9)))
    x = torch.from_numpy(p)
    options = {"average": "samples", "zero_division": zero, "logits": logits}
    plain = tensors.decide(x, metric, **options)
    fused = tensors.decide(x.cuda(), metric, **options)
    assert fused.labels.is_cuda
    assert torch.equal(fused.labels.cpu(), plain.labels)
    assert torch.equal(fused.n_positives.cpu(), plain.n_positives)
    values = fused.expected.cpu(), plain.expected
    torch.testing.assert_close(*values, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("metric", ["dice", "iou"])
def test_fused_masks_are_those_of_the_generic_path(metric):
    rng = np.random.default_rng(5)
    rows = [rng.beta(0.2, 1.0, 20000), rng.beta(0.05, 9.0, 20000), np.full(20000, 0.3)]
    p = torch.from_numpy(np.stack([*rows, np.zeros(20000)]).astype(np.float32))
    plain = tensors.decide_masks(p[None], metric)
    fused = tensors.decide_masks(p[None].cuda(), metric)
    assert torch.equal(fused.masks.cpu(), plain.masks)
    torch.testing.assert_close(fused.expected.cpu(), plain.expected, rtol=1e-12, atol=0)
