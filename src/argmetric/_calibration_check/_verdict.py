"""The verdicts on probabilities, and what to do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from argmetric._calibration_check._result import CalibrationCheck

Verdict = Literal["yes", "no", "too few rows to say"]
Promise = Literal["yes", "recalibrated", "no", "too few rows to say"]

SURE = 2.0  # standard errors from which a loss is not chance
WORTH = 0.005  # share of the score from which a loss is worth a word
MATTERS = 0.05  # share of the score from which a loss matters
FEW = 20  # rows of a class below which only a clear loss is believed
KEPT = 0.015  # gap, its error counted, up to which a promise is kept
CHANCE = 0.05  # of the log-odds' line, below which p is not calibrated
OUTSIDE = 0.01  # chance of a score outside of a law that it refutes
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
    if check.route == "decide" or loss <= 0.0:
        return "yes", f"no other way to decide does better here in {name}"
    return "yes", f"another way would gain {figures}: {HOW[check.route]}"


def forecasts(check: CalibrationCheck) -> tuple[Promise, str]:
    """Whether forecasts hold, as `p` stands or recalibrated, and how far they err.

    As it stands `p` counts as fit where nothing speaks against it and the gap between
    forecast and actual score, its error included, is below 1.5 points: the interval of
    a forecast knows nothing of errors of p, and on real models even small ones break
    it. Recalibrated, the interval holds the uncertainty of the map: it is a "no" only
    where the score of rows that the map has not seen leaves the 99 % interval.
    """
    how = HOW["recalibrate"].replace("decide", "forecast")
    error = check.score_standard_error
    said = (
        f"as p stands, forecast {check.expected:.4f}, actual {check.score_as_is:.4f} "
        f"(± {error:.4f})"
    )
    law = check.forecast
    if law is None:
        return "too few rows to say", "a forecast does not know the weights of the rows"
    scale = max(1.0, abs(check.score_as_is))  # of metrics that exceed 1
    consistent = check.line.p_value >= CHANCE and not check.as_is.n_certain_and_wrong
    if consistent and abs(check.gap) + error <= KEPT * scale:
        return "yes", said
    low, high = check.error_interval
    again = (
        f"recalibrated, forecast {law.mean:.4f}, actual "
        f"{check.score_recalibrated:.4f}; on as many new rows the score should be "
        f"{abs(low):.4f} below to {high:.4f} above the forecast"
    )
    held = law.quantile(OUTSIDE / 2), law.quantile(1.0 - OUTSIDE / 2)
    slack = 1e-9 * scale
    if held[0] - slack <= check.score_recalibrated <= held[1] + slack:
        return "recalibrated", f"{said}; {again}: {how}"
    return "no", f"{said}; {again}, but it is further off on these rows already"


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
