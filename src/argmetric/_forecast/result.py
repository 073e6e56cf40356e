"""Result of `forecast`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from argmetric._ground.discrete import ScoreDistribution
from argmetric._ground.display import (
    ASSUMES,
    Field,
    Headline,
    Result,
    between,
    distribution_columns,
    documented,
    metric_fields,
    metric_title,
    number,
    with_interval,
)
from argmetric._ground.pictures import draw_distribution, drawing, small_distribution
from argmetric._ground.types import Axes, Floats, Interval
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric._calibrate.prevalence import EstimatedPrevalence


class DistributionResult(Result, ScoreDistribution):
    """Base class of results that hold the distribution of a score."""

    metric: Any
    mean: float
    interval: Interval
    coverage: float

    def _headline(self) -> Headline:
        interval = with_interval(self.interval, self.coverage)
        return Headline(metric_title(self.metric.name), number(self.mean), interval)

    def _picture(self) -> str:
        return small_distribution(self, self.interval)

    def _columns(self) -> dict[str, Any]:
        return distribution_columns(self)


@dataclass(frozen=True, repr=False, eq=False)
class Forecast(DistributionResult):
    """Distribution of the score of labels, before the true labels are known.

    Attributes
    ----------
    mean : float
        Mean of the score; with a reference, over all calibrators that it allows. It
        differs from `Decision.expected`, the objective of a decision, which takes the
        fitted calibrator as exact.
    interval : Interval
        Central interval that contains the score with probability `coverage` or more:
        with 90 %, the score is below it with a probability of at most 5 %, and above
        it with at most 5 %.
    coverage : float
        The probability that the interval contains the score.
    interval_given_calibrator : Interval or None
        The interval that would hold if the calibrator and an estimated prevalence were
        exact; the difference to `interval` is their uncertainty. None
        without a calibrator, or if its uncertainty is unknown.
    std : float
        Standard deviation of the score.
    values, probabilities : ndarray
        The distribution of the score: its values, ascending, and their probabilities.
    p_undefined : float
        Probability that the metric is 0/0 and left out (`zero_division=nan`).
    metric : Metric
        The metric that scores the labels.
    n, n_positives : int
        Number of labels, and of those that are 1.
    n_groups : int or None
        Number of segments; None for a single vector.
    expected_positives : float
        Expected number of actual positives.
    assumptions : tuple of str
        Conditions under which the forecast is valid.
    prevalence : EstimatedPrevalence or None
        Estimated prevalence, with `prior="estimate"`: `mean`, an `interval` of the same
        coverage, and the prevalence of the `reference`.
    notes : tuple of str
        Signs that an assumption fails, such as scores that moved since the reference.

    Examples
    --------
    >>> import argmetric as am
    >>> am.forecast([0.9, 0.6, 0.2, 0.1], [1, 1, 0, 0]).quantile(0.5)
    0.8
    """

    mean: float
    interval: Interval
    coverage: float
    std: float
    values: Floats
    probabilities: Floats
    p_undefined: float
    metric: Metric
    n: int
    n_positives: int
    n_groups: int | None
    expected_positives: float
    assumptions: tuple[str, ...] = ()
    interval_given_calibrator: Interval | None = None
    prevalence: EstimatedPrevalence | None = None
    notes: tuple[str, ...] = ()

    @property
    def from_calibrator(self) -> float | None:
        """Return the proportion of the interval's width due to the calibrator."""
        if self.interval_given_calibrator is None:
            return None
        width, own = (
            high - low for low, high in (self.interval, self.interval_given_calibrator)
        )
        return max(0.0, 1.0 - own / width) if width > 0.0 else 0.0

    _told = ("metric", "mean", "interval")

    def fields(self) -> list[Field]:
        """Return the fields of the result, in the order of its summary."""
        left_out = None
        part = (
            f"{self.from_calibrator or 0.0:.0%} of the width comes from recalibration"
        )
        if self.p_undefined > 0:
            left_out = f"with probability {self.p_undefined:.3g}"
        assuming = "; ".join(self.assumptions)
        n_groups = self._field("n_groups", "mean over", "{:,} groups")
        return [
            *metric_fields(self.metric, self.metric.name),
            n_groups._replace(key=None),
            self._field("mean", "mean", number),
            self._field("interval", "interval", between),
            Field("coverage", self.coverage),
            self._field(
                "interval_given_calibrator",
                "given the calibrator",
                lambda pair: f"{between(pair)}; {part}",
            ),
            *self._keys("from_calibrator", "std", "p_undefined", "n"),
            self._field("n_positives", "labels", f"{{:,}} positive of {self.n:,}"),
            Field("n_groups", self.n_groups),
            self._field("expected_positives", "expected positives", "{:.1f}"),
            self._field("prevalence", "prevalence"),
            Field(words="left out (0/0)", text=left_out),
            Field("assumptions", self.assumptions, ASSUMES, assuming),
            Field("notes", self.notes),
        ]

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distribution of the score with its mean and interval."""
        name = metric_title(self.metric.name)
        with drawing(ax, xlabel=name, ylabel="Probability") as ax:
            draw_distribution(ax, self, self.interval, self.coverage)
        return ax
