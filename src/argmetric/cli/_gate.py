"""A score that must be reached, for pipelines."""

from __future__ import annotations

import math

from argmetric.cli._errors import DONE, GATE_NOT_MET, say
from argmetric.metrics import Metric


def passed(score: float, bound: float, metric: Metric) -> bool:
    """Whether a score is as good as a bound or better; an undefined one never is."""
    if math.isnan(score):
        return False
    return score >= bound if metric.greater_is_better else score <= bound


def gate(score: float, bound: float | None, metric: Metric, what: str) -> int:
    """Return the exit code for a score and a bound, and say why on standard error.

    Parameters
    ----------
    score : float
        The score that is judged.
    bound : float or None
        What it must reach; None asks for nothing.
    metric : Metric
        Says whether more is better.
    what : str
        What the score is, for the message.
    """
    if bound is None or passed(score, bound, metric):
        return DONE
    side = "under" if metric.greater_is_better else "over"
    shown = "undefined" if math.isnan(score) else f"{score:.6g}, {side} {bound:g}"
    say(f"gate not met: {what} is {shown}")
    return GATE_NOT_MET
