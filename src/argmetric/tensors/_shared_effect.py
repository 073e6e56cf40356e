"""Masks whose pixels share an effect: an object is there, or not, as a whole.

Given u, normal and common to all pixels of an image and class, pixels are independent
with p(u) = expit(a + σ·u). Each a keeps the pixel's probability: E[p(u)] = p. The
expected score is E = Σ_u w_u·E[score | u]. The order of pixels is the same for every
u, so the best mask is still a cut of p.

The integral over u is a sum in steps of 1/σ: p(u) and the chance of an empty mask then
err by about e^(-π²) = 5e-5. From σ = 10 on steps are 0.1, and the error is up to half a
weight, 0.02. Few pixels are taken one by one. Many are put
into bins of their odds, 16 for each factor of 2, each with its mean: the cut lies
between two bins, which costs less than 1e-4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from argmetric._expected import TIE
from argmetric._expected.kernels.nodes import exponential_sum
from argmetric._ground.types import Floats
from argmetric.metrics import Metric, RatioForm
from argmetric.tensors._arrays import (
    Tensor,
    chances,
    like,
    namespace,
    require_torch,
    to_host,
)
from argmetric.tensors._curves import log_phi, share

FEW_PIXELS = 1024  # of an image that are taken one by one
PER_OCTAVE = 16  # bins of the odds of pixels
OCTAVES = 20  # odds below 2^-20 share a bin
CELLS = 1 << 21  # of (rows, nodes, groups of pixels) at a time
REACH = 4.0  # standard deviations of u on each side
MOST_STEPS = 10.0  # for each standard deviation of u
LARGEST_SD = 30.0  # an object is then all there, or not at all
GRID = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, LARGEST_SD)  # where the search of sd starts
FARTHEST = 100.0  # standard deviations of u that a search begins with
CLOSE = 1e-13  # change of a at which its search ends


def effect_nodes(sd: float) -> tuple[Floats, Floats]:
    """Values of u and their weights."""
    half = math.ceil(REACH * min(max(2.0, sd), MOST_STEPS))
    u = np.linspace(-REACH, REACH, 2 * half + 1)
    w = np.exp(-0.5 * u * u)
    return u, w / w.sum()


def keep_margins(xp: Any, z: Tensor, sd: Tensor, u: Tensor, w: Tensor) -> Tensor:
    """The a of every log-odds z: the mean of expit(a + sd·u) is expit(z).

    Newton's method on the scale of log-odds, within z ± sd·max(u).
    """
    goal = xp.clip(z, -500.0, 500.0)
    sd = sd[:, None] + xp.zeros_like(goal)
    low, high = goal - REACH * sd, goal + REACH * sd
    a = goal
    for _ in range(80):
        p, q = chances(xp, a[:, None, :] + sd[:, None, :] * u[None, :, None], True)
        weight = w[None, :, None]
        mean, rest = xp.sum(weight * p, axis=1), xp.sum(weight * q, axis=1)
        gap = xp.log(mean) - xp.log(rest) - goal
        low, high = xp.where(gap <= 0, a, low), xp.where(gap >= 0, a, high)
        step = gap * mean * rest / xp.sum(weight * p * q, axis=1)
        new = a - step
        new = xp.where((new > low) & (new < high), new, (low + high) / 2.0)
        moved, a = xp.abs(new - a), new
        if not bool(xp.any(moved > CLOSE * (1.0 + xp.abs(a)))):
            break
    return xp.where(xp.isfinite(z), a, z)


def group_pixels(p: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Log-odds and size of groups of nearly equal p, descending; each pixel's group."""
    xp = namespace(p)
    if p.shape[1] <= FEW_PIXELS:  # each pixel is a group
        order = p.argsort(dim=1, descending=True, stable=True)
        keys = p.gather(1, order).double()
        z = xp.log(keys) - xp.log1p(-keys)
        return z, xp.ones_like(z), order.argsort(dim=1)
    bins, small = odds_bins(p)
    count, total = (add_bins(bins, x, 2 * half_bins()) for x in (None, small))
    used = count.sum(0) > 0
    z = mean_log_odds(total, count)
    return z[:, used], count[:, used], (used.cumsum(0) - 1)[bins]


def half_bins() -> int:
    """Bins up to odds of 1."""
    return (OCTAVES - 1) * PER_OCTAVE + 1


