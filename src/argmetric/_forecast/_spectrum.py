"""Sums of very many independent values, from the Fourier transforms of their laws.

The transform of a sum is the product of all transforms. Of a smooth law only few low
frequencies are left of it, so that many groups cost little more than few.
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._expected import compiled
from argmetric._input.types import Floats
from argmetric._results.discrete import dot

RARE = 1e-16  # masses at the ends of the law of a group that are left out
GONE = 1e-32  # square of what is left of a frequency that no longer counts
ENOUGH = 64  # laws after which few frequencies of a smooth sum are left
SMOOTH = 1e-6  # a law with less at the highest frequencies can be read between cells
TRIMMED = 1e-15  # mass below the rounding of a Fourier transform
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
        if self.left * np.count_nonzero(mass[:ENOUGH] > RARE) > work:
            return False
        compiled().multiply_spectrum(
            mass, self.cosines, self.sines, RARE, GONE, self.real, self.imaginary
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
