"""Out-of-fold scores calibrated by maps that have not seen their labels either."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from argmetric._calibrate.calibrate import choose_method, fit_class_temperature
from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.fit import Method, fit_map
from argmetric._calibrate.maps import ClassTemperatureMap
from argmetric._calibrate.reference import Reference
from argmetric._input.validation import check_scores
from argmetric.estimators._folds import (
    HeldOut,
    Problem,
)

# Rows of a reference that a row counts for in a forecast if the model learns from it
# too: its out-of-fold score is that of another model. Chosen on half of the sets of
# benchmarks/trust.py classifier.
ROWS_LEARNED_FROM = 0.5


def calibrate_held_out(
    problem: Problem, held_out: HeldOut, method: Method
) -> Calibrator:
    """The map fitted on all held-out scores."""
    check_scores(held_out.scores, held_out.method, logits=held_out.margins)
    calibrator = _fit(problem, held_out, method)
    if is_flat_map(calibrator):
        warnings.warn(
            "the out-of-fold scores tell nothing about y: every row gets the same "
            f"probability, {calibrator.prevalence:.3g}",
            UserWarning,
            stacklevel=4,
        )
    if held_out.refitted and calibrator.counts is not None:
        share = np.array([[1.0], [ROWS_LEARNED_FROM], [ROWS_LEARNED_FROM]])
        calibrator = replace(calibrator, counts=calibrator.counts * share)
    return calibrator


def is_flat_map(calibrator: Calibrator) -> bool:
    """Whether all rows get the same probability."""
    if isinstance(calibrator, ClassTemperatureMap):
        return False
    low, high = calibrator.apply([0.0, 1.0])
    return bool(low == high)


def _fit(problem: Problem, held_out: HeldOut, method: Method) -> Calibrator:
    """A map of these scores; where they rank backwards, the best that does not fall.

    `calibrate` refuses such scores, as they may be those of the other class. Here they
    are the estimator's own: on noise they rank backwards out of fold as often as not.
    """
    scores = held_out.scores
    weights = problem.part(held_out.rows)["sample_weight"]
    codes = problem.codes[held_out.rows]
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
