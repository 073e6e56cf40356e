"""evaluate: the actual score of labels, with counts, an interval and a picture."""

from __future__ import annotations

import math
import warnings
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from argmetric._ground.arguments import (
    check_structure,
    entry_place,
    is_sparse,
    is_tensor,
    refuse_for_tensors,
)
from argmetric._ground.display import (
    Field,
    Headline,
    ScoreFloat,
    between,
    documented,
    metric_fields,
    metric_title,
    number,
    only_shown,
    with_interval,
)
from argmetric._ground.label_words import LIKE_SCORES, LabelError
from argmetric._ground.labels import (
    EVALUATE,
    binary_labels,
    classes_of,
    distinct,
    predicted_labels,
    read_together,
    refuse_sparse_pos_label,
    scoring_metric,
)
from argmetric._ground.layout import Average, lay_out
from argmetric._ground.pictures import draw_counts, drawing
from argmetric._ground.types import (
    ArrayLike,
    Axes,
    Booleans,
    Floats,
    Integers,
    Interval,
    Label,
    LabelsLike,
    SparseMatrix,
)
from argmetric._ground.validation import Probabilities, check_weight
from argmetric._verbs.decide._macro_interval import (
    LabelTables,
    MatrixRows,
    macro_interval,
    tables_of_labels,
)
from argmetric._verbs.decide._one import mean_defined
from argmetric.metrics import (
    ClassMetric,
    Metric,
    MetricLike,
    MissedLike,
    MissedPositives,
    Utility,
    get_metric,
    is_listed,
    listed_wrongly,
    refuse_for_amounts,
    require_defined,
    require_one_batch,
    with_missed,
)

if TYPE_CHECKING:
    from argmetric._forecast.result import Forecast

COVERAGE = 0.9
DRAWS = 4000  # of the shares of the four counts, for the interval
CELLS_AT_ONCE = 1 << 20  # of rows of a matrix, read as floats


class UndefinedScoreError(ValueError):
    """Raised where a metric is 0/0 and `zero_division` is nan."""


class Actual(ScoreFloat):
    """Base of actual scores, of two classes and of several."""

    metric: Metric | ClassMetric
    interval: Any  # a property of scores of two classes
    coverage: float

    def _headline(self) -> Headline:
        more = with_interval(self.interval, self.coverage)
        name = f"actual {metric_title(self.metric.name)}"
        return Headline(name, number(float(self)), more)

    def _title(self) -> str:
        return f"Actual {metric_title(self.metric.name)}: {float(self):.3f}"


