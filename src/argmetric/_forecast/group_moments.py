"""What groups add to a sum over them all, as moments: so many groups need no more."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from argmetric._forecast.distributions import ValueLaw, compress, law_of_atoms
from argmetric._forecast.groups import CellLaws, JudgedGroups, in_blocks, lies_in_cells
from argmetric._ground.discrete import dot
from argmetric._ground.types import Floats, Integers

COARSE_ATOMS = 512  # values by which the law of one of many long groups is kept
LATTICES = (*range(1, 33), 36, 40, 48, 50, 60, 64, 72, 84, 90, 96, 100, 120)
KEPT = 1 << 21  # chances and values of groups that are not made twice
MOST_VALUES = 1 << 16  # of all groups, that are looked at for a lattice
UNLIKELY = 1e-13  # ends of a law that do not widen the grid


@dataclass(frozen=True)
class Parts:
    """What every group adds to the sum."""

    raw: Floats  # per group P(defined) and E[value^j; defined], j = 1, 2, 3
    # low, high: least and largest value of every group
    low: Floats
    high: Floats
    laws: dict[int, ValueLaw]  # laws of the groups that are very long
    # numbers and laws of groups of middle length; none where they are too many
    cells: tuple[tuple[Integers, CellLaws], ...] = ()

    def take(self, chosen: Integers) -> Parts:
        """Those of some of the groups."""
        if chosen.size == self.low.size:
            return self
        laws = {
            place: self.laws[g]
            for place, g in enumerate(chosen.tolist() if self.laws else ())
            if g in self.laws
        }
        place = np.full(self.low.size, -1)
        place[chosen] = np.arange(chosen.size)
        kept = [(numbers, place[numbers] >= 0, laws) for numbers, laws in self.cells]
        cells = tuple((place[x[some]], laws.take(some)) for x, some, laws in kept)
        return Parts(self.raw[chosen], self.low[chosen], self.high[chosen], laws, cells)


def parts_of(groups: JudgedGroups) -> tuple[Parts, float]:
    """What the groups add, and the expected positives."""
    parts = Parts(
        np.zeros((groups.size, 4)), np.zeros(groups.size), np.zeros(groups.size), {}
    )
    positives = 0.0
    in_cells = lies_in_cells(groups)
    kept: list[tuple[Integers, CellLaws]] = []
    size = 0
    for part, laws in in_blocks(groups, np.flatnonzero(in_cells)):
        raw, low, high, more = laws.moments(UNLIKELY)
        parts.raw[part], parts.low[part], parts.high[part] = raw, low, high
        positives += more
        size += laws.chances.size + laws.values.size
        kept = [*kept, (part, laws)] if size <= KEPT else []
    for g in np.flatnonzero(~in_cells).tolist():
        law, mean = groups.law(g)
        positives += mean
        powers = [dot(law.probabilities, law.values**j) for j in (0, 1, 2, 3)]
        parts.raw[g] = (1 - law.p_undefined) * np.array(powers)
        parts.laws[g] = law = _coarser(law)
        parts.low[g] = law.values.min(initial=math.inf)
        parts.high[g] = law.values.max(initial=-math.inf)
    return replace(parts, cells=tuple(kept)), positives


def divisions_of(parts: Parts, width: float) -> int | None:
    """Cells of the width on whose edges the values of all groups lie, if so few."""
    values = [laws.values for _, laws in parts.cells]
    known = sum(numbers.size for numbers, _ in parts.cells) == parts.low.size
    if not known or sum(one.size for one in values) > MOST_VALUES:
        return None
    distinct = np.unique((np.concatenate(values) - parts.low.min()) / width)
    place = np.multiply.outer(LATTICES, distinct[np.isfinite(distinct)])
    there = np.flatnonzero(np.abs(place - np.rint(place)).max(axis=1) < 1e-9)
    return LATTICES[there[0]] if there.size else None


def _coarser(law: ValueLaw) -> ValueLaw:
    """The law by few values, each the mean of its neighbours, without rare ends."""
    reached = np.cumsum(law.probabilities)
    inside = (reached > UNLIKELY) & (reached - law.probabilities < 1.0 - UNLIKELY)
    values, weights = law.values[inside], law.probabilities[inside]
    if values.size <= COARSE_ATOMS:
        return law
    place = (values - values[0]) * ((COARSE_ATOMS - 1) / (values[-1] - values[0]))
    cell = place.astype(np.int64)
    mass = np.bincount(cell, weights, COARSE_ATOMS)
    moment = np.bincount(cell, weights * values, COARSE_ATOMS)
    used = mass > 0
    chances = mass[used] / mass.sum()
    return ValueLaw(
        moment[used] / mass[used], chances, law.p_undefined, law.mean, law.variance
    )


@dataclass(frozen=True)
class GroupCells:
    """Cells of one width, counted from the least value of each group."""

    # step, count: width and number of the cells
    step: float
    count: int
    # the value that stands in for one that is left out; None where sums are kept apart
    # by how many values went in
    filled: float | None = None
    # where the cells of all groups begin, if sums are kept apart
    base: float | None = None

    def place(self, values: Floats, least: Floats | float) -> tuple[Integers, Floats]:
        """The cell of each value, and what lies between."""
        base = least if self.base is None else self.base
        cell = np.floor((values - base) / self.step + 1e-9).astype(np.int64)
        cell = np.clip(cell, 0, self.count - 1)
        return cell, values - cell * self.step


def placed(
    groups: JudgedGroups, first: int, parts: Parts, cells: GroupCells
) -> tuple[Floats, Floats]:
    """Mass of every cell and what lies between, and last what is left out."""
    mass, moment = np.zeros((2, groups.size, cells.count + 1))
    in_cells = lies_in_cells(groups)
    for g in np.flatnonzero(~in_cells).tolist():
        _place_law(parts.laws[first + g], cells, mass[g], moment[g])
    blocks = in_blocks(groups, np.flatnonzero(in_cells))
    if parts.cells and groups.size == parts.low.size:
        blocks = iter(parts.cells)
    for chosen, laws in blocks:
        least = parts.low[first + chosen]
        filled = math.nan if cells.filled is None else cells.filled
        if cells.base is not None:
            least = np.full_like(least, cells.base)
        elif np.isnan(laws.values).any():
            least = np.minimum(least, filled)
        found = laws.place(least, cells.step, cells.count, filled)
        mass[chosen], moment[chosen] = found
    return mass, moment


def _place_law(law: ValueLaw, cells: GroupCells, mass: Floats, moment: Floats) -> None:
    values, weights = law.values, (1 - law.p_undefined) * law.probabilities
    if law.p_undefined > 0:
        if cells.filled is None:
            mass[-1] = law.p_undefined
        else:
            values = np.append(values, cells.filled)
            weights = np.append(weights, law.p_undefined)
    if values.size:
        cell, rest = cells.place(values, float(values.min()))
        mass[: cells.count] = np.bincount(cell, weights, cells.count)
        moment[: cells.count] = np.bincount(cell, weights * rest, cells.count)


STEP = 0.25  # of the double exponential rule: errs by less than 1e-13
BLOCK = 1 << 14  # groups whose transforms are made at once: they stay in cache
# A sum of this many times the largest range of a group has a skewness below 1/40, and
# no lattice of values is coarser than that: it is normal with its skewness.
NORMAL = 40.0
CERTAIN = 1e-14  # a value is left out so rarely that it is not


@dataclass(frozen=True)
class GroupShare:
    """What some of very many groups add to the sum over all of them."""

    # Open groups, and those with a sure value
    groups: int
    count: int
    sure: float  # sum of the sure values
    positives: float  # expected positives
    raw: tuple[float, float]  # sums of P(defined) and E[value; defined] of open groups
    # Sums of their second and third cumulants around the mean of all, once known
    central: tuple[float, float]
    width: float  # the widest range of a group
    log_missing: float  # logarithm of the chance that none is defined
    # Those of the open groups around the mean of all, once known (`transforms_of`)
    transforms: Floats


@dataclass(frozen=True)
class OpenGroups:
    """Groups whose values are not sure, and what the others add to the sum."""

    groups: JudgedGroups
    parts: Parts
    # Number and sum of the sure values, and the expected positives of all groups
    count: int
    sure: float
    positives: float

    @classmethod
    def of(cls, groups: JudgedGroups) -> OpenGroups:
        """Some have one value whatever the truth, such as without a prediction."""
        unsure = groups.open()
        values, positives = groups.take(np.flatnonzero(~unsure)).settled()
        values, rest = values[~np.isnan(values)], groups.take(np.flatnonzero(unsure))
        parts, more = parts_of(rest)
        fixed = (parts.low == parts.high) & (parts.raw[:, 0] >= 1.0 - CERTAIN)
        values = np.append(values, parts.low[fixed])
        kept = np.flatnonzero(~fixed)
        known = values.size, float(values.sum()), float(positives.sum()) + more
        return cls(rest.take(kept), parts.take(kept), *known)

    def ends(self, mean: float) -> tuple[Floats, Floats]:
        """Least and largest value of every group; the mean stands for one left out."""
        low, high, share = self.parts.low, self.parts.high, self.parts.raw[:, 0]
        if not math.isnan(mean) and (share <= 1.0 - CERTAIN).any():
            return np.minimum(low, mean), np.maximum(high, mean)
        return low, high

    def moments(self) -> Moments:
        """Those of the sum over all groups."""
        first, second = self.parts.raw[:, :2].sum(axis=0).tolist()
        weight = first + self.count
        mean = (second + self.sure) / max(weight, 1e-300)
        return Moments.of([self.share(mean, weight)])

    def share(self, mean: float, weight: float) -> GroupShare:
        """What they add, around the mean over the `weight` groups of all."""
        # Raw moments 0…3 of (value - mean)·1(defined)
        share, first, second, third = self.parts.raw.T
        d1 = first - mean * share
        d2 = second - 2 * mean * first + mean**2 * share
        d3 = third - 3 * mean * second + 3 * mean**2 * first - mean**3 * share
        low, high = self.ends(mean)
        with np.errstate(divide="ignore"):
            log_missing = float(np.log(np.maximum(1.0 - share, 0.0)).sum())
        none = np.zeros((3, 1))
        terms = share, self.parts.raw[:, 1], d2 - d1**2, d3 - 3 * d1 * d2 + 2 * d1**3
        sums = [math.fsum(one.tolist()) for one in terms]
        return GroupShare(
            share.size,
            self.count,
            self.sure,
            self.positives,
            (sums[0], sums[1]),
            (sums[2], sums[3]),
            float((high - low).max(initial=0.0)),
            log_missing,
            none if math.isnan(weight) else transforms_of(share, d1, d2, weight),
        )


def share_of(groups: JudgedGroups, mean: float, weight: float) -> GroupShare:
    """The share of some groups, around the mean over the `weight` groups of all."""
    return OpenGroups.of(groups).share(mean, weight)


def mean_of_shares(shares: list[GroupShare]) -> tuple[float, float]:
    """The mean over all groups that are defined, and their expected number."""
    weight = math.fsum(one.raw[0] + one.count for one in shares)
    total = math.fsum(one.raw[1] + one.sure for one in shares)
    return total / max(weight, 1e-300), weight


def law_of_shares(shares: list[GroupShare]) -> ValueLaw | None:
    """Law of the mean over very many groups; None where they are too few for it."""
    found = Moments.of(shares)
    return found.normal() if found.is_normal else None


def _nodes(weight: float) -> tuple[Floats, Floats]:
    """Points x and weights of integrals over x from 0 to infinity.

    The integrands fall like E[e^(-xN)] < e^(-weight·(1 - e^-x)), E[N] = weight: at
    first on the scale of 1/weight, at last like e^-x.
    """
    scale = max(weight, 1.0)
    t = np.arange(-3.75, math.log(45.0 * scale) + STEP, STEP)
    x = np.exp(t - np.exp(-t)) / scale
    t, x = (one[weight * -np.expm1(-x) < 45.0] for one in (t, x))
    return x, x * (1.0 + np.exp(-t)) * STEP


def transforms_of(share: Floats, d1: Floats, d2: Floats, weight: float) -> Floats:
    """Sums over groups at every node x, from which the moments of the ratio follow.

    With the number N and the sum D of the values that are defined, they are
    log E[e^(-xN)], and the mean and the variance of D where outcomes count e^(-xN).
    """
    x, _ = _nodes(weight)
    open_, decay = share < 1.0, np.exp(-x)
    always = d1[~open_], d2[~open_]
    sums = np.empty((3, x.size))
    sums[0] = -x * always[0].size
    sums[1], sums[2] = always[0].sum(), (always[1] - always[0] ** 2).sum()
    share, d1, d2 = share[open_], d1[open_], d2[open_]
    for first in range(0, share.size, BLOCK):
        part = slice(first, first + BLOCK)
        for i, left in enumerate(decay.tolist()):
            chance = (1.0 - share[part]) + share[part] * left
            mean = d1[part] * (left / chance)
            sums[0, i] += np.log(chance).sum()
            sums[1, i] += mean.sum()
            sums[2, i] += dot(d2[part], left / chance) - dot(mean, mean)
    return sums


def moments_of_ratio(
    transforms: Floats, weight: float, sure: float, count: int, undefined: float
) -> tuple[float, float]:
    """Mean and deviation of D/N where N > 0, beside `count` values that add to `sure`.

    1/N = ∫ e^(-xN) dx and 1/N² = ∫ x e^(-xN) dx, over x from 0 to infinity.
    """
    x, weights = _nodes(weight)
    log_chance, mean, variance = transforms
    weights = weights * np.exp(log_chance - x * count) / (1.0 - undefined)
    first = dot(weights, mean + sure)
    second = dot(weights * x, (mean + sure) ** 2 + variance)
    return first, math.sqrt(max(second - first**2, 0.0))


@dataclass(frozen=True)
class Moments:
    """A sum over a number of values, known by its moments."""

    # Expected sum over expected number, and this number
    mean: float
    weight: float
    # Second and third cumulant of the sum of what values differ from the mean
    variance: float
    skew: float
    width: float  # the widest range of a value
    undefined: float  # chance of no value at all
    ratio: tuple[float, float]  # mean of the ratio, from `mean` on, and its deviation

    @classmethod
    def of(cls, shares: list[GroupShare]) -> Moments:
        """Those of the shares of all groups, around the mean over them."""
        mean, weight = mean_of_shares(shares)
        variance = max(math.fsum(one.central[0] for one in shares), 0.0)
        skew = math.fsum(one.central[1] for one in shares)
        count, undefined = sum(one.count for one in shares), 0.0
        if not count:
            undefined = math.exp(sum(one.log_missing for one in shares))
        sure = math.fsum(one.sure - mean * one.count for one in shares)
        ratio = math.nan, math.nan
        if weight > 0.0 and undefined < 1.0:
            transforms = sum((one.transforms for one in shares), np.zeros((3, 1)))
            ratio = moments_of_ratio(transforms, weight, sure, count, undefined)
        width = max(one.width for one in shares)
        return cls(mean, weight, variance, skew, width, undefined, ratio)

    @property
    def deviation(self) -> float:
        """Of the sum."""
        return math.sqrt(self.variance)

    @property
    def is_normal(self) -> bool:
        """Whether the sum is normal but for its skewness."""
        return self.weight > 0.0 and self.deviation >= NORMAL * self.width > 0.0

    def normal(self) -> ValueLaw:
        """Normal with a correction for skewness."""
        z = np.linspace(-6.0, 6.0, 2401)
        skew = self.skew / self.deviation**3
        density = np.exp(-(z**2) / 2) * (1 + skew / 6 * (z**3 - 3 * z))
        density = np.maximum(density, 0.0)
        return self.fitted(z, density / density.sum())

    def fitted(self, values: Floats, probabilities: Floats) -> ValueLaw:
        """Values moved and scaled to the mean and the deviation of the ratio."""
        more, deviation = self.ratio
        around = values - dot(probabilities, values)
        scale = deviation / math.sqrt(dot(probabilities, around**2))
        around = self.mean + more + scale * around
        values, weights = compress([(around, probabilities)])
        return law_of_atoms(values, weights, self.undefined)
