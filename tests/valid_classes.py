"""Valid calls with one label per row and several classes."""

import numpy as np

import argmetric as am
from valid_calls import calls

CLASS_P = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.5, 0.4, 0.1], [0.1, 0.8, 0.1]])
CLASS_Y = np.array(["a", "c", "b", "b"])
CLASS_CHECK = am.classes.check(CLASS_Y, CLASS_P, n_bootstrap=3)
CLASS_DECISION = am.classes.decide(CLASS_P, classes=["a", "b", "c"])

CALLS = calls(
    r"""
argmetric.classes.decide: am.classes.decide(p=CLASS_P, metric="f1",
    classes=["a", "b", "c"], average="macro", zero_division=0.0, max_per_class=3,
    min_recall=0.1, prior=[0.3, 0.4, 0.3], certificate=True)
    -> {"p": r"\bp\b|the limits"}
argmetric.classes.forecast: am.classes.forecast(p=CLASS_P, labels=CLASS_Y,
    metric="jaccard", classes=["a", "b", "c"], known=["a", None, None, "b"])
argmetric.classes.evaluate: am.classes.evaluate(y=CLASS_Y, labels=CLASS_Y,
    metric="kappa", groups=[1, 1, 2, 2])
argmetric.classes.calibrate: am.classes.calibrate(y=CLASS_Y, p=CLASS_P, method="matrix",
    classes=["a", "b", "c"])
argmetric.classes.check: am.classes.check(y=CLASS_Y, p=CLASS_P, metric="f1",
    classes=["a", "b", "c"], average="macro", method="temperature", n_bins=3,
    n_bootstrap=3, random_state=0, zero_division=0.0)
argmetric.classes.tune: am.classes.tune(y=CLASS_Y, p=CLASS_P, metric="f1",
    classes=["a", "b", "c"], average="weighted", zero_division=0.0,
    sample_weight=[1, 2, 1, 1], n_bootstrap=3, coverage=0.8, cv=2, random_state=0)
ClassCalibrationCheck.to_frame: CLASS_CHECK.to_frame(backend="pandas")
argmetric.classes.adjust_prior: am.classes.adjust_prior(p=CLASS_P,
    prevalence=[0.2, 0.3, 0.5], reference_prevalence=[0.3, 0.4, 0.3],
    classes=["a", "b", "c"])
ClassDecision.forecast: CLASS_DECISION.forecast(coverage=0.8,
    known=["a", None, None, None], random_state=0)
ClassDecision.to_frame: CLASS_DECISION.to_frame(backend="pandas")
""",
    globals(),
)
