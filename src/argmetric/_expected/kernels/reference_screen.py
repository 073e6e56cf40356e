"""Plain numpy twins of the kernels in `screen`."""

from __future__ import annotations

import math

import numpy as np

from argmetric._input.types import Floats, Integers

SURE = 1e-12
BLOCK = 64  # items of a law that is made beside others


def label_cumulants(p: Floats, q: Floats) -> Floats:
    """The first five cumulants of single labels, one row each."""
    v, d = p * q, q - p
    return np.stack([p, v, v * d, v * (1 - 6 * v), v * d * (1 - 12 * v)])


def label_powers(p: Floats, q: Floats, orders: int) -> Floats:
    """p, v, v·d, v², v²·d, … of single labels with v = p·q and d = q - p, as rows."""
    rows, v = np.empty((orders, p.size)), p * q
    rows[0], rows[1], rows[2:3] = p, v, v * (q - p)
    for j in range(3, orders):
        np.multiply(rows[j - 2], v, out=rows[j])
    return rows


def few_points(cumulants: Floats, most: Floats) -> tuple[Floats, Floats]:
    """The Gauss rules of three points and of two for sums, by columns."""
    mean, variance = cumulants[0], cumulants[1]
    sure = variance < SURE
    deviation = np.sqrt(np.where(sure, 1.0, variance))
    s = cumulants[2] / deviation**3
    fourth = cumulants[3] / deviation**4 + 3.0
    fifth = cumulants[4] / deviation**5 + 10.0 * s
    b = fourth - 1.0 - s * s
    two = b < 1e-6 * (1.0 + s * s)
    b = np.where(two, 1.0, b)
    a = (fifth - 2.0 * s * fourth + s**3) / b
    middle, linear = (s + a) / 3.0, a * s - 1.0 - b
    slope = np.minimum(linear - 3.0 * middle**2, -1e-30)
    level = a + middle * (linear - 2.0 * middle**2)
    radius = 2.0 * np.sqrt(slope / -3.0)
    c = np.clip(3.0 * level / (slope * radius), -1.0, 1.0)
    angle = np.arccos(np.abs(c)) / 3.0
    z, other = np.cos(angle), math.sqrt(0.75) * np.sin(angle)
    radius = np.where(c < 0.0, -radius, radius)
    x = middle + radius * np.stack([z, other - 0.5 * z, -other - 0.5 * z])
    root = np.sqrt(s * s + 4.0)
    pair = np.where(sure, 0.0, np.stack([s + root, s - root]) / 2.0)
    x = np.where(two | sure, np.stack([*pair, 0.0 * s]), x)
    norm = np.where(two, np.inf, b)
    weights = 1.0 / (1.0 + x**2 + (x * (x - s) - 1.0) ** 2 / norm)
    weights[2, two] = 0.0
    weights[1:, sure] = 0.0
    upper = np.where(sure, 1.0, 1.0 / (1.0 + pair[0] ** 2))
    weights = np.concatenate([weights / weights.sum(axis=0), [upper, 1.0 - upper]])
    points = np.clip(mean + deviation * np.concatenate([x, pair]), 0.0, most)
    return points, weights


def rough_laws(
    p: Floats,
    q: Floats,
    indptr: Integers,
    at: Integers,
    sums: Floats,
    counts: Floats,
    points: Floats,
    weights: Floats,
) -> int:
    """Rough laws of hits and misses of all counts from segment at[0] on."""
    used = 0
    for g in range(int(at[0]), indptr.size - 1):
        part = slice(indptr[g], indptr[g + 1])
        m = int(indptr[g + 1] - indptr[g])
        if used + m + 1 > counts.shape[1]:
            break
        terms = label_cumulants(p[part], q[part])
        hits = np.concatenate([np.zeros((5, 1)), np.cumsum(terms, axis=1)], axis=1)
        k, place = np.arange(m + 1.0), slice(used, used + m + 1)
        counts[:, place] = np.full(m + 1, float(g)), k, m - k
        for side, cumulants in enumerate((hits, hits[:, -1:] - hits)):
            found = few_points(cumulants, counts[1 + side, place])
            points[side, :, place], weights[side, :, place] = found
        used, at[0] = used + m + 1, g + 1
    return used


