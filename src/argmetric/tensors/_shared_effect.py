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
from collections.abc import Callable

import numpy as np

from argmetric._expected import TIE
from argmetric._expected.kernels.nodes import exponential_sum
from argmetric._ground.types import Floats
from argmetric.metrics import Metric, RatioForm
from argmetric.tensors._arrays import Tensor, chances, namespace, to_host, torch
from argmetric.tensors._curves import each_node, tilted

FEW_PIXELS = 1024  # of an image that are taken one by one
PER_OCTAVE = 16  # bins of the odds of pixels
OCTAVES = 20  # odds below 2^-20 share a bin
HALF_BINS = (OCTAVES - 1) * PER_OCTAVE + 1  # bins up to odds of 1
CELLS = 1 << 21  # of (rows, nodes, groups of pixels) at a time
REACH = 4.0  # standard deviations of u on each side
MOST_STEPS = 10.0  # for each standard deviation of u
LARGEST_SD = 30.0  # an object is then all there, or not at all
GRID = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, LARGEST_SD)  # where the search of sd starts
FARTHEST = 100.0  # standard deviations of u that a search begins with


def effect_nodes(sd: float) -> tuple[Floats, Floats]:
    """Values of u and their weights."""
    half = math.ceil(REACH * min(max(2.0, sd), MOST_STEPS))
    u = np.linspace(-REACH, REACH, 2 * half + 1)
    w = np.exp(-0.5 * u * u)
    return u, w / w.sum()


def find_root(
    rise: Callable[[Tensor], tuple[Tensor, Tensor]],
    low: Tensor,
    high: Tensor,
    close: float,
) -> Tensor:
    """Where values that rise are 0, from values and their slopes.

    By Newton's method, and by halves where that leaves what is left of the range.
    """
    x = (low + high) / 2.0
    for _ in range(100):
        value, slope = rise(x)
        low, high = torch.where(value <= 0, x, low), torch.where(value >= 0, x, high)
        new = x - value / slope
        new = torch.where((new > low) & (new < high), new, (low + high) / 2.0)
        moved, x = (new - x).abs(), new
        if not bool((moved > close * (1.0 + x.abs())).any()):
            break
    return x


def keep_margins(z: Tensor, sd: Tensor, u: Tensor, w: Tensor) -> Tensor:
    """The a of every log-odds z: the mean of expit(a + sd·u) is expit(z).

    It is looked for on the scale of log-odds, within z ± sd·max(u).
    """
    goal, weight = z.clamp(-500.0, 500.0), w[:, None]
    effect = (sd[:, None] * u)[:, :, None]

    def gap(a: Tensor) -> tuple[Tensor, Tensor]:
        p, q = chances(namespace(a), a[:, None, :] + effect, True)
        mean, rest = (weight * p).sum(1), (weight * q).sum(1)
        slope = (weight * p * q).sum(1) / (mean * rest)
        return mean.log() - rest.log() - goal, slope

    reach = REACH * sd[:, None]
    a = find_root(gap, goal - reach, goal + reach, 1e-13)
    return torch.where(torch.isfinite(z), a, z)


