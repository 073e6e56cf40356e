"""Monitoring of thresholds of classes: each class as a label of its own.

The score of a row for a class is its probability where that is the largest one, and 0
elsewhere, so that the rows at or above the threshold are those that are given the
class; their labels say whether it is the true one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from argmetric._ground.arguments import refuse_given
from argmetric._ground.types import ArrayLike, Floats
from argmetric._monitor import NEGATIVE, Period, ReviewMonitoring
from argmetric._monitor import monitor as monitor_label
from argmetric._verbs.tune import Rule
from argmetric.classes._input import codes_of
from argmetric.classes._review import ClassReviewRule
from argmetric.metrics import get_metric

KEPT = get_metric("precision", zero_division=1.0)  # where no row is given the class


@dataclass(frozen=True, repr=False, eq=False)
class ClassReviewMonitoring(ReviewMonitoring):
    """Proportion of rows that are given a class, and forecasts of each promise.

    Experimental: may change in any release.

    `argmetric.classes.monitor` returns it for a `ClassReviewRule`; `add` adds rows and
    returns a new one. Of its periods, `accepted` rows are those that are given a class.

    Parameters
    ----------
    rule : ClassReviewRule
        The thresholds, and what they promise.
    parts : dict of Monitoring
        By class: the precision of the rows that are given it.

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([0.3, 0.3, 0.3], 6000)
    >>> y = (p.cumsum(axis=1) < rng.random((6000, 1))).sum(axis=1)
    >>> first = y[:2000], p[:2000]
    >>> rule = am.classes.tune(
    ...     *first, min_precision=0.9, confidence=0.9, review=True
    ... )
    >>> m = am.classes.monitor(p[2000:], rule, reference=first, every=2000)
    >>> [round(one.automated, 2) for one in m.periods], m.alarms
    ([0.47, 0.49], ())
    """

    _what: ClassVar[str] = "class review monitoring"
    kind: ClassVar[str] = "class_review_monitoring"
    _file: ClassVar[str] = "argmetric class review monitoring"

    def _audit(self, name: str) -> tuple[int, int]:
        return 1, NEGATIVE

    def _floor(self, name: str) -> float:
        return float(self.rule.min_precision[_column(self.rule, name)])

    def _words(self, name: str) -> str:
        return f"precision of {name}"

    def _counts(self, forecasts: Mapping[str, Period], n: int) -> tuple[int, int]:
        return sum(one.n_positives for one in forecasts.values()), 0

    def _rows(self, name: str, p: ArrayLike, how: dict[str, Any]) -> dict[str, Any]:
        c, own = _column(self.rule, name), self.rule._most_probable(p)
        for key in ("y", "known"):
            if how.get(key) is not None:
                how = how | {key: of_class(self.rule, how[key], len(own[1]), c, key)}
        return {"p": np.where(own[0] == c, own[1], 0.0), **how}


def _column(rule: ClassReviewRule, name: str) -> int:
    """Return the column of the class with this name."""
    return [str(one) for one in rule.classes].index(name)


def of_class(rule: ClassReviewRule, y: ArrayLike, n: int, c: int, name: str) -> Floats:
    """Return whether rows belong to class c, nan where that is not known."""
    code = codes_of(y, rule.classes, n, name, partial=name == "known")
    return np.where(code < 0, math.nan, (code == c).astype(np.float64))


def monitor_review(
    p: ArrayLike,
    rule: ClassReviewRule,
    reference: tuple[ArrayLike, ArrayLike],
    alone: Mapping[str, object],
    how: dict[str, Any],
) -> ClassReviewMonitoring:
    """Monitor the promise of each class; options that go with a metric are refused."""
    watched = "what is monitored are its promises, on probabilities"
    refuse_given(alone, f"has no meaning with a ClassReviewRule: {watched}")
    y, old = reference
    floors = rule.min_precision
    assert floors is not None
    kept = np.flatnonzero(np.isfinite(rule.thresholds) & np.isfinite(floors)).tolist()
    if not kept:
        raise ValueError("the rule promises nothing: there is nothing to monitor")
    how["false_alarms"] = how["false_alarms"] / len(kept)
    parts, empty = {}, ClassReviewMonitoring(rule, {})
    for c in kept:
        name = str(rule.classes[c])
        before = empty._rows(name, old, {"y": y})
        if len({*before["y"].tolist()}) < 2:
            raise ValueError(
                f"the reference needs rows of {name} and of other classes, to show how "
                "often rows like those belong to it"
            )
        rows = empty._rows(name, p, {"known": how["known"]})
        least = max(float(rule.thresholds[c]), np.finfo(np.float64).tiny)
        parts[name] = monitor_label(
            rows["p"],
            Rule(KEPT, least),
            reference=(before["y"], before["p"]),
            floor=float(floors[c]),
            **(how | {"known": rows["known"]}),
        )
    return ClassReviewMonitoring(rule, parts)
