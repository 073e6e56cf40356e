"""How a decision came out: group by group, and against what came true."""

from __future__ import annotations

import contextlib
import math
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._forecast.result import Forecast
from argmetric._ground.discrete import RARE, beside, probability_outside
from argmetric._ground.labels import read_together
from argmetric._ground.pictures import adaptive_edges
from argmetric._ground.types import AnyArray, Floats
from argmetric._report import _figures as draw
from argmetric._report._curves import Request
from argmetric._report._figures import Figure, number, percent, scores, share
from argmetric._report._report import PageTable, Row, Section
from argmetric._verbs.decide import UndefinedScoreError, evaluate

LEAST_CERTAIN = 10
MANY_POSITIVES = 6  # of a group, from which they are counted together
QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
SPREAD = ("", "minimum", "lower quartile", "median", "upper quartile", "maximum")
RANKED_POINTS = 200  # of a ROC or precision–recall curve
_TICKS = tuple((x, f"{x:g}") for x in QUARTILES)


def groups_section(
    asked: Request, labels: AnyArray, units: str, scale: str, metric: str
) -> Section:
    """Return sizes, cuts and scores of the groups, and the ten least certain.

    A cut is the lowest score that was chosen in a group.
    """
    layout, values, unit = asked.layout, asked.decision.group_expected, units[:-1]
    assert layout.ids is not None
    assert values is not None
    chosen, lowest = layout.select(labels) == 1, layout.scores
    if layout.rows is not None:
        chosen, lowest = chosen[layout.rows], lowest[layout.rows]
    lowest = np.where(chosen, lowest, np.inf)
    cuts = np.minimum.reduceat(lowest, layout.indptr[:-1])
    positives = np.add.reduceat(chosen.astype(np.int64), layout.indptr[:-1])
    better = asked.metric.greater_is_better
    order = np.nan_to_num(values if better else -values, nan=np.inf)
    worst = np.argsort(order, kind="stable")[:LEAST_CERTAIN].tolist()
    sizes = np.quantile(layout.sizes, QUARTILES).tolist()
    spread: list[Row] = [("size", *(f"{x:,.0f}" for x in sizes))]
    own, cut = f"expected {metric}", f"lowest {scale} chosen"
    defined = values[~np.isnan(values)]
    for name, some in ((cut, cuts[np.isfinite(cuts)]), (own, defined)):
        if some.size:
            spread.append((name, *map(number, np.quantile(some, QUARTILES).tolist())))
    counts = np.bincount(np.minimum(positives, MANY_POSITIVES)).tolist()
    by_positives = tuple(
        (str(i) if i < MANY_POSITIVES else f"{i} or more", f"{n:,}")
        for i, n in enumerate(counts)
    )
    names = layout.ids if asked.ids is None else asked.ids
    least: list[Row] = []
    for g in worst:
        cells = (number(cuts[g]) if positives[g] else "", number(values[g]))
        counted = (f"{layout.sizes[g]:,}", f"{positives[g]:,}")
        least.append((draw.short(names[g]), *counted, *cells))
    header = (asked.names.get("group", unit), "rows", "positives", cut, own)
    side = "lowest" if better else "highest"
    empty = f"{counts[0]:,} of them get an empty answer: no row is predicted positive."
    if not counts[0]:
        empty = "None of them gets an empty answer."
    n_groups, edges = (
        x.tolist() for x in np.histogram(defined, adaptive_edges(defined))
    )
    ends = [scores(*pair) for pair in pairwise(edges)]
    titles = [f"{one}: {n:,}" for one, n in zip(ends, n_groups, strict=True)]
    figure = Figure(
        f"Each bar counts {units} by their {own}. Check the {side} ones first: the "
        "table below names them.",
        draw.axis(own, edges[0], edges[-1], exact=True),
        draw.axis(units, 0.0, max(*n_groups, 1), 4, text=draw.count_text, whole=True),
        (draw.bars(edges, titles, ("bar taken", "", [0.0] * len(n_groups), n_groups)),),
    )
    title, per = f"{layout.sizes.size:,} {units}", f"Predicted positives per {unit}"
    tables = (
        PageTable(f"Spread over the {units}", SPREAD, spread),
        PageTable(per, ("positives", units), by_positives),
        PageTable(f"The {len(least)} {units} with the {side} {own}", header, least),
    )
    return Section("groups", title, (empty,), tables, (figure,))