class ActualScore(Actual):
    """Actual score of labels: a float with its counts and its interval.

    It is a float in every respect: it prints, compares, formats and adds up like one,
    and arithmetic with it gives plain floats. Notebooks show it as a table.

    Parameters
    ----------
    value : float
        The score.
    **known
        The attributes, by name.

    Attributes
    ----------
    metric : Metric
        Metric that was computed.
    counts : dict of str to int or float
        Rows (cells of a matrix) by truth and prediction: tp, fp, fn and tn; with
        `sample_weight` the sums of their weights.
    average : str or None
        How groups, rows or labels were combined; None where all rows are one batch.
    n_groups : int or None
        Number of groups, rows or labels that the score is the mean over, without
        those on which it is undefined; None where it is no mean.
    coverage : float
        Coverage of `interval`: 0.9.

    Examples
    --------
    >>> import argmetric as am
    >>> score = am.evaluate([1, 1, 0, 0], [1, 0, 0, 0], "recall")
    >>> score, score.n, score.counts["fn"]
    (0.5, 4, 1)
    """

    metric: Metric
    counts: dict[str, int] | dict[str, float]
    average: str | None
    n_groups: int | None
    coverage: float
    _of_means: Interval | None
    _tables: LabelTables | None = None  # of the mean over several labels
    _rows: int
    _squares: Floats | None = None
    _missed: int = 0  # of the false negatives of `counts`, those that are no rows

    @property
    def score(self) -> float:
        """Return the score as a plain float."""
        return float(self)

    @property
    def n(self) -> int:
        """Number of rows, or of cells of a matrix, that have a weight."""
        return self._rows

    @cached_property
    def interval(self) -> Interval | None:
        """Return the 90 % interval of the score on many more such rows.

        A batch: the shares of the four counts are drawn from their posterior under
        Jeffreys' prior, Dirichlet(count + 1/2), and the middle 90 % of the scores is
        kept; rows count as independent. With weights w, a cell counts as the
        (Σw)²/Σw² rows of equal weight that vary as its rows do: shares of gamma
        variates of that shape + 1/2 and the scale Σw²/Σw. A mean over groups or rows:
        the mean ± 1.645 standard errors, within the lowest and the highest; None with a
        single group. With ``average="macro"`` the counts of every label are drawn so
        under six priors, and the lowest and the highest end are kept: what labels with
        few positives score on more rows depends on the prior. It is stretched by the
        ratio of the standard error of the mean, rows with all their labels drawn, to
        that of independent labels.
        """
        if self._tables is not None:
            return macro_interval(self.metric, self._tables, self.coverage, float(self))
        means = self.n_groups is not None and self.average != "macro"
        if means or getattr(self.metric, "_by_rows", False):
            return self._of_means
        rng = np.random.default_rng(0)
        cells = np.array([self.counts[name] for name in ("tp", "fp", "fn", "tn")])
        n = cells.sum()
        scale = 1.0 if self._squares is None else cell_scales(cells, self._squares)
        drawn = rng.standard_gamma(cells / scale + 0.5, (DRAWS, 4)) * scale
        tp, fp, fn, _ = (drawn / drawn.sum(axis=1, keepdims=True)).T * n
        size = np.full(DRAWS, n)
        values = self.metric._expected_value(tp, tp + fp, tp + fn, size, rng)
        tail = (1.0 - self.coverage) / 2.0
        low, high = np.nanquantile(values, (tail, 1.0 - tail)).tolist()
        return Interval(min(low, float(self)), max(high, float(self)))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions behind the interval."""
        means = self.n_groups is not None and self.average != "macro"
        units = str(self.average) if means else "rows"
        return (f"independent {units}",)

    def fields(self) -> list[Field]:
        interval = f"{self.coverage:.0%} interval"
        missed = [Field("missed", self._missed, "missed", f"{self._missed:,}")]
        return [
            *metric_fields(self.metric, words=None),
            *(missed if self._missed else ()),
            *self._keys("average", "score"),
            self._field("interval", interval, between),
            *self._keys("coverage", "counts", "n"),
            *only_shown((name, _count_text(x)) for name, x in self.counts.items()),
            self._field("n_groups", "mean over", f"{{:,}} {self.average}"),
        ]

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the confusion matrix, with the score as its title."""
        labels = {"xlabel": "Predicted", "ylabel": "Actual", "title": self._title()}
        with drawing(ax, (4.2, 3.8), **labels) as ax:
            draw_counts(ax, self.counts)
        return ax


