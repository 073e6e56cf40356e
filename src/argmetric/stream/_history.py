"""Score of a stream over time: of all rows, of the last ones, and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from argmetric._ground.arguments import check_count, check_number
from argmetric._ground.display import Lines, Shown
from argmetric._ground.labels import clear_labels, one_per_row
from argmetric._ground.pictures import Display, thin_indices
from argmetric._ground.types import ArrayLike, Axes, Estimator, Floats
from argmetric._ground.validation import check_length, to_floats
from argmetric.metrics import Metric, MetricLike, get_metric

LONGEST = 2**26  # bins, or rows of a window: 64 million hold a gigabyte
POINTS = 512  # maximum number of recorded moments
FIRST_STEP = 64  # rows between two moments, at first
STRETCHES = 40  # stretches of rows that are compared with the rows before
LEAST_BEFORE = 4  # minimum length of the rows before, in stretches
SIGMAS = 5.0  # standard deviations that raise an alarm: at random once in millions


class StreamMoment(NamedTuple):
    """Counts, score and threshold of a stream after some rows."""

    rows: int
    score: float
    threshold: float
    hits: int
    predicted: int
    actual: int

    @property
    def errors(self) -> int:
        return self.predicted + self.actual - 2 * self.hits


class Alarm(NamedTuple):
    """Error rates before and after a significant rise, and the rows until then."""

    rows: int
    before: float
    now: float


class StreamHistory:
    """Record of a stream at even distances, which double when there are too many.

    Attributes
    ----------
    looks : list of StreamMoment
        At most `POINTS` moments.
    """

    def __init__(self, rows: int = 0) -> None:
        self.looks: list[StreamMoment] = []
        self._begun, self._step = rows, FIRST_STEP

    def pieces(self, rows: int, count: int) -> Iterator[slice]:
        """Split the next rows into blocks that end where a moment is to be recorded."""
        begin = 0
        while begin < count:
            left = self._step - (rows + begin - self._begun) % self._step
            end = min(begin + left, count)
            yield slice(begin, end)
            begin = end

    def look(self, look: StreamMoment) -> None:
        """Append the moment if its number of rows is due."""
        if (look.rows - self._begun) % self._step:
            return
        self.looks.append(look)
        if len(self.looks) > POINTS:
            self.looks = self.looks[1::2]
            self._step *= 2


def alarms_in(looks: Sequence[StreamMoment]) -> Iterator[Alarm]:
    """Yield stretches with significantly more errors than the rows before.

    With an error rate p in n rows before, m rows have m·p errors on average, with a
    variance of m·p·(1-p)·(1 + m/n), as p is an estimate.
    """
    begun = last = StreamMoment(0, 0.0, 0.0, 0, 0, 0)
    step = max(1, len(looks) // STRETCHES)
    for look in looks[step - 1 :: step]:
        rows, errors = look.rows - last.rows, look.errors - last.errors
        rows_before = last.rows - begun.rows
        if rows_before >= LEAST_BEFORE * rows:
            before = (last.errors - begun.errors) / rows_before
            variance = rows * before * (1 - before) * (1 + rows / rows_before)
            if errors - rows * before > SIGMAS * max(variance, 1.0) ** 0.5:
                yield Alarm(look.rows, before, errors / rows)
                begun = last
        last = look


class ProgressiveScore(Shown):
    """A metric of predictions that were made before their labels were seen.

    Parameters
    ----------
    metric : str, Metric or callable, default="f1"
        Any metric of the counts.
    window : int, optional
        Score only the last `window` rows.
    fading : float, optional
        Every row counts 1 - 1/fading as much as the one after it.

    Examples
    --------
    >>> from argmetric.stream import ProgressiveScore
    >>> score = ProgressiveScore("f1")
    >>> score.update([1, 0, 1], [1, 1, 1])
    0.8
    >>> score.value
    0.8
    """

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        window: int | None = None,
        fading: float | None = None,
    ) -> None:
        if window is not None and fading is not None:
            raise ValueError("pass window or fading, not both")
        if window is not None:
            window = check_count(window, "window", low=1, high=LONGEST)
        if fading is not None:
            fading = check_number(fading, "fading")
            if fading <= 1.0:
                raise ValueError(f"fading must be a number above 1, not {fading!r}")
        self.metric = get_metric(metric)
        self.window, self.fading = window, fading
        self.counts: Floats = np.zeros(4)  # tp, k, t, n
        self._ring = np.zeros((4, window or 0))  # a column of counts for each row
        self._place = 0

    def update(self, y_true: ArrayLike, y_pred: ArrayLike) -> float:
        """Count a block of labels, 0 and 1, and return the value.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_samples,), or one label each
            The size of the blocks does not change the counts.

        Returns
        -------
        float
            The metric of the remembered rows.
        """
        true = one_per_row(clear_labels(_column(y_true), "y_true"), "y_true")
        pred = clear_labels(_column(y_pred), "y_pred", shape=true.shape, other="y_true")
        rows = np.stack([true & pred, pred, true, np.ones_like(true)]).astype(float)
        if self.window is not None:
            # new rows take the places of the oldest; empty places count nothing
            rows = rows[:, -self.window :]
            places = (self._place + np.arange(rows.shape[1])) % self.window
            self.counts = self.counts - self._ring[:, places].sum(1) + rows.sum(1)
            self._ring[:, places] = rows
            self._place = int(self._place + rows.shape[1]) % self.window
        elif self.fading is None:
            self.counts = self.counts + rows.sum(axis=1)
        elif rows.shape[1]:  # row by row: counts ← (1 - 1/fading)·counts + row
            from scipy.signal import lfilter

            keep = 1.0 - 1.0 / self.fading
            state = keep * self.counts[:, None]
            steps, _ = lfilter([1.0], [1.0, -keep], rows, axis=1, zi=state)
            self.counts = steps[:, -1]
        return self.value

    @property
    def value(self) -> float:
        """Return the metric of the remembered rows."""
        return float(self.metric.value(*self.counts))

    def _lines(self) -> Lines:
        known = {"window": self.window, "fading": self.fading}
        tp, k, t, n = self.counts
        return [
            (self.metric.name, f"{self.value:.4f}"),
            *((name, f"{x:,}") for name, x in known.items() if x is not None),
            ("rows", f"{n:,.6g}"),
            ("true positives", f"{tp:,.6g} of {k:,.6g} predicted, {t:,.6g} actual"),
        ]

    def __repr__(self) -> str:
        kind = ""
        if self.window is not None:
            kind = f", window={self.window}"
        if self.fading is not None:
            kind = f", fading={self.fading:g}"
        return f"ProgressiveScore({self.metric.name}={self.value:.4f}{kind})"


def _column(labels: Any) -> Any:
    """Return a single label as a list of one."""
    return [labels] if np.isscalar(labels) else labels


MOMENTS = 512  # as many as a classifier records
WINDOWS = 40  # windows per stream for the score of recent rows
COUNTS = ("tp", "k", "t", "n")


@dataclass(repr=False)
class StreamDisplay(Display):
    """Score of predictions made before their labels were seen, row by row.

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
        y_true: ArrayLike,
        y_pred: ArrayLike,
        metric: MetricLike = "f1",
        *,
        thresholds: ArrayLike | None = None,
        ax: Axes | None = None,
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
        result = get_metric(metric)
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
        return cls._from_counts(counts.astype(np.float64), result, threshold).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Estimator, *, ax: Axes | None = None) -> Self:
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
        model: Any = estimator
        history = model.history_
        counts = np.stack([history[name] for name in COUNTS])
        metric = get_metric(model.metric)
        display = cls._from_counts(counts, metric, history["threshold"])
        display.n_seen = history["n_seen"]
        return display.plot(ax)

    @classmethod
    def _from_counts(
        cls, counts: Floats, metric: Metric, threshold: Floats | None
    ) -> Self:
        """Return the display of cumulative counts (4, n_moments)."""
        return cls(
            n_seen=counts[3],
            threshold=threshold,
            score=np.atleast_1d(metric.value(*counts)),
            recent=np.atleast_1d(metric.value(*recent_counts(counts))),
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
                picks = thin_indices(len(values))
                x, y = np.asarray(self.n_seen)[picks], np.asarray(values)[picks]
                (lines[what],) = ax.plot(x, y, label=label, **style)
        return lines.get("score", lines.get("threshold"))


def recent_counts(counts: Floats) -> Floats:
    """Return the counts of the rows between each moment and an earlier one."""
    back = max(1, counts.shape[1] // WINDOWS)
    before = np.concatenate([np.zeros((len(counts), back)), counts], axis=1)
    late: Floats = counts - before[:, : counts.shape[1]]
    return late
