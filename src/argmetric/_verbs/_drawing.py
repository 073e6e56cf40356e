"""Pictures of decisions and of rules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from argmetric._ground.display import counted, metric_title, number
from argmetric._ground.pictures import (
    MOST_BARS,
    Display,
    Mark,
    SmallPicture,
    adaptive_edges,
    bars_size,
    draw_bars,
    draw_curve,
    reach,
    thin_indices,
)
from argmetric._ground.types import Axes
from argmetric._verbs.guarantees import at_prevalence

if TYPE_CHECKING:
    from argmetric._verbs.decide._result import Decision
    from argmetric._verbs.tune._rule import Rule


@dataclass(repr=False)
class DecisionDrawing(Display):
    """Picture of a decision: its curve, or its expected scores by label or group."""

    decision: Decision

    @property
    def _by_rows(self) -> bool:
        """Whether labels are worth something else in each row."""
        return getattr(self.decision.metric, "_by_rows", False)

    @property
    def _score(self) -> str:
        name = metric_title(self.decision.metric.name)
        return "profit" if self._by_rows else name

    def _bars(self) -> bool:
        one = self.decision
        return one.average == "macro" and (one.n_groups or 0) <= MOST_BARS

    def _size(self) -> tuple[float, float]:
        if not self._bars():
            return super()._size()
        return bars_size(self.decision.n_groups or 0)

    def _labels(self) -> dict[str, object]:
        expected = f"Expected {self._score}"
        if self.decision.group_ids is None:
            across = "Rows predicted positive" + ", by gain" * self._by_rows
            return {"xlabel": across, "ylabel": expected}
        if self._bars():
            mean = f"Mean over the labels: {self.decision.expected:.3f}"
            return {"xlabel": expected, "ylabel": "Label (positives)", "title": mean}
        unit = {"macro": "label", "samples": "row"}.get(
            self.decision.average or "", "group"
        )
        return {"xlabel": f"{expected} of a {unit}", "ylabel": f"{unit}s".capitalize()}

    def _draw(self, ax: Axes) -> object:
        one = self.decision
        if one.group_ids is None:
            assert one.curve is not None
            cut, k, half = "", one.n_positives, one.cut_half
            if one.threshold is not None and math.isfinite(one.threshold):
                cut = f" ({one.scale} ≥ {one.threshold:.3g})"
            rows, of_half = counted(k, "row"), counted(half.n_positives, "row")
            text = f"0.5 cut-off: {of_half}, {number(half.expected)}"
            marks = [
                Mark(k, one.expected, f"decision: {rows}{cut}, {number(one.expected)}"),
                Mark(half.n_positives, half.expected, text, "s", "C7"),
            ]
            if self._by_rows and one.n <= reach(k, half.n_positives):
                every = f"every row: {number(one.curve[-1])}"
                marks.append(Mark(one.n, float(one.curve[-1]), every, "D", "C4"))
            label = f"expected {self._score} by number of positives"
            return draw_curve(ax, one.curve, k, label, marks)
        assert one.group_expected is not None
        if self._bars():
            assert one.group_n_positives is not None
            counts = zip(one.group_ids, one.group_n_positives.tolist(), strict=True)
            names = [f"{name} ({count:,})" for name, count in counts]
            draw_bars(ax, names, one.group_expected)
            return ax.axvline(one.expected, color="C3")
        values = one.group_expected[np.isfinite(one.group_expected)]
        ax.hist(values, bins=adaptive_edges(values).tolist(), color="C0", alpha=0.8)
        return ax.axvline(one.expected, color="C3", label=f"mean {one.expected:.3f}")


@dataclass(repr=False)
class RuleDrawing(Display):
    """Picture of a rule: the score on labelled rows against the threshold."""

    rule: Rule

    def _labels(self) -> dict[str, object]:
        return {
            "xlabel": f"Threshold on {self.rule._scale}",
            "ylabel": f"Actual {metric_title(self.rule.metric.name)}",
        }

    def _draw(self, ax: Axes) -> object:
        rule, name = self.rule, metric_title(self.rule.metric.name)
        if rule.thresholds is None or rule.scores is None:
            raise ValueError(
                "this rule has no curve to draw: tune() with labels makes one, files "
                "do not hold it"
            )
        finite = np.isfinite(rule.thresholds)
        thresholds, scores = rule.thresholds[finite][::-1], rule.scores[finite][::-1]
        picks = thin_indices(thresholds.size)
        x, y = thresholds[picks], scores[picks]
        # `p >= threshold` is constant on (the score before, this score].
        (line,) = ax.step(x, y, where="pre", color="C0", label=name)
        if rule.threshold_interval is not None:
            label = f"best threshold, {rule.coverage:.0%} interval"
            inside = np.clip(rule.threshold_interval, x[0], x[-1])
            ax.axvspan(*inside, color="C0", alpha=0.15, lw=0, label=label)
        if rule.guarantee is not None:
            inside = np.clip(rule.guarantee.certified_interval, x[0], x[-1])
            label = f"certified{at_prevalence(rule.guarantee.prior)}"
            ax.axvspan(*inside, color="C2", alpha=0.2, lw=0, label=label)
        elif rule.plateau is not None:
            inside = np.clip(rule.plateau, x[0], x[-1])
            ax.axvspan(*inside, color="C3", alpha=0.25, lw=0, label="as good")
        if math.isfinite(rule.threshold):
            label = f"rule: {rule.threshold:.4g}, {rule.score:.3f}"
            ax.plot(rule.threshold, rule.score, "o", color="C3", label=label)
        return line


def small_curve(rule: Rule) -> str:
    """Return a small picture of the score by threshold; empty without a curve."""
    x, scores = rule.thresholds, rule.scores
    if x is None or scores is None:
        return ""
    name = f"Actual {metric_title(rule.metric.name)} by threshold"
    drawn = SmallPicture(name, x[np.isfinite(x)], scores)
    if rule.threshold_interval is not None:
        drawn.band(rule.threshold_interval)
    drawn.line(x, scores)
    if math.isfinite(rule.threshold):
        drawn.upright(rule.threshold)
    return drawn.y_labels().ends("threshold")
