"""Masks against decisions on sorted pixels."""

import numpy as np
import pytest

import argmetric as am
from argmetric import tensors
from argmetric.tensors._best_rows import decide_on_host, decide_rows
from refusing import refuses
from tensors.libraries import library

torch = library("torch")
METRICS = {"dice": "f1", "iou": "jaccard"}
both = pytest.mark.parametrize("metric", METRICS)


def some_rows(n=4096):
    """Common, rare, absent, certain and equal pixels."""
    rng = np.random.default_rng(1)
    rows = [
        rng.beta(0.2, 1.0, n),
        rng.beta(0.5, 0.5, n),
        rng.beta(0.05, 2.0, n),
        np.where(rng.random(n) < 0.1, 0.9, 0.01),
        rng.random(n) * 0.03,
        rng.random(n) * 0.001,
        np.full(n, 0.3),
        np.zeros(n),
        np.ones(n),
    ]
    return torch.from_numpy(np.stack(rows).astype(np.float32))


@both
@pytest.mark.parametrize("zero", [0.0, 1.0])
def test_masks_are_those_of_sorted_pixels(metric, zero):
    p = some_rows()
    options = {"average": "samples", "zero_division": zero}
    options["max_positives"] = "100%"  # forbids nothing, and takes all pixels
    plain = tensors.decide(p, METRICS[metric], **options)
    found = tensors.decide_masks(p.reshape(1, -1, 64, 64), metric, zero_division=zero)
    assert found.n_pixels[0].tolist() == plain.n_positives.tolist()
    assert torch.equal(found.masks.reshape(p.shape), plain.labels)
    np.testing.assert_allclose(found.expected[0], plain.expected, rtol=1e-12)
    again = tensors.forecast_masks(
        p.reshape(1, -1, 64, 64), found.masks, metric, zero_division=zero
    )
    np.testing.assert_allclose(again, found.expected, rtol=1e-12)


@pytest.mark.parametrize("metric", [am.FBeta(), am.Jaccard(), am.MCC(), am.Kappa()])
def test_rows_that_a_way_refuses_are_taken_whole(metric):
    p = some_rows()
    plain = decide_rows(p, metric)

    def refuse_some(*asked):
        best, value, cut = decide_on_host(*asked)
        best[1::2], value[1::2], cut[1::2] = -1, -1.0, 0.5
        return best, value, cut

    found = decide_rows(p, metric, ways=[refuse_some])
    assert torch.equal(found[3], plain[3])
    for one, other in zip(found[:3], plain[:3], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=0, equal_nan=True)


@both
def test_forecast_of_any_masks(metric):
    p = some_rows(900)
    masks = torch.rand(p.shape, generator=torch.Generator().manual_seed(3)) < 0.2
    masks[0] = False
    got = tensors.forecast_masks(p[None], masks[None], metric)
    plain = tensors.forecast(
        p, masks, METRICS[metric], average="samples", zero_division=1.0
    )
    # An empty mask of a class with many expected pixels: e^-150 counts as 0
    np.testing.assert_allclose(got[0], plain.means, rtol=1e-11, atol=1e-60)


@both
def test_one_class_per_pixel(metric):
    x = torch.randn(2, 4, 30, 30, generator=torch.Generator().manual_seed(4)) * 3.0
    found = tensors.decide_masks(x, metric, mode="multiclass", logits=True)
    free = tensors.decide_masks(torch.softmax(x, 1), metric)
    assert found.labels.shape == (2, 30, 30)
    assert int(found.masks.sum(1).max()) == 1
    assert bool((found.masks <= free.masks).all())  # a claim, or nothing
    assert torch.equal(found.masks.any(1), free.masks.any(1))
    assert torch.equal(found.labels >= 0, free.masks.any(1))
    np.testing.assert_allclose(found.bound, free.expected, rtol=1e-12)
    assert bool((found.expected <= found.bound + 1e-12).all())
    again = tensors.forecast_masks(torch.softmax(x, 1), found.masks, metric)
    np.testing.assert_allclose(found.expected, again, rtol=1e-12)