class ActualScores:
    """Actual scores of the labels, of the cut at one half and of the best one.

    `score` has the counts of the labels, `expected_counts` are those to expect, and
    `true` are rows that are positive,
    `outside` is how rarely a score lies as far outside of its forecast (None inside),
    `far` whether that is too rare to be an accident.
    """

    def __init__(
        self,
        asked: Request,
        cuts: tuple[float, float],
        labels: AnyArray,
        found: Forecast,
    ) -> None:
        layout, p = asked.layout, asked.probabilities
        (y,) = read_together(asked.pos_label, shape=layout.shape, y=asked.y)
        self.true, chosen = layout.select(y) == 1.0, layout.select(labels) == 1
        judged = {"metric": asked.metric, **asked.grouping}
        score: Any = partial(evaluate, asked.restore_shape(self.true), **judged)
        self.score: Any = score(asked.restore_shape(chosen))
        self.half, self.best_cut = math.nan, math.nan
        with contextlib.suppress(UndefinedScoreError):
            self.half = score(asked.restore_shape(asked.given.scores >= cuts[0]))
        with contextlib.suppress(UndefinedScoreError):
            self.best_cut = score(asked.restore_shape(layout.scores >= cuts[1]))
        self.outside = probability_outside(found, self.score)
        self.far = self.outside is not None and self.outside < RARE
        tp, fp = float(p[chosen].sum()), float((1.0 - p)[chosen].sum())
        fn, tn = float(p[~chosen].sum()), float((1.0 - p)[~chosen].sum())
        self.expected_counts = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        self.ranked = ranked_figures(layout.scores, self.true, self.score.counts)

    def section(
        self, metric: str, found: Forecast, expected: list[tuple[str, str, float]]
    ) -> Section:
        """Return the actual score beside its forecast, the counts and the curves."""
        counts, wide = self.score.counts, percent(found.coverage)
        actual, low, high = beside(float(self.score), *found.interval, number)
        text = f"Actual {metric} {actual}, forecast {number(found.mean)} "
        text += f"({wide} interval {low} to {high})."
        tp, fp, fn, tn = (
            f"{counts[name]:,} ({mean:,.1f} expected)"
            for name, mean in self.expected_counts.items()
        )
        header: Row = ("", "predicted positive", "predicted negative")
        title = "Confusion matrix"
        rows = (("actual positive", tp, fn), ("actual negative", fp, tn))
        matrix = PageTable(title, header, rows)
        known = {"chosen": self.score, "cut": self.best_cut, "half": self.half}
        compared = tuple(
            (name, number(value), number(known[look])) for name, look, value in expected
        )
        header = ("", "forecast", "actual")
        table = PageTable(f"Forecast and actual {metric}", header, compared)
        square = [[counts["tp"], counts["fn"]], [counts["fp"], counts["tn"]]]
        confusion = Figure(
            "Shares are of each row; cells outside the diagonal are errors. Raise the "
            "threshold for fewer false positives, lower it to miss fewer positives.",
            None,
            None,
            ({"draw": "cells", "name": "", "counts": square},),
            title,
        )
        figures = (confusion, *self.ranked)
        return Section("truth", f"Actual {metric}", (text,), (matrix, table), figures)


def ranked_figures(
    values: Floats, true: npt.NDArray[Any], counts: dict[str, int]
) -> tuple[Figure, ...]:
    """Return ROC and precision-recall curves, thinned, by distinct scores.

    There are none where all rows have the same label.
    """
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    hits, k = np.cumsum(true[order])[last].astype(np.float64), last + 1.0
    n_positives, n_negatives = float(hits[-1]), float(true.size - hits[-1])
    if not n_positives or not n_negatives:
        return ()
    recall, precision = hits / n_positives, hits / k
    x = np.concatenate([[0.0], (k - hits) / n_negatives])
    y = np.concatenate([[0.0], recall])
    area = float(np.diff(x) @ (y[1:] + y[:-1]) / 2.0)
    mean = float(np.diff(y) @ precision)
    tp, called = counts["tp"], counts["tp"] + counts["fp"]
    rate, own = n_positives / true.size, tp / n_positives
    roc = _ranked_figure(
        f"ROC curve, AUC {number(area)}",
        "Up and to the left is better; the dotted line is guessing. With few positives "
        "this curve looks better than the decisions are: judge by the next one.",
        {"false positive rate": x, "recall (true positive rate)": y},
        (0.0, 1.0),
        [(counts["fp"] / n_negatives, own)],
    )
    return roc, _ranked_figure(
        f"Precision–recall curve, average precision {number(mean)}",
        "Up and to the right is better; the dotted line is guessing, the "
        f"prevalence ({share(rate)}). A higher threshold moves the point left.",
        {"recall": recall, "precision": precision},
        (rate, rate),
        [(own, tp / called)] if called else [],
    )


def _ranked_figure(
    title: str,
    caption: str,
    curve: dict[str, Floats],
    guess: tuple[float, float],
    marked: list[tuple[float, float]],
) -> Figure:
    """Draw a curve of two rates, thinned to points at about equal distances.

    `curve` has x and y by their names, `guess` the heights of the line of a guess at
    both ends, `marked` the points to mark.
    """
    x, y = curve.values()
    along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    wanted = np.linspace(0.0, along[-1], RANKED_POINTS)
    kept = np.unique([0, *np.searchsorted(along, wanted), along.size - 1])
    drawn = (
        draw.line((0.0, 1.0), guess, "same"),
        draw.line(x[kept].tolist(), y[kept].tolist()),
    )
    layers = (*drawn, *(draw.points([a], [b]) for a, b in marked))
    across, up = (draw.FigureAxis(name, 0.0, 1.0, _TICKS) for name in curve)
    return Figure(caption, across, up, layers, title)
