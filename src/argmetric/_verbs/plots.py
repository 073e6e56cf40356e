"""Displays in the way of scikit-learn: from predictions or from a classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from argmetric._ground.features import margins_of, probabilities_of
from argmetric._ground.pictures import Display
from argmetric._ground.types import ArrayLike, Axes, Estimator, Features, Label
from argmetric._verbs._drawing import DecisionDrawing, RuleDrawing
from argmetric._verbs.check._result import CheckDrawing
from argmetric.metrics import MetricLike


@dataclass(repr=False)
class ExpectedMetricDisplay(DecisionDrawing):
    """Expected score against the number of positives, with the decision marked.

    With groups the expected scores of the groups are drawn as a histogram, with labels
    of a matrix (`average="macro"`) as a bar for each label.

    Experimental: may change in any release.

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
            Metric that scores the labels.
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
            Metric that scores the labels.
        pos_label : object, optional
            The positive class; by default the second.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            All else that `decide` takes.
        """
        p, _ = probabilities_of(estimator, X, pos_label)
        return cls.from_predictions(p, metric, ax=ax, **options)


class LabelledDisplay(Display):
    """A picture of what labelled scores give, from predictions or from a classifier.

    A class has `_from_labels`, which makes it, and `_scores_of`, asking a classifier.
    """

    _scores_of = staticmethod(margins_of)

    @classmethod
    def _from_labels(
        cls, y: ArrayLike, p: ArrayLike, metric: MetricLike, **options: Any
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
            Metric that scores the decisions.
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
            Metric that scores the decisions.
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
class ThresholdDisplay(LabelledDisplay, RuleDrawing):
    """Score on labelled rows against the threshold, with the interval of the best one.

    Experimental: may change in any release.

    Parameters
    ----------
    rule : Rule
        The rule to draw, tuned on labels.

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

    @classmethod
    def _from_labels(
        cls, y: ArrayLike, p: ArrayLike, metric: MetricLike, **options: Any
    ) -> Self:
        """Return the display of the rule that `tune` finds on labelled rows."""
        from argmetric._verbs.tune import tune
        from argmetric._verbs.tune._rule import Rule

        rule = tune(y, p, metric, **options)
        if not isinstance(rule, Rule):
            raise ValueError(
                "p must be one score for each row here: a threshold for each label or "
                "class has no single curve"
            )
        return cls(rule)


@dataclass(repr=False)
class CalibrationCostDisplay(LabelledDisplay, CheckDrawing):
    """Probabilities against actual shares, and what the difference costs in score.

    Every point holds the same share of the positives that were expected, so that there
    are points where the cut is, however rare positives are.

    Experimental: may change in any release.

    Parameters
    ----------
    check : CalibrationCheck
        What is drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    line_ : matplotlib artist
        The line through the points.

    Examples
    --------
    >>> import numpy as np
    >>> import argmetric as am
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 5, 2000)
    >>> y = rng.random(2000) < p**2
    >>> display = am.CalibrationCostDisplay.from_predictions(y, p)
    >>> print(display.ax_.get_title().splitlines()[0])
    Actual F1: 0.248 with p as given, 0.291 recalibrated
    """

    _scores_of = staticmethod(probabilities_of)

    @classmethod
    def _from_labels(
        cls, y: ArrayLike, p: ArrayLike, metric: MetricLike, **options: Any
    ) -> Self:
        from argmetric._verbs.check import calibration_check

        return cls(calibration_check(y, p, metric, **options))
