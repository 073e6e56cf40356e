"""Which rows to label, and what their labels tell: strata, allocation and rates.

Rows lie in cells of alike decisions and scores, cells in strata, and labels are drawn
at random inside of a stratum. One more positive in a cell moves the contrast of scores
by h; a stratum has the more labels the larger the sum of |h|·√(c·(1 - c)) over its rows
is, c their chance (Neyman). In one map the log-odds of a cell are

    a + b·x + u_g,   a ~ N(0, 1),   b ~ N(1, ½²),

with x the map's own and u_g an effect of all cells of one group, and the rate of
positives of a stratum, of which the tilted map expects μ, is

    ρ ~ Beta(κ·μ, κ·(1 - μ)).

`found` positives among `drawn` labels of a stratum weigh a, b and u by beta-binomials.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import Floats, Integers
from argmetric.metrics import Metric

FEWEST = 2  # labels of a stratum
EVEN = 0.1  # part of the labels that goes to all rows alike
FURTHEST = 30.0  # log-odds of a chance that is tilted
TILT = (1.0, 0.5)  # standard deviations of level and slope of a tilt


class RatePrior(NamedTuple):
    """What may be true of the rates of strata before any label."""

    # Tilts that are tried: all pairs of these
    levels: Floats
    slopes: Floats
    kappa: float | None  # rows that a tilted map counts for in a stratum; None:
    sigma: float = 0.0  # κ = 1/(σ²·μ·(1 - μ)), so that ρ has the sd σ on the log-odds
    # Effects of a group that are tried, and the logarithm of the chance of each
    effect: Floats = np.zeros(1)
    effective: Floats = np.zeros(1)

    def parameters(self, mu: Floats, rest: Floats) -> tuple[Floats, Floats]:
        """κ·μ and κ·(1 - μ)."""
        if self.kappa is not None:
            return self.kappa * mu, self.kappa * rest
        return 1.0 / (self.sigma**2 * rest), 1.0 / (self.sigma**2 * mu)


class Rates(NamedTuple):
    """Draws of one map: tilts, effects of every group, rates of every stratum."""

    level: Floats
    slope: Floats
    effect: Floats
    rate: Floats


def drawn_rates(
    x: Floats,
    shares: Floats,
    group: Integers,
    drawn: Floats,
    found: Floats,
    prior: RatePrior,
    draws: int,
    rng: np.random.Generator,
) -> Rates:
    """Draws of what may be true under one map, given the labels.

    `x`: log-odds of every cell under the map; `shares`: (strata, cells) part of the
    rows of a stratum in each cell; `group`: of every stratum, and of its cells;
    `drawn`, `found`: labels of every stratum, and positives among them.
    """
    from scipy.special import betaln

    a, b = (y.ravel() for y in np.meshgrid(prior.levels, prior.slopes, indexing="ij"))
    tilted = a[:, None] + b[:, None] * np.clip(x, -FURTHEST, FURTHEST)
    # μ and 1 - μ from sums of their own: where all rows are nearly sure, 1 - μ as a
    # difference is 0, and its beta law is none.
    both = from_log_odds(tilted[:, None, :] + prior.effect[:, None])
    first, second = prior.parameters(*(one @ shares.T for one in both))
    there, n_groups, missed = drawn > 0, int(group.max()) + 1, drawn - found
    up, down = first[..., there], second[..., there]
    seen = betaln(up + found[there], down + missed[there]) - betaln(up, down)
    of_group = np.zeros((*first.shape[:2], n_groups)) + prior.effective[:, None]
    for i, number in enumerate(group[there]):
        of_group[..., number] += seen[..., i]
    top = of_group.max(axis=1, keepdims=True)
    weight = np.exp(of_group - top)
    level = -(a**2) / (2 * TILT[0] ** 2) - (b - 1.0) ** 2 / (2 * TILT[1] ** 2)
    level += (top[:, 0] + np.log(weight.sum(axis=1))).sum(axis=1)
    chance = np.exp(level - level.max())
    tilt = rng.choice(chance.size, draws, p=chance / chance.sum())
    pick = np.zeros((draws, n_groups), dtype=np.int64)
    if prior.effect.size > 1:
        reached = np.cumsum(weight[tilt], axis=1)
        at = rng.random((draws, 1, n_groups)) * reached[:, -1:]
        pick = (at > reached[:, :-1]).sum(axis=1)
    place = tilt[:, None], pick[:, group], np.arange(group.size)
    rate = rng.beta(first[place] + found, second[place] + missed)
    return Rates(a[tilt], b[tilt], prior.effect[pick], rate)


def moves_of(
    metric: Metric, tp: Floats, k: Floats, t: Floats, n: Floats, patterns: Floats
) -> Floats:
    """h: what one more positive of each pattern of decisions moves each score by.

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
    """Stratum of every cell, of equal sums of the mass; -1 where there is none."""
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


def allocation(
    n: int, total: Integers, weight: Floats, have: Integers | None = None
) -> Integers:
    """Labels to add in every stratum: all together are Neyman's, some for all alike.

    At least `FEWEST`, where there are so many, and at most all rows of a stratum.
    `have`: labels that are there already.
    """
    had = np.zeros_like(total) if have is None else have
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
    """Some rows of each stratum, at random, in rising order; `stratum`: of `rows`."""
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
