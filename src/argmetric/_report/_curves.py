"""Rows that were decided, and curves of the expected score for all metrics on them.

However many rows there are, a page holds about 512 numbers of positives: so chosen that
straight lines between them stay within half a pixel of every curve as it is drawn.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np

from argmetric._calibrate.resolve import check_pair, is_pair, recalibrate_layout
from argmetric._expected import PlacedSums, is_long
from argmetric._forecast.rivals import SharedDraws, shift_scores
from argmetric._ground.arguments import count_or_share
from argmetric._ground.display import shortest_cut
from argmetric._ground.layout import lay_out
from argmetric._ground.odds import from_log_odds
from argmetric._ground.pictures import reach
from argmetric._ground.types import AnyArray, Booleans, Floats, Integers, ReferenceLike
from argmetric._ground.validation import Probabilities
from argmetric._report._figures import BETAS, FLOORS, axis, count_text
from argmetric._verbs.decide import Decision, decide, threshold_between
from argmetric.metrics import Metric, Recall, get_metric

METRICS: tuple[str, ...] = ("f1", "f2", "f0.5", "jaccard", "mcc", "kappa", "gmean")
METRICS += ("balanced_accuracy", "accuracy")
AS_GOOD_WITHIN = 0.01  # of the score, within which a cut is as good
KEPT = 1 << 22  # numbers of curves that are held; longer ones are made twice
KNOTS = 512
CANDIDATES = 8192  # of longer curves only so many places are evaluated
HEIGHT = 300.0  # pixels of a curve as it is drawn
PIXELS_APART = 0.5  # pixels
SPREAD = 64  # places at which forecasts are computed, besides those that are marked


class Request:
    """Arguments of the call of `decide` that made a decision, and its reference.

    `reference` is a pair (y, p) or None, `names` what to call the file and its columns,
    and `ids` are names of the groups, where groups are numbers for them.
    """

    def __init__(
        self, decision: Decision, reference: ReferenceLike | None, **known: Any
    ) -> None:
        asked = decision._asked
        if not asked:
            raise ValueError(
                "a decision that was pickled or copied has no report: it needs the "
                "input again: decide once more"
            )
        self.decision, self.metric = decision, decision.metric
        self.p, self.logits, self.limits = asked["p"], asked["logits"], asked["limits"]
        self.budget = asked["budget"]
        self.calibrator, own = asked["calibrator"], asked["reference"]
        if reference is None and is_pair(own):  # a calibrator has no rows
            reference = own
        elif reference is not None:
            check_pair(reference)
        self.reference: Any = reference  # a pair, or None
        self.names, self.ids = known["names"], known["ids"]
        self.y, self.pos_label = known["y"], known["pos_label"]
        grouping = {"groups": asked["groups"], "average": asked["average"]}
        self.given = lay_out(self.p, **grouping, logits=self.logits)
        self.layout, found = self.given, self.calibrator
        if found is not None:
            self.layout = recalibrate_layout(self.given, found, logits=self.logits)
        if self.layout.sparse:
            raise ValueError("a report needs a dense p: pass p.toarray()")
        require_scores(self.layout.scores, logits=self.logits)
        self.grouping = grouping | {"groups": self.given.coded}  # that are checked
        self.how = {"logits": self.logits, "reference": found, **self.grouping}
        # Checked once, where there are no columns to be named by
        self.scores = self.p
        if len(self.given.shape) != 2:
            self.scores = Probabilities(self.given.scores, self.logits)
        name = self.names.get("score", "p")
        self.score_name = "log-odds" if self.logits and name == "p" else name

    @property
    def probabilities(self) -> Floats:
        """Calibrated probabilities, in the order of the rows."""
        scores = self.layout.scores
        return from_log_odds(scores)[0] if self.logits else scores

    def decide(self, metric: Metric, limits: dict[str, Any] | None = None) -> Decision:
        """Return the decision on these rows for another metric or other limits."""
        return decide(self.scores, metric, **self.how, **(limits or self.limits))

    def restore_shape(self, values: Floats | Booleans) -> AnyArray:
        """Return one value for each score, in the shape of the input."""
        return np.asarray(self.layout.restore(values))


def require_scores(scores: Floats, *, logits: bool) -> None:
    """Refuse scores that leave nothing to choose by, or nothing to doubt."""
    low, high = float(scores.min()), float(scores.max())
    if low == high:
        raise ValueError(
            f"every score is {low:g}: there is nothing to choose by, and nothing to "
            "report"
        )
    if np.isin(scores, (-math.inf, math.inf) if logits else (0.0, 1.0)).all():
        raise ValueError(
            "every score is 0 or 1: these are labels, not probabilities; a report "
            "needs probabilities, such as predict_proba(X)[:, 1]"
        )


class PageForecasts:
    """Forecasts of all labels on a page, in place of what is expected of them.

    `labels` are those of the page, `expected` is their expected score under the fitted
    calibrator and `mean` their forecast. Without a calibrator that is uncertain both
    are the same, and so are all others.
    """

    def __init__(
        self, asked: Request, labels: AnyArray, expected: float, mean: float
    ) -> None:
        self.asked, found = asked, asked.calibrator
        self._shifts: dict[str, float] = {}
        self.chosen = asked.layout.select(labels) == 1
        self.draws: SharedDraws | None = None
        if found is None or not found._uncertain:
            self.rest = 0.0
            return
        how = {"logits": asked.logits, **asked.decision._asked["forecast"]}
        self.draws = SharedDraws(asked.given, self.chosen, **how)
        self.gap = self.draws.gap(self.chosen, asked.metric)
        self.rest = mean - expected - self.gap

    def of(self, labels: Booleans, expected: float) -> float:
        """Return the mean score that is forecast for other labels, one for each row."""
        if self.draws is None:
            return expected
        gap = self.draws.gap(labels, self.asked.metric)
        return float(shift_scores(expected, gap + self.rest, self.asked.metric))

    def along(
        self,
        values: dict[str, Floats],
        metrics: list[Metric],
        k: Integers,
        at: Integers,
    ) -> dict[str, Floats]:
        """Return forecasts of the first k rows by metric, for their expected `values`.

        They are computed at the numbers `at` and some others; gaps between them are
        interpolated.
        """
        if self.draws is None:
            return values
        if not self.asked.layout.single:
            return self._along_groups(values, metrics, k)
        scores = self.asked.layout.scores, self.asked.given.scores
        order = np.lexsort([-one for one in reversed(scores)])
        spread = np.linspace(0, k.size - 1, SPREAD).astype(np.int64)
        at = np.unique(np.concatenate([at, k[spread]]))
        counts = self.draws.counts_along(order, at)
        n_chosen, found = int(self.chosen.sum()), {}
        is_top = bool(self.chosen[order[:n_chosen]].all())
        for metric in metrics:
            name, is_own = metric.name, metric.name == self.asked.metric.name
            gaps, rest = self.draws.gaps(counts, metric), self.rest * is_own
            if is_top and not is_own:
                own = np.interp(n_chosen, k, values[name])
                gap = float(np.interp(n_chosen, at, gaps))
                rest = float(np.nan_to_num(self.draws.mean(metric) - own - gap))
            moved = np.interp(k, at, gaps) + rest
            found[name] = shift_scores(values[name], moved, metric)
        return found

    def shift(self, metric: Metric) -> float:
        """Return forecast minus expected score of the chosen labels, for any metric."""
        if self.draws is None:
            return 0.0
        if metric.name == self.asked.metric.name:
            return self.gap + self.rest
        if metric.name not in self._shifts:  # with groups it takes a while
            self._shifts[metric.name] = self.draws.gap(self.chosen, metric)
        return self._shifts[metric.name]

    def _along_groups(
        self, values: dict[str, Floats], metrics: list[Metric], k: Integers
    ) -> dict[str, Floats]:
        """Forecast single cuts of groups: a sample of them for each k takes too long.

        Gaps are those of the chosen labels; for the main metric those of two cuts,
        and interpolated between them.
        """
        asked, draws = self.asked, self.draws
        assert draws is not None
        cuts = (
            (asked.decision.cut_half, asked.given.scores),
            (asked.decision.best_cut, asked.layout.scores),
        )
        own = {
            cut.n_positives: draws.gap(scores >= cut.threshold, asked.metric)
            for cut, scores in cuts
        }
        at = sorted(own)
        found = {
            one.name: shift_scores(values[one.name], self.shift(one), one)
            for one in metrics
        }
        gaps = np.interp(k, at, [own[one] for one in at]) + self.rest
        name = asked.metric.name
        return found | {name: shift_scores(values[name], gaps, asked.metric)}


class Family:
    """Curves of several metrics over the same rows, and the best decision for each.

    `metrics` are the main one and those it is compared with, `choices` the best
    decisions by the name of the metric, `best` their numbers of positives at one cut.
    """

    def __init__(self, asked: Request) -> None:
        self.asked, decision = asked, asked.decision
        self.key, curve = decision._cuts()
        self.size, self.single = self.key.size, decision.group_ids is None
        self.long = self.single and is_long(self.size) and not asked.logits
        zero, own = asked.metric.zero_division, asked.metric.name
        names = [*METRICS, *map("f{:g}".format, BETAS)]
        others = [get_metric(name).with_zero_division(zero) for name in names]
        by_name = {one.name: one for one in reversed([asked.metric, *others])}
        self.metrics = [*by_name.values()][::-1]
        self.choices: dict[str, dict[str, Any]] = {}
        self.best: dict[str, int] = {}
        self._held: dict[str, Callable[[], tuple[Floats, Floats]]] = {}
        for metric in self.metrics:
            name = metric.name
            found = decision if name == own else asked.decide(metric)
            if not self.long and (name == own or len(by_name) * self.size <= KEPT):
                self._held[name] = found._cuts
            self.best[name] = (found if self.single else found.best_cut).n_positives
            self.choices[name] = {
                "positives": found.n_positives,
                "threshold": found.threshold,
                "expected": found.expected,
                "cut": self.cut_text(found.threshold),
            }
        sign = 1.0 if asked.metric.greater_is_better else -1.0
        k = self.best[own]  # first and last around it between which little is lost
        worse = ~(sign * curve >= sign * curve[k] - AS_GOOD_WITHIN)
        before, after = np.flatnonzero(worse[:k]), np.flatnonzero(worse[k:])
        low = int(before[-1]) + 1 if before.size else 0
        self.near = low, k + int(after[0]) - 1 if after.size else self.size

    def cut_text(self, threshold: float | None) -> str | None:
        """Return a threshold with the fewest digits that give the same labels."""
        if threshold is None or not math.isfinite(threshold):
            return None
        k = self.size - int(np.searchsorted(self.key[::-1], threshold))
        high = float(self.key[k - 1]) if k > 0 else math.inf
        low = float(self.key[k]) if k < self.size else -math.inf
        return shortest_cut(threshold, low, high)

    @property
    def most(self) -> int:
        """Return the largest number of positives that `max_positives` allows."""
        most = self.asked.limits["max_positives"]
        if most is None:
            return self.size
        return min(int(count_or_share(most, "max_positives", self.size)), self.size)

    def must(self, hits: Floats, recall: Floats | None) -> Integers:
        """Return the numbers of positives k that a page always includes."""
        decision, limits = self.asked.decision, self.asked.limits
        cuts = decision.cut_half.n_positives, decision.best_cut.n_positives
        must = [*cuts, *self.near, *self.best.values()]
        if recall is not None:
            must += [round(share * decision.n_positives) for share in (0.9, 1.1)]
            must += [limits["min_positives"], self.most]
            # Fewest and most positives under floors that can be chosen in the page
            must += [int(np.argmax(recall >= floor - 1e-12)) for floor in FLOORS]
            counts = range(1, hits.size)
            must += [
                bisect_right(counts, 1e-12 - floor, key=lambda k: -hits[k] / k)
                for floor in FLOORS
            ]
        floors = ("min_precision", "min_recall")
        if self.single and any(limits[name] for name in floors):
            free = limits | dict.fromkeys(floors)
            must += [self.asked.decide(one, free).n_positives for one in self.metrics]
        return np.unique(np.minimum(must, self.size))

    def values_at(self, places: Integers) -> dict[str, Floats]:
        """Return all curves at ascending places, with k = 0 and all rows."""
        sums = PlacedSums(self.key, places) if self.long else None
        found = {}
        for metric in self.metrics:  # long curves are not made where sums tell the same
            values = None if sums is None else sums.expected(metric)
            if values is None:
                held = self._held.pop(metric.name, None)
                values = (held or self.asked.decide(metric)._cuts)()[1][places]
            found[metric.name] = values
        return found

    def curves(self, forecasts: PageForecasts) -> dict[str, Any]:
        """Return expected scores at chosen numbers of positives k, each exact.

        With a calibrator that is uncertain they are forecasts, and so are the scores of
        `choices` from then on.

        For each k there is the threshold (None where rows share a score and some are
        taken), the same as text with as few digits as give the same labels, expected
        `hits`, and expected `recall` given that there is a positive (None with groups);
        by metric the scores, the place of the best k, and what is drawn; and places of
        the cut at 0.5, of the best single cut, of the decision (None where each group
        has a cut of its own), and of those `near` it that lose below 0.01.
        """
        asked, decision = self.asked, self.asked.decision
        recall, allowed = None, None
        p = np.sort(asked.probabilities)[::-1] if asked.logits else self.key
        hits = np.zeros(self.size + 1)
        np.cumsum(p, out=hits[1:])
        if self.single:
            recall = asked.decide(Recall(zero_division=math.nan))._cuts()[1]
        added = self.must(hits, recall)
        if not self.single:  # only k that split no tie
            allowed = np.concatenate([[True], self.key[1:] != self.key[:-1], [True]])
            added = _nearest(np.flatnonzero(allowed), added)
        places = np.unique(np.concatenate([candidates(self.size, allowed), added]))
        values = forecasts.along(self.values_at(places), self.metrics, places, added)
        for metric in self.metrics if forecasts.draws is not None else ():
            one, at = self.choices[metric.name], self.best[metric.name]
            if self.single:
                one["expected"] = float(values[metric.name][places.searchsorted(at)])
            else:
                gap = forecasts.shift(metric)
                one["expected"] = shift_scores(one["expected"], gap, metric)
        half, best_cut = decision.cut_half.n_positives, decision.best_cut.n_positives
        marks = (half, best_cut, decision.n_positives if self.single else 0)
        views, scaled = {}, []
        for name, score in values.items():
            view = views[name] = axis_range(
                places, score, reach(self.best[name], *marks)
            )
            scaled.append(score / (view["high"] - view["low"]))
        must = np.flatnonzero(np.isin(places, added))
        kept = choose_knots(places, np.stack(scaled), must)
        k = places[kept]

        def place(count: int) -> int:
            return int(np.searchsorted(k, count).clip(0, k.size - 1))

        thresholds = [threshold_between(self.key, one) for one in k.tolist()]
        return {
            "k": k.tolist(),
            "thresholds": thresholds,
            "cuts": [*map(self.cut_text, thresholds)],
            "hits": hits[k].tolist(),
            "recall": None if recall is None else recall[k].tolist(),
            "scores": {name: score[kept].tolist() for name, score in values.items()},
            "best": {name: place(best) for name, best in self.best.items()},
            "views": views,
            "half": place(half),
            "best_cut": place(best_cut),
            "chosen": place(decision.n_positives) if self.single else None,
            "near": [*map(place, self.near)],
            "least": asked.limits["min_positives"],
            "most": self.most,
            "limits": {name: x for name, x in asked.limits.items() if x},
        }


def axis_range(places: Integers, values: Floats, reach: float) -> dict[str, Any]:
    """Return the drawn range of a curve: best cut left of the middle, round ends."""
    most = min(float(places[-1]), reach)
    inside = values[(places <= most) & np.isfinite(values)]
    low, high = float(inside.min(initial=0.0)), float(inside.max(initial=0.0))
    if inside.size and inside.min() > 0.5 * inside.max() > 0:
        low = float(inside.min())
    if high - low < 1e-6:
        low, high = low - 0.05, high + 0.05
    y = axis("", low, high, text="{:.6g}".format)
    x = axis("", 0.0, most, text=count_text, whole=True, exact=True)
    ends = {"most": most, "low": y.low, "high": y.high + 0.04 * (y.high - y.low)}
    return ends | {"x_ticks": x.ticks, "y_ticks": y.ticks}


def candidates(size: int, allowed: Booleans | None = None) -> Integers:
    """Return numbers of positives to choose from: all, or denser at both ends."""
    if size < CANDIDATES:
        found = np.arange(size + 1)
    else:
        crowded = np.geomspace(1.0, size, CANDIDATES // 3).astype(np.int64)
        even = np.linspace(0.0, size, CANDIDATES // 3).astype(np.int64)
        found = np.unique([0, *crowded, *(size - crowded), *even, size])
    if allowed is None:
        return found
    places = np.flatnonzero(allowed)
    return places if places.size <= CANDIDATES else _nearest(places, found)


def _nearest(places: Integers, wanted: Integers) -> Integers:
    """Return the ascending places that are nearest to the wanted ones."""
    at = np.searchsorted(places, wanted).clip(0, places.size - 1)
    return np.unique(places[at])


def choose_knots(places: Integers | Floats, curves: Floats, must: Integers) -> Integers:
    """Return which of ascending places a page keeps, always those of `must`.

    `curves` are scores in units of the height of a picture, a row for each curve.
    """
    kept = np.zeros(places.size, dtype=bool)
    kept[must] = kept[0] = kept[-1] = True
    while True:
        error = np.zeros(places.size)  # of straight lines, at worst, at each place
        for curve in curves:
            line = np.interp(places, places[kept], curve[kept])
            np.maximum(error, HEIGHT * np.abs(np.nan_to_num(line - curve)), out=error)
        room = KNOTS - int(kept.sum())
        if room <= 0 or error.max(initial=0.0) <= PIXELS_APART:
            break
        interval = np.cumsum(kept)
        worst = np.lexsort((-error, interval))
        first = np.unique(interval[worst], return_index=True)[1]
        peaks = worst[first]
        peaks = peaks[error[peaks] > PIXELS_APART]
        kept[peaks[np.argsort(-error[peaks], kind="stable")][:room]] = True
    free = np.flatnonzero(~kept)  # what is left is spread, for cuts to be moved to
    if room > 0 and free.size:
        picks = np.linspace(0, free.size - 1, min(room, free.size)).astype(np.int64)
        kept[free[picks]] = True
    return np.flatnonzero(kept)
