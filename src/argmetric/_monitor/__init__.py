"""Is my model still good, before the labels come?"""

from argmetric._monitor._class_period import ClassPeriod as ClassPeriod
from argmetric._monitor._classes import ClassMonitoring as ClassMonitoring
from argmetric._monitor._classes import monitor as monitor_classes
from argmetric._monitor._labelling import LabelledEstimate, LabellingPlan
from argmetric._monitor._monitor import Overlap as Overlap
from argmetric._monitor._monitor import monitor
from argmetric._monitor._period import Period
from argmetric._monitor._period import values_of as values_of
from argmetric._monitor._periods import check_every as check_every
from argmetric._monitor._periods import read_times as read_times
from argmetric._monitor._readings import CANNOT_SAY as CANNOT_SAY
from argmetric._monitor._readings import VERDICTS as VERDICTS
from argmetric._monitor._result import Monitoring
from argmetric._monitor._words import BETTER as BETTER
from argmetric._monitor._words import notes_of as notes_of

__all__ = [
    "ClassMonitoring",
    "ClassPeriod",
    "LabelledEstimate",
    "LabellingPlan",
    "Monitoring",
    "Period",
    "monitor",
    "monitor_classes",
]
