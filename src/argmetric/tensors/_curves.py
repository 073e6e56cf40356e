"""Expected metric of rows of sorted probabilities, for every k at once.

Every function takes p and q = 1-p of the shape (rows, m), p descending, and gives
(rows, m+1): the value of the k most likely items of each row. Rows may be padded
with p = 0 behind their true sizes n. Sums over nodes run node by node, so that no
tensor of (rows, m, nodes) is made. Functions of the counts are evaluated on the host,
once for each size that occurs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from argmetric._expected import expected_curves as array_curves
from argmetric._expected import regular_at_edges
from argmetric._expected.kernels.nodes import exponential_sum, two_sided_sum
from argmetric._ground.groups import Segments
from argmetric._ground.types import Floats, Integers
from argmetric.metrics import (
    MCC,
    AffineForm,
    Form,
    ItemForm,
    Kappa,
    MeanForm,
    Metric,
    RatioForm,
    leaves_out_none,
)
from argmetric.tensors._arrays import Namespace, Tensor, like, to_host
from argmetric.tensors._segments import distinct_sizes

BLOCK = 256  # items whose running sums are taken before blocks are added up


class PaddedRows:
    """Sorted rows: p, q, and their true sizes and counts, on the host and the device.

    On the host there is one row for each size that occurs.
    """

    def __init__(self, xp: Namespace, p: Tensor, q: Tensor, sizes: Integers) -> None:
        self.xp, self.p, self.q = xp, p, q
        distinct, place = distinct_sizes(sizes)
        self.distinct = distinct.astype(np.float64)
        self.place = None if place is None else like(xp, place, p, xp.int64)
        counts = np.arange(p.shape[1] + 1.0)
        self.host_n = np.repeat(self.distinct[:, None], counts.size, axis=1)
        self.host_k = np.minimum(counts, self.host_n)
        self.k = like(xp, counts, p)[None, :]
        self.n = self.lift(self.distinct[:, None])

    def lift(self, table: object) -> Tensor:
        """Return a host table with one row per size as one row per row."""
        moved = like(self.xp, np.array(table, dtype=np.float64), self.p)
        return moved if self.place is None else self.xp.take(moved, self.place, axis=0)

    def misses(self) -> tuple[Tensor, Tensor]:
        """Return q and p with padding as certain 0: the classes exchanged."""
        if self.place is None and self.distinct[0] == self.p.shape[1]:
            return self.q, self.p
        valid = self.k[:, :-1] < self.n
        return self.xp.where(valid, self.q, 0.0), self.xp.where(valid, self.p, 1.0)


def running_sum(xp: Namespace, x: Tensor) -> Tensor:
    """Return cumulative sums of rows, on two levels if long: no drift."""
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


def sum_to(xp: Namespace, x: Tensor) -> Tensor:
    """Return sums of the first k items, for k = 0 … m."""
    return xp.concat([xp.zeros_like(x[:, :1]), running_sum(xp, x)], axis=-1)


def sum_from(xp: Namespace, x: Tensor) -> Tensor:
    """Return sums of the items behind the first k, for k = 0 … m."""
    return xp.flip(sum_to(xp, xp.flip(x, axis=-1)), axis=-1)


def total(xp: Namespace, x: Tensor) -> Tensor:
    """Return the sums of rows, as a column."""
    return xp.sum(x, axis=-1, keepdims=True)


def tilt(xp: Namespace, p: Tensor, q: Tensor, exponent: float) -> tuple[Tensor, Tensor]:
    """Return p·u/φ, the tilted probability of a 1, and log φ, for u = e^-exponent.

    φ = q + p·u, and the logarithm is accurate for small and for large p.
    """
    if exponent < 0.0:  # φ = u·(p + q/u): no power is above 1
        _, log = tilt(xp, q, p, -exponent)
        return p * xp.exp(-log), log - exponent
    if exponent == 0.0:
        return p, xp.zeros_like(p)
    u, gain = math.exp(-exponent), p * math.expm1(-exponent)
    phi = xp.clip(q + p * u, float(xp.finfo(p.dtype).smallest_normal), None)
    log = xp.log1p(xp.clip(gain, -0.5, None))
    if u < 0.5:  # else φ is at least a half
        log = xp.where(gain > -0.5, log, xp.log(phi))
    return p * u / phi, log


def each_node(rule: tuple[Floats, Floats]) -> Iterator[tuple[float, float]]:
    """Yield nodes and weights of an exponential sum, one after the other."""
    return zip(*(x.tolist() for x in rule), strict=True)


def nodes_of_ratio(form: RatioForm, sizes: Any, power: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of 1/D^power over all counts of these sizes."""
    low, high = form.denominator_range(sizes, sizes)
    return exponential_sum(float(power), float(low.min()), float(high.max()))


