"""What `decide` gives back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_label, shown
from argmetric._ground.display import (
    Field,
    Headline,
    Result,
    counted,
    metric_fields,
    metric_title,
    number,
    part_text,
)
from argmetric._ground.features import probabilities_of
from argmetric._ground.pictures import (
    MOST_BARS,
    Display,
    Mark,
    adaptive_edges,
    bars_size,
    draw_bars,
    draw_curve,
)
from argmetric._ground.svg import RED, SmallPicture, small_histogram
from argmetric._ground.types import (
    ArrayLike,
    Axes,
    Estimator,
    Features,
    Floats,
    Integers,
    Label,
)
from argmetric.metrics import Metric, MetricLike, RatesForm

if TYPE_CHECKING:
    from argmetric._calibrate.share import EstimatedShare
    from argmetric._expected import Plan
    from argmetric._forecast.result import Forecast
    from argmetric._verbs.guarantees import Guarantee


@dataclass(frozen=True)
class Cut:
    """A single cut `p >= threshold` on all rows, and what it is expected to score."""

    threshold: float
    n_positives: int
    expected: float


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Decision(Result):
    """The chosen labels and their expected score.

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
        labels. Without a map it is `threshold`; a tie that only the map made has one.
    scale : {"p", "logit", "calibrated p", "calibrated logit"}
        What `threshold` and `best_cut` are compared with.
    expected : float
        The objective that was maximised: the expected metric of these labels under the
        probabilities that they were decided with; the mean over segments where there
        are some. With a reference the map counts as certain. It is no
        forecast: that is `forecast().mean`, which is taken over all maps that the
        reference allows, and has an interval.
    error : float
        Bound or estimate of the numerical error of `expected`.
    metric : Metric
        What was maximised.
    n : int
        Number of labels.
    average : str or None
        How segments are combined.
    group_ids, group_n_positives, group_expected : ndarray or None
        Per segment: its name, how many labels are 1, and the expected metric.
    notes : tuple of str
        Remarks: split ties, conventions that matter here.
    share : EstimatedShare or None
        The share of positives that `prior="estimate"` found: `mean`, its 90 %
        `interval`, and the share in the `reference`.
    gap : float
        With `max_cost`: the most that the expected metric of the best labels within
        the budget exceeds `expected` by. 0 where these labels are the best.
    guarantee : Guarantee or None
        What holds for new rows, where `decide` was asked with a `confidence`.
    """

    labels: Any
    n_positives: int
    threshold: float | None
    threshold_raw: float | None
    scale: str
    expected: float
    error: float
    metric: Metric
    n: int
    average: str | None
    group_ids: npt.NDArray[Any] | None
    group_n_positives: Integers | None
    group_expected: Floats | None
    notes: tuple[str, ...] = ()
    _cut_half: Callable[[], Cut]
    _best_cut: Callable[[], Cut]
    _curve_of: Callable[[int], Floats]
    _cuts: Callable[[], tuple[Floats, Floats]]
    _plan: Callable[[], Plan]
    _asked: dict[str, Any] = field(default_factory=dict)
    share: EstimatedShare | None = None
    gap: float = 0.0
    guarantee: Guarantee | None = None
    _moved: tuple[str, ...] = ()  # what the reference has to say of the new scores

    def __getstate__(self) -> dict[str, Any]:
        """Pickle what is known by now; curves of segments need the input again."""
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
        long vector, it is made when it is first asked for, as the best k needs none.
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
        """The cut at one half of the scores as they were given, before any map.

        Its expected metric is taken under the same probabilities as `expected`.
        """
        return self._cut_half()

    @cached_property
    def best_cut(self) -> Cut:
        """The best single `>=` cut on all rows, whatever limits were set.

        With segments it takes a sort of all rows, made when it is first asked for.
        """
        return self._best_cut()

    def curve_of(self, group: Label) -> Floats:
        """Expected metric of the k most probable items of one segment, k = 0…m.

        Parameters
        ----------
        group : object
            A value of `group_ids`.
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
        """What `expected` rests on."""
        mapped = self.scale.startswith("calibrated")
        first = "an exact calibration map" if mapped else "calibrated probabilities"
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
        drawn.points(self.n_positives, self.expected, RED)
        return drawn.scaled().named("no positives", f"{self.n:,}")

    @property
    def _quick(self) -> bool:
        """Whether all cuts are judged in no time."""
        slow = self.metric.form is None or isinstance(self.metric.form, RatesForm)
        return not slow and self.n <= 100_000

    def fields(self) -> list[Field]:
        calibrated = self.scale.startswith("calibrated")
        given = self.scale.removeprefix("calibrated ")
        average, threshold, raw, best_text = self.average, None, None, None
        if average is not None and self.n_groups is not None:
            average += f" of {self.n_groups:,}"
        if self.threshold is not None:
            threshold = f"{self.scale} >= {self.threshold:.3g}"
        elif self.group_ids is None:
            threshold = "none: a tie is split"
        if calibrated and self.threshold_raw is not None:
            raw = f"{given} >= {self.threshold_raw:.3g}"
        promise = None if self.guarantee is None else self.guarantee.sentence
        chosen = part_text(self.n_positives, self.n)
        half = self.cut_half
        of_half = f"{given} >= {half.threshold:g}, " if calibrated else ""
        if self.group_ids is None or "best_cut" in self.__dict__ or self._quick:
            best = self.best_cut
            best_text = (
                f"{number(best.expected)} ({self.scale} >= {best.threshold:.3g}, "
                f"{counted(best.n_positives, 'positive')})"
            )
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
            Field(words="share", text=self.share and str(self.share)),
            self._field("expected", "expected", number),
            Field("error", self.error),
            Field("cut_half", vars(half), "cut at 0.5", half_text),
            Field(
                "best_cut", lambda: vars(self.best_cut), "best single cut", best_text
            ),
            Field("guarantee", self.guarantee, "guarantee", promise),
            *self._keys("share", "notes"),
        ]

    def _columns(self) -> dict[str, Any]:
        """The expected metric of k = 0…n; with segments, of each of them."""
        if self.group_ids is None:
            assert self.curve is not None
            return {"k": np.arange(self.curve.size), "expected": self.curve}
        return {
            "group": self.group_ids,
            "n_positives": self.group_n_positives,
            "expected": self.group_expected,
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the expected metric against k, or that of every group or label.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        drawn: Axes = ExpectedMetricDisplay(self).plot(ax).ax_
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
        reference the mean is taken over all maps that it allows, and is mostly lower
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
        given = {"known": known, "prior": prior, "overdispersion": overdispersion}
        found: Forecast = forecast_of(
            asked, self.labels, self.metric, coverage=coverage, **given
        )
        if prior is not None or not self._moved:
            return found
        return replace(found, notes=(*self._moved, *found.notes))


def forecast_of(
    asked: dict[str, Any], labels: Any, metric: Metric, **options: Any
) -> Any:
    """The forecast for labels of the rows that were decided, through the same map."""
    from argmetric._forecast.forecast import forecast

    given = {name: asked[name] for name in ("groups", "average", "logits")}
    given["reference"] = asked["calibrator"]
    return forecast(asked["p"], labels, metric, **given, **options)


def _forgotten(*_: Any) -> Any:
    raise ValueError("a decision that was pickled or copied has no curves of segments")


@dataclass(repr=False)
class ExpectedMetricDisplay(Display):
    """The expected score against the number of positives, and where the best is.

    With groups the expected scores of the groups are drawn as a histogram, with labels
    of a matrix (`average="macro"`) as a bar for each label.

    Parameters
    ----------
    decision : Decision
        What is drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    line_ : matplotlib artist
        The curve; the line of the mean where there are groups or labels.

    Examples
    --------
    >>> import argmetric as am
    >>> display = am.ExpectedMetricDisplay.from_predictions([0.9, 0.45, 0.4, 0.1])
    >>> display.line_.get_ydata().round(2)
    array([0.  , 0.65, 0.68, 0.69, 0.6 ])
    """

    decision: Decision

    @classmethod
    def from_predictions(
        cls,
        p: ArrayLike,
        metric: MetricLike = "f1",
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Decide, and draw the decision.

        Parameters
        ----------
        p : array-like
            Probabilities, as for `decide`.
        metric : str, Metric or callable, default="f1"
            What the labels are judged by.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            All else that `decide` takes.
        """
        from argmetric._verbs.decide._decide import decide

        return cls(decide(p, metric, **options)).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: Features,
        metric: MetricLike = "f1",
        *,
        pos_label: Label | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Decide by the probabilities of a classifier, and draw the decision.

        Parameters
        ----------
        estimator : classifier
            Fitted, of two classes, with `predict_proba`.
        X : array-like
            Rows.
        metric : str, Metric or callable, default="f1"
            What the labels are judged by.
        pos_label : object, optional
            The positive class; by default the second.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            All else that `decide` takes.
        """
        p, _ = probabilities_of(estimator, X, pos_label)
        return cls.from_predictions(p, metric, ax=ax, **options)

    def _bars(self) -> bool:
        one = self.decision
        return one.average == "macro" and (one.n_groups or 0) <= MOST_BARS

    def _size(self) -> tuple[float, float]:
        if not self._bars():
            return super()._size()
        return bars_size(self.decision.n_groups or 0)

    def _labels(self) -> dict[str, Any]:
        expected = f"Expected {metric_title(self.decision.metric.name)}"
        if self.decision.group_ids is None:
            return {"xlabel": "Rows predicted positive", "ylabel": expected}
        if self._bars():
            mean = f"Mean over the labels: {self.decision.expected:.3f}"
            return {"xlabel": expected, "ylabel": "Label (positives)", "title": mean}
        unit = {"macro": "label", "samples": "row"}.get(
            self.decision.average or "", "group"
        )
        return {"xlabel": f"{expected} of a {unit}", "ylabel": f"{unit}s".capitalize()}

    def _draw(self, ax: Any) -> Any:
        one = self.decision
        if one.group_ids is None:
            assert one.curve is not None
            label = f"expected {metric_title(one.metric.name)} by number of positives"
            return draw_curve(ax, one.curve, one.n_positives, label, self._marks())
        assert one.group_expected is not None
        if self._bars():
            self._draw_bars(ax)
            return ax.axvline(one.expected, color="C3")
        values = one.group_expected[np.isfinite(one.group_expected)]
        ax.hist(values, bins=adaptive_edges(values), color="C0", alpha=0.8)
        return ax.axvline(one.expected, color="C3", label=f"mean {one.expected:.3f}")

    def _draw_bars(self, ax: Any) -> None:
        one = self.decision
        assert one.group_ids is not None
        assert one.group_n_positives is not None
        counts = zip(one.group_ids, one.group_n_positives.tolist(), strict=True)
        names = [f"{name} ({count:,})" for name, count in counts]
        draw_bars(ax, names, one.group_expected)

    def _marks(self) -> list[Mark]:
        one = self.decision
        cut = ""
        if one.threshold is not None and math.isfinite(one.threshold):
            cut = f" ({one.scale} ≥ {one.threshold:.3g})"
        k, half = one.n_positives, one.cut_half
        return [
            Mark(k, one.expected, f"decision: {_rows(k)}{cut}, {one.expected:.3f}"),
            Mark(
                half.n_positives,
                half.expected,
                f"0.5 cut-off: {_rows(half.n_positives)}, {half.expected:.3f}",
                "s",
                "C7",
            ),
        ]


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"