def test_rows_in_several_parts(monkeypatch):
    p = some_rows()[None]
    whole = tensors.decide_masks(p)
    before = tensors.forecast_masks(p, whole.masks)
    monkeypatch.setattr("argmetric.tensors._best_rows.CELLS_ON_HOST", 4096 * 2)
    monkeypatch.setattr("argmetric.tensors._pixels.CELLS", 4096 * 4)
    parts = tensors.decide_masks(p)
    assert torch.equal(whole.masks, parts.masks)
    np.testing.assert_allclose(whole.expected, parts.expected, rtol=1e-13)
    after = tensors.forecast_masks(p, whole.masks)
    np.testing.assert_allclose(after, before, rtol=1e-13)


def test_an_empty_mask_where_the_class_is_probably_absent():
    p = torch.full((1, 1, 8, 8), 0.001)
    found = tensors.decide_masks(p)
    assert int(found.n_pixels) == 0
    assert float(found.expected) == pytest.approx(0.999**64, rel=1e-6)
    assert repr(found) == (
        "MaskDecision(expected Dice 0.938: 1 images, 1 classes, 1 empty masks, on cpu)"
    )


def test_refusals():
    p = torch.rand(1, 2, 3, 3)
    refuses(ValueError, "metric must be", tensors.decide_masks, p, "f1")
    refuses(ValueError, "mode must be", tensors.decide_masks, p, mode="binary")
    refuses(ValueError, "must have the shape", tensors.decide_masks, p[0, 0])
    refuses(TypeError, "must be a tensor, not ndarray", tensors.decide_masks, p.numpy())
    with pytest.raises(ValueError, match="zero_division must be 0 or 1"):
        tensors.decide_masks(p, zero_division=float("nan"))
    refuses(ValueError, "masks has shape", tensors.forecast_masks, p, p[:, :1] > 0.5)


LONG = [
    am.FBeta(),
    am.FBeta(2.0),
    am.Jaccard(),
    am.Tversky(1.5, 0.4),
    am.Tversky(0.3, 4.0),
    am.MCC(),
    am.Kappa(),
]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("zero", [0.0, 1.0])
@pytest.mark.parametrize("metric", LONG, ids=repr)
def test_long_rows_get_the_labels_of_arrays(metric, zero, dtype):
    rng, n = np.random.default_rng(2), 1500
    more = [
        rng.random(n) / n,  # half a positive
        1.0 - rng.random(n) / n,
        np.clip(3.0 * rng.random(n) - 1.0, 0.0, 1.0),
        np.where(np.arange(n) < 90, rng.random(n), 1e-6),  # a head of few items
    ]
    p = torch.cat([some_rows(n).double(), torch.from_numpy(np.stack(more))])
    p = p.to(getattr(torch, dtype))
    options = {"average": "samples", "zero_division": zero}
    found = tensors.decide(p, metric, **options)
    plain = am.decide(p.double().numpy(), metric, **options)
    assert found.n_positives.tolist() == plain.labels.sum(1).tolist()
    np.testing.assert_array_equal(found.labels.numpy(), plain.labels)
    np.testing.assert_allclose(found.expected, plain.group_expected, atol=2e-12)


@pytest.mark.parametrize("metric", ["f1", "mcc", "kappa"])
def test_long_rows_of_log_odds(metric):
    x = torch.from_numpy(np.random.default_rng(3).normal(-2.0, 3.0, (4, 1300)))
    found = tensors.decide(x, metric, average="samples", logits=True)
    plain = am.decide(torch.sigmoid(x).numpy(), metric, average="samples")
    np.testing.assert_array_equal(found.labels.numpy(), plain.labels)
    np.testing.assert_allclose(found.expected, plain.group_expected, rtol=1e-11)
