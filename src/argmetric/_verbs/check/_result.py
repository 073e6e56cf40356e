"""The verdicts on probabilities, and the reliability diagram with what errors cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from argmetric._forecast.result import Forecast
from argmetric._ground.display import Field, metric_title, number
from argmetric._ground.features import probabilities_of
from argmetric._ground.pictures import GREY, SmallPicture
from argmetric._ground.types import Axes, Floats
from argmetric._verbs.check._bins import Line, ReliabilityBins
from argmetric._verbs.check._routes import Route, RouteName
from argmetric._verbs.check._verdicts import CheckedRoutes, Quality
from argmetric._verbs.tune import LabelledDisplay
from argmetric.metrics import Metric, MetricLike


@dataclass(frozen=True, repr=False, eq=False)
class CalibrationCheck(CheckedRoutes):
    """Whether probabilities are reliable for decisions and for forecasts.

    Attributes
    ----------
    route : {"recalibrate", "decide", "tune", "half"}
        The advised way to choose labels.
    routes : tuple of Route
        All ways that were tried, with their scores on rows that they were not fitted
        on.
    expected, expected_recalibrated : float
        The expected score of the labels of `decide`, with `p` as it is and
        recalibrated.
    as_is, recalibrated : Quality
        Calibration error, Brier score and log-loss; those of `p` as it stands are
        also at hand as `ece`, `brier` and `log_loss`.
    line : Line
        Slope and intercept of the log-odds; see `slope`, `intercept` and `p_value`.
    bins : ReliabilityBins
        Mean probability and share of positives, in bins of equal numbers of rows.
    positive_bins : ReliabilityBins
        Mean probability and share of positives, in bins of equal numbers of expected
        positives.
    threshold : float or None
        Where `decide` cuts the probabilities as they stand; None where it has no
        single cut.
    method : str
        How the probabilities were recalibrated, out of fold.
    metric : Metric
        The metric that scored the labels.
    average : str or None
        How segments were combined.
    n, n_positives : int
        Rows, and those of them that are positive.
    n_units : int or None
        Groups, or rows of a matrix, that were drawn as a whole; None for single rows.
    weighted : bool
        Whether there were weights.
    histogram : ndarray
        Rows by probability, in bins of equal width.
    forecast : Forecast or None
        The forecast for `decide` with `p` recalibrated, on as many new rows; None with
        weights.
    """

    route: RouteName
    routes: tuple[Route, ...]
    expected: float
    expected_recalibrated: float
    as_is: Quality
    recalibrated: Quality
    line: Line
    bins: ReliabilityBins
    positive_bins: ReliabilityBins
    threshold: float | None
    method: str
    metric: Metric
    average: str | None
    n: int
    n_positives: int
    n_units: int | None
    weighted: bool
    histogram: Floats
    forecast: Forecast | None = None
    _resampled: str | None = None

    @property
    def slope(self) -> float:
        """Slope of the log-odds: below 1 where p is too sure of itself."""
        return self.line.slope

    @property
    def slope_standard_error(self) -> float:
        """Standard error of the slope."""
        return self.line.slope_error

    @property
    def intercept(self) -> float:
        """Intercept of the log-odds: below 0 where p is too high."""
        return self.line.intercept

    @property
    def intercept_standard_error(self) -> float:
        """Standard error of the intercept."""
        return self.line.intercept_error

    @property
    def p_value(self) -> float:
        """Chance of such a slope and intercept if p were calibrated."""
        return self.line.p_value

    @property
    def _n_rarer(self) -> int:
        return min(self.n_positives, self.n - self.n_positives)

    @property
    def _rows(self) -> str:
        return f"{self.n:,} rows with {self.n_positives:,} positives"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader should know besides."""
        notes, wrong = [], self.as_is.n_certain_and_wrong
        if wrong:
            certain = f"{wrong:,} rows were certain (p = 0 or 1) and wrong"
            notes.append(f"{certain}: the log-loss is infinite")
        if math.isinf(self.line.slope):
            has = "slope and intercept have no finite value"
            notes.append(f"the scores separate the classes: {has}")
        if self.weighted:
            notes.append("the expected scores ignore the weights")
        if self._resampled is not None:
            notes.append(self._resampled)
        return tuple(notes)

    def _metric_fields(self) -> list[Field]:
        over = {None: "", "pooled": ", pooled", "micro": ", all cells together"}
        mean = over.get(self.average, f", mean over {self.average}")
        text = f"{self.metric.name}{mean}"
        return [
            Field("metric", self.metric.name, "metric", text),
            Field("average", self.average),
        ]

    def _line_fields(self) -> list[Field]:
        found = []
        for name, right in (("slope", 1), ("intercept", 0)):
            value, error = getattr(self, name), getattr(self, f"{name}_standard_error")
            text = f"{number(value)} ± {number(error)}, {right} is right"
            found.append(Field(name, value, name, text))
            found.append(Field(f"{name}_standard_error", error))
        return found

    def _row_fields(self) -> list[Field]:
        units = "" if self.n_units is None else f" in {self.n_units:,} groups"
        truth = f"{self.n_positives:,} positive ({self.n_positives / self.n:.1%})"
        return [
            Field("n", self.n, "rows", f"{self.n:,}{units}"),
            Field("n_positives", self.n_positives, "truth", truth),
            *self._keys("n_units", "bins"),
        ]

    def _picture(self) -> str:
        bins = self.bins
        ends = np.concatenate([[0.0], bins.mean, bins.rate_high])
        drawn = SmallPicture("Actual share of positives by probability", ends, ends)
        drawn.line(drawn.x, drawn.x, GREY, "3")
        drawn.whiskers(bins.mean, zip(bins.rate_low, bins.rate_high, strict=True))
        drawn.points(bins.mean, bins.rate)
        return drawn.scaled().ends("p as given:")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the reliability diagram over a histogram of the probabilities.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        drawn: Axes = CalibrationCostDisplay(self).plot(ax).ax_
        return drawn


