"""Settings that are the same for all periods, and alarms.

Alarms have a stated rate of false ones. On movement, for the worse and for the
better: the signed root of 2·max ℓ for the last 1, 2, 4 and 8 periods together, against
the reference and all periods before them.
Residuals against the past are independent of each other, so one critical value holds
whatever the sizes are. A wrong calibrator costs power alone: ℓ asks whether two
samples of scores differ along it.

On a floor: (floor - mean)/sd of the expected score of the last 4 periods together. The
error of the calibrator is common to all periods: with ρ, its part of the variance, the
largest of T such values stays below c with probability ∫ φ(u)·Φ((c - √ρ·u)/√(1 - ρ))^T
du.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.fit import DEFAULT, fit_calibrator
from argmetric._calibrate.reference import Reference
from argmetric._ground.labels import read_predictions
from argmetric._ground.lazy import load_module
from argmetric._ground.odds import from_log_odds
from argmetric._ground.saving import plain
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    Booleans,
    Floats,
    Integers,
    Label,
    LabelsLike,
)
from argmetric._ground.validation import check_length, to_floats
from argmetric._monitor._bins import PeriodBins, rows_of
from argmetric._monitor._distribution import (
    CERTAIN,
    BinProbabilities,
    PeriodDistribution,
    Shift,
    period_likelihood,
)
from argmetric._monitor._group_score import MeanOverGroups
from argmetric._monitor._periods import Every, PeriodCounts, restore_every
from argmetric._verbs.tune import Rule
from argmetric.metrics import Metric, metric_from_dict, metric_to_dict


@dataclass(frozen=True)
class Watch:
    """Metric, reference and settings that are the same for all periods."""

    metric: Metric
    bins: PeriodBins
    calibrator: Calibrator  # fitted on the reference
    reference: Integers  # negatives and positives of the reference in each bin
    rule: Rule | float | None  # what predicts labels; None where they are passed
    every: Every  # the length of a period
    shift: Shift
    coverage: float
    floor: float | None
    false_alarms: float
    # As for `monitor`; "groups" where there are groups and no average
    average: str | None = None
    columns: int = 0  # columns of the matrix of scores; 0 where every row has one score

    @cached_property
    def probabilities(self) -> BinProbabilities:
        """Probabilities of the bins under all that the reference allows."""
        return BinProbabilities.from_calibrator(self.calibrator, self.bins)

    @cached_property
    def own(self) -> Floats:
        """Probability of a positive in each bin under the calibrator itself."""
        x = self.probabilities.x
        return np.asarray(from_log_odds(self.calibrator._map(x))[0])

    @cached_property
    def old(self) -> Floats:
        """Rows of the reference in each bin."""
        return np.asarray(self.reference.sum(axis=0), dtype=np.float64)

    @property
    def level(self) -> float:
        """Probability of no false alarm of a kind in one period."""
        return float((1.0 - self.false_alarms) ** (1.0 / self.every.per_year))

    @property
    def is_grouped(self) -> bool:
        """Whether the score is a mean over groups, rows or columns."""
        return self.average in ("groups", "samples", "macro")

    @property
    def unseen(self) -> str:
        """Return a note on changes that only labels can reveal."""
        way = "to_label(100) picks 100 rows worth labelling"
        if self.is_grouped or self.columns:
            way = "label some groups, drawn at random, and pass them as known="
        return (
            "scores alone cannot reveal a changed label definition, not even where "
            f"the verdict is 'no shift': {way}"
        )

    def select(
        self, scores: Floats, labels: LabelsLike | None, pos_label: Label | None
    ) -> Booleans:
        """Return which rows are predicted positive; a matrix cell by cell."""
        if self.rule is None:
            if labels is None:
                raise ValueError("labels are needed: these periods have no rule")
            how: Any = {"shape": scores.shape, "logits": self.bins.logits}
            (read,) = read_predictions(labels, scores, pos_label, **how)
            return np.asarray(read.ravel() == 1.0)
        if labels is not None:
            raise ValueError("labels are predicted by the rule: pass p alone")
        if isinstance(self.rule, Rule):
            return self.rule.applies(scores.ravel())
        return np.asarray(scores.ravel() >= self.rule)

    def score(self, counts: Sequence[PeriodCounts]) -> Metric | MeanOverGroups:
        """Return the metric, or the mean of it over the groups of some periods."""
        tables = [one.groups for one in counts if one.groups is not None]
        if not self.is_grouped:
            return self.metric
        return MeanOverGroups.from_tables(self.metric, tables, self.bins.size)

    def distribution(
        self,
        table: Integers,
        score: Metric | MeanOverGroups,
        weighted: BinProbabilities | None = None,
    ) -> PeriodDistribution:
        """Return the distribution of the score of some rows (2, 3, n_bins)."""
        reference = self.old, self.probabilities
        how: Any = {"shift": self.shift, "weighted": weighted}
        return PeriodDistribution(table, *reference, score, **how)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        values |= {"metric": metric_to_dict(self.metric), "every": self.every.text}
        return plain(values)  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Watch:
        """Return what `to_dict` described; formats before 2 called bins cells."""
        rule = values["rule"]
        return cls(
            metric=metric_from_dict(values["metric"]),
            bins=PeriodBins.from_dict(values.get("bins") or values["cells"]),
            calibrator=Calibrator.from_dict(values["calibrator"]),
            reference=np.array(values["reference"], dtype=np.int64),
            rule=Rule.from_dict(rule) if isinstance(rule, dict) else rule,
            every=restore_every(values["every"]),
            shift=values["shift"],
            coverage=float(values["coverage"]),
            floor=values["floor"],
            false_alarms=float(values["false_alarms"]),
            average=values.get("average"),
            columns=int(values.get("columns", 0)),
        )


WEIGHTS = (0.1, 10.0)  # least and largest weight of a row
FOLDS = 2


def read_features(
    features: tuple[ArrayLike, ArrayLike], m: int, n: int
) -> tuple[AnyArray, AnyArray]:
    """Return the checked `features` of m rows of a reference and of n new rows."""
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
    """Return the density of the period over that of the reference, at its rows.

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


