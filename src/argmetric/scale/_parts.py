"""Decisions on parts of the rows of files or of a lazy table, and what they add up to.

Parts are whole groups, or all rows as one vector.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from argmetric._verbs.decide import Decision, NeverDefinedError, decide_by
from argmetric.metrics import Metric

SUMS = ("n", "groups", "positives", "sum", "defined", "error", "half", "n_half")


def decide_part(p: object, metric: Metric, options: dict[str, Any]) -> Decision:
    """Return the decision on a part; no group of it need be defined."""
    try:
        return decide_by(p, metric, **options)
    except NeverDefinedError as refused:
        return refused.decision  # other parts may have a value


def sums_of(decision: Decision) -> dict[str, float]:
    """Return what the decision on a part adds to that on all rows, by `SUMS`."""
    expected, half = decision.group_expected, decision.cut_half
    if expected is None:
        expected = np.array([decision.expected])
    defined = expected[~np.isnan(expected)]
    sizes = decision.n, expected.size, decision.n_positives
    values = math.fsum(defined), defined.size, decision.error * expected.size
    halves = half.expected * expected.size, half.n_positives
    return dict(zip(SUMS, (*sizes, *values, *halves), strict=True))


def decision_on_all(
    total: Mapping[str, float], metric: Metric, *, grouped: bool
) -> dict[str, Any]:
    """Return the fields of a result that the sums over all parts give."""
    n_groups, defined = int(total["groups"]), total["defined"]
    undefined = grouped and math.isnan(metric.zero_division)
    return {
        "n_groups": n_groups if grouped else None,
        "n_positives": int(total["positives"]),
        "expected": total["sum"] / defined if defined else math.nan,
        "error": total["error"] / n_groups,
        "expected_half": None if undefined else total["half"] / n_groups,
        "n_half": int(total["n_half"]),
    }