@dataclass(repr=False)
class CalibrationCostDisplay(LabelledDisplay):
    """Probabilities against actual shares, and what the difference costs in score.

    Every point holds the same share of the positives that were expected, so that there
    are points where the cut is, however rare positives are.

    Parameters
    ----------
    check : CalibrationCheck
        What is drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    line_ : matplotlib artist
        The line through the points.

    Examples
    --------
    >>> import numpy as np
    >>> import argmetric as am
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 5, 2000)
    >>> y = rng.random(2000) < p**2
    >>> display = am.CalibrationCostDisplay.from_predictions(y, p)
    >>> print(display.ax_.get_title().splitlines()[0])
    Actual F1: 0.248 with p as given, 0.291 recalibrated
    """

    check: CalibrationCheck

    _scores_of = staticmethod(probabilities_of)

    @classmethod
    def _made(cls, y: Any, p: Any, metric: MetricLike, **options: Any) -> Self:
        from argmetric._verbs.check._check import calibration_check

        return cls(calibration_check(y, p, metric, **options))

    def _most(self) -> float:
        """How far both axes reach: what lies beyond is empty."""
        bins, cut = self.check.positive_bins, self.check.threshold
        ends = [*bins.mean, *bins.rate_high]
        if cut is not None and math.isfinite(cut):
            ends.append(cut)
        return min(1.0, 1.1 * float(max(ends)))

    def _size(self) -> tuple[float, float]:
        return 6.4, 4.4

    def _labels(self) -> dict[str, Any]:
        one, most = self.check, self._most()
        ends = -0.02 * most, 1.02 * most
        name, promise = one.metric.name, one.fit_to_forecast
        return {
            "xlabel": "Probability as given",
            "ylabel": "Actual share of positives",
            "xlim": ends,
            "ylim": ends,
            "title": f"Actual {metric_title(name)}: {one.score_as_is:.3f} with p as "
            f"given, {one.score_recalibrated:.3f} recalibrated\n"
            f"reliable for decisions: {one.fit_to_decide}; "
            f"for forecasts: {promise}",
        }

    def _draw(self, ax: Any) -> Any:
        one, rows = self.check, self.check.histogram
        edges = np.linspace(0.0, 1.0, rows.size + 1)
        ax.bar(
            edges[:-1],
            0.25 * self._most() * rows / rows.max(),  # a quarter of the height
            width=edges[1] - edges[0],
            align="edge",
            color="C7",
            alpha=0.35,
            label=f"rows by p (highest bar: {rows.max():,.0f})",
        )
        ax.plot([0, 1], [0, 1], color="C7", linestyle=":", label="calibrated")
        if one.threshold is not None and math.isfinite(one.threshold):
            label = f"threshold of decide: p ≥ {one.threshold:.3g}"
            ax.axvline(one.threshold, color="C3", linestyle="--", label=label)
        bins = one.positive_bins
        below = np.maximum(bins.rate - bins.rate_low, 0.0)
        above = np.maximum(bins.rate_high - bins.rate, 0.0)
        return ax.errorbar(
            bins.mean,
            bins.rate,
            yerr=[below, above],
            fmt="o-",
            color="C0",
            capsize=2,
            label="actual share, 95% interval",
        ).lines[0]
