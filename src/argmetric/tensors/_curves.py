"""The expected metric of rows of sorted probabilities, for every k at once.

Every function takes p and q = 1-p of the shape (rows, m), p descending, and gives
(rows, m+1): the value of the k most likely items of each row. Rows may be padded
with p = 0 behind their true sizes n. Sums over nodes run node by node, so that no
tensor of (rows, m, nodes) is made. Functions of the counts are evaluated on the host,
once for each size that occurs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from argmetric._expected import regular_at_edges
from argmetric._expected.kernels.nodes import exponential_sum
from argmetric._ground.types import Floats, Integers
from argmetric.metrics import (
    AffineForm,
    Form,
    ItemForm,
    MeanForm,
    Metric,
    RatioForm,
)
from argmetric.tensors._arrays import Tensor, like
from argmetric.tensors._segments import distinct_sizes

BLOCK = 256  # items whose running sums are taken before blocks are added up
# Rows of which so few items differ from their likely labels that 7 are none at all.
NEARLY_CERTAIN, MOST_UNLIKELY = 0.01, 7
WHOLE_LAW_ROWS = 1024  # longer rows keep a window of the law of T, found by a DFT
WINDOW = 11.0  # standard deviations on each side of the mean, and 45 counts more


class Padded:
    """Sorted rows: p, q, and their true sizes on the host and on the device."""

    def __init__(self, xp: Any, p: Tensor, q: Tensor, sizes: Integers) -> None:
        self.xp, self.p, self.q = xp, p, q
        self.count, self.m = p.shape
        distinct, place = distinct_sizes(sizes)
        self.distinct = distinct.astype(np.float64)
        self.k = np.arange(self.m + 1.0)
        self.place = None if place is None else like(xp, place, p, xp.int64)

    def lift(self, table: Floats) -> Tensor:
        """A host table, one row per size, as one row per row (or one for all)."""
        moved = like(self.xp, np.array(table, dtype=np.float64), self.p)
        if self.place is None:
            return moved
        return self.xp.take(moved, self.place, axis=0)

    def of_k(self, function: Callable[[Floats, Floats], Any]) -> Tensor:
        """A function of (k, n) at every k of every row."""
        return self.lift(self.at(function, self.k))

    def at(self, function: Callable[[Floats, Floats], Any], k: Floats) -> Floats:
        """A function of (k, n) on the host: sizes down, counts across."""
        n = np.broadcast_to(self.distinct[:, None], (self.distinct.size, k.size))
        with np.errstate(all="ignore"):
            values = function(np.minimum(k, n), n)
        return np.broadcast_to(np.asarray(values, dtype=np.float64), n.shape)

    def of_n(self, values: Floats) -> Tensor:
        """One number for each size, as a column."""
        return self.lift(np.asarray(values, dtype=np.float64)[:, None])

    @property
    def n(self) -> Tensor:
        return self.of_n(self.distinct)

    @property
    def valid(self) -> Tensor | None:
        """Items that are no padding; None where there is none."""
        if self.place is None and self.distinct[0] == self.m:
            return None
        items = like(self.xp, self.k[:-1], self.p)
        return items[None, :] < self.n

    def misses(self) -> tuple[Tensor, Tensor]:
        """Q and p with padding as a certain 0: the problem with classes exchanged."""
        valid = self.valid
        if valid is None:
            return self.q, self.p
        return self.xp.where(valid, self.q, 0.0), self.xp.where(valid, self.p, 1.0)


def running_sum(xp: Any, x: Tensor) -> Tensor:
    """Cumulative sums along rows, on two levels in long ones: equal items drift."""
    rows, m = x.shape
    if m <= 4 * BLOCK:
        return xp.cumulative_sum(x, axis=-1)
    extra = -m % BLOCK
    if extra:
        padding = xp.zeros((rows, extra), dtype=x.dtype, device=x.device)
        x = xp.concat([x, padding], axis=-1)
    inner = xp.cumulative_sum(xp.reshape(x, (rows, -1, BLOCK)), axis=-1)
    totals = inner[:, :, -1]
    before = running_sum(xp, totals) - totals
    return xp.reshape(inner + before[:, :, None], (rows, -1))[:, :m]


def sum_from(xp: Any, x: Tensor) -> Tensor:
    """Sums of the items behind the first k, for k = 0…m."""
    whole = xp.flip(running_sum(xp, xp.flip(x, axis=-1)), axis=-1)
    return xp.concat([whole, xp.zeros_like(whole[:, :1])], axis=-1)


def from_zero(xp: Any, x: Tensor) -> Tensor:
    """A curve from k = 1 on, with 0 at k = 0 in front."""
    return xp.concat([xp.zeros_like(x[:, :1]), x], axis=-1)


def log_phi(xp: Any, p: Tensor, q: Tensor, exponent: float) -> tuple[Tensor, Tensor]:
    """φ = q + p·u and log φ for u = e^-exponent, accurate for small and large p."""
    phi = q + p * math.exp(-exponent)
    gain = p * math.expm1(-exponent)
    safe = xp.where(gain > -0.5, gain, -0.5)
    small = xp.where(phi > 0.0, phi, 5e-324 if phi.dtype == xp.float64 else 1e-45)
    return phi, xp.where(gain > -0.5, xp.log1p(safe), xp.log(small))


def share(xp: Any, p: Tensor, phi: Tensor, exponent: float) -> Tensor:
    """p·u/φ, the chance of a 1 in the tilted law; 0 where φ is."""
    safe = xp.where(phi > 0.0, phi, 1.0)
    return p * math.exp(-exponent) / safe


def ratio_curve(rows: Padded, form: RatioForm) -> Tensor:
    """E[(c·counts)/(d·counts)], 0/0 as 0, by exponential sums.

    1/D = Σ w·e^(-s·D), and E[tp·e^(-s·D)] = e^(-s(d0·n + d2·k))·Π_{j≤k} φ_j(u1)·
    Π_{j>k} φ_j(u3)·Σ_{i≤k} p_i·u1/φ_i(u1) for u1 = e^(-s(d1+d3)), u3 = e^(-s·d3).
    """
    xp, p, q = rows.xp, rows.p, rows.q
    (c0, c1, c2, c3), (d0, d1, d2, d3) = form.c, form.d
    low, high = form.denominator_range(rows.distinct, rows.distinct)
    k = like(xp, rows.k[1:], p)[None, :]
    only_hits = form.counts_hits_only
    out = xp.zeros_like(p)
    first = xp.zeros_like(p[:, :1])  # k = 0
    n = rows.n
    hits = running_sum(xp, p) if d1 + d3 == 0 else None
    nodes = exponential_sum(1.0, float(low.min()), float(high.max()))
    for s, w in zip(*(x.tolist() for x in nodes), strict=True):
        phi1, log1 = log_phi(xp, p, q, s * (d1 + d3))
        if hits is None:
            tilted = running_sum(xp, share(xp, p, phi1, s * (d1 + d3)))
        else:
            tilted = hits
        if d1 == 0:
            whole = log_after = xp.sum(log1, axis=-1, keepdims=True)
            phi3 = phi1
        else:
            phi3, log3 = log_phi(xp, p, q, s * d3)
            log_after = sum_from(xp, log3)
            whole, log_after = log_after[:, :1], log_after[:, 1:]
            if hits is None:
                log_after = log_after + running_sum(xp, log1)
        scale = w * xp.exp(log_after - s * (d0 * n + d2 * k))
        if only_hits:
            out = out + scale * (c1 * tilted)
            continue
        rest = sum_from(xp, share(xp, p, phi3, s * d3))
        hit = (c1 + c3) * tilted + c3 * rest[:, 1:]
        out = out + scale * (c0 * n + c2 * k + hit)
        at_none = c0 * n + c3 * rest[:, :1]
        first = first + w * xp.exp(whole - s * d0 * n) * at_none
    return xp.concat([first, out], axis=-1)


def item_weights(xp: Any, p: Tensor, q: Tensor, exponent: float) -> Tensor:
    """p_i·E[(1 + T without i)^-exponent] of every item."""
    weights = xp.zeros_like(p)
    for s, w in zip(
        *(x.tolist() for x in exponential_sum(exponent, 1.0, max(p.shape[1], 1))),
        strict=True,
    ):
        phi, log = log_phi(xp, p, q, s)
        whole = xp.exp(xp.sum(log, axis=-1, keepdims=True))
        weights = weights + w * whole * share(xp, p, phi, s)
    return weights


def item_curve(rows: Padded, form: ItemForm) -> Tensor:
    """E[hits·tp/t^e + rejections·tn/(n-t)^e + offset], 0/0 as 0."""
    xp = rows.xp
    out = xp.zeros_like(from_zero(xp, rows.p)) + form.offset
    if form.hits is not None:
        weights = item_weights(xp, rows.p, rows.q, form.exponent)
        out = out + rows.of_k(form.hits) * from_zero(xp, running_sum(xp, weights))
    if form.rejections is not None:
        weights = item_weights(xp, *rows.misses(), form.exponent)
        out = out + rows.of_k(form.rejections) * sum_from(xp, weights)
    return out


def mean_curve(rows: Padded, metric: Metric, form: MeanForm) -> Tensor:
    """E[metric] of a metric that is affine in tp and t, from the expected counts."""
    xp = rows.xp
    hits = from_zero(xp, running_sum(xp, rows.p))
    missed = sum_from(xp, rows.p)
    if form.cells is not None and form.scale is not None:
        q, _ = rows.misses()
        false, rejected = from_zero(xp, running_sum(xp, q)), sum_from(xp, q)
        a, b, c, d = form.cells
        total = a * hits + b * false + c * missed + d * rejected
        return total / rows.of_k(form.scale)

    def per_hit(k: Floats, n: Floats) -> Floats:
        gain = metric.value(k, k, k, n) - metric.value(0.0, k, 0.0, n)
        return gain / np.maximum(k, 1.0)

    def per_miss(k: Floats, n: Floats) -> Floats:
        gain = metric.value(0.0, k, n - k, n) - metric.value(0.0, k, 0.0, n)
        return gain / np.maximum(n - k, 1.0)

    none = rows.of_k(lambda k, n: metric.value(0.0, k, 0.0, n))
    return none + hits * rows.of_k(per_hit) + missed * rows.of_k(per_miss)


def law_of(xp: Any, p: Tensor, q: Tensor) -> Tensor:
    """P(sum = t) of every row, item after item."""
    law = xp.concat([xp.ones_like(p[:, :1]), xp.zeros_like(p)], axis=-1)
    for i in range(p.shape[1]):
        moved = from_zero(xp, law[:, :-1])
        law = law * q[:, i : i + 1] + moved * p[:, i : i + 1]
    return law


def law_of_sum(rows: Padded) -> tuple[Tensor, int]:
    """P(T = first + j) of every row, and the first count.

    Short rows add one item after the other, with all digits of small chances. Long
    ones take a window around the mean from a discrete Fourier transform, exact to
    about 1e-16 of the largest chance, unless the sum is nearly certain.
    """
    xp, p, q = rows.xp, rows.p, rows.q
    if rows.m <= WHOLE_LAW_ROWS:
        return law_of(xp, p, q), 0
    mean = xp.sum(p, axis=-1, keepdims=True)
    deviation = xp.sqrt(xp.sum(p * q, axis=-1, keepdims=True))
    first = max(int(-xp.max(WINDOW * deviation - mean, axis=0)[0]) - 45, 0)
    last = min(int(xp.max(mean + WINDOW * deviation, axis=0)[0]) + 45, rows.m)
    points = 1 << (last - first + 1).bit_length()
    counts = like(xp, np.arange(float(first), last + 1.0), p)[None, :]
    near = xp.sum(xp.where(p > 0.5, q, p), axis=-1, keepdims=True) < NEARLY_CERTAIN
    nearly = _nearly_certain_law(xp, p, q, counts) if bool(xp.any(near)) else None
    if nearly is not None and bool(xp.all(near)):
        return nearly, first
    law = xp.zeros_like(counts + mean)
    for j in range(points // 2 + 1):
        angle = 2.0 * math.pi * j / points
        # |q + p·e^(iθ)|² = 1 - 4pq·sin²(θ/2); its argument is accurate by atan2
        size = xp.log1p(-4.0 * p * q * math.sin(angle / 2.0) ** 2) / 2.0
        turn = xp.atan2(p * math.sin(angle), q + p * math.cos(angle))
        size = xp.exp(xp.sum(size, axis=-1, keepdims=True))
        turn = xp.sum(turn, axis=-1, keepdims=True)
        twice = 1.0 if j in (0, points // 2) else 2.0
        law = law + twice / points * size * xp.cos(turn - angle * counts)
    law = xp.clip(law, 0.0, None)
    return law if nearly is None else xp.where(near, nearly, law), first


def _nearly_certain_law(xp: Any, p: Tensor, q: Tensor, counts: Tensor) -> Tensor:
    """P(T = count) where few items differ from their likely labels, if any.

    P(a of the items with odds r differ) = P(none)·e_a(r), the elementary symmetric
    polynomials, of which a·e_a = Σ_i (-1)^(i-1)·e_(a-i)·Σ r^i (Newton).
    """
    likely = p > 0.5
    rare = xp.where(likely, q, p)
    odds = rare / (1.0 - rare)
    none = xp.exp(xp.sum(xp.log1p(-rare), axis=-1, keepdims=True))
    sides = []
    for side in (~likely, likely):
        r = xp.where(side, odds, 0.0)
        power, sums, e = r, [], [xp.ones_like(none)]
        for a in range(1, MOST_UNLIKELY + 1):
            sums.append(xp.sum(power, axis=-1, keepdims=True))
            power = power * r
            terms = [(-1) ** i * e[a - 1 - i] * sums[i] for i in range(a)]
            e.append(xp.clip(sum(terms) / a, 0.0, None))
        sides.append(e)
    certain = xp.sum(xp.astype(likely, p.dtype), axis=-1, keepdims=True)
    law = xp.zeros_like(counts + certain)
    for a, more in enumerate(sides[0]):
        for b, less in enumerate(sides[1]):
            if a + b <= MOST_UNLIKELY:
                chance = none * more * less
                law = law + chance * xp.astype(counts == certain + (a - b), p.dtype)
    return law


def affine_curve(rows: Padded, form: AffineForm) -> Tensor:
    """E[slope·tp + intercept] over 0 < T < n for 0 < k < n; 0 at other k.

    E[slope(k, T)·tp] = Σ_t Σ_{i≤k} p_i·P(T without i = t-1)·slope(k, t). The law
    without an item comes from that of T: upwards where p ≤ 1/2, downwards elsewhere,
    so that errors shrink. For k past the middle tp = T - fn: small values keep digits.
    """
    xp, p, q = rows.xp, rows.p, rows.q
    law, first = law_of_sum(rows)
    factors = form.factors
    assert factors is not None
    width = law.shape[1]
    late = rows.of_k(lambda k, n: 2.0 * k > n)

    def tables(t: int) -> tuple[Tensor, Tensor]:
        """Slope and intercept, tp = T where k is late, at t and every k."""

        def slope(k: Floats, n: Floats) -> Floats:
            inside = (k > 0) & (k < n) & (t > 0) & (t < n)
            values = form.slope(k, np.full_like(k, t), n)  # type: ignore[arg-type]
            return np.where(inside, values, 0.0)

        def rest(k: Floats, n: Floats) -> Floats:
            inside = (k > 0) & (k < n) & (t > 0) & (t < n)
            late = np.where(2.0 * k > n, t, 0.0) * slope(k, n)
            values = form.intercept(k, np.full_like(k, t), n)  # type: ignore[arg-type]
            return np.where(inside, values + late, 0.0)

        return rows.of_k(slope), rows.of_k(rest)

    separable = factors.floor is None
    small = p <= 0.5
    divisor = xp.where(small, q, p)
    weights = xp.zeros_like(p)
    out = xp.zeros_like(late * from_zero(xp, p))
    if separable:
        hits_t = rows.lift(_inside(rows, factors.hits_t, first, width))
        rest_t = rows.lift(_inside(rows, factors.rest_t, first, width))

    def add_hits(t: int, without: Tensor, chosen: Tensor) -> None:
        """Add Σ_{i≤k} p_i·P(T without i = t-1)·slope(k, t); `without` has that P."""
        nonlocal weights, out
        terms = xp.where(chosen, p * without, 0.0)
        place = t - first
        if separable:
            if place < width:
                weights = weights + terms * hits_t[:, place : place + 1]
        elif t < rows.m:
            out = out + tables(t)[0] * _until(rows, terms, late)

    without = xp.zeros_like(p)
    for j in range(width):
        without = (law[:, j : j + 1] - p * without) / divisor
        without = xp.where(small, without, 0.0)
        add_hits(first + j + 1, without, small)
    without = xp.zeros_like(p)
    for j in range(width - 1, 0, -1):
        without = (law[:, j : j + 1] - q * without) / divisor
        without = xp.where(small, 0.0, without)
        add_hits(first + j, without, ~small)
    if separable:

        def hits_k(k: Floats, n: Floats) -> Floats:
            return np.where((k > 0) & (k < n), factors.hits_k(k, n), 0.0)

        def rest_k(k: Floats, n: Floats) -> Floats:
            return np.where((k > 0) & (k < n), factors.rest_k(k, n), 0.0)

        counts = like(xp, np.arange(float(first), first + width), p)[None, :]
        rest = xp.sum(law * rest_t, axis=-1, keepdims=True)
        whole = xp.sum(law * hits_t * counts, axis=-1, keepdims=True)
        scale = rows.of_k(hits_k)
        out = scale * (_until(rows, weights, late) + late * whole)
        return out + rows.of_k(rest_k) * rest
    for j in range(width):
        if 0 < first + j < rows.m:
            out = out + tables(first + j)[1] * law[:, j : j + 1]
    return out


def _until(rows: Padded, terms: Tensor, late: Tensor) -> Tensor:
    """Sums up to each k; less those behind it where k is late."""
    xp = rows.xp
    before = from_zero(xp, running_sum(xp, terms))
    return xp.where(late > 0.5, -sum_from(xp, terms), before)


def _inside(
    rows: Padded, function: Callable[[Floats, Floats], Floats], first: int, width: int
) -> Floats:
    """A function of (t, n) on a window of t, 0 outside of 0 < t < n."""
    t = np.arange(float(first), first + width)
    n = rows.distinct[:, None]
    inside = (t > 0) & (t < n)
    return np.where(inside, function(np.where(inside, t, 1.0), np.maximum(n, 2.0)), 0.0)


def log_chance_of_none(xp: Any, p: Tensor, q: Tensor) -> Tensor:
    """Logarithm of P(no positive) of every row, accurate for tiny p and for tiny q."""
    few = p < 0.5
    positive = q > 0.0
    logs = xp.where(
        few,
        xp.log1p(-xp.where(few, p, 0.0)),
        xp.where(positive, xp.log(xp.where(positive, q, 1.0)), -math.inf),
    )
    return xp.sum(logs, axis=-1, keepdims=True)


def expected_curves(rows: Padded, metric: Metric) -> Tensor:
    """E[metric | metric defined] for every k of every row."""
    form = usable_form(metric, rows.distinct)
    if isinstance(form, MeanForm):
        return mean_curve(rows, metric, form)
    if isinstance(form, RatioForm):
        curve = ratio_curve(rows, form)
    elif isinstance(form, ItemForm):
        curve = item_curve(rows, form)
    else:
        assert isinstance(form, AffineForm)
        curve = affine_curve(rows, form)
    return settle_edges(rows, metric, form, curve)


def usable_form(metric: Metric, sizes: Floats) -> Form:
    """The form of a metric that tensors can compute; others are refused."""
    return _usable_form(metric, tuple(sizes.tolist()))


@lru_cache(maxsize=64)
def _usable_form(metric: Metric, all_sizes: tuple[float, ...]) -> Form:
    sizes = np.array(all_sizes)
    form = metric.form
    fine = isinstance(form, MeanForm) and form.curvature is None
    fine |= isinstance(form, AffineForm) and form.factors is not None
    if isinstance(form, ItemForm):
        # Leaving out 0/0 of two rates cancels digits: arrays take another way there
        two_rates = form.hits is not None and form.rejections is not None
        undefined = np.isnan(metric.value(0, 1, 0, 4))
        fine = not (two_rates and math.isnan(metric.zero_division) and undefined)
    if isinstance(form, RatioForm):
        low, _ = form.denominator_range(sizes, sizes)
        inside = all(map(form.positive_inside, sizes.astype(int).tolist()))
        fine = bool((low > 0).all()) and inside
    if form is None or not fine:
        zero = f" with zero_division={metric.zero_division:g}"
        raise ValueError(
            f"{metric.name}{zero if form is not None else ''} is computed for arrays "
            "alone: pass p.cpu().numpy()"
        )
    return form


def settle_edges(rows: Padded, metric: Metric, form: Form, curve: Tensor) -> Tensor:
    """Add what the metric is worth at T = 0 and T = n, and at k = 0 (and k = n)."""
    xp = rows.xp
    log_none = log_chance_of_none(xp, rows.p, rows.q)
    log_all = log_chance_of_none(xp, *rows.misses())
    none, every = xp.exp(log_none), xp.exp(log_all)
    some, not_every = -xp.expm1(log_none), -xp.expm1(log_all)
    inside = xp.where(every > none, not_every - none, some - every)
    inside = xp.clip(inside, 0.0, None)
    k = rows.k
    at_none = rows.at(lambda k, n: metric.value(0, k, 0, n), k)
    at_all = rows.at(lambda k, n: metric.value(k, k, n, n), k)
    regular = [
        rows.at(lambda k, n, i=i: regular_at_edges(form, metric, k, n)[i], k)  # type: ignore[misc]
        for i in (0, 1)
    ]
    curve = curve + none * rows.lift(np.nan_to_num(at_none) - regular[0])
    curve = curve + every * rows.lift(np.nan_to_num(at_all) - regular[1])
    if math.isnan(metric.zero_division):
        no_none = rows.lift(np.isnan(at_none)) > 0.5
        no_all = rows.lift(np.isnan(at_all)) > 0.5
        mass = xp.where(no_none, some, xp.ones_like(curve))
        mass = xp.where(no_all, xp.where(no_none, inside, not_every), mass)
        safe = xp.where(mass > 0.0, mass, 1.0)
        curve = xp.where(mass > 0.0, curve / safe, math.nan)
    if isinstance(form, RatioForm) and not form.counts_hits_only:
        return curve

    def edge(k: Floats) -> Tensor:
        """E[value | defined] where it is the same for all 0 < T < n."""
        n = rows.distinct
        values = [
            metric.value(0, k, 0, n),
            metric.value(np.minimum(k, 1.0), k, 1, n),
            metric.value(k, k, n, n),
        ]
        total = mass = 0.0 * none
        for value, weight in zip(values, (none, inside, every), strict=True):
            defined = rows.of_n(~np.isnan(value))
            mass = mass + defined * weight
            total = total + rows.of_n(np.nan_to_num(value)) * defined * weight
        return xp.where(mass > 0.0, total / xp.where(mass > 0.0, mass, 1.0), math.nan)

    curve = xp.concat([edge(0.0 * rows.distinct), curve[:, 1:]], axis=-1)
    if isinstance(form, AffineForm):
        last = like(xp, k, rows.p)[None, :] == rows.n
        curve = xp.where(last, edge(rows.distinct), curve)
    return curve
