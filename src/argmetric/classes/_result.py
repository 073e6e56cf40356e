"""Result of `decide` for several classes: one class for every row."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric._ground.display import (
    Field,
    Headline,
    Result,
    as_frame,
    class_metric_fields,
    counted,
    documented,
    first_lines,
    metric_title,
    number,
)
from argmetric._ground.pictures import SmallPicture, bars_size, drawing
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    Axes,
    ClassTuple,
    Floats,
    Frame,
    Integers,
)
from argmetric.classes._calibrate import ClassBatch
from argmetric.classes._climb import expected_table
from argmetric.classes._values import rule_of
from argmetric.metrics import ClassGMean, ClassMetric

if TYPE_CHECKING:
    from argmetric.classes._forecast import ClassForecast
    from argmetric.classes._weights import MultiClassRule

SHOWN = 8  # classes in the printed form


@dataclass(frozen=True, repr=False, eq=False)
class ClassDecision(Result):
    """One class for every row, and the expected score of these labels.

    Parameters
    ----------
    labels : array-like
        The class of each row, in the user's names and in the kind of the input.
    codes : ndarray
        The column of each label.
    classes : tuple
        The class of each column.
    expected : float
        Expected metric of these labels; the mean over groups where there are some.
    is_exact : bool
        Whether `expected` is the expectation itself to 1e-12 (means over classes,
        accuracy, costs). It is not for the mean over drawn classes (G-mean), for the
        metric of the expected counts (kappa, MCC, functions), nor in batches too large
        for it, from some 5,000 rows of 10 classes on, with a rare class, a weighted
        mean or a Tversky index; nor where more than 12 classes may be absent and are
        left out.
    most_probable : float
        Expected metric of the most probable class of every row.
    bound : float
        No labels have a higher expected metric; nan without `certificate=True`, or
        where no bound is known.
    metric : ClassMetric
        Metric that was maximised, with its convention for absent classes.
    counts : ndarray
        Rows that are given each class.
    expected_counts : ndarray
        Expected number of true rows of each class.
    per_class, per_class_most_probable : ndarray or None
        Expected value of each class under both labellings, where the metric is a mean
        over classes: the mean over groups where there are some.
    n : int
        Number of rows.
    group_ids, group_expected : ndarray or None
        Name and expected metric of every group.
    notes : tuple of str
        Remarks on the decision.
    _batch : object, optional
        The rows, for `forecast` and `rule`; not for users.

    Examples
    --------
    >>> import argmetric as am
    >>> p = [[.6, .3, .1], [.5, .2, .3], [.7, .2, .1], [.5, .45, .05]]
    >>> d = am.classes.decide(p, "f1", classes=["a", "b", "c"])
    >>> d.labels
    array(['a', 'a', 'a', 'b'], dtype='<U1')
    >>> round(d.expected, 3), round(d.most_probable, 3)
    (0.433, 0.374)
    """

    labels: AnyArray
    codes: Integers
    classes: ClassTuple
    expected: float
    is_exact: bool
    most_probable: float
    bound: float
    metric: ClassMetric
    counts: Integers
    expected_counts: Floats
    per_class: Floats | None
    per_class_most_probable: Floats | None
    n: int
    group_ids: AnyArray | None = None
    group_expected: Floats | None = None
    notes: tuple[str, ...] = ()
    _batch: ClassBatch | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, object]:
        """Pickle what is known by now; a forecast needs the probabilities again."""
        return self.__dict__ | {"_batch": None, "rule": self.rule}

    @property
    def gap(self) -> float:
        """Return the most that the search can have missed: `bound` minus `expected`."""
        return max(self.bound - self.expected, 0.0)

    @cached_property
    def rule(self) -> MultiClassRule | None:
        """A rule for rows outside of this batch: the largest weight·p + offset.

        Its weights and offsets are the slopes of the metric at this decision, `gains`
        those of costs and of kappas of classes in order. It gives nearly the same
        labels on these rows. None for functions of one's own.
        """
        batch = self._batch
        if batch is None:
            return None
        slopes = rule_of(batch.rows(), self.metric, batch.by_group(self.codes))
        if slopes is None:
            return None
        from argmetric.classes._weights import MultiClassRule

        scale = float(slopes.weights.mean())
        rule = MultiClassRule(
            classes=self.classes,
            weights=slopes.weights / scale,
            offsets=slopes.offsets / scale,
            gains=slopes.gains,
            metric=self.metric,
            n=self.n,
            calibrator=batch.calibrator,
            notes=("the rule of a decision without labels",),
        )
        if batch.means is None:
            return rule
        return replace(rule, **batch.means.as_cuts(rule.predicts))

    @property
    def expected_confusion(self) -> Floats:
        """Expected counts by true class (rows) and label (columns)."""
        if self._batch is None:
            raise ValueError("a decision that was pickled has no probabilities")
        return expected_table(self._batch.p, self.codes)

    def forecast(
        self,
        coverage: float = 0.9,
        *,
        known: ArrayLike | None = None,
        random_state: int = 0,
    ) -> ClassForecast:
        """Forecast the score of these labels, with an interval.

        Parameters
        ----------
        coverage : float, default=0.9
            Probability that the interval contains the score.
        known : array-like, optional
            True classes that have arrived already; nan or None for the others.
        random_state : int, default=0
            Seed of the drawn labels.

        Returns
        -------
        ClassForecast
            The distribution of their score.
        """
        if self._batch is None:
            raise ValueError(
                "a decision that was pickled has no forecast: it needs p again, as "
                "argmetric.classes.forecast(p, labels) takes it"
            )
        options = {"known": known, "random_state": random_state}
        return self._forecast(self.codes, coverage, **options)

    def _forecast(
        self, codes: Integers, coverage: float = 0.9, **options: Any
    ) -> ClassForecast:
        """Forecast labels of these rows, not necessarily those of the decision."""
        from argmetric.classes._forecast import forecast_batch

        assert self._batch is not None
        return forecast_batch(self._batch, codes, self.metric, coverage, **options)

    _told = ("expected",)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions behind `expected`."""
        return "calibrated probabilities", "independent rows"

    def _headline(self) -> Headline:
        name = f"expected {metric_title(self.metric.name)}"
        more = f"{self.n:,} rows, {len(self.classes)} classes{self._method}"
        return Headline(name, number(self.expected), more)

    @property
    def _method(self) -> str:
        """How `expected` was computed, where it is no exact expectation."""
        if isinstance(self.metric, ClassGMean):
            return " (mean over drawn classes)"
        if not self.is_exact and self.per_class is None:
            return " (of the expected counts)"
        return ""

    def _picture(self) -> str:
        if self.per_class is None:
            return ""
        edges = np.arange(len(self.classes) + 1.0)
        ends = [0.0, *self.per_class]
        picture = SmallPicture("Expected score of each class", edges, ends)
        picture.bars(edges, np.nan_to_num(self.per_class))
        return picture.y_labels().text(str(self.classes[0]), str(self.classes[-1]))

    def fields(self) -> list[Field]:
        """Return all fields of the result, in the order of its summary.

        Returns
        -------
        list of Field
            Keys with values for JSON, and words with text for the summary.
        """
        n_groups = over = bound = None
        if self.group_ids is not None:
            n_groups = int(self.group_ids.size)
            over = f"{n_groups:,} groups"
        if not math.isnan(self.bound):
            bound = f"{number(self.bound)}: no labels are expected to score more"
        usual = "most probable" + " without limits" * ("limits: " in str(self.notes))
        lines = (self._class_line(c) for c in range(len(self.classes)))
        return [
            *class_metric_fields(self.metric),
            Field("n", self.n),
            Field("n_groups", n_groups, "mean over", over),
            Field("classes", self.classes),
            self._field("expected", "expected", lambda x: f"{number(x)}{self._method}"),
            Field("is_exact", self.is_exact),
            self._field("most_probable", usual, number),
            Field("bound", self.bound, "upper bound", bound),
            *self._keys("counts", "expected_counts", "per_class", "notes"),
            *first_lines(lines, len(self.classes), SHOWN, "classes"),
        ]

    def _class_line(self, c: int) -> tuple[str, str]:
        rows = counted(int(self.counts[c]), "row")
        text = f"{rows}, {self.expected_counts[c]:.1f} expected"
        own = "" if self.per_class is None else f", {self.per_class[c]:.3f}"
        return str(self.classes[c]), f"{text}{own}"

    @documented
    def to_frame(self, backend: str = "pandas") -> Frame:
        """Return classes as rows: rows given, rows expected, expected value."""
        columns = {
            "class": np.array(self.classes),
            "count": self.counts,
            "expected_count": self.expected_counts,
        }
        if self.per_class is not None:
            columns["expected"] = self.per_class
            assert self.per_class_most_probable is not None
            columns["most_probable"] = self.per_class_most_probable
        return as_frame(columns, backend)

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the expected score per class, decided and of the most probable class.

        Where the metric is no mean over classes, draw how many rows each class gets.
        """
        means = self.per_class is not None
        bars: list[AnyArray] = [self.counts, self.expected_counts]
        if self.per_class is not None and self.per_class_most_probable is not None:
            bars = [self.per_class, self.per_class_most_probable]
        names = "decided", "most probable class" if means else "expected"
        what = metric_title(self.metric.name.rpartition(" ")[2])
        label = f"Expected {what}" if means else "Rows"
        title = f"Expected {metric_title(self.metric.name)}: {self.expected:.3f}"
        size = bars_size(len(self.classes) * 2)
        with drawing(ax, size, xlabel=label, title=title) as ax:
            places = np.arange(len(self.classes))
            ax.barh(places - 0.2, bars[0], 0.4, color="C0", label=names[0])
            ax.barh(places + 0.2, bars[1], 0.4, color="C7", label=names[1])
            ax.set_yticks(places, [str(one) for one in self.classes])
            ax.invert_yaxis()
            ax.legend()
        return ax
