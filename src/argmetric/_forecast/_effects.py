"""Labels that depend on each other through one normal effect on all log-odds."""

from __future__ import annotations

import math

import numpy as np

from argmetric._forecast._laws import ValueLaw, combine, law_of_values
from argmetric._odds import from_log_odds
from argmetric._segments import Floats
from argmetric.metrics import Metric

LARGEST_EFFECT = 5.0  # beyond, labels are all but copies of each other
MIXED_EXACTLY = 300  # up to so many items the laws of all effects are mixed as they are
N_EFFECTS = 121
N_SMOOTH = 41  # effects at which a large sample is looked at; its law is smooth between
FINE = 2001
N_VALUES = 4001

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


def log_likelihood(
    centre: Floats, deviation: float, z: Floats, known: Floats
) -> Floats:
    """Log-probability of the known labels for every value z of the effect."""
    arrived = ~np.isnan(known)
    total = np.zeros(z.size)
    if arrived.any():
        sign = np.where(known[arrived] == 1.0, 1.0, -1.0)
        for i, effect in enumerate(z):
            x = sign * (centre[arrived] + deviation * effect)
            total[i] = -np.logaddexp(0.0, -x).sum()
    return total


def effect_grid(
    centre: Floats, deviation: float, known: Floats, n_points: int
) -> tuple[Floats, Floats]:
    """Equally spaced effects and their probabilities, given the known labels.

    Many known labels narrow the effect down: the grid follows them.
    """
    low, high = -8.0, 8.0
    for _ in range(4):
        z = np.linspace(low, high, n_points)
        level = -(z**2) / 2 + log_likelihood(centre, deviation, z, known)
        weights = np.exp(level - level.max())
        weights /= weights.sum()
        mean = float(weights @ z)
        spread = math.sqrt(float(weights @ (z - mean) ** 2)) + (z[1] - z[0]) / 2
        if 16 * spread > 0.5 * (high - low):
            break
        low, high = mean - 8 * spread, mean + 8 * spread
    return z, weights


def settle(p: Floats, q: Floats, known: Floats) -> tuple[Floats, Floats]:
    """Known labels are certain."""
    unknown = np.isnan(known)
    return np.where(unknown, p, known), np.where(unknown, q, 1.0 - known)


def mixed_law(
    metric: Metric,
    n: int,
    centre: Floats,
    deviation: float,
    known: Floats,
    selected: Mask,
) -> tuple[ValueLaw, float]:
    """Law of the score and the expected positives, the effect integrated out."""
    small = centre.size <= MIXED_EXACTLY
    z, weights = effect_grid(centre, deviation, known, N_EFFECTS if small else N_SMOOTH)
    laws, positives = [], 0.0
    for effect, weight in zip(z, weights, strict=True):
        p, q = settle(*from_log_odds(centre + deviation * effect), known)
        laws.append(law_of_values(metric, n, p, q, selected))
        positives += float(weight * p.sum())
    if small or any(law.p_undefined > 0 for law in laws):
        return mix(list(zip(weights, laws, strict=True))), positives
    return smooth_mix(z, weights, laws), positives


def mix(laws: list[tuple[float, ValueLaw]]) -> ValueLaw:
    """Mixture of laws."""
    parts = []
    for weight, law in laws:
        parts.append((law.values, weight * (1 - law.p_undefined) * law.probabilities))
        if law.p_undefined > 0:
            parts.append((np.full(1, math.nan), np.full(1, weight * law.p_undefined)))
    return combine(parts)


def smooth_mix(z: Floats, weights: Floats, laws: list[ValueLaw]) -> ValueLaw:
    """Mixture over all effects of laws that are nearly normal given the effect.

    Mean and deviation are smooth in the effect and interpolated between the grid.
    """
    from scipy.interpolate import CubicSpline

    fine = np.linspace(z[0], z[-1], FINE)
    means = CubicSpline(z, [law.mean for law in laws])(fine)
    deviations = [math.sqrt(law.variance) for law in laws]
    spreads = np.maximum(CubicSpline(z, deviations)(fine), 1e-9)
    level = CubicSpline(z, np.log(np.maximum(weights, 1e-300)))(fine)
    chance = np.exp(level - level.max())
    chance /= chance.sum()
    low = min(float(law.values[0]) for law in laws)
    high = max(float(law.values[-1]) for law in laws)
    values = np.linspace(low, high, N_VALUES)
    density = np.zeros(N_VALUES)
    for mean, spread, weight in zip(means, spreads, chance, strict=True):
        if weight > 1e-12:
            density += weight / spread * np.exp(-(((values - mean) / spread) ** 2) / 2)
    density /= density.sum()
    mean = float(chance @ means)
    variance = float(chance @ (spreads**2 + (means - mean) ** 2))
    return ValueLaw(values, density, 0.0, mean, variance)
