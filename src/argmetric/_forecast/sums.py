"""Sums of very many independent values: on a grid, and by Fourier transforms.

On a grid a law holds the mass of every cell, and the first moment of what lies between
the cells and the true values: the mean of a cell is exact, and a value that stands
alone in its cell keeps its place. Sums are kept apart by how many values went in.

The transform of a sum is the product of all transforms. Of a smooth law only few low
frequencies are left of it, so that many groups cost little more than few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from argmetric._expected import kernels
from argmetric._input.types import Floats
from argmetric._results.discrete import dot

TRIMMED = 1e-15  # mass below the rounding of a Fourier transform


@dataclass(frozen=True)
class GridLaws:
    """Several laws side by side: arrays (laws, counts, cells).

    The value of cell j is (j - origin) steps, and what `moment` adds to it; row i has
    the sums of first+i values.
    """

    mass: Floats
    moment: Floats
    origin: int
    first: int

    @property
    def size(self) -> int:
        return int(self.mass.shape[0])


def centred(
    mass: Floats, moment: Floats, missing: Floats | None, step: float
) -> GridLaws:
    """Laws moved by whole cells so that the means of any run of them cancel.

    `mass` and `moment` have a row per law; `missing` is the chance that a value is
    left out, None where sums need not be kept apart.
    """
    laws, width = mass.shape
    mean = np.einsum("ij,j->i", mass, np.arange(float(width)))
    mean /= np.maximum(mass.sum(axis=1), 1e-300)
    if missing is not None:  # of a sum of so many values, whichever they are
        mean[:] = np.rint(mean.mean())
    shift = np.diff(np.rint(np.cumsum(mean)), prepend=0.0).astype(np.int64)
    wide = np.zeros((2, laws, 1 if missing is None else 2, 2 * width + 1))
    rows, columns = np.arange(laws)[:, None], width + np.arange(width) - shift[:, None]
    wide[0, rows, -1, columns] = mass
    wide[1, rows, -1, columns] = moment + mass * (step * shift)[:, None]
    if missing is not None:
        wide[0, :, 0, width] = missing
    return GridLaws(wide[0], wide[1], width, 0)


def total(laws: GridLaws) -> GridLaws:
    """The law of the sum of all of them: neighbours are added, then their sums."""
    odd: GridLaws | None = None
    while laws.size > 1:
        if laws.size % 2:
            last = _part(laws, slice(-1, None))
            odd = last if odd is None else added(last, odd)
        pairs = laws.size // 2
        laws = added(
            _part(laws, slice(0, 2 * pairs, 2)), _part(laws, slice(1, 2 * pairs, 2))
        )
    return laws if odd is None else added(laws, odd)


def _part(laws: GridLaws, which: slice) -> GridLaws:
    return GridLaws(laws.mass[which], laws.moment[which], laws.origin, laws.first)


def _fast(size: int) -> int:
    """The next size that has no prime factor above 3."""
    powers = (1, 3, 9, 27, 81, 243)
    return min(x << (-(-size // x) - 1).bit_length() for x in powers)


def added(a: GridLaws, b: GridLaws) -> GridLaws:
    """Laws of the sums of pairs, by Fourier transform, without empty ends."""
    counts = a.mass.shape[1] + b.mass.shape[1] - 1
    width = a.mass.shape[2] + b.mass.shape[2] - 1
    # A transform over one number of values would copy and no more.
    axes = (2,) if counts == 1 else (1, 2)
    shape = (_fast(counts), _fast(width))[-len(axes) :]
    a_mass, a_moment, b_mass, b_moment = (
        np.fft.rfftn(part, shape, axes) for part in (a.mass, a.moment, b.mass, b.moment)
    )
    mass = np.fft.irfftn(a_mass * b_mass, shape, axes)[:, :counts, :width]
    moment = np.fft.irfftn(a_mass * b_moment + a_moment * b_mass, shape, axes)
    moment = moment[:, :counts, :width]
    full = mass > TRIMMED
    cells = np.flatnonzero(full.any(axis=(0, 1)))
    rows = np.flatnonzero(full.any(axis=(0, 2)))
    origin = a.origin + b.origin
    low, high = min(int(cells[0]), origin), max(int(cells[-1]), origin) + 1
    part = (slice(None), slice(int(rows[0]), int(rows[-1]) + 1), slice(low, high))
    return GridLaws(
        np.where(full, mass, 0.0)[part],
        np.where(full, moment, 0.0)[part],
        origin - low,
        a.first + b.first + int(rows[0]),
    )


RARE = 1e-16  # masses at the ends of the law of a group that are left out
GONE = 1e-32  # square of what is left of a frequency that no longer counts
LAWS_BEFORE_A_CUT = 64  # laws after which few frequencies of a smooth sum are left
LAWS_TRANSFORMED = 64  # the first laws of a sum, while all frequencies are left
SMOOTH = 1e-6  # a law with less at the highest frequencies can be read between cells
FINEST = 1 << 14  # cells of a law that is read between its cells


class Spectrum:
    """The law of a sum on a circle of `period` cells, a power of two."""

    def __init__(self, period: int) -> None:
        self.period = period
        turn = 2 * math.pi / period * np.arange(period)
        self.cosines, self.sines = np.cos(turn), np.sin(turn)
        self.real = np.ones(period // 2 + 1)
        self.imaginary = np.zeros(period // 2 + 1)
        self.mean, self.last = 0.0, 0

    def add(self, mass: Floats, work: float) -> bool:
        """Laws of more values, a row each and a column for each cell; False where that
        would take more products than `work`.
        """
        now = 0
        if self.last == 0:
            now = min(mass.shape[0], LAWS_TRANSFORMED)
            if now * self.period > work:
                return False
            product = np.fft.rfft(mass[0], self.period)
            for row in mass[1:now]:
                product *= np.fft.rfft(row, self.period)
            self.real, self.imaginary = product.real.copy(), -product.imag
        later = mass[now:]
        if self.left * np.count_nonzero(later[:LAWS_BEFORE_A_CUT] > RARE) > work:
            return False
        if later.shape[0]:
            kernels.multiply_spectrum(
                later, self.cosines, self.sines, RARE, GONE, self.real, self.imaginary
            )
        self.mean += dot(mass.sum(axis=0), np.arange(float(mass.shape[1])))
        self.last += mass.shape[0] * (mass.shape[1] - 1)
        return True

    @property
    def left(self) -> int:
        """Frequencies that are left."""
        return int(np.count_nonzero(self.real**2 + self.imaginary**2 > GONE))

    @property
    def smooth(self) -> bool:
        """Whether the law can be read between its cells."""
        high = slice(self.real.size // 2, None)
        largest = (self.real[high] ** 2 + self.imaginary[high] ** 2).max()
        return float(largest) < SMOOTH**2

    def law(self, finest: int = FINEST) -> tuple[Floats, Floats]:
        """Cells, counted from the first of all groups, and their masses.

        A smooth law has `finest` cells, if they are not fewer than its own.
        """
        finer = max(1, finest // self.period) if self.smooth else 1
        size = self.period * finer
        # numpy's transforms turn the other way round.
        law = np.fft.irfft(self.real - 1j * self.imaginary, size) * finer
        low = min(round(self.mean) - self.period // 2, self.last + 1 - self.period)
        low = max(low, 0)
        law = np.roll(law, -(low * finer) % size)
        used = law > TRIMMED
        cells = low + np.flatnonzero(used) / finer
        return cells, law[used] / law[used].sum()
