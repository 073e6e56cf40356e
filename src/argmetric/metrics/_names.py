"""Names of the metrics."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from argmetric._input.arguments import shown
from argmetric.metrics._base import CustomMetric, Metric
from argmetric.metrics._catalogue import ALIASES, NAMED
from argmetric.metrics._foreign import refuse_foreign_function, refuse_foreign_name
from argmetric.metrics._fractional import FBeta

MetricLike = str | Metric | Callable[..., Any]


def metric_names() -> tuple[str, ...]:
    """Names of the catalogue; "f" with any positive number also works."""
    return tuple(NAMED)


def get_metric(metric: MetricLike, *, zero_division: float | None = None) -> Metric:
    """Return the metric for a name, an instance or a function of the counts.

    Parameters
    ----------
    metric : str, Metric or callable
        A name of the catalogue, an instance, or a function of (tp, k, t, n).
    zero_division : {0.0, 1.0, nan}, optional
        The value of 0/0; by default the metric's own.

    Examples
    --------
    >>> import argmetric as am
    >>> am.get_metric("f0.7")
    FBeta(beta=0.7, zero_division=0.0)
    """
    if isinstance(metric, str):
        metric = _from_name(metric)
    elif isinstance(metric, type) and issubclass(metric, Metric):
        metric = metric()
    elif not isinstance(metric, Metric):
        if not callable(metric):
            raise TypeError(
                "metric must be a name, a Metric or a function of (tp, k, t, n), "
                f"not {type(metric).__name__}"
            )
        refuse_foreign_function(metric)
        metric = CustomMetric(metric)
    return metric.with_zero_division(zero_division)


@lru_cache(maxsize=256)  # metrics are immutable, and services name one per request
def _from_name(name: str) -> Metric:
    plain = name.strip().lower()
    key = plain.replace("-", "_").replace(" ", "_")
    key = ALIASES.get(key, key)
    if key in NAMED:
        return NAMED[key]()
    beta = re.fullmatch(r"f((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)", plain)
    if beta and 0 < float(beta[1]) < math.inf:
        return FBeta(float(beta[1]))
    refuse_foreign_name(name)
    import difflib  # for what is misspelt alone

    near = difflib.get_close_matches(key, [*NAMED, *ALIASES], n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "."
    raise ValueError(
        f"unknown metric {shown(name)}{hint} Known names: {', '.join(NAMED)}, "
        'and "f<beta>" for any positive beta'
    )
