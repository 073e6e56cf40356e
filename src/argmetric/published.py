"""Algorithms as the papers have them, quadratic and cubic: for study and tests.

The labels and expected scores are those of `argmetric.decide`, which finds them in
nearly linear time; the page on papers says which algorithm is whose.

Experimental: names and parameters may change in any release.
"""

from __future__ import annotations

from argmetric._ground.layout import Average
from argmetric._verbs.decide import Decision, decide_by
from argmetric.metrics import MetricLike

__all__ = ["decide"]


def decide(
    p: object,
    metric: MetricLike = "f1",
    *,
    groups: object = None,
    average: Average | None = None,
    zero_division: float | None = None,
    logits: bool = False,
) -> Decision:
    """Choose the labels with the highest expected metric by the published algorithm.

    It takes the best of the top-k sets for every metric, as the papers have it, where
    `argmetric.decide` refuses one whose best set need not be of this kind.

    Parameters
    ----------
    p : array-like
        Probability of the positive class, dense, as for `argmetric.decide`.
    metric : str, Metric or callable, default="f1"
        See `argmetric.decide`.
    groups, average, zero_division, logits
        See `argmetric.decide`.

    Returns
    -------
    Decision
        As `argmetric.decide` returns it.

    Examples
    --------
    >>> import argmetric as am
    >>> am.published.decide([0.9, 0.45, 0.4, 0.1]).labels
    array([1, 1, 1, 0])
    """
    return decide_by(
        p,
        metric,
        method="published",
        check=False,
        groups=groups,
        average=average,
        zero_division=zero_division,
        logits=logits,
    )
