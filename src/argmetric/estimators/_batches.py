"""A batch as a whole: decided jointly, and its score forecast."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from argmetric._decide import Decision, decide
from argmetric._forecast.forecast import forecast
from argmetric._forecast.result import Forecast
from argmetric._input.labels import label_array
from argmetric._input.layout import Average
from argmetric._input.responses import is_second
from argmetric._input.types import Floats


class BatchDecisions:
    """What a fitted classifier can say about rows that belong together."""

    metric: Any
    average: Any
    zero_division: Any
    min_precision: Any
    min_recall: Any
    classes_: Any
    rule_: Any
    _positive: int | None

    calibrator_: Any

    def _scores(self, X: Any) -> tuple[Floats, bool]:
        raise NotImplementedError

    def decide(
        self, X: Any, groups: Any = None, average: Average | None = None, **options: Any
    ) -> Decision:
        """Label a batch jointly: the best expected metric of these rows together.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The batch.
        groups, average
            As for `argmetric.decide`; `average` of the classifier where it is None.
        **options
            Further options of `argmetric.decide`. The floors and the zero division of
            the classifier hold unless given here; a budget counts rows of this batch
            and is given here, as ``max_positives``.

        Returns
        -------
        Decision
            Its labels are 1 for the positive class and 0 for the other.
        """
        scores, how = self._positive_scores(X, "decide")
        given = {
            "zero_division": self.zero_division,
            "min_precision": self.min_precision,
            "min_recall": self.min_recall,
        }
        if groups is not None and average is None:
            average = self.average
        given |= {"groups": groups, "average": average, **how}
        return decide(scores, self.metric, **given | options)

    def forecast(
        self, X: Any, labels: Any = None, groups: Any = None, **options: Any
    ) -> Forecast:
        """The score to expect on a batch before its labels are known.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The batch.
        labels : Decision or array-like, optional
            What is handed in: classes, or a decision; by default what `predict` gives.
        groups : array-like, optional
            As for `argmetric.forecast`.
        **options
            Further options of `argmetric.forecast`.

        Returns
        -------
        Forecast
        """
        scores, how = self._positive_scores(X, "forecast")
        if labels is None:
            chosen = self.rule_.applies(scores)
        elif isinstance(labels, Decision):
            chosen = labels.labels
        else:
            chosen = self._is_positive(labels)
        given = {"zero_division": self.zero_division, "groups": groups, **how}
        return forecast(scores, chosen, self.metric, **given | options)

    def _positive_scores(self, X: Any, verb: str) -> tuple[Floats, dict[str, Any]]:
        """Scores as the estimator gives them, and the map to read them by."""
        check_is_fitted(self)
        if self._positive is None:
            raise ValueError(
                f"{verb} is for two classes, but there are {self.classes_.size}; "
                "wrap the classifier in OneVsRestClassifier, or use predict"
            )
        if not hasattr(self, "predict_proba"):
            raise ValueError(
                f"{verb} needs probabilities, and the estimator has margins only: set "
                "a calibration"
            )
        scores, logits = self._scores(X)
        return scores, {"calibrator": self.calibrator_, "logits": logits}

    def _is_positive(self, labels: Any) -> Any:
        """Labels as 1 for the positive class; 0 and 1 pass where they are no class."""
        values = label_array(labels, "labels")
        if not np.isin(values, self.classes_).all() and np.isin(values, [0, 1]).all():
            return values
        second = is_second(values, self.classes_, "labels")
        return second if self._positive == 1 else ~second
