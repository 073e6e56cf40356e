"""Results of the verbs over files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from argmetric._ground.display import (
    Field,
    Headline,
    Result,
    class_metric_fields,
    counted,
    documented,
    metric_fields,
    metric_title,
    number,
    part_text,
)
from argmetric._ground.pictures import bars_size, draw_bars, drawing
from argmetric._ground.types import Axes, Floats, Integers
from argmetric.classes import MultiClassRule
from argmetric.metrics import ClassMetric, Metric


@dataclass(frozen=True, repr=False)
class ScaledDecision(Result):
    """Result of a decision over many files, and where it was written.

    Parameters
    ----------
    output : str
        The folder with the input files plus the column of decisions.
    score, group : str
        The columns that were used; None for one vector.
    n : int
        Number of rows.
    n_files : int
        Number of files.
    n_groups : int or None
        Number of groups; None for one vector.
    n_positives : int
        Number of predicted positives.
    threshold : float or None
        For one vector: rows at or above it are positive, on the scale that `scale`
        names. None if a tie is split, or if each group has its own cut.
    scale : {"score", "calibrated score"}
        What `threshold` is compared with.
    expected : float
        Expected metric; the mean over groups where there are some.
    error : float
        Bound or estimate of the numerical error of `expected`.
    expected_half, n_half : float or None, int
        Expected score of a cut at one half of the scores as given, None if the metric
        has no value in some group; and its number of positives.
    metric : Metric
        What was maximised.
    plan : str
        How the rows were processed, such as "by group, 1 bucket".
    skipped : tuple of str
        Files that were skipped, each with the reason.
    notes : tuple of str
        Remarks on the result.

    Examples
    --------
    >>> from argmetric import scale
    >>> files = scale.open("scores/", group="user")  # doctest: +SKIP
    >>> files.decide("f1", output="decided/").expected  # doctest: +SKIP
    """

    output: str
    score: str
    group: str | None
    n: int
    n_files: int
    n_groups: int | None
    n_positives: int
    threshold: float | None
    expected: float
    error: float
    expected_half: float | None
    n_half: int
    metric: Metric
    plan: str
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    scale: str = "score"

    _told = ("positives", "expected")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions of `expected`."""
        return ASSUMED

    def _headline(self) -> Headline:
        chosen = f"{part_text(self.n_positives, self.n)} positive"
        return _expected_headline(self, chosen)

    def fields(self) -> list[Field]:
        """Return what is shown of the result.

        Returns
        -------
        list of Field
            Keys, values and words, in their order.
        """
        chosen = part_text(self.n_positives, self.n)

        def half(score: float) -> str:
            return f"{number(score)} ({counted(self.n_half, 'positive')})"

        return [
            *metric_fields(self.metric),
            *self._keys("score", "group"),
            *_sizes(self),
            self._field("n_groups", "average", "groups of {:,}"),
            Field("n_positives", self.n_positives, "positives", chosen),
            self._field("threshold", "threshold", f"{self.scale} >= {{:.3g}}"),
            Field("scale", self.scale),
            self._field("expected", "expected", number),
            Field("error", self.error),
            self._field("expected_half", "cut at 0.5", half),
            Field("n_half", self.n_half),
            self._field("plan", "plan"),
            self._field("output", "output"),
            *self._keys("skipped", "notes"),
        ]

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the expected score of the decision and of a cut at one half."""
        bars = {"decision": self.expected}
        if self.expected_half is not None:
            bars["0.5 cut-off"] = self.expected_half
        return _draw_expected(ax, bars, self.metric.name, self.n)


@dataclass(frozen=True, repr=False, eq=False)
class ScaledClassDecision(Result):
    """One class for every row of many files, and where they were written.

    Parameters
    ----------
    output : str
        The folder with the input files plus the column of decisions.
    classes : tuple
        The class of each column of probabilities.
    n, n_files : int
        Number of rows and of files.
    counts : ndarray
        Rows that are given each class.
    expected_confusion : ndarray
        Expected counts by true class (rows) and label (columns).
    expected, most_probable : float
        Metric of the expected counts, for these labels and for the most probable class
        of every row.
    rule : MultiClassRule
        What labels a row: the largest weight·p + offset.
    n_sampled : int
        Number of rows that the rule was found on; 0 where it was given.
    metric : ClassMetric
        What was maximised, with its convention for absent classes.
    skipped : tuple of str
        Files that were skipped, each with the reason.

    Examples
    --------
    >>> from argmetric import scale
    >>> files = scale.open("scores/", group="user")  # doctest: +SKIP
    >>> files.decide_classes("f1", output="decided/").expected  # doctest: +SKIP
    """

    output: str
    classes: tuple[Any, ...]
    n: int
    n_files: int
    counts: Integers
    expected_confusion: Floats
    expected: float
    most_probable: float
    rule: MultiClassRule
    n_sampled: int
    metric: ClassMetric
    skipped: tuple[str, ...] = ()

    _told = ("expected",)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions of `expected`."""
        return ASSUMED

    def _headline(self) -> Headline:
        return _expected_headline(self, f"{self.n:,} rows, {len(self.classes)} classes")

    def fields(self) -> list[Field]:
        """Return what is shown of the result.

        Returns
        -------
        list of Field
            Keys, values and words, in their order.
        """
        found = f"a sample of {self.n_sampled:,} rows" if self.n_sampled else "given"
        return [
            *class_metric_fields(self.metric),
            *_sizes(self),
            Field("classes", self.classes, "classes", f"{len(self.classes):,}"),
            Field(words="rule", text=found),
            *self._keys("counts", "expected_confusion"),
            self._field("expected", "expected", number),
            self._field("most_probable", "most probable", number),
            Field("weights", self.rule.weights),
            Field("offsets", self.rule.offsets),
            Field("n_sampled", self.n_sampled),
            self._field("output", "output"),
            Field("skipped", self.skipped),
        ]

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the expected score of the labels and of the most probable classes."""
        bars = {"decision": self.expected, "most probable": self.most_probable}
        return _draw_expected(ax, bars, self.metric.name, self.n)


ASSUMED = ("calibrated probabilities", "labels independent given the scores")


def _expected_headline(result: Any, more: str) -> Headline:
    name = f"expected {metric_title(result.metric.name)}"
    return Headline(name, number(result.expected), more)


def _draw_expected(
    ax: Axes | None, bars: dict[str, float], metric: str, n: int
) -> Axes:
    """Draw expected scores as bars, each with its name and value."""
    names = [f"{name} {value:.3f}" for name, value in bars.items()]
    labels = {"xlabel": f"Expected {metric_title(metric)}", "title": f"{n:,} rows"}
    with drawing(ax, bars_size(len(bars)), **labels) as ax:
        draw_bars(ax, names, list(bars.values()))
    return ax


def _sizes(result: Any) -> list[Field]:
    rows = f"{result.n:,} in {result.n_files:,} file{'s' * (result.n_files != 1)}"
    return [Field("n", result.n, "rows", rows), Field("n_files", result.n_files)]
