"""Are my probabilities reliable? The check, in units of lost score."""

from argmetric._verbs.check._bins import (
    Line,
    ReliabilityBins,
    calibration_line,
    reliability_bins,
    wilson,
)
from argmetric._verbs.check._check import MOST_BINS_OR_SAMPLES, calibration_check
from argmetric._verbs.check._result import (
    CalibrationCheck,
    CalibrationCostDisplay,
)
from argmetric._verbs.check._routes import (
    MOST_CELLS,
    Judged,
    Route,
    RouteName,
    best_route,
    routes_of,
)
from argmetric._verbs.check._verdicts import (
    CHANCE,
    FEW_ROWS_OF_A_CLASS,
    CheckedRoutes,
    Quality,
    marked,
    reworded,
)

__all__ = [
    "CHANCE",
    "FEW_ROWS_OF_A_CLASS",
    "MOST_BINS_OR_SAMPLES",
    "MOST_CELLS",
    "CalibrationCheck",
    "CalibrationCostDisplay",
    "CheckedRoutes",
    "Judged",
    "Line",
    "Quality",
    "ReliabilityBins",
    "Route",
    "RouteName",
    "best_route",
    "calibration_check",
    "calibration_line",
    "marked",
    "reliability_bins",
    "reworded",
    "routes_of",
    "wilson",
]
