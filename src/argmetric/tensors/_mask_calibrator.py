"""A temperature and a shared effect for each class of masks, from labelled masks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from argmetric._ground.arguments import as_flags, check_choice
from argmetric.tensors._arrays import (
    Tensor,
    chances,
    like,
    namespace,
    read_tensor,
    require_torch,
)
from argmetric.tensors._shared_effect import LARGEST_SD, fit_shared_sd
from argmetric.tensors._temperature import absent, fit_slopes, log_scale, softmax

MODES = ("multiclass", "multilabel")


@dataclass(frozen=True)
class MaskCalibrator:
    """Makes the probabilities of masks honest, and knows how pixels depend.

    `calibrate_masks` fits it. `decide_masks` and `forecast_masks` take it as
    `reference`. It holds plain numbers: ``dataclasses.asdict`` gives JSON, and
    ``MaskCalibrator(**values)`` reads it.

    Attributes
    ----------
    temperatures : tuple of float
        Log-odds (or logarithms of a softmax) of each class are divided by these. Above
        1 the network was overconfident.
    shared_sd : tuple of float
        Standard deviation of the log-odds that all pixels of an image and class share.
        At 0 pixels are independent; at 30 an object is all there or not at all.
    mode : {"multilabel", "multiclass"}
        Whether probabilities come from one sigmoid each, or from a softmax.
    """

    temperatures: tuple[float, ...]
    shared_sd: tuple[float, ...]
    mode: str = "multilabel"

    def __post_init__(self) -> None:
        check_choice(self.mode, "mode", MODES)
        for name in ("temperatures", "shared_sd"):
            values = tuple(float(x) for x in getattr(self, name))
            object.__setattr__(self, name, values)
        if not all(0.0 < x < math.inf for x in self.temperatures):
            raise ValueError(f"temperatures must be positive, not {self.temperatures}")
        if not all(0.0 <= x <= LARGEST_SD for x in self.shared_sd):
            raise ValueError(
                f"shared_sd must be from 0 to {LARGEST_SD:g}, not {self.shared_sd}"
            )
        if len(self.temperatures) != len(self.shared_sd):
            raise ValueError(
                f"{len(self.temperatures)} temperatures but {len(self.shared_sd)} "
                "values of shared_sd: give one of each for every class"
            )

    def apply(self, probabilities: Tensor, *, logits: bool = False) -> Tensor:
        """Calibrated probabilities in the same shape, classes in the second axis."""
        (logits,) = as_flags(logits=logits)
        x = read_tensor(probabilities, "probabilities", logits=logits, most_dims=9)
        xp = namespace(x)
        classes = x.shape[1] if x.ndim > 1 else 0
        if classes != len(self.temperatures):
            raise ValueError(
                f"calibrator has {len(self.temperatures)} classes but probabilities "
                f"has shape {tuple(x.shape)}"
            )
        each = (1, classes) + (1,) * (x.ndim - 2)
        beta = xp.reshape(1.0 / like(xp, self.temperatures, x, xp.float64), each)
        z = beta * log_scale(x, self.mode, logits)
        many = self.mode == "multilabel"
        return xp.astype(chances(xp, z, True)[0] if many else softmax(xp, z), x.dtype)

    def row_sd(self, images: int, like_: Tensor) -> Tensor | None:
        """`shared_sd` of every image and class in a row; None where all are 0."""
        if not any(self.shared_sd):
            return None
        xp = namespace(like_)
        return like(xp, np.tile(self.shared_sd, images), like_, xp.float64)


def calibrate_masks(
    probabilities: Tensor,
    masks: Tensor,
    *,
    mode: str = "multilabel",
    logits: bool = False,
) -> MaskCalibrator:
    """Fit a temperature and a shared effect for each class on labelled masks.

    Both maximise the likelihood: first the temperatures, as if pixels were independent,
    then the shared effect of an image and class. Some tens of images are enough; they
    must be other images than the network was trained on.

    Parameters
    ----------
    probabilities : tensor
        Of the shape (images, classes, height, width), or with other axes of space.
    masks : tensor
        The true masks, 0 and 1, in the same shape. With ``mode="multiclass"`` also the
        class of every pixel, of the shape (images, height, width); pixels of other
        numbers, such as 255, are left out.
    mode : {"multilabel", "multiclass"}, default="multilabel"
        Whether probabilities come from one sigmoid each, or from a softmax.
    logits : bool, default=False
        Whether these are logits.

    Returns
    -------
    MaskCalibrator
    """
    torch = require_torch("calibrate_masks")
    check_choice(mode, "mode", MODES)
    (logits,) = as_flags(logits=logits)
    if not isinstance(probabilities, torch.Tensor) or probabilities.ndim < 3:
        raise ValueError(
            "probabilities must be a tensor of the shape (images, classes, height, "
            f"width), not {tuple(np.shape(probabilities))}"
        )
    x = read_tensor(
        probabilities, "probabilities", logits=logits, most_dims=probabilities.ndim
    )
    images, classes = x.shape[:2]
    y, known = true_masks(x, masks, mode)
    x = x.reshape(images, classes, -1)
    beta = fit_slopes(x, y, known, mode, logits)
    found = MaskCalibrator(tuple(1.0 / beta), (0.0,) * classes, mode)
    bare = np.flatnonzero(absent(y, known)).tolist()
    if bare:
        warnings.warn(
            f"classes {bare} are in no mask, or fill all of them: they keep "
            "temperature 1 and independent pixels",
            UserWarning,
            stacklevel=2,
        )
    p = found.apply(x, logits=logits).float()
    sd = fit_shared_sd(p, y, known)
    sd[bare] = 0.0
    return MaskCalibrator(found.temperatures, tuple(sd), mode)


def true_masks(x: Tensor, masks: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    """True pixels (images, classes, pixels), and which pixels have a label."""
    torch = require_torch("calibrate_masks")
    images, classes = x.shape[:2]
    shape = tuple(masks.shape)
    if masks.device != x.device:
        raise ValueError(
            f"masks are on {masks.device} but probabilities is on {x.device}"
        )
    if mode == "multiclass" and shape == (images, *x.shape[2:]):
        labels = masks.long().reshape(images, 1, -1)
        places = torch.arange(classes, device=x.device)[None, :, None]
        y = labels == places
        return y, y.any(1)
    if shape != tuple(x.shape):
        raise ValueError(
            f"masks has shape {shape} but probabilities has shape {tuple(x.shape)}"
        )
    if not bool(((masks == 0) | (masks == 1)).all()):
        raise ValueError("masks must hold 0 and 1")
    y = masks.bool().reshape(images, classes, -1)
    if mode == "multiclass":
        return y, y.any(1)
    return y, torch.ones_like(y[:, 0])


def read_masks(
    x: Tensor,
    mode: str,
    logits: bool,
    calibrator: MaskCalibrator | None,
    later: list[Callable[[], Tensor | None]] | None = None,
) -> Tensor:
    """Probabilities of the shape (images, classes, pixels), calibrated.

    A check of their values that need not be waited for is put into `later`.
    """
    torch = require_torch("decide_masks")
    check_choice(mode, "mode", MODES)
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"probabilities must be a tensor, not {type(x).__name__}")
    if x.ndim < 3:
        raise ValueError(
            "probabilities must have the shape (images, classes, height, width), not "
            f"{tuple(x.shape)}"
        )
    later = later if calibrator is None else None
    x = read_tensor(x, "probabilities", logits=logits, most_dims=x.ndim, later=later)
    if calibrator is not None:
        if calibrator.mode != mode:
            raise ValueError(
                f"mode={mode!r}, but the calibrator has mode={calibrator.mode!r}"
            )
        x = calibrator.apply(x, logits=logits)
    elif logits:
        x = torch.softmax(x, 1) if mode == "multiclass" else torch.sigmoid(x)
    return x.reshape(x.shape[0], x.shape[1], -1).float()
