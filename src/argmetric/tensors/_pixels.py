"""The best Dice or IoU of rows of many pixels, without a sort of all.

A histogram of the bits of p brackets the cut-off. Pixels above and below the bracket
enter by the sums of their powers: log(1 - a·p) = -Σ a^j·p^j/j and p/(1 - a·p) =
Σ a^j·p^(j+1) with a = 1 - e^(-s). Nodes with a·mean > 42 add less than rounding, so
eight powers err by about 8!/mean^8: 1e-13 from a mean of 150 on. A class with fewer
expected pixels takes its largest ones one by one. The pixels of a bracket are sorted,
and the exponential sums are exact at each.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from argmetric._expected.kernels.nodes import TOLERANCE, exponential_sum
from argmetric.metrics import Metric, RatioForm
from argmetric.tensors._arrays import (
    Tensor,
    as_single,
    capturing,
    namespace,
    require_torch,
)
from argmetric.tensors._curves import Rows, log_phi, share
from argmetric.tensors._decide import (
    TensorLimits,
    choose,
    cut_between,
    has_triton,
    mark,
)
from argmetric.tensors._segments import CELLS_AT_ONCE, Part
from argmetric.tensors._shared_effect import expected_shared

POWERS = 8
MANY_PIXELS = 150.0  # expected pixels from which sums of powers are exact
FEW_BINS, SHIFT = 641, 18  # 32 bins an octave from 2^-20 to 1
LOWEST = (127 - 20) << 5  # bits of 2^-20, shifted
AROUND = 2  # bins on each side of the best one
LARGEST_BRACKET = 1 << 16  # pixels of a row; with more the row is sorted
MOST_FEW = 1 << 14  # largest pixels of a class with a small mean
CELLS = 1 << 24  # of (rows, pixels of a bracket, nodes) at a time


def masked_sums(p: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Pixels of masks, and sums of powers of all pixels and of those."""
    torch = require_torch("masks")
    if p.is_cuda and has_triton():
        from argmetric.tensors._fused_masks import sums_fused

        return sums_fused(p.contiguous(), chosen.contiguous())
    return chosen.sum(1), power_sums(p), power_sums(torch.where(chosen, p, 0.0))


def power_sums(x: Tensor) -> Tensor:
    """Sums of the powers 1…POWERS of every row, in float64."""
    torch = require_torch("masks")
    x = x.double()
    power, sums = x, [x.sum(1)]
    for _ in range(POWERS - 1):
        power = power * x
        sums.append(power.sum(1))
    return torch.stack(sums, 1)