RULES = (slice(3), slice(9)), (slice(3, 5), slice(9, 13))  # points, and their cells


def rough_cells(points: Floats, tp: Floats, t: Floats) -> None:
    """Counts of the cells of three points on either side, and of those of two."""
    used = tp.shape[1]
    for rows, cells in RULES:
        hits, misses = points[0, rows, None, :used], points[1, None, rows, :used]
        shape = np.broadcast_shapes(hits.shape, misses.shape)
        tp[cells] = np.broadcast_to(hits, shape).reshape(-1, used)
        t[cells] = (hits + misses).reshape(-1, used)


def rough_sums(values: Floats, weights: Floats, out: Floats, other: Floats) -> None:
    """E[value | value is finite] from the nine cells, and from the four."""
    used = out.size
    for (rows, cells), sums in zip(RULES, (out, other), strict=True):
        chance = weights[0, rows, None, :used] * weights[1, None, rows, :used]
        finite = np.isfinite(values[cells])
        chance = np.where(finite, chance.reshape(-1, used), 0.0)
        sums[:] = (np.where(finite, values[cells], 0.0) * chance).sum(axis=0)
        mass = chance.sum(axis=0)
        some = ~finite.all(axis=0)
        sums[some] /= np.where(mass > 1e-300, mass, math.nan)[some]


def power_sums_at(
    p: Floats,
    q: Floats,
    indptr: Integers,
    group: Integers,
    count: Integers,
    out: Floats,
) -> None:
    """Sums of p, v, v·d, v², v²·d, … over the first count[i] labels of group[i]."""
    for g in np.unique(group).tolist():
        part, chosen = slice(indptr[g], indptr[g + 1]), group == g
        terms = label_powers(p[part], q[part], out.shape[0])
        sums = np.concatenate([np.zeros((out.shape[0], 1)), terms.cumsum(axis=1)], 1)
        out[:, chosen] = sums[:, count[chosen]]


def laws_at(
    p: Floats,
    q: Floats,
    indptr: Integers,
    group: Integers,
    count: Integers,
    tolerance: Floats,
    seeds: Floats,
    seed_weights: Floats,
    seed_start: Integers,
    seed_length: Integers,
    start: Integers,
    points: Floats,
    weights: Floats,
    lengths: Integers,
    dropped: Floats,
) -> None:
    """Laws of the first count[i] labels of segment group[i], and of its seed."""
    for g in np.unique(group).tolist():
        chosen = np.flatnonzero(group == g)
        items = slice(indptr[g], indptr[g] + count[chosen[-1]])
        rows, owner = block_laws(p[items], q[items], count[chosen])
        low, done = int(seeds[seed_start[g]]), 0
        law = seed_weights[seed_start[g] : seed_start[g] + seed_length[g]]
        before = float(law.sum())
        for i in chosen.tolist():
            for row in rows[done : np.searchsorted(owner, count[i], side="right")]:
                law = np.convolve(law, row)
                kept = np.flatnonzero(law >= tolerance[g])
                low, law = low + int(kept[0]), law[kept[0] : kept[-1] + 1]
            done = int(np.searchsorted(owner, count[i], side="right"))
            place = slice(start[i], start[i] + law.size)
            points[place], weights[place] = low + np.arange(law.size), law
            lengths[i], dropped[i] = law.size, max(before - float(law.sum()), 0.0)


def block_laws(p: Floats, q: Floats, ends: Integers) -> tuple[Floats, Integers]:
    """Laws of blocks of items, none across an end, side by side; where each ends."""
    cuts = np.unique(np.concatenate([[0], ends, np.arange(0, p.size, BLOCK)]))
    starts, stops = cuts[:-1], cuts[1:]
    size = int((stops - starts).max(initial=0))
    place = starts + np.arange(size)[:, None]
    inside = place < stops
    place = np.where(inside, place, 0)
    items, others = np.where(inside, p[place], 0.0), np.where(inside, q[place], 1.0)
    laws = np.zeros((size + 1, starts.size))
    laws[0] = 1.0
    for j in range(size):  # a block has j + 1 entries
        more = items[j] * laws[: j + 1]
        laws[: j + 1] *= others[j]
        laws[1 : j + 2] += more
    return np.ascontiguousarray(laws.T), stops
