"""One label per row, several classes: decide, forecast and evaluate."""

from __future__ import annotations

from argmetric._classes._climb import most_probable as most_probable
from argmetric._classes._decide import decide_batch as decide_batch
from argmetric._classes._decide import decide_classes as decide_classes
from argmetric._classes._evaluate import ActualClassScore as ActualClassScore
from argmetric._classes._evaluate import evaluate_classes as evaluate_classes
from argmetric._classes._evaluate import group_scores as group_scores
from argmetric._classes._evaluate import score_of_counts as score_of_counts
from argmetric._classes._evaluate import sorted_classes as sorted_classes
from argmetric._classes._forecast import ClassForecast as ClassForecast
from argmetric._classes._forecast import forecast_batch as forecast_batch
from argmetric._classes._forecast import forecast_classes as forecast_classes
from argmetric._classes._own import expected_table as expected_table
from argmetric._classes._own import slopes_of as slopes_of
from argmetric._classes._prepare import ClassBatch as ClassBatch
from argmetric._classes._prepare import codes_of as codes_of
from argmetric._classes._prepare import read_batch as read_batch
from argmetric._classes._result import ClassDecision as ClassDecision
