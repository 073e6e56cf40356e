"""Compares the kernels for a GPU with their twins, run by Triton's interpreter.

A program of its own: TRITON_INTERPRET must be set before Triton is loaded.
"""

import numpy as np
import torch
import triton.language as tl
from long_rows import hard_rows

import argmetric as am
from argmetric import tensors
from argmetric.tensors import _fused_items, _fused_loss, _fused_masks, _losses
from argmetric.tensors._best_rows import decide_by_whole_curves, decide_rows
from argmetric.tensors._fused import kernels_for
from argmetric.tensors._pixels import power_sums

_fused_masks.BLOCK = tl.constexpr(1 << 15)  # few programs: each is a loop here
RNG = np.random.default_rng(0)
GENERIC = {"average": "samples", "max_positives": "100%"}  # forbids nothing


def rows(metric, n, logits=False, zero=1.0, count=7):
    metric = metric.with_zero_division(zero)
    p = RNG.beta(0.3, 2.0, (count, n))
    if count > 3:
        p[0], p[1], p[2], p[3] = 0.0, 1.0, 0.5, p[3].round(1)
    x = torch.from_numpy(p)
    if logits:
        x = torch.logit(x.clamp(1e-9, 1.0 - 1e-9))
    both(x, metric, logits)


def nearly_certain(metric, n):
    """Of items that are positive but for 1e-10, or once in 1e10, no digit is lost."""
    for sign in (1.0, -1.0):
        x = torch.from_numpy(sign * RNG.normal(23.0, 2.0, (6, n)))
        x[0] = sign * 23.0
        both(x, metric, True, atol=0.0)


def both(x, metric, logits, atol=1e-12):
    plain = tensors.decide(x, metric, logits=logits, **GENERIC)
    ways = kernels_for(x.shape[1], metric, logits)
    best, value, _, labels = decide_rows(x, metric, logits, ways)
    assert torch.equal(labels, plain.labels), (metric, x.shape)
    assert torch.equal(best, plain.n_positives), (metric, x.shape)
    torch.testing.assert_close(value, plain.expected, rtol=1e-12, atol=atol)


def same(p, metric):
    """A window on sorted rows, or in a bracket of longer ones, beside its twin."""
    found = _fused_masks.settle_fused(p, metric)
    assert int(found[0].min()) >= 0, metric
    for one, other in zip(found, decide_by_whole_curves(p, metric, False), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-15, equal_nan=True)


def long_rows(metric, names, *sizes):
    """Hard rows, all sorted or from histograms."""
    for n, dtype in sizes:
        rows = hard_rows(n)
        p = np.stack([rows[name] for name in names])
        same(torch.from_numpy(p).to(dtype), metric)


def masks(metric):
    for n in (1500, 17000):  # sorted, and from histograms
        head = np.where(np.arange(n) < 90, RNG.random(n), 1e-6)
        rows = RNG.beta(0.2, 1.0, n), RNG.beta(2.0, 2.0, n), RNG.random(n) / n, head
        p = torch.from_numpy(np.stack([*rows, np.zeros(n)]).astype(np.float32))
        same(p, metric)
    sums = _fused_masks.sums_fused(p), power_sums(p)
    torch.testing.assert_close(*sums, rtol=1e-12, atol=0.0)


def loss(metric, n):
    x = torch.from_numpy(RNG.normal(-1.0, 3.0, (5, n)))
    z = torch.from_numpy((RNG.random((5, n)) < 0.3).astype(float))
    x[0], x[1], z[2] = -800.0, 800.0, 0.0
    form, given = metric.form, x.clone().requires_grad_()
    value, _ = _losses.expected_ratio(given, z, form.d, form.c[1], 1.0)
    value.sum().backward()
    found = _fused_loss.ratio_and_slope_fused(x, z, form.d, form.c[1], 1.0)
    torch.testing.assert_close(found[0], value.detach(), rtol=1e-10, atol=1e-13)
    torch.testing.assert_close(found[1], given.grad, rtol=1e-10, atol=1e-13)


RATIOS = am.FBeta(1), am.Jaccard(), am.Tversky(1.5, 0.4), am.Tversky(0.3, 4.0)
WEIGHTS = am.MCC(), am.Kappa(), am.BalancedAccuracy(), am.Recall(), am.FowlkesMallows()
for one in (*RATIOS, *WEIGHTS):
    for size in (1, 20):
        rows(one, size)
    rows(one, 33, logits=True, zero=0.0)
for one in (am.MCC(), am.Kappa()):
    for size in (2, 10, 64):
        nearly_certain(one, size)
for one in (am.FBeta(1), am.Jaccard()):
    rows(one, 300, count=2)
for one in (am.FBeta(zero_division=1.0), am.Jaccard(zero_division=1.0)):
    masks(one)
for one in (am.Precision(), am.Markedness()):
    rows(one, 20)
ITEMS = am.BalancedAccuracy(), am.FowlkesMallows(), am.Accuracy(), am.Precision()
for one in ITEMS:
    few = torch.from_numpy(np.stack([hard_rows(2100)[x] for x in ("most", "few")]))
    found = _fused_items.decide_items(few, one, False)
    twin = decide_by_whole_curves(few, one, False)
    for got, asked in zip(found, twin, strict=True):
        torch.testing.assert_close(got, asked, rtol=1e-12, atol=1e-13, equal_nan=True)
TIES = "most", "sixteenths", "half a positive, ties"
for one in (am.Kappa(), am.MCC()):
    long_rows(one, TIES[:1], (1100, torch.float64))
    long_rows(one, ("nearly all", *TIES), (17000, torch.float32))
long_rows(
    am.Tversky(1.5, 0.4),
    ("uniform", "flat", *TIES[1:]),
    (1100, torch.float32),
    (17000, torch.float64),
)
HEAVY = am.Tversky(100.0, 0.5), am.Tversky(0.01, 300.0)
for one in HEAVY:
    rows(one, 20)
    rows(one, 300, count=4)
    hard = [hard_rows(1100)[name] for name in ("uniform", "clipped", "few")]
    both(torch.from_numpy(np.stack(hard)), one, logits=False)
for one in (*RATIOS, *HEAVY):
    loss(one, 7)
print("all equal")
