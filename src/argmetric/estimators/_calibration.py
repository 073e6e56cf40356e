"""Out-of-fold scores calibrated by maps that have not seen their labels either."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._calibrate import (
    Calibrator,
    ClassTemperatureMap,
    Method,
    Reference,
    choose_method,
    fit_class_temperature,
    fit_map,
)
from argmetric._validation import Floats, check_scores
from argmetric.estimators._folds import (
    HeldOut,
    Problem,
    Split,
    stratified,
    with_weight,
)


def calibrate_held_out(
    problem: Problem, held_out: HeldOut, method: Method, seed: int
) -> tuple[Calibrator, Floats]:
    """The map fitted on all held-out scores, and each fold mapped by the others' map.

    The scores that a threshold is tuned on must not be the ones their own map was
    fitted to; otherwise the labels are used twice.
    """
    scores = check_scores(held_out.scores, held_out.method, logits=held_out.margins)
    held_out = replace(held_out, scores=scores)
    calibrator = _fit(problem, held_out, slice(None), method)
    if is_flat_map(calibrator):
        warnings.warn(
            "the out-of-fold scores tell nothing about y: every row gets the same "
            f"probability, {calibrator.prevalence:.3g}, and the same label",
            UserWarning,
            stacklevel=4,
        )
    mapped = np.empty_like(held_out.scores)
    for others, here in _calibration_splits(problem, held_out, seed):
        # "auto" chooses once, for all folds the same.
        one = _fit(problem, held_out, others, calibrator.method)
        mapped[here] = one.apply(held_out.scores[here], logits=held_out.margins)
    return calibrator, mapped


def is_flat_map(calibrator: Calibrator) -> bool:
    """Whether all rows get the same probability."""
    if isinstance(calibrator, ClassTemperatureMap):
        return False
    low, high = calibrator.apply([0.0, 1.0])
    return bool(low == high)


def _fit(problem: Problem, held_out: HeldOut, chosen: Any, method: Any) -> Calibrator:
    """A map of these scores; where they rank backwards, the best that does not fall.

    `calibrate` refuses such scores, as they may be those of the other class. Here they
    are the estimator's own: on noise they rank backwards out of fold as often as not.
    """
    rows, scores = held_out.rows[chosen], held_out.scores[chosen]
    weights = None if problem.weights is None else problem.weights[rows]
    codes = problem.codes[rows]
    if problem.positive is None:
        return fit_class_temperature(
            codes, scores, weights, logits=held_out.margins, strict=False
        )
    y = codes == problem.positive
    if weights is not None:
        part = weights > 0.0
        y, scores, weights = y[part], scores[part], weights[part]
    reference = Reference(scores, y, weights, held_out.margins)
    return fit_map(reference, choose_method(reference, method), strict=False)


def _calibration_splits(problem: Problem, held_out: HeldOut, seed: int) -> list[Split]:
    """The folds of the scores, or new ones where there is one fold only.

    A row that was scored in several folds is in no map that it is judged by.
    """
    rows, fold = held_out.rows, held_out.fold
    splits = []
    for number in range(int(fold.max()) + 1):
        here = fold == number
        others = ~np.isin(rows, rows[here])
        splits.append((np.flatnonzero(others), np.flatnonzero(here)))
    present = with_weight(problem, rows)
    if all(with_weight(problem, rows[others]) == present for others, _ in splits):
        return splits
    groups = problem.part(rows)["groups"]
    if groups is None and np.unique(rows).size < rows.size:
        groups = rows
    return stratified(problem.codes[rows], problem.classes, groups, 5, seed)
