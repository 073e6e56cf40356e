"""Metrics of the confusion matrix, as frozen objects."""

from __future__ import annotations

from argmetric.metrics._base import CustomMetric, Metric
from argmetric.metrics._base import is_lasting as is_lasting
from argmetric.metrics._base import size_facts as size_facts
from argmetric.metrics._base import slopes as slopes
from argmetric.metrics._check import (
    check_metric,
    feasible_counts,
    leaves_out_none,
    require_defined,
    require_ranking,
)
from argmetric.metrics._classes import ClassAgreement as ClassAgreement
from argmetric.metrics._classes import ClassAverage as ClassAverage
from argmetric.metrics._classes import ClassCorrelation as ClassCorrelation
from argmetric.metrics._classes import ClassFunction as ClassFunction
from argmetric.metrics._classes import ClassGain as ClassGain
from argmetric.metrics._classes import ClassGMean as ClassGMean
from argmetric.metrics._classes import ClassMetric as ClassMetric
from argmetric.metrics._classes import ClassRatio as ClassRatio
from argmetric.metrics._classes import check_order as check_order
from argmetric.metrics._classes import class_metric_from_dict as class_metric_from_dict
from argmetric.metrics._classes import get_class_metric as get_class_metric
from argmetric.metrics._classes import ordinal_kappa as ordinal_kappa
from argmetric.metrics._classes import ratio_or as ratio_or
from argmetric.metrics._classes import refuse_ignored_absence as refuse_ignored_absence
from argmetric.metrics._forms import (
    AffineFactors,
    AffineForm,
    Form,
    ItemForm,
    MeanForm,
    RankingPrinciple,
    RatesForm,
    RatioForm,
)
from argmetric.metrics._fractional import (
    Accuracy,
    FBeta,
    Jaccard,
    LinearFractional,
    Precision,
    Tversky,
)
from argmetric.metrics._missed import MissedLike as MissedLike
from argmetric.metrics._missed import MissedPositives as MissedPositives
from argmetric.metrics._missed import is_listed as is_listed
from argmetric.metrics._missed import listed_wrongly as listed_wrongly
from argmetric.metrics._missed import refuse_with_missed as refuse_with_missed
from argmetric.metrics._missed import require_one_batch as require_one_batch
from argmetric.metrics._missed import with_missed as with_missed
from argmetric.metrics._names import MetricLike, get_metric, metric_names
from argmetric.metrics._names import averaged_name as averaged_name
from argmetric.metrics._names import convention_in_words as convention_in_words
from argmetric.metrics._names import metric_from_dict as metric_from_dict
from argmetric.metrics._names import metric_to_dict as metric_to_dict
from argmetric.metrics._rates import AMOUNTS_ASSUMPTION as AMOUNTS_ASSUMPTION
from argmetric.metrics._rates import (
    MCC,
    BalancedAccuracy,
    FowlkesMallows,
    GMean,
    HMean,
    Kappa,
    Lift,
    Markedness,
    QMean,
    Recall,
    Specificity,
    SquaredCountError,
    Utility,
    Youden,
)
from argmetric.metrics._rates import refuse_for_amounts as refuse_for_amounts

__all__ = [
    "MCC",
    "Accuracy",
    "AffineFactors",
    "AffineForm",
    "BalancedAccuracy",
    "CustomMetric",
    "FBeta",
    "Form",
    "FowlkesMallows",
    "GMean",
    "HMean",
    "ItemForm",
    "Jaccard",
    "Kappa",
    "Lift",
    "LinearFractional",
    "Markedness",
    "MeanForm",
    "Metric",
    "MetricLike",
    "Precision",
    "QMean",
    "RankingPrinciple",
    "RatesForm",
    "RatioForm",
    "Recall",
    "Specificity",
    "SquaredCountError",
    "Tversky",
    "Utility",
    "Youden",
    "check_metric",
    "feasible_counts",
    "get_metric",
    "leaves_out_none",
    "metric_names",
    "require_defined",
    "require_ranking",
]
