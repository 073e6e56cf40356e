"""Plain numpy twins of the kernels: the tests' oracle, and the path of small inputs.

Each has the name and the arguments of its compiled twin, and none of its tricks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from argmetric._expected.kernels.reference_screen import block_laws
from argmetric._expected.kernels.reference_screen import laws_at as laws_at
from argmetric._expected.kernels.reference_screen import power_sums_at as power_sums_at
from argmetric._expected.kernels.reference_screen import rough_cells as rough_cells
from argmetric._expected.kernels.reference_screen import rough_laws as rough_laws
from argmetric._expected.kernels.reference_screen import rough_sums as rough_sums
from argmetric._expected.kernels.reference_sums import fill_cells as fill_cells
from argmetric._expected.kernels.reference_sums import sum_cells as sum_cells
from argmetric._expected.kernels.reference_sums import widest_key as widest_key
from argmetric._input.types import Floats, Integers

NEVER = -760.0  # a logarithm whose exponential is 0
MOST_KEPT = 32  # items of a vector whose arrays are kept: at most 50 kB each


def log_phi(p: Floats, q: Floats, u: Floats) -> Floats:
    """log(q_i + p_i·u_j), from whichever of 1 - p(1-u) and q + pu is accurate."""
    drop = p[:, None] * (1.0 - u)
    direct = np.log(np.maximum(q[:, None] + p[:, None] * u, 1e-320))
    return np.where(drop <= 0.5, np.log1p(-np.minimum(drop, 0.5)), direct)


def hit_curves(
    p: Floats,
    q: Floats,
    indptr: Integers,
    rule: Integers,
    rules: Integers,
    s: Floats,
    w: Floats,
    alpha: float,
    base: Floats,
    dk: float,
    dt: float,
    low: Floats,
    high: Floats,
    out: Floats,
) -> None:
    """E[tp / (base + dk·k + dt·t)^α] for every k ≥ 1 of every segment."""
    for g in range(indptr.size - 1):
        part = slice(indptr[g], indptr[g + 1])
        m = indptr[g + 1] - indptr[g]
        nodes = slice(rules[rule[g]], rules[rule[g] + 1])
        scaled, weight = s[nodes] / low[g], w[nodes] / low[g] ** alpha
        u = np.exp(-scaled * dt)
        level = log_phi(p[part], q[part], u).sum(axis=0)
        hits = np.cumsum(p[part, None] / (q[part, None] + p[part, None] * u), axis=0)
        k = np.arange(1, m + 1)[:, None]
        terms = np.exp(level - scaled * (base[g] + dt + dk * k)) * hits
        out[indptr[g] + g] = 0.0
        out[indptr[g] + g + 1 : indptr[g + 1] + g + 1] = terms @ weight


def ratio_curves(
    p: Floats,
    q: Floats,
    indptr: Integers,
    rule: Integers,
    rules: Integers,
    s: Floats,
    w: Floats,
    c: Floats,
    d: Floats,
    sizes: Integers,
    low: Floats,
    high: Floats,
    out: Floats,
) -> None:
    """E[(c0·n+c1·tp+c2·k+c3·t) / (d0·n+d1·tp+d2·k+d3·t)] for every k."""
    for g in range(indptr.size - 1):
        part = slice(indptr[g], indptr[g + 1])
        m, n = indptr[g + 1] - indptr[g], float(sizes[g])
        nodes = slice(rules[rule[g]], rules[rule[g] + 1])
        scaled, weight = s[nodes] / low[g], w[nodes] / low[g]
        u1, u2 = np.exp(-scaled * (d[1] + d[3])), np.exp(-scaled * d[3])
        zero = np.zeros((1, scaled.size))
        k = np.arange(m + 1)[:, None]
        pi, qi = p[part, None], q[part, None]

        def before(terms: Floats, zero: Floats = zero) -> Floats:
            return np.concatenate([zero, np.cumsum(terms, axis=0)])

        def after(terms: Floats, zero: Floats = zero) -> Floats:
            return np.concatenate([np.cumsum(terms[::-1], axis=0)[::-1], zero])

        level = before(log_phi(p[part], q[part], u1))
        level += after(log_phi(p[part], q[part], u2))
        level -= scaled * (d[0] * n + d[2] * k)
        numerator = (
            c[0] * n + c[2] * k + (c[1] + c[3]) * before(pi * u1 / (qi + pi * u1))
        )
        numerator = numerator + c[3] * after(pi * u2 / (qi + pi * u2))
        curve = (np.exp(level) * numerator) @ weight
        out[indptr[g] + g : indptr[g + 1] + g + 1] = curve


def laws(p: Floats, q: Floats) -> list[Floats]:
    """Laws of the number of positives among the first 0, 1, …, m items."""
    result = [np.ones(1)]
    for pi, qi in zip(p, q, strict=True):
        result.append(np.convolve(result[-1], [qi, pi]))
    return result


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


def both_laws(p: Floats, q: Floats) -> tuple[Floats, Floats]:
    """Laws of the positives among the first k items, and among the others, by rows."""
    m = p.size
    room = _rooms.of(m)
    room.chances_of_1[:, 0], room.chances_of_1[:, 1] = p[:, None], p[::-1, None]
    room.chances_of_0[:, 0], room.chances_of_0[:, 1] = q[:, None], q[::-1, None]
    multiply, add, hit, missed = np.multiply, np.add, *room.terms
    for same, one_less, chance_of_0, chance_of_1, new in room.steps:
        multiply(same, chance_of_0, missed)
        multiply(one_less, chance_of_1, hit)
        add(missed, hit, new)
    rows = room.rows.copy()
    return rows[:, 1 : m + 2], rows[::-1, m + 2 :]


class _Room:
    """Arrays for the laws of m items, and the parts of them that a step works on.

    An item takes three calls of numpy, and to cut out the parts would take as long:
    they are made once for all vectors of a size.
    """

    def __init__(self, m: int) -> None:
        # A zero, the law of the first k, and that of the last k
        self.rows = np.zeros((m + 1, 2 * m + 3))
        self.rows[0, 1] = self.rows[0, m + 2] = 1.0
        self.chances_of_0, self.chances_of_1 = np.empty((2, m, 2, m + 1))
        self.terms = np.empty((2, 2 * m + 2))
        self.steps = tuple(
            zip(
                self.rows[:-1, 1:],
                self.rows[:-1, :-1],
                self.chances_of_0.reshape(m, 2 * m + 2),
                self.chances_of_1.reshape(m, 2 * m + 2),
                self.rows[1:, 1:],
                strict=True,
            )
        )


class _Rooms(threading.local):
    """Those of a thread; of short vectors, which services ask for again and again."""

    def __init__(self) -> None:
        self.kept: dict[int, _Room] = {}

    def of(self, m: int) -> _Room:
        if m > MOST_KEPT:
            return _Room(m)
        if m not in self.kept:
            self.kept[m] = _Room(m)
        return self.kept[m]


_rooms = _Rooms()


def harmonic_curves(
    p: Floats,
    q: Floats,
    indptr: Integers,
    longest: int,
    jk: int,
    jt: int,
    scale: float,
    empty: float,
    out: Floats,
) -> None:
    """E[scale·tp / (jk·k + jt·t)] for every k of segments up to `longest` items.

    From k = m down `inverse` at i becomes E[scale / (i + jt·misses)].
    """
    for g in range(indptr.size - 1):
        part = slice(indptr[g], indptr[g + 1])
        m = indptr[g + 1] - indptr[g]
        if m > longest:
            continue
        hits = both_laws(p[part], q[part])[0] * np.arange(m + 1)
        out[indptr[g] + g] = empty * q[part].prod()
        inverse = scale / np.maximum(np.arange((jk + jt) * m + 1), 1)
        for k in range(m, 0, -1):
            at = inverse[jk * k : (jk + jt) * k + 1 : jt]
            out[indptr[g] + g + k] = hits[k, : k + 1] @ at
            item = indptr[g] + k - 1
            inverse = q[item] * inverse[:-jt] + p[item] * inverse[jt:]


def affine_curves(
    p: Floats,
    q: Floats,
    indptr: Integers,
    places: Integers,
    hits_k: Floats,
    hits_t: Floats,
    rest_k: Floats,
    rest_t: Floats,
    floor: Floats,
    rate: Floats,
    out: Floats,
) -> None:
    """E[(hits_k·hits_t·tp + rest_k·rest_t) / (floor + rate·t)] for every k ≥ 1."""
    if not rate.size:
        floor, rate = np.ones(hits_k.size), np.zeros(hits_k.size)
    for g in range(indptr.size - 1):
        part, m = slice(indptr[g], indptr[g + 1]), int(indptr[g + 1] - indptr[g])
        tolerance = 1e-18 * min(1.0, float(p[part].sum()))
        low, law = law_of_items(p[part], q[part], tolerance)
        if low > 0:  # without an item T can be one lower
            low, law = low - 1, np.append(0.0, law)
        t, place = low + np.arange(law.size), places[g]
        joint = np.zeros((m, law.size))
        joint[:, 1:] = p[part, None] * without_items(law, p[part], q[part])[:, :-1]
        here, middle = slice(place + 1, place + m + 1), m // 2 + 1
        below = floor[here, None] + rate[here, None] * t
        hits = hits_t[place + t] * np.cumsum(joint, axis=0)
        missed = np.cumsum(joint[::-1], axis=0)[::-1]
        whole = law * t - np.concatenate([missed[1:], np.zeros((min(m, 1), law.size))])
        hits[middle:] = hits_t[place + t] * whole[middle:]
        rest = rest_k[here, None] * (rest_t[place + t] * law)
        curve = out[indptr[g] + g : indptr[g + 1] + g + 1]
        curve[0] = 0.0
        curve[1:] = ((hits_k[here, None] * hits + rest) / below).sum(axis=1)


def smooth_curves(
    p: Floats,
    indptr: Integers,
    powers: Floats,
    rows: Floats,
    places: Integers,
    hits_k: Floats,
    rest_k: Floats,
    floor: Floats,
    rate: Floats,
    out: Floats,
) -> None:
    """The same by quadrature over T: see the compiled twin for `powers` and `rows`."""
    if not rate.size:
        floor, rate = np.ones(hits_k.size), np.zeros(hits_k.size)
    degrees = np.arange(1, powers.shape[1] + 1)
    for g in range(indptr.size - 1):
        items, m = (
            p[indptr[g] : indptr[g + 1], None] ** degrees,
            int(np.diff(indptr)[g]),
        )
        t, law, hits_t, joint_t, rest_t = rows[g]
        here, middle = slice(places[g], places[g] + m + 1), max(m // 2, 1)
        below = floor[here, None] + rate[here, None] * t
        hits = np.zeros((m + 1, degrees.size))
        hits[1:] = np.cumsum(items, axis=0)
        hits[middle + 1 : m] = -np.cumsum(items[:middle:-1], axis=0)[::-1]
        hits[m] = 0.0
        joint = hits_k[here, None] * joint_t * (hits @ powers[g])
        rest = rest_k[here, None] * rest_t
        rest[middle + 1 :] += hits_k[here, None][middle + 1 :] * (hits_t * t)
        terms = law * rest / below + joint / (below + rate[here, None])
        curve = out[indptr[g] + g : indptr[g + 1] + g + 1]
        curve[:] = terms.sum(axis=1)
        curve[0] = 0.0


def miss_curves(
    p: Floats,
    q: Floats,
    indptr: Integers,
    base: Floats,
    dk: float,
    dt: float,
    out: Floats,
) -> None:
    """E[tp / (base + dk·k + dt·misses)] for every k ≥ 1 of every segment."""
    for g in range(indptr.size - 1):
        low, law, place = 0, np.ones(1), indptr[g] + g
        out[place] = 0.0
        hits = np.cumsum(p[indptr[g] : indptr[g + 1]])
        steps = dt * np.arange(hits.size + 1.0)
        for k in range(hits.size, 0, -1):
            below = base[g] + dk * k + dt * low + steps[: law.size]
            out[place + k] = hits[k - 1] * (law / below).sum()
            item = indptr[g] + k - 1
            law = np.convolve(law, (q[item], p[item]))
            if k % 32 == 0:
                kept = np.flatnonzero(law > 1e-18)
                low, law = low + int(kept[0]), law[kept[0] : kept[-1] + 1]


def without_items(law: Floats, p: Floats, q: Floats) -> Floats:
    """Laws of the sum without each item, by the stable half of the division."""
    out = np.zeros((p.size, law.size))
    for rising in (True, False):
        chosen = (p <= 0.5) == rising
        large, small = (q, p) if rising else (p, q)
        ratio = small[chosen] / large[chosen]
        rows = law[:, None] / large[chosen]
        # From the one end each entry takes its part from the one before.
        if rising:
            for t in range(1, law.size):
                rows[t] -= ratio * rows[t - 1]
            out[chosen] = rows.T
        else:
            for t in range(law.size - 2, 0, -1):
                rows[t] -= ratio * rows[t + 1]
            out[chosen, :-1] = rows[1:].T
    return out


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


def table_laws(
    p: Floats,
    q: Floats,
    indptr: Integers,
    chosen: Integers,
    selected: npt.NDArray[np.bool_],
    cell: Integers,
    rest: Floats,
    weight: Floats,
    mass: Floats,
    moment: Floats,
) -> None:
    """Add the laws of segments to `mass` at columns, and the means of `rest` there."""
    m = cell.shape[0] - 1
    for g in chosen:
        part = slice(indptr[g], indptr[g + 1])
        mark = selected[part]
        k = int(mark.sum())
        hits = laws(p[part][mark], q[part][mark])[-1]
        misses = laws(p[part][~mark], q[part][~mark])[-1]
        chance = weight[g] * hits[:, None] * misses
        inside = (k, slice(k + 1), slice(m - k + 1))
        np.add.at(mass[g], cell[inside], chance)
        np.add.at(moment[g], cell[inside], chance * rest[inside])


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


def prefix_means(p: Floats, indptr: Integers, out: Floats) -> None:
    """Running sums of p within each segment, starting with 0."""
    for g in range(indptr.size - 1):
        out[indptr[g] + g] = 0.0
        part = slice(indptr[g] + g + 1, indptr[g + 1] + g + 1)
        np.cumsum(p[indptr[g] : indptr[g + 1]], out=out[part])


def segment_moments(p: Floats, q: Floats, indptr: Integers, out: Floats) -> None:
    """Per segment: Σp, Σpq."""
    for g in range(indptr.size - 1):
        part = slice(indptr[g], indptr[g + 1])
        out[g, :2] = p[part].sum(), (p[part] * q[part]).sum()


def edge_logs(p: Floats, q: Floats, indptr: Integers, out: Floats) -> None:
    """Per segment: log P(no positive), log P(no negative), -inf where that is never."""
    for g in range(indptr.size - 1):
        part = slice(indptr[g], indptr[g + 1])
        pi, qi = p[part], q[part]
        with np.errstate(divide="ignore"):
            none = np.where(pi < 0.5, np.log1p(-np.minimum(pi, 0.5)), np.log(qi))
            every = np.where(qi < 0.5, np.log1p(-np.minimum(qi, 0.5)), np.log(pi))
        logs = np.array([none.sum(), every.sum()])
        out[g] = np.where(logs < NEVER, -np.inf, logs)


def choose(
    curve: Floats,
    indptr: Integers,
    low: Integers,
    high: Integers,
    sign: float,
    floor: Floats,
    best: Integers,
) -> None:
    """Best k of every segment within its range; ties go to the smaller k."""
    for g in range(indptr.size - 1):
        first = indptr[g] + g + low[g]
        part = sign * curve[first : indptr[g] + g + high[g] + 1]
        part = np.where(np.isnan(part), -np.inf, part)
        top = part.max()
        bar = top - max(1e-12 * abs(top), floor[g]) if top > -np.inf else top
        best[g] = low[g] + int(np.argmax(part >= bar))


def law_of_items(p: Floats, q: Floats, tolerance: float) -> tuple[int, Floats]:
    """Law of the number of positives, in blocks and then block by block; its low."""
    low, law = 0, np.ones(1)
    for one in block_laws(p, q, np.array([p.size]))[0]:
        law = np.convolve(law, one)
        kept = np.flatnonzero(law > tolerance)
        if kept.size:
            low, law = low + int(kept[0]), law[kept[0] : kept[-1] + 1]
    return low, law


def mean_of_rates(kind: int, x: Floats, y: Floats) -> Floats:
    """Geometric (0) or harmonic (1) mean; 1 less the quadratic mean of errors (2)."""
    if kind == 0:
        return np.sqrt(x * y)
    if kind == 1:
        return 2.0 * x * y / np.maximum(x + y, 1e-300)
    return 1.0 - np.sqrt(((1.0 - x) ** 2 + (1.0 - y) ** 2) / 2.0)


def rates_on_counts(
    kind: int, zero: float, n: int, a: Floats, b: Floats, t: Floats
) -> Floats:
    """Mean of the rates for a hits and b false alarms; 0 where it is left out."""
    x = np.where(t > 0, a / np.maximum(t, 1), zero)
    y = np.where(t < n, 1.0 - b / np.maximum(n - t, 1), zero)
    values = mean_of_rates(kind, np.clip(x, 0.0, 1.0), np.clip(y, 0.0, 1.0))
    return np.where(np.isnan(values), 0.0, values) if np.isnan(zero) else values


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
