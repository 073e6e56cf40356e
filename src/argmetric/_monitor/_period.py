"""One period: its forecast, its verdict and its alarm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

import numpy as np

from argmetric._ground.discrete import beside
from argmetric._ground.display import Field, between, only_shown
from argmetric._ground.types import Floats, Integers, Interval
from argmetric._monitor._bins import (
    BELOW,
    CANNOT_SAY,
    NEGATIVE,
    NO_ALARM,
    POSITIVE,
    n_outside,
)
from argmetric._monitor._distribution import (
    BinProbabilities,
    PeriodDistribution,
    population_prevalence,
)
from argmetric._monitor._periods import PeriodCounts
from argmetric._monitor._watch import (
    FLOOR_WINDOW,
    Watch,
    critical_value,
    floor_critical_value,
    floor_statistic,
    movements,
)
from argmetric._monitor._words import OnePeriod, beside_floor, restore_period
from argmetric.metrics import Metric

ACTUAL_DRAWS = 2000


LATE = (  # values of a period that are computed when they are used
    "population_interval",
    "if_prevalence_shift",
    "if_prevalence_shift_interval",
    "if_covariate_shift",
    "if_covariate_shift_interval",
)


class LateValues(dict[str, Any]):
    """Values of a period that are computed at their first use."""

    def __init__(self, distribution: PeriodDistribution, watch: Watch) -> None:
        self._posterior, self._watch = distribution, watch

    def __missing__(self, name: str) -> object:
        distribution, watch = self._posterior, self._watch
        if name == "population_interval":
            rows = watch.old, distribution.new, watch.own
            self[name] = population_prevalence(*rows, watch.coverage)
        else:
            kind = name.removesuffix("_interval")
            draws = getattr(distribution, kind.removeprefix("if_"))
            self[kind], self[f"{kind}_interval"] = draws.summary(watch.coverage)
        return self[name]


@dataclass(frozen=True, repr=False)
class Period(OnePeriod):
    """One period."""

    # start, end: when it begins, and when the next one does; without times, numbers of
    # rows
    start: str
    end: str
    # n, n_positives, n_known: rows, predicted positives, and rows whose true label is
    # known; of a matrix its cells
    n: int
    n_positives: int
    n_known: int
    # mean, interval: forecast of the score, all readings mixed. The interval holds
    # under every reading that is not ruled out, unless the verdict is "cannot say
    # without labels"; `answer` says so.
    mean: float
    interval: Interval
    # prevalence among the rows, and its interval
    prevalence: float
    prevalence_interval: Interval
    # probabilities of the three readings: nothing happened, covariate shift, and
    # prevalence shift
    p_nothing: float
    p_covariate_shift: float
    p_prevalence_shift: float
    # "no shift", "prevalence shift" or "cannot say without labels". A period that moved
    # itself has shifted where there is an alarm on movement. Where all labels are known
    # they decide: "no alarm" or "below the floor"; "all labels known" without a floor,
    # and where there is another alarm.
    verdict: str
    # parts of the variance of the score that are due to the calibrator, to the
    # prevalence and to the labels given their probabilities
    from_calibrator: float
    from_prevalence: float
    from_labels: float
    # actual, actual_interval: score of the rows whose label is known, and an interval
    # for such rows. A mean over groups or samples takes those all of whose labels are
    # known.
    actual: float
    actual_interval: Interval
    n_outside: int  # rows whose scores lie outside of those of the reference
    # values that cost more than all others together, and follow from the same rows
    later: dict[str, Any] = field(compare=False)
    # z, z_reference, z_floor: statistics of the alarms: movement against the past,
    # movement against the reference, and the floor. Large is bad. The first two are
    # negative where the score moved for the better; that of the floor is infinite where
    # all labels are known.
    z: float = math.nan
    z_reference: float = math.nan
    z_floor: float = math.nan
    rho: float = 0.0
    # critical, critical_floor: values that z, in absolute value, and z_floor must
    # exceed for an alarm
    critical: float = math.nan
    critical_floor: float = math.nan
    # "", or "moved for the worse", "moved for the better" and "below the floor", with a
    # comma between two. A score that improves without a cause is suspect.
    alarm: str = ""
    # "", or whether the score of these rows alone meets the floor, such as "floor 0.6
    # may be missed"
    floor_text: str = ""

    @property
    def population_interval(self) -> Interval:
        """Interval of the prevalence in the population, if only the prevalence changed.

        It is estimated from the scores alone.
        """
        return cast(Interval, self.later["population_interval"])

    @property
    def if_prevalence_shift(self) -> float:
        """Forecast of the score under prevalence shift."""
        return float(self.later["if_prevalence_shift"])

    @property
    def if_prevalence_shift_interval(self) -> Interval:
        return cast(Interval, self.later["if_prevalence_shift_interval"])

    @property
    def if_covariate_shift(self) -> float:
        """Forecast of the score under covariate shift."""
        return float(self.later["if_covariate_shift"])

    @property
    def if_covariate_shift_interval(self) -> Interval:
        return cast(Interval, self.later["if_covariate_shift_interval"])

    def values(self) -> dict[str, Any]:
        """Return all values by name."""
        return {name: getattr(self, name) for name in NAMES}

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> Period:
        """Return the period with these `values()`, late ones among them."""
        values = restore_period(values)
        late = {name: values.pop(name) for name in LATE}
        return cls(**values, later=late)

    def _prevalence_text(self) -> str:
        return f"prevalence {self.prevalence:.3f}"

    def fields(self) -> list[Field]:
        ends, floor = between(self.prevalence_interval), "none"
        if not math.isnan(self.z_floor):
            z, _, above = beside(
                self.z_floor, -math.inf, self.critical_floor, "{:.2f}".format
            )
            floor = f"z {z}, an alarm above {above}"
        labels = f"{self.n_positives:,} predicted positive, "
        line = "prevalence", f"{self.prevalence:.3f} ({ends})"
        lines = self._in_lines(labels, line, "the score does not depend on prevalence")
        values = [Field(*pair) for pair in values_of(self).items()]
        return [*only_shown([*lines, ("floor", floor)]), *values]


def _names() -> tuple[str, ...]:
    """Return the names of all values, the late ones in their places."""
    names = [one.name for one in fields(Period) if one.name != "later"]
    for before, late in (("prevalence_interval", LATE[:1]), ("verdict", LATE[1:])):
        place = names.index(before) + 1
        names[place:place] = late
    return tuple(names)


NAMES = _names()


def values_of(period: Period) -> dict[str, Any]:
    """Return the values of a period by name, and its answer in words."""
    values = {key: value for key, value in period.values().items() if key != "rho"}
    return values | period.answer._asdict()


def forecast_period(
    counts: PeriodCounts, watch: Watch, weighted: BinProbabilities | None = None
) -> Period:
    """Forecast a period by itself; `weighted` as for `PeriodDistribution`."""
    table = counts.table
    score = watch.score([counts])
    distribution = watch.distribution(table, score, weighted)
    coverage = watch.coverage
    if isinstance(score, Metric):
        known = table[None, :, [NEGATIVE, POSITIVE]].sum(axis=3)
        actual = actual_score(known, score, coverage)
    elif watch.average == "macro":
        actual = actual_score(score.known_counts(), watch.metric, coverage)
    else:
        actual = score.actual(coverage)
    later: dict[str, Any] = LateValues(distribution, watch)
    if watch.shift == "auto":  # its draws are there, and need not be kept
        later = {name: later[name] for name in LATE}
    return Period(
        counts.start,
        counts.end,
        int(table.sum()),
        int(table[1].sum()),
        int(table[:, [NEGATIVE, POSITIVE]].sum()),
        *distribution.summary(coverage),
        *distribution.prevalence_summary(coverage),
        *distribution.readings,
        distribution.readings.verdict(),
        *distribution.mixture.parts(),
        *actual,
        n_outside(table),
        later,
    )


def actual_score(
    known: Integers, metric: Metric, coverage: float
) -> tuple[float, Interval]:
    """Return the score of the rows whose label is known, and an interval for such rows.

    The interval is for the shares of the four cells of the confusion matrix, with half
    a row added to each (Jeffreys). The score is a mean over columns.
    """
    counts = known.reshape(-1, 4).astype(np.float64)
    n = counts.sum(axis=1)

    def mean(four: Floats) -> Floats:
        """Return the mean metric over groups, counts of shape (..., n_groups, 4)."""
        _, missed, false, hits = np.moveaxis(four, -1, 0)
        values = metric.value(hits, hits + false, hits + missed, n)
        there = ~np.isnan(values)
        count = there.sum(axis=-1)
        total = np.where(there, values, 0.0).sum(axis=-1)
        return np.where(count > 0, total / np.maximum(count, 1), math.nan)

    return drawn_score(counts, mean, coverage, prior=0.5, axis=(-1,))


def drawn_score(
    counts: Floats,
    score: Callable[[Floats], Floats],
    coverage: float,
    *,
    prior: float,
    axis: tuple[int, ...],
) -> tuple[float, Interval]:
    """Return the score of counts, and an interval; nan where a table has no row.

    Frequencies of the cells of a table, which lie along `axis`, have the posterior
    Dirichlet(counts + prior).
    """
    n = counts.sum(axis=axis, keepdims=True)
    if not n.all():
        return math.nan, Interval(math.nan, math.nan)
    rng = np.random.default_rng(0)
    draws = rng.standard_gamma(counts + prior, (ACTUAL_DRAWS, *counts.shape))
    tails = [(1.0 - coverage) / 2, (1.0 + coverage) / 2]
    values = score(draws * (n / draws.sum(axis=axis, keepdims=True)))
    return float(score(counts)), Interval(*np.nanquantile(values, tails).tolist())


def with_alarms(
    periods: list[Period], counts: list[PeriodCounts], watch: Watch, first: int
) -> list[Period]:
    """Add the statistics of the alarms, from the first period that changed on."""
    tables = [one.table for one in counts]
    usual = np.array([one.verdict != CANNOT_SAY for one in periods])
    reference = watch.old, watch.own
    statistics = movements(tables, *reference, watch.metric, first, usual=usual)
    for i, (z, against) in enumerate(statistics, first):
        changes: dict[str, Any] = {"z": z, "z_reference": against}
        if watch.floor is not None and periods[i].labelled:
            changes |= {"z_floor": _known_floor(periods[i].actual, watch), "rho": 0.0}
        elif watch.floor is not None:
            last = slice(max(i + 1 - FLOOR_WINDOW, 0), i + 1)
            score = watch.score(counts[last])
            below = floor_statistic(tables[last], watch, score, watch.floor)
            changes |= dict(zip(("z_floor", "rho"), below, strict=True))
        periods[i] = replace(periods[i], **changes)
    return periods


def _known_floor(actual: float, watch: Watch) -> float:
    """Return the statistic of the floor for a score that is known: infinite."""
    assert watch.floor is not None
    if math.isnan(actual):
        return math.nan
    short = watch.floor - actual
    below = short > 0.0 if watch.metric.greater_is_better else short < 0.0
    return math.inf if below else -math.inf


class PeriodCache:
    """Periods by number; those that changed are computed once, when used."""

    def __init__(
        self, known: dict[int, Period] | None = None, first: float = math.inf
    ) -> None:
        self._known = known or {}
        self._first = first  # the number of the first period that changed

    def without(self, numbers: list[int]) -> PeriodCache:
        """Return the cache without some periods, which have changed."""
        known = {i: one for i, one in self._known.items() if i not in set(numbers)}
        return PeriodCache(known, min([self._first, *numbers]))

    def periods(self, counts: Sequence[PeriodCounts], watch: Watch) -> list[Period]:
        """Return all periods, in the order of their counts."""
        known = self._known
        if self._first < math.inf:
            periods = [known.get(x.number) or forecast_period(x, watch) for x in counts]
            first = sum(one.number < self._first for one in counts)
            periods = with_alarms(periods, list(counts), watch, first)
            numbers = (one.number for one in counts)
            known = self._known = dict(zip(numbers, periods, strict=True))
            self._first = math.inf
        return [known[one.number] for one in counts]


def judge_period(period: Period, watch: Watch, n_segments: int) -> Period:
    """Add the verdict and the alarm, as of one of `n_segments` segments."""
    level = watch.false_alarms / n_segments
    critical = critical_value(watch.every.per_year, level)
    below, is_gain = math.nan, watch.metric.greater_is_better
    alarms, verdict = period._judge_movement(critical, n_segments)
    if watch.floor is not None:
        below = floor_critical_value(period.rho, watch.every.per_year, level)
        alarms += [BELOW] if period.z_floor > below else []
    if period.labelled and BELOW in alarms:
        verdict = BELOW
    elif period.labelled and watch.floor is not None and not alarms:
        verdict = NO_ALARM
    return replace(
        period,
        verdict=verdict,
        critical=critical,
        critical_floor=below,
        alarm=", ".join(alarms),
        floor_text=beside_floor(period, verdict, watch.floor, is_gain=is_gain),
    )
