"""Rules for classes with a calibrator, as numbers that every program can compute.

Programs round logarithms differently in the last digit, which would decide ties by
chance. All of them, and `apply`, therefore round their final values to `STEP`, about 7
digits; of equal values the first class wins.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._ground.odds import NEAREST
from argmetric._ground.types import Floats
from argmetric._verbs.tune import LEAST_EXPONENT, STEP, ClassLogits
from argmetric.classes._calibrate import ClassPriorShift
from argmetric.classes._input import check_class_probabilities
from argmetric.classes._maps import (
    ClassMatrixMap,
    ClassTemperatureMap,
    log_softmax,
)


def class_values(
    logits: ClassLogits, p: Floats, weights: Floats, offsets: Floats
) -> Floats:
    """What `apply` compares; rows that do not sum to 1 are refused.

    Without offsets the logits y, in steps. With offsets b and weights w, in steps,

        a_i + b_i·Σ_j a_j / w_j,   a_i = exp(y_i - max y),

    which is weight·p + offset times a factor that all classes share.
    """
    x = np.log(np.maximum(check_class_probabilities(p), NEAREST))
    if logits.temperature != 1.0:
        x = log_softmax(x / logits.temperature)
    is_low = None
    if logits.floor is not None:
        is_low = x <= logits.floor
        x = np.maximum(x, logits.floor)
    y = np.asarray(x @ logits.matrix + logits.biases)
    if is_low is not None and logits.lump:
        np.add(y, logits.lump, out=y, where=is_low)
    if offsets.any():
        a = np.exp(np.maximum(y - y.max(axis=1, keepdims=True), LEAST_EXPONENT))
        y = a + offsets * (a / weights).sum(axis=1, keepdims=True)
    return np.asarray(np.floor(y / STEP + 0.5))


def class_logits(calibrator: Any, weights: Floats) -> ClassLogits | None:
    """The logits of a rule with this calibrator; None for what has no such form.

    Temperatures and prior shifts only scale and move the logits of a map before them.
    A matrix after another map would need its probabilities.
    """
    parts = calibrator.parts if isinstance(calibrator, Calibrator) else (calibrator,)
    temperature, floor, lump = 1.0, None, 0.0
    matrix, biases = np.eye(weights.size), np.zeros(weights.size)
    for place, one in enumerate(parts):
        sized = one.shares if isinstance(one, ClassPriorShift) else weights
        if getattr(one, "n_classes", np.size(sized)) != weights.size:
            return None  # for another number of classes: `apply` refuses it
        if isinstance(one, ClassMatrixMap) and place == 0:
            temperature, lump, biases = one.temperature, one.lump, one.biases
            matrix = one.slope * matrix
            if one.matrix is not None and one.centre is not None:
                matrix = matrix + one.matrix
                biases = biases - one.centre @ one.matrix
            if one.floor is not None:  # one step above: the floor itself is not above
                floor = math.log(max(one.floor, NEAREST)) + STEP
        elif isinstance(one, ClassTemperatureMap):
            matrix, biases = matrix / one.temperature, biases / one.temperature
            lump /= one.temperature
        elif isinstance(one, ClassPriorShift):
            with np.errstate(divide="ignore"):
                biases = biases + np.log(one.shares / one.reference_shares)
        else:
            return None
    biases = np.maximum(biases + np.log(weights), -1e300)  # a share of 0: never chosen
    return ClassLogits(temperature, floor, lump, matrix, biases)


def exported_logits(calibrator: Any, weights: Floats) -> ClassLogits | None:
    """The logits of a rule that is exported; None where it has no calibrator."""
    if calibrator is None:
        return None
    found = class_logits(calibrator, weights)
    if found is None:
        raise ValueError(
            "this calibrator cannot be exported: it is a function, or a chain whose "
            "matrix map is not the first. Export dataclasses.replace(rule, "
            "calibrator=None), and apply the calibrator before it"
        )
    return found
