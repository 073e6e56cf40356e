"""rankseg: masks of images for Dice, from the probabilities of pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
from search_parts.data import timed

from peers_parts.rows import Row

THEIRS = 'rankseg_rma(P, metric="dice", output_mode="multilabel")'
OURS = "tensors.decide_masks(P)"
SIZE = 20, 128, 160  # classes, height, width
KINDS = {
    "blobs": "large objects",
    "thin": "thin structures",
    "half": "half of the classes absent",
}


def run(fast: bool) -> list[Row]:
    import torch
    from rankseg import rankseg_rma
    from tensors_parts.sweep import image

    from argmetric import tensors

    torch.set_num_threads(1)
    present = Row("expected Dice, every class present", "%", "higher", THEIRS, OURS)
    absent = Row(
        "expected Dice, an absent class without a mask counts 1",
        "%", "higher", THEIRS, OURS,
    )  # fmt: skip
    actual = Row("actual Dice of drawn truths", "%", "higher", THEIRS, OURS)
    spent = Row(
        "masks of 20 to 22 classes, 128 × 160 pixels",
        "CPU s",
        "lower",
        THEIRS,
        OURS,
        ratio=True,
    )
    classes, h, w = (20, 16, 24) if fast else SIZE
    for kind, told in KINDS.items():
        for seed in range(1 if fast else 3):
            # the seed of an image is its number of classes
            p = image(torch, "cpu", kind, classes + seed, h, w)

            def theirs(p: Any = p) -> Any:
                return rankseg_rma(p, metric="dice", output_mode="multilabel")

            def ours(p: Any = p) -> Any:
                return tensors.decide_masks(p).masks

            theirs(), ours()
            (one, their_seconds), (two, our_seconds) = timed(theirs), timed(ours)
            both = one.reshape(p.shape).bool(), two.reshape(p.shape).bool()
            case = f"{told}, {classes + seed} classes"
            values = [
                100.0 * float(tensors.forecast_masks(p, x, "dice").mean()) for x in both
            ]
            (absent if kind == "half" else present).add(case, *values)
            actual.add(case, *(_actual(p.numpy(), x.numpy(), seed) for x in both))
            spent.add(case, their_seconds, our_seconds)
    return [present, absent, actual, spent]


def _actual(p: np.ndarray, masks: np.ndarray, seed: int) -> float:
    """Mean Dice over classes and ten truths of independent pixels; 0/0 = 1."""
    rng = np.random.default_rng(seed)
    p, masks = (x[0].reshape(p.shape[1], -1) for x in (p, masks))
    found = []
    for _ in range(10):
        truth = rng.random(p.shape) < p
        both = truth.sum(axis=1) + masks.sum(axis=1)
        hits = (truth & masks).sum(axis=1)
        found.append(np.where(both == 0, 1.0, 2 * hits / np.maximum(both, 1)).mean())
    return 100.0 * float(np.mean(found))
