"""The printed form of rules."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from argmetric._results.display import Lines

if TYPE_CHECKING:
    from argmetric._tune._rule import Rule


def interval_text(interval: tuple[float, float] | None, digits: str = ".4g") -> str:
    if interval is None:
        return "unknown"
    return f"{interval[0]:{digits}} to {interval[1]:{digits}}"


def score_lines(rule: Rule) -> Lines:
    """The score on the rows, its interval, and how much it flatters."""
    lines = [("score", f"{rule.score:.4f}")]
    if not math.isnan(rule.out_of_fold_score):
        text = f"{rule.out_of_fold_score:.4f} (optimism {rule.optimism:+.4f})"
        lines.append(("out of fold", text))
    if rule.score_interval is not None:
        text = f"{interval_text(rule.score_interval, '.4f')} ({rule.coverage:.0%})"
        lines.append((f"on {rule.n:,} new rows", text))
    return lines


def rule_lines(rule: Rule) -> Lines:
    lines = score_lines(rule) if rule.n else []
    if rule.threshold_interval is not None:
        text = f"{interval_text(rule.threshold_interval)} ({rule.coverage:.0%})"
        lines.append(("best threshold", text))
    if rule.plateau is not None:
        best = rule.choice == "best"
        count = len(rule.optimal_thresholds)
        more = f", one of {count:,} such intervals" if best and count > 1 else ""
        what = "as good" if best else "within one SE"
        lines.append((what, f"({rule.plateau[0]:.4g}, {rule.plateau[1]:.4g}]{more}"))
    if rule.constraints:
        limits = ", ".join(f"{name}={x:g}" for name, x in rule.constraints.items())
        lines.append(("limits", limits))
    if rule.n:
        text = f"{rule.n:,}, {rule.prevalence:.3g} positive"
        if not math.isnan(rule.positive_rate):
            text += f", {rule.positive_rate:.3g} predicted so"
        lines.append(("rows", text))
    if rule.average is not None:
        lines.append(("average", rule.average))
    if rule.calibrator is not None:
        how = getattr(rule.calibrator, "summary", type(rule.calibrator).__name__)
        lines.append(("calibrator", str(how)))
    if (rule.neg_label, rule.pos_label) != (0, 1):
        lines.append(("labels", f"{rule.pos_label!r}, else {rule.neg_label!r}"))
    return lines or [("threshold", repr(rule.threshold))]
