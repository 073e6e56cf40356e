"""Is my model still good, before the labels come?"""

from argmetric._monitor._alarms import OWN_MOVE as OWN_MOVE
from argmetric._monitor._alarms import critical_value as critical_value
from argmetric._monitor._alarms import movements as movements
from argmetric._monitor._labelling import LabelledEstimate, LabellingPlan
from argmetric._monitor._law import DEVIATIONS as DEVIATIONS
from argmetric._monitor._law import SHIFTS as SHIFTS
from argmetric._monitor._law import Shift as Shift
from argmetric._monitor._monitor import Overlap as Overlap
from argmetric._monitor._monitor import monitor
from argmetric._monitor._period import ACTUAL_DRAWS as ACTUAL_DRAWS
from argmetric._monitor._period import Period
from argmetric._monitor._period import values_of as values_of
from argmetric._monitor._periods import Every as Every
from argmetric._monitor._periods import check_every as check_every
from argmetric._monitor._periods import number_rows as number_rows
from argmetric._monitor._periods import read_times as read_times
from argmetric._monitor._readings import CANNOT_SAY as CANNOT_SAY
from argmetric._monitor._readings import KNOWN as KNOWN
from argmetric._monitor._readings import PRIOR as PRIOR
from argmetric._monitor._readings import SIZES as SIZES
from argmetric._monitor._readings import VERDICTS as VERDICTS
from argmetric._monitor._readings import Readings as Readings
from argmetric._monitor._result import Monitoring
from argmetric._monitor._words import BETTER as BETTER
from argmetric._monitor._words import PRINTED as PRINTED
from argmetric._monitor._words import WORSE as WORSE
from argmetric._monitor._words import AllPeriods as AllPeriods
from argmetric._monitor._words import OnePeriod as OnePeriod

__all__ = ["LabelledEstimate", "LabellingPlan", "Monitoring", "Period", "monitor"]
