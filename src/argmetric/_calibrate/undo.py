"""Sampling and class weights undone: a constant on the log-odds of a model's scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from argmetric._calibrate.logistic import fit_logistic
from argmetric._calibrate.prior import constant_for_share
from argmetric._calibrate.reference import Reference
from argmetric._ground.arguments import check_flag, check_number
from argmetric._ground.likely_slips import warn_user
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import Floats
from argmetric._ground.validation import read_scores


def undo_sampling(
    p: Any, *, rate: float, inverse: bool = False, logits: bool = False
) -> Floats:
    """Probabilities for all rows, from a model that was trained on a sample.

    Where a share `rate` of the negatives was kept, and all positives were, true odds
    are the model's odds times `rate`: p' = p·rate/(p·rate + 1 - p). This is exact for
    P(y | x); what is left is the model's own error, for which there is `calibrate`.

    Parameters
    ----------
    p : array-like
        Probabilities of the model, of any shape.
    rate : float
        Share of the negatives that was kept. Where positives were repeated f times it
        is 1/f; where a share s of the positives was kept, call
        `undo_weights(p, ratio=s)`.
    inverse : bool, default=False
        Whether to go the other way: what the model gives for true probabilities.
    logits : bool, default=False
        Whether `p` holds log-odds; log-odds are returned then.

    Returns
    -------
    ndarray
        In the shape of `p`.

    Examples
    --------
    >>> import argmetric as am
    >>> am.undo_sampling([0.1, 0.5, 0.9], rate=0.1).round(4)
    array([0.011 , 0.0909, 0.4737])
    """
    rate = check_number(rate, "rate", low=0.0, strict=True)
    if rate > 1.0:
        raise ValueError(
            f"rate must be 1 or less, not {rate:g}: it is the share of the negatives "
            "that was kept. Where a share of the positives was kept, pass it as ratio= "
            "to undo_weights"
        )
    return _times(p, rate, inverse, logits)


def undo_weights(
    p: Any, *, ratio: float, inverse: bool = False, logits: bool = False
) -> Floats:
    """Probabilities without class weights, from a model that was trained with them.

    Where positives had `ratio` times the weight of negatives (`scale_pos_weight` of
    XGBoost, `class_weight` of scikit-learn), true odds are the model's odds divided by
    `ratio`: p' = p/(p + (1 - p)·ratio). Trees feel weights only in part, as nearly pure
    leaves change little: for them this corrects too much, and `calibrate` on labelled
    rows corrects the rest.

    Parameters
    ----------
    p : array-like
        Probabilities of the model, of any shape.
    ratio : float
        Weight of a positive row over that of a negative one. For balanced weights it
        is the number of negatives over that of positives.
    inverse : bool, default=False
        Whether to go the other way: what the model gives for true probabilities.
    logits : bool, default=False
        Whether `p` holds log-odds; log-odds are returned then.

    Returns
    -------
    ndarray
        In the shape of `p`.

    Examples
    --------
    >>> import argmetric as am
    >>> am.undo_weights([0.1, 0.5, 0.9], ratio=24).round(4)
    array([0.0046, 0.04  , 0.2727])
    """
    ratio = check_number(ratio, "ratio", low=0.0, strict=True)
    return _times(p, ratio, not check_flag(inverse, "inverse"), logits)


def _times(p: Any, factor: float, inverse: bool, logits: bool) -> Floats:
    """Odds times a factor, or divided by it."""
    inverse, logits = check_flag(inverse, "inverse"), check_flag(logits, "logits")
    values = read_scores(p, "p", logits=logits)
    if logits:
        return values + (-1.0 if inverse else 1.0) * math.log(factor)
    # The smaller one of factor and 1/factor: products of ones above 1 may overflow.
    positive, negative = values, 1.0 - values
    if inverse == (factor <= 1.0):
        side, factor = "negative", factor if inverse else 1.0 / factor
    else:
        side, factor = "positive", 1.0 / factor if inverse else factor
    if side == "negative":
        negative = negative * factor
    else:
        positive = positive * factor
    with np.errstate(invalid="ignore"):
        # 1e-300 times 1e-300 vanishes beside a 1 - p of 0
        moved = positive / (positive + negative)
    return np.where(np.isnan(moved), values, moved)


# Of 64 plain models (8 kinds on 8 real sets) none met these conditions; of 48 with
# balanced weights or a fifth of the negatives 40 did; most others were near balance.
LEAST_FACTOR = 2.5  # by which odds are too high
LEAST_SURPRISE = 5.0  # standard deviations that Σp lies above the positives
SLOPES = (0.6, 2.5)  # of the log-odds: beyond them it is no constant that is wrong


def warn_of_resampling(reference: Reference) -> str | None:
    """Warn where scores of labelled rows are as after sampling or weights.

    They are too high by a constant on all log-odds, of log 2.5 or more; a model of
    another fault, such as naive Bayes, has another slope. Return what was said.
    """
    said = _resampled(reference)
    if said is not None:
        warn_user(said)
    return said


def _resampled(reference: Reference) -> str | None:
    if reference.weight is not None or reference.logits:
        return None
    p, positives = reference.p, float(reference.y.sum())
    spread = float((p * (1.0 - p)).sum())
    if float(p.sum()) - positives < LEAST_SURPRISE * math.sqrt(spread):
        return None
    inside, out = from_log_odds(reference.x)
    constant = constant_for_share(inside, out, positives / p.size, p.size)
    if constant > -math.log(LEAST_FACTOR):
        return None
    fit = fit_logistic([reference.x], reference.y.astype(np.float64), None)
    if not SLOPES[0] <= float(fit.coefficients[0]) <= SLOPES[1]:
        return None
    return (
        f"the mean of p is {p.mean():.3g} on labelled rows of which "
        f"{positives / p.size:.3g} are positive, as after training with resampled or "
        "weighted classes: undo_sampling(p, rate=...) or undo_weights(p, ratio=...) "
        "undoes that where you know the rate or ratio. A reference corrects p anyway"
    )
