"""Masks: the best Dice or IoU of every image and class."""

from __future__ import annotations

import math
from dataclasses import dataclass

from argmetric._ground.arguments import as_flags, check_choice
from argmetric._ground.display import metric_title
from argmetric.metrics import FBeta, Jaccard, Metric
from argmetric.tensors._arrays import (
    Checks,
    Tensor,
    read_labels,
    run_with_checks,
    torch,
)
from argmetric.tensors._best_rows import decide_rows
from argmetric.tensors._decide import mean_defined
from argmetric.tensors._mask_calibrator import MaskCalibrator, read_pixels
from argmetric.tensors._pixels import expected_of
from argmetric.tensors._shared_effect import decide_shared


@dataclass(frozen=True, repr=False, eq=False)
class MaskDecision:
    """Masks with the highest expected Dice or IoU, on the device of the probabilities.

    Attributes
    ----------
    masks : tensor of bool
        One mask for each image and class, in the shape of the probabilities.
    labels : tensor of int, or None
        With ``mode="multiclass"``, the class of every pixel, and -1 where no class
        claims it.
    expected : tensor
        Expected score of the masks, for each image and class.
    bound : tensor
        Expected score of the best masks that may overlap. No masks can do better, so
        the difference to `expected` bounds what the single label per pixel costs.
    n_pixels : tensor of int
        Pixels of each mask; 0 where an empty mask is best.
    metric : Metric
        Dice (F1) or IoU (Jaccard).

    Examples
    --------
    >>> import torch
    >>> from argmetric.tensors import decide_masks
    >>> decide_masks(torch.full((1, 1, 2, 2), 0.75)).n_pixels.tolist()
    [[4]]
    """

    masks: Tensor
    labels: Tensor | None
    expected: Tensor
    bound: Tensor
    n_pixels: Tensor
    metric: Metric

    @property
    def mean_expected(self) -> Tensor:
        """Mean of `expected` over images and classes."""
        return mean_defined(self.expected)

    def __repr__(self) -> str:
        images, classes = self.expected.shape
        empty = int((self.n_pixels == 0).sum())
        name = {"f1": "Dice", "jaccard": "IoU"}[self.metric.name]
        return (
            f"MaskDecision(expected {metric_title(name)} "
            f"{float(self.mean_expected):.3f}: {images} images, {classes} classes, "
            f"{empty} empty masks, on {self.masks.device})"
        )


def mask_metric(metric: str, zero_division: float) -> Metric:
    """Return Dice or IoU with its value for empty masks."""
    check_choice(metric, "metric", ("dice", "iou"))
    kind: type[Metric] = FBeta if metric == "dice" else Jaccard
    if math.isnan(zero_division):
        raise ValueError("zero_division must be 0 or 1 for masks")
    return kind(zero_division=zero_division)