def ratio_curve(rows: PaddedRows, form: RatioForm) -> Tensor:
    """Return E[(c·counts)/(d·counts)], 0/0 = 0, by exponential sums.

    1/D = Σ w·e^(-s·D), and E[tp·e^(-s·D)] = e^(-s(d0·n + d2·k))·Π_{j≤k} φ_j(u1)·
    Π_{j>k} φ_j(u3)·Σ_{i≤k} p_i·u1/φ_i(u1) for u1 = e^(-s(d1+d3)), u3 = e^(-s·d3).
    """
    xp, p, q, n, k = rows.xp, rows.p, rows.q, rows.n, rows.k
    (c0, c1, c2, c3), (d0, d1, d2, d3) = form.c, form.d
    out = 0.0
    for s, w in each_node(nodes_of_ratio(form, rows.distinct, 1)):
        share, log = tilt(xp, p, q, s * (d1 + d3))
        rest, logs = share, total(xp, log)
        if d1 != 0:
            rest, after = tilt(xp, p, q, s * d3)
            logs = sum_to(xp, log) + sum_from(xp, after)
        counts = (c1 + c3) * sum_to(xp, share)
        if not form.counts_hits_only:
            counts = counts + c0 * n + c2 * k + c3 * sum_from(xp, rest)
        out = out + w * xp.exp(logs - s * (d0 * n + d2 * k)) * counts
    return out


