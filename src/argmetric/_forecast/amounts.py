"""Distribution of a total where the worth of a label differs by row.

The total is a constant plus Σ w_i·Y_i, with w = tp - fp of a chosen row and fn - tn of
another. Its mean and variance are exact. The distribution is exact while the totals
are few. Else the rows of the largest deviation are convolved on a grid, and the sum of
the others is normal: no probability is off by more than 0.56·Σρ/σ³ of these rows
(Shevtsova 2010), ρ their third absolute moments, and the rounding to the grid.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from argmetric._forecast.distributions import ScorePMF
from argmetric._ground.discrete import distinct
from argmetric._ground.types import Booleans, Floats
from argmetric.metrics import Utility

EXACT_ROWS, EXACT_ATOMS = 2000, 1 << 14
HEAD, GRID, REACH = 512, 1 << 13, 9.0  # rows on the grid; points; deviations
ESSEEN = 0.56


def amounts_pmf(
    metric: Utility, p: Floats, q: Floats, selected: Booleans
) -> tuple[ScorePMF, float]:
    """Return the distribution of the total of one vector, and its largest error."""
    _, fp, _, tn = metric._by_row(p.size)
    weight = metric._weights(selected)
    start = float(np.where(selected, fp, tn).sum())
    mean = start + float(np.sum(weight * p))
    std = np.abs(weight) * np.sqrt(p * q)
    variance = float(np.sum(std**2))
    start += float(weight[p >= 1.0].sum())
    order = np.argsort(-std, kind="stable")
    order = order[std[order] > 0.0]
    weight, p, q, std = weight[order], p[order], q[order], std[order]
    found = _exact(weight, p, q) if order.size <= EXACT_ROWS else None
    error = 0.0
    if found is None:
        found, error = _on_grid(weight, p, q, std)
    values, mass = found
    return ScorePMF(start + values, mass / mass.sum(), 0.0, mean, variance), error


def _exact(weight: Floats, p: Floats, q: Floats) -> tuple[Floats, Floats] | None:
    """Return all totals with their probabilities, or None where they are too many."""
    values, mass = np.zeros(1), np.ones(1)
    for one, yes, no in zip(weight, p, q, strict=True):
        if values.size > EXACT_ATOMS:
            return None
        values = np.concatenate([values, values + one])
        values, mass = distinct(values, np.concatenate([no * mass, yes * mass]))
    return values, mass


def _on_grid(
    weight: Floats, p: Floats, q: Floats, std: Floats
) -> tuple[tuple[Floats, Floats], float]:
    """Return totals on a grid with their probabilities, and the largest error."""
    whole = math.sqrt(float(np.sum(std**2)))
    center, reach = float(weight @ p), REACH * whole
    step = 2.0 * reach / (GRID - 1)
    # Each row is a move by w·(Y - p), split between the points on either side
    mass = np.zeros(GRID)
    mass[GRID // 2] = 1.0
    added = 0.0
    head, rest = slice(0, HEAD), slice(HEAD, None)
    for one, yes, no in zip(weight[head], p[head], q[head], strict=True):
        moved = np.zeros(GRID)
        for jump, part in ((one * no, yes), (-one * yes, no)):
            place, share = divmod(jump / step, 1.0)
            added += part * share * (1.0 - share) * step**2
            for shift, some in ((int(place), 1.0 - share), (int(place) + 1, share)):
                moved += part * some * _shift_mass(mass, shift)
        mass = moved
    left = float(np.sum(std[rest] ** 2))
    error = 0.0
    if left > 0.0:
        third = np.abs(weight[rest]) ** 3 * p[rest] * q[rest]
        third *= p[rest] ** 2 + q[rest] ** 2
        error = ESSEEN * float(third.sum()) / left**1.5
    normal = math.sqrt(max(left - added, 0.0))  # less what rounding has added
    if normal > step:
        width = int(REACH * normal / step) + 1
        edges = (np.arange(-width, width + 2) - 0.5) * step / normal
        mass = np.convolve(mass, np.diff(ndtr(edges)), mode="same")
    values = center + (np.arange(GRID) - GRID // 2) * step
    kept = mass > 0.0
    return (values[kept].astype(np.float64), mass[kept]), min(error, 1.0)


def _shift_mass(mass: Floats, shift: int) -> Floats:
    """Return the mass moved by whole points; what leaves the grid stays at its end."""
    out = np.zeros(mass.size)
    shift = max(-mass.size, min(shift, mass.size))
    if shift >= 0:
        out[shift:] = mass[: mass.size - shift]
        out[-1] += mass[mass.size - shift :].sum()
    else:
        out[:shift] = mass[-shift:]
        out[0] += mass[:-shift].sum()
    return out
