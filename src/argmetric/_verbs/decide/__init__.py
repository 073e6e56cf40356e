"""Which labels to predict, and what they score."""

from argmetric._verbs.decide._budget import read_budget as read_budget
from argmetric._verbs.decide._decide import NeverDefinedError as NeverDefinedError
from argmetric._verbs.decide._decide import decide as decide
from argmetric._verbs.decide._decide import decide_by as decide_by
from argmetric._verbs.decide._decide import (
    refuse_never_defined as refuse_never_defined,
)
from argmetric._verbs.decide._evaluate import Actual as Actual
from argmetric._verbs.decide._evaluate import ActualScore as ActualScore
from argmetric._verbs.decide._evaluate import SegmentCounts as SegmentCounts
from argmetric._verbs.decide._evaluate import (
    UndefinedScoreError as UndefinedScoreError,
)
from argmetric._verbs.decide._evaluate import cell_scales as cell_scales
from argmetric._verbs.decide._evaluate import evaluate as evaluate
from argmetric._verbs.decide._evaluate import score_counts as score_counts
from argmetric._verbs.decide._evaluate import warn_of_surprise as warn_of_surprise
from argmetric._verbs.decide._one import decide_items as decide_items
from argmetric._verbs.decide._one import tie_note as tie_note
from argmetric._verbs.decide._one import whole_tie_note as whole_tie_note
from argmetric._verbs.decide._question import cut_between as cut_between
from argmetric._verbs.decide._question import error_note as error_note
from argmetric._verbs.decide._question import threshold_between as threshold_between
from argmetric._verbs.decide._result import Cut as Cut
from argmetric._verbs.decide._result import Decision as Decision
