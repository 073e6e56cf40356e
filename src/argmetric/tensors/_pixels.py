"""Rows of many items, such as the pixels of masks: exact from a window of the items.

Ratios of expected counts say where the best count lies. The WINDOW items around it are
taken one by one; the others enter by the sums of their powers, log(1 - a·p) =
-Σ a^j·p^j/j and p/(1 - a·p) = Σ a^(j-1)·p^j with a = 1 - e^(-s), at every node s of the
exponential sums. The last term of the logarithm bounds what is left out. A row where
that is too much, or whose best count may lie elsewhere, is taken whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from argmetric._expected import TIE
from argmetric._expected.kernels.nodes import exponential_sum, two_sided_sum
from argmetric.metrics import MCC, Metric, RatioForm
from argmetric.tensors._arrays import (
    Tensor,
    as_single,
    capturing,
    chances,
    namespace,
    require_torch,
)
from argmetric.tensors._decide import (
    TensorLimits,
    choose,
    cut_between,
    has_triton,
)
from argmetric.tensors._segments import CELLS_AT_ONCE, Part
from argmetric.tensors._shared_effect import expected_shared

POWERS = 8
WINDOW = 256  # items that are taken one by one,
AHEAD = 192  # so many of them before the best ratio of expected counts
MANY_PIXELS = 150.0  # expected positives from which 8!/mean^8 is below rounding
CELLS = 1 << 24  # of (rows, items of a window, nodes), or of (rows, items), at a time
BLOCK = 1024  # items that are added up together
FARTHEST = 90.0  # e^(-s·t) with s·n above it is rounding where t is n/2 or more
MOST_WINDOWS = 8  # of a row
MOST_ROWS = 1 << 15  # of one call of a kernel


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
    if x.shape[1] <= WINDOW:
        return (x[:, :, None] ** torch.arange(1, POWERS + 1).to(x)).sum(1)
    power, sums = x, [x.sum(1)]
    for _ in range(POWERS - 1):
        power = power * x
        sums.append(power.sum(1))
    return torch.stack(sums, 1)


def running(x: Tensor) -> Tensor:
    """Cumulative sums from 0 along the last axis."""
    torch = require_torch("masks")
    return torch.nn.functional.pad(torch.cumsum(x, -1), (1, 0))


@dataclass(frozen=True)
class Window:
    """Items of rows, and sums of powers of those before and behind them."""

    before: Tensor
    after: Tensor
    items: Tensor
    first: Tensor  # how many come before
    n: int

    @property
    def k(self) -> Tensor:
        """Counts that end in the window."""
        torch = require_torch("masks")
        steps = torch.arange(self.items.shape[1] + 1, device=self.items.device)
        return (self.first[:, None] + steps).double()

    def curve(self, metric: Metric) -> tuple[Tensor, Tensor]:
        """Expected values of the counts, 0/0 as 0, and what the series leave out."""
        torch = require_torch("masks")
        k = self.k[:, None, :]
        out, slip = torch.zeros((2, *self.k.shape), dtype=k.dtype, device=k.device)
        step = max(CELLS // out.numel(), 1)
        nodes = nodes_of(metric, self.n, k.device)
        ratio = isinstance(metric.form, RatioForm)
        for first in range(0, nodes.w.numel(), step):
            part = nodes[first : first + step]
            values, left = (ratio_terms if ratio else agreement_terms)(self, part, k)
            out += values.sum(1)
            slip += (values.abs() * left[:, :, None]).sum(1)
        if isinstance(metric, MCC):
            scale = (self.k * (self.n - self.k)).clamp(min=1.0).rsqrt()
            out, slip = out * scale, slip * scale
        elif not ratio:
            out = torch.where(2 * self.k == self.n, self.half(), out)
        return out, slip

    def half(self) -> Tensor:
        """Kappa of k = n/2, where its denominator is n²/2."""
        hits = self.before[:, :1] + running(self.items)
        mean = hits[:, -1:] + self.after[:, :1]
        return 4.0 / self.n * (hits - mean * self.k / self.n)


@dataclass(frozen=True)
class Nodes:
    """Nodes s and weights of an exponential sum; factors of powers for hits, misses.

    The factors of an item are u of a hit and u of a miss.
    """

    metric: Metric
    s: Tensor
    w: Tensor
    rates: tuple[float, float]

    def __getitem__(self, part: slice) -> Nodes:
        return Nodes(self.metric, self.s[part], self.w[part], self.rates)

    def phi(self, items: Tensor, of_hits: bool) -> Tensor:
        rate = self.rates[0 if of_hits else 1]
        u = (self.s * -rate).exp()[:, None]
        return (1.0 - items)[:, None, :] + items[:, None, :] * u

    def series(self, sums: Tensor, of_hits: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Σ log φ, Σ p/φ, and the last term of the first, from sums of powers."""
        torch = require_torch("masks")
        rate = self.rates[0 if of_hits else 1]
        # a below -1e30 has no weight; its eighth power is finite
        a = (-torch.expm1(-self.s * rate)).clamp(min=-1e30)
        j = torch.arange(1, POWERS + 1, device=a.device, dtype=a.dtype)[:, None]
        of_logs = -(a**j) / j
        last = sums[:, -1:] * of_logs[-1].abs()
        return sums @ of_logs, sums @ a ** (j - 1.0), last


