"""Masks whose pixels share an effect: an object is there, or not, as a whole.

Given u, normal and common to all pixels of an image and class, pixels are independent
with p(u) = expit(a + σ·u). Each a keeps the pixel's probability: E[p(u)] = p. The
expected score is E = Σ_u w_u·E[score | u]. The order of pixels is the same for every
u, so the best mask is still a cut of p.

The integral over u is a sum in steps of 1/σ: p(u) and P(an empty mask) then
err by about e^(-π²) = 5e-5. From σ = 10 on steps are 0.1, and the error is up to half a
weight, 0.02. Few pixels are taken one by one. Many are put
into bins of their odds, 16 for each factor of 2, each with its mean: the cut lies
between two bins, which costs less than 1e-4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from argmetric._expected import TIE
from argmetric._expected.kernels.nodes import exponential_sum
from argmetric._ground.types import Floats
from argmetric.metrics import Metric, RatioForm
from argmetric.tensors._arrays import Tensor, to_host, torch
from argmetric.tensors._curves import each_node, tilt

FEW_PIXELS = 1024  # up to so many are taken one by one
PER_OCTAVE = 16  # bins of the odds of pixels
OCTAVES = 20  # odds below 2^-20 share a bin
BINS = 2 * ((OCTAVES - 1) * PER_OCTAVE + 1)  # half of them up to odds of 1
CELLS = 1 << 21  # of tensors at a time
REACH = 4.0  # standard deviations of u on each side
MOST_STEPS = 10.0  # for each standard deviation of u
LARGEST_SD = 30.0  # an object is then all there, or not at all
GRID = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, LARGEST_SD)  # where the search of sd starts
FARTHEST = 100.0  # standard deviations of u that a search begins with
CLOSE = 1e-8  # a last step of Newton's method: what is left is about its square


def effect_nodes(sd: float) -> tuple[Floats, Floats]:
    """Return values of the random effect u and their weights."""
    half = math.ceil(REACH * min(max(2.0, sd), MOST_STEPS))
    u = np.linspace(-REACH, REACH, 2 * half + 1)
    w = np.exp(-0.5 * u * u)
    return u, w / w.sum()


def find_root(
    rise: Callable[[Tensor], tuple[Tensor, Tensor]], x: Tensor, reach: Tensor
) -> Tensor:
    """Return where ascending values are 0, within x ± reach, by their slopes.

    By Newton's method, and by halves where that leaves what is left of the range.
    """
    low, high = x - reach, x + reach
    for _ in range(100):
        value, slope = rise(x)
        low, high = torch.where(value <= 0, x, low), torch.where(value >= 0, x, high)
        new = x - value / slope
        new = torch.where((new > low) & (new < high), new, (low + high) / 2.0)
        moved, x = (new - x).abs(), new
        if not bool((moved > CLOSE).any()):
            break
    return x


def keep_margins(z: Tensor, sd: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return a with E[expit(a + sd·u)] = expit(z); also sd·u and weights.

    It is looked for on the scale of log-odds, within z ± sd·max(u).
    """
    u, w = (torch.from_numpy(x).to(z) for x in effect_nodes(float(sd.max())))
    effect = (sd[:, None] * u)[:, :, None]
    goal = z.clamp(-500.0, 500.0)  # also of p = 0 and 1: e^-500 adds nothing to a score

    def gap(a: Tensor) -> tuple[Tensor, Tensor]:
        x = a[:, None, :] + effect
        p, q = torch.sigmoid(x), torch.sigmoid(-x)
        mean, rest = w @ p, w @ q
        return mean.log() - rest.log() - goal, w @ (p * q) / (mean * rest)

    return find_root(gap, goal, REACH * sd[:, None]), effect, w


