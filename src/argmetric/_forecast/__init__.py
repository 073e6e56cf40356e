"""What score will I get?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._lazy import lazy_names

if TYPE_CHECKING:
    from argmetric._forecast._forecast import assumptions_of as assumptions_of
    from argmetric._forecast._forecast import forecast as forecast
    from argmetric._forecast._forecast import forecast_of as forecast_of
    from argmetric._forecast._forecast import refuse_undefined as refuse_undefined
    from argmetric._forecast._groups import Groups as Groups
    from argmetric._forecast._laws import law_of_count as law_of_count
    from argmetric._forecast._laws import law_of_counts as law_of_counts
    from argmetric._forecast._laws import sum_of_laws as sum_of_laws
    from argmetric._forecast._plot import ForecastDisplay as ForecastDisplay
    from argmetric._forecast._result import Forecast as Forecast
    from argmetric._forecast._shares import Share as Share
    from argmetric._forecast._shares import law_of_shares as law_of_shares
    from argmetric._forecast._shares import mean_of_shares as mean_of_shares
    from argmetric._forecast._shares import share_of as share_of

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "_forecast": (
            "assumptions_of",
            "forecast",
            "forecast_of",
            "refuse_undefined",
        ),
        "_groups": ("Groups",),
        "_laws": (
            "law_of_count",
            "law_of_counts",
            "sum_of_laws",
        ),
        "_plot": ("ForecastDisplay",),
        "_result": ("Forecast",),
        "_shares": (
            "Share",
            "law_of_shares",
            "mean_of_shares",
            "share_of",
        ),
    },
)
