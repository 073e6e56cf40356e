"""The verdicts on probabilities, and what to do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from argmetric._reliability._result import CalibrationCheck

Verdict = Literal["yes", "no", "too few rows to say"]
Promise = Literal["yes", "recalibrated", "no", "too few rows to say"]

SURE = 2.0  # standard errors from which a loss is not chance
WORTH = 0.005  # share of the score from which a loss is worth a word
MATTERS = 0.05  # share of the score from which a loss matters
FEW = 20  # rows of a class below which only a clear loss is believed
KEPT = 0.015  # gap, its error counted, up to which a promise is kept
CHANCE = 0.05  # of the log-odds' line, below which p is not calibrated
HOW = {
    "recalibrate": "pass reference=(y, p) to decide, or calibrator=calibrate(y, p)",
    "tune": "take the cut of tune(y, p)",
    "half": "cut at 0.5",
}


def reworded(advice: tuple[str, ...], recalibrate: str, tune: str) -> tuple[str, ...]:
    """The advice where labels are found by other means than these functions."""
    how = HOW["recalibrate"]
    words = {
        how: recalibrate,
        how.replace("decide", "forecast"): recalibrate,
        HOW["tune"]: tune,
    }
    for function, other in words.items():
        advice = tuple(line.replace(function, other) for line in advice)
    return advice


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


def forecasts(check: CalibrationCheck) -> tuple[Promise, str]:
    """Whether what is promised comes true, as it stands or recalibrated, and advice.

    What fails on new rows is what fails here: the gap between promise and score. As it
    stands a promise counts as kept where nothing speaks against it and the gap, its
    error included, is below 1.5 points: the interval of a forecast knows nothing of
    errors of p, and on real models even small ones break it. Recalibrated it
    counts as kept where the gap is within two errors, because the interval then holds
    the uncertainty of the map.
    """
    how = HOW["recalibrate"].replace("decide", "forecast")
    said = (
        f"p leads to expect {check.expected:.4f} where {check.score_as_is:.4f} is had"
    )
    if check.weighted:
        return (
            "too few rows to say",
            "the score that p leads to expect does not know the weights",
        )
    error = check.score_standard_error
    scale = max(1.0, abs(check.score_as_is))  # of metrics that exceed 1
    consistent = check.line.p_value >= CHANCE and not check.as_is.n_certain_and_wrong
    if consistent and abs(check.gap) + error <= KEPT * scale:
        return "yes", f"{said}, give or take {error:.4f}"
    again = (
        f"recalibrated it leads to expect {check.expected_recalibrated:.4f} where "
        f"{check.score_recalibrated:.4f} is had"
    )
    left = abs(check.expected_recalibrated - check.score_recalibrated)
    error_left = check.recalibrated_standard_error
    if not error_left < math.inf:
        return "too few rows to say", f"{said}, and nobody knows how sure that is"
    if left <= SURE * error_left + 1e-9 * scale:
        return "recalibrated", f"{said}, give or take {error:.4f}; {again}: {how}"
    return "no", f"{said}, and {again}, give or take {error_left:.4f}"


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
        notes.append("the expected scores do not know the weights")
    return tuple(notes)
