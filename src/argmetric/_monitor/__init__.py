"""Is my model still good, before the labels come?"""

from argmetric._monitor._labelling import LabelledEstimate, LabellingPlan
from argmetric._monitor._monitor import monitor
from argmetric._monitor._period import Period
from argmetric._monitor._result import Monitoring

__all__ = ["LabelledEstimate", "LabellingPlan", "Monitoring", "Period", "monitor"]
