"""Result of `check`: verdicts on probabilities, and the reliability diagram."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._calibrate.bins import equal_mass_bins, first_of_equals
from argmetric._calibrate.logistic import fit_logistic, row_blocks
from argmetric._forecast.result import Forecast
from argmetric._ground.discrete import dot
from argmetric._ground.display import (
    Field,
    as_frame,
    documented,
    hide_private,
    metric_title,
    number,
)
from argmetric._ground.odds import from_log_odds, sort_labelled
from argmetric._ground.pictures import GREY, Display, SmallPicture
from argmetric._ground.types import Axes, Booleans, Floats, Frame, Integers
from argmetric._verbs.check._routes import Route, RouteName
from argmetric._verbs.check._verdicts import CheckedRoutes, Quality
from argmetric.metrics import Metric

Z = 1.959963984540054  # 97.5 % point of the normal distribution


@dataclass(frozen=True, eq=False)
class ReliabilityBins:
    """Bins of about equal mass, from low to high probability; ties are not split."""

    # low, high: lowest and highest probability in each bin
    low: Floats
    high: Floats
    weight: Floats  # rows in it, or the sum of their weights
    mean: Floats  # mean probability: what was said
    rate: Floats  # actual share of positives
    # rate_low, rate_high: wilson's 95 % interval of the share
    rate_low: Floats
    rate_high: Floats

    def __len__(self) -> int:
        return int(self.mean.size)

    @property
    def ece(self) -> float:
        """Expected calibration error: the mean of |rate - mean| by weight."""
        share = self.weight / self.weight.sum()
        return float(share @ np.abs(self.rate - self.mean))

    def to_dict(self) -> dict[str, list[float]]:
        """Return the columns as lists, for JSON."""
        return {name: column.tolist() for name, column in vars(self).items()}

    @documented
    def to_frame(self, backend: str = "pandas") -> Frame:
        """Return a data frame with one row per bin."""
        return as_frame(dict(vars(self)), backend)


def reliability_bins(
    p: Floats,
    y: Booleans,
    weight: Floats | None,
    n_bins: int,
    *,
    by_positives: bool = False,
) -> ReliabilityBins:
    """Bin distinct probabilities by the middle of their mass."""
    if weight is None:
        p, y = sort_labelled(p, y)
    else:
        order = np.argsort(p, kind="stable")
        p, y, weight = p[order], y[order], weight[order]

    def add_steps(begin: Integers, values: Floats | Booleans | None = None) -> Floats:
        """Return the weight from each place to the next, times the values."""
        if weight is None and values is None:
            return np.diff(begin, append=p.size).astype(np.float64)
        each: Any = values
        if weight is not None:
            each = weight if values is None else weight * values
        return np.add.reduceat(each, begin, dtype=np.float64)

    first = first_of_equals(p)
    mass = add_steps(first, p if by_positives and p[-1] > 0.0 else None)
    number = equal_mass_bins(mass, n_bins)
    np.minimum(number, n_bins - 1, out=number)
    begin = first[first_of_equals(number)]
    end = np.append(begin[1:], p.size) - 1
    total = add_steps(begin)
    rate, said = (add_steps(begin, values) / total for values in (y, p))
    low, high = wilson(rate, total**2 / add_steps(begin, weight))
    return ReliabilityBins(p[begin], p[end], total, said, rate, low, high)


def wilson(rate: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Return Wilson's 95 % interval of a rate observed on n rows."""
    share = Z**2 / n
    centre = (rate + share / 2) / (1 + share)
    half = np.sqrt(rate * (1 - rate) * share + share**2 / 4) / (1 + share)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


@dataclass(frozen=True)
class Line:
    """logit P(y = 1) = slope·logit p + intercept, of the largest likelihood.

    `p_value` is the probability of a line this far from (1, 0) if p were calibrated.
    """

    slope: float
    slope_error: float
    intercept: float
    intercept_error: float
    p_value: float


MANY_ROWS = 20_000  # from which Newton's first steps are taken on bins
BINS = 4096
SEPARATED = Line(math.inf, math.inf, math.nan, math.inf, math.nan)


