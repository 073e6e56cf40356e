"""Laws of counts and of metric values."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from argmetric._discrete import distinct
from argmetric._expected import SMALL, TOLERANCE, compiled, numpy_twins, window_width
from argmetric._types import Floats
from argmetric.metrics import Metric

BLOCK = 2048  # items added one by one before laws are convolved
MAX_ATOMS = 1 << 16  # more distinct values than this are binned
UNTRIMMED = 256  # up to so many items the whole law is kept
CELLS = 1 << 20


def law_of_count(p: Floats, q: Floats) -> tuple[int, Floats]:
    """Law of the number of positives: the first count with mass, and the masses.

    Blocks item by item, then block by block: sums of positive terms throughout.
    """
    kernels = numpy_twins() if p.size <= SMALL else compiled()
    tolerance = 0.0 if p.size <= UNTRIMMED else TOLERANCE
    laws = []
    for first in range(0, max(p.size, 1), BLOCK):
        part = slice(first, first + BLOCK)
        width = window_width(float(p[part] @ q[part])) if tolerance else p.size
        buffer = np.zeros(width + 2)
        low, length, _ = kernels.law_of_sum(p[part], q[part], tolerance, buffer)
        assert length > 0, "the window was made too narrow"
        laws.append((low, buffer[:length]))
    while len(laws) > 1:
        pairs = [
            trimmed(a[0] + b[0], np.convolve(a[1], b[1]))
            for a, b in zip(laws[::2], laws[1::2], strict=False)
        ]
        laws = pairs + laws[2 * len(pairs) :]
    return laws[0]


def trimmed(low: int, law: Floats) -> tuple[int, Floats]:
    """The law without the ends whose entries are below the tolerance."""
    kept = np.flatnonzero(law >= TOLERANCE)
    return low + int(kept[0]), law[kept[0] : kept[-1] + 1]


@dataclass(frozen=True)
class ValueLaw:
    """Law of a metric's value where it is defined, and the chance that it is not."""

    values: Floats
    probabilities: Floats
    p_undefined: float
    mean: float
    variance: float


def law_of_values(
    metric: Metric, n: int, p: Floats, q: Floats, selected: np.ndarray
) -> ValueLaw:
    """Law of the metric for a fixed selection, labels independent."""
    k = int(selected.sum())
    hit_low, hits = law_of_count(p[selected], q[selected])
    miss_low, misses = law_of_count(p[~selected], q[~selected])
    r = miss_low + np.arange(misses.size, dtype=np.float64)
    rows = max(1, CELLS // misses.size)
    parts = []
    for first in range(0, hits.size, rows):
        weight = hits[first : first + rows, None] * misses
        tp = hit_low + first + np.arange(weight.shape[0], dtype=np.float64)[:, None]
        parts.append((metric.value(tp, k, tp + r, n).ravel(), weight.ravel()))
    return combine(parts)


def combine(parts: list[tuple[Floats, Floats]]) -> ValueLaw:
    """One law from values and their weights, which add up to one over all parts."""
    total = undefined = 0.0
    for values, weights in parts:
        defined = ~np.isnan(values)
        undefined += float(weights[~defined].sum())
        total += float(weights[defined].sum())
    if total <= 0.0:
        nothing = np.zeros(0)
        return ValueLaw(nothing, nothing, 1.0, math.nan, math.nan)
    values, weights = compress(parts)
    return law_of_atoms(values, weights / total, undefined)


def law_of_atoms(values: Floats, probabilities: Floats, undefined: float) -> ValueLaw:
    """A law with the mean and the variance that its own values have."""
    mean = float(probabilities @ values)
    variance = float(probabilities @ (values - mean) ** 2)
    return ValueLaw(values, probabilities, undefined, mean, variance)


def compress(parts: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Distinct values in ascending order with their weights; binned if too many."""
    if sum(values.size for values, _ in parts) <= 4 * MAX_ATOMS:
        values = np.concatenate([values for values, _ in parts])
        weights = np.concatenate([weights for _, weights in parts])
        keep = ~np.isnan(values) & (weights > 0)
        return distinct(values[keep], weights[keep])
    parts = [
        (values, weights) for values, weights in parts if not np.isnan(values).all()
    ]
    low = min(float(np.nanmin(values)) for values, _ in parts)
    high = max(float(np.nanmax(values)) for values, _ in parts)
    mass, moment = np.zeros(MAX_ATOMS), np.zeros(MAX_ATOMS)
    for values, weights in parts:
        defined = ~np.isnan(values)
        values, weights = values[defined], weights[defined]
        place = ((values - low) * ((MAX_ATOMS - 1) / (high - low))).astype(np.int64)
        mass += np.bincount(place, weights, MAX_ATOMS)
        moment += np.bincount(place, weights * values, MAX_ATOMS)
    used = mass > 0
    return moment[used] / mass[used], mass[used]
