"""What score will I get?"""

from argmetric._forecast._forecast import (
    assumptions_of,
    forecast,
    forecast_of,
    refuse_undefined,
)
from argmetric._forecast._groups import Groups
from argmetric._forecast._laws import law_of_count, law_of_counts, sum_of_laws
from argmetric._forecast._plot import ForecastDisplay
from argmetric._forecast._result import Forecast
from argmetric._forecast._shares import (
    Share,
    law_of_shares,
    mean_of_shares,
    share_of,
)

__all__ = [
    "Forecast",
    "ForecastDisplay",
    "Groups",
    "Share",
    "assumptions_of",
    "forecast",
    "forecast_of",
    "law_of_count",
    "law_of_counts",
    "law_of_shares",
    "mean_of_shares",
    "refuse_undefined",
    "share_of",
    "sum_of_laws",
]
