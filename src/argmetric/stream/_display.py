"""Picture of a stream: its score and its threshold over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from argmetric._input.labels import clear_labels, one_per_row
from argmetric._input.types import Floats
from argmetric._input.validation import check_length, to_floats
from argmetric._results.pictures import Display, thinned
from argmetric.metrics import Metric, MetricLike, get_metric

MOMENTS = 512  # as many as a classifier remembers
WINDOWS = 40  # in which the score of late is told, over a whole stream
COUNTS = ("tp", "k", "t", "n")


@dataclass(repr=False)
class StreamDisplay(Display):
    """The score of predictions made before their labels were seen, row by row.

    Parameters
    ----------
    n_seen : ndarray
        Rows that had been seen at each moment.
    threshold : ndarray, optional
        The threshold at each moment.
    score : ndarray, optional
        The score of all rows so far.
    recent : ndarray, optional
        The score of the last rows alone.
    name : str, default=""
        Name of the metric.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    line_ : matplotlib artist
        The line of the score; of the threshold where there is no score.

    Examples
    --------
    >>> from argmetric.stream import StreamDisplay
    >>> display = StreamDisplay.from_predictions([1, 0, 1, 1], [1, 1, 1, 0])
    >>> display.score.round(2)
    array([1.  , 0.67, 0.8 , 0.67])
    """

    n_seen: Floats
    threshold: Floats | None = None
    score: Floats | None = None
    recent: Floats | None = None
    name: str = ""

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        metric: MetricLike = "f1",
        *,
        thresholds: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the score of predictions over the rows, in their order.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_samples,)
            Labels and predictions, 0 and 1, in the order in which they came.
        metric : str, Metric or callable, default="f1"
            What predictions are judged by.
        thresholds : array-like of shape (n_samples,), optional
            The threshold that was used for each row.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        """
        found = get_metric(metric)
        true = one_per_row(clear_labels(y_true, "y_true"), "y_true")
        pred = clear_labels(y_pred, "y_pred", shape=true.shape, other="y_true")
        if not true.size:
            raise ValueError("y_true must hold a row or more")
        last = np.unique(np.linspace(1, true.size, MOMENTS).astype(np.int64))
        each = (true & pred, pred, true, np.ones_like(true))
        counts = np.stack([np.cumsum(one)[last - 1] for one in each])
        threshold = None
        if thresholds is not None:
            met = to_floats(thresholds, "thresholds")
            check_length(met, "thresholds", true.size, "y_true")
            threshold = met[last - 1]
        return cls._of(counts.astype(np.float64), found, threshold).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw score and threshold over the stream of a classifier.

        Parameters
        ----------
        estimator : OnlineClassifier or RiverClassifier
            A model that has seen some rows; it remembers up to 512 moments.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        """
        if not hasattr(type(estimator), "history_"):
            raise TypeError(
                f"estimator must remember its stream (`history_`), which "
                f"{type(estimator).__name__} does not: see from_predictions"
            )
        history = estimator.history_
        counts = np.stack([history[name] for name in COUNTS])
        metric = get_metric(estimator.metric)
        display = cls._of(counts, metric, history["threshold"])
        display.n_seen = history["n_seen"]
        return display.plot(ax)

    @classmethod
    def _of(cls, counts: Floats, metric: Metric, threshold: Floats | None) -> Self:
        return cls(
            n_seen=counts[3],
            threshold=threshold,
            score=np.atleast_1d(metric.value(*counts)),
            recent=np.atleast_1d(metric.value(*of_late(counts))),
            name=metric.name,
        )

    def _labels(self) -> dict[str, Any]:
        names = [self.name] if self.score is not None else []
        if self.threshold is not None:
            names.append("threshold")
        return {"xlabel": "row", "ylabel": ", ".join(names)}

    def _draw(self, ax: Any) -> Any:
        ax.xaxis.set_major_formatter("{x:,.0f}")
        lines = {}
        for what, label, style in (
            ("threshold", "threshold before the label", {"color": "C7"}),
            ("recent", f"{self.name} of the last rows", {"color": "C0", "alpha": 0.4}),
            ("score", f"{self.name} of all rows so far", {"color": "C0", "lw": 2}),
        ):
            values = getattr(self, what)
            if values is not None:
                picks = thinned(len(values))
                x, y = np.asarray(self.n_seen)[picks], np.asarray(values)[picks]
                (lines[what],) = ax.plot(x, y, label=label, **style)
        return lines.get("score", lines.get("threshold"))


def of_late(counts: Floats) -> Floats:
    """Counts of the rows between each moment and one before it.

    Parameters
    ----------
    counts : ndarray of shape (counts, moments)
        Of all rows up to ever later moments.
    """
    back = max(1, counts.shape[1] // WINDOWS)
    before = np.concatenate([np.zeros((len(counts), back)), counts], axis=1)
    late: Floats = counts - before[:, : counts.shape[1]]
    return late
