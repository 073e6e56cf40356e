"""optimal_scorer: the best score over all thresholds, for model selection."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from argmetric._ground.arguments import check_flag, check_label
from argmetric._ground.features import (
    class_number,
    estimator_labels,
    response_method,
    scores_of,
)
from argmetric._ground.labels import one_per_row
from argmetric._ground.types import ArrayLike, Features, Label
from argmetric._ground.validation import (
    Probabilities,
    check_length,
    check_scores,
    check_weight,
    to_numpy,
)
from argmetric._verbs.tune import check_tune_limits, count_cuts, curve_of, sort_rows
from argmetric.classes import decide, evaluate, tune
from argmetric.metrics import ClassAverage, MetricLike, get_class_metric, get_metric


class OptimalScorer(BaseEstimator):  # type: ignore[misc]
    """Best value of a metric over all thresholds; create it with `optimal_scorer`."""

    __metadata_request__score = {"estimator": UNUSED}  # noqa: RUF012

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        pos_label: Label | None = None,
        min_precision: float | None = None,
        min_recall: float | None = None,
        max_positives: int | str | None = None,
        zero_division: float | None = None,
        one_label: bool = False,
        average: ClassAverage | None = None,
    ) -> None:
        self.metric = metric
        self.pos_label = pos_label
        self.min_precision = min_precision
        self.min_recall = min_recall
        self.max_positives = max_positives
        self.zero_division = zero_division
        self.one_label = one_label
        self.average = average

    def score(
        self,
        estimator: Any,
        X: Features,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the best score over all thresholds on the estimator's scores.

        Parameters
        ----------
        estimator : classifier
            Fitted, with `predict_proba` or `decision_function`.
        X : array-like, sparse matrix or frame
            The rows.
        y : array-like
            Their labels.
        sample_weight : array-like, optional
            Their weights.

        Returns
        -------
        float
            Larger is better: a metric that is minimised is negated.
        """
        if check_flag(self.one_label, "one_label"):
            return self._label_score(estimator, X, y, sample_weight)
        metric = get_metric(self.metric, zero_division=self.zero_division)
        check_label(self.pos_label)
        names = ("min_precision", "min_recall", "max_positives")
        limits = check_tune_limits({name: getattr(self, name) for name in names})
        method = response_method(estimator)
        classes = np.asarray(estimator.classes_)
        positive = class_number(classes, self.pos_label, by_order=False)
        scores = scores_of(estimator, X, classes, positive, method)
        y = one_per_row(to_numpy(estimator_labels(y), "y"), "y")
        check_length(y, "y", scores.shape[0], "X")
        if positive is None:
            if limits.named_limits:
                raise ValueError(
                    f"{next(iter(limits.named_limits))} needs a binary problem"
                )
            checked = check_scores(scores, "p", logits=True)
            p = Probabilities(checked, scale_is_known=True)
            how: Any = {"sample_weight": sample_weight, "n_bootstrap": 0, "cv": 0}
            rule: Any = tune(y, p, metric, **how)
            best = float(rule.score)
        else:  # defined also for a fold without a positive
            check_scores(scores, method, logits=True)
            chosen = np.asarray(y == classes[positive])
            weights = check_weight(sample_weight, chosen.shape, "y")
            cuts = count_cuts(sort_rows(scores, chosen, weights))
            values = cuts.metric_values(metric)
            allowed = limits.allowed_cuts(cuts)
            best = float(values[curve_of(values, metric, allowed, cuts.n).best])
        return best if metric.greater_is_better else -best

    __call__ = score

    def _label_score(
        self, model: Any, X: Features, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> float:
        """Return the actual score of the labels that `classes.decide` chooses."""
        given = {
            "pos_label": self.pos_label,
            "min_precision": self.min_precision,
            "min_recall": self.min_recall,
            "max_positives": self.max_positives,
            "sample_weight": sample_weight,
        }
        names = [name for name, value in given.items() if value is not None]
        if names:
            raise ValueError(
                f"{' and '.join(names)} cannot be used with one label per row and "
                "several classes"
            )
        if not hasattr(model, "predict_proba"):
            raise TypeError(
                "one_label=True needs class probabilities, but "
                f"{type(model).__name__} has no predict_proba"
            )
        how: dict[str, Any] = {
            "classes": model.classes_,
            "average": self.average,
            "zero_division": self.zero_division,
        }
        result = decide(model.predict_proba(X), self.metric, **how)
        return float(evaluate(y, result.labels, self.metric, **how))


def optimal_scorer(
    metric: MetricLike = "f1",
    *,
    pos_label: Label | None = None,
    min_precision: float | None = None,
    min_recall: float | None = None,
    max_positives: int | str | None = None,
    zero_division: float | None = None,
    one_label: bool = False,
    average: ClassAverage | None = None,
) -> OptimalScorer:
    """Make a scorer for model selection: the metric at the best threshold.

    If the threshold will be tuned, choose the model by its score after tuning, not at
    0.5. Every threshold is tried, with one sort per call. The value is slightly
    optimistic, equally for all models.

    Experimental: may change in any release.

    Parameters
    ----------
    metric : str, Metric or callable, default="f1"
        A name, an instance, or a function of (tp, k, t, n). With more than two classes
        its mean over the classes at the best weights, or with `one_label=True` the
        score of the labels of `argmetric.classes.decide`.
    pos_label : int, float, bool or str, optional
        The positive one of two classes; not needed for 0/1, -1/1 and booleans.
    min_precision, min_recall : float, optional
        Minimum precision and recall.
    max_positives : int or str, optional
        Most rows predicted positive: a count, or a share such as "5%".
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0, by default the metric's own.
    one_label : bool, default=False
        Whether batches will be decided with `argmetric.classes.decide`: the score
        is then the actual score of these labels. It sees no label before it scores, so
        it is not optimistic; models need `predict_proba`.
    average : {"macro", "weighted"}, optional
        As for `argmetric.classes.decide`.

    Returns
    -------
    callable
        ``scorer(estimator, X, y, sample_weight=None)``, for ``scoring=``.

    Examples
    --------
    >>> import argmetric as am
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = make_classification(1_000, weights=[0.9], flip_y=0.1, random_state=0)
    >>> best = cross_val_score(LogisticRegression(), X, y, scoring=am.optimal_scorer())
    >>> half = cross_val_score(LogisticRegression(), X, y, scoring="f1")
    >>> bool((best >= half).all())
    True
    """
    if check_flag(one_label, "one_label"):
        get_class_metric(
            metric, average=average, zero_division=zero_division, n_classes=2
        )
    else:
        if average is not None:
            raise ValueError(
                "average needs one_label=True: a matrix of class probabilities, one "
                "label per row"
            )
        get_metric(metric, zero_division=zero_division)
    return OptimalScorer(
        metric,
        pos_label=pos_label,
        min_precision=min_precision,
        min_recall=min_recall,
        max_positives=max_positives,
        zero_division=zero_division,
        one_label=one_label,
        average=average,
    )
