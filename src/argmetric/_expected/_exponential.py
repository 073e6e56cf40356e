"""Drivers of the exponential sums: ratios of affine functions, and item weights."""

from __future__ import annotations

from functools import cache

import numpy as np

from argmetric._expected import kernels
from argmetric._expected.kernels.nodes import exponential_sum
from argmetric._expected.plan import by_item_law
from argmetric._input.segments import Segments
from argmetric._input.types import Floats, Integers
from argmetric.metrics import ItemForm, RatioForm


@cache
def node_table(alpha: float, n_sets: int) -> tuple[Integers, Floats, Floats]:
    """Nodes for denominators in [1, 2^j], j = 0…n_sets-1, behind each other."""
    sets = [exponential_sum(alpha, 1.0, 2.0**j) for j in range(n_sets)]
    ends = np.cumsum([0] + [nodes.size for nodes, _ in sets])
    nodes = np.concatenate([nodes for nodes, _ in sets])
    return ends, nodes, np.concatenate([weights for _, weights in sets])


def choose_nodes(
    alpha: float, low: Floats, high: Floats
) -> tuple[Integers, Integers, Floats, Floats]:
    """The set of nodes of every segment, and the table of sets it points into."""
    chosen = np.ceil(np.log2(np.maximum(high / low, 1.0))).astype(np.int64)
    return chosen, *node_table(alpha, int(chosen.max(initial=0)) + 1)


def ratio_curves(segments: Segments, form: RatioForm, out: Floats) -> None:
    """Curves of (c·counts)/(d·counts), 0/0 taken as 0, by exponential sums."""
    low, high = form.denominator_range(segments.lengths, segments.sizes)
    chosen, ends, nodes, weights = choose_nodes(1.0, low, high)
    d0, d1, d2, d3 = form.d
    common = (segments.p, segments.q, segments.indptr, chosen, ends)
    if form.counts_hits_only and d1 == 0:
        base = d0 * segments.sizes.astype(np.float64)
        kernels.hit_curves(*common, nodes, weights, 1.0, base, d2, d3, low, high, out)
        out *= form.c[1]
    else:
        c, d = np.array(form.c), np.array(form.d)
        kernels.ratio_curves(
            *common, nodes, weights, c, d, segments.sizes, low, high, out
        )


def weight_sums(segments: Segments, exponent: float) -> Floats:
    """E[tp / t^exponent] for every k, where the implicit members add to t.

    The implicit members are certain positives here: see `item_curves`. Of short groups
    by the law of T without one item, else by exponential sums.
    """
    out, base = segments.empty_curves(), segments.sizes - segments.lengths
    short = by_item_law(segments.lengths) & (base == 0) & (segments.n_segments > 1)
    for chosen in (np.flatnonzero(short), np.flatnonzero(~short)):
        if not chosen.size:
            continue
        part = segments.take(chosen)
        curves, common = part.empty_curves(), (part.p, part.q, part.indptr)
        if short[chosen[0]]:
            t = np.arange(float(part.lengths.max()) + 1.0)
            worth = np.append(0.0, t[1:] ** -exponent)
            one, nothing, absent = np.ones(t.size), np.zeros(t.size), np.zeros(0)
            places = np.zeros(chosen.size, dtype=np.int64)  # all read the same powers
            factors = one, worth, nothing, nothing, absent, absent
            kernels.affine_curves(*common, places, *factors, curves)
        else:
            more = base[chosen].astype(np.float64)
            low, high = more + 1.0, more + np.maximum(part.lengths, 1)
            rule = choose_nodes(exponent, low, high)
            kernels.hit_curves(
                *common, *rule, exponent, more, 0.0, 1.0, low, high, curves
            )
        segments.put(chosen, curves, out)
    return out


def item_curves(segments: Segments, form: ItemForm, out: Floats) -> None:
    """Curves of hits·tp/t^e + rejections·tn/(n-t)^e + offset, 0/0 taken as 0.

    The second term is the first of the problem with p and q exchanged and the order
    reversed, in which the implicit certain negatives count as certain positives. With
    b of them it lacks b·E[1/(n-t)] = 1 - E[(n-t-b)/(n-t)], the last value of its curve.
    """
    k, n = segments.flat_counts()
    out[:] = form.offset
    if form.hits is not None:
        explicit = Segments(segments.p, segments.q, segments.indptr, segments.lengths)
        sums = weight_sums(explicit, form.exponent)
        out += form.hits(k, n) * sums
    if form.rejections is not None:
        mirrored = Segments(
            np.ascontiguousarray(segments.q[::-1]),
            np.ascontiguousarray(segments.p[::-1]),
            segments.p.size - segments.indptr[::-1],
            segments.sizes[::-1],
        )
        sums = weight_sums(mirrored, form.exponent)[::-1]
        if (segments.sizes > segments.lengths).any():
            all_rejected = sums[segments.indptr[:-1] + np.arange(segments.n_segments)]
            missing = np.where(segments.sizes > segments.lengths, 1.0 - all_rejected, 0)
            sums = sums + np.repeat(missing, segments.lengths + 1)
        out += form.rejections(k, n) * sums
