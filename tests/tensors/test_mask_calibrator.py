"""Masks with a shared effect against enumeration, and what is fitted to labels."""

import itertools
import json
from dataclasses import asdict

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_softmax, logit

from argmetric import tensors
from argmetric.metrics import FBeta, Jaccard
from argmetric.tensors._shared_effect import (
    effect_likelihood,
    effect_nodes,
    group_labels,
)
from refusing import refuses
from tensors.libraries import library
from tensors.test_masks import some_rows

torch = library("torch")
KINDS = {"dice": FBeta, "iou": Jaccard}
both = pytest.mark.parametrize("metric", KINDS)
IMAGES = np.array(
    [
        [0.9, 0.6, 0.6, 0.3, 0.02],
        [0.2, 0.1, 0.1, 0.05, 0.3],
        [0.5, 0.45, 0.4, 0.0, 1.0],
        [0.08, 0.07, 0.06, 0.05, 0.04],
    ],
    dtype=np.float32,
)


def dense_nodes(sd):
    u = np.linspace(-7.0, 7.0, 701)
    w = np.exp(-(u**2) / 2.0)
    return u, w / w.sum()


def conditional(p, sd, nodes, at):
    """The probability of every pixel at some u, with mean p over the nodes."""
    u, w = nodes
    out = np.empty((at.size, p.size))
    for i, one in enumerate(p.astype(float)):
        if one in (0.0, 1.0):
            out[:, i] = one
            continue
        a = brentq(lambda a, one=one: w @ expit(a + sd * u) - one, -90, 90, xtol=1e-14)
        out[:, i] = expit(a + sd * at)
    return out


def enumerated(p, sd, metric, zero, nodes):
    """Expected score of all masks of a tiny image."""
    u, w = nodes(sd)
    at = conditional(p, sd, (u, w), u)
    known = KINDS[metric](zero_division=zero)
    bits = np.array(list(itertools.product([0, 1], repeat=p.size)))
    probabilities = [w @ np.prod(np.where(y, at, 1.0 - at), axis=1) for y in bits]
    return {
        tuple(mask): sum(
            probability * known.score(y, mask)
            for probability, y in zip(probabilities, bits, strict=True)
        )
        for mask in bits
    }


@both
@pytest.mark.parametrize("sd", [0.0, 0.7, 3.0, 30.0])
@pytest.mark.parametrize("zero", [0.0, 1.0])
def test_no_mask_of_a_tiny_image_is_better(metric, sd, zero):
    p = torch.from_numpy(IMAGES)[:, None, None, :]
    calibrator = tensors.MaskCalibrator((1.0,), (sd,))
    given = {"zero_division": zero, "reference": calibrator}
    found = tensors.decide_masks(p, metric, **given)
    masks = torch.rand(p.shape, generator=torch.Generator().manual_seed(1)) < 0.5
    masks[0] = False
    forecast = tensors.forecast_masks(p, masks, metric, **given)
    again = tensors.forecast_masks(p, found.masks, metric, **given)
    np.testing.assert_allclose(again, found.expected, rtol=1e-12)
    for i, one in enumerate(IMAGES):
        scores = enumerated(one, sd, metric, zero, effect_nodes)
        chosen = tuple(found.masks[i, 0, 0].int().tolist())
        assert scores[chosen] == pytest.approx(max(scores.values()), rel=1e-10)
        assert float(found.expected[i]) == pytest.approx(scores[chosen], rel=1e-10)
        asked = tuple(masks[i, 0, 0].int().tolist())
        assert float(forecast[i]) == pytest.approx(scores[asked], rel=1e-10)


@pytest.mark.parametrize(("sd", "error"), [(1.0, 3e-4), (8.0, 3e-4), (30.0, 0.02)])
def test_few_values_of_u_stand_for_all(sd, error):
    """The probability of an empty mask is the hardest: a step where sd is large."""
    for one in IMAGES:
        empty = (0,) * one.size
        few = enumerated(one, sd, "dice", 1.0, effect_nodes)[empty]
        assert few == pytest.approx(
            enumerated(one, sd, "dice", 1.0, dense_nodes)[empty], abs=error
        )


