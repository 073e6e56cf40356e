"""Are my probabilities fit to decide with? The repair: monotone maps."""

from argmetric._calibrate._base import Calibrator
from argmetric._calibrate._calibrate import (
    DEFAULT,
    ROWS_COMPARED,
    calibrate,
    calibrate_out_of_fold,
    choose_method,
)
from argmetric._calibrate._classes import fit_class_temperature
from argmetric._calibrate._composed import ChainedMap, FunctionMap
from argmetric._calibrate._counted import Counted
from argmetric._calibrate._fit import METHOD_WORDS, METHODS, Method, fit_map
from argmetric._calibrate._folds import deal, fold_numbers
from argmetric._calibrate._hook import (
    as_calibrator,
    calibrated_scores,
    resolve_calibrator,
)
from argmetric._calibrate._maps import (
    BetaMap,
    ClassTemperatureMap,
    IdentityMap,
    IsotonicMap,
    PlattMap,
    TemperatureMap,
)
from argmetric._calibrate._newton import Prior, fit_logistic, likeliest
from argmetric._calibrate._prior import PriorShift, adjust_prior
from argmetric._calibrate._reference import (
    Reference,
    check_reference,
    check_score_array,
    refuse_useless,
)
from argmetric._calibrate._spline import SplineMap

__all__ = [
    "DEFAULT",
    "METHODS",
    "METHOD_WORDS",
    "ROWS_COMPARED",
    "BetaMap",
    "Calibrator",
    "ChainedMap",
    "ClassTemperatureMap",
    "Counted",
    "FunctionMap",
    "IdentityMap",
    "IsotonicMap",
    "Method",
    "PlattMap",
    "Prior",
    "PriorShift",
    "Reference",
    "SplineMap",
    "TemperatureMap",
    "adjust_prior",
    "as_calibrator",
    "calibrate",
    "calibrate_out_of_fold",
    "calibrated_scores",
    "check_reference",
    "check_score_array",
    "choose_method",
    "deal",
    "fit_class_temperature",
    "fit_logistic",
    "fit_map",
    "fold_numbers",
    "likeliest",
    "refuse_useless",
    "resolve_calibrator",
]
