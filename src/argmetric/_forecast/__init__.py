"""What score will I get?"""

from argmetric._forecast._forecast import forecast
from argmetric._forecast._result import Forecast

__all__ = ["Forecast", "forecast"]