def ratio_terms(window: Window, nodes: Nodes, k: Tensor) -> tuple[Tensor, Tensor]:
    """E[c1·tp·e^(-s·D)] for every node and count."""
    form = nodes.metric.form
    assert isinstance(form, RatioForm)
    _, d1, d2, d3 = form.d
    logs, tilted, last = nodes.series(window.before, True)
    if d1 + d3 < 0.0:  # u of a hit is above 1: bounds where the series diverge
        most = k[:, :, 0] * (nodes.s * -(d1 + d3))
        logs, tilted = logs.minimum(most), tilted.clamp(min=0.0)
        tilted = tilted.minimum(window.before[:, :1])
    behind, _, left = nodes.series(window.after, False)
    phi, items = nodes.phi(window.items, True), window.items[:, None, :]
    other = phi if d1 == 0 else nodes.phi(window.items, False)
    power = (logs + behind)[:, :, None] + running(phi.log())
    power = power + running(other.log().flip(2)).flip(2)
    power = power - nodes.s[:, None] * (d2 * k + (d1 + d3))
    tilted = tilted[:, :, None] + running(items / phi)
    return form.c[1] * nodes.w[:, None] * power.exp() * tilted, last + left


def agreement_terms(window: Window, nodes: Nodes, k: Tensor) -> tuple[Tensor, Tensor]:
    """E[(n·tp - k·t)·f(k, t)] of MCC, but for its factor of k, and of kappa.

    f is a sum of e^(-s·t), and of e^(-s(n-t)) with nodes below 0. Below k = n/2 the
    denominator of kappa is n - 2k times c + t with c = n·k/(n - 2k). Above that the
    classes are exchanged.
    """
    torch = require_torch("masks")
    n, s, w = window.n, nodes.s[:, None], nodes.w[:, None]
    logs, total, last = nodes.series(window.before + window.after, True)
    _, ahead, _ = nodes.series(window.before, True)
    phi = nodes.phi(window.items, True)
    y = running(window.items[:, None, :] / phi)
    gain = n * (ahead[:, :, None] + y) - k * (total + y[:, :, -1])[:, :, None]
    power = (logs + phi.log().sum(2))[:, :, None] - s
    if not isinstance(nodes.metric, MCC):
        side = torch.where(s > 0.0, k, n - k)
        below = torch.where(2.0 * side < n, n - 2.0 * side, math.inf)
        power, w = power - s.abs() * (n * side / below), 2.0 * w / below
    return w * power.exp() * gain, last


def two_sided(metric: Metric, n: int) -> tuple[Any, Any, int]:
    """Nodes and weights of MCC and kappa, and how many are those of e^(-s·t).

    The others are those of e^(-s(n-t)) = e^(-s·n)·e^(s·t), as nodes below 0.
    """
    rule = isinstance(metric, MCC)
    s, w = two_sided_sum(n) if rule else exponential_sum(1.0, 2.0, float(n) * n + n)
    near = s * n < FARTHEST
    others = (w * np.exp(-s * n))[near]
    return np.append(s, -s[near]), np.append(w, others), s.size


@lru_cache(maxsize=32)
def nodes_of(metric: Metric, n: int, device: Any) -> Nodes:
    """Nodes of a metric for rows of n items."""
    torch = require_torch("masks")
    form, rates = metric.form, (1.0, 1.0)
    if isinstance(form, RatioForm):
        _, d1, _, d3 = form.d
        s, w = exponential_sum(1.0, *map(float, form.denominator_range(n, n)))
        rates = d1 + d3, d3
    else:
        s, w, _ = two_sided(metric, n)
    s, w = (torch.from_numpy(x).to(device) for x in (s, w))
    return Nodes(metric, s, w, rates)


