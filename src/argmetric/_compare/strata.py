"""Which rows to label: strata, the labels of each, and rows drawn in them.

Rows lie in bins of alike predictions and scores, bins in strata, and labels are drawn
at random inside of a stratum. One more positive in a bin moves the contrast of scores
by h; a stratum has the more labels the larger the sum of |h|·√(c·(1 - c)) over its rows
is, c their probability (Neyman).
"""

from __future__ import annotations

import numpy as np

from argmetric._ground.types import Floats, Integers

FEWEST = 2  # labels of a stratum
EVEN = 0.1  # part of the labels that goes to all rows alike


def strata_of(group: Integers, mass: Floats, count: Integers) -> Integers:
    """Return the stratum of every bin, of equal mass within a group."""
    member, first = np.empty(group.size, dtype=np.int64), 0
    for number, strata in enumerate(count.tolist()):
        there = np.flatnonzero(group == number)
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


def with_labels(known: Floats, rows: Integers, y: Floats) -> Floats:
    """Return labels with those of some rows added; refuse two for a row."""
    new = known.copy()
    new[rows] = y
    twice = np.flatnonzero(new[rows] != y)
    if twice.size:
        row = rows[twice[0]]
        raise ValueError(f"row {row} is labelled twice, once 0 and once 1: keep one")
    other = np.flatnonzero(~np.isnan(known[rows]) & (known[rows] != y))
    if other.size:
        row, now = rows[other[0]], y[other[0]]
        raise ValueError(
            f"row {row} is labelled {now:.0f}, but it was {known[row]:.0f} before: to "
            "correct a label, compare anew"
        )
    return new
