"""Where the climbs begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from argmetric._input.types import Floats
from argmetric.metrics import Metric
from argmetric.train._rows import Rows, SummedRows

if TYPE_CHECKING:
    from argmetric.train._fit import Scaling


def stratified(rows: SummedRows, size: int, rng: np.random.Generator) -> Rows:
    """About `size` rows, up to half of them positive, weighted so that sums agree."""
    positive = np.flatnonzero(rows.positive)
    negative = np.flatnonzero(~rows.positive)
    n_positive = min(positive.size, max(size // 2, size - negative.size))
    parts, weights = [], []
    for members, count in (
        (positive, n_positive),
        (negative, min(negative.size, size - n_positive)),
    ):
        chosen = np.sort(rng.permutation(members)[:count])
        total, kept = rows.weight[members].sum(), rows.weight[chosen].sum()
        if kept == 0:
            return rows.in_memory()  # only rows of weight 0 were drawn
        parts.append(chosen)
        weights.append(rows.weight[chosen] * (total / kept))
    return rows.take(np.concatenate(parts), np.concatenate(weights))


def shifted(rows: Rows, metric: Metric, theta: Floats) -> Floats:
    """The intercept moved so that 0 is the best threshold of the margins.

    An exact scan over all cuts between distinct margins; as it stands where no cut
    that leaves rows on both sides has a value.
    """
    z = rows.margins(theta)
    order = np.argsort(-z)
    z, weight = z[order], rows.weight[order]
    last = np.flatnonzero(z[:-1] > z[1:])  # ties stay on one side
    if last.size == 0:
        return theta
    tp = np.cumsum(np.where(rows.positive[order], weight, 0.0))[last]
    k, n = np.cumsum(weight)[last], rows.positives + rows.negatives
    values = metric.value(tp, k, rows.positives, n)
    values = values if metric.greater_is_better else -values
    if np.isnan(values).all():
        return theta
    best = last[int(np.nanargmax(values))]
    moved = theta.copy()
    moved[-1] -= (z[best] + z[best + 1]) / 2
    # Margins that are all near 0 count every row as half: stretched to a spread of 1.
    center = weight @ z / n
    spread = np.sqrt(weight @ (z - center) ** 2 / n)
    return np.asarray(moved / spread if 0 < spread < 1 else moved)


def random_start(theta: Floats, scaling: Scaling, rng: np.random.Generator) -> Floats:
    """A random direction of the same length added, in the standardised columns.

    Far away the objective is flat, so the length is that of a sensible model.
    """
    phi = scaling.to_phi(theta)
    noise = rng.standard_normal(theta.size - 1) * scaling.varies
    length = max(float(np.linalg.norm(phi[:-1])), 1.0)
    phi[:-1] += noise * (length / np.sqrt(noise.size))
    return scaling.to_theta(phi)
