"""Monitoring of two cuts: the proportion of rows decided, and each promise.

Labels of rows that a person saw are no random sample: a person sees the rows between
the cuts. Given its score a label is as likely to be seen whatever it is, so the
forecasts, which condition on scores, may use it. An actual precision or NPV may not: it
counts labels of accepted, or of rejected, rows alone, such as those of an audit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar

from argmetric._ground.arguments import check_choice
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
from argmetric._ground.pictures import drawing
from argmetric._ground.types import ArrayLike, Axes, Frame, Interval, Label
from argmetric._monitor._bins import NEGATIVE, POSITIVE
from argmetric._monitor._period import Period
from argmetric._monitor._periods import PeriodCounts
from argmetric._monitor._result import Monitoring
from argmetric._monitor._words import MonitoredPromises
from argmetric._verbs.tune import Rule, binomial_cdf, proportion_interval

MOVED = "automated moved"
SHOWN = 6  # promises that are printed, those with an alarm first
# The predicted label of the rows that a promise is about, and the label that breaks it
DECIDED = {"min_precision": (1, NEGATIVE), "min_npv": (0, POSITIVE)}


@dataclass(frozen=True, repr=False)
class ReviewPeriod(Result):
    """One period of a `ReviewMonitoring`.

    Experimental: may change in any release.

    Attributes
    ----------
    start, end : str
        When it begins, and when the next one does; without times, numbers of rows.
    n, accepted, rejected : int
        Rows, and how many of them the rule accepts and rejects.
    automated : float
        Proportion of rows that are accepted or rejected.
    forecasts : dict of Period
        By promise: the forecast of what is promised, its verdict and alarm.
    audited : dict
        By promise on precision or NPV: accepted, or rejected, rows whose label is
        known, and the errors among them.
    z, critical : float
        How far `automated` is from what the rule told, in standard deviations, and
        beyond which an alarm is raised.
    coverage : float
        Of the intervals.
    broken : tuple of str
        Promises that audited labels contradict.

    Examples
    --------
    >>> import argmetric as am
    >>> p, y = [0.9, 0.6, 0.3, 0.1], [1, 1, 0, 0]
    >>> rule = am.ReviewRule("f1", 0.25, 0.65, constraints={"min_npv": 0.5}, n=4)
    >>> m = am.monitor(p, rule, reference=(y * 9, p * 9))
    >>> m.periods[0].rejected, m.periods[0].accepted
    (1, 0)
    """

    start: str
    end: str
    n: int
    accepted: int
    rejected: int
    automated: float
    forecasts: dict[str, Period]
    audited: dict[str, tuple[int, int]]
    z: float
    critical: float
    coverage: float
    broken: tuple[str, ...] = ()

    @property
    def alarm(self) -> str:
        """Reasons of an alarm: the proportion decided, or a promise; "" for none."""
        found = [MOVED] if abs(self.z) > self.critical else []
        found += [f"{name}: {x.alarm}" for name, x in self.forecasts.items() if x.alarm]
        found += [f"{name}: audited labels contradict it" for name in self.broken]
        return "; ".join(found)

    def actual(self, name: str) -> tuple[float, Interval] | None:
        """Return precision or NPV by audited labels, with an exact interval.

        Parameters
        ----------
        name : str
            The promise, such as "min_precision"; of several classes the class.

        Returns
        -------
        tuple of float and Interval, or None
            None where no decided row has a known label.
        """
        check_choice(name, "name", tuple(self.forecasts))
        n, errors = self.audited.get(name, (0, 0))
        if not n:
            return None
        right = 1.0 - errors / n
        return right, proportion_interval(right, n, self.coverage)

    def cells(self) -> tuple[str, ...]:
        """Return the period in the cells of a printed line.

        Returns
        -------
        tuple of str
            Rows, proportion decided, a forecast for each promise, and the alarm.
        """
        told = [f"{self.n:>7,} rows", f"automated {self.automated:.1%}"]
        alarms = {name for name, one in self.forecasts.items() if one.alarm}
        names = sorted(self.forecasts, key=lambda x: x not in {*alarms, *self.broken})
        for name in names[:SHOWN]:
            one, seen = self.forecasts[name], self.actual(name)
            what = name.removeprefix("min_")
            told.append(f"{what}: {number(one.mean)} ({between(one.interval)})")
            if seen is not None:
                told[-1] += f", audited {number(seen[0])} ({between(seen[1])})"
        if len(names) > SHOWN:
            told.append(f"{counted(len(names) - SHOWN, 'more promise')}")
        return (*told, *([f"ALARM: {self.alarm}"] if self.alarm else []))

    def fields(self) -> list[Field]:
        return [
            *self._keys("start", "end", "n", "accepted", "rejected", "automated"),
            *self._keys("alarm", "z", "critical", "broken"),
            Field("forecasts", {k: x.values() for k, x in self.forecasts.items()}),
            Field("audited", {k: list(x) for k, x in self.audited.items()}),
            Field(words=f"{self.start} to {self.end}", text="  ".join(self.cells())),
        ]


@dataclass(frozen=True, repr=False, eq=False)
class ReviewMonitoring(MonitoredPromises["ReviewMonitoring", ReviewPeriod]):
    """Proportion of rows decided and forecasts of all promises, by period.

    Experimental: may change in any release.

    `monitor` returns it for a `ReviewRule`; `add` adds rows and returns a new one.

    Parameters
    ----------
    rule : ReviewRule
        The two thresholds, and what they promise.
    parts : dict of Monitoring
        By promise: the metric that it is about, at its own threshold.

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(6000)
    >>> y = rng.random(6000) < p
    >>> first = y[:2000], p[:2000]
    >>> promises = {"min_precision": 0.8, "min_npv": 0.8, "confidence": 0.9}
    >>> rule = am.tune(*first, **promises, review=True)
    >>> m = am.monitor(p[2000:], rule, reference=first, every=2000)
    >>> [round(one.automated, 2) for one in m.periods], m.alarms
    ([0.75, 0.76], ())
    """

    _what: ClassVar[str] = "review monitoring"
    kind: ClassVar[str] = "review_monitoring"
    _file: ClassVar[str] = "argmetric review monitoring"

    rule: Any
    parts: dict[str, Monitoring]

    def _audit(self, name: str) -> tuple[int, int] | None:
        """Return the predicted label that a promise is about, and what breaks it."""
        return DECIDED.get(name)

    def _floor(self, name: str) -> float:
        """Return the floor that is promised."""
        return float(self.rule.constraints[name])

    def _words(self, name: str) -> str:
        """Return what is promised in words, such as "precision"."""
        return name.removeprefix("min_").replace("npv", "NPV")

    def _counts(self, forecasts: Mapping[str, Period], n: int) -> tuple[int, int]:
        """Return how many of n rows are accepted, and rejected."""
        above = {self.rule.accepts(k): x.n_positives for k, x in forecasts.items()}
        return above.get(True, 0), n - above.get(False, n)

    def _rows(self, name: str, p: ArrayLike, how: dict[str, Any]) -> dict[str, Any]:
        """Return scores and labels of rows as a part takes them."""
        return {"p": p, **how}

    @cached_property
    def periods(self) -> tuple[ReviewPeriod, ...]:
        """One for each period with rows, in order."""
        some = zip(*(one.periods for one in self.parts.values()), strict=True)
        counts = zip(*(one.counts for one in self.parts.values()), strict=True)
        pairs = zip(some, counts, strict=True)
        return tuple(self._period(*pair) for pair in pairs)

    def _period(
        self, periods: tuple[Period, ...], counts: tuple[PeriodCounts, ...]
    ) -> ReviewPeriod:
        forecasts = dict(zip(self.parts, periods, strict=True))
        tables = {k: one.table for k, one in zip(self.parts, counts, strict=True)}
        first, rule = periods[0], self.rule
        accepted, rejected = self._counts(forecasts, first.n)
        audited = {}
        for name in tables:
            if pair := self._audit(name):
                side, wrong = pair
                known = tables[name][side, [NEGATIVE, POSITIVE]].sum(axis=1)
                errors = tables[name][side, wrong].sum()
                audited[name] = int(known.sum()), int(errors)
        watch, usual = next(iter(self.parts.values())).watch, rule.automated
        own = (accepted + rejected) / first.n
        middle = min(max(usual, 1.0 / (rule.n + 2)), 1.0 - 1.0 / (rule.n + 2))
        # how sure `usual` is: of groups, or of few new rows, less than of rule.n rows
        std = math.sqrt(middle * (1.0 - middle) / (rule.n or math.inf))
        if rule.automated_interval is not None:
            low, high = rule.automated_interval
            std = (high - low) / 2.0 / NormalDist().inv_cdf((1.0 + rule.coverage) / 2.0)
        spread = middle * (1.0 - middle) / first.n + std**2
        broken = [
            name
            for name, (n, errors) in audited.items()
            if binomial_cdf(n - errors, n, self._floor(name)) <= 1.0 - watch.level
        ]
        return ReviewPeriod(
            first.start,
            first.end,
            first.n,
            accepted,
            rejected,
            own,
            forecasts,
            audited,
            (own - usual) / math.sqrt(spread),
            NormalDist().inv_cdf((1.0 + watch.level) / 2.0),
            watch.coverage,
            tuple(broken),
        )

    def add(
        self,
        p: ArrayLike,
        *,
        time: ArrayLike | None = None,
        known: ArrayLike | None = None,
        pos_label: Label | None = None,
    ) -> ReviewMonitoring:
        """Add rows: new periods, or more rows of the last ones.

        Parameters
        ----------
        p : array-like
            Scores of the rows.
        time, known, pos_label : optional
            As for `monitor`.

        Returns
        -------
        ReviewMonitoring
            With the new periods; this one stays as it is.
        """
        how: Any = {"time": time, "known": known, "pos_label": pos_label}
        parts = {k: one.add(**self._rows(k, p, how)) for k, one in self.parts.items()}
        return replace(self, parts=parts)

    def add_labels(
        self,
        y: ArrayLike,
        p: ArrayLike,
        *,
        time: ArrayLike | None = None,
        period: int | None = None,
        pos_label: Label | None = None,
    ) -> ReviewMonitoring:
        """Add true labels of rows that were added before without them.

        Parameters
        ----------
        y : array-like
            True labels: by a person who saw the row, or of an audit.
        p : array-like
            Scores of these rows.
        time, period, pos_label : optional
            As for `Monitoring.add_labels`.

        Returns
        -------
        ReviewMonitoring
            With the labels; this one stays as it is.
        """
        how: Any = {"time": time, "period": period, "pos_label": pos_label, "y": y}
        parts = {
            k: one.add_labels(**self._rows(k, p, how)) for k, one in self.parts.items()
        }
        return replace(self, parts=parts)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which forecasts and verdicts are valid."""
        return next(iter(self.parts.values())).assumptions

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the input, and on what labels of reviewed rows show."""
        notes = [note for one in self.parts.values() for note in one.notes]
        if any(one.n_known for x in self.periods for one in x.forecasts.values()):
            notes.append(
                "labels of rows that a person saw are no random sample: forecasts use "
                "them given the score, and an audited precision or NPV counts labels "
                "of accepted or rejected rows alone, which must be drawn at random"
            )
        else:
            notes.append(
                "whether a promise still holds shows in labels of accepted and "
                "rejected rows: have some of them audited, drawn at random"
            )
        return tuple(dict.fromkeys(notes))

    @documented
    def to_frame(self, backend: str = "pandas") -> Frame:
        """Return one row per period."""
        periods = self.periods
        names = ("start", "end", "n", "accepted", "rejected", "automated", "alarm")
        columns: dict[str, Any] = {x: [getattr(y, x) for y in periods] for x in names}
        for name in self.parts:
            some = [one.forecasts[name] for one in periods]
            what = name.removeprefix("min_")
            columns[what] = [one.mean for one in some]
            columns[f"{what}_interval"] = [one.interval for one in some]
            if self._audit(name):
                pairs = [one.audited[name] for one in periods]
                columns[f"{what}_audited"] = [n for n, _ in pairs]
                columns[f"{what}_errors"] = [errors for _, errors in pairs]
        return as_frame(columns, backend)

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the proportion of rows decided in each period, and the usual one."""
        with drawing(ax, xlabel="Period", ylabel="Rows decided") as ax:
            places = range(len(self.periods))
            values = [one.automated for one in self.periods]
            ax.plot(places, values, "o-", color="C0", label="decided")
            alarms = [i for i in places if self.periods[i].alarm]
            if alarms:
                found = [values[i] for i in alarms]
                ax.plot(alarms, found, "o", color="C3", label="alarm")
            ax.axhline(self.rule.automated, color="C7", ls=":", label="by the rule")
            ax.set_xticks(places, [one.start for one in self.periods])
        return ax

    def _headline(self) -> Headline | None:
        if not self.periods:
            return None
        told = f"{self.periods[-1].automated:.1%}"
        return Headline("automated in the last period", told, self._alarm_count)

    def fields(self) -> list[Field]:
        usual = self.rule._headline().number
        return [
            *self._header,
            Field("rule", self.rule, "rule", self.rule._bands),
            Field("parts", self.parts),
            Field(words="automated at first", text=usual),
        ]

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> ReviewMonitoring:
        parts: Mapping[str, Any] = values["parts"]
        return cls(
            Rule.from_dict(values["rule"]),
            {name: Monitoring.from_dict(one) for name, one in parts.items()},
        )