def test_without_a_shared_effect_masks_are_those_of_independent_pixels():
    p = some_rows()[None]
    plain = tensors.decide_masks(p)
    classes = p.shape[1]
    none = tensors.MaskCalibrator((1.0,) * classes, (0.0,) * classes)
    found = tensors.decide_masks(p, reference=none)
    assert torch.equal(found.masks, plain.masks)
    np.testing.assert_allclose(found.expected, plain.expected, rtol=1e-9)


@both
def test_bins_of_pixels_against_pixels_one_by_one(metric, monkeypatch):
    p = some_rows(500)[[0, 1, 2, 3, 6, 8], None]
    calibrator = tensors.MaskCalibrator((1.0,), (1.5,))
    exact = tensors.decide_masks(p, metric, reference=calibrator)
    monkeypatch.setattr("argmetric.tensors._shared_effect.FEW_PIXELS", 10)
    binned = tensors.decide_masks(p, metric, reference=calibrator)
    told = tensors.forecast_masks(p, exact.masks, metric, reference=calibrator)
    monkeypatch.undo()
    true = tensors.forecast_masks(p, binned.masks, metric, reference=calibrator)
    # A mask that splits a bin holds its larger pixels
    np.testing.assert_allclose(told, exact.expected, atol=1e-4)
    np.testing.assert_allclose(binned.expected, true, atol=2e-5)
    # Equal pixels are all in or all out of a bin
    np.testing.assert_allclose(true, exact.expected, atol=1e-4)
    assert bool((true <= exact.expected + 1e-12).all())


def test_an_absent_object_is_one_event():
    """Σp = 20: never empty if pixels were independent, in truth often."""
    p = torch.full((1, 1, 10, 10), 0.2)
    plain = tensors.decide_masks(p)
    shared = tensors.decide_masks(p, reference=tensors.MaskCalibrator((1.0,), (8.0,)))
    assert int(plain.n_pixels) == 100
    assert int(shared.n_pixels) == 0
    u, w = dense_nodes(8.0)
    at = conditional(np.array([0.2]), 8.0, (u, w), u)[:, 0]
    assert float(shared.expected) == pytest.approx(w @ (1.0 - at) ** 100, abs=3e-4)
    assert float(shared.expected) > 0.5


