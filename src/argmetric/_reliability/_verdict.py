"""The verdicts on probabilities, and what to do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from argmetric._reliability._result import CalibrationCheck

Verdict = Literal["yes", "no", "too few rows to say"]

SURE = 2.0  # standard errors from which a loss is not chance
WORTH = 0.005  # share of the score from which a loss is worth a word
MATTERS = 0.05  # share of the score from which a loss matters
FEW = 20  # rows of a class below which only a clear loss is believed
KEPT = 0.02  # a promise this near to the score, its error counted, is kept
BROKEN = 0.01  # one further off than this, and than its error, is not
HOW = {
    "recalibrate": "pass reference=(y, p) to decide, or calibrator=calibrate(y, p)",
    "tune": "take the cut of tune(y, p)",
    "half": "cut at 0.5",
}


def decides(check: CalibrationCheck) -> tuple[Verdict, str]:
    """Whether `p` as it stands is fit to decide with, and advice.

    A loss of more than two standard errors and 0.5 % of the score speaks for itself. A
    sample that could hide a loss of 5 % of the score is too small to acquit.
    """
    loss, error, name = check.loss, check.loss_standard_error, check.metric.name
    size = abs(check.score_as_is + loss)
    figures = f"{loss:.4f} ± {error:.4f} of {name}"
    if loss > max(SURE * error, WORTH * size):
        advice = f"deciding with p as it stands loses {figures}: {HOW[check.route]}"
        return "no", advice
    few = min(check.n_positives, check.n - check.n_positives)
    hidden = loss + SURE * error
    if few < FEW or not hidden <= MATTERS * size:
        return "too few rows to say", (
            f"on {check.n:,} rows, {check.n_positives:,} of them positive, a loss of "
            f"{max(hidden, 0.0):.4f} {name} would not be seen"
        )
    if check.route == "decide":
        return "yes", f"no other way to decide does better here in {name}"
    return "yes", f"another way would gain {figures}: {HOW[check.route]}"


def forecasts(check: CalibrationCheck) -> tuple[Verdict, str]:
    """Whether what `p` as it stands promises comes true, and advice.

    What fails on new rows is what fails here: the gap between promise and score.
    """
    gap, error = abs(check.gap), check.score_standard_error
    said = f"p promises {check.expected:.4f} where {check.score_as_is:.4f} is had"
    how = HOW["recalibrate"].replace("decide", "forecast")
    if check.weighted:
        return "too few rows to say", "the promise of p does not know the weights"
    if check.as_is.n_certain_and_wrong or gap > max(BROKEN, error):
        return "no", f"{said}: {how}"
    if not gap + error <= KEPT:  # nor where one of them is not known
        return "too few rows to say", (
            f"{said}, give or take {error:.4f}: too wide to trust; to be safe, {how}"
        )
    return "yes", f"{said}, give or take {error:.4f}"


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
