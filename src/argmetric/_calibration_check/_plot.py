"""Reliability diagram, with what the errors of the probabilities cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from argmetric._input.responses import probabilities_of
from argmetric._results.display import metric_title
from argmetric._results.pictures import Display
from argmetric.metrics import MetricLike

if TYPE_CHECKING:
    from argmetric._calibration_check._result import CalibrationCheck


_PROMISES = {"recalibrated": "after recalibration"}


@dataclass(repr=False)
class CalibrationCostDisplay(Display):
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

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        p: Any,
        metric: MetricLike = "f1",
        *,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Check probabilities against labels, and draw what was found.

        Parameters
        ----------
        y : array-like
            Labels.
        p : array-like
            Probabilities that were given without knowledge of them.
        metric : str, Metric or callable, default="f1"
            What decisions are judged by.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            All else that `calibration_check` takes.
        """
        from argmetric._calibration_check._check import calibration_check

        return cls(calibration_check(y, p, metric, **options)).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        metric: MetricLike = "f1",
        *,
        pos_label: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Check the probabilities of a classifier on rows that it was not fitted on.

        Parameters
        ----------
        estimator : classifier
            Fitted, of two classes, with `predict_proba`.
        X : array-like
            Rows.
        y : array-like
            Their labels.
        metric : str, Metric or callable, default="f1"
            What decisions are judged by.
        pos_label : object, optional
            The positive class; by default the second.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            All else that `calibration_check` takes.
        """
        p, positive = probabilities_of(estimator, X, pos_label)
        options["pos_label"] = positive
        return cls.from_predictions(y, p, metric, ax=ax, **options)

    def _most(self) -> float:
        """How far both axes reach: what lies beyond is empty."""
        bins = self.check.positive_bins
        cut = self.check.threshold
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
            f"for forecasts: {_PROMISES.get(promise, promise)}",
        }

    def _draw(self, ax: Any) -> Any:
        one, most = self.check, self._most()
        self._draw_rows(ax, most)
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

    def _draw_rows(self, ax: Any, most: float) -> None:
        """Rows by probability, a quarter of the height, whatever their number."""
        rows = self.check.histogram
        edges = np.linspace(0.0, 1.0, rows.size + 1)
        ax.bar(
            edges[:-1],
            0.25 * most * rows / rows.max(),
            width=edges[1] - edges[0],
            align="edge",
            color="C7",
            alpha=0.35,
            label=f"rows by p (highest bar: {rows.max():,.0f})",
        )
