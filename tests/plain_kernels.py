"""Plain numpy twins of all kernels of `_expected`, for the tests to hold them to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from argmetric._expected._hermite import label_powers  # noqa: F401
from argmetric._expected._tables import both_laws
from argmetric._input.types import Floats, Integers
from twins.curves import (  # noqa: F401
    affine_curves,
    block_laws,
    choose,
    edge_logs,
    hit_curves,
    law_of_items,
    laws,
    mean_of_rates,
    power_sums_at,
    prefix_means,
    rates_on_counts,
    ratio_curves,
    segment_moments,
    smooth_curves,
    without_items,
)

SURE = 1e-12
RULES = (slice(3), slice(9)), (slice(3, 5), slice(9, 13))  # points, and their cells


def label_cumulants(p: Floats, q: Floats) -> Floats:
    """The first five cumulants of single labels, one row each."""
    v, d = p * q, q - p
    return np.stack([p, v, v * d, v * (1 - 6 * v), v * d * (1 - 12 * v)])


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


def table_curves(
    p: Floats,
    q: Floats,
    indptr: Integers,
    chosen: Integers,
    table: Floats,
    out: Floats,
) -> None:
    """E[table] for every k of the chosen segments, which all have the table's size."""
    m = table.shape[0] - 1
    for g in chosen:
        part = slice(indptr[g], indptr[g + 1])
        hits, misses = both_laws(p[part], q[part])
        rows = (hits[:, None, :] @ table)[:, 0, :]
        out[indptr[g] + g : indptr[g] + g + m + 1] = (rows * misses).sum(axis=1)


def harmonic_curves(
    p: Floats,
    q: Floats,
    indptr: Integers,
    chosen: Integers,
    jk: int,
    jt: int,
    scale: float,
    empty: float,
    out: Floats,
) -> None:
    """E[scale·tp / (jk·k + jt·t)] for every k of the chosen segments.

    From k = m down `inverse` at i becomes E[scale / (i + jt·misses)].
    """
    for g in chosen:
        part = slice(indptr[g], indptr[g + 1])
        m = indptr[g + 1] - indptr[g]
        hits = both_laws(p[part], q[part])[0] * np.arange(m + 1)
        out[indptr[g] + g] = empty * q[part].prod()
        inverse = scale / np.maximum(np.arange((jk + jt) * m + 1), 1)
        for k in range(m, 0, -1):
            at = inverse[jk * k : (jk + jt) * k + 1 : jt]
            out[indptr[g] + g + k] = hits[k, : k + 1] @ at
            item = indptr[g] + k - 1
            inverse = q[item] * inverse[:-jt] + p[item] * inverse[jt:]


def table_moments(
    p: Floats,
    q: Floats,
    indptr: Integers,
    chosen: Integers,
    selected: npt.NDArray[np.bool_],
    table: Floats,
    raw: Floats,
) -> None:
    """raw[g] = E[table], E[table²], E[table³] for a fixed selection per segment."""
    m = table.shape[0] - 1
    for g in chosen:
        part = slice(indptr[g], indptr[g + 1])
        mark = selected[part]
        k = int(mark.sum())
        hits = laws(p[part][mark], q[part][mark])[-1]
        misses = laws(p[part][~mark], q[part][~mark])[-1]
        cells = table[k, : k + 1, : m - k + 1]
        raw[g] = [hits @ cells**power @ misses for power in (1, 2, 3)]


def extend(law: Floats, length: int, p: float, q: float) -> None:
    """Add one item to law[:length], in place; the law grows by one entry."""
    law[length] = 0.0
    law[1 : length + 1] = q * law[1 : length + 1] + p * law[:length]
    law[0] *= q


def trim(
    law: Floats, low: int, length: int, tolerance: float
) -> tuple[int, int, float]:
    """Drop the ends below the tolerance; return low, length and the dropped mass."""
    dropped, first = 0.0, 0
    while length > 1 and law[length - 1] < tolerance:  # one or two: numpy takes longer
        length -= 1
        dropped += float(law[length])
    while length - first > 1 and law[first] < tolerance:
        dropped += float(law[first])
        first += 1
    if first:
        law[: length - first] = law[first:length].copy()
    return low + first, length - first, dropped


def prefix_laws(
    p: Floats,
    q: Floats,
    first: int,
    last: int,
    stride: int,
    law: Floats,
    low: int,
    length: int,
    tolerance: float,
    rows: Floats,
    lows: Integers,
) -> float:
    """Laws of the first k items for k = first, first+stride, … below last."""
    dropped = 0.0
    for k in range(first, last):
        if (k - first) % stride == 0:
            row = (k - first) // stride
            rows[row] = 0.0
            rows[row, :length] = law[:length]
            lows[row] = low
        if k < p.size:
            if length + 1 > law.size:
                return -1.0
            extend(law, length, p[k], q[k])
            low, length, lost = trim(law, low, length + 1, tolerance)
            dropped += lost
    return dropped


