"""The search-based initial policy: the best completion that a beam finds."""

from __future__ import annotations

import numpy as np

from argmetric._text.summaries._growth import Growth, gain_per_unit


def best_path(growth: Growth, beam: int) -> list[int]:
    """Pieces that bring the most of the first value; by greedy search for a beam of 1.

    Summaries of a beam are compared by what they have for what they took; the greedy
    one is always among those that are compared in the end.
    """
    paths = [_run(growth.branch(), 1), *([_run(growth, beam)] if beam > 1 else [])]
    return max(paths, key=lambda found: found[0])[1]


def _run(growth: Growth, beam: int) -> tuple[float, list[int]]:
    living: list[tuple[float, list[int], Growth]] = [(0.0, [], growth)]
    ended: list[tuple[float, list[int]]] = []
    while living:
        found: dict[bytes, tuple[float, float, list[int], Growth, int]] = {}
        for total, path, one in living:
            if not one.measure():
                ended.append((total, path))
                continue
            scores = np.where(one.sizes > 0.0, gain_per_unit(one), -np.inf)
            order = np.argsort(-scores, kind="stable")[:beam]
            order = order[scores[order] > 0.0]
            if not len(order):
                ended.append((total, path))
            for piece in order.tolist():
                value = total + float(one.values[piece, 0])
                kept = one.kept
                kept[one.material.pieces.words_of(piece)] = True
                rate = value / (one.used + one.sizes[piece])
                found.setdefault(kept.tobytes(), (rate, value, path, one, piece))
        best = sorted(found.values(), key=lambda x: -x[0])[:beam]
        living = []
        for _, value, path, one, piece in best:
            other = one.branch()
            other.take(piece, 0.0)
            living.append((value, [*path, piece], other))
    return max(ended, key=lambda x: x[0])
