"""Picture of a forecast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from argmetric._ground.arguments import check_number
from argmetric._ground.display import metric_title
from argmetric._ground.pictures import Display, draw_law
from argmetric._ground.responses import probabilities_of
from argmetric.metrics import MetricLike

if TYPE_CHECKING:
    from argmetric._forecast.result import Forecast


@dataclass(repr=False)
class ForecastDisplay(Display):
    """The law of the score before the truth is known, with its mean and interval.

    Parameters
    ----------
    forecast : Forecast
        What is drawn.
    score : float, optional
        The score that came true, to be drawn beside it.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
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
        p: Any,
        labels: Any,
        metric: MetricLike = "f1",
        *,
        score: float | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Forecast the score of labels, and draw the forecast.

        Parameters
        ----------
        p : array-like
            Probabilities, as for `forecast`.
        labels : array-like
            The labels that are handed in.
        metric : str, Metric or callable, default="f1"
            What they are judged by.
        score : float, optional
            The score that came true, to be drawn beside it.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            All else that `forecast` takes.
        """
        from argmetric._forecast.forecast import forecast

        if score is not None:
            score = check_number(score, "score")
        return cls(forecast(p, labels, metric, **options), score).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        metric: MetricLike = "f1",
        *,
        pos_label: Any = None,
        score: float | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Forecast the score of what a classifier predicts, and draw the forecast.

        Parameters
        ----------
        estimator : classifier
            Fitted, of two classes, with `predict_proba`.
        X : array-like
            Rows.
        metric : str, Metric or callable, default="f1"
            What its predictions are judged by.
        pos_label : object, optional
            The positive class; by default the second.
        score : float, optional
            The score that came true, to be drawn beside it.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            All else that `forecast` takes.
        """
        p, positive = probabilities_of(estimator, X, pos_label)
        labels = np.asarray(estimator.predict(X)) == positive
        return cls.from_predictions(p, labels, metric, score=score, ax=ax, **options)

    def _labels(self) -> dict[str, Any]:
        name = metric_title(self.forecast.metric.name)
        return {"xlabel": name, "ylabel": "Probability"}

    def _draw(self, ax: Any) -> Any:
        one = self.forecast
        line = draw_law(ax, one, one.interval, one.coverage)
        if self.score is not None:
            label = f"actual: {self.score:.3f}"
            ax.axvline(self.score, color="black", linestyle="--", label=label)
        return line