def item_worths(
    law: Floats, p: Floats, q: Floats, gain: Floats, loss: Floats
) -> Floats:
    """E[y·gain] - E[(1-y)·loss] for items of a law, each by the law without it."""
    # One entry more in front: without an item the sum can be one lower.
    rest = without_items(np.append(0.0, law), p, q)
    return p * (rest[:, :-1] @ gain) - q * (rest[:, 1:] @ loss)


def best_of_rates(
    p: Floats,
    q: Floats,
    indptr: Integers,
    sizes: Integers,
    kind: int,
    zero: float,
    low: Integers,
    high: Integers,
    floor: Floats,
    extra: Integers,
    out: Floats,
) -> None:
    """Best k of every segment, its value, the value at `extra`, and how many sums."""
    for g in range(indptr.size - 1):
        part, n = slice(indptr[g], indptr[g + 1]), int(sizes[g])
        pi, qi = p[part], q[part]
        m, mean = pi.size, float(pi.sum())
        tolerance = 1e-18 * min(1.0, mean, float(qi.sum()) + n - m)
        value, bound = np.full(m + 1, np.nan), np.full(m + 1, np.inf)
        hits = np.concatenate([[0.0], np.cumsum(pi)])
        alarms = np.arange(m + 1) - hits
        guess = rates_on_counts(kind, zero, n, hits, alarms, np.full(m + 1, mean))
        inside = slice(low[g], high[g] + 1)
        for k in (int(extra[g]), int(low[g] + np.argmax(guess[inside]))):
            value[k], slopes = _sum_of_rates(kind, zero, n, pi, qi, k, tolerance)
        while True:
            rises, falls = slopes()
            above = value[k] + np.cumsum(rises)
            below = value[k] + np.cumsum(falls[::-1])[::-1]
            bound[k + 1 :] = np.minimum(bound[k + 1 :], above)
            bound[:k] = np.minimum(bound[:k], below)
            top = float(np.nanmax(value[inside]))
            bar = top - max(1e-12 * top, floor[g])
            best = int(low[g] + np.argmax(value[inside] >= bar))
            limit = np.where(np.arange(m + 1) < best, bar, top) * (1 - 1e-13)
            limit[best:] = top * (1 + 1e-13)
            left = np.where(np.isnan(value) & (bound > limit), bound, -np.inf)[inside]
            if not (left > -np.inf).any():
                break
            k = int(low[g] + np.argmax(left))
            value[k], slopes = _sum_of_rates(kind, zero, n, pi, qi, k, tolerance)
        done = np.count_nonzero(~np.isnan(value))
        out[:, g] = best, value[best], value[extra[g]], done


def _sum_of_rates(
    kind: int, zero: float, n: int, p: Floats, q: Floats, k: int, tolerance: float
) -> tuple[float, Callable[[], tuple[Floats, Floats]]]:
    """E_k, and what tells how much every item above and below k adds at most."""
    hit_low, hits = law_of_items(p[:k], q[:k], tolerance)
    miss_low, misses = law_of_items(p[k:], q[k:], tolerance)
    a = hit_low + np.arange(hits.size, dtype=np.float64)[:, None]
    t, b = a + miss_low + np.arange(misses.size), k - a
    inverse_t, inverse_u = 1.0 / np.maximum(t, 1.0), 1.0 / np.maximum(n - t, 1.0)
    none, every = t <= 0.0, t >= n

    def at(hit: int, alarm: int) -> Floats:
        x = np.clip((a + hit) * inverse_t, 0.0, 1.0)
        y = np.clip(1.0 - (b + alarm) * inverse_u, 0.0, 1.0)
        x[none] = y[every] = zero
        values = mean_of_rates(kind, x, y)
        values[none | every] = np.nan_to_num(values[none | every], nan=0.0)
        return values

    here = at(0, 0)

    def slopes() -> tuple[Floats, Floats]:
        """The worth falls with p: one item bounds those that lie further off."""
        gain, loss = hits @ (at(1, 0) - here), hits @ (here - at(0, 1))
        places, run = spaced(p.size - k)
        above = item_worths(misses, p[k + places], q[k + places], gain, loss)
        gain, loss = (here - at(-1, 0)) @ misses, (at(0, -1) - here) @ misses
        places, back = spaced(k)
        below = -item_worths(hits, p[k - 1 - places], q[k - 1 - places], gain, loss)
        return np.repeat(above, run), np.repeat(below, back)[::-1]

    return float(hits @ here @ misses), slopes


def spaced(count: int) -> tuple[Integers, Integers]:
    """Places below count, the further the fewer, and how many each stands for."""
    places = np.arange(min(count, 8))
    if count > 8:
        steps = np.geomspace(8, count, 8 * int(np.log2(count / 8)) + 8)
        places = np.append(places, np.unique(steps.astype(np.int64)))
    places = places[places < count]
    return places, np.diff(np.append(places, count))


