"""A temperature and a shared effect for each class of masks, from labelled masks."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from argmetric._ground.arguments import as_flags, check_choice
from argmetric._ground.types import Booleans, Floats
from argmetric.tensors._arrays import Checks, Tensor, read_labels, read_tensor, torch
from argmetric.tensors._shared_effect import CELLS, LARGEST_SD, fit_shared_sd

SLOPES = (0.05, 20.0)  # of 1/temperature
CERTAIN = -1e4  # in the place of ±∞: e^(z·slope) is 0
MODES = ("multiclass", "multilabel")


@dataclass(frozen=True)
class MaskCalibrator:
    """Makes the probabilities of masks honest, and knows how pixels depend.

    `calibrate_masks` fits it. `decide_masks` and `forecast_masks` take it as
    `reference`. It holds plain numbers: ``dataclasses.asdict`` gives JSON, and
    ``MaskCalibrator(**values)`` reads it.

    Parameters
    ----------
    temperatures : tuple of float
        Log-odds (or logarithms of a softmax) of each class are divided by these. Above
        1 the network was overconfident.
    shared_sd : tuple of float
        Standard deviation of the log-odds that all pixels of an image and class share.
        At 0 pixels are independent; at 30 an object is all there or not at all.
    mode : {"multilabel", "multiclass"}, default="multilabel"
        Whether probabilities come from one sigmoid each, or from a softmax.

    Examples
    --------
    >>> import torch
    >>> from argmetric.tensors import MaskCalibrator
    >>> calibrator = MaskCalibrator(temperatures=(2.0,), shared_sd=(0.5,))
    >>> round(float(calibrator.apply(torch.full((1, 1, 1, 1), 0.9))), 3)
    0.75
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
        """Return calibrated probabilities of the same shape; axis 1 has classes.

        Parameters
        ----------
        probabilities : tensor of shape (images, classes, height, width)
            Probabilities of the network.
        logits : bool, default=False
            Whether these are logits.

        Returns
        -------
        tensor
            Probabilities in the shape and dtype of the argument.
        """
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
        """Return `shared_sd` of every image and class in a row; None if all are 0.

        Parameters
        ----------
        images : int
            Number of images.
        like_ : tensor
            Its device is taken.

        Returns
        -------
        tensor of shape (images · classes,), or None
            Standard deviations in float64.
        """
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
        Temperatures and shared effects, one of each for every class.

    Examples
    --------
    >>> import torch
    >>> from argmetric.tensors import calibrate_masks
    >>> p = torch.tensor([0.9, 0.9, 0.1, 0.1]).reshape(1, 1, 2, 2).repeat(8, 1, 1, 1)
    >>> masks = (torch.arange(32).reshape(8, 1, 2, 2) % 5) < 2
    >>> calibrate_masks(p, masks).mode
    'multilabel'
    """
    (logits,) = as_flags(logits=logits)
    x = read_pixels(probabilities, mode, logits)
    y, known = true_masks(x, masks, mode)
    x = x.flatten(2)
    positives = y.sum((0, 2))
    free = ((positives > 0) & (positives < known.sum())).cpu().numpy()
    if not free.all():
        warnings.warn(
            f"classes {np.flatnonzero(~free).tolist()} are in no mask, or fill all of "
            "them: they keep temperature 1 and independent pixels",
            UserWarning,
            stacklevel=2,
        )
    beta = fit_slopes(x, y, free, mode, logits)
    found = MaskCalibrator(tuple(1.0 / beta), (0.0,) * free.size, mode)
    p = found.apply(x, logits=logits).float()
    sd = np.where(free, fit_shared_sd(p, y, known), 0.0)
    return MaskCalibrator(found.temperatures, tuple(sd), mode)


def true_masks(x: Tensor, masks: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    """Return true pixels (images, classes, pixels), and which have a label."""
    images, classes = x.shape[:2]
    if mode == "multiclass" and tuple(masks.shape) == (images, *x.shape[2:]):
        places = torch.arange(classes, device=x.device)[:, None]
        y = masks.to(x.device, torch.int64).reshape(images, 1, -1) == places
    else:
        y = read_labels(masks, "masks", x, "probabilities").flatten(2).contiguous()
    return y, y.any(1) if mode == "multiclass" else torch.ones_like(y[:, 0])


def read_pixels(
    x: Tensor, mode: str, logits: bool, later: Checks | None = None
) -> Tensor:
    """Return raw scores of images; checks that can wait are added to `later`."""
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
    """Return log-odds, or log-softmax over axis 1, in float64."""
    x = x.double()
    if mode == "multilabel":
        return x if logits else torch.logit(x)
    return torch.log_softmax(x, 1) if logits else x.log()


def fit_slopes(x: Tensor, y: Tensor, free: Booleans, mode: str, logits: bool) -> Floats:
    """Return 1/temperature of every free class by maximum likelihood, else 1.

    A pixel whose label is certain at any temperature (p of 0 or 1) counts nothing.
    """
    from scipy.optimize import minimize

    step = max(CELLS // x[0].numel(), 1)

    def cost(beta: Floats) -> tuple[float, Floats]:
        """Return -log likelihood over its start, and its slope Σ z·(π-y), π of βz."""
        each = torch.tensor(beta, device=x.device)[:, None]
        loss = slope = torch.zeros_like(each[:, 0])
        for x_, y_ in zip(x.split(step), y.split(step), strict=True):
            z = log_scale(x_, mode, logits)
            true = (y_ & torch.isfinite(z)).double()
            z = torch.where(torch.isfinite(z), z, CERTAIN)
            if mode == "multilabel":
                p = torch.sigmoid(each * z)
                logs = true * each * z - torch.nn.functional.softplus(each * z)
            else:
                logs = torch.log_softmax(each * z, 1)
                p, logs = logs.exp() * true.sum(1, keepdim=True), true * logs
            loss = loss - logs.sum((0, 2))
            slope = slope + (z * (p - true)).sum((0, 2))
        return float(loss.sum()) / scale, slope.cpu().numpy() / scale

    scale, start = 1.0, np.ones(free.size)
    scale = cost(start)[0] or 1.0
    bounds = [SLOPES if one else (1.0, 1.0) for one in free]
    options = {"ftol": 0.0, "gtol": 1e-8}  # at 1e-9 sums that err by 1e-16 mislead it
    found = minimize(cost, start, jac=True, bounds=bounds, options=options)
    return np.asarray(found.x)