def decide_pixels(
    p: Tensor, metric: Metric, logits: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Best count, its expected score, the cut-off and the labels of rows.

    No number is read before the labels are queued.
    """
    torch = require_torch("masks")
    rows, n = p.shape
    if rows > MOST_ROWS:
        parts = [decide_pixels(one, metric, logits) for one in p.split(MOST_ROWS)]
        best, value, cut, labels = map(torch.cat, zip(*parts, strict=True))
        return best, value, cut, labels
    ways = [settle_sorted_rows, settle_whole]
    if p.is_cuda and has_triton():
        from argmetric.tensors._fused import MOST_WHOLE, settle_fused_whole
        from argmetric.tensors._fused_masks import settle_fused

        ways = [settle_fused_whole] if n <= MOST_WHOLE else ways
        ways = ways if logits else [settle_fused, *ways]
    best, value, cut = ways[0](p, metric, logits)
    single = p.dtype == torch.float32
    labels = p >= (as_single(cut) if single else cut)[:, None]
    if capturing(p):
        return best, torch.where(best < 0, math.nan, value), cut, labels
    again = (best < 0) | torch.isnan(cut)
    if not bool(again.any()):
        return best, value, cut, labels
    for way in ways[1:]:
        left = torch.nonzero(best < 0)[:, 0]
        if left.numel():
            for target, values in zip(
                (best, value, cut), way(p[left], metric, logits), strict=True
            ):
                target[left] = values
    labels[again] = first_best(p[again], best[again][:, None])
    return best, value, cut, labels


def first_best(p: Tensor, best: Tensor) -> Tensor:
    """Labels of so many of the best items; of equal ones the first are taken."""
    torch = require_torch("masks")
    keys = torch.sort(p, 1, descending=True).values
    level = keys.gather(1, (best - 1).clamp(min=0))
    above, equal = p > level, p == level
    room = best - above.sum(1, keepdim=True)
    return above | (equal & (running_blocks(equal.double()) <= room))


def settle_whole(
    p: Tensor, metric: Metric, logits: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """As `settle_sorted_rows`, from all items of a row."""
    torch = require_torch("masks")
    n, found = p.shape[1], []
    limits = TensorLimits(0, None, 0.0, 0.0)
    for one in p.split(max(CELLS_AT_ONCE // n, 1)):
        part = Part(slice(0), np.broadcast_to(n, one.shape[0]), None, n)
        found.append(choose(one, part, metric, limits, logits, torch.float64))
    best, value, cut = map(torch.cat, zip(*found, strict=True))
    return best, value, cut


def settle_sorted_rows(
    p: Tensor, metric: Metric, logits: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Best count, its expected score and the cut-off of rows.

    The count is -1 where a window is not enough; the cut-off is nan where a tie is
    split. MCC and kappa exchange the classes where most items are positive.
    """
    torch = require_torch("masks")
    xp, n, found = namespace(p), p.shape[1], []
    for one in p.split(max(CELLS // n, 1)):
        scores = torch.sort(one, 1, descending=True).values
        keys, rest = chances(xp, scores.double(), logits)
        flip = torch.zeros(len(one), dtype=torch.bool, device=p.device)
        if not isinstance(metric.form, RatioForm):
            flip = keys.sum(1) > 0.5 * n
            keys = torch.where(flip[:, None], rest.flip(1), keys)
        best, value = best_counts(keys, metric, flip)
        scores = torch.nn.functional.pad(scores.double(), (1, 1), value=-math.inf)
        scores[:, 0] = math.inf
        at = best.clamp(min=0)[:, None]
        upper, lower = scores.gather(1, at), scores.gather(1, at + 1)
        found.append((best, value, cut_between(xp, upper, lower)[:, 0]))
    best, value, cut = map(torch.cat, zip(*found, strict=True))
    return best, value, cut


def given_one(sums: Tensor) -> Tensor:
    """Expected positives where one is there, from the first two sums of powers."""
    torch = require_torch("masks")
    mean = sums[:, :1]
    return mean + torch.where(mean > 0.0, 1.0 - sums[:, 1:2] / mean, 1.0)


def still_rises(
    metric: Metric, n: int, p: Tensor, hits: Tensor, k: Tensor, sums: Tensor
) -> Tensor:
    """Whether the value at expected counts rises with the last of k items.

    One true item is there, and the others are expected.
    """
    mean, true = sums[:, :1], given_one(sums)
    if isinstance(metric.form, RatioForm):
        _, d1, d2, d3 = metric.form.d
        below = d1 * (hits + true - mean) + d2 * k + d3 * true
        return p * below > hits * (d1 * p + d2)
    gain, slope = n * hits - k * mean, n * p - mean
    if isinstance(metric, MCC):
        return slope * 2.0 * k * (n - k) > gain * (n - 2.0 * k)
    return slope * (n * (k + true) - 2.0 * k * true) > gain * (n - 2.0 * true)


def windows_of(
    keys: Tensor, metric: Metric, sums: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Rows and first items of windows that may hold the best count; rows with too many.

    MCC has one for each maximum at expected counts that may be the best.
    """
    torch = require_torch("masks")
    rows, n = keys.shape
    hits = running_blocks(keys)
    k = torch.arange(1, n + 1, device=keys.device, dtype=torch.float64)
    rises = still_rises(metric, n, keys, hits, k, sums)
    near = rises.sum(1, keepdim=True)
    line, crowded = torch.arange(rows, device=keys.device), near < 0
    if isinstance(metric, MCC):
        peaks = rises & ~torch.nn.functional.pad(rises, (0, 1))[:, 1:]
        peaks[:, -1] = False  # an edge
        peaks[:, 0] |= ~peaks.any(1)
        line, at = torch.nonzero(peaks, as_tuple=True)
        k, h, mean = (at + 1).double(), hits[line, at], sums[line, 0]
        scale = (k * (n - k)).clamp(min=1.0).rsqrt()
        gain = (n * h - k * mean) * scale
        best = gain >= of_rows(gain, line, rows, "amax")[line, 0]
        other = of_rows(torch.where(best, at, -1), line, rows, "amax")[line, 0]
        apart = n * (h - hits[line, other]).abs() + mean * (at - other).abs()
        tail = (n * h + k * mean).minimum(n * (mean - h) + (n - k) * mean) * scale
        top, far = (
            of_rows(torch.where(best, x, -math.inf), line, rows, "amax")[line, 0]
            for x in (gain, tail)
        )
        # E[g(1 + T)], g = (t(n-t))^-½, without one item or another
        mean = mean.clamp(min=1e-9)
        rate = (0.5 / mean - 0.5 / (n - mean)).abs() + 4.0 / mean**2
        doubt = (apart * scale).minimum(tail + far) * rate.clamp(max=1.0)
        good = gain + doubt >= top
        count = torch.zeros_like(near[:, 0]).index_add_(0, line, good.long())
        crowded = (count > MOST_WINDOWS)[:, None]
        good &= best | ~crowded[line, 0]
        line, near = line[good], at[good][:, None] + 1
    return line, (near - AHEAD).clamp(min=0, max=max(n - WINDOW, 0)), crowded


def of_rows(x: Tensor, line: Tensor, rows: int, how: str) -> Tensor:
    """The least or largest number of each row, from numbers of several of them."""
    out = x.new_empty(rows)
    return out.scatter_reduce(0, line, x, how, include_self=False)[:, None]


def best_counts(keys: Tensor, metric: Metric, flip: Tensor) -> tuple[Tensor, Tensor]:
    """Best counts of sorted rows and their values; -1 where windows are not enough."""
    torch = require_torch("masks")
    (rows, n), ratio = keys.shape, isinstance(metric.form, RatioForm)
    mean, square = keys.sum(1, keepdim=True), (keys * keys).sum(1, keepdim=True)
    of_none, of_every = (float(metric.value(t, t, t, n)) for t in (0, n))
    none = torch.log1p(-keys).sum(1, keepdim=True).exp()
    nothing, every = of_none * none, torch.full_like(none, -math.inf)
    if not ratio:
        every = of_every * keys.log().sum(1, keepdim=True).exp()
    equal = keys[:, :1] == keys[:, -1:]
    line, start, crowded = windows_of(keys, metric, torch.cat([mean, square], 1))
    if line.numel() > rows:
        keys = keys[line]
    place = torch.arange(n, device=keys.device)
    items = keys.gather(1, start + place[:WINDOW])
    _, sums, before = masked_sums(keys, place < start)
    after = (sums - before - power_sums(items)).clamp(min=0.0)
    window = Window(before, after, items, start[:, 0], n)
    curve, slip = window.curve(metric)
    curve = torch.where(window.k == 0, nothing[line], curve)
    if not ratio:
        curve = torch.where(window.k == n, every[line], curve)
    most = of_rows(curve.amax(1), line, rows, "amax")
    top = most.maximum(nothing).maximum(every)
    certain = mean.minimum(n - mean).clamp(0.0, 1.0)
    slack = (TIE * top.abs()).maximum(float(metric.tie_floor(n)) * certain)
    bar, width, turned = top - slack, items.shape[1], flip[:, None]
    tied = curve >= (most - slack)[line]
    counts = window.k.long()
    least = of_rows(torch.where(tied, counts, n + 1).amin(1), line, rows, "amin")
    last = of_rows(torch.where(tied, counts, -1).amax(1), line, rows, "amax")
    best = torch.where(turned, last, least)
    value = torch.where(counts == best[line], curve, -math.inf).amax(1)
    value = of_rows(value, line, rows, "amax")
    # The end of a window is no best place, unless it is an end of the row
    near_best = tied | (curve >= curve.amax(1, keepdim=True))
    inner = ~near_best[:, :1] | (start == 0)
    inner &= ~near_best[:, -1:] | (start + width == n)
    inner &= (torch.where(near_best, slip, 0.0) <= slack[line]).all(1, keepdim=True)
    if ratio:
        whole = (mean >= MANY_PIXELS) | (start + width == n)
        inner &= whole | ends(window, metric, top, sums)
    settled = (of_rows(inner[:, 0].to(torch.int8), line, rows, "amin") > 0) & ~crowded
    if not ratio:  # of equal items every number is worth the same
        settled |= equal
    for k, edge in ((0, nothing), (n, every)):
        # Fewest positives: after an exchange of classes these are the most
        other = torch.where(turned, n - k, k) == 0
        chosen = (edge >= bar) & (other | (most < bar))
        best, value = torch.where(chosen, k, best), torch.where(chosen, edge, value)
    best = torch.where(settled | (nothing >= 1.0 - none), best, -1)
    best = torch.where(turned & (best >= 0), n - best, best)
    return best[:, 0], value[:, 0]


def ends(window: Window, metric: Metric, top: Tensor, sums: Tensor) -> Tensor:
    """Whether no count behind the window is better.

    E[1/D] is at most 1 + Var(D)/(min(D)·E[D]) times 1/E[D], and the value at expected
    counts falls behind the window, as it has its best place there.
    """
    form, k = metric.form, window.k[:, -1:]
    assert isinstance(form, RatioForm)
    _, d1, d2, d3 = form.d
    hits = window.before[:, :1] + window.items.sum(1, keepdim=True)
    mean, true = sums[:, :1], given_one(sums)
    below = d1 * (hits + true - mean) + d2 * k + d3 * true
    excess = max(d3, abs(d1 + d3)) ** 2 * mean / (d2 * k * below)
    return form.c[1] * hits / below * (1.0 + excess) <= top


def running_blocks(x: Tensor) -> Tensor:
    """Cumulative sums of rows, as torch would take each row by one program."""
    torch = require_torch("masks")
    rows, n = x.shape
    blocks = torch.nn.functional.pad(x, (0, -n % BLOCK)).reshape(rows, -1, BLOCK)
    sums = blocks.cumsum(2)
    sums = sums + running(sums[:, :, -1])[:, :-1, None]
    return sums.reshape(rows, -1)[:, :n]


def expected_of(
    p: Tensor, chosen: Tensor, metric: Metric, form: RatioForm, sd: Tensor | None = None
) -> Tensor:
    """Expected score of given masks of rows of pixels, which may share an effect."""
    if sd is not None:
        return expected_shared(p, chosen, sd, metric)
    torch = require_torch("masks")
    rows, n = p.shape
    k, sums, before = masked_sums(p, chosen)
    nothing = p.new_zeros((rows, 0), dtype=torch.float64)
    window = Window(before, sums - before, nothing, k, n)
    value = window.curve(metric)[0][:, 0]
    few = torch.nonzero(sums[:, 0] < MANY_PIXELS)[:, 0]
    if few.numel():  # the largest pixels of both kinds are taken one by one
        some, inside = p[few].double(), chosen[few]
        most = min(n, WINDOW // 2)
        parts = [
            torch.topk(torch.where(one, some, 0.0), most, 1).values
            for one in (inside, ~inside)
        ]
        before, after = (
            (x[few] - power_sums(part)).clamp(min=0.0)
            for x, part in zip((before, sums - before), parts, strict=True)
        )
        window = Window(before, after, torch.cat(parts, 1), k[few] - most, n)
        value[few] = window.curve(metric)[0][:, most]
        none = torch.log1p(-some).sum(1).exp()
        value[few] += torch.where(k[few] == 0, metric.zero_division * none, 0.0)
    return value