def members(
    key: int, order: Integers, ends: Integers, spans: Integers
) -> Iterator[tuple[int, slice, slice]]:
    """Pairs of a key, and where their laws lie."""
    for i in order[ends[key] : ends[key + 1]].tolist():
        start, size, miss_start, miss_size = spans[i].tolist()
        yield i, slice(start, start + size), slice(miss_start, miss_start + miss_size)


def key_boxes(
    order: Integers, ends: Integers, spans: Integers, hits: Floats, misses: Floats
) -> Integers:
    """Least and most hits, and misses, that the pairs of a key can have, by rows."""
    own, starts = spans[order], ends[:-1]
    low, left = hits[0, own[:, 0]].astype(int), misses[0, own[:, 2]].astype(int)
    return np.stack(
        [
            np.minimum.reduceat(low, starts),
            np.maximum.reduceat(low + own[:, 1], starts),
            np.minimum.reduceat(left, starts),
            np.maximum.reduceat(left + own[:, 3], starts),
        ],
        axis=1,
    )


def widest_key(
    order: Integers, ends: Integers, spans: Integers, hits: Floats, misses: Floats
) -> tuple[int, int]:
    """Most rows, and most cells, that a key can have."""
    low, high, left, right = key_boxes(order, ends, spans, hits, misses).T
    rows = high - low
    return int(rows.max()), int((rows * (right - left)).max())


def key_cells(
    key: int,
    box: list[int],
    order: Integers,
    ends: Integers,
    spans: Integers,
    asked: Floats,
    hits: Floats,
    misses: Floats,
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Hits and misses of a key, and which pairs of them are worth a cell."""
    low, high, left, right = box
    kept = np.zeros((high - low, right - left), dtype=bool)
    for i, one, other in members(key, order, ends, spans):
        if asked[i, 2] < 0.0:
            return hits[0, one], misses[0, other], ~kept
        a, r = int(hits[0, one.start]) - low, int(misses[0, other.start]) - left
        chance = hits[1, one, None] * misses[1, other]
        kept[a : a + chance.shape[0], r : r + chance.shape[1]] |= chance >= asked[i, 2]
    counts = np.arange(max(high, right), dtype=np.float64)
    return counts[low:high], counts[left:right], kept


def fill_cells(
    key: int,
    limit: int,
    order: Integers,
    ends: Integers,
    spans: Integers,
    asked: Floats,
    hits: Floats,
    misses: Floats,
    bases: Integers,
    rows: Integers,
    cells: Floats,
) -> tuple[int, int]:
    """Cells of the keys from `key` on, until there are `limit` of them or of rows."""
    known = order, ends, spans
    used = last_row = 0
    boxes = key_boxes(*known, hits, misses).tolist()
    while key < ends.size - 1 and used < limit and last_row < limit:
        box = boxes[key]
        bases[key] = last_row, box[0], box[2]
        own_hits, own_misses, kept = key_cells(key, box, *known, asked, hits, misses)
        some = kept.any(axis=1)
        first = some * kept.argmax(axis=1)
        last = some * (kept.shape[1] - kept[:, ::-1].argmax(axis=1))
        column = np.arange(kept.shape[1])
        a, r = ((column >= first[:, None]) & (column < last[:, None])).nonzero()
        k, n = asked[order[ends[key]], :2]
        tp, place = own_hits[a], slice(used, used + a.size)
        for row, counts in zip(cells, (tp, k, tp + own_misses[r], n), strict=True):
            row[place] = counts
        starts = used + np.cumsum(last - first) - (last - first)
        own = np.stack([first, last, starts], axis=1)
        rows[last_row : last_row + some.size] = own
        used, last_row, key = used + a.size, last_row + some.size, key + 1
    return key, used


def sum_cells(
    key: int,
    last: int,
    order: Integers,
    ends: Integers,
    spans: Integers,
    hits: Floats,
    misses: Floats,
    bases: Integers,
    rows: Integers,
    values: Floats,
    work: Floats,
    out: Floats,
) -> bool:
    """out[0] = E[value | defined] of every pair of keys key…last-1; out[1] the rest."""
    finite = True
    for now in range(key, last):
        first_row, low, left = bases[now].tolist()
        for i, one, other in members(now, order, ends, spans):
            first = first_row + int(hits[0, one.start]) - low
            begin, stop, place = rows[first : first + one.stop - one.start].T[
                :, :, None
            ]
            column = np.arange(other.stop - other.start)
            column += int(misses[0, other.start]) - left
            inside = (column >= begin) & (column < stop)
            chance = hits[1, one, None] * misses[1, other]
            cell = (place + column - begin)[inside]
            value, weight = values[cell], chance[inside]
            total = float(weight @ value)
            if not math.isfinite(total):
                finite = False
                known = ~np.isnan(value)
                mass = float(weight[known].sum())
                total = float(weight[known] @ value[known])
                total = total / mass if mass > 1e-300 else math.nan
            out[0, i] = total
            out[1, i] = np.abs(chance[~inside]).sum()
    return finite
