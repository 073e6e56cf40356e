"""Curves of the expected score for all metrics, at the same few places."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._decide import Decision, threshold_between
from argmetric._expected import PlacedSums, is_long
from argmetric._input.types import Booleans, Floats, Integers
from argmetric._report._asked import Asked
from argmetric._report._knots import candidates, choose_knots, nearest
from argmetric._report._numbers import count_text, nice_ticks
from argmetric._report._summary import Curves, OtherMetric, View
from argmetric._results.display import shortest_cut
from argmetric._results.pictures import reach
from argmetric.metrics import Metric, Recall, get_metric

METRICS = (
    "f1",
    "f2",
    "f0.5",
    "jaccard",
    "mcc",
    "kappa",
    "gmean",
    "balanced_accuracy",
    "accuracy",
)
BETAS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
FLOORS = tuple(round(0.05 * i, 2) for i in range(1, 20))
AS_GOOD_WITHIN = 0.01  # of the score, within which a cut is as good
KEPT = 1 << 22  # numbers of curves that are held; longer ones are made twice


def metrics_for(metric: Metric) -> list[Metric]:
    """The metric asked for, and those it is compared with, each once."""
    names = [*METRICS, *(f"f{beta:g}" for beta in BETAS)]
    zero = metric.zero_division
    found = [metric, *(get_metric(name, zero_division=zero) for name in names)]
    return list({one.name: one for one in reversed(found)}.values())[::-1]


class Family:
    """The curves of some metrics over the same rows, and the best cut for each."""

    def __init__(self, asked: Asked, decision: Decision) -> None:
        self.asked, self.metrics = asked, metrics_for(asked.metric)
        self.key, curve = decision._cuts()
        self.size, self.single = self.key.size, decision.group_ids is None
        self.long = self.single and is_long(self.size) and not asked.logits
        self._ascending = self.key[::-1]
        self.choices: dict[str, OtherMetric] = {}
        self.best: dict[str, int] = {}
        self._held: dict[str, Callable[[], tuple[Floats, Floats]]] = {}
        for metric in self.metrics:
            name, own = metric.name, metric.name == asked.metric.name
            found = decision if own else asked.decide(metric)
            if not self.long and (own or len(self.metrics) * self.size <= KEPT):
                self._held[name] = found._cuts
            cut = found.n_positives if self.single else found.best_cut.n_positives
            self.best[name] = cut
            if own:
                self.near = _near(curve, cut, decision)
            self.choices[name] = OtherMetric(
                found.n_positives,
                found.threshold,
                found.expected,
                self.cut_text(found.threshold),
                name,
                None,
            )

    def cut_text(self, threshold: float | None) -> str | None:
        """A threshold with as few digits as give the same labels."""
        if threshold is None or not math.isfinite(threshold):
            return None
        k = self.size - int(np.searchsorted(self._ascending, threshold))
        high = float(self.key[k - 1]) if k > 0 else math.inf
        low = float(self.key[k]) if k < self.size else -math.inf
        return shortest_cut(threshold, low, high)

    @property
    def whole(self) -> Booleans:
        """Which k split no tie."""
        return np.concatenate([[True], self.key[1:] != self.key[:-1], [True]])

    def without_floors(self) -> list[int]:
        """The best k of all metrics if only the limits on k held."""
        floors = ("min_precision", "min_recall")
        if not any(self.asked.limits.get(name) for name in floors):
            return []
        limits = self.asked.limits | dict.fromkeys(floors)
        free = replace(self.asked, limits=limits)
        return [free.decide(metric).n_positives for metric in self.metrics]

    def values_at(self, places: Integers) -> dict[str, Floats]:
        """All curves at some places; long ones are not made where sums tell the same.

        Parameters
        ----------
        places : ndarray
            Ascending numbers of positives, none and all among them.
        """
        sums = PlacedSums(self.key, places) if self.long else None
        found = {}
        for metric in self.metrics:
            values = None if sums is None else sums.expected(metric)
            found[metric.name] = (
                self._curve(metric)[places] if values is None else values
            )
        return found

    def _curve(self, metric: Metric) -> Floats:
        made = self._held.pop(metric.name, None) or self.asked.decide(metric)._cuts
        return made()[1]

    def hits(self) -> Floats:
        """Expected true positives of the first k rows, k = 0…n."""
        p = self.key
        if self.asked.logits:
            p = np.sort(self.asked.probabilities)[::-1]
        hits = np.zeros(self.size + 1)
        np.cumsum(p, out=hits[1:])
        return hits


def curves_of(
    asked: Asked, decision: Decision, family: Family
) -> tuple[Curves, tuple[OtherMetric, ...]]:
    """The curves at some places, and the best decision for each metric."""
    size, single = family.size, family.single
    hits, recall = family.hits(), None
    if single:
        recall = asked.decide(Recall(zero_division=math.nan))._cuts()[1]
    half, best_cut = decision.cut_half.n_positives, decision.best_cut.n_positives
    low, high = family.near
    must = [half, best_cut, low, high, *family.best.values()]
    least, most = _allowed(asked.limits, size)
    if single:
        must += family.without_floors()
        tenths = [round(share * decision.n_positives) for share in (0.9, 1.1)]
        must += [*(min(one, size) for one in tenths), least, most]
        assert recall is not None
        must += floor_counts(recall, hits)
    allowed = None if single else family.whole
    must_ = np.unique(must)
    places = candidates(size, allowed)
    added = must_ if allowed is None else nearest(np.flatnonzero(allowed), must_)
    places = np.unique(np.concatenate([places, added]))
    hits, recall = hits[places], None if recall is None else recall[places]
    values = family.values_at(places)
    marks = (half, best_cut, decision.n_positives if single else 0)
    views = {
        name: view_of(places, values[name], reach(family.best[name], *marks))
        for name in values
    }
    scaled = np.stack(
        [values[name] / (views[name].high - views[name].low) for name in values]
    )
    kept = choose_knots(places, scaled, np.flatnonzero(np.isin(places, added)))
    k = places[kept]

    def place(count: int) -> int:
        return int(np.searchsorted(k, count).clip(0, k.size - 1))

    thresholds = tuple(threshold_between(family.key, one) for one in k.tolist())
    curves = Curves(
        k=tuple(k.tolist()),
        thresholds=thresholds,
        cuts=tuple(map(family.cut_text, thresholds)),
        hits=tuple(hits[kept].tolist()),
        recall=None if recall is None else tuple(recall[kept].tolist()),
        scores={name: tuple(values[name][kept].tolist()) for name in values},
        best={name: place(best) for name, best in family.best.items()},
        views=views,
        half=place(half),
        best_cut=place(best_cut),
        chosen=place(decision.n_positives) if single else None,
        near=(place(low), place(high)),
        least=least,
        most=most,
    )
    return curves, _choices(family, curves)


def _choices(family: Family, curves: Curves) -> tuple[OtherMetric, ...]:
    """One for each metric of the table, with what the present decision scores in it."""
    own = family.asked.metric.name
    names = [own, *(name for name in METRICS if name != own)]
    found = [family.choices[name] for name in names]
    if curves.chosen is None:
        return tuple(found)
    at = curves.chosen
    return tuple(replace(one, here=curves.scores[one.metric][at]) for one in found)


def _allowed(limits: dict[str, Any], size: int) -> tuple[int, int]:
    most = limits.get("max_positives")
    return limits.get("min_positives", 0), size if most is None else min(most, size)


def floor_counts(recall: Floats, hits: Floats) -> list[int]:
    """Fewest and most positives under floors that can be chosen in the page."""
    fewest = [int(np.argmax(recall >= floor - 1e-12)) for floor in FLOORS]

    def falling(k: int) -> float:
        return -float(hits[k]) / k

    counts = range(1, hits.size)
    most = [bisect_right(counts, 1e-12 - floor, key=falling) for floor in FLOORS]
    return fewest + most


def _near(curve: Floats, k: int, decision: Decision) -> tuple[int, int]:
    """First and last k around the best between which little is lost."""
    sign = 1.0 if decision.metric.greater_is_better else -1.0
    worse = ~(sign * curve >= sign * curve[k] - AS_GOOD_WITHIN)
    before, after = np.flatnonzero(worse[:k]), np.flatnonzero(worse[k:])
    low = int(before[-1]) + 1 if before.size else 0
    return low, k + int(after[0]) - 1 if after.size else curve.size - 1


def view_of(places: Integers, values: Floats, reach: float) -> View:
    """What to draw of a curve: the best cut in the left half, and round numbers."""
    most = min(float(places[-1]), reach)
    inside = values[(places <= most) & np.isfinite(values)]
    low, high = float(inside.min(initial=0.0)), float(inside.max(initial=0.0))
    if inside.size and inside.min() > 0.5 * inside.max() > 0:
        low = float(inside.min())
    if high - low < 1e-6:
        low, high = low - 0.05, high + 0.05
    y_ticks = nice_ticks(low, high, 5)
    low, high = min(low, y_ticks[0]), max(high, y_ticks[-1])
    high += 0.04 * (high - low)
    x_ticks = nice_ticks(0.0, most, 5, whole=True)
    return View(
        most=most,
        low=low,
        high=high,
        x_ticks=tuple((x, count_text(x)) for x in x_ticks if x <= most),
        y_ticks=tuple((y, f"{y:.6g}") for y in y_ticks if low <= y <= high),
    )
