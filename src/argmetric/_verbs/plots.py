"""Pictures of decisions and of rules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from argmetric._ground.display import counted, metric_title
from argmetric._ground.features import margins_of, probabilities_of
from argmetric._ground.pictures import (
    MOST_BARS,
    Display,
    Mark,
    SmallPicture,
    adaptive_edges,
    bars_size,
    draw_bars,
    draw_curve,
    thin_indices,
)
from argmetric._ground.types import ArrayLike, Axes, Estimator, Features, Label
from argmetric._verbs.guarantees import at_prevalence
from argmetric.metrics import MetricLike

if TYPE_CHECKING:
    from argmetric._verbs.decide._result import Decision
    from argmetric._verbs.tune._rule import Rule


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
            cut, k, half = "", one.n_positives, one.cut_half
            if one.threshold is not None and math.isfinite(one.threshold):
                cut = f" ({one.scale} ≥ {one.threshold:.3g})"
            rows, of_half = counted(k, "row"), counted(half.n_positives, "row")
            text = f"0.5 cut-off: {of_half}, {half.expected:.3f}"
            marks = [
                Mark(k, one.expected, f"decision: {rows}{cut}, {one.expected:.3f}"),
                Mark(half.n_positives, half.expected, text, "s", "C7"),
            ]
            label = f"expected {metric_title(one.metric.name)} by number of positives"
            return draw_curve(ax, one.curve, k, label, marks)
        assert one.group_expected is not None
        if self._bars():
            assert one.group_n_positives is not None
            counts = zip(one.group_ids, one.group_n_positives.tolist(), strict=True)
            names = [f"{name} ({count:,})" for name, count in counts]
            draw_bars(ax, names, one.group_expected)
            return ax.axvline(one.expected, color="C3")
        values = one.group_expected[np.isfinite(one.group_expected)]
        ax.hist(values, bins=adaptive_edges(values), color="C0", alpha=0.8)
        return ax.axvline(one.expected, color="C3", label=f"mean {one.expected:.3f}")


class LabelledDisplay(Display):
    """A picture of what labelled scores give, from predictions or from a classifier.

    A class has `_from_labels`, which makes it, and `_scores_of`, asking a classifier.
    """

    _scores_of = staticmethod(margins_of)

    @classmethod
    def _from_labels(
        cls, y: object, p: object, metric: MetricLike, **options: Any
    ) -> Self:
        raise NotImplementedError

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: ArrayLike,
        metric: MetricLike = "f1",
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw what labels and scores of two classes give.

        Parameters
        ----------
        y : array-like
            Labels.
        p : array-like
            Scores that were given without knowledge of them.
        metric : str, Metric or callable, default="f1"
            What decisions are judged by.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            All else that `tune`, or `calibration_check`, takes.
        """
        return cls._from_labels(y, p, metric, **options).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: Features,
        y: ArrayLike,
        metric: MetricLike = "f1",
        *,
        pos_label: Label | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw what the scores of a classifier give, on rows it was not fitted on.

        Parameters
        ----------
        estimator : classifier
            Fitted, of two classes, with `predict_proba`; `decision_function` is enough
            for a threshold.
        X : array-like
            Rows.
        y : array-like
            Their labels.
        metric : str, Metric or callable, default="f1"
            What decisions are judged by.
        pos_label : object, optional
            The positive class; by default the second.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            All else that `tune`, or `calibration_check`, takes.
        """
        scores, positive = cls._scores_of(estimator, X, pos_label)
        options["pos_label"] = positive
        return cls.from_predictions(y, scores, metric, ax=ax, **options)


@dataclass(repr=False)
class ThresholdDisplay(LabelledDisplay):
    """The score on labelled rows against the threshold, and how sure the best one is.

    Parameters
    ----------
    rule : Rule
        What is drawn, as `tune` made it from labels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    line_ : matplotlib artist
        The curve.

    Examples
    --------
    >>> import argmetric as am
    >>> y, p = [1, 1, 0, 1, 0, 0], [0.9, 0.8, 0.4, 0.3, 0.2, 0.1]
    >>> display = am.ThresholdDisplay.from_predictions(y, p)
    >>> display.rule.threshold
    0.25
    """

    rule: Rule

    @classmethod
    def _from_labels(cls, y: Any, p: Any, metric: MetricLike, **options: Any) -> Self:
        from argmetric._verbs.tune import tune
        from argmetric._verbs.tune._rule import Rule

        rule = tune(y, p, metric, **options)
        if not isinstance(rule, Rule):
            raise ValueError(
                "p must be one score for each row here: a threshold for each label or "
                "class has no single curve"
            )
        return cls(rule)

    def _labels(self) -> dict[str, Any]:
        return {
            "xlabel": f"Threshold on {self.rule._scale}",
            "ylabel": f"Actual {metric_title(self.rule.metric.name)}",
        }

    def _draw(self, ax: Any) -> Any:
        rule, name = self.rule, metric_title(self.rule.metric.name)
        if rule.thresholds is None or rule.scores is None:
            raise ValueError(
                "this rule has no curve to draw: tune() with labels makes one, files "
                "do not hold it"
            )
        finite = np.isfinite(rule.thresholds)
        thresholds, scores = rule.thresholds[finite][::-1], rule.scores[finite][::-1]
        picks = thin_indices(thresholds.size)
        x, y = thresholds[picks], scores[picks]
        # `p >= threshold` is constant on (the score before, this score].
        (line,) = ax.step(x, y, where="pre", color="C0", label=name)
        if rule.threshold_interval is not None:
            label = f"best threshold, {rule.coverage:.0%} interval"
            inside = np.clip(rule.threshold_interval, x[0], x[-1])
            ax.axvspan(*inside, color="C0", alpha=0.15, lw=0, label=label)
        if rule.guarantee is not None:
            inside = np.clip(rule.guarantee.certified_interval, x[0], x[-1])
            label = f"certified{at_prevalence(rule.guarantee.prior)}"
            ax.axvspan(*inside, color="C2", alpha=0.2, lw=0, label=label)
        elif rule.plateau is not None:
            what = "as good" if rule.choice == "best" else "within one standard error"
            inside = np.clip(rule.plateau, x[0], x[-1])
            ax.axvspan(*inside, color="C3", alpha=0.25, lw=0, label=what)
        if math.isfinite(rule.threshold):
            label = f"rule: {rule.threshold:.4g}, {rule.score:.3f}"
            ax.plot(rule.threshold, rule.score, "o", color="C3", label=label)
        return line


def small_curve(rule: Any) -> str:
    """Return a small picture of the score at every threshold, and the chosen one."""
    x, inside = rule.thresholds, np.isfinite(rule.thresholds)
    name = f"Actual {metric_title(rule.metric.name)} by threshold"
    drawn = SmallPicture(name, x[inside], rule.scores)
    if rule.threshold_interval is not None:
        drawn.band(rule.threshold_interval)
    drawn.line(x, rule.scores)
    if math.isfinite(rule.threshold):
        drawn.upright(rule.threshold)
    return drawn.y_labels().ends("threshold")