def decide_masks(
    probabilities: Tensor,
    metric: str = "dice",
    *,
    mode: str = "multilabel",
    zero_division: float = 1.0,
    logits: bool = False,
    reference: MaskCalibrator | None = None,
) -> MaskDecision:
    """Choose the mask of every image and class with the highest expected score.

    Pixels are assumed to be independent with the given probabilities, unless a
    reference knows better. Each class of each image gets its own best mask, an empty
    one where that scores more. Calls may be captured in a CUDA graph; a class that
    would need a sort has `expected` nan there.

    Parameters
    ----------
    probabilities : tensor
        Shape (images, classes, height, width), or with other axes of space.
        They are read in float32, and sums are taken in float64.
    metric : {"dice", "iou"}, default="dice"
        Dice is F1 over the pixels of a class, IoU is Jaccard.
    mode : {"multilabel", "multiclass"}, default="multilabel"
        Whether masks may overlap. With "multiclass" a pixel that several classes claim
        goes to the one whose probability is the largest multiple of its cut-off.
    zero_division : {0.0, 1.0}, default=1.0
        Score of an empty mask where the class is absent.
    logits : bool, default=False
        Whether these are logits: of a softmax over classes with "multiclass", else of
        one sigmoid each.
    reference : MaskCalibrator, optional
        What `calibrate_masks` fitted for this network. The masks are then best for
        calibrated probabilities, and for pixels that depend on each other.

    Returns
    -------
    MaskDecision
        The masks, and what they are expected to score.

    Examples
    --------
    >>> import torch
    >>> from argmetric.tensors import decide_masks
    >>> p = torch.tensor([0.9, 0.6, 0.4, 0.1]).reshape(1, 1, 2, 2)
    >>> decide_masks(p, "iou").masks.int().tolist()
    [[[[1, 1], [0, 0]]]]
    """
    found = mask_metric(metric, zero_division)
    later: Checks = []
    scores = read_masks(probabilities, mode, logits, reference, later)
    shape = tuple(scores.shape)
    images, classes = shape[:2]
    sd = None if reference is None else reference.row_sd(images, scores)

    def run(scores: Tensor) -> MaskDecision:
        """Decide all masks; with exclusive classes each pixel gets one."""
        p = scores.reshape(images * classes, -1).float()
        made = decide_rows(p, found) if sd is None else decide_shared(p, sd, found)
        best, value, cut, labels = made
        value, best, cut = (x.reshape(images, classes) for x in (value, best, cut))
        if mode == "multilabel":
            masks = labels.reshape(shape)
            return MaskDecision(masks, None, value, value, best, found)
        pixels = (images, classes, -1)
        level = cut.float().nan_to_num(1.0)
        owner, masks = assign(p.reshape(pixels), labels.reshape(pixels), level)
        expected = expected_of(p, masks.reshape(p.shape), found, sd)
        return MaskDecision(
            masks.reshape(shape),
            owner.reshape(images, *shape[2:]),
            expected.reshape(images, classes),
            value,
            masks.sum(2),
            found,
        )

    return run_with_checks(run, scores, later)


def forecast_masks(
    probabilities: Tensor,
    masks: Tensor,
    metric: str = "dice",
    *,
    zero_division: float = 1.0,
    logits: bool = False,
    reference: MaskCalibrator | None = None,
) -> Tensor:
    """Return the expected Dice or IoU of masks, for each image and class.

    Parameters
    ----------
    probabilities, masks : tensor
        Shape (images, classes, height, width).
    metric, zero_division, reference
        As for `decide_masks`.
    logits : bool, default=False
        Whether `probabilities` holds logits, of one sigmoid each, or of a softmax where
        the reference has ``mode="multiclass"``.

    Returns
    -------
    tensor of shape (images, classes)
        Expected scores.

    Examples
    --------
    >>> import torch
    >>> from argmetric.tensors import forecast_masks
    >>> forecast_masks(torch.full((1, 1, 2, 2), 0.75), torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1])
    """
    found = mask_metric(metric, zero_division)
    mode = "multilabel" if reference is None else reference.mode
    p = read_masks(probabilities, mode, logits, reference)
    chosen = read_labels(masks, "masks", p, "probabilities")
    images, classes = p.shape[:2]
    rows = p.reshape(images * classes, -1).float()
    sd = None if reference is None else reference.row_sd(images, p)
    value = expected_of(rows, chosen.reshape(rows.shape), found, sd)
    return value.reshape(images, classes)


def read_masks(
    x: Tensor,
    mode: str,
    logits: bool,
    reference: MaskCalibrator | None,
    later: Checks | None = None,
) -> Tensor:
    """Return calibrated probabilities; checks that can wait are added to `later`."""
    (logits,) = as_flags(logits=logits)
    if reference is None:
        x = read_pixels(x, mode, logits, later)
        if not logits:
            return x
        return torch.softmax(x, 1) if mode == "multiclass" else torch.sigmoid(x)
    if reference.mode != mode:
        raise ValueError(
            f"mode={mode!r}, but the calibrator has mode={reference.mode!r}"
        )
    return reference.apply(x, logits=logits)


def assign(p: Tensor, labels: Tensor, level: Tensor) -> tuple[Tensor, Tensor]:
    """Return the class of every pixel, -1 without one, and disjoint masks."""
    top, owner = torch.where(labels, p / level[:, :, None], -1.0).max(1)
    owner = torch.where(top < 0, -1, owner)
    places = torch.arange(p.shape[1], device=p.device)[None, :, None]
    return owner, owner[:, None, :] == places