def group_pixels(p: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Log-odds and size of groups of nearly equal p, descending; each pixel's group."""
    if p.shape[1] <= FEW_PIXELS:  # each pixel is a group
        order = p.argsort(dim=1, descending=True, stable=True)
        z = torch.logit(p.gather(1, order).double())
        return z, torch.ones_like(z), order.argsort(dim=1)
    bins, small = odds_bins(p)
    count, total = (add_bins(bins, x, 2 * HALF_BINS) for x in (None, small))
    used = count.sum(0) > 0
    z = mean_log_odds(total, count)
    return z[:, used], count[:, used], (used.cumsum(0) - 1)[bins]


def odds_bins(p: Tensor) -> tuple[Tensor, Tensor]:
    """The bin of every pixel by the bits of min(p, 1-p), descending in p; and those."""
    steps = int(math.log2(PER_OCTAVE))
    small = torch.where(p <= 0.5, p, 1.0 - p)
    bits = small.contiguous().view(torch.int32) >> (23 - steps)
    bins = (bits - ((127 - OCTAVES) << steps)).clamp(0, HALF_BINS - 1)
    bins = torch.where(p > 0.5, bins, 2 * HALF_BINS - 1 - bins)
    return bins.long(), small.double()


def mean_log_odds(total: Tensor, count: Tensor) -> Tensor:
    """Log-odds of the mean of every bin, from sums of min(p, 1-p)."""
    z = torch.logit(torch.where(count > 0, total / count.clamp(min=1.0), 0.25))
    z[:, : z.shape[1] // 2] *= -1.0
    return z


def add_bins(bins: Tensor, values: Tensor | None, m: int) -> Tensor:
    """Sums of values, or the number of pixels, in every bin of every row."""
    rows = bins.shape[0]
    flat = (bins + torch.arange(rows, device=bins.device)[:, None] * m).reshape(-1)
    values = None if values is None else values.double().reshape(-1)
    return torch.bincount(flat, values, minlength=rows * m).reshape(rows, m).double()


def in_parts(p: Tensor, sd: Tensor) -> list[slice]:
    """Rows that fit in memory."""
    nodes = effect_nodes(float(sd.max()))[0].size
    step = max(CELLS // (2 * HALF_BINS * nodes), 1)
    return [slice(i, i + step) for i in range(0, p.shape[0], step)]


def shared_curve(z: Tensor, count: Tensor, sd: Tensor, metric: Metric) -> Tensor:
    """Expected score of the first 0…m groups of pixels of rows.

    For each u and node s it is c1·e^(-s·d2·k)·Π φ·Σ p·u1/φ, as in `ratio_curve`.
    """
    xp, form = namespace(z), metric.form
    assert isinstance(form, RatioForm)
    u, w = (torch.from_numpy(x).to(z) for x in effect_nodes(float(sd.max())))
    x = keep_margins(z, sd, u, w)[:, None, :] + (sd[:, None] * u)[:, :, None]
    p, q = chances(xp, x, True)
    w, each, k = w[:, None], count[:, None, :], count.cumsum(1)[:, None, :]
    _, d1, d2, d3 = form.d
    n = float(k[0, 0, -1])
    low, high = form.denominator_range(n, n)
    value = torch.zeros_like(z)
    for s, weight in each_node(exponential_sum(1.0, float(low), float(high))):
        share, log = tilted(xp, p, q, s * (d1 + d3))
        hits = (each * share).cumsum(2)
        after = log if d1 == 0 else tilted(xp, p, q, s * d3)[1]
        logs = (each * after).sum(2, keepdim=True)
        if d1 != 0:
            logs = logs + (each * (log - after)).cumsum(2)
        value += weight * form.c[1] * (w * torch.exp(logs - s * d2 * k) * hits).sum(1)
    log_q = torch.nn.functional.logsigmoid(-x)
    empty = torch.where(each > 0, each * log_q, 0.0).sum(2, keepdim=True)
    none = metric.zero_division * (w * empty.exp()).sum(1)
    return torch.cat([none, value], 1)


def decide_shared(
    p: Tensor, sd: Tensor, metric: Metric
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Best count, its expected score, the cut-off and the labels of rows of pixels."""
    found = []
    for one in in_parts(p, sd):
        z, count, places = group_pixels(p[one])
        curve = shared_curve(z, count, sd[one], metric)
        top = curve.amax(1, keepdim=True)
        best = (curve >= top - TIE * top.abs()).to(torch.int8).argmax(1)[:, None]
        labels = places < best
        cut = torch.where(labels, p[one], math.inf).amin(1).double()
        found.append((labels.sum(1), curve.gather(1, best)[:, 0], cut, labels))
    n_pixels, value, cut, labels = map(torch.cat, zip(*found, strict=True))
    return n_pixels, value, cut, labels


def expected_shared(p: Tensor, chosen: Tensor, sd: Tensor, metric: Metric) -> Tensor:
    """Expected score of given masks of rows of pixels."""
    values = []
    for one in in_parts(p, sd):
        z, count, places = group_pixels(p[one])
        inside = add_bins(places, chosen[one], z.shape[1])
        both = torch.cat([inside, count - inside], 1)
        curve = shared_curve(torch.cat([z, z], 1), both, sd[one], metric)
        last = curve[:, z.shape[1]]  # behind the groups of chosen pixels
        values.append(torch.where(inside.sum(1) > 0, last, curve[:, 0]))
    return torch.cat(values)


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
        images, classes, n = p.shape
        m = 2 * HALF_BINS
        step = max(2 * CELLS // (classes * n), 1)
        found: list[list[Tensor]] = [[], [], []]
        for first in range(0, images, step):
            some = slice(first, first + step)
            label = known[some, None, :].expand(-1, classes, -1).reshape(-1, n)
            bins, small = odds_bins(p[some].reshape(-1, n))
            true = y[some].reshape(-1, n) & label
            for sums, values in zip(found, (true, label, small * label), strict=True):
                sums.append(add_bins(bins, values, m).reshape(-1, classes, m))
        hits, count, total = map(torch.cat, found)
        z = mean_log_odds(total.sum(0), count.sum(0)).clamp(-30.0, 30.0)
        used = count.sum((0, 1)) > 0
        self.z, self.hits, self.count = (x[..., used] for x in (z, hits, count))

    def __call__(self, sd: Floats) -> Floats:
        given = (sd, *effect_nodes(float(sd.max())))
        each, u, w = (torch.from_numpy(x).to(self.z) for x in given)
        a = keep_margins(self.z, each, u, w)
        far = torch.full_like(self.hits[:, :, 0], FARTHEST)

        def fall(u: Tensor) -> tuple[Tensor, Tensor]:
            """Slope of -log likelihood and its own slope, at the u of every image."""
            p = torch.sigmoid(a + (each * u)[:, :, None])
            bend = each**2 * (self.count * p * (1.0 - p)).sum(2) + 1.0
            return u - each * (self.hits - self.count * p).sum(2), bend

        mode = find_root(fall, -far, far, 1e-8)
        width = fall(mode)[1].rsqrt()
        logs = []
        for t in np.arange(-6.0, 6.25, 0.5).tolist():
            at = mode + t * width
            x = a + (each * at)[:, :, None]
            soft = torch.nn.functional.softplus(x)
            logs.append((self.hits * x - self.count * soft).sum(2) - 0.5 * at * at)
        rows = torch.logsumexp(torch.stack(logs), 0) + torch.log(0.5 * width)
        return np.asarray(to_host((rows - 0.5 * math.log(2.0 * math.pi)).sum(0)))
