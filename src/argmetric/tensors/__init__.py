"""Decisions, forecasts, masks and losses for tensors, on the device they live on.

`argmetric.decide`, `forecast` and `evaluate` call this module for tensors. It needs
torch, or arrays of another library that follows the array API.

Experimental: names and parameters may change in any release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._ground.lazy import lazy_names

if TYPE_CHECKING:
    from argmetric.tensors._achievable import BestAchievable as BestAchievable
    from argmetric.tensors._decide import TensorDecision as TensorDecision
    from argmetric.tensors._decide import decide as decide
    from argmetric.tensors._forecast import TensorForecast as TensorForecast
    from argmetric.tensors._forecast import count as count
    from argmetric.tensors._forecast import forecast as forecast
    from argmetric.tensors._forecast import sums_of_rows as sums_of_rows
    from argmetric.tensors._losses import ExpectedMetricLoss as ExpectedMetricLoss
    from argmetric.tensors._losses import SoftMetricLoss as SoftMetricLoss
    from argmetric.tensors._mask_calibrator import MaskCalibrator as MaskCalibrator
    from argmetric.tensors._mask_calibrator import calibrate_masks as calibrate_masks
    from argmetric.tensors._masks import MaskDecision as MaskDecision
    from argmetric.tensors._masks import decide_masks as decide_masks
    from argmetric.tensors._masks import forecast_masks as forecast_masks

if not TYPE_CHECKING:  # a misspelt name is an error for type checkers
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            "_achievable": ("BestAchievable",),
            "_decide": ("TensorDecision", "decide"),
            "_forecast": ("TensorForecast", "forecast"),
            "_losses": ("ExpectedMetricLoss", "SoftMetricLoss"),
            "_mask_calibrator": ("MaskCalibrator", "calibrate_masks"),
            "_masks": ("MaskDecision", "decide_masks", "forecast_masks"),
        },
        for_other_rooms={"_forecast": ("count", "sums_of_rows")},
    )
