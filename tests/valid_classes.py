"""Valid calls with one label per row and several classes."""

from __future__ import annotations

import numpy as np

import argmetric as am
from valid_calls import Call, of

CLASS_P = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.5, 0.4, 0.1], [0.1, 0.8, 0.1]])
CLASS_Y = np.array(["a", "c", "b", "b"])
CLASS_CHECK = am.calibration_check(CLASS_Y, CLASS_P, one_label=True, n_bootstrap=3)
CLASS_DECISION = am.decide(CLASS_P, classes=["a", "b", "c"])

CALLS: dict[str, Call] = {
    "argmetric.decide, one label": of(
        am.decide,
        p=CLASS_P,
        metric="f1",
        classes=["a", "b", "c"],
        average="macro",
        zero_division=0.0,
        max_per_class=3,
        min_recall=0.1,
        prior=[0.3, 0.4, 0.3],
        certificate=True,
    ),
    "argmetric.forecast, one label": of(
        am.forecast,
        p=CLASS_P,
        labels=CLASS_Y,
        metric="jaccard",
        classes=["a", "b", "c"],
        known=["a", None, None, "b"],
    ),
    "argmetric.evaluate, one label": of(
        am.evaluate,
        y_true=CLASS_Y,
        y_pred=CLASS_Y,
        metric="kappa",
        one_label=True,
        groups=[1, 1, 2, 2],
    ),
    "argmetric.calibrate, one label": of(
        am.calibrate, y=CLASS_Y, p=CLASS_P, method="matrix", classes=["a", "b", "c"]
    ),
    "argmetric.calibration_check, one label": of(
        am.calibration_check,
        y=CLASS_Y,
        p=CLASS_P,
        metric="f1",
        classes=["a", "b", "c"],
        average="macro",
        method="temperature",
        n_bins=3,
        n_bootstrap=3,
        random_state=0,
        zero_division=0.0,
    ),
    "ClassCalibrationCheck.to_frame": of(CLASS_CHECK.to_frame, backend="pandas"),
    "argmetric.adjust_prior, one label": of(
        am.adjust_prior,
        p=CLASS_P,
        prevalence=[0.2, 0.3, 0.5],
        reference_prevalence=[0.3, 0.4, 0.3],
        classes=["a", "b", "c"],
    ),
    "ClassDecision.forecast": of(
        CLASS_DECISION.forecast,
        coverage=0.8,
        known=["a", None, None, None],
        random_state=0,
    ),
    "ClassDecision.to_frame": of(CLASS_DECISION.to_frame, backend="pandas"),
}
