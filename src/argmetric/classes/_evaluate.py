"""evaluate: the actual score of classes, with their table of counts."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from argmetric._ground.display import (
    COUNT,
    Field,
    Headline,
    ScoreFloat,
    between,
    class_metric_fields,
    metric_title,
    number,
    only_shown,
    with_interval,
)
from argmetric._ground.groups import Groups, code_groups
from argmetric._ground.labels import (
    distinct,
    label_array,
    one_per_row,
    plain_label,
    refuse_missing,
)
from argmetric._ground.pictures import drawing
from argmetric._ground.types import Floats, Integers, Interval
from argmetric._ground.validation import check_length
from argmetric._verbs.decide import warn_of_surprise
from argmetric.classes._input import codes_of, given_classes
from argmetric.metrics import (
    ClassAverage,
    ClassFunction,
    ClassMetric,
    ClassRatio,
    MetricLike,
    get_class_metric,
)

COVERAGE = 0.9
DRAWS = 2000  # of the shares of the cells, for the interval
WRITTEN = 12  # classes up to which counts are written into the picture


class ActualClassScore(ScoreFloat):
    """The actual score of labels of several classes: a float with its table of counts.

    Attributes
    ----------
    metric : ClassMetric
        What was computed, with its convention for absent classes.
    classes : tuple
        The classes, in the order of the table.
    confusion : ndarray
        Rows by true class (rows) and label (columns).
    n_groups : int or None
        Number of groups that the score is the mean over.
    coverage : float
        Of `interval`: 0.9.
    """

    metric: ClassMetric
    classes: tuple[Any, ...]
    confusion: Floats
    n_groups: int | None
    coverage: float = COVERAGE
    _group_scores: Floats | None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.confusion.sum())

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
        """The range in which the score on many more such rows would lie.

        The shares of the cells are drawn from their posterior, Dirichlet(count +
        1/C²), and the middle 90 % of the scores is kept. For groups it is the mean ±
        1.645 standard errors; None for a single group.
        """
        tail = (1.0 - self.coverage) / 2.0
        if self._group_scores is not None:
            count = self._group_scores.size
            if count < 2:
                return None
            error = 1.645 * float(self._group_scores.std(ddof=1)) / count**0.5
            return Interval(float(self) - error, float(self) + error)
        rng = np.random.default_rng(0)
        cells = self.confusion.ravel() + 1.0 / self.confusion.size
        drawn = rng.dirichlet(cells, DRAWS).reshape(DRAWS, *self.confusion.shape)
        scores = self.metric.score(drawn * self.n)
        low, high = np.nanquantile(scores, (tail, 1.0 - tail)).tolist()
        return Interval(min(low, float(self)), max(high, float(self)))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the interval rests on."""
        return ("independent rows" if self.n_groups is None else "independent groups",)

    def _columns(self) -> dict[str, Any]:
        counts = self.confusion
        found = {
            "class": [str(one) for one in self.classes],
            "n": counts.sum(axis=1),
            "n_predicted": counts.sum(axis=0),
            "n_right": np.diagonal(counts),
        }
        return found if self.per_class is None else found | {"score": self.per_class}

    def _headline(self) -> Headline:
        name = f"actual {metric_title(self.metric.name)}"
        more = with_interval(self.interval, self.coverage)
        return Headline(name, number(float(self)), more)

    def fields(self) -> list[Field]:
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

    def plot(self, ax: Any = None) -> Any:
        """Draw the confusion matrix, shaded by share of the true class.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        count = len(self.classes)
        side = min(2.4 + 0.45 * count, 9.0)
        words = {"xlabel": "Predicted", "ylabel": "Actual", "title": self._title()}
        with drawing(ax, (side, side), **words) as ax:
            counts, names = self.confusion, [str(one) for one in self.classes]
            share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
            ax.imshow(share, cmap="Blues", vmin=0, vmax=1)
            ax.set_xticks(range(count), names, rotation=45, ha="right")
            ax.set_yticks(range(count), names)
            for (truth, said), n in np.ndenumerate(counts):
                if count <= WRITTEN:
                    how = {"color": "wk"[int(share[truth, said] <= 0.5)]}
                    ax.text(said, truth, f"{n:,.0f}", ha="center", va="center", **how)
        return ax

    def _title(self) -> str:
        return f"Actual {metric_title(self.metric.name)}: {float(self):.3f}"


def evaluate(
    y_true: Any,
    y_pred: Any,
    metric: MetricLike = "f1",
    *,
    classes: Any = None,
    groups: Any = None,
    average: ClassAverage | None = None,
    zero_division: float | None = None,
    cost: Any = None,
    forecast: Any = None,
) -> ActualClassScore:
    """Return the actual score of classes against the true ones.

    Parameters
    ----------
    y_true, y_pred : array-like
        The class of each row.
    metric : str, Metric or callable, default="f1"
        What to compute, as for `decide`.
    classes : sequence, optional
        The classes; by default all labels that occur.
    groups, average, zero_division, cost
        As for `decide`.
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
    truth = one_per_row(label_array(y_true, "y_true"), "y_true")
    said = one_per_row(label_array(y_pred, "y_pred"), "y_pred")
    check_length(said, "y_pred", truth.size, "y_true")
    if truth.size == 0:
        raise ValueError("y_true has no rows: there is nothing to score")
    if classes is None:
        for one, name in ((truth, "y_true"), (said, "y_pred")):
            refuse_missing(one, name)
        found = {plain_label(x) for one in (truth, said) for x in distinct(one)}
        names = sorted_classes(found, "y_true and y_pred")
    else:
        names = tuple(map(plain_label, given_classes(classes)))
    of_metric = get_class_metric(
        metric,
        average=average,
        zero_division=zero_division,
        cost=cost,
        n_classes=len(names),
    )
    true = codes_of(truth, names, truth.size, "y_true")
    predicted = codes_of(said, names, truth.size, "y_pred")
    count = len(names)
    cell = true * count + predicted
    total = np.bincount(cell, minlength=count * count).reshape(count, count)
    values = None
    if groups is not None:
        values = group_scores(of_metric, cell, code_groups(groups, truth.size), count)
        values = values[~np.isnan(values)]
    score = score_of_counts(total, names, of_metric, values)
    if forecast is not None:
        warn_of_surprise(forecast, float(score))
    return score