def odds_bins(p: Tensor) -> Tensor:
    """Return the bin of every pixel by the bits of min(p, 1-p), descending in p."""
    steps = int(math.log2(PER_OCTAVE))
    bits = torch.minimum(p, 1.0 - p).view(torch.int32) >> (23 - steps)
    bins = (bits - ((127 - OCTAVES) << steps)).clamp(0, BINS // 2 - 1)
    return torch.where(p > 0.5, bins, BINS - 1 - bins).long()


def add_bins(bins: Tensor, values: Tensor, m: int) -> Tensor:
    """Return the sums of values in each of the m bins of every row."""
    sums = torch.zeros(*bins.shape[:-1], m, dtype=torch.float64, device=bins.device)
    return sums.scatter_add_(-1, bins, values.double())


def group_pixels(p: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return log-odds and sizes of groups of nearly equal p, and pixels' groups.

    Log-odds descend.
    """
    m = p.shape[1]
    if m <= FEW_PIXELS:  # each pixel is a group
        places = p.argsort(dim=1, descending=True, stable=True).argsort(dim=1)
    else:
        m, places = BINS, odds_bins(p)
    count, total = (add_bins(places, x, m) for x in (torch.ones_like(p), p))
    used = count.sum(0) > 0
    z = torch.logit(total / count.clamp(min=1.0))
    return z[:, used], count[:, used], (used.cumsum(0) - 1)[places]


def shared_curve(z: Tensor, count: Tensor, sd: Tensor, metric: Metric) -> Tensor:
    """Return the expected score of the first 0 … m groups of pixels of rows.

    For each u and node s it is c1·e^(-s·d2·k)·Π φ·Σ p·u1/φ, as in `ratio_curve`.
    """
    form = metric.form
    assert isinstance(form, RatioForm)
    a, effect, w = keep_margins(z, sd)
    x = a[:, None, :] + effect
    p, q = torch.sigmoid(x), torch.sigmoid(-x)
    each, k = count[:, None, :], count.cumsum(1)[:, None, :]
    _, d1, d2, d3 = form.d
    n = float(k[0, 0, -1])
    low, high = form.denominator_range(n, n)
    value = torch.zeros_like(z)
    for s, weight in each_node(exponential_sum(1.0, float(low), float(high))):
        share, log = tilt(torch, p, q, s * (d1 + d3))
        after = log if d1 == 0 else tilt(torch, p, q, s * d3)[1]
        logs = (each * after).sum(2, keepdim=True) - s * d2 * k
        if d1 != 0:
            logs = logs + (each * (log - after)).cumsum(2)
        hits = (each * share).cumsum(2)
        value += weight * form.c[1] * (w @ (logs.exp() * hits))
    empty = (each * tilt(torch, p, q, math.inf)[1]).sum(2, keepdim=True).exp()
    return torch.cat([metric.zero_division * (w @ empty), value], 1)


def in_parts(sd: Tensor, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Yield as many rows at a time as fit in memory, with their sd."""
    nodes = effect_nodes(float(sd.max()))[0].size
    step = max(CELLS // (BINS * nodes), 1)
    return zip(*(x.split(step) for x in (sd, *tensors)), strict=True)


def decide_shared(
    p: Tensor, sd: Tensor, metric: Metric
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return best count, its expected score, cut and labels of rows of pixels."""
    found = []
    for sd_, p_ in in_parts(sd, p):
        z, count, places = group_pixels(p_)
        curve = shared_curve(z, count, sd_, metric)
        top = curve.amax(1, keepdim=True)
        best = (curve >= top - TIE * top.abs()).to(torch.int8).argmax(1)[:, None]
        labels = places < best
        cut = torch.where(labels, p_, math.inf).amin(1).double()
        found.append((labels.sum(1), curve.gather(1, best)[:, 0], cut, labels))
    n_pixels, value, cut, labels = map(torch.cat, zip(*found, strict=True))
    return n_pixels, value, cut, labels


def expected_shared(p: Tensor, chosen: Tensor, sd: Tensor, metric: Metric) -> Tensor:
    """Return the expected score of masks of rows of pixels."""
    values = []
    for sd_, p_, chosen_ in in_parts(sd, p, chosen):
        z, count, places = group_pixels(p_)
        inside = add_bins(places, chosen_, z.shape[1])
        both = torch.cat([inside, count - inside], 1)
        curve = shared_curve(torch.cat([z, z], 1), both, sd_, metric)
        last = curve[:, z.shape[1]]  # behind the groups of chosen pixels
        values.append(torch.where(inside.sum(1) > 0, last, curve[:, 0]))
    return torch.cat(values)


def fit_shared_sd(p: Tensor, y: Tensor, known: Tensor) -> Floats:
    """Return the sd of every class's random effect by maximum likelihood."""
    groups = group_labels(p, y, known)
    classes = np.arange(p.shape[1])
    grid = np.repeat(np.array(GRID)[:, None], classes.size, axis=1)
    for _ in range(4):  # a finer grid around the best of each class
        top = np.argmax([effect_likelihood(*groups, sd) for sd in grid], axis=0)
        wide = np.concatenate([grid[:1], grid, grid[-1:]])
        low, best, high = (wide[top + i, classes] for i in range(3))
        grid = np.linspace(low, high, len(GRID))
    return np.asarray(best)


def group_labels(p: Tensor, y: Tensor, known: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return log-odds of groups of pixels, and positives and pixels per image."""
    image = known.nonzero()[:, 0]
    z, _, places = group_pixels(p.movedim(0, 1)[:, known])
    shape = (p.shape[0], z.shape[1])
    true = y.movedim(0, 1)[:, known]
    hits, count = (
        add_bins(places + image * shape[1], x, math.prod(shape)).unflatten(1, shape)
        for x in (true, torch.ones_like(true))
    )
    return z.clamp(-30.0, 30.0), hits, count


def effect_likelihood(z: Tensor, hits: Tensor, count: Tensor, sd: Floats) -> Floats:
    """Return the log-likelihood of the random effect of every class.

    The integral over u is a sum around its largest value, in steps of half the width
    of the parabola there.
    """
    each = torch.from_numpy(sd).to(z)[:, None]
    a = keep_margins(z, each[:, 0])[0][:, None, :]

    def fall(u: Tensor) -> tuple[Tensor, Tensor]:
        """Return slope and curvature of -log likelihood, at the u of every image."""
        p = torch.sigmoid(a + (each * u)[:, :, None])
        bend = each**2 * (count * p * (1.0 - p)).sum(2) + 1.0
        return u - each * (hits - count * p).sum(2), bend

    start = 0.0 * count.sum(2)
    mode = find_root(fall, start, FARTHEST + start)
    width = fall(mode)[1].rsqrt()
    logs = []
    for t in np.arange(-6.0, 6.25, 0.5).tolist():
        u = mode + t * width
        x = a + (each * u)[:, :, None]
        soft = torch.nn.functional.softplus(x)
        logs.append((hits * x - count * soft).sum(2) - 0.5 * u * u)
    step = 0.5 * width / math.sqrt(2.0 * math.pi)
    found = torch.logsumexp(torch.stack(logs), 0) + step.log()
    return np.asarray(to_host(found.sum(1)))
