"""Plain numpy twins of the kernels that make curves, segment by segment.

Each has the name and the arguments of its kernel, and none of its tricks.
"""

from __future__ import annotations

import numpy as np

from argmetric._expected._hermite import label_powers
from argmetric._input.types import Floats, Integers

BLOCK = 64  # items of a law that is made beside others
NEVER = -760.0  # a logarithm whose exponential is 0


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
    """Affine curves by quadrature over T; the kernel says what `rows` hold."""
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
