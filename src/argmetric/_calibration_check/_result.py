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
from argmetric._results.display import Lines
from argmetric._results.saving import shown_number
from argmetric.metrics import Metric


def notes_of(check: CalibrationCheck) -> tuple[str, ...]:
    """What the figures alone do not say."""
    notes = []
    wrong = check.as_is.n_certain_and_wrong
    if wrong:
        notes.append(
            f"{wrong:,} rows were certain (p = 0 or 1) and wrong: the log-loss is "
            "infinite"
        )
    if math.isinf(check.line.slope):
        notes.append(
            "the scores separate the classes: slope and intercept have no finite value"
        )
    if check.weighted:
        notes.append("the expected scores ignore the weights")
    if check._resampled is not None:
        notes.append(check._resampled)
    return tuple(notes)


FIGURES = (
    "loss",
    "loss_standard_error",
    "gap",
    "score_as_is",
    "score_recalibrated",
    "score_standard_error",
    "expected",
    "expected_recalibrated",
    "slope",
    "slope_standard_error",
    "intercept",
    "intercept_standard_error",
    "p_value",
    "ece",
    "brier",
    "log_loss",
)


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
        return notes_of(self)

    def _lines(self) -> Lines:
        over = {None: "", "pooled": ", pooled", "micro": ", all cells together"}
        mean = over.get(self.average, f", mean over {self.average}")
        line, share = self.line, self.n_positives / self.n
        units = "" if self.n_units is None else f" in {self.n_units:,} groups"
        return [
            *self._verdict_lines(),
            ("metric", f"{self.metric.name}{mean}"),
            *self._route_lines(),
            (
                "log-odds",
                f"slope {line.slope:.3f} ± {line.slope_error:.3f}, intercept "
                f"{line.intercept:.3f} ± {line.intercept_error:.3f}",
            ),
            *self._quality_lines(),
            ("rows", f"{self.n:,}{units}, {self.n_positives:,} positive ({share:.1%})"),
        ]

    def _notes(self) -> tuple[str, ...]:
        return (*self.advice, *self.notes)

    def to_dict(self) -> dict[str, Any]:
        """All figures, for JSON."""
        figures = {name: shown_number(getattr(self, name)) for name in FIGURES}
        after = self.recalibrated
        return {
            "fit_to_decide": self.fit_to_decide,
            "fit_to_forecast": self.fit_to_forecast,
            "advice": list(self.advice),
            "route": self.route,
            "routes": self._routes_as_dict(),
            "metric": self.metric.name,
            "average": self.average,
            "expected_error": shown_number(self.expected_error),
            "error_interval": [shown_number(x) for x in self.error_interval],
            **figures,
            "ece_recalibrated": after.ece,
            "brier_recalibrated": after.brier,
            "log_loss_recalibrated": shown_number(after.log_loss),
            "method": self.method,
            "n": self.n,
            "n_positives": self.n_positives,
            "n_units": self.n_units,
            "bins": self.bins.to_dict(),
            "notes": list(self.notes),
        }

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
