"""evaluate: the actual score of classes, with their table of counts."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric._ground.arguments import refuses
from argmetric._ground.display import (
    COUNT,
    Field,
    between,
    class_metric_fields,
    documented,
    only_shown,
)
from argmetric._ground.groups import Groups, code_groups
from argmetric._ground.label_words import list_labels
from argmetric._ground.labels import (
    distinct,
    label_array,
    one_per_row,
    plain_label,
    predicted_labels,
    refuse_missing,
    scoring_metric,
)
from argmetric._ground.pictures import drawing
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    Axes,
    ClassNames,
    ClassTuple,
    Floats,
    Integers,
    Interval,
    LabelRule,
    WithLabels,
)
from argmetric._ground.validation import (
    VALUES_TO_JUDGE_BY,
    check_length,
    check_weight,
    warn_user,
)
from argmetric._verbs.decide import Actual, cell_scales, warn_of_surprise
from argmetric.classes._input import codes_of, given_classes
from argmetric.metrics import (
    ClassAverage,
    ClassFunction,
    ClassMetric,
    ClassRatio,
    MetricLike,
    check_order,
    get_class_metric,
    ordinal_kappa,
)

if TYPE_CHECKING:
    from argmetric.classes._forecast import ClassForecast

COVERAGE = 0.9
DRAWS = 2000  # of the frequencies of the cells, for the interval
WRITTEN = 12  # classes up to which counts are written into the picture


class ActualClassScore(Actual):
    """Actual score of labels of several classes: a float with its table of counts.

    Parameters
    ----------
    value : float
        The score.
    **known
        What it was computed from: `evaluate` passes it.

    Attributes
    ----------
    metric : ClassMetric
        Metric that was computed, with its convention for absent classes.
    classes : tuple
        The classes, in the order of the table.
    confusion : ndarray
        Rows by true class (rows) and label (columns), or the sums of their weights.
    n_groups : int or None
        Number of groups that the score is the mean over.
    coverage : float
        Of `interval`: 0.9.

    Examples
    --------
    >>> import argmetric as am
    >>> score = am.classes.evaluate(["a", "b", "c", "a"], ["a", "b", "b", "a"])
    >>> score.per_class.round(3)
    array([1.   , 0.667, 0.   ])
    """

    metric: ClassMetric
    classes: ClassTuple
    confusion: Floats
    n_groups: int | None
    coverage: float = COVERAGE
    _group_scores: Floats | None
    _squares: Floats | None  # sums of squared weights of the cells
    _rows: int

    @property
    def n(self) -> int:
        """Number of rows that have a weight."""
        return self._rows

    @property
    def per_class(self) -> Floats | None:
        """Value of each class, nan if left out; None where there is no mean."""
        if not isinstance(self.metric, ClassRatio):
            return None
        tp = np.diagonal(self.confusion)
        return self.metric.values(
            tp, self.confusion.sum(axis=0), self.confusion.sum(axis=1)
        )

    @cached_property
    def interval(self) -> Interval | None:
        """Return the 90 % interval of the score on many more such rows.

        Frequencies of the cells are drawn from their posterior, Dirichlet(count +
        1/C²), and the middle 90 % of the scores is kept. With weights w a cell counts
        as (Σw)²/Σw² rows of equal weight. For groups it is the mean ± 1.645 standard
        errors; None for a single group.
        """
        tail = (1.0 - self.coverage) / 2.0
        if self._group_scores is not None:
            count = self._group_scores.size
            if count < 2:
                return None
            error = 1.645 * float(self._group_scores.std(ddof=1)) / count**0.5
            return Interval(float(self) - error, float(self) + error)
        rng = np.random.default_rng(0)
        cells, prior = self.confusion.ravel(), 1.0 / self.confusion.size
        if self._squares is None:
            rates = rng.dirichlet(cells + prior, DRAWS)
        else:
            scale = cell_scales(cells, self._squares)
            rates = rng.standard_gamma(cells / scale + prior, (DRAWS, cells.size))
            rates *= scale
            rates /= rates.sum(axis=1, keepdims=True)
        tables = rates.reshape(DRAWS, *self.confusion.shape) * cells.sum()
        scores = self.metric.score(tables)
        low, high = np.nanquantile(scores, (tail, 1.0 - tail)).tolist()
        return Interval(min(low, float(self)), max(high, float(self)))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions behind the interval."""
        return ("independent rows" if self.n_groups is None else "independent groups",)

    def _columns(self) -> dict[str, object]:
        counts = self.confusion
        found = {
            "class": [str(one) for one in self.classes],
            "n": counts.sum(axis=1),
            "n_predicted": counts.sum(axis=0),
            "n_right": np.diagonal(counts),
        }
        return found if self.per_class is None else found | {"score": self.per_class}

    def fields(self) -> list[Field]:
        """Return all fields of the result, in the order of its summary.

        Returns
        -------
        list of Field
            Keys with values for JSON, and words with text for the summary.
        """
        values = () if self.per_class is None else self.per_class
        named = zip(self.classes[:WRITTEN], values, strict=False)
        interval = f"{self.coverage:.0%} interval"
        return [
            *class_metric_fields(self.metric, words=None),
            Field("score", float(self)),
            self._field("interval", interval, between),
            *self._keys("coverage", "classes", "per_class", "confusion"),
            self._field("n", "rows", COUNT),
            Field("n_groups", self.n_groups),
            *only_shown((str(name), f"{value:.3f}") for name, value in named),
        ]

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the confusion matrix, shaded by the share of the true class."""
        count = len(self.classes)
        side = min(2.4 + 0.45 * count, 9.0)
        words = {"xlabel": "Predicted", "ylabel": "Actual", "title": self._title()}
        with drawing(ax, (side, side), **words) as ax:
            counts, names = self.confusion, [str(one) for one in self.classes]
            share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
            ax.imshow(share, cmap="Blues", vmin=0, vmax=1)
            ax.set_xticks(range(count), names, rotation=45, ha="right")
            ax.set_yticks(range(count), names)
            for (row, column), n in np.ndenumerate(counts):
                if count <= WRITTEN:
                    ink = "wk"[int(share[row, column] <= 0.5)]
                    ax.text(column, row, f"{n:,.0f}", ha="center", va="center", c=ink)
        return ax


@refuses("mean")
def evaluate(
    y: ArrayLike,
    labels: ArrayLike | LabelRule | WithLabels,
    metric: MetricLike | None = None,
    *,
    classes: ClassNames | None = None,
    groups: ArrayLike | None = None,
    average: ClassAverage | None = None,
    zero_division: float | None = None,
    sample_weight: ArrayLike | None = None,
    cost: ArrayLike | None = None,
    forecast: ClassForecast | None = None,
) -> ActualClassScore:
    """Return the actual score of classes against the true ones.

    Parameters
    ----------
    y : array-like
        The true class of each row.
    labels : array-like or ClassDecision
        Predicted classes. There are no scores here: of a rule pass
        ``rule.predict(p)``.
    metric : str, Metric or callable, optional
        Metric, as for `decide`; by default the metric of a decision, or "f1".
    classes : sequence, optional
        The classes; by default all labels that occur. Kappas of classes in order take
        those of a decision.
    groups, average, zero_division, cost
        As for `decide`.
    sample_weight : array-like, optional
        Weight of each row; counts become sums of weights.
    forecast : ClassForecast, optional
        A forecast for the same labels: warn if its interval does not contain the
        score.

    Returns
    -------
    ActualClassScore
        A float with `confusion`, `interval`, `plot()` and `to_dict()`.

    Examples
    --------
    >>> import argmetric as am
    >>> am.classes.evaluate(["a", "b", "c", "a"], ["a", "b", "b", "a"], "accuracy")
    0.75
    """
    if cost is None:
        metric = scoring_metric(metric, labels)
    actual = one_per_row(label_array(y, "y"), "y")
    predicted = predicted_labels(labels)[0]
    predicted = one_per_row(label_array(predicted, "labels"), "labels")
    check_length(predicted, "labels", actual.size, "y")
    if actual.size == 0:
        raise ValueError("y has no rows: there is nothing to score")
    if classes is None and ordinal_kappa(metric) is not None:
        classes = getattr(labels, "classes", None)  # of a decision, in their order
    if classes is None:
        refuse_missing(actual, "y")
        refuse_missing(predicted, "labels")
        names = _classes_of(actual, predicted)
        check_order(metric, names)
    else:
        names = given_classes(classes)
    count = len(names)
    options: Any = {"average": average, "zero_division": zero_division, "cost": cost}
    class_metric = get_class_metric(metric, n_classes=count, **options)
    cell = codes_of(actual, names, actual.size, "y") * count
    cell += codes_of(predicted, names, actual.size, "labels")
    weight = check_weight(sample_weight, actual.shape, "y")
    if weight is not None and not weight.any():
        raise ValueError("sample_weight is 0 on every row: nothing is left to evaluate")
    total = np.bincount(cell, weight, count * count).reshape(count, count)
    values = None
    if groups is not None:
        coded = code_groups(groups, actual.size)
        values = group_scores(class_metric, cell, coded, count, weight)
        values = values[~np.isnan(values)]
    squares = rows = None
    if weight is not None:
        squares = np.bincount(cell, weight**2, count * count).astype(np.float64)
        rows = int(np.count_nonzero(weight))
    score = score_of_counts(
        total, names, class_metric, group_values=values, squares=squares, rows=rows
    )
    warn_of_surprise(forecast, float(score), weighted=weight is not None)
    return score


def _classes_of(actual: AnyArray, predicted: AnyArray) -> ClassTuple:
    """Return the classes of both; warn where they have none in common."""
    both = ({plain_label(x) for x in distinct(one)} for one in (actual, predicted))
    true, other = both
    refuse_asked(true, other, "labels")
    if actual.size >= VALUES_TO_JUDGE_BY and not true & other:
        warn_user(
            f"y and labels have no class in common: y has {list_labels([*true])}, "
            f"labels have {list_labels([*other])}; pass decide its classes="
        )
    return sorted_classes(true | other, "y and labels")


def refuse_asked(true: set[Any], predicted: set[Any], name: str) -> None:
    """Refuse labels of rows that a review rule left to a person, by default names."""
    asked = [one for one in ("ask", -1) if one in predicted - true]
    if asked:
        raise ValueError(
            f"{name} has {asked[0]!r}, which is no true class of a row: a review rule "
            "leaves such rows to a person. Leave them out, or, if it is a class, name "
            "all of them in classes"
        )


def sorted_classes(labels: set[Any], name: str) -> ClassTuple:
    """Return labels of one type, in order."""
    kinds = sorted({type(one).__name__ for one in labels})
    if len(kinds) > 1:
        raise TypeError(f"{name} mix labels of different types: {', '.join(kinds)}")
    if "complex" in kinds:
        raise TypeError(f"{name} are complex numbers, which have no order")
    return tuple(sorted(labels))


def score_of_counts(
    counts: Integers | Floats,
    classes: ClassTuple,
    metric: ClassMetric,
    *,
    group_values: Floats | None = None,
    squares: Floats | None = None,
    rows: int | None = None,
) -> ActualClassScore:
    """Return the score of a table of counts, or the mean over groups.

    Parameters
    ----------
    counts : ndarray of shape (n_classes, n_classes)
        Rows, or sums of weights, by true class and label.
    classes : tuple
    metric : ClassMetric
    group_values : ndarray of shape (n_groups,), optional
        Scores of the groups.
    squares : ndarray of shape (n_classes, n_classes), optional
        Sums of squared weights.
    rows : int, optional
        Rows with a weight; by default the sum of the counts.
    """
    confusion = counts.astype(np.float64)
    if group_values is not None:
        value = float(group_values.mean()) if group_values.size else float("nan")
    elif isinstance(metric, ClassFunction):
        value = metric.finite_score(confusion)
    else:
        value = float(metric.score(confusion))
    return ActualClassScore(
        value,
        metric=metric,
        classes=classes,
        confusion=confusion,
        n_groups=None if group_values is None else int(group_values.size),
        _group_scores=group_values,
        _squares=squares,
        _rows=int(confusion.sum()) if rows is None else rows,
    )


def group_scores(
    metric: ClassMetric,
    cell: Integers,
    groups: Groups,
    count: int,
    weight: Floats | None = None,
) -> Floats:
    """Return the score of every group, of shape (n_groups,); nan where undefined.

    `cell` has true·count + predicted for each row, and `weight` its weight.
    """
    cells = groups.codes * (count * count) + cell
    flat = np.bincount(cells, weight, groups.count * count * count)
    tables = flat.reshape(-1, count, count).astype(np.float64)
    if weight is not None:
        tables = tables[tables.any(axis=(1, 2))]
    return metric.score(tables)
