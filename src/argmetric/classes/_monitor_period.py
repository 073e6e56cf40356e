"""One period of class probabilities, and what all periods are compared with."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._ground.display import Field, only_shown
from argmetric._ground.saving import plain
from argmetric._ground.types import ClassTuple, Floats, Integers, Interval
from argmetric._monitor import (
    CANNOT_SAY,
    Every,
    OnePeriod,
    Shift,
    critical_value,
    drawn_score,
    movements,
    restore_every,
)
from argmetric._verbs.tune import Rule
from argmetric.classes._climb import expected_table, slopes_of
from argmetric.classes._means import MeanScores
from argmetric.classes._monitor_distribution import PeriodDistribution
from argmetric.classes._weights import MultiClassRule
from argmetric.metrics import ClassMetric, class_metric_from_dict

QUANTILES, EVEN = 64, 32  # edges of the bins in which rows of a period are counted


@dataclass(frozen=True, repr=False)
class ClassPeriod(OnePeriod):
    """One period of rows that have one of several classes each.

    Names that it shares with `Period` mean the same.

    Parameters
    ----------
    start, end : str
        Its first time and the one after its last, or its rows.
    n, n_known : int
        Its rows, and those whose class is known.
    counts : tuple of int
        Rows that are given each class.
    mean, interval
        Forecast of the score.
    prevalences, prevalence_intervals : tuple
        Forecast prevalence of each class among the rows, and its interval.
    moved : str
        The class whose prevalence moved most, then and now.
    p_nothing, p_covariate_shift, p_prevalence_shift : float
        Probabilities of the explanations.
    if_prevalence_shift, if_prevalence_shift_interval
        Forecast if the prevalences changed and nothing else did.
    if_covariate_shift, if_covariate_shift_interval
        Forecast if the inputs changed.
    actual, actual_interval
        Score of the rows whose class is known.
    verdict : str
        The explanation that fits, or that none does.
    z, z_reference, critical : float
        Movement against the periods before and the reference, and the alarm's bound.
    alarm : str
        Which way the score moved; empty without an alarm.

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 0.5, 0.3], 1000)
    >>> y = (p.cumsum(axis=1) < rng.random((1000, 1))).sum(axis=1)
    >>> (one,) = am.classes.monitor(p[500:], reference=(y[:500], p[:500])).periods
    >>> one.n, one.verdict
    (500, 'no shift')
    """

    start: str
    end: str
    n: int
    n_known: int
    counts: tuple[int, ...]  # rows given each class
    mean: float
    interval: Interval
    # forecast prevalence of each class among the rows, and its interval
    prevalences: tuple[float, ...]
    prevalence_intervals: tuple[Interval, ...]
    moved: str  # the class whose prevalence moved most, then and now
    p_nothing: float
    p_covariate_shift: float
    p_prevalence_shift: float
    if_prevalence_shift: float
    if_prevalence_shift_interval: Interval
    if_covariate_shift: float
    if_covariate_shift_interval: Interval
    actual: float
    actual_interval: Interval
    verdict: str = ""
    z: float = math.nan
    z_reference: float = math.nan
    critical: float = math.nan
    alarm: str = ""

    def values(self) -> dict[str, object]:
        """Return all fields by name.

        Returns
        -------
        dict
            Names and values, in their order.
        """
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def _prevalence_text(self) -> str:
        return self.moved

    def fields(self) -> list[Field]:
        """Return all fields of the result, in the order of its summary.

        Returns
        -------
        list of Field
            Keys with values for JSON, and words with text for the summary.
        """
        share, still = (
            ("largest prevalence shift", self.moved),
            "all rows count the same",
        )
        known = (self.values() | self.answer._asdict()).items()
        lines = self._in_lines("", share, still)
        return [*only_shown(lines), *(Field(*pair) for pair in known)]


class PeriodRows(NamedTuple):
    """Counts of the rows of a period in each bin, all that is kept of them."""

    number: int
    start: str
    end: str
    n: int
    table: Integers


@dataclass(frozen=True)
class ClassWatch:
    """Reference and settings, the same for all periods."""

    metric: ClassMetric
    classes: ClassTuple
    calibrator: Calibrator  # fitted to the reference
    code: Integers  # column of the class of each row of the reference
    p: Floats  # its probabilities, or the predicted means
    rule: MultiClassRule | None  # None: the most probable class, or labels are passed
    passed: bool  # whether labels are passed
    every: Every
    shift: Shift
    coverage: float
    false_alarms: float
    logits: bool = False
    means: MeanScores | None = None  # where means are passed in place of p

    floor: ClassVar[None] = None

    @cached_property
    def calibrators(self) -> list[Calibrator]:
        return [self.calibrator, *self.calibrator.alternatives]

    @cached_property
    def reference_q(self) -> Floats:
        """Calibrated probabilities of the reference."""
        return np.asarray(self.calibrator.apply(self.scores(self.p)))

    @cached_property
    def prevalences(self) -> Floats:
        return np.bincount(self.code, minlength=len(self.classes)) / self.code.size

    def scores(self, p: Floats) -> Floats:
        """Return class probabilities (n_rows, n_classes): means become some."""
        return p if self.means is None else self.means.scores(p)

    def predicts(self, p: Floats) -> Integers:
        """Return labels (n_rows,) by the rule, or else the most probable class."""
        if self.rule is None:
            return np.asarray(self.scores(p).argmax(axis=1), dtype=np.int64)
        return self.rule.predicts(p)

    @cached_property
    def _slopes(self) -> Floats:
        """Gain in score by a row of a true class (rows) with a label (columns)."""
        metric: Any = self.metric  # any that has a score
        return slopes_of(
            metric, expected_table(self.reference_q, self.predicts(self.p))
        )

    def _parts(self, q: Floats, labels: Integers) -> Floats:
        """Return the expected gain in score by each row: Σ_c q_c·∂score/∂M_c,label.

        Parameters
        ----------
        q : ndarray of shape (n_rows, n_classes)
        labels : ndarray of shape (n_rows,)
        """
        return np.asarray((q * self._slopes.T[labels]).sum(axis=1))

    @cached_property
    def bins(self) -> tuple[Floats, Floats, Floats] | None:
        """Return edges of bins of the alarm, reference rows in each, and levels.

        Levels are 0 to 1 from the least part of the reference to the largest: the alarm
        asks whether more rows come that are expected to score well. None where all rows
        count the same.
        """
        parts = self._parts(self.reference_q, self.predicts(self.p))
        low, high = parts.min(), parts.max()
        if not high - low > 1e-12 * max(np.abs(parts).max(), 1e-300):
            return None
        inner = np.quantile(parts, np.arange(1, QUANTILES) / QUANTILES)
        inner = np.append(inner, np.linspace(low, high, EVEN + 1)[1:-1])
        edges = np.unique(inner[(inner > low) & (inner < high)])
        place = np.searchsorted(edges, parts, side="right")
        rows = np.bincount(place, minlength=edges.size + 1).astype(np.float64)
        ends = np.concatenate([[low], edges, [high]])
        mean = np.bincount(place, parts, rows.size) / np.maximum(rows, 1.0)
        middle = np.where(rows > 0.0, mean, (ends[:-1] + ends[1:]) / 2)
        return edges, rows, np.clip((middle - low) / (high - low), 0.0, 1.0)

    def count(self, q: Floats, p: Floats) -> Integers:
        """Return the rows of a period in each bin, of shape (n_bins,)."""
        if self.bins is None:
            return np.array([len(q)])
        edges = self.bins[0]
        place = np.searchsorted(edges, self._parts(q, self.predicts(p)), side="right")
        return np.bincount(place, minlength=edges.size + 1)

    def period(
        self, bounds: tuple[str, str], p: Floats, codes: Integers, true: Integers
    ) -> tuple[ClassPeriod, Integers]:
        """Return the forecast of a period by itself, and its rows in each bin.

        Parameters
        ----------
        bounds : tuple of str
            Its start and end.
        p : ndarray of shape (n_rows, n_classes), or means of shape (n_rows,)
        codes, true : ndarray of shape (n_rows,)
            Columns of the labels, and of known classes, which are -1 elsewhere.
        """
        scores = self.scores(p)
        q = [np.asarray(one.apply(scores)) for one in self.calibrators]
        distribution = PeriodDistribution(self, q, codes, true)
        old, n = self.prevalences, self.code.size
        new, low, high = distribution.prevalences()
        error = np.sqrt(np.maximum(old, 1 / n) / n)
        c = int(np.argmax(np.abs(new - old) / (high - low + error)))
        known, count = true >= 0, len(self.classes)
        table = np.zeros((count, count))
        np.add.at(table, (true[known], codes[known]), 1.0)
        # Half a row in each cell for two classes (Jeffreys)
        cells: Any = {"prior": 1.0 / count, "axis": (-2, -1)}
        _, covariate, shift = distribution.forecasts
        period = ClassPeriod(
            *bounds,
            len(p),
            int(known.sum()),
            tuple(np.bincount(codes, minlength=count).tolist()),
            *distribution.score(),
            tuple(new.tolist()),
            tuple(map(Interval, low.tolist(), high.tolist())),
            f"{self.classes[c]} {old[c]:.3f} → {new[c]:.3f}",
            *distribution.readings,
            *(shift.mean, shift.interval),
            *(covariate.mean, covariate.interval),
            *drawn_score(table, self.metric.score, self.coverage, **cells),
        )
        return period, self.count(q[0], p)

    def to_dict(self) -> dict[str, object]:
        known = {one.name: getattr(self, one.name) for one in fields(self)}
        known |= {"means": None if self.means is None else asdict(self.means)}
        return plain(known | {"every": self.every.text})  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ClassWatch:
        """Return the settings that `to_dict` described."""
        rule, means = values["rule"], values.get("means")
        if means is not None:
            numbers = np.array(means["values"], dtype=np.float64)
            means = MeanScores(**(means | {"values": numbers}))
        restored = {
            "metric": class_metric_from_dict(values["metric"]),
            "classes": tuple(values["classes"]),
            "calibrator": Calibrator.from_dict(values["calibrator"]),
            "code": np.array(values["code"], dtype=np.int64),
            "p": np.array(values["p"], dtype=np.float64),
            "rule": None if rule is None else Rule.from_dict(rule),
            "every": restore_every(values["every"]),
            "means": means,
        }
        return cls(**(values | restored))


def with_alarms(
    periods: list[ClassPeriod], counts: list[PeriodRows], watch: ClassWatch, first: int
) -> list[ClassPeriod]:
    """Return periods with verdicts and alarms, from the first new one on."""
    critical = critical_value(watch.every.per_year, watch.false_alarms)
    statistics = [(math.nan, math.nan)] * (len(periods) - first)
    if watch.bins is not None:
        tables = [one.table[None, None] for one in counts]
        usual = np.array([x._readings.verdict() != CANNOT_SAY for x in periods])
        statistics = movements(tables, *watch.bins[1:], None, first, usual=usual)
    for i, (z, against) in enumerate(statistics, first):
        one = replace(periods[i], z=z, z_reference=against, critical=critical)
        alarms, verdict = one._judge_movement(critical)
        periods[i] = replace(one, verdict=verdict, alarm="".join(alarms))
    return periods
