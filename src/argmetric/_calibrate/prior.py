"""Prior shift: each class looks as before, and the prevalence changed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from argmetric._calibrate.calibrator import Calibrator, check_columns
from argmetric._calibrate.logistic import fit_logistic
from argmetric._calibrate.reference import Reference
from argmetric._ground.arguments import check_flag, check_number, check_share
from argmetric._ground.discrete import dot
from argmetric._ground.display import Lines
from argmetric._ground.odds import from_log_odds, log_odds, logit
from argmetric._ground.types import ArrayLike, Floats
from argmetric._ground.validation import read_scores, warn_of_scale, warn_user

STEPS = 200


@dataclass(frozen=True, repr=False, eq=False)
class PriorShift(Calibrator):
    """All odds times [π'/(1-π')] / [π/(1-π)], Bayes' rule for a new prevalence π'.

    Attributes
    ----------
    prevalence : float
        The prevalence π' that holds now.
    reference_prevalence : float
        The prevalence π where the probabilities were calibrated.
    n_iterations : int
        Steps of the estimate of the prevalence; 0 where it was known.
    n : int
        Unlabelled rows of the estimate; 0 where it was known.
    """

    reference_prevalence: float
    n_iterations: int = 0

    kind: ClassVar[str] = "prior_shift"

    def _check(self) -> None:
        for name in ("prevalence", "reference_prevalence"):
            check_share(getattr(self, name), name)

    @property
    def shift(self) -> float:
        """Return the constant that is added to log-odds: logit(new) - logit(old)."""
        assert self.prevalence is not None
        new, old = logit(np.array([self.prevalence, self.reference_prevalence]))
        return float(new - old)

    def _map(self, x: Floats) -> Floats:
        return x + self.shift

    @property
    def summary(self) -> str:
        rows = f", estimated on {self.n:,} unlabelled rows" if self.n else ""
        return (
            f"a prior shift from {self.reference_prevalence:.4g} to "
            f"{self.prevalence:.4g}{rows}"
        )

    @property
    def formula(self) -> str:
        return f"logit p' = logit p {self.shift:+.4g}"

    def _source(self) -> Lines:
        how = "known"
        if self.n:
            how = (
                f"estimated on {self.n:,} unlabelled rows in {self.n_iterations} steps"
            )
        shares = f"{self.reference_prevalence:.4g} → {self.prevalence:.4g}, {how}"
        return [("prevalence", shares)]


def adjust_prior(
    p: ArrayLike,
    *,
    prevalence: float | None = None,
    reference_prevalence: float,
    logits: bool = False,
) -> PriorShift:
    """Correct calibrated probabilities for a prevalence that has changed.

    It is assumed that only the prevalence changed, not what positives and negatives
    look like. Where the new prevalence is not known, it is the one that makes the
    scores at hand most likely: the fixed point of the EM iteration of Saerens et
    al. (2002), found by Newton's method, as that likelihood is concave.

    `prior=` of `decide` and `forecast` does something else: it shifts the scores until
    the mean of the given rows equals the prevalence. `prior="estimate"` also includes
    the uncertainty of the prevalence that it estimates.

    Experimental: may change in any release.

    Parameters
    ----------
    p : array-like
        Probabilities of the rows at hand, calibrated for the old prevalence.
    prevalence : float, optional
        The prevalence that holds now; by default it is estimated from `p`.
    reference_prevalence : float
        The prevalence where `p` was calibrated (`Calibrator.prevalence`).
    logits : bool, default=False
        Whether `p` holds log-odds.

    Returns
    -------
    PriorShift
        `apply` corrects probabilities; `prevalence` is the new one.

    See Also
    --------
    argmetric.classes.adjust_prior : Shares of several classes.

    Examples
    --------
    >>> import argmetric as am
    >>> shift = am.adjust_prior([0.1, 0.5], prevalence=0.2, reference_prevalence=0.5)
    >>> shift.apply([0.1, 0.5]).round(3)
    array([0.027, 0.2  ])
    >>> p = [0.9, 0.8, 0.9, 0.1, 0.7, 0.95]
    >>> round(am.adjust_prior(p, reference_prevalence=0.5).prevalence, 3)
    0.899
    """
    logits = check_flag(logits, "logits")
    old = check_share(reference_prevalence, "reference_prevalence")
    scores = read_scores(p, "p", logits=logits).ravel()
    warn_of_scale(scores, logits=logits)
    if prevalence is not None:
        return PriorShift(old, prevalence=check_share(prevalence, "prevalence"))
    if scores.size == 0:
        raise ValueError("p is empty: no prevalence can be estimated from it")
    positive, negative = from_log_odds(scores) if logits else (scores, 1.0 - scores)
    # Each row's two likelihoods, the larger 1: no share is too small to divide by
    a, b = positive * (1.0 - old), negative * old
    larger = np.maximum(a, b)
    new, steps = likeliest_prevalence(a / larger, b / larger)
    return PriorShift(old, steps, prevalence=new, n=scores.size)


def likeliest_prevalence(a: Floats, b: Floats) -> tuple[float, int]:
    """Return the π that maximises Σ log(π·a + (1-π)·b), and the number of steps.

    EM repeats π ← mean of π·a / (π·a + (1-π)·b); where it stays, the slope
    Σ (a-b)/(π·a + (1-π)·b) of this concave function is 0.
    """
    with np.errstate(divide="ignore", over="ignore"):
        # A certain row, or nearly so, keeps π from the other end
        at_zero = float((a / b - 1.0).sum())
        at_one = float((1.0 - b / a).sum())
    if at_zero <= 0.0 or at_one >= 0.0:
        end = 0 if at_zero <= 0.0 else 1
        raise ValueError(
            f"the likeliest prevalence runs to {end}: all {a.size:,} scores together "
            f"look like {'negatives' if end == 0 else 'positives'} alone. Either p is "
            "not calibrated for reference_prevalence, or there are too few rows: pass "
            "the prevalence if it is known"
        )
    low, high, pi = 0.0, 1.0, 0.5
    step = 0
    while step < STEPS:
        step += 1
        terms = (a - b) / (pi * a + (1.0 - pi) * b)
        slope = float(terms.sum())
        low, high = (pi, high) if slope > 0 else (low, pi)
        tried = pi + slope / dot(terms, terms)
        if not low < tried < high:
            tried = (low + high) / 2
        if abs(tried - pi) <= 1e-13 * pi:
            break
        pi = tried
    return pi, step


@dataclass(frozen=True, repr=False, eq=False)
class MatchedPrevalence(Calibrator):
    """All log-odds plus one constant, so that the mean of some rows is a prevalence.

    Attributes
    ----------
    constant : float
        The constant that is added to the log-odds.
    prevalence : float
        The mean that is met.
    n : int
        Unlabelled rows that it was estimated on; 0 where it was known.
    draws : ndarray or None
        Other constants that those rows allow, one a row.
    """

    constant: float

    kind: ClassVar[str] = "matched_share"

    def _check(self) -> None:
        check_number(self.constant, "constant")
        check_share(self.prevalence, "prevalence")

    def _check_draws(self, draws: Floats) -> None:
        check_columns(draws, 1, "one constant")

    def _draw_fields(self, row: Floats) -> dict[str, object]:
        return {"constant": row[0]}

    def _map(self, x: Floats) -> Floats:
        return x + self.constant

    @property
    def summary(self) -> str:
        rows = f", estimated on {self.n:,} unlabelled rows" if self.n else ""
        return (
            f"a shift of the log-odds by {self.constant:+.4g} to a prevalence of "
            f"{self.prevalence:.4g}{rows}"
        )

    @property
    def formula(self) -> str:
        return f"logit p' = logit p {self.constant:+.4g}"

    def _source(self) -> Lines:
        how = f"estimated on {self.n:,} unlabelled rows" if self.n else "known"
        return [("prevalence", f"{self.prevalence:.4g}, {how}")]


def match_prevalence(
    p: Floats, q: Floats, prior: float, n: int
) -> tuple[Floats, Floats]:
    """Add one constant to all log-odds so that Σp/n becomes `prior`, n ≥ len(p)."""
    constant = constant_for_prevalence(p, q, prior, n)
    return from_log_odds(log_odds(p, q) + constant)


def constant_for_prevalence(p: Floats, q: Floats, prior: float, n: int) -> float:
    """Return the constant that `match_prevalence` adds to all log-odds."""
    certain = float((q == 0).sum()) / n
    impossible = (float((p == 0).sum()) + n - p.size) / n
    if not certain < prior < 1.0 - impossible:
        raise ValueError(
            f"prior={prior:g} cannot be met: {certain:.3g} of the probabilities are 1 "
            f"and {impossible:.3g} are 0, which no prevalence changes"
        )
    x = log_odds(p, q)
    open_ = x[np.isfinite(x)]
    # The rarer of the two labels: its logarithm is nearly linear in the shift.
    sign, wanted = 1.0, prior * n - certain * n
    if 2.0 * wanted > open_.size:
        sign, wanted = -1.0, (1.0 - prior) * n - impossible * n
    low, high, shift, total = -1500.0, 1500.0, 0.0, math.nan
    for _ in range(100):  # Newton's method, kept between the ends
        rare, rest = from_log_odds(sign * (open_ + shift))
        total, slope = float(rare.sum()), sign * dot(rare, rest)
        gap = math.log(total) - math.log(wanted) if total > 0.0 else -math.inf
        low, high = (low, shift) if sign * gap > 0.0 else (shift, high)
        tried = shift - gap * total / slope if slope else math.nan
        if abs(tried - shift) <= 1e-14 * max(1.0, abs(shift)):
            break
        if not low < tried < high:
            tried = (low + high) / 2
        shift = tried
    if not math.isclose(total, wanted, rel_tol=1e-9):
        raise ValueError(
            f"prior={prior:g} cannot be met: the probabilities would be too close to 0 "
            "or 1 for floating-point numbers"
        )
    return shift


def shift_to_prevalence(
    scores: Floats, prevalence: float, n: int, *, logits: bool
) -> MatchedPrevalence:
    """Return the shift of log-odds that makes the mean over n rows a prevalence.

    Rows without a score, the absent cells of a sparse matrix, stay certain negatives.
    """
    p, q = from_log_odds(scores) if logits else (scores, 1.0 - scores)
    constant = constant_for_prevalence(p, q, prevalence, n)
    return MatchedPrevalence(constant, prevalence=prevalence)


def undo_sampling(
    p: ArrayLike, *, rate: float, inverse: bool = False, logits: bool = False
) -> Floats:
    """Correct the probabilities of a model that was trained on a sample.

    Where a share `rate` of the negatives was kept, and all positives were, true odds
    are the model's odds times `rate`: p' = p·rate/(p·rate + 1 - p). This is exact for
    P(y | x); what is left is the model's own error, for which there is `calibrate`.

    Experimental: may change in any release.

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
    return _scale_odds(p, rate, inverse, logits)


