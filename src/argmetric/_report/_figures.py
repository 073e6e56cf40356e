"""Pictures as numbers for SVG: the page draws them, and its script draws them again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from argmetric._report._numbers import count_text, nice_ticks, number, share
from argmetric._report._sections import is_best_cut
from argmetric._report._summary import (
    Calibration,
    GroupSummary,
    Mass,
    Over,
    Summary,
    Thresholds,
    Truth,
    View,
)
from argmetric._results.display import metric_title

WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 62, 18, 34, 54
SQUARE = 360  # width of the pictures that stand side by side


@dataclass(frozen=True)
class Plane:
    """Where values stand in a picture."""

    most: float
    low: float
    high: float
    least: float = 0.0
    width: int = WIDTH

    def x(self, value: float) -> float:
        part = (value - self.least) / (self.most - self.least)
        return round(LEFT + part * (self.width - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        part = (value - self.low) / (self.high - self.low)
        return round(HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM), 1)

    def path(self, x: Any, y: Any) -> str:
        """A line through finite points."""
        points = [
            f"{self.x(a):g},{self.y(b):g}"
            for a, b in zip(x, y, strict=True)
            if math.isfinite(b) and a <= self.most
        ]
        return f"M{' '.join(points)}" if points else ""


def frame(width: int = WIDTH) -> dict[str, int]:
    """The size of a picture, and its margins."""
    return {
        "width": width,
        "height": HEIGHT,
        "left": LEFT,
        "right": width - RIGHT,
        "top": TOP,
        "bottom": HEIGHT - BOTTOM,
    }


def axes(plane: Plane, x_ticks: Any, y_ticks: Any) -> dict[str, Any]:
    return {
        "x_ticks": [(plane.x(x), text) for x, text in x_ticks],
        "y_ticks": [(plane.y(y), text) for y, text in y_ticks],
    }


def curve_figure(said: Summary) -> dict[str, Any]:
    """The expected score against the number of positives, with three marks."""
    curves = said.curves
    assert curves is not None
    assert said.chosen is not None
    view: View = curves.views[said.metric]
    plane = Plane(view.most, view.low, view.high)
    values = curves.scores[said.metric]
    # One more point, so that the line runs to the edge of what is drawn
    inside = sum(k <= view.most for k in curves.k)
    chosen = said.chosen
    marks = [("half", curves.k[curves.half], values[curves.half])]
    if not is_best_cut(said):
        best = curves.best_cut
        marks.append(("cut", curves.k[best], values[best]))
    if curves.chosen is not None:
        marks.append(("chosen", chosen.positives, chosen.expected))
    level = (
        None if curves.chosen is not None else plane.y(min(chosen.expected, view.high))
    )
    return {
        **axes(plane, view.x_ticks, view.y_ticks),
        "path": plane.path(curves.k[:inside], values[:inside]),
        "marks": [
            (name, plane.x(k), plane.y(value))
            for name, k, value in marks
            if k <= view.most and math.isfinite(value)
        ],
        "level": level,
    }


def mass_figure(mass: Mass) -> dict[str, Any]:
    """Expected positives by probability, those of the chosen rows apart."""
    top = max(mass.positives)
    y_ticks = nice_ticks(0.0, top, 4) if top > 0 else [0.0, 1.0]
    plane = Plane(mass.top, 0.0, y_ticks[-1])
    bins, bottom = len(mass.rows), plane.y(0.0)
    bars = []
    for i, (rows, positives, chosen) in enumerate(
        zip(mass.rows, mass.positives, mass.chosen, strict=True)
    ):
        low, high = mass.top * i / bins, mass.top * (i + 1) / bins
        left, right = plane.x(low), plane.x(high)
        y, middle = plane.y(positives), plane.y(chosen)
        bars.append(
            {
                "x": round(left + 1, 1),
                "width": round(right - left - 2, 1),
                "y": y,
                "height": round(middle - y, 1),
                "middle": middle,
                "taken": round(bottom - middle, 1),
                "title": f"p {low:.3g} to {high:.3g}: {rows:,} rows, "
                f"{positives:,.1f} positives expected",
            }
        )
    x_ticks = [(x, f"{x:g}") for x in nice_ticks(0.0, mass.top, 5)]
    counts = [(y, count_text(y) if y >= 1 or y == 0 else f"{y:g}") for y in y_ticks]
    return {**axes(plane, x_ticks, counts), "bars": bars}


def reliability_figure(part: Calibration) -> dict[str, Any]:
    """Share of positives against probability, with its intervals and the cut."""
    bins, cut = part.bins, part.threshold
    ends = [*bins["mean"], *bins["rate_high"]]
    if cut is not None and math.isfinite(cut):
        ends.append(cut)
    else:
        cut = None
    most = nice_ticks(0.0, max(ends), 5)
    plane = Plane(most[-1], 0.0, most[-1])
    ticks = [(x, f"{x:g}") for x in most]
    columns = [bins[name] for name in ("mean", "rate", "rate_low", "rate_high")]
    points = [
        {
            "x": plane.x(mean),
            "y": plane.y(rate),
            "low": plane.y(low),
            "high": plane.y(high),
            "title": f"probability {number(mean)}, actual share {number(rate)}",
        }
        for mean, rate, low, high in zip(*columns, strict=True)
    ]
    line = plane.path(bins["mean"], bins["rate"])
    diagonal = plane.path((0.0, most[-1]), (0.0, most[-1]))
    return {
        **axes(plane, ticks, ticks),
        "points": points,
        "path": line,
        "diagonal": diagonal,
        "cut": None if cut is None else (plane.x(cut), f"{cut:.3g}"),
    }


def threshold_figure(part: Thresholds) -> dict[str, Any]:
    """Score against threshold, with the interval of the best one."""
    x, y = part.thresholds, part.scores
    low, high = min(y), max(y)
    if high - low < 1e-9:
        low, high = low - 0.05, high + 0.05
    y_ticks, x_ticks = nice_ticks(low, high, 5), nice_ticks(x[0], x[-1], 5)
    plane = Plane(x[-1], min(low, y_ticks[0]), max(high, y_ticks[-1]), x[0])
    band = None
    if part.interval is not None:
        ends = [min(max(end, x[0]), x[-1]) for end in part.interval]
        band = plane.x(ends[0]), plane.x(ends[1])
    point = None
    if x[0] <= part.threshold <= x[-1]:
        point = plane.x(part.threshold), plane.y(part.score)
    inside = [(t, f"{t:g}") for t in x_ticks if x[0] <= t <= x[-1]]
    return {
        **axes(plane, inside, [(t, f"{t:g}") for t in y_ticks]),
        "path": plane.path(x, y),
        "band": band,
        "point": point,
    }


def groups_figure(part: GroupSummary) -> dict[str, Any]:
    """Groups by their expected score, in bins that their number supports."""
    edges, counts = part.score_edges, part.score_bins
    y_ticks = nice_ticks(0.0, max(*counts, 1), 4, whole=True)
    x_ticks = [x for x in nice_ticks(edges[0], edges[-1], 5) if x >= edges[0] - 1e-9]
    plane = Plane(edges[-1], 0.0, y_ticks[-1], edges[0])
    bottom = plane.y(0.0)
    bars = [
        {
            "x": round(plane.x(low) + 1, 1),
            "width": round(plane.x(high) - plane.x(low) - 2, 1),
            "y": plane.y(count),
            "height": round(bottom - plane.y(count), 1),
            "title": f"{number(low)} to {number(high)}: {count:,}",
        }
        for low, high, count in zip(edges, edges[1:], counts, strict=False)
    ]
    inside = [(x, f"{x:g}") for x in x_ticks if x <= edges[-1] + 1e-9]
    return {**axes(plane, inside, [(y, count_text(y)) for y in y_ticks]), "bars": bars}


def truth_figures(part: Truth) -> dict[str, Any]:
    """The confusion matrix, and the ROC and precision–recall curves."""
    counts = part.counts
    actual = (("tp", "fn"), ("fp", "tn"))
    cells = []
    for row, pair in enumerate(actual):
        total = max(sum(counts[cell] for cell in pair), 1)
        for column, cell in enumerate(pair):
            part_of_row = counts[cell] / total
            cells.append(
                {
                    "x": 70 + 144 * column,
                    "y": 40 + 130 * row,
                    "opacity": round(0.04 + 0.4 * part_of_row, 3),
                    "count": f"{counts[cell]:,}",
                    "share": share(part_of_row, 1.0),
                }
            )
    found: dict[str, Any] = {"cells": cells, "curves": []}
    ranked = part.ranked
    if ranked is None:
        return found
    tp, fp, fn, tn = (counts[cell] for cell in ("tp", "fp", "fn", "tn"))
    prevalence = (tp + fn) / sum(counts.values())
    recall = tp / (tp + fn)
    curves = (
        (
            ("ROC curve", f"AUC {number(ranked.roc_auc)}"),
            ("false positive rate", "recall (true positive rate)"),
            (ranked.false_positive_rate, ranked.true_positive_rate),
            ((0.0, 1.0), (0.0, 1.0)),
            (fp / (fp + tn), recall),
        ),
        (
            (
                "Precision–recall curve",
                f"average precision {number(ranked.average_precision)}",
            ),
            ("recall", "precision"),
            (ranked.recall, ranked.precision),
            ((0.0, 1.0), (prevalence, prevalence)),
            (recall, tp / (tp + fp)) if tp + fp else None,
        ),
    )
    plane = Plane(1.0, 0.0, 1.0, width=SQUARE)
    ticks = [(x, f"{x:g}") for x in (0.0, 0.25, 0.5, 0.75, 1.0)]
    for names, axis_names, line, guess, point in curves:
        found["curves"].append(
            {
                **axes(plane, ticks, ticks),
                "name": f"{names[0]}, {names[1]}",
                "axis_names": axis_names,
                "path": plane.path(*line),
                "guess": plane.path(*guess),
                "point": point and (plane.x(point[0]), plane.y(point[1])),
            }
        )
    return found


def interval_figure(said: Summary) -> dict[str, Any] | None:
    """The interval of the score on a line from 0 to 1."""
    score = said.score
    if score is None or not (score.low >= 0 and score.high <= 1):
        return None
    return {
        "low": round(100 * score.low, 2),
        "width": round(max(100 * (score.high - score.low), 0.6), 2),
        "mean": round(100 * score.mean, 2),
    }


def over_figures(metric: str, over: Over) -> list[dict[str, Any]]:
    """Score, threshold and shares of positives against the number of rows."""
    scores, shares = (over.score, over.recent), (over.predicted, over.actual)
    return [
        _over_figure(metric_title(metric), over, scores, ("so far", "recent")),
        _over_figure("threshold", over, (over.threshold,), ()),
        _over_figure(
            "recent share of positives", over, shares, ("predicted", "actual")
        ),
    ]


def _over_figure(
    name: str, over: Over, lines: Any, names: tuple[str, ...]
) -> dict[str, Any]:
    rows = over.rows
    values = [x for line in lines for x in line if math.isfinite(x)] or [0.0]
    low, high = min(0.0, *values), max(values)
    y_ticks = nice_ticks(low, high if high > low else low + 1.0, 4)
    x_ticks = [x for x in nice_ticks(0.0, rows[-1], 5, whole=True) if x <= rows[-1]]
    plane = Plane(float(rows[-1]), y_ticks[0], y_ticks[-1])
    return {
        **axes(
            plane,
            [(x, count_text(x)) for x in x_ticks],
            [(y, f"{y:g}") for y in y_ticks],
        ),
        "name": name,
        "paths": [plane.path(rows, line) for line in lines],
        "names": names,
        "alarms": [plane.x(alarm.rows) for alarm in over.alarms],
    }
