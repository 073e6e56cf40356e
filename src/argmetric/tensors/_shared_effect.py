"""Masks whose pixels share an effect: an object is there, or not, as a whole.

Given u, normal and common to all pixels of an image and class, pixels are independent
with p(u) = expit(a + σ·u). Each a keeps the pixel's probability: E[p(u)] = p. The
expected score is E = Σ_u w_u·E[score | u]. The order of pixels is the same for every
u, so the best mask is still a cut of p.

The integral over u is a sum in steps of at most 1/σ: p(u) and the chance of an empty
mask then err by about e^(-π²) = 5e-5. Few pixels are taken one by one. Many are put
into bins of their odds, 16 for each factor of 2, each with its mean: the cut lies
between two bins, which costs less than 1e-4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._expected.kernels.nodes import exponential_sum
from argmetric._input.types import Floats
from argmetric.metrics import Metric, RatioForm
from argmetric.tensors._arrays import (
    Tensor,
    chances,
    descending,
    like,
    namespace,
    require_torch,
    to_host,
)
from argmetric.tensors._curves import log_phi, share
from argmetric.tensors._decide import cut_between, mark
from argmetric.tensors._segments import Part

FEW_PIXELS = 1024  # of an image that are taken one by one
PER_OCTAVE = 16  # bins of the odds of pixels
OCTAVES = 20  # odds below 2^-20 share a bin
CELLS = 1 << 21  # of (rows, nodes, groups of pixels) at a time
REACH = 4.0  # standard deviations of u on each side
LARGEST_SD = 8.0  # an object is then all there, or not at all
GRID = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, LARGEST_SD)  # where the search of sd starts
FARTHEST = 100.0  # standard deviations of u that a search begins with
CLOSE = 1e-13  # change of a at which its search ends


def effect_nodes(sd: float) -> tuple[Floats, Floats]:
    """Values of u and their weights."""
    half = math.ceil(REACH * max(2.0, sd))
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


@dataclass(frozen=True)
class PixelGroups:
    """Pixels of rows in groups of nearly equal p, in descending order of p."""

    log_odds: Tensor
    count: Tensor
    places: Tensor | None = None  # the group of every pixel; None: each is one

    @classmethod
    def of(cls, p: Tensor) -> PixelGroups:
        xp = namespace(p)
        if p.shape[1] <= FEW_PIXELS:
            keys = xp.astype(descending(xp, p), xp.float64)
            return cls(xp.log(keys) - xp.log1p(-keys), xp.ones_like(keys))
        bins, small = odds_bins(p)
        count, total = (add_bins(bins, x, 2 * half_bins()) for x in (None, small))
        z = mean_log_odds(total, count)
        used = count.sum(0) > 0
        return cls(z[:, used], count[:, used], (used.cumsum(0) - 1)[bins])


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


def parts(p: Tensor, sd: Tensor) -> tuple[list[slice], Floats, Floats]:
    """Rows that fit in memory, and the values of u for all of them."""
    u, w = effect_nodes(float(sd.max()))
    wide = max(min(p.shape[1], FEW_PIXELS), 2 * half_bins())
    step = max(CELLS // (wide * u.size), 1)
    return [slice(i, i + step) for i in range(0, p.shape[0], step)], u, w


class SharedScores:
    """Expected scores of rows of pixels that share an effect."""

    def __init__(
        self, groups: PixelGroups, sd: Tensor, u: Floats, w: Floats, n: int
    ) -> None:
        z = groups.log_odds
        self.xp, self.n = namespace(z), n
        self.w = like(self.xp, w, z)[None, :, None]
        at = like(self.xp, u, z)
        a = keep_margins(self.xp, z, sd, at, self.w[0, :, 0])
        x = a[:, None, :] + sd[:, None, None] * at[None, :, None]
        self.p, self.q = chances(self.xp, x, True)
        # log(1-p) = -log(1 + e^x)
        self.log_q = -self.xp.clip(x, 0.0, None) - self.xp.log1p(
            self.xp.exp(-self.xp.abs(x))
        )

    def empty(self, count: Tensor) -> Tensor:
        """The chance that no pixel of a row is positive."""
        xp, count = self.xp, count[:, None, :]
        log = xp.sum(xp.where(count > 0, count * self.log_q, 0.0), axis=2)
        return xp.sum(self.w[:, :, 0] * xp.exp(log), axis=1)

    def curve(self, count: Tensor, form: RatioForm) -> Tensor:
        """E[score] of the first 1…m groups of rows, 0/0 as 0."""
        k, each = count.cumsum(1)[:, None, :], count[:, None, :]

        def sums(hit: Tensor, log1: Tensor, log3: Tensor) -> tuple[Tensor, Tensor]:
            # Both logs of Dice are the same
            after = (each * log3).sum(2, keepdim=True)
            if log1 is not log3:
                after = after + (each * (log1 - log3)).cumsum(2)
            return (each * hit).cumsum(2), after

        return self._mean(sums, k, form)

    def of_mask(self, chosen: Tensor, others: Tensor, form: RatioForm) -> Tensor:
        """E[score] of masks with so many pixels of each group, 0/0 as 0."""
        k = chosen.sum(1)[:, None, None]
        chosen, others = chosen[:, None, :], others[:, None, :]

        def sums(hit: Tensor, log1: Tensor, log3: Tensor) -> tuple[Tensor, Tensor]:
            logs = chosen * log1 + others * log3
            return (chosen * hit).sum(2, keepdim=True), logs.sum(2, keepdim=True)

        return self._mean(sums, k, form)[:, 0]

    def _mean(self, sums: Any, k: Tensor, form: RatioForm) -> Tensor:
        """Σ_s w_s·c1·e^(-s·d2·k)·Π φ·Σ p·u1/φ, in the mean over u; as `ratio_curve`."""
        xp = self.xp
        _, d1, d2, d3 = form.d
        value: Any = 0.0
        low, high = form.denominator_range(self.n, self.n)
        nodes = exponential_sum(1.0, float(low), float(high))
        for s, w in zip(*(x.tolist() for x in nodes), strict=True):
            phi, log1 = log_phi(xp, self.p, self.q, s * (d1 + d3))
            log3 = log1 if d1 == 0 else log_phi(xp, self.p, self.q, s * d3)[1]
            hits, logs = sums(share(xp, self.p, phi, s * (d1 + d3)), log1, log3)
            terms = self.w * xp.exp(logs - s * d2 * k) * hits
            value = value + w * form.c[1] * terms.sum(1)
        return value


def decide_shared(
    p: Tensor, sd: Tensor, metric: Metric
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Best count, its expected score, the cut-off and the labels of rows of pixels."""
    xp = namespace(p)
    some, u, w = parts(p, sd)
    found = [_decide(p[one], sd[one], metric, u, w) for one in some]
    best, value, cut, labels = map(xp.cat, zip(*found, strict=True))
    return best, value, cut, labels