def undo_weights(
    p: ArrayLike, *, ratio: float, inverse: bool = False, logits: bool = False
) -> Floats:
    """Correct the probabilities of a model that was trained with class weights.

    Where positives had `ratio` times the weight of negatives (`scale_pos_weight` of
    XGBoost, `class_weight` of scikit-learn), true odds are the model's odds divided by
    `ratio`: p' = p/(p + (1 - p)·ratio). Trees feel weights only in part, as nearly pure
    leaves change little: for them this corrects too much, and `calibrate` on labelled
    rows corrects the rest.

    Experimental: may change in any release.

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
    return _scale_odds(p, ratio, not check_flag(inverse, "inverse"), logits)


def _scale_odds(p: ArrayLike, factor: float, inverse: bool, logits: bool) -> Floats:
    """Multiply the odds by a factor, or divide them by it."""
    inverse, logits = check_flag(inverse, "inverse"), check_flag(logits, "logits")
    values = read_scores(p, "p", logits=logits)
    if logits:
        shift = math.log(factor)
        return values - shift if inverse else values + shift
    factor = 1.0 / factor if inverse else factor
    # Multiplied by 1 at most: products of the smallest numbers may overflow else
    positive, negative = (
        values * min(factor, 1.0),
        (1.0 - values) * min(1.0 / factor, 1.0),
    )
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
    another fault, such as naive Bayes, has another slope. Return the warning.
    """
    if reference.weight is not None or reference.logits:
        return None
    p, positives = reference.p, float(reference.y.sum())
    spread = float((p * (1.0 - p)).sum())
    if float(p.sum()) - positives < LEAST_SURPRISE * math.sqrt(spread):
        return None
    odds = from_log_odds(reference.x)
    constant = constant_for_prevalence(*odds, positives / p.size, p.size)
    if constant > -math.log(LEAST_FACTOR):
        return None
    fit = fit_logistic([reference.x], reference.y.astype(np.float64), None)
    if not SLOPES[0] <= float(fit.coefficients[0]) <= SLOPES[1]:
        return None
    message = (
        f"the mean of p is {p.mean():.3g} on labelled rows of which "
        f"{positives / p.size:.3g} are positive, as after training with resampled or "
        "weighted classes: undo_sampling(p, rate=...) or undo_weights(p, ratio=...) "
        "undoes that where you know the rate or ratio. A reference corrects p anyway"
    )
    warn_user(message)
    return message