def simulated(images=60, sd=(0.0, 2.0), seed=0, n=400):
    """Log-odds and labels of two classes, with known effects."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-2.0, 1.5, (images, 2, n)).astype(np.float32)
    y = np.empty(z.shape, dtype=bool)
    for c, one in enumerate(sd):
        u, w = dense_nodes(one)
        grid = np.linspace(-12.0, 12.0, 2001)
        mean = np.array([w @ expit(a + one * u) for a in grid])
        a = np.interp(z[:, c], logit(mean), grid)
        effect = one * rng.standard_normal((images, 1))
        y[:, c] = rng.random((images, n)) < expit(a + effect)
    return torch.from_numpy(z), torch.from_numpy(y)


def test_temperatures_and_effects_are_found_again():
    z, y = simulated(images=150, n=150)
    scale = torch.tensor([2.0, 0.5])[None, :, None]
    found = tensors.calibrate_masks(z * scale, y, logits=True)
    np.testing.assert_allclose(found.temperatures, [2.0, 0.5], rtol=0.15)
    np.testing.assert_allclose(found.shared_sd, [0.0, 2.0], atol=0.25)
    again = tensors.calibrate_masks(torch.sigmoid(z * scale), y)
    np.testing.assert_allclose(again.temperatures, found.temperatures, rtol=1e-3)
    np.testing.assert_allclose(again.shared_sd, found.shared_sd, atol=0.01)
    p = found.apply(z * scale, logits=True)
    beta = np.array(found.temperatures)[None, :, None]
    np.testing.assert_allclose(p, expit((z * scale).numpy() / beta), rtol=1e-5)
    assert tensors.MaskCalibrator(**json.loads(json.dumps(asdict(found)))) == found


def test_the_likelihood_of_an_effect_is_its_integral():
    z, y = simulated(images=3, n=6)
    p, known = torch.sigmoid(z), torch.ones(3, 6, dtype=torch.bool)
    sd = np.array([0.8, 3.0])
    got = effect_likelihood(*group_labels(p, y, known), sd)
    for c in range(2):
        u, w = dense_nodes(sd[c])
        total = 0.0
        for pixels, true in zip(p[:, c].numpy(), y[:, c].numpy(), strict=True):
            at = conditional(pixels, sd[c], effect_nodes(3.0), u)
            total += np.log(w @ np.where(true, at, 1.0 - at).prod(1))
        assert got[c] == pytest.approx(total, abs=1e-4)


def test_classes_of_a_softmax():
    rng = np.random.default_rng(3)
    z = rng.normal(0.0, 2.0, (5, 3, 20, 20))
    z -= np.log(np.exp(z).sum(1, keepdims=True))
    probability = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    pick = rng.random((5, 1, 20, 20)) > probability.cumsum(1)
    labels = torch.from_numpy(pick.sum(1))
    x = torch.from_numpy(z * np.array([1.5, 0.8, 1.2])[None, :, None, None])
    p = torch.softmax(x, 1)
    found = tensors.calibrate_masks(p, labels, mode="multiclass")
    again = tensors.calibrate_masks(x, labels, mode="multiclass", logits=True)
    np.testing.assert_allclose(again.temperatures, found.temperatures, rtol=1e-6)
    masks = torch.nn.functional.one_hot(labels, 3).permute(0, 3, 1, 2)
    third = tensors.calibrate_masks(p, masks, mode="multiclass")
    assert third == found

    def cost(values):
        one = tensors.MaskCalibrator(tuple(values), (0.0,) * 3, "multiclass")
        return float(-torch.log(one.apply(p).gather(1, labels[:, None])).sum())

    least = cost(found.temperatures)
    for c in range(3):
        for factor in (0.98, 1.02):
            moved = np.array(found.temperatures)
            moved[c] *= factor
            assert cost(moved) > least
    ignored = labels.clone()
    ignored[0] = 255
    left = tensors.calibrate_masks(p, ignored, mode="multiclass")
    only = tensors.calibrate_masks(p[1:], labels[1:], mode="multiclass")
    np.testing.assert_allclose(left.temperatures, only.temperatures, rtol=1e-9)
    decided = tensors.decide_masks(p, mode="multiclass", reference=again)
    told = tensors.forecast_masks(p, decided.masks, reference=again)
    np.testing.assert_allclose(told, decided.expected, rtol=1e-9)


def test_a_class_that_no_mask_holds_stays_as_it_is():
    z, y = simulated(images=4)
    y[:, 1] = False
    with pytest.warns(UserWarning, match=r"classes \[1\] are in no mask"):
        found = tensors.calibrate_masks(z, y, logits=True)
    assert (found.temperatures[1], found.shared_sd[1]) == (1.0, 0.0)
    assert found.temperatures[0] == pytest.approx(1.0, abs=0.2)


def some_pixels(classes, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(0.0, 2.0, (3, classes, 150))
    label = (x + rng.gumbel(0.0, 2.0, x.shape)).argmax(1)
    return x, label, label[:, None, :] == np.arange(classes)[None, :, None]


@pytest.mark.parametrize("mode", ["multilabel", "multiclass"])
def test_temperatures_have_the_highest_likelihood(mode):
    x, label, y = some_pixels(4)
    known = np.ones(label.shape, dtype=bool)
    masks = y
    if mode == "multiclass":
        known[0, :30] = False
        masks = np.where(known, label, 255)
    given = torch.from_numpy(x), torch.from_numpy(masks)
    found = tensors.calibrate_masks(*given, mode=mode, logits=True)

    def cost(beta):
        z = (x if mode == "multilabel" else log_softmax(x, 1)) * beta[None, :, None]
        if mode == "multiclass":
            loss = -(y * log_softmax(z, 1)).sum(1)
        else:
            loss = (np.logaddexp(0.0, z) - y * z).sum(1)
        return loss[known].sum()

    best = minimize(cost, np.ones(4), tol=1e-12)
    slopes = 1.0 / np.array(found.temperatures)
    np.testing.assert_allclose(slopes, best.x, rtol=1e-4)
    assert cost(slopes) <= best.fun + 1e-9


def test_a_temperature_at_its_bound_leaves_the_others_best():
    """A class that also has the labels of another one wants to lose its scores."""
    x, label, _ = some_pixels(4)
    label[label == 0] = 3
    given = torch.from_numpy(x), torch.from_numpy(label)
    with pytest.warns(UserWarning, match=r"classes \[0\] are in no mask"):
        found = tensors.calibrate_masks(*given, mode="multiclass", logits=True)
    slopes = 1.0 / np.array(found.temperatures)
    assert slopes[3] == pytest.approx(0.05, rel=1e-12)

    def cost(inner):
        z = log_softmax(x, 1) * np.array([1.0, *inner, 0.05])[None, :, None]
        logs = log_softmax(z, 1)
        return -np.take_along_axis(logs, label[:, None, :], 1).sum()

    best = minimize(cost, np.ones(2), tol=1e-12)
    np.testing.assert_allclose(slopes[1:3], best.x, rtol=1e-4)


def test_masks_without_any_label_change_nothing():
    nothing = torch.full((2, 3, 3), 255)
    with pytest.warns(UserWarning, match=r"classes \[0, 1\] are in no mask"):
        found = tensors.calibrate_masks(
            torch.full((2, 2, 3, 3), 0.5), nothing, mode="multiclass"
        )
    assert found == tensors.MaskCalibrator((1.0, 1.0), (0.0, 0.0), "multiclass")


def test_certain_pixels_count_nothing_for_temperatures():
    x, _, y = some_pixels(2)
    p, y = torch.from_numpy(expit(x)), torch.from_numpy(y)
    left = tensors.calibrate_masks(p[:, :, 5:], y[:, :, 5:])
    p[:, :, :5] = torch.tensor([0.0, 1.0])[None, :, None]
    found = tensors.calibrate_masks(p, y)
    np.testing.assert_allclose(found.temperatures, left.temperatures, rtol=1e-8)


def test_refusals():
    p = torch.rand(2, 2, 3, 3)
    y = p > 0.5
    one = tensors.MaskCalibrator((1.0, 2.0), (0.0, 1.0))
    refuses(ValueError, "masks has shape", tensors.calibrate_masks, p, y[:, :1])
    refuses(ValueError, "masks must hold 0 and 1", tensors.calibrate_masks, p, 3 * y)
    refuses(ValueError, "masks must hold 0 and 1", tensors.forecast_masks, p, 3 * y)
    with pytest.raises(ValueError, match="probabilities must have the shape"):
        tensors.calibrate_masks(p[0, 0], y[0, 0])
    with pytest.raises(ValueError, match="probabilities has NaN"):
        tensors.calibrate_masks(p * float("nan"), y)
    with pytest.raises(TypeError, match="requires grad"):
        tensors.calibrate_masks(p.clone().requires_grad_(), y)
    refuses(ValueError, "mode must be", tensors.calibrate_masks, p, y, mode="binary")
    with pytest.raises(ValueError, match="calibrator has 2 classes"):
        tensors.decide_masks(p[:, :1], reference=one)
    with pytest.raises(ValueError, match="the calibrator has mode='multilabel'"):
        tensors.decide_masks(p, mode="multiclass", reference=one)
    with pytest.raises(ValueError, match="temperatures must be positive"):
        tensors.MaskCalibrator((0.0,), (0.0,))
    with pytest.raises(ValueError, match="shared_sd must be from 0 to 30"):
        tensors.MaskCalibrator((1.0,), (31.0,))
    with pytest.raises(ValueError, match="give one of each for every class"):
        tensors.MaskCalibrator((1.0,), (0.0, 1.0))
