"""Rules in plain numbers, from which all targets are written.

Calibration is monotone, so a cut on calibrated scores is a cut on raw scores,
exact to the last digit. No calibrator is needed where the rule is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from argmetric._ground.arguments import shown
from argmetric._ground.types import Floats, Label, ScoreMap
from argmetric._ground.validation import ONE_BITS, ROUNDING, SUM_TOLERANCE

POINTS = 1024  # probabilities that a round of the search for a cut looks at
UNIT = (-ROUNDING, 1.0 + ROUNDING)  # what `apply` takes for probabilities
REAL = (-math.inf, math.inf)
STEP = 2.0**-24  # of the values of classes that are compared
SUMS = (1.0 - SUM_TOLERANCE, 1.0 + SUM_TOLERANCE)  # of rows that `apply` takes
LEAST_SUM = 0.5  # no row that `apply` takes is near: others are not divided by 0
LEAST_EXPONENT = -60.0  # e to this power is below STEP, and underflows nowhere


class RawCut(NamedTuple):
    """`score operator cut` is positive; scores outside of low…high have no label."""

    cut: float
    operator: str
    low: float
    high: float


@dataclass(frozen=True)
class ClassLogits:
    """Logits of weighted classes: x·matrix + biases, + lump where x is at the floor.

    x = log max(p / sum p, 2^-53). With a `temperature` other than 1, x becomes
    log softmax(x / temperature). x of `floor` or less count as `floor`.
    """

    temperature: float  # of p, before all else
    floor: float | None  # A logarithm
    lump: float  # added to the logit of a class at the floor
    matrix: Floats  # A row for each x, a column for each logit
    biases: Floats  # one for each class, the logarithm of its weight included


@dataclass(frozen=True)
class PortableRule:
    """One cut for each column, or the largest of weight·p + offset of classes.

    A single column may have several cuts, and then one more label. With gains the
    largest is that of p·gains + offset.
    """

    title: str  # the rule in words
    columns: tuple[str, ...]  # names of the columns of scores
    labels: tuple[Label, ...]  # from the lowest scores to the highest, or the classes
    cuts: tuple[RawCut, ...] = ()  # one for each column, or several; empty for classes
    # weights, offsets: one for each class; empty for cuts
    weights: tuple[float, ...] = ()
    offsets: tuple[float, ...] = ()
    # from p to weighted logits of the classes, where the rule has a calibrator
    logits: ClassLogits | None = None
    # least p of each class; below it the row has the label after those of the classes
    least: tuple[float, ...] = ()
    single: bool = False  # whether scores are one vector and not a matrix
    promise: str = ""  # what is guaranteed for new rows
    # by true class and label: what p is multiplied with before the offsets
    gains: tuple[tuple[float, ...], ...] = ()

    def labels_of(self, target: str, *kinds: type) -> type:
        """Return the type of the labels; refuse types that the target cannot write."""
        found = {type(one) for one in self.labels}
        if found == {int, float}:
            found = {float}
        if len(found) > 1 or not found <= set(kinds):
            known = ", ".join(one.__name__ for one in kinds)
            raise TypeError(
                f"{target} cannot hold the labels {', '.join(map(shown, self.labels))}:"
                f" all must be of one kind ({known})"
            )
        return found.pop()


def raw_cut(calibrator: ScoreMap, threshold: float) -> float:
    """Return the smallest probability whose calibrated value is ≥ threshold.

    -inf where all do, inf where none does. Floats from 0 to 1 ascend with their bits,
    and the calibrator is monotone but for rounding errors, which the cut leaves out.
    """
    ends = calibrator.apply([0.0, 1.0]) >= threshold
    if ends[0]:
        return -math.inf
    if not ends[1]:
        return math.inf
    low, high = 0, int(ONE_BITS)  # below the threshold, and not
    while high - low > 1:
        step = max((high - low) // POINTS, 1)
        bits = np.append(np.arange(low, high, step), high)
        reached = calibrator.apply(bits.view(np.float64)) >= threshold
        first = int(np.argmax(reached[1:])) + 1
        low, high = int(bits[first - 1]), int(bits[first])
    return float(np.int64(high).view(np.float64))


def portable_cut(threshold: float | None, operator: str, *, unit: bool) -> RawCut:
    """Return the cut of a column; refuse one off the scale of the scores."""
    if threshold is None:
        raise TypeError(
            "the calibrator of this rule is a function, which cannot be exported: use "
            "one that calibrate() makes"
        )
    low, high = UNIT if unit else REAL
    if operator == ">=" and threshold == math.inf:  # not even an infinite score
        threshold, operator = -math.inf, "<"
    return RawCut(threshold, operator, low, high)
