"""The result of `forecast`, and its picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from argmetric._ground.arguments import check_number
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
from argmetric._ground.features import probabilities_of
from argmetric._ground.pictures import Display, draw_distribution, small_distribution
from argmetric._ground.types import (
    ArrayLike,
    Axes,
    Estimator,
    Features,
    Floats,
    Interval,
    Label,
    LabelsLike,
)
from argmetric.metrics import Metric, MetricLike

if TYPE_CHECKING:
    from argmetric._calibrate.share import EstimatedShare


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
    """The distribution of the score of labels, before the true labels are known.

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
    interval_given_map : Interval or None
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
    share : EstimatedShare or None
        Estimated prevalence, with `prior="estimate"`: `mean`, an `interval` of the same
        coverage, and the prevalence of the `reference`.
    notes : tuple of str
        Signs that an assumption fails, such as scores that moved since the reference.
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
    interval_given_map: Interval | None = None
    share: EstimatedShare | None = None
    notes: tuple[str, ...] = ()

    @property
    def share_of_map(self) -> float | None:
        """Share of the interval's width that is due to the calibrator's uncertainty."""
        if self.interval_given_map is None:
            return None
        width, given = (
            high - low for low, high in (self.interval, self.interval_given_map)
        )
        return max(0.0, 1.0 - given / width) if width > 0.0 else 0.0

    _told = ("metric", "mean", "interval")

    def fields(self) -> list[Field]:
        """Return the fields of the result, in the order of its summary."""
        left_out = None
        part = f"{self.share_of_map or 0.0:.0%} of the width comes from recalibration"
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
                "interval_given_map",
                "given the map",
                lambda pair: f"{between(pair)}; {part}",
            ),
            *self._keys("share_of_map", "std", "p_undefined", "n"),
            self._field("n_positives", "labels", f"{{:,}} positive of {self.n:,}"),
            Field("n_groups", self.n_groups),
            self._field("expected_positives", "expected positives", "{:.1f}"),
            self._field("share", "share"),
            Field(words="left out (0/0)", text=left_out),
            Field("assumptions", self.assumptions, ASSUMES, assuming),
            Field("notes", self.notes),
        ]

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distribution of the score with its mean and interval."""
        drawn: Axes = ForecastDisplay(self).plot(ax).ax_
        return drawn


@dataclass(repr=False)
class ForecastDisplay(Display):
    """Picture of the distribution of a score, with its mean and interval.

    Parameters
    ----------
    forecast : Forecast
    score : float, optional
        The actual score, drawn beside it.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib artist
        The line of the mean; None for a metric that is never defined.

    Examples
    --------
    >>> import argmetric as am
    >>> p = [0.9, 0.45, 0.4, 0.1]
    >>> display = am.ForecastDisplay.from_predictions(p, [1, 1, 1, 0], score=0.8)
    >>> [line.get_label() for line in display.ax_.lines]
    ['mean 0.690', 'actual: 0.800']
    """

    forecast: Forecast
    score: float | None = None

    @classmethod
    def from_predictions(
        cls,
        p: ArrayLike,
        labels: LabelsLike,
        metric: MetricLike = "f1",
        *,
        score: float | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Forecast the score of labels, and draw the forecast.

        Parameters
        ----------
        p : array-like
            Probabilities, as for `forecast`.
        labels : array-like
            Predicted labels, as for `forecast`.
        metric : str, Metric or callable, default="f1"
            The metric that scores them.
        score : float, optional
            The actual score, drawn beside it.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            Other arguments of `forecast`.
        """
        from argmetric._forecast.forecast import forecast

        if score is not None:
            score = check_number(score, "score")
        return cls(forecast(p, labels, metric, **options), score).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: Features,
        metric: MetricLike = "f1",
        *,
        pos_label: Label | None = None,
        score: float | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Forecast the score of what a classifier predicts, and draw the forecast.

        Parameters
        ----------
        estimator : classifier
            Fitted, of two classes, with `predict_proba`.
        X : array-like
            Features of the rows.
        metric : str, Metric or callable, default="f1"
            The metric that scores its predictions.
        pos_label : object, optional
            The positive class; by default the second.
        score : float, optional
            The actual score, drawn beside it.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            Other arguments of `forecast`.
        """
        p, positive = probabilities_of(estimator, X, pos_label)
        model: Any = estimator
        labels = np.asarray(model.predict(X)) == positive
        return cls.from_predictions(p, labels, metric, score=score, ax=ax, **options)

    def _labels(self) -> dict[str, Any]:
        name = metric_title(self.forecast.metric.name)
        return {"xlabel": name, "ylabel": "Probability"}

    def _draw(self, ax: Any) -> Any:
        one = self.forecast
        line = draw_distribution(ax, one, one.interval, one.coverage)
        if self.score is not None:
            label = f"actual: {self.score:.3f}"
            ax.axvline(self.score, color="black", linestyle="--", label=label)
        return line
