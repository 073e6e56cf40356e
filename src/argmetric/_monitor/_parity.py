"""Monitoring of a threshold for each group: is the gap between them still kept?

A gap of selection rates shows in the scores. One of recall shows in labels of rows that
were drawn at random; without these the recall of each group is forecast.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from argmetric._ground.arguments import shown
from argmetric._ground.display import (
    Field,
    Headline,
    Result,
    as_frame,
    between,
    counted,
    documented,
    number,
)
from argmetric._ground.types import AnyArray, ArrayLike, Frame, Interval, Label
from argmetric._monitor._bins import CANNOT_SAY, POSITIVE
from argmetric._monitor._period import Period
from argmetric._monitor._periods import PeriodCounts
from argmetric._monitor._result import Monitoring
from argmetric._monitor._words import PRINTED, MonitoredPromises
from argmetric._verbs.tune import RATES, ParityRule, gap_interval, gap_within

TIE = 1e-9  # what rounding leaves
SHOWN = 4  # groups whose rates are printed


@dataclass(frozen=True, repr=False)
class ParityPeriod(Result):
    """One period of a `ParityMonitoring`.

    Experimental: may change in any release.

    Attributes
    ----------
    start, end : str
        When it begins, and when the next one does; without times, numbers of rows.
    n : int
        Rows.
    rows, selected : tuple of int
        Rows of each group of the rule, and those that are predicted positive.
    sizes, hits : tuple of int
        Rows that the rate is of, and those of them that are predicted positive: of
        recall positive rows whose label is known, of selection_rate all rows.
    gap, interval : float, Interval
        Difference between the highest and the lowest rate; nan where fewer than two
        groups have a rate.
    forecast, forecast_interval : float, Interval
        Of a gap of recall, without labels; nan for a selection rate.
    verdict : str
        "cannot say without labels" where the forecast of a group may not hold.
    alarm : str
        Reasons of an alarm: the gap, or a group that moved; "" for none.

    Examples
    --------
    >>> import argmetric as am
    >>> p, g, y = [0.9, 0.6, 0.3, 0.1] * 9, ["a", "a", "b", "b"] * 9, [1, 0, 1, 0] * 9
    >>> rule = am.tune(y, p, parity=("selection_rate", g, 0.1))
    >>> m = am.monitor(p, rule, groups=g, reference=(y, p))
    >>> m.periods[0].selected, m.periods[0].gap
    ((9, 9), 0.0)
    """

    start: str
    end: str
    n: int
    rows: tuple[int, ...]
    selected: tuple[int, ...]
    sizes: tuple[int, ...]
    hits: tuple[int, ...]
    gap: float
    interval: Interval
    forecast: float
    forecast_interval: Interval
    verdict: str
    alarm: str

    @property
    def rates(self) -> tuple[float, ...]:
        """Rate of each group; nan where nothing counts."""
        pairs = zip(self.hits, self.sizes, strict=True)
        return tuple(k / n if n else math.nan for k, n in pairs)

    @property
    def _shown_forecast(self) -> tuple[float, Interval]:
        """Forecast gap and its interval; nan where all labels are known."""
        low, high = self.forecast_interval
        if high - low > TIE:
            return self.forecast, self.forecast_interval
        return math.nan, Interval(math.nan, math.nan)

    def cells(self) -> tuple[str, ...]:
        """Return the period in the cells of a printed line.

        Returns
        -------
        tuple of str
            Rows, the gap with its interval, its forecast, and the alarm.
        """
        cells = [f"{self.n:>7,} rows"]
        if not math.isnan(self.gap):
            cells.append(f"gap {number(self.gap)} ({between(self.interval)})")
        forecast, ends = self._shown_forecast
        if not math.isnan(forecast):
            cells.append(f"forecast gap {number(forecast)} ({between(ends)})")
        cells += [self.verdict] if self.verdict and math.isnan(self.gap) else []
        return (*cells, *([f"ALARM: {self.alarm}"] if self.alarm else []))

    def fields(self) -> list[Field]:
        return [
            *self._keys("start", "end", "n", "rows", "selected", "sizes", "hits"),
            *self._keys("gap", "interval", "forecast", "forecast_interval"),
            *self._keys("verdict", "alarm"),
            Field("rates", self.rates),
            Field(words=f"{self.start} to {self.end}", text="  ".join(self.cells())),
        ]


@dataclass(frozen=True, repr=False, eq=False)
class ParityMonitoring(MonitoredPromises["ParityMonitoring", ParityPeriod]):
    """Gap between the groups of a `ParityRule`, by period.

    Experimental: may change in any release.

    `monitor` returns it for a `ParityRule`; `add` adds rows and returns a new one.

    Parameters
    ----------
    rule : ParityRule
        The threshold of each group, and the gap that it promises.
    watched : Monitoring
        Rows of each group as a segment.

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p, g = rng.random(6000), rng.choice(["a", "b"], 6000)
    >>> y = rng.random(6000) < p
    >>> first, new = slice(0, 3000), slice(3000, 6000)
    >>> parity = "recall", g[first], 0.1
    >>> rule = am.tune(y[first], p[first], parity=parity, confidence=0.9)
    >>> reference = y[first], p[first], g[first]
    >>> m = am.monitor(p[new], rule, groups=g[new], reference=reference)
    >>> round(m.periods[0].forecast, 2), m.alarms
    (0.03, ())
    """

    _what: ClassVar[str] = "parity monitoring"
    kind: ClassVar[str] = "parity_monitoring"
    _file: ClassVar[str] = "argmetric parity monitoring"

    rule: ParityRule
    watched: Monitoring

    @cached_property
    def periods(self) -> tuple[ParityPeriod, ...]:
        """One for each period with rows, in order."""
        of_recall, found = self.rule.rate == "recall", []
        segments = [self.watched._segments.get(str(x)) for x in self.rule.names]
        counts = [{x.number: x for x in one.counts} if one else {} for one in segments]
        forecasts: list[dict[int, Period]] = [
            {x.number: y for x, y in zip(one.counts, one.periods, strict=True)}
            if one and of_recall
            else {}
            for one in segments
        ]
        for whole in self.watched.counts:
            parts = [one.get(whole.number) for one in counts]
            known = [one.get(whole.number) for one in forecasts]
            found.append(self._period(whole, parts, known))
        return tuple(found)

    def _period(
        self,
        whole: PeriodCounts,
        parts: list[PeriodCounts | None],
        forecasts: list[Period | None],
    ) -> ParityPeriod:
        """Return one period from the counts and forecasts of each group."""
        rule, watch = self.rule, self.watched.watch
        none = np.zeros_like(whole.table.sum(axis=2))
        tables = [none if one is None else one.table.sum(axis=2) for one in parts]
        stack = np.array(tables)  # group, predicted label, known label
        base = stack[:, :, POSITIVE] if rule.rate == "recall" else stack.sum(axis=2)
        hits, sizes = base[:, 1], base.sum(axis=1)
        gap, interval = gap_interval(hits, sizes, watch.coverage)
        least = gap_interval(hits, sizes, 2.0 * watch.level - 1.0)[1].low
        names = [str(name) for name in rule.names]
        alarm = []
        if least > rule.gap:
            alarm.append(f"the {RATES[rule.rate]}s differ by more than {rule.gap:g}")
        pairs = zip(names, forecasts, strict=True)
        some = [(name, one) for name, one in pairs if one is not None]
        known = [one for _, one in some]
        normal = NormalDist()
        wider = normal.inv_cdf(watch.level) / normal.inv_cdf(
            (1.0 + watch.coverage) / 2.0
        )
        if math.isnan(gap) and _forecast_gap(known, wider)[1].low > rule.gap:
            alarm.append(f"the forecast gap is above {rule.gap:g}: label some rows")
        alarm += [f"{name}: {one.alarm}" for name, one in some if one.alarm]
        unclear = any(one.verdict == CANNOT_SAY for _, one in some)
        return ParityPeriod(
            whole.start,
            whole.end,
            int(stack.sum()),
            _plain(stack.sum(axis=(1, 2))),
            _plain(stack[:, 1].sum(axis=1)),
            _plain(sizes),
            _plain(hits),
            gap,
            interval,
            *_forecast_gap(known),
            CANNOT_SAY * unclear,
            "; ".join(alarm),
        )

    def add(
        self,
        p: ArrayLike,
        groups: ArrayLike,
        *,
        time: ArrayLike | None = None,
        known: ArrayLike | None = None,
        pos_label: Label | None = None,
    ) -> ParityMonitoring:
        """Add rows: new periods, or more rows of the last ones.

        Parameters
        ----------
        p, groups : array-like
            Scores of the rows, and the group of each.
        time, known, pos_label : optional
            As for `monitor`.

        Returns
        -------
        ParityMonitoring
            With the new periods; this one stays as it is.
        """
        how: Any = {"time": time, "known": known, "pos_label": pos_label}
        labels, by = predicted_by_group(self.rule, p, groups, pos_label)
        return replace(self, watched=self.watched.add(p, labels, by=by, **how))

    def add_labels(
        self,
        y: ArrayLike,
        p: ArrayLike,
        groups: ArrayLike,
        *,
        time: ArrayLike | None = None,
        period: int | None = None,
        pos_label: Label | None = None,
    ) -> ParityMonitoring:
        """Add true labels of rows that were added before without them.

        Parameters
        ----------
        y : array-like
            True labels of rows that were drawn at random in each group.
        p, groups : array-like
            Scores and groups of these rows.
        time, period, pos_label : optional
            As for `Monitoring.add_labels`.

        Returns
        -------
        ParityMonitoring
            With the labels; this one stays as it is.
        """
        how: Any = {"time": time, "period": period, "pos_label": pos_label}
        labels, by = predicted_by_group(self.rule, p, groups, pos_label)
        watched = self.watched.add_labels(y, p, labels, by=by, **how)
        return replace(self, watched=watched)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which forecasts and verdicts are valid."""
        return self.watched.assumptions if self.rule.rate == "recall" else ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the input, and on what labels show."""
        if self.rule.rate == "selection_rate":
            return ("a gap of selection rates shows in the scores: no label is needed",)
        notes = [
            note.replace("(y, p, by)", "(y, p, groups)").replace("segments", "groups")
            for note in self.watched.notes
        ]
        if any(sum(one.sizes) for one in self.periods):
            notes.append(
                "the gap is that of the labels: it is one of all rows where these were "
                "drawn at random in each group, not chosen by score or by a reviewer"
            )
        else:
            notes.append(
                "whether the gap of recall is kept shows in labels: have some rows "
                "labelled, drawn at random in each group"
            )
        return tuple(notes)

    @documented
    def to_frame(self, backend: str = "pandas") -> Frame:
        """Return one row per period."""
        names = "start end n gap interval forecast forecast_interval verdict alarm"
        columns: dict[str, Any] = {
            f"gap_{x}" if x == "interval" else x: [getattr(y, x) for y in self.periods]
            for x in names.split()
        }
        for place, name in enumerate(self.rule.names):
            columns[f"rate_{name}"] = [one.rates[place] for one in self.periods]
        return as_frame(columns, backend)

    def _headline(self) -> Headline | None:
        if not self.periods:
            return None
        last, name = self.periods[-1], "gap in the last period"
        forecast = last.forecast, last.forecast_interval
        for words, (value, ends) in (
            (name, (last.gap, last.interval)),
            (f"forecast {name}", forecast),
        ):
            if not math.isnan(value):
                text = f"{number(value)} ({between(ends)})"
                return Headline(words, text, self._alarm_count)
        return Headline(name, "unknown", "two groups are needed")

    def fields(self) -> list[Field]:
        rate = f"{RATES[self.rule.rate]} of {counted(len(self.rule.names), 'group')}"
        return [
            *self._header,
            Field("rule", self.rule, "gap", f"at most {self.rule.gap:g}, of {rate}"),
            Field("watched", self.watched),
        ]

    def _last_periods(self) -> Iterator[tuple[str, ...]]:
        for one in self.periods[-PRINTED:]:
            rates = zip(self.rule.names[:SHOWN], one.rates, strict=False)
            told = [f"{x} {number(rate)}" for x, rate in rates if not math.isnan(rate)]
            first, *others = one.cells()
            yield (one.start, first, *([", ".join(told)] * bool(told)), *others)

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> ParityMonitoring:
        rule = ParityRule.from_dict(values["rule"])
        return cls(rule, Monitoring.from_dict(values["watched"]))


def predicted_by_group(
    rule: ParityRule, p: ArrayLike, groups: object, pos_label: Label | None
) -> tuple[AnyArray, AnyArray]:
    """Return predicted labels, and the group of each row as text."""
    chosen = rule._selected(p, groups)
    by = group_texts(rule, groups, chosen.size)
    if pos_label is None:
        return chosen.astype(np.int64), by
    other = rule.rules[0].neg_label
    if other == pos_label:
        raise ValueError(f"pos_label is {shown(pos_label)}, the rule's negative label")
    return np.array([other, pos_label], dtype=object)[chosen.astype(np.int64)], by


def group_texts(
    rule: ParityRule, groups: object, n: int, name: str = "groups"
) -> AnyArray:
    """Return the group of each row as text; one that the rule never saw is refused."""
    names = [str(one) for one in rule.names]
    if len({*names}) < len(names):
        raise ValueError(
            "two groups are written alike, such as 1 and '1': monitor needs names that "
            "differ as text"
        )
    return np.array(names, dtype=object)[rule._places(groups, n, name)]


def _forecast_gap(
    forecasts: list[Period], wider: float = 1.0
) -> tuple[float, Interval]:
    """Return the gap between forecasts of groups, and an interval, made `wider`."""
    some = [one for one in forecasts if not math.isnan(one.mean)]
    if len(some) < 2:
        return math.nan, Interval(math.nan, math.nan)
    means = np.array([one.mean for one in some])
    ends = np.array([one.interval for one in some]).T
    low, high = means + wider * (ends - means)
    return float(np.ptp(means)), gap_within(means, (low, high), (low, high))


def _plain(counts: AnyArray) -> tuple[int, ...]:
    return tuple(counts.tolist())
