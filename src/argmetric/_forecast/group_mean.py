"""The law of a mean over groups, in three ways by how many are open.

Few are convolved value by value. Of many the sum is made on a grid, pair by pair, by
Fourier transforms. Of very many it is normal but for its skewness (`group_moments.py`).

On a grid a law holds the mass of every cell, and the first moment of what lies between
the cells and the true values: the mean of a cell is exact, and a value that stands
alone in its cell keeps its place. Where values may be left out, sums are kept apart by
how many went in, or the mean over all stands for a value that is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from argmetric._forecast.distributions import (
    MAX_ATOMS,
    NOTHING,
    ValueLaw,
    combine,
    compress,
    law_of_atoms,
)
from argmetric._forecast.group_moments import (
    CERTAIN,
    GroupCells,
    Moments,
    OpenGroups,
    divisions_of,
    placed,
)
from argmetric._forecast.groups import JudgedGroups
from argmetric._ground.types import Floats

FEW_GROUPS = 16  # up to so many open groups their laws are made one by one
# A number of defined groups that varies by more counts, and yet by a smaller share,
# makes the mean a ratio of sums.
FEW_COUNTS, STEADY = 3.0, 0.03
RARELY = 1e-9  # any value is left out so rarely that their number does not vary
# Ranges of a group in a deviation from which a ratio has the law of its sum, moved to
# its own mean and deviation: chances are off by .0015 at most.
BROAD = 1.5
LUMP = 0.01  # a probability that stands out of a smooth law
GRID = 1 << 14  # cells of a sum
GRID_OF_COUNTS = 1 << 17  # cells of all likely counts together
# Cells of the largest range, with many divisors: common fractions fall on them.
DIVISIONS = (12, 24, 36, 48, 60, 84, 120, 180, 240, 420, 840, 1260, 2520, 5040, 27720)
FINE = 512.0  # cells per standard deviation: ends of intervals are off by 1/512 of it
# The same of a law that may be smooth and is then read between cells: steps of .02
# deviations are seen. At least so many cells for the range of a group.
FINE_IF_SMOOTH, COARSEST = 128.0, 8
REACH = 17.0  # standard deviations from end to end of a law
BLOCK = 1 << 19  # cells of groups that are laid out at once
TRIMMED = 1e-15  # mass below the rounding of a Fourier transform
SMOOTH = 1e-6  # a law with less at the highest frequencies can be read between cells


def law_of_mean(groups: JudgedGroups) -> tuple[ValueLaw, float]:
    """Law of the mean over the groups that are defined, and the expected positives."""
    unsure = groups.open()
    rest = groups.take(np.flatnonzero(unsure))
    few = rest.size <= FEW_GROUPS and _pairs_of_two(rest) <= MAX_ATOMS
    if rest.size <= 1 or few:
        values, positives = groups.take(np.flatnonzero(~unsure)).settled()
        values = values[~np.isnan(values)]
        found, more = convolved(rest, float(values.sum()), values.size)
        if found is not None:
            return found, float(positives.sum()) + more
    open_ = OpenGroups.of(groups)
    return _law_of_many(open_), open_.positives


def _pairs_of_two(groups: JudgedGroups) -> float:
    """Pairs of counts that are likely in the widest group, times those of the next."""
    spread = groups.rows.p * groups.rows.q * np.isnan(groups.known)
    if groups.deviation:
        spread = np.ones_like(spread)
    hits, misses = (
        1.0 + 6.0 * np.sqrt(groups.per_group(spread * side))
        for side in (groups.selected, ~groups.selected)
    )
    return float(np.sort(hits * misses)[-2:].prod())


def convolved(
    groups: JudgedGroups, sure: float, count: int
) -> tuple[ValueLaw | None, float]:
    """Law of the mean over the groups that are defined, and the expected positives.

    Sums are kept apart by how many values went in. None where they are too many.
    """
    by_count = {count: (np.array([sure]), np.ones(1))}
    positives = 0.0
    for g in range(groups.size):
        law, mean = groups.law(g)
        positives += mean
        parts: dict[int, list[tuple[Floats, Floats]]] = {}
        have = sum(sums.size for sums, _ in by_count.values())
        if have * law.values.size > MAX_ATOMS:
            return None, 0.0
        for have, (sums, weights) in by_count.items():
            if law.p_undefined > 0:
                parts.setdefault(have, []).append((sums, weights * law.p_undefined))
            if law.values.size:
                chances = (1 - law.p_undefined) * law.probabilities
                parts.setdefault(have + 1, []).append(
                    (
                        (sums[:, None] + law.values).ravel(),
                        (weights[:, None] * chances).ravel(),
                    )
                )
        by_count = {have: compress(part) for have, part in parts.items()}
    law = combine(
        [
            (sums / have if have else np.full_like(sums, math.nan), weights)
            for have, (sums, weights) in by_count.items()
        ]
    )
    return law, positives


def _law_of_many(open_: OpenGroups) -> ValueLaw:
    """The law of a sum on a grid, over the number of values that went in."""
    found = open_.moments()
    mean, deviation = found.mean, found.deviation
    if found.weight <= 0.0:
        return NOTHING
    tiny = found.width <= 1e-12 * max(1.0, abs(mean))
    if tiny or deviation <= 1e-9 * found.width:
        return law_of_atoms(np.array([mean]), np.ones(1), found.undefined)
    if found.is_normal:
        return found.normal()
    low, high = open_.ends(mean)
    share, width = open_.parts.raw[:, 0], float((high - low).max())
    missing = np.maximum(1.0 - share, 0.0)
    spread = math.sqrt(float((share * missing).sum()))
    steady = spread > FEW_COUNTS and spread <= STEADY * found.weight
    apart = float(missing.sum()) >= RARELY and not steady
    lattice, reach = None, width + REACH * deviation
    if not (share <= 1.0 - CERTAIN).any():
        lattice = divisions_of(open_.parts, width)
    if lattice is None and (not apart or deviation >= BROAD * width):
        count = max(math.ceil(FINE_IF_SMOOTH * width / deviation), COARSEST)
        cells = GroupCells(width / count, count + 1, filled=mean)
        laws = _on_grid(open_, cells, moments=False)
        if (law := _read_between(found, laws.mass[0, 0])) is not None:
            return law
    if not apart:
        cells = _cells(width, deviation, GRID * width / reach, lattice, filled=mean)
        laws = _on_grid(open_, cells)
        ((sums, chances),) = _sums(laws, cells.step)
        left_out = mean * (share.size + open_.count - found.weight)
        law = combine([((open_.sure + sums - left_out) / found.weight, chances)])
        return law if lattice else _with_lumps(found, law)
    base, width = float(low.min()), float(high.max() - low.min())
    lattice = divisions_of(open_.parts, width)
    counts = min(REACH * spread + 2.0, share.size) + 1.0
    most = min(GRID, GRID_OF_COUNTS / counts) * width / (width + REACH * deviation)
    cells = _cells(width, deviation, most, lattice, base=base)
    laws = _on_grid(open_, cells)
    parts = []
    for count, one in enumerate(_sums(laws, cells.step), laws.first + open_.count):
        parts.append(((open_.sure + one[0]) / (count or math.nan), one[1]))
    return _with_lumps(found, combine(parts))


def _read_between(found: Moments, mass: Floats) -> ValueLaw | None:
    """A smooth law in cells finer than those of its sum; None where it has steps."""
    spectrum = np.fft.rfft(mass)
    if np.abs(spectrum[spectrum.size // 2 :]).max() >= SMOOTH:
        return None
    mass = np.maximum(np.fft.irfft(spectrum, mass.size * max(1, GRID // mass.size)), 0)
    return found.fitted(np.arange(float(mass.size)), mass / mass.sum())


def _sums(laws: GridLaws, step: float) -> list[tuple[Floats, Floats]]:
    """Sums and their chances, for every number of values that went in."""
    found, total_mass = [], float(laws.mass.sum())
    for mass, moment in zip(laws.mass[0], laws.moment[0], strict=True):
        used = np.flatnonzero(mass)
        sums = step * (used - laws.origin) + moment[used] / mass[used]
        found.append((sums, mass[used] / total_mass))
    return found


def _with_lumps(found: Moments, law: ValueLaw) -> ValueLaw:
    """The law with the moments of the ratio; but what stands out stays in its place."""
    if law.probabilities.max() < LUMP:
        return found.fitted(law.values, law.probabilities)
    return replace(law, p_undefined=found.undefined)


def _cells(
    width: float, deviation: float, most: float, lattice: int | None, **how: float
) -> GroupCells:
    """Cells of a lattice if it is so coarse, or fine ones, and at most so many."""
    enough = FINE * width / deviation
    count = next((d for d in DIVISIONS if d >= enough), DIVISIONS[-1])
    count = max(d for d in DIVISIONS if d <= max(min(count, most), DIVISIONS[0]))
    count = min(count, lattice or count)
    return GroupCells(width / count, count + 1, **how)


def _on_grid(open_: OpenGroups, cells: GroupCells, *, moments: bool = True) -> GridLaws:
    """The law of the sum of all groups."""
    apart = cells.filled is None
    block = max(2, BLOCK // (2 * cells.count * (2 if apart else 1)))
    parts = []
    for first in range(0, open_.groups.size, block):
        chosen = np.arange(first, min(first + block, open_.groups.size))
        groups = open_.groups.take(chosen)
        mass, moment = placed(groups, first, open_.parts, cells)
        missing = mass[:, -1] if apart else None
        both = np.stack([mass, moment] if moments else [mass])[..., :-1]
        parts.append(total(centred(both, missing, cells.step)))
    return reduce(added, parts)


@dataclass(frozen=True)
class GridLaws:
    """Several laws side by side.

    The value of cell j is (j - origin) steps, and what `moment` adds to it; row i has
    the sums of first+i values.
    """

    both: Floats  # mass, and moment where it is wanted: (1 or 2, laws, counts, cells)
    origin: int
    first: int

    @property
    def mass(self) -> Floats:
        return np.asarray(self.both[0])

    @property
    def moment(self) -> Floats:
        return np.asarray(self.both[1])


def centred(both: Floats, missing: Floats | None, step: float) -> GridLaws:
    """Laws moved by whole cells so that the means of any run of them cancel.

    `both` has mass and moment with a row per law; `missing` is the chance that a value
    is left out, None where sums need not be kept apart.
    """
    kinds, laws, width = both.shape
    mean = np.einsum("ij,j->i", both[0], np.arange(float(width)))
    mean /= np.maximum(both[0].sum(axis=1), 1e-300)
    if missing is not None:  # of a sum of so many values, whichever they are
        mean[:] = np.rint(mean.mean())
    shift = np.diff(np.rint(np.cumsum(mean)), prepend=0.0).astype(np.int64)
    wide = np.zeros((kinds, laws, 1 if missing is None else 2, 2 * width + 1))
    rows, columns = np.arange(laws)[:, None], width + np.arange(width) - shift[:, None]
    wide[:, rows, -1, columns] = both
    wide[1:, rows, -1, columns] += both[0] * (step * shift)[:, None]
    if missing is not None:
        wide[0, :, 0, width] = missing
    low = min(width - int(shift.max()), width)
    wide = wide[..., low : 2 * width - min(int(shift.min()), width - 1)]
    return GridLaws(wide, width - low, 0)


def total(laws: GridLaws) -> GridLaws:
    """The law of the sum of all of them: neighbours are added, then their sums."""
    odd: GridLaws | None = None
    while (size := laws.both.shape[1]) > 1:
        if size % 2:
            last = replace(laws, both=laws.both[:, -1:])
            odd = last if odd is None else added(last, odd)
        even = size - size % 2
        pairs = (replace(laws, both=laws.both[:, i:even:2]) for i in (0, 1))
        laws = added(*pairs)
    return laws if odd is None else added(laws, odd)


def _fast(size: int) -> int:
    """The next size that has no prime factor above 3."""
    powers = (1, 3, 9, 27, 81, 243)
    return min(x << (-(-size // x) - 1).bit_length() for x in powers)


def added(a: GridLaws, b: GridLaws) -> GridLaws:
    """Laws of the sums of pairs, by Fourier transform, without empty ends."""
    counts, width = (a.both.shape[i] + b.both.shape[i] - 1 for i in (2, 3))
    # A transform over one number of values would copy and no more.
    axes = (3,) if counts == 1 else (2, 3)
    shape = (_fast(counts), _fast(width))[-len(axes) :]
    one, other = (np.fft.rfftn(part.both, shape, axes) for part in (a, b))
    product = one[:1] * other
    product[1:] += one[1:] * other[:1]
    both = np.fft.irfftn(product, shape, axes)[:, :, :counts, :width]
    full = both[0] > TRIMMED
    cells = np.flatnonzero(full.any(axis=(0, 1)))
    rows = np.flatnonzero(full.any(axis=(0, 2)))
    origin = a.origin + b.origin
    low, high = min(int(cells[0]), origin), max(int(cells[-1]), origin) + 1
    part = (..., slice(int(rows[0]), int(rows[-1]) + 1), slice(low, high))
    first = a.first + b.first + int(rows[0])
    return GridLaws(np.where(full, both, 0.0)[part], origin - low, first)