def sorted_classes(found: set[Any], name: str) -> tuple[Any, ...]:
    """Labels of one type, in order."""
    kinds = sorted({type(one).__name__ for one in found})
    if len(kinds) > 1:
        raise TypeError(f"{name} mix labels of different types: {', '.join(kinds)}")
    return tuple(sorted(found))


def score_of_counts(
    counts: Integers,
    classes: tuple[Any, ...],
    metric: ClassMetric,
    of_groups: Floats | None = None,
) -> ActualClassScore:
    """The score of a table of counts; the mean over groups where there are some."""
    confusion = counts.astype(np.float64)
    if of_groups is not None:
        value = float(of_groups.mean()) if of_groups.size else float("nan")
    elif isinstance(metric, ClassFunction):
        value = metric.defined(confusion)
    else:
        value = float(metric.score(confusion))
    return ActualClassScore(
        value,
        metric=metric,
        classes=classes,
        confusion=confusion,
        n_groups=None if of_groups is None else int(of_groups.size),
        _group_scores=of_groups,
    )


def group_scores(
    metric: ClassMetric, cell: Integers, groups: Groups, count: int
) -> Floats:
    """Score of every group, nan where undefined; cell = true·count + predicted."""
    cells = groups.codes * (count * count) + cell
    tables = np.bincount(cells, minlength=groups.count * count * count)
    return metric.score(tables.reshape(-1, count, count).astype(np.float64))