class PixelNodes:
    """Nodes of 1/D that matter for a mean, and the two series of powers at them."""

    def __init__(self, form: RatioForm, n: int, mean: float, device: Any) -> None:
        torch = require_torch("masks")
        low, high = form.denominator_range(n, n)
        s, w = exponential_sum(1.0, float(low), float(high))
        self.dice = form.d[1] == 0
        bound = s * float(low) + max(mean - 1.0, 0.0) * -np.expm1(-s)
        kept = bound < -math.log(TOLERANCE) + math.log(high / low) + 1.0
        self.s, self.w = (torch.from_numpy(x[kept]).to(device) for x in (s, w))
        self.u, self.a = torch.exp(-self.s), -torch.expm1(-self.s)
        j = torch.arange(1, POWERS + 1, device=device, dtype=torch.float64)[:, None]
        self.of_shares = self.a[None, :] ** (j - 1.0)
        self.of_logs = -(self.a[None, :] ** j) / j

    def values(
        self, before: Tensor, after: Tensor, items: Tensor, first: Tensor
    ) -> Tensor:
        """E[score] of the first k0…k0+w pixels of rows, 0/0 as 0.

        `before` and `after` are sums of powers of the pixels on both sides.
        """
        torch = require_torch("masks")
        rows, w = items.shape
        k = first[:, None].double() + torch.arange(w + 1, device=items.device)
        hits = before[:, :1] + _running(items)
        out = torch.zeros_like(k)
        step = max(CELLS // (rows * (w + 1)), 1)
        logs, shares = after @ self.of_logs, before @ self.of_shares
        whole = before @ self.of_logs
        for first_node in range(0, self.s.shape[0], step):
            part = slice(first_node, first_node + step)
            u, s = self.u[part], self.s[part]
            phi = (1.0 - items)[:, None, :] + items[:, None, :] * u[:, None]
            log = torch.log(phi)
            scale = self.w[part, None] * torch.exp(-s[:, None] * k[:, None, :])
            rest = logs[:, part, None]
            if self.dice:
                tilted = shares[:, part, None] + _running(items[:, None, :] / phi)
                rest = rest + whole[:, part, None] + log.sum(2, keepdim=True)
                out += 2.0 * (scale * torch.exp(rest) * u[:, None] * tilted).sum(1)
            else:
                behind = _running(log.flip(2)).flip(2)
                out += hits * (scale * torch.exp(rest + behind)).sum(1)
        return out


def _running(x: Tensor) -> Tensor:
    """Cumulative sums from 0 along the last axis."""
    torch = require_torch("masks")
    return torch.nn.functional.pad(torch.cumsum(x, -1), (1, 0))


def decide_pixels(p: Tensor, metric: Metric) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Best count, its expected score, the cut-off and the labels of rows of pixels."""
    torch = require_torch("masks")
    form = metric.form
    assert isinstance(form, RatioForm)
    rows, n = p.shape
    step = max(CELLS // min(n, MOST_FEW), 1)
    if rows > step:
        parts = [decide_pixels(one, metric) for one in torch.split(p, step)]
        best, value, cut, labels = map(torch.cat, zip(*parts, strict=True))
        return best, value, cut, labels
    if p.is_cuda and has_triton():
        from argmetric.tensors._fused_masks import settle_fused

        best, value, cut = settle_fused(p.contiguous(), form)
        left = best < 0
        if capturing(p):
            value = torch.where(left, math.nan, value)
        elif bool(left.any()):
            some = settle_pixels(p[left], metric, form)
            for target, values in zip((best, value, cut), some, strict=True):
                target[left] = values
    else:
        best, value, cut = settle_pixels(p, metric, form)
    labels = p >= as_single(cut)[:, None]
    split = torch.isnan(cut)
    # Of pixels with equal p the first ones are taken
    if not capturing(p) and bool(split.any()):
        part = Part(slice(0), np.zeros(0, dtype=np.int64), None, n)
        some = best[split], value[split], cut[split]
        labels[split] = mark(namespace(p), p[split], some, part)
    return best, value, cut, labels


def settle_pixels(
    p: Tensor, metric: Metric, form: RatioForm
) -> tuple[Tensor, Tensor, Tensor]:
    """Best count, its expected score and the cut-off of rows; nan: a tie is split."""
    torch = require_torch("masks")
    rows, n = p.shape
    count, sums = histogram_and_sums(p)
    mean = sums[:, 0]
    best = torch.zeros(rows, dtype=torch.int64, device=p.device)
    value = torch.zeros(rows, dtype=torch.float64, device=p.device)
    cut = torch.full_like(value, math.nan)
    done = torch.zeros(rows, dtype=torch.bool, device=p.device)
    many = mean >= MANY_PIXELS
    for chosen, settle in ((many, settle_many), (~many, settle_few)):
        places = torch.nonzero(chosen)[:, 0]
        if places.numel() and n > POWERS:
            whole = places.numel() == rows
            some = p if whole else p[places]
            nodes = PixelNodes(form, n, float(mean[places].min()), p.device)
            given = some, count[places], sums[places], nodes
            found = settle(*given, metric.zero_division)
            for target, values in zip((best, value, cut, done), found, strict=True):
                target[places] = values
    left = torch.nonzero(~done)[:, 0]
    limits = TensorLimits(0, None, 0.0, 0.0)
    step = max(CELLS_AT_ONCE // n, 1)
    for begin in range(0, left.numel(), step):  # their pixels are sorted
        places = left[begin : begin + step]
        part = Part(slice(0), np.broadcast_to(n, places.numel()), None, n)
        some = choose(p[places], part, metric, limits, False, torch.float64)
        for target, values in zip((best, value, cut), some, strict=True):
            target[places] = values
    return best, value, cut


def histogram_and_sums(p: Tensor) -> tuple[Tensor, Tensor]:
    """Pixels of every bin of the bits of p, ascending, and sums of powers."""
    torch = require_torch("masks")
    rows = p.shape[0]
    bits = p.contiguous().view(torch.int32) >> SHIFT
    bins = (bits - LOWEST).clamp(0, FEW_BINS - 1)
    offset = torch.arange(rows, device=p.device, dtype=torch.int32)[:, None] * FEW_BINS
    count = torch.bincount((bins + offset).view(-1), minlength=rows * FEW_BINS)
    return count.reshape(rows, FEW_BINS), power_sums(p)


def bracket_of(
    p: Tensor, low: Tensor, high: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Pixels in [low, high) of every row, their number, and count and powers above.

    A row with more than LARGEST_BRACKET of them has no pixels here.
    """
    torch = require_torch("masks")
    rows = p.shape[0]
    low, high = low[:, None], high[:, None]
    inside = (p >= low) & (p < high)
    width = inside.sum(1)
    kept = torch.where(width <= LARGEST_BRACKET, width, 0)
    inside &= (width <= LARGEST_BRACKET)[:, None]
    row, _ = places = torch.nonzero(inside, as_tuple=True)
    start = kept.cumsum(0) - kept
    items = p.new_zeros((rows, max(int(kept.max()), 1)))
    items[row, torch.arange(row.numel(), device=p.device) - start[row]] = p[places]
    above = p >= high
    return items, width, above.sum(1), power_sums(torch.where(above, p, 0.0))


def settle_many(
    p: Tensor, count: Tensor, sums: Tensor, nodes: PixelNodes, zero_division: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Best counts of rows with many expected pixels; the last says which are found."""
    torch = require_torch("masks")
    n = p.shape[1]
    bits = torch.arange(FEW_BINS, device=p.device, dtype=torch.int32)
    edges = ((bits + LOWEST) << SHIFT).view(torch.float32).double()
    edges[0] = 0.0
    upper = torch.cat([edges[1:], edges.new_full((1,), math.inf)])
    middle = torch.cat([(edges + upper)[:-1] / 2.0, edges[-1:]])
    k = count.double().flip(1).cumsum(1).flip(1)
    mass = (count * middle).flip(1).cumsum(1).flip(1)
    mean = sums[:, :1]
    rough = 2.0 * mass / (k + mean) if nodes.dice else mass / (k + mean - mass)
    top = rough.argmax(1)
    low = edges[(top - AROUND).clamp(min=0)].float()
    high = upper[(top + AROUND).clamp(max=FEW_BINS - 1)].float()
    items, width, first, before = bracket_of(p, low, high)
    items = torch.sort(items, 1, descending=True).values.double()
    after = sums - before - power_sums(items)
    curve = nodes.values(before, after, items, first)
    valid = torch.arange(items.shape[1] + 1, device=p.device)[None, :] <= width[:, None]
    place, value = _best(curve, valid)
    cut = _cut(items, place, width, high)
    # At an end of the bracket the best may lie outside of it
    inner = (place > 0) & ((place < width) | (first + width == n))
    return first + place, value, cut, inner & (width <= LARGEST_BRACKET)


def settle_few(
    p: Tensor, count: Tensor, sums: Tensor, nodes: PixelNodes, zero_division: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Best counts of rows with few expected pixels, from their largest pixels."""
    torch = require_torch("masks")
    rows, n = p.shape
    most = min(n, MOST_FEW)
    items = torch.topk(p, most, 1).values.double()
    nothing = torch.zeros(rows, dtype=torch.int64, device=p.device)
    after = sums - power_sums(items)
    curve = nodes.values(torch.zeros_like(sums), after, items, nothing)
    tail = -(after / torch.arange(1, POWERS + 1, device=p.device)).sum(1)
    none = torch.exp(torch.log1p(-items).sum(1) + tail)
    curve[:, 0] = zero_division * none
    place, value = _best(curve, torch.ones_like(curve, dtype=torch.bool))
    last = torch.full_like(place, most)
    cut = _cut(items, place, last, items.new_full((rows,), math.inf))
    return place, value, cut, (place < most) | (most == n)


def _best(curve: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
    """The first of the best places of every row, and its value."""
    torch = require_torch("masks")
    curve = torch.where(valid, curve, -1.0)
    top = curve.max(1, keepdim=True).values
    place = (curve >= top - 1e-12 * top.abs()).to(torch.int8).argmax(1)
    return place, curve.gather(1, place[:, None])[:, 0]


def _cut(items: Tensor, place: Tensor, width: Tensor, above: Tensor) -> Tensor:
    """A cut-off between two pixels in order; nan where they are equal.

    Before the first pixel it is `above`, and behind the last one that pixel itself.
    """
    torch = require_torch("masks")
    last = (place - 1).clamp(min=0)[:, None]
    upper = items.gather(1, last)[:, 0]
    upper = torch.where(place > 0, upper, above.double())
    lower = items.gather(1, place.clamp(max=items.shape[1] - 1)[:, None])[:, 0]
    lower = torch.where(place < width, lower, -math.inf)
    return cut_between(namespace(items), upper, lower)


def expected_of(
    p: Tensor, chosen: Tensor, metric: Metric, form: RatioForm, sd: Tensor | None = None
) -> Tensor:
    """Expected score of given masks of rows of pixels, which may share an effect."""
    if sd is not None:
        return expected_shared(p, chosen, sd, metric)
    torch = require_torch("masks")
    rows, n = p.shape
    k, sums, before = masked_sums(p, chosen)
    mean = sums[:, 0]
    value = torch.zeros(rows, dtype=torch.float64, device=p.device)
    many = torch.nonzero(mean >= MANY_PIXELS)[:, 0]
    if many.numel():
        nodes = PixelNodes(form, n, float(mean[many].min()), p.device)
        nothing = p.new_zeros((many.numel(), 0), dtype=torch.float64)
        after = (sums - before)[many]
        value[many] = nodes.values(before[many], after, nothing, k[many])[:, 0]
    few = torch.nonzero(mean < MANY_PIXELS)[:, 0]
    if few.numel():
        some = p[few].double()
        value[few] = _direct(some, chosen[few], k[few].double(), form)
        none = torch.exp(torch.log1p(-some).sum(1))
        value[few] += torch.where(k[few] == 0, metric.zero_division * none, 0.0)
    return value


def _direct(p: Tensor, chosen: Tensor, k: Tensor, form: RatioForm) -> Tensor:
    """E[score] of given masks, node by node over all pixels, 0/0 as 0."""
    torch = require_torch("masks")
    xp, n = namespace(p), p.shape[1]
    rows = Rows(xp, p, 1.0 - p, np.full(p.shape[0], n))
    _, d1, d2, d3 = form.d
    low, high = form.denominator_range(n, n)
    value = torch.zeros_like(k)
    nodes = exponential_sum(1.0, float(low), float(high))
    for s, w in zip(*(x.tolist() for x in nodes), strict=True):
        phi, log1 = log_phi(xp, p, rows.q, s * (d1 + d3))
        log3 = log1 if d1 == 0 else log_phi(xp, p, rows.q, s * d3)[1]
        tilted = torch.where(chosen, share(xp, p, phi, s * (d1 + d3)), 0.0).sum(1)
        logs = torch.where(chosen, log1, log3).sum(1)
        value += w * form.c[1] * torch.exp(logs - s * d2 * k) * tilted
    return value
