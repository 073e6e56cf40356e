"""One of several classes for each row: the verbs of the package for such rows.

Class probabilities have one column per class, and rows that sum to 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._ground.lazy import lazy_names

if TYPE_CHECKING:
    from argmetric.classes._calibrate import ClassPriorShift as ClassPriorShift
    from argmetric.classes._calibrate import adjust_prior as adjust_prior
    from argmetric.classes._calibrate import calibrate as calibrate
    from argmetric.classes._calibrate import resolve_calibrator as resolve_calibrator
    from argmetric.classes._calibrators import ClassCalibrator as ClassCalibrator
    from argmetric.classes._calibrators import (
        ClassMatrixCalibrator as ClassMatrixCalibrator,
    )
    from argmetric.classes._calibrators import (
        ClassTemperatureCalibrator as ClassTemperatureCalibrator,
    )
    from argmetric.classes._check import check as check
    from argmetric.classes._check_result import (
        ClassCalibrationCheck as ClassCalibrationCheck,
    )
    from argmetric.classes._climb import expected_table as expected_table
    from argmetric.classes._decide import decide as decide
    from argmetric.classes._evaluate import ActualClassScore as ActualClassScore
    from argmetric.classes._evaluate import evaluate as evaluate
    from argmetric.classes._evaluate import refuse_asked as refuse_asked
    from argmetric.classes._evaluate import score_of_counts as score_of_counts
    from argmetric.classes._evaluate import sorted_classes as sorted_classes
    from argmetric.classes._fit import fit_class_matrix as fit_class_matrix
    from argmetric.classes._fit import fit_class_temperature as fit_class_temperature
    from argmetric.classes._forecast import ClassForecast as ClassForecast
    from argmetric.classes._forecast import forecast as forecast
    from argmetric.classes._input import (
        check_class_probabilities as check_class_probabilities,
    )
    from argmetric.classes._input import codes_of as codes_of
    from argmetric.classes._input import given_classes as given_classes
    from argmetric.classes._input import least_recalls as least_recalls
    from argmetric.classes._means import read_means as read_means
    from argmetric.classes._monitor import ClassMonitoring as ClassMonitoring
    from argmetric.classes._monitor import monitor as monitor
    from argmetric.classes._monitor_period import ClassPeriod as ClassPeriod
    from argmetric.classes._result import ClassDecision as ClassDecision
    from argmetric.classes._review import ClassReviewRule as ClassReviewRule
    from argmetric.classes._review_monitor import (
        ClassReviewMonitoring as ClassReviewMonitoring,
    )
    from argmetric.classes._tune import tune as tune
    from argmetric.classes._weights import MultiClassRule as MultiClassRule

if not TYPE_CHECKING:  # a misspelt name is an error for type checkers
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            "_calibrate": ("adjust_prior", "calibrate"),
            "_check": ("check",),
            "_check_result": ("ClassCalibrationCheck",),
            "_decide": ("decide",),
            "_evaluate": ("ActualClassScore", "evaluate"),
            "_forecast": ("ClassForecast", "forecast"),
            "_monitor": ("ClassMonitoring", "monitor"),
            "_monitor_period": ("ClassPeriod",),
            "_result": ("ClassDecision",),
            "_review": ("ClassReviewRule",),
            "_review_monitor": ("ClassReviewMonitoring",),
            "_tune": ("tune",),
            "_weights": ("MultiClassRule",),
        },
        for_other_rooms={
            "_calibrate": ("ClassPriorShift", "resolve_calibrator"),
            "_climb": ("expected_table",),
            "_evaluate": ("refuse_asked", "score_of_counts", "sorted_classes"),
            "_fit": ("fit_class_matrix", "fit_class_temperature"),
            "_input": (
                "check_class_probabilities",
                "codes_of",
                "given_classes",
                "least_recalls",
            ),
            "_means": ("read_means",),
            "_calibrators": (
                "ClassCalibrator",
                "ClassMatrixCalibrator",
                "ClassTemperatureCalibrator",
            ),
        },
    )
