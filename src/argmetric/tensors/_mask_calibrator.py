"""A temperature and a shared effect for each class of masks, from labelled masks."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from argmetric._ground.arguments import as_flags, check_choice
from argmetric._ground.types import Booleans, Floats
from argmetric.tensors._arrays import (
    Checks,
    Tensor,
    read_labels,
    read_tensor,
    to_host,
    torch,
)
from argmetric.tensors._shared_effect import LARGEST_SD, fit_shared_sd

CELLS = 1 << 22  # pixels at a time
SLOPES = (0.05, 20.0)  # of 1/temperature
LOWEST_LOG = -100.0  # in the place of log 0
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
            object.__setattr__(self, name, tuple(map(float, getattr(self, name))))
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
        x = read_pixels(probabilities, self.mode, logits)
        classes = len(self.temperatures)
        if x.shape[1] != classes:
            raise ValueError(
                f"calibrator has {classes} classes but probabilities has shape "
                f"{tuple(x.shape)}"
            )
        z = log_scale(x, self.mode, logits).movedim(1, -1)
        z = (z / z.new_tensor(self.temperatures)).movedim(-1, 1)
        many = self.mode == "multilabel"
        return (torch.sigmoid(z) if many else torch.softmax(z, 1)).to(x.dtype)

    def row_sd(self, images: int, like_: Tensor) -> Tensor | None:
        """`shared_sd` of every image and class in a row; None where all are 0."""
        if not any(self.shared_sd):
            return None
        sd = torch.tensor(self.shared_sd, dtype=torch.float64, device=like_.device)
        return sd.repeat(images)


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
    probabilities, mode, logits
        As for `decide_masks`.
    masks : tensor
        The true masks, 0 and 1, in the same shape. With ``mode="multiclass"`` also the
        class of every pixel, of the shape (images, height, width); pixels of other
        numbers, such as 255, are left out.

    Returns
    -------
    MaskCalibrator
    """
    (logits,) = as_flags(logits=logits)
    x = read_pixels(probabilities, mode, logits)
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
    images, classes = x.shape[:2]
    if mode == "multiclass" and tuple(masks.shape) == (images, *x.shape[2:]):
        places = torch.arange(classes, device=x.device)[:, None]
        y = masks.to(x.device, torch.int64).reshape(images, 1, -1) == places
    else:
        y = read_labels(masks, "masks", x, "probabilities")
        y = y.reshape(images, classes, -1)
    return y, y.any(1) if mode == "multiclass" else torch.ones_like(y[:, 0])


def read_pixels(
    x: Tensor, mode: str, logits: bool, later: Checks | None = None
) -> Tensor:
    """Scores of images, as they are; checks that can wait are put into `later`."""
    check_choice(mode, "mode", MODES)
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"probabilities must be a tensor, not {type(x).__name__}")
    if x.ndim < 3:
        raise ValueError(
            "probabilities must have the shape (images, classes, height, width), not "
            f"{tuple(x.shape)}"
        )
    return read_tensor(x, "probabilities", logits=logits, most_dims=x.ndim, later=later)


def log_scale(x: Tensor, mode: str, logits: bool) -> Tensor:
    """Log-odds, or logarithms of a softmax over the second axis, in float64."""
    x = x.double()
    if mode == "multilabel":
        return x if logits else torch.logit(x)
    return torch.log_softmax(x, 1) if logits else x.log()


def fit_slopes(x: Tensor, y: Tensor, known: Tensor, mode: str, logits: bool) -> Floats:
    """1/temperature of every class by Newton's method, on a convex likelihood.

    A pixel whose label is certain at any temperature (p of 0 or 1) counts nothing. So
    does a class that is absent from all masks, or everywhere: its slope stays 1.
    """
    classes, n = x.shape[1:]
    step = max(CELLS // (classes * n), 1)

    def sums(beta: Floats) -> tuple[float, Floats, Floats]:
        each = torch.from_numpy(beta).to(x.device)[:, None]
        terms = [
            slope_terms(log_scale(x_, mode, logits), y_, known_, each, mode)
            for x_, y_, known_ in zip(
                *(a.split(step) for a in (x, y, known)), strict=True
            )
        ]
        loss, slope, bend = (to_host(sum(one)) for one in zip(*terms, strict=True))
        return float(loss), slope, bend

    beta = np.ones(classes)
    free = ~absent(y, known)
    loss, slope, bend = sums(beta)
    for _ in range(50):
        inner = bend[np.ix_(free, free)] + 1e-12 * np.eye(int(free.sum()))
        move = np.zeros(classes)
        move[free] = np.linalg.solve(inner, slope[free])
        for _ in range(30):
            new = np.clip(beta + move, *SLOPES)
            found = sums(new)
            if found[0] <= loss:
                break
            move = move / 2.0
        moved = np.abs(new - beta).max()
        beta, (loss, slope, bend) = new, found
        if moved < 1e-9:
            break
    return beta


def absent(y: Tensor, known: Tensor) -> Booleans:
    """Classes without a positive pixel in all masks, or without a negative one."""
    positives = (y & known[:, None, :]).sum((0, 2))
    return np.asarray(to_host((positives == 0) | (positives == known.sum())))


def slope_terms(
    z: Tensor, y: Tensor, known: Tensor, beta: Tensor, mode: str
) -> tuple[Tensor, Tensor, Tensor]:
    """-log likelihood of some images, its slope downwards, and its second derivative.

    With π of βz: Σ z·(y-π), and Σ z²·π(1-π) or Σ z·z'·(π·[same class] - π·π').
    """
    certain, weight = ~torch.isfinite(z), known.double()[:, None, :]
    if mode == "multilabel":
        weight = torch.where(certain, 0.0, weight)
        z = torch.where(certain, 0.0, z)
        x = beta * z
        p = torch.sigmoid(x)
        logs = torch.nn.functional.logsigmoid(torch.where(y, x, -x))
        bend = torch.diag((weight * z * z * p * torch.sigmoid(-x)).sum((0, 2)))
    else:
        weight = weight * ~(y & certain).any(1, keepdim=True)
        z = torch.where(certain, LOWEST_LOG, z)
        logs = torch.log_softmax(beta * z, 1)
        p = logs.exp()
        logs = torch.where(y, logs, 0.0)
        moved = weight * z * p
        bend = torch.diag((moved * z).sum((0, 2)))
        bend = bend - (moved @ (z * p).transpose(1, 2)).sum(0)
    slope = (weight * z * (y.double() - p)).sum((0, 2))
    return -(weight * logs).sum(), slope, bend
