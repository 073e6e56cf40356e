"""Budgets and floors of the classes, and labels that keep them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._classes._climb import Rows, most_probable, sums_of
from argmetric._input.arguments import shown
from argmetric._input.classes import of_each_class
from argmetric._input.types import Floats, Integers

ROUNDS = 10  # in which rows are moved until all limits are kept


def with_limits(
    rows: Rows, classes: tuple[Any, ...], max_per_class: Any, min_recall: Any
) -> Rows:
    """The rows with limits for every group and class."""
    most = of_each_class(max_per_class, classes, "max_per_class", np.inf)
    most = np.where(most < rows.p.shape[0], most, np.inf)  # no limit at all
    recall = of_each_class(min_recall, classes, "min_recall", 0.0)
    if (recall > 1.0).any():
        raise ValueError(f"min_recall must lie from 0 to 1, not at {recall.max():g}")
    shape = rows.n_groups, len(classes)
    floor = np.full(shape, -np.inf)
    if recall.any():
        mu = sums_of(rows, most_probable(rows.p)).mu
        floor = np.where(recall > 0.0, recall * mu * (1.0 - 1e-12), -np.inf)
    return replace(rows, most=np.broadcast_to(most, shape).copy(), floor=floor)


def labels_within(
    rows: Rows, classes: tuple[Any, ...], labels: Integers, worth: Floats
) -> Integers:
    """Labels changed until all limits are kept.

    Rows leave a class that is too full where that costs the least, and join a class
    below its floor likewise.

    Parameters
    ----------
    rows : Rows
        Probabilities and limits.
    classes : tuple
        The class of each column, for messages.
    labels : ndarray
        The best labels without limits.
    worth : ndarray
        What each class of each row brings to the metric, to first order.
    """
    from argmetric._classes.kernels.limits import pull_rows, push_rows

    if rows.most.sum(axis=1).min(initial=np.inf) < rows.sizes.max(initial=0.0):
        short = int(np.argmax(rows.sizes - rows.most.sum(axis=1)))
        raise ValueError(
            f"max_per_class leaves room for {rows.most[short].sum():g} rows, but there "
            f"are {rows.sizes[short]:g}: raise it"
        )
    labels = labels.copy()
    group = np.repeat(np.arange(rows.n_groups), np.diff(rows.starts))
    places = np.arange(labels.size)
    for _ in range(ROUNDS):
        _, _, h, k = sums_of(rows, labels)
        full = np.flatnonzero((k > rows.most).any(axis=0))
        low = np.flatnonzero((h < rows.floor).any(axis=0))
        if not full.size and not low.size:
            return labels
        for c in full:
            others = worth.copy()
            others[:, c] = -np.inf
            margin = worth[:, c] - others.max(axis=1)
            order = np.lexsort((margin, group))
            push_rows(
                worth,
                rows.p,
                rows.starts,
                order,
                labels,
                c,
                rows.most,
                rows.floor,
                h,
                k,
            )
        for c in low:
            margin = (worth[places, labels] - worth[:, c]) / (rows.p[:, c] + 1e-300)
            order = np.lexsort((margin, group))
            pull_rows(
                rows.p, rows.starts, order, labels, c, rows.most, rows.floor, h, k
            )
    mu, _, h, k = sums_of(rows, labels)
    g, c = np.argwhere((k > rows.most) | (h < rows.floor))[0]
    raise ValueError(
        f"the limits cannot be kept together: class {shown(classes[c])} is left with "
        f"{k[g, c]:g} rows and an expected recall of {h[g, c] / mu[g, c]:.3g}; lower "
        "min_recall or raise max_per_class"
    )
