"""What stays the same from period to period, the counts of one, and alarms.

Alarms have a stated rate of false ones. On movement, for the worse and for the
better: the signed root of 2·max ℓ for the last 1, 2, 4 and 8 periods together, against
the reference and all periods before them.
Residuals against the past are independent of each other, so one critical value holds
whatever the sizes are. A map that is wrong costs power alone: ℓ asks whether two
samples of scores differ along it.

On a floor: (floor - mean)/sd of the expected score of the last 4 periods together. The
error of the map is common to all periods: with ρ, its part of the variance, the largest
of T such values stays below c with the probability ∫ φ(u)·Φ((c - √ρ·u)/√(1 - ρ))^T du.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from argmetric._calibrate.calibrate import DEFAULT
from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.fit import fit_map
from argmetric._calibrate.reference import Reference
from argmetric._forecast.group_mean import mean_distribution
from argmetric._forecast.groups import MetricGroups
from argmetric._forecast.posterior_score import GroupSample
from argmetric._ground.groups import Segments
from argmetric._ground.labels import read_predictions
from argmetric._ground.lazy import load_module
from argmetric._ground.odds import from_log_odds
from argmetric._ground.saving import plain
from argmetric._ground.types import AnyArray, Booleans, Floats, Integers, Interval
from argmetric._ground.validation import check_length, to_floats
from argmetric._monitor._bins import POSITIVE, UNKNOWN, MonitorCells, rows_of
from argmetric._monitor._distribution import (
    CERTAIN,
    Maps,
    PeriodLaw,
    Shift,
    likelihood_of,
)
from argmetric._monitor._periods import Every, GroupTable, check_every
from argmetric._verbs.tune import Rule
from argmetric.metrics import Metric, metric_from_dict, metric_to_dict


@dataclass(frozen=True)
class Watch:
    """What stays the same from period to period."""

    metric: Metric
    cells: MonitorCells  # cells of the score
    calibrator: Calibrator  # the map that was fitted on the reference
    # Counts of the reference: known negatives and positives in each cell
    reference: Integers
    rule: Rule | float | None  # what predicts labels; None where they are passed
    every: Every  # the length of a period
    shift: Shift
    coverage: float
    floor: float | None
    false_alarms: float
    # As for `monitor`; "groups" where groups were given without it
    average: str | None = None
    columns: int = 0  # columns of the matrix of scores; 0 where every row has one score

    @cached_property
    def maps(self) -> Maps:
        """What the reference says of the cells."""
        return Maps.of(self.calibrator, self.cells)

    @cached_property
    def own(self) -> Floats:
        """Chance of a positive in each cell under the map itself."""
        return np.asarray(from_log_odds(self.calibrator._map(self.maps.x))[0])

    @cached_property
    def old(self) -> Floats:
        """Rows of the reference in each cell."""
        return np.asarray(self.reference.sum(axis=0), dtype=np.float64)

    @property
    def grouped(self) -> bool:
        """Whether the score is a mean over groups, rows or columns."""
        return self.average in ("groups", "samples", "macro")

    @property
    def unseen(self) -> str:
        """What no period tells without labels, and what would tell it."""
        way = "to_label(100) picks 100 rows worth labelling"
        if self.grouped or self.columns:
            way = "label some groups, drawn at random, and pass them as known="
        return (
            "scores alone cannot reveal a changed label definition, not even where "
            f"the verdict is 'no shift': {way}"
        )

    def select(self, scores: Floats, labels: Any, pos_label: Any) -> Booleans:
        """Which rows are predicted positive; a matrix cell by cell."""
        if self.rule is None:
            if labels is None:
                raise ValueError("labels are needed: these periods have no rule")
            how: Any = {"shape": scores.shape, "logits": self.cells.logits}
            (read,) = read_predictions(labels, scores, pos_label, **how)
            return np.asarray(read.ravel() == 1.0)
        if labels is not None:
            raise ValueError("labels are predicted by the rule: pass p alone")
        if isinstance(self.rule, Rule):
            return self.rule.applies(scores.ravel())
        return np.asarray(scores.ravel() >= self.rule)

    def score(self, counts: Sequence[PeriodCounts]) -> Metric | MeanOverGroups:
        """What is forecast of some periods together."""
        tables = [one.groups for one in counts if one.groups is not None]
        if not self.grouped:
            return self.metric

        return MeanOverGroups.of(self.metric, tables, self.cells.size)

    def to_dict(self) -> dict[str, Any]:
        known = {one.name: getattr(self, one.name) for one in fields(self)}
        known |= {"metric": metric_to_dict(self.metric), "every": self.every.text}
        return plain(known)  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Watch:
        rule, every = values["rule"], values["every"]
        every = int(every) if every.isdigit() else every or None
        return cls(
            metric=metric_from_dict(values["metric"]),
            cells=MonitorCells.from_dict(values["cells"]),
            calibrator=Calibrator.from_dict(values["calibrator"]),
            reference=np.array(values["reference"], dtype=np.int64),
            rule=Rule.from_dict(rule) if isinstance(rule, dict) else rule,
            every=check_every(every, with_time=bool(every)),
            shift=values["shift"],
            coverage=float(values["coverage"]),
            floor=values["floor"],
            false_alarms=float(values["false_alarms"]),
            average=values.get("average"),
            columns=int(values.get("columns", 0)),
        )


class PeriodCounts(NamedTuple):
    """The rows of one period, counted."""

    number: int  # its place among all periods
    # When it begins and when the next one does; numbers of rows without times
    start: str
    end: str
    table: Integers  # counts by predicted label, known label and cell
    # Counts by group too, where a mean over groups is asked for
    groups: GroupTable | None = None


@dataclass(frozen=True)
class MeanOverGroups:
    """The score of a period: the mean of a metric over its groups."""

    metric: Metric  # what is computed in every group
    # Of every row, group by group: cell of the score, whether it was predicted
    # positive, and the true label, nan where unknown
    cell: Integers
    selected: Booleans
    known: Floats
    indptr: Integers  # where each group begins

    @classmethod
    def of(
        cls, metric: Metric, tables: Sequence[GroupTable], cells: int
    ) -> MeanOverGroups:
        """The groups of some periods together."""
        first = np.cumsum([0, *(one.ids.size for one in tables)])
        parts = [
            np.repeat(one.place, one.rows) + begin * 6 * cells
            for one, begin in zip(tables, first[:-1], strict=True)
        ]
        place = np.concatenate(parts)
        state, group = place // cells % 3, place // (6 * cells)
        sizes = np.bincount(group, minlength=int(first[-1]))
        return cls(
            metric,
            place % cells,
            place // (3 * cells) % 2 == 1,
            np.where(state == UNKNOWN, math.nan, state == POSITIVE),
            np.concatenate([[0], np.cumsum(sizes)]),
        )

    @property
    def greater_is_better(self) -> bool:
        return self.metric.greater_is_better

    @cached_property
    def lengths(self) -> Integers:
        return np.diff(self.indptr)

    def values(self, labels: Floats) -> Floats:
        """The metric in every group, for labels of all rows."""
        k, t, hits = (
            np.add.reduceat(one, self.indptr[:-1], dtype=np.float64)
            for one in (self.selected, labels, labels * self.selected)
        )
        return self.metric.value(hits, k, t, self.lengths.astype(np.float64))

    def known_counts(self) -> Integers:
        """Rows with a known label: by group, predicted label and true label."""
        there = ~np.isnan(self.known)
        group = np.repeat(np.arange(self.lengths.size), self.lengths)[there]
        label = 2 * self.selected[there] + self.known[there].astype(np.int64)
        return np.bincount(4 * group + label, minlength=4 * self.lengths.size)

    def actual(self, coverage: float) -> tuple[float, Interval]:
        """Mean over groups all of whose labels are known, and Student's interval."""
        from scipy.special import stdtrit

        known = np.add.reduceat(np.isnan(self.known), self.indptr[:-1]) == 0
        values = self.values(np.nan_to_num(self.known))[known]
        values = values[~np.isnan(values)]
        if values.size < 2:
            only = float(values.mean()) if values.size else math.nan
            return only, Interval(math.nan, math.nan)
        mean, error = values.mean(), values.std(ddof=1) / math.sqrt(values.size)
        wide = float(stdtrit(values.size - 1, (1.0 + coverage) / 2)) * error
        ends = np.clip([mean - wide, mean + wide], values.min(), values.max())
        return float(mean), Interval(*ends.tolist())

    def drawn(self, p: Floats, place: Integers, count: int) -> tuple[Floats, Floats]:
        """Draws of the mean, and its expectation in every draw of chances."""
        place = place[self.selected * (place.size // 2) + self.cell]
        open_, usual = np.isnan(self.known), p.mean(axis=1)
        chance = np.where(open_, usual[place], self.known)
        rows = Segments(chance, 1.0 - chance, self.indptr, self.lengths)
        law = mean_distribution(
            MetricGroups(self.metric, rows, self.known, self.selected, 0.0)
        )[0]
        if not law.values.size:
            return np.full((count, p.shape[1]), math.nan), np.full(p.shape[1], math.nan)
        arrays = place, self.selected, self.known
        sample = GroupSample(self.metric, *arrays, (self.indptr, self.lengths))
        mean, deviation = sample.moments(usual)
        means, deviations = np.array([sample.moments(one) for one in p.T]).T
        ends = sample.ends()
        ends = min(ends[0], law.values[0]), max(ends[1], law.values[-1])
        expected = np.clip(law.mean + means - mean, *ends)
        level = np.random.default_rng(1).permutation(count * means.size)
        level = (level.reshape(count, -1) + 0.5) / level.size
        where = np.searchsorted(np.cumsum(law.probabilities), level)
        drawn = law.values[np.minimum(where, law.values.size - 1)] - law.mean
        scale = deviations / max(deviation, 1e-12)
        return np.clip(expected + drawn * scale, *ends), expected


WEIGHTS = (0.1, 10.0)  # least and largest weight of a row
FOLDS = 2


def read_features(features: Any, m: int, n: int) -> tuple[AnyArray, AnyArray]:
    """The argument `features`: numbers of the reference's rows, and of the others."""
    if not isinstance(features, tuple | list) or len(features) != 2:
        raise TypeError("features must be a pair (X_reference, X)")
    names = "features of the reference", "features of p"
    old, new = (to_floats(x, name) for x, name in zip(features, names, strict=True))
    for x, name, rows in ((old, names[0], m), (new, names[1], n)):
        if x.ndim != 2:
            raise ValueError(f"{name} must have two dimensions, not {x.ndim}")
        check_length(x, name, rows, "the scores")
    if old.shape[1] != new.shape[1]:
        raise ValueError(
            f"features of the reference have {old.shape[1]} columns, and those of p "
            f"{new.shape[1]}"
        )
    return old, new


def domain_weights(old: AnyArray, new: AnyArray) -> Floats:
    """How many times as dense rows of the period are at each row of the reference.

    By boosted trees, out of fold; scaled so that their sum is the number of rows that
    such weights are worth, (Σw)²/Σw².
    """
    ensemble = load_module("sklearn.ensemble")
    selection = load_module("sklearn.model_selection")

    X = np.concatenate([old, new])
    is_new = np.repeat([0, 1], [len(old), len(new)])
    folds = selection.StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    model = ensemble.HistGradientBoostingClassifier(random_state=0)
    p = selection.cross_val_predict(model, X, is_new, cv=folds, method="predict_proba")[
        :, 1
    ]
    p = np.clip(p[: len(old)], 1e-9, 1.0 - 1e-9)
    weight = np.clip(p / (1.0 - p) * len(old) / len(new), *WEIGHTS)
    return np.asarray(weight * weight.sum() / (weight**2).sum())


def weighted_maps(rows: Reference, cells: MonitorCells, weight: Floats) -> Maps:
    """What the weighted reference says of cells."""
    return Maps.of(fit_map(replace(rows, weight=weight), DEFAULT), cells)


WINDOWS = (1, 2, 4, 8)
FLOOR_WINDOW = 4
OWN_MOVE = 2.0  # root of a period that moved itself, and not the ones before it
YEARS = 40_000  # that are simulated
LONGEST_YEAR = 104  # periods of a simulated year; longer ones are several of these
SMALL_STEP = 0.1  # of θ, on which side of 0 the score is compared
NO_STEP = 1e-6  # difference of the score that counts as none


@lru_cache(maxsize=64)
def critical_value(n_periods: int, false_alarms: float) -> float:
    """Value that the statistic on movement exceeds with a stated probability.

    By simulation of quiet years: normal means of periods of equal size, and of a
    reference as large as a period; the size of the reference hardly matters.
    """
    length = min(n_periods, LONGEST_YEAR)
    quiet = (1.0 - false_alarms) ** (length / n_periods)
    rng = np.random.default_rng(0)
    total = np.cumsum(rng.standard_normal((YEARS, length + 1)), axis=1)
    rows = np.arange(1.0, length + 2.0)
    largest = np.zeros(YEARS)
    for window in WINDOWS:
        if window > length:
            continue
        past, end = total[:, :-window], total[:, window:]
        n_past = rows[:-window]
        gap = (end - past) / window - past / n_past
        z = gap / np.sqrt(1.0 / window + 1.0 / n_past)
        largest = np.maximum(largest, np.abs(z).max(axis=1))
    return float(np.quantile(largest, quiet))


@lru_cache(maxsize=256)
def floor_critical_value(rho: float, n_periods: int, false_alarms: float) -> float:
    """Value that the statistic of the floor exceeds with a stated probability."""
    from scipy.optimize import brentq
    from scipy.special import log_ndtr

    x, weight = np.polynomial.hermite_e.hermegauss(120)
    weight = weight / weight.sum()
    rho = min(rho, 0.999)

    def excess(c: float) -> float:
        inside = (c - math.sqrt(rho) * x) / math.sqrt(1.0 - rho)
        return float(weight @ np.exp(n_periods * log_ndtr(inside))) - 1 + false_alarms

    return float(brentq(excess, -10.0, 20.0))


def direction(table: Integers, old: Floats, chances: Floats, metric: Metric) -> float:
    """Whether the score gets better (1) or worse (-1) as the share of positives rises.

    Under label shift hit rate and false positive rate stay as they are. 0 for a metric
    of these two alone, such as recall.
    """
    total = rows_of(table)
    there = np.flatnonzero(total)
    share = table[1].sum(axis=0)[there] / total[there]
    called = np.interp(np.arange(total.size), there, share)
    positive, negative = old * chances, old * (1.0 - chances)
    rates = [one @ called / one.sum() for one in (positive, negative)]
    odds = positive.sum() / negative.sum()
    values = []
    for theta in (-SMALL_STEP, SMALL_STEP):
        t = odds * math.exp(theta) / (1.0 + odds * math.exp(theta))
        tp, n = rates[0] * t, 1e6
        values.append(metric.value(tp * n, (tp + rates[1] * (1 - t)) * n, t * n, n))
    step = float(values[1] - values[0])
    sign = 1.0 if metric.greater_is_better else -1.0
    return 0.0 if not abs(step) > NO_STEP else math.copysign(sign, sign * step)


def signed_roots(old: Floats, new: Floats, chances: Floats) -> Floats:
    """√(2·max ℓ) with the sign of the likeliest θ, for pairs of rows of counts."""
    alike = np.broadcast_to(chances, old.shape)
    theta, level = likelihood_of(old, new, alike).peaks
    return np.copysign(np.sqrt(2.0 * np.maximum(level, 0.0)), theta)


def movements(
    tables: Sequence[Integers],
    old: Floats,
    chances: Floats,
    metric: Metric | None,
    first: int = 0,
    known: Booleans | None = None,
) -> list[tuple[float, float]]:
    """Statistics on movement of every period from `first` on.

    The one of the alarm, and the root of the period against the reference alone. They
    are positive where the score moved for the worse; without a `metric` it rises with
    the chance. Only `known` periods are compared with: strange rows in the past would
    make ordinary ones look moved.
    """
    rows = [np.zeros_like(old), *map(rows_of, tables)]
    sums = np.cumsum(rows, axis=0)
    part = np.ones(len(tables)) if known is None else known.astype(np.float64)
    past = old + np.cumsum(rows * np.append(0.0, part)[:, None], axis=0)
    labels = np.cumsum(np.array(tables), axis=0)
    found = []
    for end in range(first + 1, len(tables) + 1):  # each by itself: sums round alike
        side = 1.0
        if metric is not None:
            side = direction(labels[end - 1], old, chances, metric)
        starts = end - np.array([1, *(w for w in WINDOWS if w <= end)])
        then = past[starts]
        then[0] = old  # the period against the reference alone
        against, *roots = signed_roots(then, sums[end] - sums[starts], chances).tolist()
        furthest = -side * max(roots, key=abs)
        found.append((furthest, -side * against) if side else (math.nan, math.nan))
    return found


def floor_statistic(
    tables: Sequence[Integers],
    old: Floats,
    maps: Maps,
    metric: Metric | MeanOverGroups,
    shift: Shift,
    floor: float,
) -> tuple[float, float]:
    """How far the last periods together lie below a floor, and the map's part ρ.

    Infinite where all labels are known: the score is then certain.
    """
    pooled = np.sum(tables, axis=0)
    law = PeriodLaw(pooled, old, maps, metric, shift)
    (mean, deviation), quiet = law.mixed.level(), law.unmoved.level()[1]
    sign = 1.0 if metric.greater_is_better else -1.0
    if not deviation > CERTAIN:
        return math.copysign(math.inf, sign * (floor - mean)), 0.0
    rho = min(quiet**2 / deviation**2, 1.0)
    return sign * (floor - mean) / deviation, round(rho, 3)
