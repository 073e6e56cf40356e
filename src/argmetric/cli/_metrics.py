"""``argmetric metrics``."""

from __future__ import annotations

from argmetric.cli import _report
from argmetric.cli._errors import DONE
from argmetric.cli._options import Json
from argmetric.metrics import Metric, get_metric, metric_names

_SIZE_ASKED_FOR = 100
_ALGORITHMS = {
    "MeanForm": "closed form",
    "RatioForm": "exponential sums",
    "ItemForm": "item weights",
    "AffineForm": "affine in tp",
    "RatesForm": "windowed sums",
    "NoneType": "windowed sums",
}


def metrics(*, json: Json = False) -> int:
    """List the metrics: formulas, what an empty answer counts, how they are computed.

    Counts: tp true positives, tn true negatives, k predicted positives, t actual
    positives, n rows. Any "f<beta>" works, such as f0.3. The ranking principle says
    that the best decision is a set of highest scores.
    """
    catalogue = [_entry(name, get_metric(name)) for name in metric_names()]
    if json:
        _report.print_json(catalogue)
        return DONE
    target = _report.console(stderr=False)
    header = ["name", "formula", "0/0", "ranking", "algorithm"]
    rows = [
        [m["name"], m["formula"], m["zero_division"], m["ranking"], m["algorithm"]]
        for m in catalogue
    ]
    _report.print_table(target, header, rows, numbers_from=len(header))
    return DONE


def _entry(name: str, metric: Metric) -> _report.Values:
    principle = metric.ranking_principle(_SIZE_ASKED_FOR)
    return {
        "name": name,
        "formula": metric.formula,
        "zero_division": metric.convention,
        "ranking_principle": principle.holds,
        "ranking": principle.reason,
        "algorithm": _ALGORITHMS[type(metric.form).__name__],
        "greater_is_better": metric.greater_is_better,
    }
