"""A conformance kit for metrics that users write."""

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.arguments import check_count
from argmetric._ground.types import Floats, Integers
from argmetric.metrics._base import CustomMetric, Metric
from argmetric.metrics._forms import EXHAUSTIVE_LIMIT, RankingPrinciple
from argmetric.metrics._names import MetricLike, get_metric

MANY_SIZES = 40  # sizes of groups at which a metric of the user's own is checked


def feasible_counts(n: int) -> tuple[Floats, Floats, Floats]:
    """Return every (tp, k, t) that n items can have.

    Experimental: may change in any release.

    Parameters
    ----------
    n : int
        Number of items.

    Returns
    -------
    tp, k, t : ndarray
        True positives, predicted positives and positives of each cell.

    Examples
    --------
    >>> from argmetric.metrics import feasible_counts
    >>> [counts.tolist() for counts in feasible_counts(1)]
    [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0]]
    """
    tp, k, t = (
        a.ravel().astype(np.float64)
        for a in np.meshgrid(*[np.arange(n + 1)] * 3, indexing="ij")
    )
    keep = (tp <= np.minimum(k, t)) & (tp >= k + t - n)
    return tp[keep], k[keep], t[keep]


def require_defined(metric: Metric, n: int) -> None:
    """Refuse a function of the user's own that gives nan wherever n items are tried.

    Experimental: may change in any release.

    Parameters
    ----------
    metric : Metric
        Only a `CustomMetric` is tried.
    n : int
        Number of items.

    Raises
    ------
    ValueError
        Where every value that is tried is nan.

    Examples
    --------
    >>> import argmetric as am
    >>> from argmetric.metrics import require_defined
    >>> require_defined(am.CustomMetric(lambda tp, k, t, n: tp / n), 10)
    """
    if not isinstance(metric, CustomMetric) or n < 2:
        return
    sizes = np.unique(np.linspace(0, n, min(n, 256) + 1).round().astype(np.int64))
    undefined = metric.with_zero_division(math.nan)
    for stride in (16, 1):  # few counts tell of nearly every metric
        k, t = (a.ravel() for a in np.meshgrid(sizes[::stride], sizes[::stride]))
        low, high = np.maximum(0, k + t - n), np.minimum(k, t)
        tp = np.concatenate([low, high])
        k, t = np.tile(k, 2), np.tile(t, 2)
        if not np.isnan(undefined.value(tp, k, t, n)).all():
            return
    raise ValueError(
        f"the metric {metric.name} gives nan for all counts of n={n} items, such "
        f"as tp={tp[-1]}, k={k[-1]}, t={t[-1]}: see check_metric"
    )


def leaves_out_none(metric: Metric) -> bool:
    """Return whether outcomes without positives are 0/0 and left out (MCC, nan).

    Experimental: may change in any release.

    Parameters
    ----------
    metric : Metric
        Any metric.

    Returns
    -------
    bool
        True where one predicted positive among 4 items without positives gives nan.

    Examples
    --------
    >>> import argmetric as am
    >>> from argmetric.metrics import leaves_out_none
    >>> leaves_out_none(am.MCC()), leaves_out_none(am.MCC(zero_division=float("nan")))
    (False, True)
    """
    return bool(np.isnan(metric.value(0, 1, 0, 4)))


def require_ranking(metric: Metric, sizes: Integers) -> None:
    """Refuse a metric whose best decision need not be a top-k set, for these sizes.

    One that is nan for the largest of them is refused, too.

    Experimental: may change in any release.

    Parameters
    ----------
    metric : Metric
        Any metric.
    sizes : ndarray of int
        Numbers of items.

    Raises
    ------
    ValueError
        Where the principle does not hold, with a counterexample.

    Examples
    --------
    >>> import numpy as np
    >>> import argmetric as am
    >>> from argmetric.metrics import require_ranking
    >>> require_ranking(am.MCC(), np.array([10, 20]))
    """
    require_defined(metric, int(sizes.max()))
    if metric.monotone_proof is not None:
        return
    sizes = np.unique(sizes)
    if sizes.size > MANY_SIZES:
        sizes = sizes[np.linspace(0, sizes.size - 1, MANY_SIZES).astype(int)]
    for n in sizes.tolist():
        principle = metric.ranking_principle(n)
        if not principle:
            raise ValueError(
                f"the best decision for {metric.name} need not be a top-k set: "
                f"{principle.detail}. argmetric.published.decide takes the best top-k "
                "set anyway"
            )


def check_metric(metric: MetricLike, *, n: int = 12) -> RankingPrinciple:
    """Check a metric of your own, and say whether top-k decisions are optimal for it.

    Experimental: may change in any release.

    Parameters
    ----------
    metric : str, Metric or callable
        A name, a metric, or a function of (tp, k, t, n).
    n : int, default=12
        Every feasible cell of this size is evaluated.

    Returns
    -------
    RankingPrinciple
        True when some optimal decision is a top-k set; otherwise it holds a
        counterexample.

    Raises
    ------
    ValueError
        When the metric is infinite or nan at a cell with 0 < k, t < n, changes its
        answer from call to call, or treats an array and its elements differently.

    Examples
    --------
    >>> import argmetric as am
    >>> bool(am.check_metric(lambda tp, k, t, n: tp / (k + t)))
    True
    >>> false_discovery = am.CustomMetric(lambda tp, k, t, n: (k - tp) / k)
    >>> bool(am.check_metric(false_discovery))
    False
    """
    metric = get_metric(metric)
    n = check_count(n, "n", low=1, high=EXHAUSTIVE_LIMIT)
    bare = metric.with_zero_division(math.nan)  # any other value would hide a nan
    tp, k, t = feasible_counts(n)
    values = bare.value(tp, k, t, n)

    def cell(index: int) -> str:
        """Return the counts of a tried table, and the value there, as text."""
        counts = f"tp={tp[index]:g}, k={k[index]:g}, t={t[index]:g}, n={n}"
        return f"{metric.name} at {counts} is {float(values[index])!r}"

    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise ValueError(f"{cell(infinite[0])}: a metric must be finite")
    inside = (k > 0) & (k < n) & (t > 0) & (t < n)
    undefined = np.flatnonzero(np.isnan(values) & inside)
    if undefined.size:
        raise ValueError(
            f"{cell(undefined[0])}: only cells with k or t equal to 0 or n may be "
            "undefined"
        )
    if not np.array_equal(values, bare.value(tp, k, t, n), equal_nan=True):
        raise ValueError(f"{metric.name} gives another answer when asked again")
    for index in range(0, tp.size, max(1, tp.size // 50)):
        alone = bare.value(tp[index], k[index], t[index], n)
        if not np.isclose(alone, values[index], rtol=1e-12, atol=0, equal_nan=True):
            raise ValueError(
                f"{cell(index)} within an array but {float(alone)!r} alone"
            )
    return metric.ranking_principle(n)
