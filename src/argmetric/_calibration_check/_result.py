"""The verdicts on probabilities, and what to do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from argmetric._calibration_check._bins import Line, ReliabilityBins
from argmetric._calibration_check._routes import Route, RouteName
from argmetric._calibration_check._verdicts import CheckedRoutes, Quality
from argmetric._forecast.result import Forecast
from argmetric._input.types import Floats
from argmetric._results.display import Field
from argmetric.metrics import Metric


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
            text = f"{value:.4f} ± {error:.4f}, {right} is right"
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

    def plot(self, ax: Any = None) -> Any:
        """Draw the reliability diagram over a histogram of the probabilities.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from argmetric._calibration_check._plot import CalibrationCostDisplay

        return CalibrationCostDisplay(self).plot(ax).ax_
