"""Decisions and forecasts of a classifier for batches of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from argmetric._forecast.forecast import forecast
from argmetric._forecast.result import Forecast
from argmetric._ground.features import is_second
from argmetric._ground.labels import label_array
from argmetric._ground.layout import Average
from argmetric._ground.types import AnyArray, ArrayLike, Features, Floats, LabelsLike
from argmetric._verbs.decide import Decision, decide
from argmetric.classes import ClassDecision, ClassForecast
from argmetric.classes import decide as decide_classes
from argmetric.classes import forecast as forecast_classes
from argmetric.metrics import CustomMetric, Metric
from argmetric.train._wrapper import ClassifierWrapper


class BatchDecisions(ClassifierWrapper):
    """Decisions and forecasts of a fitted classifier for a batch of rows."""

    def decide(
        self,
        X: Features,
        groups: ArrayLike | None = None,
        average: Average | None = None,
        **options: Any,
    ) -> Decision | ClassDecision:
        """Choose the labels of a batch with the best expected metric.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The batch.
        groups, average
            As for `argmetric.decide`; by default the classifier's `average`.
        **options
            Further options of `argmetric.decide`, or with more than two classes of
            `argmetric.classes.decide`. The classifier's minimums and
            `zero_division` apply unless given here. A budget counts rows of this
            batch; pass it here as ``max_positives``.

        Returns
        -------
        Decision or ClassDecision
            Labels are 1 for the positive class and 0 for the other; with more than
            two classes they are the classes.
        """
        check_is_fitted(self)
        if self._positive is None:
            scores, how = self._class_scores(X, "decide")
            how |= {"groups": groups, "average": average}
            return decide_classes(scores, self.metric, **how | options)
        scores, how = self._positive_scores(X, "decide")
        given: dict[str, Any] = {
            "zero_division": self.zero_division,
            "min_precision": self.min_precision,
            "min_recall": self.min_recall,
        }
        if groups is not None and average is None:
            average = self.average
        given |= {"groups": groups, "average": average, **how}
        return decide(scores, self.metric, **given | options)

    def forecast(
        self,
        X: Features,
        labels: LabelsLike | None = None,
        groups: ArrayLike | None = None,
        **options: Any,
    ) -> Forecast | ClassForecast:
        """Forecast the score of a batch before its labels are known.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The batch.
        labels : Decision, ClassDecision or array-like, optional
            The labels to score: classes, or a decision; by default those of `predict`.
        groups : array-like, optional
            As for `argmetric.forecast`.
        **options
            Further options of `argmetric.forecast`, or with more than two classes of
            `argmetric.classes.forecast`.

        Returns
        -------
        Forecast or ClassForecast
            `ClassForecast` with more than two classes.
        """
        check_is_fitted(self)
        if self._positive is None:
            if isinstance(labels, ClassDecision):
                labels = labels.labels
            elif labels is None:
                self._refuse_review("forecast")
                labels = self.predict(X)
            scores, how = self._class_scores(X, "forecast")
            how |= {"groups": groups, **options}
            return forecast_classes(scores, labels, self.metric, **how)
        scores, how = self._positive_scores(X, "forecast")
        if labels is None:
            self._refuse_review("forecast")
            chosen = self.rule_.applies(scores)
        elif isinstance(labels, Decision):
            chosen = labels.labels
        else:
            chosen = self._is_positive(labels)
        given = {"zero_division": self.zero_division, "groups": groups, **how}
        return forecast(scores, chosen, self.metric, **given | options)

    def _refuse_review(self, what: str) -> None:
        """Refuse what needs one label for every row."""
        if getattr(self, "review", False):
            raise ValueError(
                f"{what} needs a label for every row, and review=True leaves some to a "
                "person: see rule_.automated, or call argmetric.monitor with rule_"
            )

    def _positive_scores(self, X: Features, verb: str) -> tuple[Floats, dict[str, Any]]:
        """Return scores of the positive class, and the options that calibrate them."""
        if not hasattr(self, "predict_proba"):
            raise ValueError(
                f"{verb} needs probabilities, and the estimator has margins only: set "
                "a calibration"
            )
        scores, logits = self._scores(X)
        return scores, {"reference": self.calibrator_, "logits": logits}

    def _class_scores(self, X: Features, verb: str) -> tuple[Floats, dict[str, Any]]:
        """Return scores of several classes, and the options that calibrate them."""
        if isinstance(self.metric, CustomMetric) or (
            callable(self.metric) and not isinstance(self.metric, Metric)
        ):
            raise ValueError(
                f"{verb} of {self.classes_.size} classes takes named metrics only; a "
                "function of (tp, k, t, n) has no expectation there: use predict"
            )
        scores, logits = self._scores(X)
        return scores, {
            "classes": self.classes_.tolist(),
            "zero_division": self.zero_division,
            "reference": self._batch,
            "logits": logits,
        }

    def _is_positive(self, labels: object) -> AnyArray:
        """Return 1 for labels of the positive class.

        Pass 0/1 on if they are no classes.
        """
        values = label_array(labels, "labels")
        if not np.isin(values, self.classes_).all() and np.isin(values, [0, 1]).all():
            return values
        second = is_second(values, self.classes_, "labels")
        return second if self._positive == 1 else ~second
