"""Pictures of periods, of rows to label and of what their labels tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric._ground.display import metric_title
from argmetric._ground.pictures import drawing
from argmetric._monitor._readings import CANNOT_SAY, VERDICTS

if TYPE_CHECKING:
    from argmetric._monitor._labelling import LabelledEstimate, LabellingPlan

COLOURS = dict(zip(VERDICTS, ("C0", "C2", "C1", "0.6", "C3"), strict=True))


def draw_periods(monitoring: Any, ax: Any = None) -> Any:
    """Intervals in the colour of the verdict, actual scores and alarms.

    Where nobody can say without labels both readings are drawn, and no interval.
    """
    periods: Sequence[Any] = monitoring.periods
    watch = monitoring.watch
    x: Any = np.arange(len(periods))
    if watch.every.unit:
        x = np.array([one.start for one in periods], dtype="datetime64[s]")
    labels = {
        "ylabel": metric_title(watch.metric.name),
        "xlabel": "" if watch.every.unit else "Period",
    }
    with drawing(ax, size=(8.0, 3.8), **labels) as ax:
        for verdict, colour in COLOURS.items():
            here = [i for i, one in enumerate(periods) if one.verdict == verdict]
            if not here:
                continue
            part = [periods[i] for i in here]
            if verdict == CANNOT_SAY:  # both readings, and no interval
                for name, label in (("if_other_rows", verdict), ("if_share", None)):
                    values = [getattr(one, name) for one in part]
                    ax.plot(x[here], values, "o", color=colour, label=label)
                continue
            mean, low, high = (
                np.array([getattr(one, name) for one in part])
                for name in ("expected", "low", "high")
            )
            bars = np.maximum([mean - low, high - mean], 0.0)
            ax.errorbar(x[here], mean, bars, fmt="o", color=colour, label=verdict)
        actual = np.array([one.actual for one in periods])
        there = np.isfinite(actual)
        if there.any():
            ax.plot(x[there], actual[there], "kx", label="actual")
        alarms = [i for i, one in enumerate(periods) if one.alarm]
        if alarms:
            low_end = [periods[i].low for i in alarms]
            ax.plot(x[alarms], low_end, "rv", markersize=9, label="alarm")
        if watch.floor is not None:
            ax.axhline(watch.floor, color="black", linestyle=":", label="floor")
    return ax


def draw_rows_to_label(plan: LabellingPlan, ax: Any = None) -> Any:
    """Histogram of the scores of the rows to label, by predicted label."""
    labels = {"xlabel": "Score", "ylabel": "Rows to label"}
    parts = [plan.scores[~plan.labels], plan.scores[plan.labels]]
    with drawing(ax, size=(6.4, 3.8), title=plan.period, **labels) as ax:
        names = ["predicted negative", "predicted positive"]
        ax.hist(parts, bins=20, stacked=True, label=names)
    return ax


def draw_estimate(found: LabelledEstimate, ax: Any = None) -> Any:
    """A point and its interval on the axis of the score."""
    low, high = found.interval
    title = f"from {found.n_labels:,} labels, {found.coverage:.0%} interval"
    labels = {"xlabel": metric_title(found.metric.name), "ylabel": ""}
    with drawing(ax, size=(6.4, 2.0), title=title, **labels) as ax:
        bars = np.maximum([[found.score - low], [high - found.score]], 0.0)
        ax.errorbar([found.score], [0.0], xerr=bars, fmt="o", capsize=4)
        ax.set_yticks([])
    return ax
