"""Result of `decide`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from argmetric._ground.arguments import check_label, shown
from argmetric._ground.display import (
    Field,
    Headline,
    Result,
    counted,
    cut_text,
    documented,
    hide_private,
    metric_fields,
    metric_title,
    number,
    part_text,
)
from argmetric._ground.pictures import ORANGE, RED, SmallPicture, small_histogram
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    Axes,
    Floats,
    Integers,
    Label,
    LabelsLike,
)
from argmetric._verbs._drawing import DecisionDrawing
from argmetric.metrics import AMOUNTS_ASSUMPTION, Metric, RatesForm

if TYPE_CHECKING:
    from argmetric._calibrate.prevalence import EstimatedPrevalence
    from argmetric._expected import Plan
    from argmetric._forecast.result import Forecast
    from argmetric._verbs.guarantees import Guarantee


NO_ROW, LIMITLESS = "no row is positive", " without limits"


@dataclass(frozen=True)
class Cut:
    """A single cut `p >= threshold` on all rows, and what it is expected to score."""

    threshold: float
    n_positives: int
    expected: float


@hide_private
@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Decision(Result):
    """Chosen labels and their expected score: the result of `decide`.

    Attributes
    ----------
    labels : array-like of {0, 1}
        In the order, shape and kind of the input.
    n_positives : int
        How many labels are 1.
    threshold : float or None
        `p >= threshold` gives these labels; infinite for the empty prediction; None
        where a tie is split, or where each segment has a cut of its own. With a
        reference it is a cut on calibrated p.
    threshold_raw : float or None
        The same cut on the scores that were given: `p >= threshold_raw` gives these
        labels. Without a calibrator it is `threshold`; ties by calibration have one.
    scale : {"p", "logit", "calibrated p", "calibrated logit"}
        What `threshold` and `best_cut` are compared with.
    expected : float
        The objective that was maximised: the expected metric of these labels under the
        probabilities that they were decided with; the mean over segments where there
        are some. With a reference the calibrator counts as certain. It is no
        forecast: that is `forecast().mean`, the mean over all calibrators that the
        reference allows, and has an interval.
    error : float
        Bound or estimate of the numerical error of `expected`.
    metric : Metric
        Metric that was maximised.
    n : int
        Number of labels.
    average : str or None
        How segments are combined.
    group_ids, group_n_positives, group_expected : ndarray or None
        Per segment: its name, how many labels are 1, and the expected metric.
    notes : tuple of str
        Remarks: split ties, conventions that matter here.
    prevalence : EstimatedPrevalence or None
        The prevalence that `prior="estimate"` found: `mean`, its 90 %
        `interval`, and the prevalence in the `reference`.
    gap : float
        With a `budget`: the most that the expected metric of the best labels
        within it exceeds `expected` by. 0 where these labels are the best; nan with
        `per_row` where rows depend on each other and no bound is known.
    guarantee : Guarantee or None
        Limits that hold for new rows, where `decide` got a `confidence`.

    Examples
    --------
    >>> import argmetric as am
    >>> d = am.decide([0.9, 0.6, 0.2, 0.1])
    >>> d.labels, d.threshold
    (array([1, 1, 0, 0]), 0.4)
    >>> d.best_cut.n_positives, d.curve.round(2)
    (2, array([0.  , 0.66, 0.77, 0.68, 0.6 ]))
    """

    labels: Any
    n_positives: int
    threshold: float | None = None
    threshold_raw: float | None = None
    scale: str
    expected: float
    error: float
    metric: Metric
    n: int
    average: str | None
    group_ids: AnyArray | None = None
    group_n_positives: Integers | None = None
    group_expected: Floats | None = None
    notes: tuple[str, ...] = ()
    _cut_half: Callable[[], Cut]
    _best_cut: Callable[[], Cut]
    _curve_of: Callable[[int], Floats]
    _cuts: Callable[[], tuple[Floats, Floats]]
    _plan: Callable[[], Plan]
    _asked: dict[str, Any] = field(default_factory=dict)
    prevalence: EstimatedPrevalence | None = None
    gap: float = 0.0
    guarantee: Guarantee | None = None
    _moved: tuple[str, ...] = ()  # what the reference has to say of the new scores

    def __getstate__(self) -> dict[str, object]:
        """Return the state for pickle; curves of segments need the input again."""
        names = ("cut_half", "best_cut", "curve", "plan")
        known = {name: getattr(self, name) for name in names}
        makers = ("_cut_half", "_best_cut", "_curve_of", "_cuts", "_plan")
        forgotten = dict.fromkeys(makers, _forgotten)
        return self.__dict__ | known | forgotten | {"_asked": {}}

    @property
    def n_groups(self) -> int | None:
        """Number of segments; None for a single vector."""
        return None if self.group_ids is None else int(self.group_ids.size)

    @cached_property
    def curve(self) -> Floats | None:
        """Expected metric of the k most probable items, k = 0…n.

        None with segments: `curve_of` gives those. For a mean of two rates, and for a
        long vector, it is made when it is first needed, as the best k needs none.
        """
        return self._curve_of(0) if self.group_ids is None else None

    @cached_property
    def plan(self) -> str:
        """How the expected metric was computed, and why this way, in words.

        All ways give the same values up to `error`; they differ in time. With segments
        it names the way of the shortest, and that of the longest where it is another.

        Examples
        --------
        >>> import argmetric as am
        >>> am.decide([0.9, 0.45, 0.4, 0.1]).plan
        '4 rows, 64 or fewer: table of all counts'
        """
        return str(self._plan())

    @cached_property
    def cut_half(self) -> Cut:
        """Return the cut at one half of the raw scores, before calibration.

        Its expected metric is taken under the same probabilities as `expected`.
        """
        return self._cut_half()

    @cached_property
    def best_cut(self) -> Cut:
        """Return the best single `>=` cut on all rows, without regard to limits.

        With segments it takes a sort of all rows, made when it is first needed.
        """
        return self._best_cut()

    def curve_of(self, group: Label) -> Floats:
        """Return the expected metric of the k most probable rows, k = 0 … m.

        Parameters
        ----------
        group : object
            A value of `group_ids`.

        Returns
        -------
        ndarray of shape (m + 1,)
            By the number k of rows of the group that are predicted positive.
        """
        if self.group_ids is None:
            raise ValueError("there are no groups here: the curve is in `curve`")
        check_label(group, "group")
        found = np.flatnonzero(self.group_ids == group)
        if not found.size:
            raise ValueError(f"no group {shown(group)}; the ids are in `group_ids`")
        return self._curve_of(int(found[0]))

    _told = ("positives", "expected")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions behind `expected`."""
        mapped = self.scale.startswith("calibrated")
        first = "an exact calibration map" if mapped else "calibrated probabilities"
        if getattr(self.metric, "_by_rows", False):
            return first, "labels independent given the scores", AMOUNTS_ASSUMPTION
        return first, "labels independent given the scores"

    def _headline(self) -> Headline:
        chosen = f"{part_text(self.n_positives, self.n)} positive"
        name = f"expected {metric_title(self.metric.name)}"
        return Headline(name, number(self.expected), chosen)

    def _picture(self) -> str:
        if self.group_expected is not None:
            return small_histogram(self.group_expected, "Expected scores of groups")
        if "curve" not in self.__dict__ and not self._quick:
            return ""
        curve: Any = self.curve
        drawn = SmallPicture("Expected score by positives", [0, self.n], curve)
        drawn.line(range(curve.size), curve)
        if getattr(self.metric, "_by_rows", False):  # a simple rule is no point of it
            drawn.points(self.cut_half.n_positives, self.cut_half.expected, ORANGE)
        drawn.points(self.n_positives, self.expected, RED)
        return drawn.y_labels().text("no positives", f"{self.n:,}")

    @property
    def _quick(self) -> bool:
        """Whether all cuts are judged in no time."""
        if getattr(self.metric, "_by_rows", False):
            return True
        slow = self.metric.form is None or isinstance(self.metric.form, RatesForm)
        return not slow and self.n <= 100_000

    def fields(self) -> list[Field]:
        calibrated = self.scale.startswith("calibrated")
        given = self.scale.removeprefix("calibrated ")
        average, threshold, raw, best_text = self.average, None, None, None
        cut_name, sign = "best single cut", 2 * self.metric.greater_is_better - 1
        if average is not None and self.n_groups is not None:
            average += f" of {self.n_groups:,}"
        if self.n_positives == 0:
            threshold = f"none: {NO_ROW}"
        elif self.threshold is not None:
            threshold = f"{self.scale} >= {cut_text(self.threshold)}"
        elif self.group_ids is None:
            rows = getattr(self.metric, "_by_rows", False)
            threshold = f"none: {'the gain of each row' if rows else 'a tie is split'}"
        if calibrated and self.n_positives and self.threshold_raw is not None:
            raw = f"raw {given} >= {cut_text(self.threshold_raw)}"
        promise = None if self.guarantee is None else self.guarantee.sentence
        chosen = part_text(self.n_positives, self.n)
        half = self.cut_half
        of_half = f"raw {given} >= {half.threshold:g}, " if calibrated else ""
        if self.group_ids is None or "best_cut" in self.__dict__ or self._quick:
            best, cut = self.best_cut, NO_ROW
            if best.n_positives:
                cut = f"{self.scale} >= {cut_text(best.threshold)}, "
                cut += counted(best.n_positives, "positive")
            best_text = f"{number(best.expected)} ({cut})"
            cut_name += LIMITLESS * (sign * (best.expected - self.expected) > 1e-9)
        of_half += counted(half.n_positives, "positive")
        half_text = f"{number(half.expected)} ({of_half})"
        return [
            *metric_fields(self.metric),
            Field("average", self.average, "average", average),
            *self._keys("n", "n_groups"),
            Field("n_positives", self.n_positives, "positives", chosen),
            Field("threshold", self.threshold, "threshold", threshold),
            Field("threshold_raw", self.threshold_raw, "raw threshold", raw),
            Field("scale", self.scale),
            Field(words="prevalence", text=self.prevalence and str(self.prevalence)),
            self._field("expected", "expected", number),
            Field("error", self.error),
            Field("cut_half", vars(half), "cut at 0.5", half_text),
            Field("best_cut", lambda: vars(self.best_cut), cut_name, best_text),
            Field("guarantee", self.guarantee, "guarantee", promise),
            *self._keys("prevalence", "notes"),
        ]

    def _columns(self) -> dict[str, object]:
        """Return the expected metric of k = 0 … n; with segments, of each."""
        if self.group_ids is None:
            assert self.curve is not None
            return {"k": np.arange(self.curve.size), "expected": self.curve}
        return {
            "group": self.group_ids,
            "n_positives": self.group_n_positives,
            "expected": self.group_expected,
        }

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the expected metric against k, or that of every group or label."""
        drawn: Axes = DecisionDrawing(self).plot(ax).ax_
        return drawn

    def forecast(
        self,
        coverage: float = 0.9,
        *,
        known: ArrayLike | None = None,
        prior: float | None = None,
        overdispersion: float = 0.0,
    ) -> Forecast:
        """Forecast the score of these labels as they were decided.

        Probabilities, groups, metric and reference are those of the decision. Without a
        map, `forecast(p, labels)` says the same, and its mean is `expected`. With a
        reference the mean is over all calibrators that it allows, and is mostly lower
        than `expected`, which was maximised under one of them.

        Parameters
        ----------
        coverage : float, default=0.9
            Probability that the interval contains the score.
        known, prior, overdispersion
            As for `forecast`; what is known is 0/1, as the labels are.

        Returns
        -------
        Forecast
            The distribution of the score, with its mean and interval.

        Examples
        --------
        >>> import argmetric as am
        >>> d = am.decide([0.9, 0.6, 0.2, 0.1])
        >>> round(d.forecast().mean, 3), round(d.expected, 3)
        (0.768, 0.768)
        """
        asked = self._asked
        if not asked:
            raise ValueError(
                "a decision that was pickled or copied has no forecast: it needs the "
                "input again, as argmetric.forecast(p, labels) takes it"
            )
        given: dict[str, object] = {"known": known, "overdispersion": overdispersion}
        given |= {} if prior is None else {"prior": prior}
        found = forecast_labels(
            asked, self.labels, self.metric, coverage=coverage, **given
        )
        if prior is not None or not self._moved:
            return found
        return replace(found, notes=(*self._moved, *found.notes))


def forecast_labels(
    asked: dict[str, Any], labels: LabelsLike, metric: Metric, **options: object
) -> Forecast:
    """Return the forecast for labels of decided rows, by the same calibrator."""
    from argmetric._forecast.forecast import forecast

    given = {name: asked[name] for name in ("groups", "average", "logits")}
    return forecast(asked["p"], labels, metric, **given | asked["forecast"] | options)


def _forgotten(*_: object) -> NoReturn:
    raise ValueError("a decision that was pickled or copied has no curves of segments")
