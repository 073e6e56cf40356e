"""How a metric changes as one more row is predicted positive."""

from __future__ import annotations

import numpy as np

from argmetric._ground.types import Floats
from argmetric.metrics._base import Metric
from argmetric.metrics._forms import RatioForm

# Five points of a central difference, and their weights: error h⁴·f⁗/30.
STEPS = np.array([-2.0, -1.0, 1.0, 2.0])
WEIGHTS = np.array([1.0, -8.0, 8.0, -1.0]) / 12.0
RELATIVE_STEP = 1e-3
SMALLEST_STEP = 1e-9  # of the class: below it the steps drown in rounding


def slopes(
    metric: Metric, hits: float, alarms: float, positives: float, negatives: float
) -> tuple[float, float, float]:
    """U at fractional counts, U_A - U_B and U_C - U_D, with A+B and C+D fixed."""
    tp, k, t, n = hits, hits + alarms, positives, positives + negatives
    value = float(metric.value(tp, k, t, n))
    form = metric.form
    if isinstance(form, RatioForm):
        # Slopes of N/D in tp and in k: (c_j·D - d_j·N) / D²; 0 where D is 0
        c, d = form.c, form.d
        above = c[0] * n + c[1] * tp + c[2] * k + c[3] * t
        below = d[0] * n + d[1] * tp + d[2] * k + d[3] * t
        if below == 0:
            return value, 0.0, 0.0
        ratio = above / below
        by_tp, by_k = (c[1] - d[1] * ratio) / below, (c[2] - d[2] * ratio) / below
        return value, by_tp + by_k, by_k
    along_hits, one = _around(hits, positives)
    along_alarms, other = _around(alarms, negatives)
    tp_cells = np.concatenate([along_hits, np.full(4, hits)])
    k_cells = tp_cells + np.concatenate([np.full(4, alarms), along_alarms])
    moved = metric.value(tp_cells, k_cells, t, n)
    by_hits = float(WEIGHTS @ moved[:4]) / one if one else 0.0
    by_alarms = float(WEIGHTS @ moved[4:]) / other if other else 0.0
    return value, by_hits, by_alarms


def _around(count: float, size: float) -> tuple[Floats, float]:
    """Four counts around the given one, or the nearest that stay in the class."""
    room = min(count, size - count)
    step = max(RELATIVE_STEP * room, SMALLEST_STEP * size)
    center = min(max(count, 2.0 * step), size - 2.0 * step)
    return center + step * STEPS, step
