"""One label per row, several classes: decide, forecast and evaluate."""

from __future__ import annotations

from argmetric._classes._decide import decide_classes as decide_classes
from argmetric._classes._evaluate import ActualClassScore as ActualClassScore
from argmetric._classes._evaluate import evaluate_classes as evaluate_classes
from argmetric._classes._forecast import ClassForecast as ClassForecast
from argmetric._classes._forecast import forecast_classes as forecast_classes
from argmetric._classes._result import ClassDecision as ClassDecision
