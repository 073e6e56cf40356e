"""calibrate: probabilities that fit labels, on all rows and out of fold."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.fit import DEFAULT as DEFAULT
from argmetric._calibrate.fit import METHODS, Method, fit_calibrator, n_distinct
from argmetric._calibrate.reference import Reference, check_reference
from argmetric._ground.arguments import check_flag
from argmetric._ground.discrete import dot
from argmetric._ground.groups import Groups, code_groups
from argmetric._ground.odds import expit
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    Booleans,
    Floats,
    Integers,
    Label,
)
from argmetric._ground.validation import check_choice, warn_of_scale


def check_folds(cv: object) -> int:
    """Return the checked argument `cv`, a number of folds."""
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or cv < 2:
        raise ValueError(f"cv must be a whole number of folds, 2 or more, not {cv!r}")
    return int(cv)


def fold_numbers(
    y: Booleans,
    cv: int,
    groups: ArrayLike | Groups | None = None,
    random_state: int | None = 0,
) -> Integers:
    """Return the fold of every row: each class, or each group, is spread evenly."""
    positives: AnyArray = y.astype(np.uint8)  # of each row, or of each group
    sizes, unit = np.ones(1), "rows"
    if groups is not None:
        coded, unit = code_groups(groups, y.size, "y"), "groups"
        positives = np.bincount(coded.codes, y, coded.count).astype(np.int64)
        sizes = np.bincount(coded.codes, minlength=coded.count).astype(np.float64)
    smaller = int(min((positives > 0).sum(), (positives < sizes).sum()))
    if smaller < 2:
        raise ValueError(
            f"out-of-fold calibration needs each class in two {unit} or more; one is "
            f"in {smaller}"
        )
    folds = deal(np.random.default_rng(random_state), positives, min(cv, smaller))
    return folds if groups is None else np.asarray(folds[coded.codes])


def deal(rng: np.random.Generator, kind: AnyArray, n_folds: int) -> Integers:
    """Return a random fold for every unit, with units of each kind spread evenly."""
    order = rng.permutation(kind.size)
    falling = kind.max(initial=0) - kind[order]
    if falling.max(initial=0) < 256:
        falling = falling.astype(np.uint8)  # sorted by counting
    order = order[np.argsort(falling, kind="stable")]
    short = np.min_scalar_type(n_folds)
    number = np.empty(kind.size, dtype=short)
    rounds = -(-kind.size // n_folds)
    number[order] = np.tile(np.arange(n_folds, dtype=short), rounds)[: kind.size]
    return number


def out_of_fold_scores(reference: Reference, method: str, fold: Integers) -> Floats:
    """Return every score calibrated by a fit on the other folds; log-odds stay so."""
    reference = reference.with_odds()
    result = np.empty(reference.n)
    for number in range(int(fold.max()) + 1):
        inside = fold == number
        others = reference.y[~inside]
        if others.all() or not others.any():
            raise ValueError(
                "out-of-fold calibration needs rows of both classes outside of every "
                "fold: there are too few groups that have both"
            )
        fitted = fit_calibrator(
            reference.part(~inside), method, strict=False, draws=False
        )
        scores = reference.scores[inside]
        result[inside] = fitted._map_scores(scores, logits=reference.logits)
    return result


SIMPLE_FIRST: tuple[Method, ...] = (
    "identity",
    "temperature",
    "platt",
    "beta",
    "spline",
    "isotonic",
)
N_FOLDS = 5
MAX_COMPARED_ROWS = 50_000  # rows of each class on which methods are compared


def calibrate(
    y: ArrayLike,
    p: ArrayLike,
    method: Method | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    pos_label: Label | None = None,
) -> Calibrator:
    """Fit a calibrator of probabilities on labelled rows.

    The model that gave the scores must not have been trained on these rows.

    Parameters
    ----------
    y : array-like
        Labels: 0/1, booleans, -1/1, or any others with `pos_label`.
    p : array-like
        Probabilities of the positive class, in the shape of `y`; a matrix gets one
        calibrator for all its cells.
    method : str, optional
        "spline", the default: a smooth curve of the log-odds. "platt": slope and
        intercept. "beta": three parameters. "temperature": slope only. "isotonic":
        any non-decreasing function, for thousands of rows. "identity": no change.
        "auto": the simplest whose out-of-fold log-loss is within one standard error of
        the lowest.
    sample_weight : array-like, optional
        Weights of the rows.
    logits : bool, default=False
        Whether `p` holds log-odds.
    pos_label : object, optional
        The label that counts as positive.

    Returns
    -------
    Calibrator
        The fitted calibrator, with other ones that fit these labels as well.

    See Also
    --------
    argmetric.classes.calibrate : Calibrators of class probabilities.

    Notes
    -----
    Scores of 0 or 1 are not treated as certain: scores are kept away from both ends by
    half the least distance of any other score, and by 1/4m on a reference of m rows.
    The uncertainty of the fit is kept as `draws`. More on the page :doc:`/calibrating`.

    Examples
    --------
    >>> import argmetric as am
    >>> y = [0, 0, 1, 0, 1, 1, 0, 1]
    >>> p = [0.01, 0.02, 0.03, 0.04, 0.05, 0.2, 0.1, 0.4]
    >>> am.calibrate(y, p)
    Calibrator: spline, logit p' through 8 points of logit p, slope 1.02 beyond
      reference            8 labelled rows, 50.0% positive
      0.01, 0.1, 0.5, 0.9  become 0.0162, 0.434, 0.92, 0.991
    >>> am.calibrate(y, p, "platt").formula
    "logit p' = 0.643 logit p +1.793"
    """
    if method is not None:
        check_choice(method, "method", METHODS)
    logits = check_flag(logits, "logits")
    reference = check_reference(y, p, sample_weight, pos_label, logits=logits)
    warn_of_scale(reference.scores, logits=logits)
    return fit_calibrator(reference, choose_method(reference, method or DEFAULT))


def calibrate_out_of_fold(
    reference: Reference,
    scores: Floats,
    method: Method = DEFAULT,
    *,
    weight: Floats | None = None,
    groups: ArrayLike | None = None,
    random_state: int | None = 0,
) -> Floats:
    """Return probabilities recalibrated by fits without the row's own label.

    Parameters
    ----------
    reference : Reference
        The rows of a positive weight.
    scores : ndarray of shape (n_rows,) or (n_rows, n_columns)
        All rows; one without weight has no say in any fit.
    weight : ndarray in the shape of `scores`, optional
    groups : array-like of shape (n_rows,), optional
        Rows that stay in one fold.
    """
    rising, order = reference.in_order()  # once, and not in every fold
    rising = rising.with_odds()
    whole = fit_calibrator(
        replace(rising), method, draws=False
    )  # what it keeps goes with it
    part = np.ones(scores.size, bool) if weight is None else weight.ravel() > 0
    units = None
    if groups is not None:
        units = code_groups(groups, len(scores))
        if scores.ndim == 2:  # those of each cell
            units = Groups(np.repeat(units.codes, scores.shape[1]), units.ids)
        units = units.take(part)
    fold = fold_numbers(reference.y, N_FOLDS, units, random_state)[order]
    out_of_fold = np.empty(reference.n)
    out_of_fold[order] = out_of_fold_scores(rising, method, fold)
    mapped = out_of_fold
    if not part.all():
        mapped = whole._map_scores(scores.ravel(), logits=reference.logits)
        mapped[part] = out_of_fold
    return (expit(mapped) if reference.logits else mapped).reshape(scores.shape)


def choose_method(reference: Reference, method: Method) -> Method:
    """Return the method itself, or what "auto" stands for on this reference.

    Out of fold, the simplest whose log-loss comes within one standard error of the
    least, and none that did worse than no calibration at all.
    """
    if method != "auto":
        return method
    if min(int(reference.y.sum()), int((~reference.y).sum())) < 2:
        return "identity"  # nothing can be compared out of fold
    reference = thin_rows(reference)
    fold = fold_numbers(reference.y, N_FOLDS)
    reference, order = reference.in_order()
    reference, fold = reference.with_odds(), fold[order]
    losses = {
        name: _log_losses(reference, name, fold)
        for name in SIMPLE_FIRST
        if name != "beta" or n_distinct(reference.scores) > 2
    }
    w = reference.weights / reference.weights.sum()
    none = dot(w, losses["identity"])
    allowed = {name: one for name, one in losses.items() if dot(w, one) <= none}
    least = min(allowed.values(), key=lambda one: dot(w, one))
    for name, one in allowed.items():
        gap = one - least
        mean = dot(w, gap)
        if mean <= math.sqrt(dot(w**2, (gap - mean) ** 2)):
            return name
    raise AssertionError("the least loss is within its own error")


def thin_rows(reference: Reference, most: int = MAX_COMPARED_ROWS) -> Reference:
    """Draw at most `most` rows of each class, weighted so that they stand for all."""
    rng, y = np.random.default_rng(0), reference.y
    if max(int(y.sum()), int((~y).sum())) <= most:
        return reference
    rows, weights = [], []
    for members in (np.flatnonzero(y), np.flatnonzero(~y)):
        kept = rng.permutation(members)[:most]
        rows.append(kept)
        weights.append(reference.weights[kept] * (members.size / kept.size))
    part = reference.take(np.concatenate(rows))
    return replace(part, weight=np.concatenate(weights))


def _log_losses(reference: Reference, method: str, fold: Integers) -> Floats:
    """Return the out-of-fold log-loss of every row.

    A frequency of 0 among n rows shows no more than about 1/2n.
    """
    mapped = out_of_fold_scores(reference, method, fold)
    p = expit(mapped) if reference.logits else mapped
    margin = 1 / (2 * reference.n)
    p = np.clip(p, margin, 1 - margin)
    return -np.where(reference.y, np.log(p), np.log1p(-p))
