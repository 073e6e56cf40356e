"""Are my probabilities fit to decide with? The repair: monotone maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._lazy import lazy_names

if TYPE_CHECKING:
    from argmetric._calibrate._base import Calibrator as Calibrator
    from argmetric._calibrate._calibrate import DEFAULT as DEFAULT
    from argmetric._calibrate._calibrate import ROWS_COMPARED as ROWS_COMPARED
    from argmetric._calibrate._calibrate import calibrate as calibrate
    from argmetric._calibrate._calibrate import (
        calibrate_out_of_fold as calibrate_out_of_fold,
    )
    from argmetric._calibrate._calibrate import choose_method as choose_method
    from argmetric._calibrate._cells import cell_numbers as cell_numbers
    from argmetric._calibrate._cells import first_of_equals as first_of_equals
    from argmetric._calibrate._classes import (
        fit_class_temperature as fit_class_temperature,
    )
    from argmetric._calibrate._composed import ChainedMap as ChainedMap
    from argmetric._calibrate._composed import FunctionMap as FunctionMap
    from argmetric._calibrate._counted import Counted as Counted
    from argmetric._calibrate._fit import METHOD_WORDS as METHOD_WORDS
    from argmetric._calibrate._fit import METHODS as METHODS
    from argmetric._calibrate._fit import Method as Method
    from argmetric._calibrate._fit import fit_map as fit_map
    from argmetric._calibrate._folds import deal as deal
    from argmetric._calibrate._folds import fold_numbers as fold_numbers
    from argmetric._calibrate._hook import FittedReference as FittedReference
    from argmetric._calibrate._hook import PriorShare as PriorShare
    from argmetric._calibrate._hook import as_calibrator as as_calibrator
    from argmetric._calibrate._hook import calibrated_scores as calibrated_scores
    from argmetric._calibrate._hook import check_prior as check_prior
    from argmetric._calibrate._hook import resolve_calibrator as resolve_calibrator
    from argmetric._calibrate._hook import resolve_reference as resolve_reference
    from argmetric._calibrate._maps import BetaMap as BetaMap
    from argmetric._calibrate._maps import ClassTemperatureMap as ClassTemperatureMap
    from argmetric._calibrate._maps import IdentityMap as IdentityMap
    from argmetric._calibrate._maps import IsotonicMap as IsotonicMap
    from argmetric._calibrate._maps import PlattMap as PlattMap
    from argmetric._calibrate._maps import TemperatureMap as TemperatureMap
    from argmetric._calibrate._newton import Prior as Prior
    from argmetric._calibrate._newton import fit_logistic as fit_logistic
    from argmetric._calibrate._newton import likeliest as likeliest
    from argmetric._calibrate._prior import MatchedShare as MatchedShare
    from argmetric._calibrate._prior import PriorShift as PriorShift
    from argmetric._calibrate._prior import adjust_prior as adjust_prior
    from argmetric._calibrate._prior import match_prevalence as match_prevalence
    from argmetric._calibrate._prior import shift_to_share as shift_to_share
    from argmetric._calibrate._reference import Reference as Reference
    from argmetric._calibrate._reference import check_reference as check_reference
    from argmetric._calibrate._reference import check_score_array as check_score_array
    from argmetric._calibrate._reference import refuse_useless as refuse_useless
    from argmetric._calibrate._rows import row_blocks as row_blocks
    from argmetric._calibrate._share import Share as Share
    from argmetric._calibrate._share import estimate_share as estimate_share
    from argmetric._calibrate._share import moved_note as moved_note
    from argmetric._calibrate._spline import SplineMap as SplineMap

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "_base": ("Calibrator",),
        "_calibrate": (
            "DEFAULT",
            "ROWS_COMPARED",
            "calibrate",
            "calibrate_out_of_fold",
            "choose_method",
        ),
        "_cells": (
            "cell_numbers",
            "first_of_equals",
        ),
        "_classes": ("fit_class_temperature",),
        "_composed": (
            "ChainedMap",
            "FunctionMap",
        ),
        "_counted": ("Counted",),
        "_fit": (
            "METHOD_WORDS",
            "METHODS",
            "Method",
            "fit_map",
        ),
        "_folds": (
            "deal",
            "fold_numbers",
        ),
        "_hook": (
            "FittedReference",
            "PriorShare",
            "as_calibrator",
            "calibrated_scores",
            "check_prior",
            "resolve_calibrator",
            "resolve_reference",
        ),
        "_maps": (
            "BetaMap",
            "ClassTemperatureMap",
            "IdentityMap",
            "IsotonicMap",
            "PlattMap",
            "TemperatureMap",
        ),
        "_newton": (
            "Prior",
            "fit_logistic",
            "likeliest",
        ),
        "_prior": (
            "MatchedShare",
            "PriorShift",
            "adjust_prior",
            "match_prevalence",
            "shift_to_share",
        ),
        "_reference": (
            "Reference",
            "check_reference",
            "check_score_array",
            "refuse_useless",
        ),
        "_rows": ("row_blocks",),
        "_share": (
            "Share",
            "estimate_share",
            "moved_note",
        ),
        "_spline": ("SplineMap",),
    },
)