def calibration_line(
    x: Floats, y: Booleans, weight: Floats | None, unit: Integers | None
) -> Line:
    """Fit the calibration line, with standard errors from the information.

    Where rows come in units, or have weights, errors are of the sandwich kind, from
    the sums of the residuals of whole units.
    """
    if float(x[y].min()) >= float(x[~y].max()):
        return SEPARATED
    near = _line_of_bins(x, y, weight) if x.size > MANY_ROWS else None
    fit = fit_logistic([x], y.astype(np.float64), weight, near)
    slope, intercept = map(float, fit.coefficients)
    information, residual = np.zeros((2, 2)), np.empty(x.size)
    for part in row_blocks(x.size):
        z = x[part]
        p, q = from_log_odds(slope * z + intercept)
        curve, off = p * q, np.where(y[part], q, -p)
        if weight is not None:
            curve, off = weight[part] * curve, weight[part] * off
        mixed = dot(curve, z)
        information += [[dot(curve, z**2), mixed], [mixed, float(curve.sum())]]
        residual[part] = off
    if not np.linalg.cond(information) < 1e15:
        return SEPARATED
    covariance = np.linalg.inv(information)
    if weight is not None or unit is not None:
        # Σ of the squares of what rows, or whole units, pull at slope and intercept
        pull, level = residual * x, residual
        if unit is not None:
            pull, level = (
                np.bincount(unit, values).astype(np.float64) for values in (pull, level)
            )
        mixed = dot(pull, level)
        spread = np.array([[dot(pull, pull), mixed], [mixed, dot(level, level)]])
        covariance = covariance @ spread @ covariance
    gap = np.array([slope - 1.0, intercept])
    distance = float(gap @ np.linalg.solve(covariance, gap))
    slope_error, intercept_error = map(float, np.sqrt(np.diag(covariance)))
    # The tail of chi² with two degrees of freedom.
    return Line(slope, slope_error, intercept, intercept_error, math.exp(-distance / 2))


def _line_of_bins(x: Floats, y: Booleans, weight: Floats | None) -> Floats:
    """Fit about the same line to bins of equal width, targets off 0 and 1."""
    low, high = float(x.min()), float(x.max())
    number = ((x - low) * ((BINS - 1) / (high - low))).astype(np.int64)
    sums = np.empty((3, BINS))
    for i, values in enumerate((None, x, y)):
        if weight is not None:
            values = weight if values is None else weight * values
        sums[i] = np.bincount(number, values, BINS)
    everything = float(x.size if weight is None else weight.sum())
    total, middle, positive = sums[:, sums[0] > 0.0]
    target = (positive + total / everything) / (total * (1.0 + 2.0 / everything))
    return fit_logistic([middle / total], target, total).coefficients


@hide_private
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
        Mean probability and prevalence, in bins of equal numbers of rows.
    positive_bins : ReliabilityBins
        Mean probability and prevalence, in bins of equal numbers of expected
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

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 4, 20_000)
    >>> check = am.calibration_check(rng.random(p.size) < p**1.5, p)
    >>> check.route, round(check.slope, 1)
    ('recalibrate', 1.3)
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
        """Probability of such a slope and intercept if p were calibrated."""
        return self.line.p_value

    @property
    def _n_rarer(self) -> int:
        return min(self.n_positives, self.n - self.n_positives)

    @property
    def _rows(self) -> str:
        return f"{self.n:,} rows with {self.n_positives:,} positives"

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings and hints for the reader."""
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
        drawn.whiskers(bins.mean, np.column_stack([bins.rate_low, bins.rate_high]))
        drawn.points(bins.mean, bins.rate)
        return drawn.y_labels().ends("p as given:")

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the reliability diagram over a histogram of the probabilities."""
        drawn: Axes = CheckDrawing(self).plot(ax).ax_
        return drawn


@dataclass(repr=False)
class CheckDrawing(Display):
    """Picture of a check: the reliability diagram, with the cut of the decision."""

    check: CalibrationCheck

    def _most(self) -> float:
        """Return the end of both axes: beyond it there is nothing."""
        bins, cut = self.check.positive_bins, self.check.threshold
        ends = [*bins.mean, *bins.rate_high]
        if cut is not None and math.isfinite(cut):
            ends.append(cut)
        return min(1.0, 1.1 * float(max(ends)))

    def _size(self) -> tuple[float, float]:
        return 6.4, 4.4

    def _labels(self) -> dict[str, object]:
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

    def _draw(self, ax: Axes) -> object:
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
