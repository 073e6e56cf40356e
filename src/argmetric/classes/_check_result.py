"""Check of class probabilities: verdicts for the metric and for every class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from argmetric._ground.display import (
    CheckVerdict,
    Field,
    as_frame,
    class_metric_fields,
    documented,
    metric_title,
    only_shown,
)
from argmetric._ground.pictures import MOST_BARS, bars_size, drawing
from argmetric._ground.saving import plain, with_intervals
from argmetric._ground.types import Axes, ClassTuple, Frame, Interval, Label
from argmetric._verbs.check import (
    FEW_ROWS_OF_A_CLASS,
    MIN_P_VALUE,
    CheckedRoutes,
    Quality,
    Route,
    RouteName,
)
from argmetric.metrics import ClassMetric

if TYPE_CHECKING:
    from argmetric.classes._forecast import ClassForecast

SHOWN = 6  # classes in the printed form
COLOURS = {"no": "C3", "too few rows to say": "C7", "yes": "C0"}


@dataclass(frozen=True)
class ClassReliability:
    """Whether the probability of one class is reliable."""

    name: Label  # the class
    n: int  # rows of this class
    forecast_prevalence: float  # mean probability of the class
    prevalence: float  # actual share of its rows
    prevalence_interval: Interval  # Wilson's, of 95 %
    slope: float  # of the log-odds: below 1 where p is too sure of itself
    ece: float  # expected calibration error
    # probability of such labels if p were right, times the number of classes, as all of
    # them are tested
    p_value: float
    few: bool  # whether fewer than 20 rows are of this class, or of the others

    @property
    def reliable(self) -> CheckVerdict:
        """Whether the probability of this class is right on average and in slope."""
        if self.p_value < MIN_P_VALUE:
            return "no"
        return "too few rows to say" if self.few else "yes"

    @property
    def words(self) -> str:
        """Forecast and actual prevalence, and what is wrong."""
        text = (
            f"forecast {self.forecast_prevalence:.2%} of the rows, actual "
            f"{self.prevalence:.2%} "
            "({:.2%} to {:.2%})".format(*self.prevalence_interval)
        )
        sure = self.fault.removeprefix("too high").removeprefix("too low")
        return f"{text}, {sure}" if sure else text

    @property
    def fault(self) -> str:
        """Return the fault of the probability in two or three words; empty if none."""
        if self.reliable != "no":
            return ""
        if self.forecast_prevalence > self.prevalence_interval.high:
            return "too high"
        if self.forecast_prevalence < self.prevalence_interval.low:
            return "too low"
        return "too sure" if self.slope < 1.0 else "not sure enough"

    def to_dict(self) -> dict[str, object]:
        """Return all figures, for JSON."""
        first = {"class": self.name, "reliable": self.reliable, "n": self.n}
        left = ("name", "few", "n")
        figures = {name: x for name, x in vars(self).items() if name not in left}
        found: dict[str, object] = plain(first | figures, "a class", None)
        return found


@dataclass(frozen=True, repr=False, eq=False)
class ClassCalibrationCheck(CheckedRoutes):
    """Whether class probabilities are reliable, for the metric and class by class.

    Parameters
    ----------
    route : {"recalibrate", "decide", "weights"}
        The advised way to choose labels.
    routes : tuple of Route
        All ways that were tried, with their scores on rows that they were not fitted
        on.
    expected, expected_recalibrated : float
        The expected score of the labels of `decide`, with `p` as it is and
        recalibrated.
    as_is, recalibrated : Quality
        Calibration error (mean over the classes), Brier score and log-loss.
    per_class : tuple of ClassReliability
        Verdict of each class, in the order of the columns.
    method : str
        How the probabilities were recalibrated, out of fold.
    metric : ClassMetric
        The metric that scored the labels, with its convention for absent classes.
    n : int
        Number of rows.
    n_groups : int or None
        Number of groups that the score is the mean over.
    forecast : ClassForecast
        The forecast for `decide` with `p` recalibrated, on as many new rows.

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], 500)
    >>> y = (rng.random((500, 1)) > p.cumsum(axis=1)).sum(axis=1)
    >>> [one.reliable for one in am.classes.check(y, p, n_bootstrap=2).per_class]
    ['yes', 'yes', 'yes']
    """

    route: RouteName
    routes: tuple[Route, ...]
    expected: float
    expected_recalibrated: float
    as_is: Quality
    recalibrated: Quality
    per_class: tuple[ClassReliability, ...]
    method: str
    metric: ClassMetric
    n: int
    n_groups: int | None
    forecast: ClassForecast

    @property
    def classes(self) -> ClassTuple:
        """Return the class of each column."""
        return tuple(one.name for one in self.per_class)

    @property
    def worst(self) -> tuple[ClassReliability, ...]:
        """ClassTuple that are not reliable first, then by p-value."""
        order = list(COLOURS)
        return tuple(
            sorted(self.per_class, key=lambda x: (order.index(x.reliable), x.p_value))
        )

    @property
    def p_value(self) -> float:
        """Return the least p-value over the classes, of all being calibrated."""
        return min(one.p_value for one in self.per_class)

    @property
    def _n_rarer(self) -> int:
        return self.n - max(one.n for one in self.per_class)

    @property
    def _rows(self) -> str:
        return f"{self.n:,} rows of {len(self.per_class)} classes"

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings and hints for the reader."""
        wrong = self.as_is.n_certain_and_wrong
        if not wrong:
            return ()
        text = f"{wrong:,} rows had p = 0 for their own class: the log-loss is infinite"
        return (text,)

    def _metric_fields(self) -> list[Field]:
        over = "" if self.n_groups is None else f", mean over {self.n_groups:,} groups"
        return class_metric_fields(self.metric, over)

    def _row_fields(self) -> list[Field]:
        verdicts = [one.reliable for one in self.per_class]
        counts = f"{verdicts.count('yes')} of {len(verdicts)}"
        few = verdicts.count("too few rows to say")
        if few:
            counts += f"; {few} with fewer than {FEW_ROWS_OF_A_CLASS} rows"
        lines = [
            (f"  {x.name}", f"{x.reliable}; {x.words}") for x in self.worst[:SHOWN]
        ]
        if len(verdicts) > SHOWN:
            lines.append(("  ...", f"{len(verdicts) - SHOWN} more classes"))
        return [
            Field("n", self.n, "rows", f"{self.n:,}"),
            Field("n_groups", self.n_groups),
            Field("per_class", self.per_class, "reliable classes", counts),
            *only_shown(lines),
        ]

    @documented
    def to_frame(self, backend: str = "pandas") -> Frame:
        """Return classes as rows, with verdict, prevalences and calibration error."""
        rows = [with_intervals(one.to_dict()) for one in self.per_class]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return as_frame(columns, backend)

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw forecast and actual prevalence of every class, the worst 40 first."""

        def percent(value: float, _: object) -> str:
            return f"{100 * value:.3g}%"

        shown = self.worst[:MOST_BARS]
        more = len(self.per_class) - len(shown)
        words = {
            "xlabel": "Prevalence" + (f" ({more} more classes)" if more else ""),
            "title": f"Actual {metric_title(self.metric.name)}: {self.score_as_is:.3f} "
            f"with p as given, {self.score_recalibrated:.3f} recalibrated",
        }
        figures = [
            (one.forecast_prevalence, one.prevalence, *one.prevalence_interval)
            for one in shown
        ]
        forecast, actual, low, high = np.array(figures).T
        known = np.concatenate([forecast, actual])
        least = known.min(initial=1.0, where=known > 0.0) / 2.0
        with drawing(ax, bars_size(len(shown)), **words) as ax:
            for verdict, colour in COLOURS.items():
                rows = [i for i, one in enumerate(shown) if one.reliable == verdict]
                if not rows:
                    continue
                at = np.maximum(actual[rows], least)
                ends = at - np.maximum(low[rows], least), high[rows] - at
                ax.errorbar(
                    at,
                    rows,
                    xerr=np.maximum(ends, 0.0),
                    fmt="o",
                    color=colour,
                    capsize=2,
                    label=f"actual, 95% interval; reliable: {verdict}",
                )
            places = np.maximum(forecast, least), range(len(shown))
            ax.plot(*places, "k|", markersize=12, label="forecast: mean of p")
            ax.set_xscale("log", subs=[2, 5])
            ax.xaxis.set_major_formatter(percent)
            ax.xaxis.set_minor_formatter(percent)
            ax.set_yticks(range(len(shown)), [str(one.name) for one in shown])
            ax.invert_yaxis()
        return ax
