"""Which rows to label: strata, the labels of each, and rows drawn in them.

Rows lie in bins of alike predictions and scores, bins in strata, and labels are drawn
at random inside of a stratum. One more positive in a bin moves the contrast of scores
by h; a stratum has the more labels the larger the sum of |h|·√(c·(1 - c)) over its rows
is, c their probability (Neyman).
"""

from __future__ import annotations

import numpy as np

from argmetric._ground.types import Floats, Integers
from argmetric.metrics import Metric

FEWEST = 2  # labels of a stratum
EVEN = 0.1  # part of the labels that goes to all rows alike


def moves_of(
    metric: Metric, tp: Floats, k: Floats, t: Floats, n: Floats, *, patterns: Floats
) -> Floats:
    """Return the change h of each score by one more positive of each pattern.

    Central differences at the expected counts `tp`, `k` of every model, in rows, and
    `t`, `n`, whose columns are groups; `patterns`: (models, patterns) decisions.
    Of the shape (models, patterns, groups).
    """
    step = np.minimum(1.0, 0.5 * np.minimum(n - t, t))
    step = np.where(step > 0.0, step, 1.0)
    moved = patterns[:, :, None] * step
    up, down = (
        metric.value(tp[:, None] + s * moved, k[:, None], t + s * step, n)
        for s in (0.5, -0.5)
    )
    return np.nan_to_num((up - down) / step)


def strata_of(group: Integers, mass: Floats, count: Integers) -> Integers:
    """Return the stratum of every bin, of equal mass within a group; -1 if massless."""
    member = np.full(group.size, -1)
    first = 0
    for number, strata in enumerate(count.tolist()):
        there = np.flatnonzero((group == number) & (mass > 0.0))
        if not there.size:
            continue
        part = mass[there]
        middle = (np.cumsum(part) - part / 2) / part.sum()
        place = np.minimum((strata * middle).astype(np.int64), strata - 1)
        place = np.unique(place, return_inverse=True)[1]
        member[there] = first + place
        first += int(place.max()) + 1
    return member


def allocation(n: int, total: Integers, weight: Floats, had: Integers) -> Integers:
    """Return how many labels to add in each stratum: Neyman's, mixed with equal parts.

    At least `FEWEST`, where there are so many, and at most all rows of a stratum.
    `had`: labels that are there already.
    """
    whole = min(n, int((total - had).sum())) + int(had.sum())
    even = total / total.sum()
    share = (1.0 - EVEN) * weight / max(weight.sum(), 1e-300) + EVEN * even
    fewest = np.minimum(min(FEWEST, whole // total.size), total)
    wanted = np.maximum(had, fewest)
    if wanted.sum() > whole:  # those that have too many leave too few for the others
        wanted = had
    while (left := whole - int(wanted.sum())) > 0:
        # Those that are furthest below their part get the next labels.
        lack = np.where(wanted < total, share * whole - wanted, -np.inf)
        add = np.zeros_like(wanted)
        if (lack > 0.0).any():
            part = np.maximum(lack, 0.0) * left / np.maximum(lack, 0.0).sum()
            add = np.minimum(np.floor(part).astype(np.int64), total - wanted)
        if not add.any():
            add[int(np.argmax(lack))] = 1
        wanted = wanted + add
    return np.asarray(wanted - had)


def drawn_rows(
    stratum: Integers, wanted: Integers, rows: Integers, seed: object
) -> Integers:
    """Draw `wanted` rows of each stratum at random; return them in rising order.

    stratum : (rows) number of the stratum of each of `rows`
    wanted : (strata) how many
    """
    rng = np.random.default_rng(seed)  # type: ignore[arg-type]
    size = np.bincount(stratum, minlength=wanted.size)
    order = rng.permutation(rows.size)
    order = order[np.argsort(stratum[order], kind="stable")]
    rank = np.arange(order.size) - np.repeat(np.cumsum(size) - size, size)
    return np.asarray(np.sort(rows[order[rank < np.repeat(wanted, size)]]))


def refuse_two_labels(rows: Integers, y: Floats, known: Floats) -> None:
    """Refuse a row with two labels, among these or from before."""
    order = np.argsort(rows, kind="stable")
    twice = np.flatnonzero(np.diff(rows[order]) == 0)
    apart = twice[y[order[twice]] != y[order[twice + 1]]]
    if apart.size:
        row = rows[order[apart[0]]]
        raise ValueError(f"row {row} is labelled twice, once 0 and once 1: keep one")
    other = np.flatnonzero(~np.isnan(known[rows]) & (known[rows] != y))
    if other.size:
        row, now = rows[other[0]], y[other[0]]
        raise ValueError(
            f"row {row} is labelled {now:.0f}, but it was {known[row]:.0f} before: to "
            "correct a label, compare anew"
        )
