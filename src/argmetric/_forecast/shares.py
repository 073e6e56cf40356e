"""What groups add to a sum over them all, as moments: so many groups need no more."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from argmetric._expected import Tables
from argmetric._forecast.groups import JudgedGroups
from argmetric._forecast.laws import ValueLaw, compress, law_of_atoms
from argmetric._forecast.parts import Parts, parts_of
from argmetric._input.types import Floats, Integers
from argmetric._results.discrete import dot

STEP = 0.25  # of the double exponential rule: errs by less than 1e-13
BLOCK = 1 << 14  # groups whose transforms are made at once: they stay in cache
# A sum of this many times the largest range of a group has a skewness below 1/40, and
# no lattice of values is coarser than that: it is normal with its skewness.
NORMAL = 40.0
CERTAIN = 1e-14  # a value is left out so rarely that it is not


def fixed_of(parts: Parts, sure: float, count: int) -> tuple[float, int, Integers]:
    """Sum and number of sure values, and the groups that have none.

    Some have one value whatever the truth, such as those without a prediction.
    """
    fixed = (parts.low == parts.high) & (parts.raw[:, 0] >= 1.0 - CERTAIN)
    sure, count = sure + float(parts.low[fixed].sum()), count + int(fixed.sum())
    return sure, count, np.flatnonzero(~fixed)


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


def share_of(groups: JudgedGroups, mean: float, weight: float) -> GroupShare:
    """The share of some groups, around the mean over the `weight` groups of all.

    Both are nan as long as they are not known.
    """
    unsure = groups.open()
    values, positives = groups.take(np.flatnonzero(~unsure)).settled()
    known, none = ~np.isnan(values), np.zeros((3, 1))
    sure, count = float(values[known].sum()), int(known.sum())
    if not unsure.any():
        nothing = (0.0, 0.0)
        total = float(positives.sum())
        return GroupShare(0, count, sure, total, nothing, nothing, 0.0, 0.0, none)
    parts, more = parts_of(groups.take(np.flatnonzero(unsure)), Tables(groups.metric))
    sure, count, kept = fixed_of(parts, sure, count)
    parts = parts.take(kept)
    share, d1, d2, d3 = central_moments(parts.raw, mean)
    missing = np.maximum(1.0 - share, 0.0)
    low, high = parts.low, parts.high
    if missing.max(initial=0.0) >= CERTAIN and not math.isnan(mean):
        low, high = np.minimum(low, mean), np.maximum(high, mean)
    with np.errstate(divide="ignore"):
        log_missing = float(np.log(missing).sum())
    return GroupShare(
        kept.size,
        count,
        sure,
        float(positives.sum()) + more,
        (math.fsum(share), math.fsum(parts.raw[:, 1])),
        (math.fsum(d2 - d1**2), math.fsum(d3 - 3 * d1 * d2 + 2 * d1**3)),
        float((high - low).max(initial=0.0)),
        log_missing,
        none if math.isnan(weight) else transforms_of(share, d1, d2, weight),
    )


def mean_of_shares(shares: list[GroupShare]) -> tuple[float, float]:
    """The mean over all groups that are defined, and their expected number."""
    weight = math.fsum(one.raw[0] + one.count for one in shares)
    return math.fsum(one.raw[1] + one.sure for one in shares) / max(weight, 1e-300), (
        weight
    )


def law_of_shares(shares: list[GroupShare]) -> ValueLaw | None:
    """Law of the mean over very many groups; None where they are too few for it."""
    mean, weight = mean_of_shares(shares)
    variance = max(math.fsum(one.central[0] for one in shares), 0.0)
    skew = math.fsum(one.central[1] for one in shares)
    width = max(one.width for one in shares)
    deviation, undefined = math.sqrt(variance), 0.0
    if not sum(one.count for one in shares):
        undefined = math.exp(sum(one.log_missing for one in shares))
    if weight <= 0.0 or not deviation >= NORMAL * width or not width:
        return None
    transforms = sum((one.transforms for one in shares), np.zeros((3, 1)))
    sure = math.fsum(one.sure - mean * one.count for one in shares)
    count = sum(one.count for one in shares)
    ratio = moments_of_ratio(transforms, weight, sure, count, undefined)
    return Moments(mean, weight, variance, skew, undefined, ratio).normal(deviation)


def central_moments(raw: Floats, mean: float) -> Floats:
    """Raw moments 0…3 of (value - mean)·1(defined), by rows."""
    share, first, second, third = raw.T
    d1 = first - mean * share
    d2 = second - 2 * mean * first + mean**2 * share
    d3 = third - 3 * mean * second + 3 * mean**2 * first - mean**3 * share
    return np.stack([share, d1, d2, d3])


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


class Moments:
    """A sum over a number of values, known by its moments.

    Attributes
    ----------
    mean, weight : float
        Expected sum over expected number, and this number.
    variance, skew : float
        Second and third cumulant of the sum of what values differ from the mean.
    undefined : float
        Chance of no value at all.
    ratio : tuple of two floats
        Mean of the ratio, from `mean` on, and its deviation.
    """

    def __init__(
        self,
        mean: float,
        weight: float,
        variance: float,
        skew: float,
        undefined: float,
        ratio: tuple[float, float],
    ) -> None:
        self.mean, self.weight, self.variance = mean, weight, variance
        self.skew, self.undefined, self.ratio = skew, undefined, ratio

    def normal(self, deviation: float) -> ValueLaw:
        """Normal with a correction for skewness."""
        z = np.linspace(-6.0, 6.0, 2401)
        skew = self.skew / deviation**3
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
