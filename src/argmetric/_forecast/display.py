"""Picture of a forecast, from labels or from an estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from argmetric._forecast.forecast import forecast
from argmetric._forecast.result import Forecast
from argmetric._ground.arguments import check_number
from argmetric._ground.display import metric_title
from argmetric._ground.features import probabilities_of
from argmetric._ground.pictures import Display, draw_distribution
from argmetric._ground.types import (
    ArrayLike,
    Axes,
    Estimator,
    Features,
    Label,
    LabelsLike,
)
from argmetric.metrics import MetricLike


@dataclass(repr=False)
class ForecastDisplay(Display):
    """Picture of the distribution of a score, with its mean and interval.

    Experimental: may change in any release.

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
        title = metric_title(self.forecast.metric.name)
        return {"xlabel": title, "ylabel": "Probability"}

    def _draw(self, ax: Axes) -> object:
        one = self.forecast
        line = draw_distribution(ax, one, one.interval, one.coverage)
        if self.score is not None:
            label = f"actual: {self.score:.3f}"
            ax.axvline(self.score, color="black", linestyle="--", label=label)
        return line