def evaluate(
    y: ArrayLike,
    labels: LabelsLike,
    metric: MetricLike | None = None,
    *,
    groups: ArrayLike | None = None,
    average: Average | None = None,
    zero_division: float | None = None,
    missed: MissedLike | list[int] | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    forecast: Forecast | None = None,
) -> ActualScore:
    """Return the actual score of labels against true labels, averaged as in `decide`.

    Parameters
    ----------
    y : array-like
        True labels, as a vector or a matrix: 0/1, booleans, -1/1, or any others with
        `pos_label`. Tensors are counted on their device.
    labels : array-like or Decision
        Predicted labels. There are no scores here: of a rule pass
        ``rule.predict(p)``, of a threshold ``p >= threshold``.
    metric : str, Metric or callable, optional
        Metric to compute; by default the metric of a decision, or "f1".
    groups : array-like, optional
        Group of each row.
    average : {"groups", "pooled", "samples", "macro", "micro"}, optional
        With groups: their mean (default), or all rows pooled. For a matrix: the mean
        over rows, the mean over columns, or all cells together.
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0, by default the metric's own; with nan such segments are left out
        of the mean.
    missed : int, float, pair or list, optional
        Positives that are no rows, as for `decide`; a count is among the false
        negatives of `counts`. For "macro" also a list, one count a label.
    sample_weight : array-like, optional
        Weight of each row, as in scikit-learn: counts become sums of weights, and with
        ``average="samples"`` rows are averaged by weight. A group whose rows all weigh
        0 is left out.
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
    metric = get_metric(scoring_metric(metric, labels), zero_division=zero_division)
    if groups is not None and average is None:
        average = "groups"
    by: Any = average  # checked with the layout
    labels, flags = predicted_labels(labels)
    if isinstance(metric, Utility) and metric._by_rows:
        alone = {"groups": groups, "average": average, "missed": missed}
        refuse_for_amounts(alone | {"sample_weight": sample_weight})
        return _score_amounts(y, labels, metric, pos_label, forecast)
    if type(y) is not np.ndarray and is_tensor(y):
        weighted = sample_weight is not None
        refuse_for_tensors(pos_label=pos_label is not None, sample_weight=weighted)
        from argmetric.tensors import count, sums_of_rows

        counted = SegmentCounts(*count(y, labels, groups, by))
        if average == "macro":
            rows = MatrixRows(partial(sums_of_rows, y, labels))
            counted = counted._replace(matrix=rows)
    elif is_sparse(y) and is_sparse(labels):
        refuse_sparse_pos_label(pos_label, y=y, labels=labels)
        counted = _count_sparse(y, labels, groups, by, sample_weight)
    else:
        if flags and pos_label is not None:  # labels have names, a decision has none
            y, pos_label = binary_labels(y, pos_label).positive, None
        counted = _count(y, labels, pos_label, groups, by, sample_weight=sample_weight)
    counted, metric = _with_missed(counted, metric, missed, average, sample_weight)
    score = score_counts(counted, metric, average)
    warn_of_surprise(forecast, float(score), weighted=sample_weight is not None)
    return score


def _score_amounts(
    y: object, labels: object, metric: Utility, pos_label: object, forecast: object
) -> ActualScore:
    """Return the worth of labels, of which each row has its own."""
    from argmetric._verbs._amounts import evaluate_amounts

    true, pred = (x == 1.0 for x in read_together(pos_label, y=y, labels=labels))
    if true.ndim != 1 or not true.size:
        raise ValueError(
            "a Utility with one value a row goes with vectors y and labels"
        )
    total, counts, interval = evaluate_amounts(true, pred, metric, COVERAGE)
    score = ActualScore(
        total,
        metric=metric,
        average=None,
        coverage=COVERAGE,
        counts=counts,
        n_groups=None,
        _of_means=interval,
        _rows=true.size,
    )
    warn_of_surprise(forecast, total, weighted=False)
    return score


def _with_missed(
    counted: SegmentCounts,
    metric: Metric,
    missed: Any,
    average: Average | None,
    sample_weight: object,
) -> tuple[SegmentCounts, Metric]:
    """Return counts with counted missed positives, or the metric with a rate."""
    if missed is not None and is_listed(missed):
        if average != "macro" or len(missed) != counted.actual.size:
            raise listed_wrongly(len(missed), counted.actual.size)
        metrics = [with_missed(metric, one) for one in missed]
    else:
        metrics = [with_missed(metric, missed)]
        require_one_batch(metrics[0], counted.actual.size)
    known = [getattr(one, "missed", None) for one in metrics]
    if not all(isinstance(one, int) for one in known):
        if len(known) > 1:
            raise TypeError("missed, a list, must have one count a label")
        return counted, metrics[0]
    if sample_weight is not None:
        raise ValueError(
            "missed as a count has no weights: pass a rate per found positive, or "
            "leave sample_weight out"
        )
    more, base = np.array(known, dtype=np.float64), metric
    if isinstance(metric, MissedPositives):  # of a decision
        base = metric.metric
    rows = counted._replace(actual=counted.actual + more, sizes=counted.sizes + more)
    return rows._replace(missed=int(more.sum())), base


def score_counts(
    counted: SegmentCounts, metric: Metric, average: Average | None
) -> ActualScore:
    """Return the score of counts, a mean over segments where there are several."""
    require_defined(metric, math.ceil(counted.sizes.max()))
    values = np.atleast_1d(metric.value(*counted[:4]))
    kept = ~np.isnan(values)
    weight = np.ones(values.size) if counted.weight is None else counted.weight
    score = mean_defined(values)
    if counted.weight is not None and kept.any():
        score = float(np.average(values[kept], weights=weight[kept]))
    if math.isnan(score):
        raise UndefinedScoreError(
            f"{metric.name} is undefined (0/0) on these labels; zero_division=0 or 1 "
            "gives it a value"
        )
    n_groups, of_means, tables = None, None, None
    if average in ("groups", "samples", "macro"):
        defined, weight = values[kept], weight[kept]
        n_groups = defined.size
        if average != "macro" and defined.size > 1:
            # Mean ± 1.645 standard errors, 90 % of a normal distribution:
            # √(Σ w²(x - mean)² · m/(m - 1)) / Σw for m values
            spread = float(np.sum((weight * (defined - score)) ** 2))
            spread *= defined.size / (defined.size - 1)
            reach = 1.645 * math.sqrt(spread) / float(weight.sum())
            low, high = float(defined.min()), float(defined.max())
            of_means = Interval(max(score - reach, low), min(score + reach, high))
    if counted.matrix is not None and values.size > 1:
        tables = tables_of_labels(metric, *counted.tables_and_scales(), counted.matrix)
    return ActualScore(
        score,
        metric=metric,
        average=average,
        coverage=COVERAGE,
        counts=counted.cells(),
        n_groups=n_groups,
        _of_means=of_means,
        _tables=tables,
        _rows=int(counted.sizes.sum() if counted.rows is None else counted.rows)
        - counted.missed,
        _squares=counted.squares,
        _missed=counted.missed,
    )


def warn_of_surprise(forecast: object, score: float, *, weighted: bool) -> None:
    """Warn where the score lies outside of the interval of a forecast."""
    if forecast is None:
        return
    if weighted:
        raise ValueError(
            "forecast counts every row once, so it cannot be held against a score "
            "with sample_weight: leave one of them out"
        )
    if not hasattr(forecast, "surprise"):
        raise TypeError(
            f"forecast must be what forecast() gave, not {type(forecast).__name__}"
        )
    surprise = forecast.surprise(score)
    if surprise is not None:
        warnings.warn(surprise, UserWarning, stacklevel=3)


def cell_scales(sums: Floats, squares: Floats) -> Floats:
    """Return Σw²/Σw of each cell of a table of weights.

    An empty cell has that of all rows.

    A gamma variate of the shape (Σw)²/Σw² and this scale has the mean and the variance
    of Σ w·g, g unit exponential for each row (Rubin's bootstrap).
    """
    scale = np.full(sums.shape, squares.sum() / sums.sum())
    np.divide(squares, sums, out=scale, where=sums > 0.0)
    return scale


class SegmentCounts(NamedTuple):
    """Hits, predicted and actual positives, and the size, of every segment.

    With weights all four are sums of weights. `weight` is then that of segments which
    are rows, and `squares` the sums of squared weights of tp, fp, fn and tn. `matrix`
    has the rows where segments are the labels of a matrix.
    """

    hit: Floats
    predicted: Floats
    actual: Floats
    sizes: Integers | Floats
    weight: Floats | None = None
    squares: Floats | None = None
    rows: int | None = None
    matrix: MatrixRows | None = None
    missed: int = 0  # positives of `actual` and `sizes` that are no rows

    def tables_and_scales(self) -> tuple[Floats, Floats]:
        """Return tp, fp, fn and tn of every segment, and the Σw²/Σw of each."""
        tp, k, t, n = self[:4]
        cells = np.stack([tp, k - tp, t - tp, n - k - t + tp], axis=1)
        cells = np.maximum(cells.astype(np.float64), 0.0)  # sums of weights are rounded
        squares = None if self.matrix is None else self.matrix.squares
        if squares is None:
            return cells, np.ones_like(cells)
        pairs = zip(cells, squares, strict=True)
        return cells, np.array([cell_scales(*pair) for pair in pairs])

    def cells(self) -> dict[str, int] | dict[str, float]:
        """Return the four counts over all segments."""
        worth = 1.0 if self.weight is None else self.weight
        tp, k, t, n = (float((part * worth).sum()) for part in self[:4])
        found = {"tp": tp, "fp": k - tp, "fn": t - tp, "tn": n - k - t + tp}
        if self.rows is not None:  # rounding of sums must not fall below nothing
            return {name: max(x, 0.0) for name, x in found.items()}
        return {name: int(x) for name, x in found.items()}


def _count_text(count: float) -> str:
    return f"{count:,}" if isinstance(count, int) else f"{count:,.6g}"


def _count(
    y: object,
    labels: object,
    pos_label: object,
    groups: object,
    average: Average | None,
    *,
    sample_weight: object,
) -> SegmentCounts:
    """Return hits, predicted and actual positives, and the size, per segment."""
    try:
        read = read_together(pos_label, y=y, labels=labels)
    except LabelError as error:
        if error.kind != "many" or "classes.evaluate" in error.way_out:
            raise
        way = f"{error.way_out}, or call {EVALUATE} for a score of all classes"
        if error.way_out.startswith(LIKE_SCORES):
            way = "evaluate takes labels: pass p >= threshold, or what decide returns"
            way = f"{LIKE_SCORES}; {way}"
        raise LabelError("many", error.problem, way) from None
    true, pred = (numbers == 1.0 for numbers in read)
    if true.size == 0:
        raise ValueError("y is empty: there is nothing to evaluate")
    cells = Probabilities(true.astype(np.float64))
    layout = lay_out(cells, groups=groups, average=average, name="y")
    order = layout.segment_rows(0, layout.indptr.size - 1)

    def group_sums(part: Booleans | Floats) -> Floats:
        flat = layout.select(part)[order].astype(np.float64)
        return np.asarray(np.add.reduceat(flat, layout.indptr[:-1]))

    parts = (true & pred, pred, true)
    by_label = layout.average == "macro"
    matrix = MatrixRows(partial(_sums_of_rows, true, pred)) if by_label else None
    weight = check_weight(sample_weight, (true.shape[0],), "y")
    if weight is not None and not weight.any():
        raise ValueError("sample_weight is 0 on every row: nothing is left to evaluate")
    if weight is None:
        hit, predicted, actual = map(group_sums, parts)
        return SegmentCounts(hit, predicted, actual, layout.sizes, matrix=matrix)
    worth = np.broadcast_to(weight.reshape(-1, *[1] * (true.ndim - 1)), true.shape)
    four = (true & pred, pred & ~true, true & ~pred, ~true & ~pred)
    squares = np.array([np.sum(worth**2, where=cell) for cell in four])
    if matrix is not None:
        own = np.stack([np.sum(worth**2, axis=0, where=cell) for cell in four], axis=1)
        matrix = matrix._replace(weight=weight, squares=own)
    known = squares, int(np.count_nonzero(worth)), matrix
    if layout.average == "samples":
        sums = [*map(group_sums, parts), layout.sizes.astype(np.float64)]
        kept, weight = weight > 0.0, weight[weight > 0.0]
    else:
        sums = [group_sums(np.where(part, worth, 0.0)) for part in parts]
        sums.append(group_sums(worth))
        kept, weight = sums[3] > 0.0, None
    hit, predicted, actual, sizes = (x[kept] for x in sums)
    return SegmentCounts(hit, predicted, actual, sizes, weight, *known)


def _count_sparse(
    y: Any,
    labels: Any,
    groups: object,
    average: Average | None,
    sample_weight: object,
) -> SegmentCounts:
    """Return the counts of two sparse matrices, from their entries alone."""
    check_structure(y, "y")
    check_structure(labels, "labels")
    if 0 in y.shape:
        raise ValueError("y is empty: there is nothing to evaluate")
    if sample_weight is not None:
        raise ValueError(
            "sample_weight goes with dense labels: pass y.toarray() and "
            "labels.toarray(), or the rows in parts"
        )
    layout = lay_out(y, groups=groups, average=average, name="y")
    true, pred = _entries(y, "y"), _entries(labels, "labels")
    if true.shape != pred.shape:
        raise ValueError(f"labels has shape {pred.shape} but y has shape {true.shape}")
    axis = {"samples": 1, "macro": 0}.get(layout.average or "")
    hit, predicted, actual = (
        np.asarray(a.sum(axis=axis), dtype=np.float64).ravel()
        for a in (true.multiply(pred), pred, true)
    )
    matrix = None
    if layout.average == "macro":
        matrix = MatrixRows(partial(_sums_of_sparse_rows, true, pred))
    return SegmentCounts(hit, predicted, actual, layout.sizes, matrix=matrix)


def _sums_of_rows(
    true: Booleans,
    pred: Booleans,
    by_true: Floats,
    by_predicted: Floats,
    by_hit: Floats,
) -> Floats:
    """Return the sums along rows of `MatrixRows`, of arrays (n_rows, n_labels)."""
    sums = np.empty(len(true))
    step = max(1, CELLS_AT_ONCE // true.shape[1])
    for first in range(0, len(true), step):
        rows = slice(first, first + step)
        sums[rows] = true[rows] @ by_true + pred[rows] @ by_predicted
        sums[rows] += (true[rows] & pred[rows]) @ by_hit
    return sums


def _sums_of_sparse_rows(
    true: Any, pred: Any, by_true: Floats, by_predicted: Floats, by_hit: Floats
) -> Floats:
    """Return the sums along rows that `MatrixRows` has, of sparse matrices."""
    sums = true @ by_true + pred @ by_predicted + true.multiply(pred) @ by_hit
    return np.asarray(sums, dtype=np.float64).ravel()


def _entries(labels: SparseMatrix, name: str) -> Any:
    """Return sparse 0/1 labels with one entry per cell."""
    matrix = labels.tocsr(copy=True).astype(np.float64)
    matrix.sum_duplicates()

    def label_place(label: object) -> str:
        return entry_place(matrix, int(np.flatnonzero(matrix.data == label)[0]))

    cells = np.append(matrix.data, (0, 1))  # the absent ones are 0
    classes_of(distinct(cells), name, where=label_place)  # refuses all but 0 and 1
    return matrix
