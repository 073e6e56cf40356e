"""Three readings of a period whose scores moved, weighed by their evidence.

Nothing happened; other rows came, and a row of a given score is as likely to be
positive as before; or the share of positives moved, and each class looks as before. The
evidence is in g, the log of rows now over rows then in each of 20 bins of the score:

    g_b = log((new_b + ν)/(old_b + ω)) - log(n/m),   V_b = 1/(new_b + ν) + 1/(old_b + ω)

ν = ½·max(1, n/m) and ω = ½·max(1, m/n): half a row of the smaller sample, and as much
of the larger one. Half a row of both would raise g where rows are few in a short
period, which looks like a moved share.
With S = diag(V) + 1, the 1 for a constant that is free:

    nothing      N(g; 0, S)
    other rows   mean over σ, λ of N(g; 0, S + σ²·exp(-(u - u')²/2λ²)), u = (b + ½)/20
    share moved  mean over maps and θ ~ N(0, 1) of N(g; log(1 - c_b + c_b·e^θ), S)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from argmetric._ground.types import Floats
from argmetric._ground.verdicts import PERIOD, PeriodVerdict

VERDICTS: tuple[PeriodVerdict, ...] = tuple(PERIOD)  # from good to bad
FINE, KNOWN, SHARE_MOVED, CANNOT_SAY, BELOW = VERDICTS
BINS = 20
PRIOR = np.array([0.4, 0.2, 0.4])  # of the three readings
SIZES = (0.25, 0.5, 1.0)  # σ of a smooth change of density
LENGTHS = (0.15, 0.4, 1.0)  # λ, in parts of all bins
THETAS = np.linspace(-3.0, 3.0, 61)
ENOUGH_FOR_FINE = 0.1  # probability of no change
ENOUGH_FOR_SHARE = 0.8  # probability of the share among the two changes


class Readings(NamedTuple):
    """Probabilities of the three readings; they sum to 1."""

    nothing: float
    other_rows: float
    share: float

    def verdict(self, n_segments: int = 1, *, alarmed: bool = False) -> PeriodVerdict:
        """What to say of the period, where it is one of so many segments.

        The odds of no change are multiplied by the number of segments, as a level is
        divided by the number of tests. What raised an alarm on movement is not fine.
        """
        fine = n_segments * self.nothing
        moved = self.share + self.other_rows
        if not alarmed and fine >= ENOUGH_FOR_FINE * (fine + moved):
            return FINE
        return SHARE_MOVED if self.share >= ENOUGH_FOR_SHARE * moved else CANNOT_SAY


def weigh_readings(old: Floats, new: Floats, chances: Floats) -> Readings:
    """Probabilities of the readings, from rows in cells.

    `old` and `new`: rows of the reference and of the period in each cell; `chances`:
    chance of a positive in each cell, a row for every map.
    """
    g, variance, binned = binned_change(old, new, chances)
    u = (np.arange(g.size) + 0.5) / g.size
    apart = (u[:, None] - u) ** 2
    free = np.diag(variance) + 1.0
    levels = [
        log_normal(g, free + size**2 * np.exp(-apart / (2.0 * length**2)))
        for size in SIZES
        for length in LENGTHS
    ]
    level = np.array(
        [
            log_normal(g, np.diag(variance) + 1.0),
            float(log_sum(np.array(levels)) - np.log(len(levels))),
            _share_moved(g, variance, binned),
        ]
    )
    weight = PRIOR * np.exp(level - level.max())
    return Readings(*(weight / weight.sum()).tolist())


def binned_change(
    old: Floats, new: Floats, chances: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return g, V, and the mean chance in every bin under every map.

    Bins hold equal sums of rows and of expected positives of both samples, all scaled.
    """
    usual = chances.mean(axis=0)
    mass = np.zeros(old.size)
    for rows in (old, new):
        for part in (rows, rows * usual):
            mass += part / max(part.sum(), 1e-300)
    middle = np.cumsum(mass) - mass / 2
    number = np.minimum((BINS * middle / mass.sum()).astype(np.int64), BINS - 1)
    number = np.unique(number, return_inverse=True)[1]
    in_bin = (number == np.arange(number.max() + 1)[:, None]).astype(np.float64)
    then, now = in_bin @ old, in_bin @ new
    ratio = new.sum() / old.sum()
    now, then = now + 0.5 * max(1.0, ratio), then + 0.5 * max(1.0, 1.0 / ratio)
    g = np.log(now / then) - np.log(ratio)
    # Label shift multiplies the rows of a bin by the mean of h over the rows then.
    weight = in_bin * np.where((in_bin @ old)[:, None] > 0.0, old, old + new)
    binned = chances @ weight.T / np.maximum(weight.sum(axis=1), 1e-300)
    return g, 1.0 / now + 1.0 / then, binned


def log_normal(g: Floats, covariance: Floats) -> float:
    """Log-density of N(0, covariance) at g."""
    factor = np.linalg.cholesky(covariance)
    x = np.linalg.solve(factor, g)
    size = g.size * np.log(2.0 * np.pi)
    return float(-0.5 * (x @ x + size) - np.log(np.diag(factor)).sum())


def _share_moved(g: Floats, variance: Floats, binned: Floats) -> float:
    """All maps and θ share S, whose inverse and determinant are closed forms.

    (D + 11ᵀ)⁻¹ = D⁻¹ - D⁻¹11ᵀD⁻¹/(1 + 1ᵀD⁻¹1), |D + 11ᵀ| = |D|·(1 + 1ᵀD⁻¹1).
    """
    c = binned[:, None]
    rest = g - np.log(1.0 - c + c * np.exp(THETAS)[:, None])
    scaled = rest / variance
    total = 1.0 + (1.0 / variance).sum()
    square = (rest * scaled).sum(axis=2) - scaled.sum(axis=2) ** 2 / total
    size = g.size * np.log(2.0 * np.pi) + np.log(variance).sum() + np.log(total)
    prior = -(THETAS**2) / 2 - log_sum(-(THETAS**2) / 2) - np.log(len(binned))
    return float(log_sum((prior - 0.5 * (square + size)).ravel()))


def log_sum(levels: Floats) -> Floats:
    """Logarithm of the sum of exp(levels), over the last axis."""
    top = levels.max(axis=-1)
    total = np.exp(levels - top[..., None]).sum(axis=-1)
    return np.asarray(top + np.log(total))