def weighted_probabilities(
    rows: Reference, bins: PeriodBins, weight: Floats
) -> BinProbabilities:
    """Return the probabilities of bins under a weighted reference (n_rows,)."""
    calibrator = fit_calibrator(replace(rows, weight=weight), DEFAULT)
    return BinProbabilities.from_calibrator(calibrator, bins)


WINDOWS = (1, 2, 4, 8)
FLOOR_WINDOW = 4
YEARS = 40_000  # that are simulated
LONGEST_YEAR = 104  # periods of a simulated year; longer ones are several of these
SMALL_STEP = 0.1  # of θ, on which side of 0 the score is compared
NO_STEP = 1e-6  # difference of the score that counts as none


@lru_cache(maxsize=64)
def critical_value(n_periods: int, false_alarms: float) -> float:
    """Return the value that the statistic on movement exceeds by a false alarm.

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
    """Return the value that the statistic of the floor exceeds by a false alarm."""
    from scipy.optimize import brentq
    from scipy.special import log_ndtr

    x, weight = np.polynomial.hermite_e.hermegauss(120)
    weight = weight / weight.sum()
    rho = min(rho, 0.999)

    def excess(c: float) -> float:
        inside = (c - math.sqrt(rho) * x) / math.sqrt(1.0 - rho)
        return float(weight @ np.exp(n_periods * log_ndtr(inside))) - 1 + false_alarms

    return float(brentq(excess, -10.0, 20.0))


def direction(
    table: Integers, old: Floats, probabilities: Floats, metric: Metric
) -> float:
    """Return 1 if the score gets better as the prevalence rises, or -1 if worse.

    Under prevalence shift hit rate and false positive rate stay as they are. 0 for a
    metric of these two alone, such as recall.
    """
    total = rows_of(table)
    there = np.flatnonzero(total)
    rate = table[1].sum(axis=0)[there] / total[there]
    called = np.interp(np.arange(total.size), there, rate)
    positive, negative = old * probabilities, old * (1.0 - probabilities)
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


def signed_roots(old: Floats, new: Floats, probabilities: Floats) -> Floats:
    """Return √(2·max ℓ) with the sign of the likeliest θ, for each row of counts."""
    alike = np.broadcast_to(probabilities, old.shape)
    theta, level = period_likelihood(old, new, alike).peaks
    return np.copysign(np.sqrt(2.0 * np.maximum(level, 0.0)), theta)


def movements(
    tables: Sequence[Integers],
    old: Floats,
    probabilities: Floats,
    metric: Metric | None,
    first: int = 0,
    *,
    usual: Booleans | None = None,
) -> list[tuple[float, float]]:
    """Return statistics on movement of every period from `first` on.

    The one of the alarm, and the root of the period against the reference alone. They
    are positive where the score moved for the worse; without a `metric` it rises with
    the probability. Only `usual` periods are compared with: strange rows in the past
    would make ordinary ones look moved.

    old, probabilities : ndarray of shape (n_bins,)
    usual : ndarray of bool, shape (n_periods,)
    """
    rows = [np.zeros_like(old), *map(rows_of, tables)]
    sums = np.cumsum(rows, axis=0)
    part = np.ones(len(tables)) if usual is None else usual.astype(np.float64)
    past = old + np.cumsum(rows * np.append(0.0, part)[:, None], axis=0)
    labels = np.cumsum(np.array(tables), axis=0)
    statistics = []
    for end in range(first + 1, len(tables) + 1):  # each by itself: sums round alike
        side = 1.0
        if metric is not None:
            side = direction(labels[end - 1], old, probabilities, metric)
        starts = end - np.array([1, *(w for w in WINDOWS if w <= end)])
        then = past[starts]
        then[0] = old  # the period against the reference alone
        against, *roots = signed_roots(
            then, sums[end] - sums[starts], probabilities
        ).tolist()
        furthest = -side * max(roots, key=abs)
        own = -side * against
        statistics.append((furthest, own) if side else (math.nan, math.nan))
    return statistics


def floor_statistic(
    tables: Sequence[Integers],
    watch: Watch,
    metric: Metric | MeanOverGroups,
    floor: float,
) -> tuple[float, float]:
    """Return how far periods lie below a floor, in sd, and the calibrator's part ρ.

    Infinite where all labels are known: the score is then certain.
    """
    distribution = watch.distribution(np.sum(tables, axis=0), metric)
    mean, deviation = distribution.mixture.level()
    quiet = distribution.no_shift.level()[1]
    sign = 1.0 if metric.greater_is_better else -1.0
    if not deviation > CERTAIN:
        return math.copysign(math.inf, sign * (floor - mean)), 0.0
    rho = min(quiet**2 / deviation**2, 1.0)
    return sign * (floor - mean) / deviation, round(rho, 3)