def _decide(
    p: Tensor, sd: Tensor, metric: Metric, u: Floats, w: Floats
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    xp, n, form = namespace(p), p.shape[1], metric.form
    assert isinstance(form, RatioForm)
    groups = PixelGroups.of(p)
    scores = SharedScores(groups, sd, u, w, n)
    none = metric.zero_division * scores.empty(groups.count)
    curve = xp.cat([none[:, None], scores.curve(groups.count, form)], 1)
    top = curve.max(1, keepdim=True).values
    place = (curve >= top - 1e-12 * top.abs()).to(xp.int8).argmax(1)[:, None]
    value = curve.gather(1, place)[:, 0]
    if groups.places is None:
        keys = descending(xp, p).double()
        upper = keys.gather(1, (place - 1).clamp(min=0))
        upper = xp.where(place > 0, upper, math.inf)
        lower = keys.gather(1, place.clamp(max=n - 1))
        cut = cut_between(xp, upper, xp.where(place < n, lower, -math.inf))[:, 0]
        chosen = place[:, 0], value, cut
        part = Part(slice(0), np.zeros(0, dtype=np.int64), None, n)
        return *chosen, mark(xp, p, chosen, part)
    labels = groups.places < place
    cut = xp.where(labels, p, math.inf).amin(1).double()
    return labels.sum(1), value, cut, labels


def expected_shared(p: Tensor, chosen: Tensor, sd: Tensor, metric: Metric) -> Tensor:
    """Expected score of given masks of rows of pixels."""
    xp, n, form = namespace(p), p.shape[1], metric.form
    assert isinstance(form, RatioForm)
    some, u, w = parts(p, sd)
    values = []
    for one in some:
        groups = PixelGroups.of(p[one])
        m = groups.log_odds.shape[1]
        if groups.places is None:
            order = p[one].argsort(dim=1, descending=True, stable=True)
            inside = chosen[one].gather(1, order).double()
        else:
            inside = add_bins(groups.places, chosen[one], m)
        scores = SharedScores(groups, sd[one], u, w, n)
        value = scores.of_mask(inside, groups.count - inside, form)
        none = metric.zero_division * scores.empty(groups.count)
        values.append(value + xp.where(inside.sum(1) == 0, none, 0.0))
    return xp.cat(values)


def fit_shared_sd(p: Tensor, y: Tensor, known: Tensor) -> Floats:
    """Standard deviation of the shared effect of every class, of highest likelihood."""
    likelihood = SharedLikelihood(p, y, known)
    grid = np.array(GRID)
    classes = p.shape[1]
    values = np.stack([likelihood(np.full(classes, x)) for x in grid])
    top = values.argmax(0)
    low = grid[np.maximum(top - 1, 0)]
    high = grid[np.minimum(top + 1, grid.size - 1)]
    # Golden section, one search for each class; its ends are kept if they are best
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    one, two = high - ratio * (high - low), low + ratio * (high - low)
    at_one, at_two = likelihood(one), likelihood(two)
    for _ in range(12):
        left = at_one >= at_two
        low, high = np.where(left, low, one), np.where(left, two, high)
        new = np.where(left, high - ratio * (high - low), low + ratio * (high - low))
        at_new = likelihood(new)
        one, two = np.where(left, new, two), np.where(left, one, new)
        at_one, at_two = np.where(left, at_new, at_two), np.where(left, at_one, at_new)
    best = (low + high) / 2.0
    edge = values.max(0) >= likelihood(best)
    return np.asarray(np.where(edge, grid[top], best))


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
        steps = torch.arange(-6.0, 6.25, 0.5, device=z.device, dtype=z.dtype)
        logs = torch.stack(
            [self._log(a, each, mode + t * width) for t in steps.tolist()]
        )
        rows = torch.logsumexp(logs, 0) + torch.log(0.5 * width)
        total = rows.sum(0) - mode.shape[0] * 0.5 * math.log(2.0 * math.pi)
        return np.asarray(to_host(total))

    def _log(self, a: Tensor, sd: Tensor, u: Tensor) -> Tensor:
        """Log likelihood of every image and class at u, with that of u."""
        torch = require_torch("calibrate_masks")
        x = a + (sd * u)[:, :, None]
        soft = torch.nn.functional.softplus(x)
        return (self.hits * x - self.count * soft).sum(2) - 0.5 * u * u

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