def odds_bins(p: Tensor) -> tuple[Tensor, Tensor]:
    """The bin of every pixel by the bits of min(p, 1-p), descending in p; and those."""
    xp = namespace(p)
    half, steps = half_bins(), int(math.log2(PER_OCTAVE))
    small = xp.where(p <= 0.5, p, 1.0 - p)
    bits = small.contiguous().view(xp.int32) >> (23 - steps)
    bins = (bits - ((127 - OCTAVES) << steps)).clamp(0, half - 1)
    return xp.where(p > 0.5, bins, 2 * half - 1 - bins).long(), small.double()


def mean_log_odds(total: Tensor, count: Tensor) -> Tensor:
    """Log-odds of the mean of every bin, from sums of min(p, 1-p)."""
    xp, m = namespace(total), total.shape[1]
    mean = xp.where(count > 0, total / xp.where(count > 0, count, 1.0), 0.25)
    z = xp.log(mean) - xp.log1p(-mean)
    return xp.where(xp.arange(m, device=z.device) < m // 2, -z, z)


def add_bins(bins: Tensor, values: Tensor | None, m: int) -> Tensor:
    """Sums of values, or the number of pixels, in every bin of every row."""
    xp, rows = namespace(bins), bins.shape[0]
    flat = (bins + xp.arange(rows, device=bins.device)[:, None] * m).reshape(-1)
    values = None if values is None else values.double().reshape(-1)
    return xp.bincount(flat, values, minlength=rows * m).reshape(rows, m).double()


def in_parts(p: Tensor, sd: Tensor) -> list[slice]:
    """Rows that fit in memory."""
    nodes = effect_nodes(float(sd.max()))[0].size
    step = max(CELLS // (2 * half_bins() * nodes), 1)
    return [slice(i, i + step) for i in range(0, p.shape[0], step)]


def shared_curve(z: Tensor, count: Tensor, sd: Tensor, metric: Metric) -> Tensor:
    """Expected score of the first 0…m groups of pixels of rows.

    For each u and node s it is c1·e^(-s·d2·k)·Π φ·Σ p·u1/φ, as in `ratio_curve`.
    """
    xp, form = namespace(z), metric.form
    assert isinstance(form, RatioForm)
    u, w = (like(xp, x, z) for x in effect_nodes(float(sd.max())))
    x = keep_margins(xp, z, sd, u, w)[:, None, :] + sd[:, None, None] * u[:, None]
    p, q = chances(xp, x, True)
    w, each, k = w[:, None], count[:, None, :], count.cumsum(1)[:, None, :]
    _, d1, d2, d3 = form.d
    n = float(k[0, 0, -1])
    low, high = form.denominator_range(n, n)
    value = xp.zeros_like(z)
    nodes = exponential_sum(1.0, float(low), float(high))
    for s, weight in zip(*(x.tolist() for x in nodes), strict=True):
        phi, log = log_phi(xp, p, q, s * (d1 + d3))
        hits = (each * share(xp, p, phi, s * (d1 + d3))).cumsum(2)
        after = log if d1 == 0 else log_phi(xp, p, q, s * d3)[1]
        logs = (each * after).sum(2, keepdim=True)
        if d1 != 0:
            logs = logs + (each * (log - after)).cumsum(2)
        value += weight * form.c[1] * (w * xp.exp(logs - s * d2 * k) * hits).sum(1)
    # log(1-p) = -log(1 + e^x)
    log_q = -xp.clip(x, 0.0, None) - xp.log1p(xp.exp(-xp.abs(x)))
    empty = xp.where(each > 0, each * log_q, 0.0).sum(2, keepdim=True)
    none = metric.zero_division * (w * xp.exp(empty)).sum(1)
    return xp.cat([none, value], 1)


def decide_shared(
    p: Tensor, sd: Tensor, metric: Metric
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Best count, its expected score, the cut-off and the labels of rows of pixels."""
    xp, found = namespace(p), []
    for one in in_parts(p, sd):
        z, count, places = group_pixels(p[one])
        curve = shared_curve(z, count, sd[one], metric)
        top = curve.max(1, keepdim=True).values
        best = (curve >= top - TIE * top.abs()).to(xp.int8).argmax(1)[:, None]
        labels = places < best
        cut = xp.where(labels, p[one], math.inf).amin(1).double()
        found.append((labels.sum(1), curve.gather(1, best)[:, 0], cut, labels))
    n_pixels, value, cut, labels = map(xp.cat, zip(*found, strict=True))
    return n_pixels, value, cut, labels


def expected_shared(p: Tensor, chosen: Tensor, sd: Tensor, metric: Metric) -> Tensor:
    """Expected score of given masks of rows of pixels."""
    xp, values = namespace(p), []
    for one in in_parts(p, sd):
        z, count, places = group_pixels(p[one])
        inside = add_bins(places, chosen[one], z.shape[1])
        both = xp.cat([inside, count - inside], 1)
        curve = shared_curve(xp.cat([z, z], 1), both, sd[one], metric)
        last = curve[:, z.shape[1]]  # behind the groups of chosen pixels
        values.append(xp.where(inside.sum(1) > 0, last, curve[:, 0]))
    return xp.cat(values)


def fit_shared_sd(p: Tensor, y: Tensor, known: Tensor) -> Floats:
    """Standard deviation of the shared effect of every class, of highest likelihood."""
    likelihood = SharedLikelihood(p, y, known)
    grid = np.repeat(np.array(GRID)[:, None], p.shape[1], axis=1)
    for _ in range(4):  # a finer grid around the best of each class
        top = np.stack([likelihood(sd) for sd in grid]).argmax(axis=0)
        low, best, high = (
            np.take_along_axis(grid, np.clip(top + i, 0, len(grid) - 1)[None], 0)[0]
            for i in (-1, 0, 1)
        )
        grid = low + (high - low) * np.linspace(0.0, 1.0, len(grid))[:, None]
    return np.asarray(best)


class SharedLikelihood:
    """Log-likelihood of the shared effect, from pixels in bins of their odds.

    The integral over u is a sum around its largest value, in steps of half the width
    of the parabola there.
    """

    def __init__(self, p: Tensor, y: Tensor, known: Tensor) -> None:
        torch = require_torch("calibrate_masks")
        images, classes, n = p.shape
        m = 2 * half_bins()
        step = max(2 * CELLS // (classes * n), 1)
        found: list[list[Tensor]] = [[], [], []]
        for first in range(0, images, step):
            some = slice(first, first + step)
            label = known[some, None, :].expand(-1, classes, -1).reshape(-1, n)
            bins, small = odds_bins(p[some].reshape(-1, n))
            true = y[some].reshape(-1, n) & label
            for sums, values in zip(found, (true, label, small * label), strict=True):
                sums.append(add_bins(bins, values, m).reshape(-1, classes, m))
        hits, count, total = (torch.cat(sums) for sums in found)
        z = mean_log_odds(total.sum(0), count.sum(0)).clamp(-30.0, 30.0)
        used = count.sum((0, 1)) > 0
        self.z, self.hits, self.count = (x[..., used] for x in (z, hits, count))

    def __call__(self, sd: Floats) -> Floats:
        torch = require_torch("calibrate_masks")
        xp, z = namespace(self.z), self.z
        each = like(xp, sd, z)
        u, w = (like(xp, x, z) for x in effect_nodes(float(sd.max())))
        a = keep_margins(xp, z, each, u, w)
        mode, width = self._peak(a, each)
        logs = []
        for t in np.arange(-6.0, 6.25, 0.5).tolist():
            at = mode + t * width
            x = a + (each * at)[:, :, None]
            soft = torch.nn.functional.softplus(x)
            logs.append((self.hits * x - self.count * soft).sum(2) - 0.5 * at * at)
        rows = torch.logsumexp(torch.stack(logs), 0) + torch.log(0.5 * width)
        return np.asarray(to_host((rows - 0.5 * math.log(2.0 * math.pi)).sum(0)))

    def _peak(self, a: Tensor, sd: Tensor) -> tuple[Tensor, Tensor]:
        """The u of highest likelihood, and the standard deviation around it."""
        torch = require_torch("calibrate_masks")
        u = torch.zeros(self.hits.shape[:2], device=a.device, dtype=a.dtype)
        low, high = u - FARTHEST, u + FARTHEST
        for _ in range(100):
            p = torch.sigmoid(a + (sd * u)[:, :, None])
            slope = sd * (self.hits - self.count * p).sum(2) - u
            bend = sd**2 * (self.count * p * (1.0 - p)).sum(2) + 1.0
            low, high = torch.where(slope > 0, u, low), torch.where(slope < 0, u, high)
            new = u + slope / bend
            new = torch.where((new > low) & (new < high), new, (low + high) / 2.0)
            moved, u = ((new - u).abs() * bend.sqrt()).max(), new
            if float(moved) < 1e-6:
                break
        return u, bend.rsqrt()