def tilted_sets(
    rows: PaddedRows, chosen: Tensor, form: RatioForm, power: int
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield w·E[e^(-s·D)] of one set of items per row, for nodes s of 1/D^power.

    D = d0·n + d2·k + Σ y·(d1·chosen + d3) with y drawn by p. Beside it p·u/φ and log φ
    of every item.
    """
    xp, p, q, (d0, d1, d2, d3) = rows.xp, rows.p, rows.q, form.d
    base = d0 * rows.n + d2 * total(xp, xp.astype(chosen, p.dtype))
    for s, w in each_node(nodes_of_ratio(form, rows.distinct, power)):
        share, log = tilt(xp, p, q, s * (d1 + d3))
        if d1 != 0:
            rest, after = tilt(xp, p, q, s * d3)
            share, log = xp.where(chosen, share, rest), xp.where(chosen, log, after)
        yield w * xp.exp(total(xp, log) - s * base), share, log


def with_others(
    xp: Namespace, p: Tensor, q: Tensor, y: Tensor, *, u: Tensor, w: Tensor
) -> Tensor:
    """Return w·y_i·Π_{j≠i} φ_j for each item i, with φ = q + p·u.

    The tensors p, q and y have the shape (n_rows, length).
    """
    phi = q + p * u
    return w * xp.prod(phi, axis=-1, keepdims=True) * y / phi


def item_weights(xp: object, p: Tensor, q: Tensor, exponent: float) -> Tensor:
    """Return p_i·E[(1 + T without i)^-exponent] of every item."""
    weights = 0.0
    for s, w in each_node(exponential_sum(exponent, 1.0, p.shape[1])):
        u = math.exp(-s)
        weights = weights + with_others(xp, p, q, p, u=u, w=w * u)
    return weights


def item_curve(rows: PaddedRows, form: ItemForm) -> Tensor:
    """Return E[hits·tp/t^e + rejections·tn/(n-t)^e + offset], 0/0 = 0."""
    xp, k, n = rows.xp, rows.host_k, rows.host_n
    out = form.offset + 0.0 * rows.k
    if form.hits is not None:
        weights = item_weights(xp, rows.p, rows.q, form.exponent)
        out = out + rows.lift(form.hits(k, n)) * sum_to(xp, weights)
    if form.rejections is not None:
        weights = item_weights(xp, *rows.misses(), form.exponent)
        out = out + rows.lift(form.rejections(k, n)) * sum_from(xp, weights)
    return out


def agreement_curve(rows: PaddedRows, metric: Metric) -> Tensor:
    """Return E[(n·tp - k·t)·f(k, t)] of MCC and kappa, where 0 < k < n.

    f is a sum of e^(-s·t) and of e^(-s(n-t)). E[(n·tp - k·t)·e^(-s·t)] = n·Y_k - k·Y_n
    with Y_k = Πφ·Σ_{i≤k} p_i·u/φ_i. As p·u/φ = 1 - q/φ, -q takes the place of p·u where
    positives are likely, and nothing cancels. The nodes of MCC are those of the largest
    n, N, times N/n. Below k = n/2 the denominator of kappa is n - 2k times c + t with
    c = n·k/(n - 2k); above that the classes are exchanged.
    """
    xp, n, k, n_, k_ = rows.xp, rows.n, rows.k, rows.host_n, rows.host_k
    largest = max(float(rows.distinct[-1]), 2.0)
    miss, hit = rows.misses()
    few = total(xp, rows.p) <= 0.5 * n
    y = xp.where(few, rows.p, -miss)

    def weights(s: Tensor) -> Iterator[Tensor]:
        """Return E[y·e^(-s·t)] and E[y·e^(-s(n-t))] of every item."""
        u = xp.exp(-s)
        for p, q, rare in (rows.p, rows.q, few), (miss, hit, ~few):
            yield with_others(xp, p, q, y, u=u, w=xp.where(rare, u, 1.0))

    def gain(weights: Tensor) -> Tensor:
        sums = sum_to(xp, weights)
        return n * sums - k * sums[:, -1:]

    if isinstance(metric, MCC):
        stretch, both = largest / n, 0.0
        for s, w in each_node(two_sided_sum(int(largest))):
            one, other = weights(s * stretch)
            both = both + w * (one + other)
        scale = np.sqrt(np.maximum(k_ * (n_ - k_), 1.0))
        return gain(both) * rows.lift(largest / n_ / scale)
    smaller = np.clip(np.minimum(k_, n_ - k_), 0.0, (n_ - 1.0) // 2.0)
    scale = np.maximum(n_ - 2.0 * smaller, 1.0)
    c, early = rows.lift(n_ * smaller / scale), 2.0 * k < n
    out = 0.0
    for s, w in each_node(exponential_sum(1.0, 2.0, largest + largest**2)):
        one, other = weights(s * xp.ones_like(n))
        out = out + w * xp.exp(-s * c) * xp.where(early, gain(one), gain(other))
    half = 4.0 * gain(y) / (n * n)
    return xp.where(2.0 * k == n, half, out * rows.lift(2.0 / scale))


def mean_curve(rows: PaddedRows, metric: Metric, form: MeanForm) -> Tensor:
    """Return E[metric] of a metric affine in tp and t, from expected counts."""
    xp, k, n = rows.xp, rows.host_k, rows.host_n
    hits, missed = sum_to(xp, rows.p), sum_from(xp, rows.p)
    if form.cells is not None and form.scale is not None:
        q, _ = rows.misses()
        counts = hits, sum_to(xp, q), missed, sum_from(xp, q)
        weighted = sum(a * x for a, x in zip(form.cells, counts, strict=True))
        return weighted / rows.lift(form.scale(k, n))
    none, per_hit, per_miss = map(rows.lift, mean_factors(metric, k, n))
    return none + hits * per_hit + missed * per_miss


def mean_factors(metric: Metric, k: Floats, n: Floats) -> tuple[Floats, ...]:
    """Return a metric affine in tp and t at no positives, and per hit and per miss."""
    form = metric.form
    if isinstance(form, MeanForm) and form.cells and form.scale:
        tp, fp, fn, tn = form.cells
        scale = form.scale(k, n)
        none = (fp * k + tn * (n - k)) / scale
        return none, (tp - fp) / scale, (fn - tn) / scale
    none = metric.value(0.0, k, 0.0, n)
    per_hit = (metric.value(k, k, k, n) - none) / np.maximum(k, 1.0)
    per_miss = (metric.value(0.0, k, n - k, n) - none) / np.maximum(n - k, 1.0)
    return none, per_hit, per_miss


def count_pmf(xp: Namespace, p: Tensor, q: Tensor) -> Tensor:
    """Return P(sum = t) of every row, item after item."""
    nothing = xp.zeros_like(p[:, :1])
    pmf = xp.concat([nothing + 1.0, xp.zeros_like(p)], axis=-1)
    for i in range(p.shape[1]):
        moved = xp.concat([nothing, pmf[:, :-1]], axis=-1)
        pmf = pmf * q[:, i : i + 1] + moved * p[:, i : i + 1]
    return pmf


def p_no_positive(xp: Namespace, p: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
    """Return P(no positive) and P(at least one), accurate for tiny p or q."""
    log = total(xp, tilt(xp, p, q, math.inf)[1])
    return xp.prod(q, axis=-1, keepdims=True), -xp.expm1(log)


def expected_curves(rows: PaddedRows, metric: Metric) -> Tensor:
    """Return E[metric | defined] for every k of every row."""
    form = usable_form(metric, tuple(rows.distinct.tolist()))
    if form is None:
        return host_curves(rows, metric)
    if isinstance(form, MeanForm):
        return mean_curve(rows, metric, form)
    if isinstance(form, RatioForm):
        curve = ratio_curve(rows, form)
    elif isinstance(form, ItemForm):
        curve = item_curve(rows, form)
    else:
        curve = agreement_curve(rows, metric)
    return settle_edges(rows, metric, form, curve)


@lru_cache(maxsize=64)
def usable_form(metric: Metric, all_sizes: tuple[float, ...]) -> Form | None:
    """Return the form of a metric that tensors can compute; None for another one."""
    form = metric.form
    if isinstance(form, RatioForm):
        low, _ = form.denominator_range(all_sizes, all_sizes)
        fine = bool((low > 0).all())
        fine &= all(form.positive_inside(int(n)) for n in all_sizes)
    elif isinstance(form, ItemForm):
        # Leaving out 0/0 of two rates cancels digits: arrays take another way there
        two_rates = form.hits is not None and form.rejections is not None
        fine = not (two_rates and leaves_out_none(metric))
    elif isinstance(form, MeanForm):
        fine = form.curvature is None
    else:
        fine = isinstance(metric, MCC | Kappa)
    return form if fine else None


def host_curves(rows: PaddedRows, metric: Metric) -> Tensor:
    """Return the curves of a metric that arrays alone can compute, by the array path.

    Counts beyond the size of a row are nan.
    """
    p, q = (np.asarray(to_host(x), dtype=np.float64) for x in (rows.p, rows.q))
    sizes = rows.distinct.astype(np.int64)
    sizes = sizes[np.zeros(len(p), int) if rows.place is None else to_host(rows.place)]
    items = np.arange(p.shape[1] + 1)
    inside = items[:-1] < sizes[:, None]
    ends = np.append(0, np.cumsum(sizes))
    curves = np.full((len(p), items.size), math.nan)
    segments = Segments(p[inside], q[inside], ends, sizes)
    curves[items <= sizes[:, None]] = array_curves(segments, metric)[0]
    return like(rows.xp, curves, rows.p)


def settle_edges(rows: PaddedRows, metric: Metric, form: Form, curve: Tensor) -> Tensor:
    """Add the value of the metric at T = 0 and T = n to curves, and at k = 0 and n.

    At those k items weigh nothing: the value is the same for all 0 < T < n.
    """
    xp, k, n = rows.xp, rows.host_k, rows.host_n
    none, some = p_no_positive(xp, rows.p, rows.q)
    every, not_every = p_no_positive(xp, *rows.misses())
    inside = xp.where(every > none, not_every - none, some - every)
    inside = xp.clip(inside, 0.0, None)
    counted_none, counted_all = regular_at_edges(form, metric, k, n)
    alike = (k == 0) & (not isinstance(form, RatioForm))
    alike |= (k == n) & isinstance(form, AffineForm)
    between = np.where(alike, metric.value(np.minimum(k, 1.0), k, 1, n), 0.0)
    outcomes = (
        (none, metric.value(0, k, 0, n), counted_none),
        (every, metric.value(k, k, n, n), counted_all),
        (inside, between, 0.0),
    )
    curve = xp.where(rows.lift(alike) > 0.5, 0.0, curve)
    for probability, value, counted in outcomes:
        missing = np.nan_to_num(value) - np.where(alike, 0.0, counted)
        curve = curve + probability * rows.lift(missing)
    if not math.isnan(metric.zero_division):
        return curve
    mass = sum(
        probability * rows.lift(~np.isnan(value)) for probability, value, _ in outcomes
    )
    return xp.where(mass > 0.0, curve / xp.where(mass > 0.0, mass, 1.0), math.nan)
