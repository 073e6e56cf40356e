"""Scores of a fitted classifier."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from argmetric._input.labels._arrays import plain_label
from argmetric._input.labels._estimators import class_number, refuse_more_than_two
from argmetric._input.types import AnyArray, Floats

Method = Literal["predict_proba", "decision_function"]


def response_method(estimator: Any) -> Method:
    """Probabilities where the estimator has them, else margins."""
    if hasattr(estimator, "predict_proba"):
        return "predict_proba"
    if hasattr(estimator, "decision_function"):
        return "decision_function"
    raise TypeError(
        f"estimator {type(estimator).__name__} has neither predict_proba nor "
        "decision_function: there is no score to put a threshold on"
    )


def scores_of(
    estimator: Any, X: Any, classes: AnyArray, positive: int | None, method: Method
) -> Floats:
    """Score of the positive class, or of every class where `positive` is None."""
    scores = np.asarray(getattr(estimator, method)(X), dtype=np.float64)
    name = type(estimator).__name__
    if method == "decision_function" and positive is not None:
        if scores.ndim == 2 and scores.shape[1] == 1:
            scores = scores[:, 0]
        if scores.ndim == 2:
            return np.ascontiguousarray(scores[:, positive])
        return scores if positive == 1 else -scores
    if scores.ndim != 2 or scores.shape[1] != classes.size:
        raise ValueError(
            f"{method} of {name} has shape {scores.shape} for {classes.size} classes; "
            f"one column per class is needed"
        )
    if positive is None:
        return scores
    return np.ascontiguousarray(scores[:, positive])


def probabilities_of(
    estimator: Any, X: Any, pos_label: Any = None
) -> tuple[Floats, Any]:
    """Probability of the positive one of two classes, and that class."""
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"estimator must have predict_proba, which {type(estimator).__name__} has "
            "not: scikit-learn's CalibratedClassifierCV makes probabilities of margins"
        )
    return margins_of(estimator, X, pos_label)


def margins_of(estimator: Any, X: Any, pos_label: Any = None) -> tuple[Floats, Any]:
    """Score of the positive one of two classes, and that class."""
    method = response_method(estimator)
    classes = np.asarray(estimator.classes_)
    refuse_more_than_two(classes, pos_label)
    number = class_number(classes, pos_label)
    assert number is not None
    scores = scores_of(estimator, X, classes, number, method)
    return scores, plain_label(classes[number])
