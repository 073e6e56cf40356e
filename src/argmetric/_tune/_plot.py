"""Pictures of a rule."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric._display import drawing

if TYPE_CHECKING:
    from argmetric._tune._rule import Rule

DRAWN_POINTS = 4000


def plot_rule(rule: Rule, ax: Any) -> Any:
    """Score against threshold, with the plateau and the bootstrap interval."""
    if rule.thresholds is None or rule.scores is None:
        raise ValueError(
            "this rule has no curve to draw: tune() with labels makes one, files do "
            "not hold it"
        )
    thresholds, scores = rule.thresholds[::-1], rule.scores[::-1]
    finite = np.flatnonzero(np.isfinite(thresholds))
    if finite.size > DRAWN_POINTS:
        picks = np.linspace(0, finite.size - 1, DRAWN_POINTS).astype(np.int64)
        finite = finite[picks]
    low, high = thresholds[finite[0]], thresholds[finite[-1]]
    name = rule.metric.name
    with drawing(ax, xlabel=f"threshold on {rule._scale}", ylabel=name) as ax:
        # `p >= threshold` is constant on (the score before, this score].
        ax.step(thresholds[finite], scores[finite], where="pre", color="C0", label=name)
        if rule.threshold_interval is not None:
            inside = np.clip(rule.threshold_interval, low, high)
            label = f"best threshold, {rule.coverage:.0%} interval"
            ax.axvspan(*inside, color="C0", alpha=0.15, lw=0, label=label)
        if rule.plateau is not None:
            inside = np.clip(rule.plateau, low, high)
            what = "as good" if rule.choice == "best" else "within one standard error"
            ax.axvspan(*inside, color="C3", alpha=0.25, lw=0, label=what)
        if math.isfinite(rule.threshold):
            label = f"rule: {rule.threshold:.4g}, {rule.score:.3f}"
            ax.plot(rule.threshold, rule.score, "o", color="C3", label=label)
    return ax
