"""Rules from counts at cuts, where rows are elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from argmetric._input.labels import Labels
from argmetric._input.types import Booleans, Floats
from argmetric._tune._binary import (
    Search,
    Settings,
    finish,
    search_rows,
    tune_metrics,
)
from argmetric._tune._limits import Limits
from argmetric._tune._resample import MANY_ROWS
from argmetric._tune._rule import Rule
from argmetric._tune._scan import Cuts, SortedRows, curve_of
from argmetric.metrics import Metric

SLACK = 1e-9  # rounding of a bound


@dataclass(frozen=True)
class Counted(SortedRows):
    """Rows that are known by their number alone."""

    size: int = 0

    @property
    def n_rows(self) -> int:
        return self.size


def tune_cuts(
    cuts: Cuts, metrics: list[Metric], settings: Settings, labels: Labels
) -> list[Rule]:
    """One rule per metric, over cuts of which some may be left out.

    Samples are those of many rows: bins of neighbouring scores.
    """
    search = _search(cuts, settings)
    inside = bool(cuts.scores[-1] >= 0.0 and cuts.scores[0] <= 1.0)
    return [
        finish(rule, labels, calibrator=None, probabilities=inside, average=None)
        for rule in tune_metrics(search, metrics)
    ]


def _search(cuts: Cuts, settings: Settings) -> Search:
    if cuts.n > MANY_ROWS:
        nothing = np.zeros(0)
        rows = Counted(nothing, nothing > 0, None, None, size=int(cuts.n))
        return Search(rows, cuts, None, False, settings)
    # few rows are resampled one by one
    counts = np.diff(np.stack([cuts.tp, cuts.fp])).astype(np.int64)
    positive = np.tile([True, False], cuts.scores.size)
    each = counts.T.ravel()
    scores = np.repeat(cuts.scores, 2)
    return search_rows(
        np.repeat(scores, each), np.repeat(positive, each), None, None, settings
    )


def can_hold_the_best(cuts: Cuts, metrics: list[Metric], limits: Limits) -> Booleans:
    """Which steps between neighbouring cuts can hide a cut as good as the best.

    Between two cuts both counts lie in a rectangle, and a fraction, like any metric
    that rises with hits and falls with false alarms, is largest in one of its corners.
    """
    alive = np.zeros(cuts.size - 1, dtype=bool)
    for metric in metrics:
        if metric.form is None:
            alive[:] = True
            continue
        alive |= _alive(cuts, metric, limits)
    return alive


def _alive(cuts: Cuts, metric: Metric, limits: Limits) -> Booleans:
    tp, fp, t, n = cuts.tp, cuts.fp, cuts.t, cuts.n
    sign = 1.0 if metric.greater_is_better else -1.0
    top = -np.inf
    allowed = limits.allowed(tp, cuts.k, t, n)
    if allowed is None or allowed.any():
        curve = curve_of(metric.value(tp, cuts.k, t, n), metric, allowed, n)
        top = float(curve.gain.max()) - curve.tolerance
    ends = slice(None, -1), slice(1, None)
    corners = [(tp[one], fp[other]) for one in ends for other in ends]
    values = [sign * metric.value(a, a + b, t, n) for a, b in corners]
    bound: Floats = np.fmax.reduce(values)
    if not metric.greater_is_better:  # an error may have its least value in between
        bound = np.where((cuts.k[:-1] < t) & (cuts.k[1:] > t), np.inf, bound)
    alive = ~(bound < top - SLACK * max(1.0, abs(top)))
    if limits.given:
        floors = replace(limits, max_positives=None)
        could = floors.allowed(tp[1:], tp[1:] + fp[:-1], t, n)
        alive &= True if could is None else could
        alive &= limits.within_budget(cuts.k[:-1], n)
    return alive
