"""The verdict on probabilities, and what to do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from argmetric._reliability._result import CalibrationCheck

Verdict = Literal["calibrated", "recalibrate", "too few rows to say"]

SURE = 2.0  # standard errors from which a loss is not chance
WORTH = 0.005  # share of the score from which a loss is worth a word
MATTERS = 0.05  # share of the score from which a loss matters
NOTICED = 0.02  # the same for a promise that is not kept
FEW = 20  # rows of a class below which only a clear loss is believed
HOW = "pass reference=(y, p) to decide, or calibrator=calibrate(y, p)"


def verdict_of(check: CalibrationCheck) -> tuple[Verdict, str]:
    """Verdict and advice.

    A loss of more than two standard errors and 0.5 % of the score speaks for itself. So
    does a promise that is clearly not kept. A sample that could hide a loss of 5 % of
    the score is too small to acquit.
    """
    loss, error, name = check.loss, check.loss_standard_error, check.metric.name
    size = abs(check.score_recalibrated)
    figures = f"{loss:.4f} ± {error:.4f} of {name}"
    if loss > max(SURE * error, WORTH * size):
        return "recalibrate", f"deciding with p as it stands loses {figures}: {HOW}"
    if _breaks_promise(check, NOTICED * size):
        return "recalibrate", (
            f"the decision loses little, but p promises {check.expected:.4f} where "
            f"{check.score_as_is:.4f} is had: recalibrate before a forecast ({HOW})"
        )
    few = min(check.n_positives, check.n - check.n_positives)
    hidden = loss + SURE * error
    if few < FEW or not hidden <= MATTERS * size:
        return "too few rows to say", (
            f"on {check.n:,} rows, {check.n_positives:,} of them positive, a loss of "
            f"{max(hidden, 0.0):.4f} {name} would not be seen"
        )
    return "calibrated", f"fit to decide with: recalibrating would gain {figures}"


def _breaks_promise(check: CalibrationCheck, noticed: float) -> bool:
    if check.weighted:  # the promise knows no weights
        return False
    gap = abs(check.expected - check.score_as_is)
    left = abs(check.expected_recalibrated - check.score_recalibrated)
    clear = check.line.p_value < 0.001 and gap > 3 * check.score_standard_error
    clear |= check.as_is.n_certain_and_wrong > 0  # which cannot be if p is right
    return clear and gap > noticed and left < gap


def notes_of(check: CalibrationCheck) -> tuple[str, ...]:
    """What the figures alone do not say."""
    notes = []
    wrong = check.as_is.n_certain_and_wrong
    if wrong:
        notes.append(
            f"{wrong:,} rows were certain (p = 0 or 1) and wrong: the log-loss is "
            "infinite"
        )
    if math.isinf(check.line.slope):
        notes.append(
            "the scores separate the classes: slope and intercept have no finite value"
        )
    if check.weighted:
        notes.append("the promised scores do not know the weights")
    return tuple(notes)
