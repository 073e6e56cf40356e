"""evaluate: the actual score of labels, with counts, an interval and a picture."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from argmetric._ground.arguments import (
    is_tensor,
    refuse_for_tensors,
)
from argmetric._ground.display import (
    Field,
    Headline,
    ScoreFloat,
    between,
    metric_fields,
    metric_title,
    number,
    only_shown,
    with_interval,
)
from argmetric._ground.labels import (
    classes_of,
    distinct,
    read_together,
    refuse_sparse_pos_label,
)
from argmetric._ground.layout import Average, lay_out
from argmetric._ground.pictures import draw_counts, drawing
from argmetric._ground.sparse import check_structure, entry_place, is_sparse
from argmetric._ground.types import Floats, Integers, Interval
from argmetric._ground.validation import Probabilities
from argmetric._verbs.decide._one import mean_defined
from argmetric.metrics import (
    Metric,
    MetricLike,
    get_metric,
    require_defined,
)

COVERAGE = 0.9
DRAWS = 4000  # of the shares of the four counts, for the interval


class ActualScore(ScoreFloat):
    """The actual score of labels: a float that knows its counts and its interval.

    It is a float in every respect: it prints, compares, formats and adds up like one,
    and arithmetic with it gives plain floats. Notebooks show it as a table.

    Attributes
    ----------
    metric : Metric
        What was computed.
    counts : dict of str to int
        Rows (cells of a matrix) by truth and prediction: tp, fp, fn and tn.
    average : str or None
        How groups, rows or labels were combined; None where all rows are one batch.
    n_groups : int or None
        Number of groups, rows or labels that the score is the mean over, without
        those on which it is undefined; None where it is no mean.
    coverage : float
        Coverage of `interval`: 0.9.
    """

    metric: Metric
    counts: dict[str, int]
    average: str | None
    n_groups: int | None
    coverage: float
    _of_means: Interval | None

    @property
    def score(self) -> float:
        """The score as a plain float."""
        return float(self)

    @property
    def n(self) -> int:
        """Number of rows, or of cells of a matrix."""
        return sum(self.counts.values())

    @property
    def interval(self) -> Interval | None:
        """The range in which the score on many more such rows would lie.

        A batch: the shares of the four counts are drawn from their posterior under
        Jeffreys' prior, Dirichlet(count + 1/2), and the middle 90 % of the scores is
        kept; rows count as independent. A mean over groups or rows: the mean ± 1.645
        standard errors, within the lowest and the highest of them. None with
        ``average="macro"``, because labels are no sample, and with a single group.
        """
        if self.n_groups is not None:
            return self._of_means
        rng = np.random.default_rng(0)
        cells = np.array([self.counts[name] for name in ("tp", "fp", "fn", "tn")])
        tp, fp, fn, _ = rng.dirichlet(cells + 0.5, DRAWS).T * self.n
        values = np.asarray(
            self.metric.value(tp, tp + fp, tp + fn, np.full(DRAWS, self.n))
        )
        tail = (1.0 - self.coverage) / 2.0
        low, high = np.nanquantile(values, (tail, 1.0 - tail)).tolist()
        return Interval(min(low, float(self)), max(high, float(self)))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the interval rests on."""
        units = "rows" if self.n_groups is None else str(self.average)
        return (f"independent {units}",)

    def _headline(self) -> Headline:
        name = f"actual {metric_title(self.metric.name)}"
        more = with_interval(self.interval, self.coverage)
        return Headline(name, number(float(self)), more)

    def fields(self) -> list[Field]:
        interval = f"{self.coverage:.0%} interval"
        return [
            *metric_fields(self.metric, words=None),
            *self._keys("average", "score"),
            self._field("interval", interval, between),
            *self._keys("coverage", "counts", "n"),
            *only_shown((name, f"{count:,}") for name, count in self.counts.items()),
            self._field("n_groups", "mean over", f"{{:,}} {self.average}"),
        ]

    def plot(self, ax: Any = None) -> Any:
        """Draw the confusion matrix, with the score as its title.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        labels = {"xlabel": "Predicted", "ylabel": "Actual", "title": self._title()}
        with drawing(ax, (4.2, 3.8), **labels) as ax:
            draw_counts(ax, self.counts)
        return ax

    def _title(self) -> str:
        return f"Actual {metric_title(self.metric.name)}: {float(self):.3f}"


def evaluate(
    y_true: Any,
    y_pred: Any,
    metric: MetricLike = "f1",
    *,
    groups: Any = None,
    average: Average | None = None,
    zero_division: float | None = None,
    pos_label: Any = None,
    forecast: Any = None,
) -> float:
    """Return the actual score of labels against the truth, averaged as in `decide`.

    Parameters
    ----------
    y_true, y_pred : array-like
        Labels, as a vector or a matrix: 0/1, booleans, -1/1, or any others with
        `pos_label`. Tensors are counted on their device.
    metric : str, Metric or callable, default="f1"
        What to compute.
    groups : array-like, optional
        Group of each row.
    average : {"groups", "pooled", "samples", "macro", "micro"}, optional
        How segments are combined. Groups alone mean "groups".
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0; with nan such segments are left out of the mean.
    pos_label : object, optional
        The label that counts as positive.
    forecast : Forecast, optional
        A forecast for the same labels: warn if its interval does not contain the
        score.

    Returns
    -------
    ActualScore
        A float with `counts`, `interval`, `plot()` and `to_dict()`.

    See Also
    --------
    argmetric.classes.evaluate : Labels of several classes.

    Examples
    --------
    >>> import argmetric as am
    >>> score = am.evaluate([1, 1, 0, 0], [1, 0, 0, 0])
    >>> round(score, 4)
    0.6667
    >>> score.counts
    {'tp': 1, 'fp': 0, 'fn': 1, 'tn': 2}
    >>> print("{:.2f} to {:.2f}".format(*score.interval))
    0.14 to 0.91
    >>> am.evaluate(["spam", "ham"], ["spam", "spam"], "recall", pos_label="spam")
    1.0
    """
    metric = get_metric(metric, zero_division=zero_division)
    if groups is not None and average is None:
        average = "groups"
    by: Any = average  # checked with the layout
    if type(y_true) is not np.ndarray and is_tensor(y_true):
        refuse_for_tensors(pos_label=pos_label is not None)
        from argmetric.tensors import count

        counts = count(y_true, y_pred, groups, by)
    elif is_sparse(y_true) and is_sparse(y_pred):
        refuse_sparse_pos_label(pos_label, y_true=y_true, y_pred=y_pred)
        counts = _count_sparse(y_true, y_pred, groups, by)
    else:
        counts = _count(y_true, y_pred, pos_label, groups, by)
    hit, predicted, actual, sizes = counts
    require_defined(metric, int(sizes.max()))
    values = np.atleast_1d(metric.value(hit, predicted, actual, sizes))
    score = mean_defined(values)
    if math.isnan(score):
        raise ValueError(
            f"{metric.name} is undefined (0/0) on these labels; zero_division=0 or 1 "
            "gives it a value"
        )
    if forecast is not None:
        warn_of_surprise(forecast, score)
    tp, k, t, n = (int(part.sum()) for part in counts)
    n_groups, of_means = None, None
    if average in ("groups", "samples", "macro"):
        defined = values[~np.isnan(values)]
        n_groups = defined.size
        if average != "macro" and defined.size > 1:
            # Mean ± 1.645 standard errors: 90 % of a normal law
            reach = 1.645 * float(defined.std(ddof=1)) / math.sqrt(defined.size)
            low, high = float(defined.min()), float(defined.max())
            of_means = Interval(max(score - reach, low), min(score + reach, high))
    return ActualScore(
        score,
        metric=metric,
        average=average,
        coverage=COVERAGE,
        counts={"tp": tp, "fp": k - tp, "fn": t - tp, "tn": n - k - t + tp},
        n_groups=n_groups,
        _of_means=of_means,
    )


def warn_of_surprise(forecast: Any, score: float) -> None:
    if not hasattr(forecast, "surprise"):
        raise TypeError(
            f"forecast must be what forecast() gave, not {type(forecast).__name__}"
        )
    surprise = forecast.surprise(score)
    if surprise is not None:
        warnings.warn(surprise, UserWarning, stacklevel=3)


def _count(
    y_true: Any, y_pred: Any, pos_label: Any, groups: Any, average: Average | None
) -> tuple[Floats, Floats, Floats, Integers]:
    """Hits, predicted and actual positives, and the size, of every segment."""
    read = read_together(pos_label, y_true=y_true, y_pred=y_pred)
    true, pred = (numbers == 1.0 for numbers in read)
    if true.size == 0:
        raise ValueError("y_true is empty: there is nothing to evaluate")
    cells = Probabilities(true.astype(np.float64))
    layout = lay_out(cells, groups=groups, average=average, name="y_true")
    order = layout.segment_rows(0, layout.indptr.size - 1)
    hit, predicted, actual = (
        np.add.reduceat(layout.select(a)[order].astype(np.float64), layout.indptr[:-1])
        for a in (true & pred, pred, true)
    )
    return hit, predicted, actual, layout.sizes


def _count_sparse(
    y_true: Any, y_pred: Any, groups: Any, average: Average | None
) -> tuple[Floats, Floats, Floats, Integers]:
    """Counts of two sparse matrices, from their entries alone."""
    check_structure(y_true, "y_true")
    check_structure(y_pred, "y_pred")
    if 0 in y_true.shape:
        raise ValueError("y_true is empty: there is nothing to evaluate")
    layout = lay_out(y_true, groups=groups, average=average, name="y_true")
    true, pred = _entries(y_true, "y_true"), _entries(y_pred, "y_pred")
    if true.shape != pred.shape:
        raise ValueError(
            f"y_pred has shape {pred.shape} but y_true has shape {true.shape}"
        )
    axis = {"samples": 1, "macro": 0}.get(layout.average or "")
    hit, predicted, actual = (
        np.asarray(a.sum(axis=axis), dtype=np.float64).ravel()
        for a in (true.multiply(pred), pred, true)
    )
    return hit, predicted, actual, layout.sizes


def _entries(labels: Any, name: str) -> Any:
    """Sparse 0/1 labels with one entry per cell."""
    matrix = labels.tocsr(copy=True).astype(np.float64)
    matrix.sum_duplicates()

    def where(label: Any) -> str:
        return entry_place(matrix, int(np.flatnonzero(matrix.data == label)[0]))

    cells = np.append(matrix.data, (0, 1))  # the absent ones are 0
    classes_of(distinct(cells), name, where=where)  # refuses all but 0 and 1
    return matrix
