"""Expected metric at any k from sums of powers of the k largest p.

Where many labels are uncertain, all that E_k depends on is a short series in p: with
S_r(k) = Σ_{i≤k} p_i^r for a few r, one k costs the same for any number of items. All
evaluators take k and the sums apart, so that the hits of one k can be combined with a
smaller one: as a false alarm never helps, that bounds what lies between.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache

import numpy as np

from argmetric._expected import kernels
from argmetric._expected._curves import choose_nodes
from argmetric._expected._quadrature import (
    DEGREE,
    MAX_NODES,
    NODES,
    combine,
    points_and_weights,
    product,
    weight_polynomials,
)
from argmetric._expected._sums import N_NODES, SAFETY
from argmetric._expected.kernels.tolerances import TOLERANCE
from argmetric._expected.plan import (
    AFFINE_QUADRATURE_VARIANCE,
    QUADRATURE_VARIANCE,
    can_use_histogram,
)
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import (
    AffineForm,
    ItemForm,
    MeanForm,
    Metric,
    RatesForm,
    RatioForm,
)

RELATIVE_ERROR = 1e-12
ROUNDING = 4 * 2.0**-53  # of sums of powers, relatively
PRUNE = 34.0  # -log of the tolerance of exponential sums, and a little
TOTAL_TERMS = NODES - 1
MOST_TERMS = 12  # of the series in p: a longer one is slower than the items themselves
N_CUMULANTS = MAX_NODES - 1
FEW_HITS = 20_000  # items whose PMF is added up where it is too short for quadrature


class Evaluator(ABC):
    """E_k from k and the sums of powers 1…terms of the first k items, by columns."""

    terms: int
    sign = 1.0  # of the metric in values: the larger is always the better one

    def __init__(self, metric: Metric, n: int) -> None:
        self.metric, self.n = metric, n

    @abstractmethod
    def begin(self, total: Floats) -> None:
        """Take the sums of powers 1…TOTAL_TERMS of all items."""

    @abstractmethod
    def values(self, k: Floats, sums: Floats) -> Floats:
        """Return E[metric] with k predicted positives and the power sums."""

    def bounds(self, first: Floats, last: Floats, sums: Floats) -> Floats:
        """Return an upper bound of `values` for all k from first to last."""
        return self.values(first, sums)

    def valid(self, k: Floats, sums: Floats) -> Booleans:
        """Return where `values` are accurate."""
        return np.ones(k.size, dtype=bool)

    def none_chosen(self) -> float:
        """Return E[metric] without predicted positives, whatever the labels."""
        return float(self.metric.value(0, 0, 1, self.n))

    def all_chosen(self) -> float:
        """Return E[metric] with all predicted positive, whatever the labels."""
        return float(self.metric.value(1, self.n, 1, self.n))

    def at_few(self, k: int, items: Floats, sums: Floats) -> float | None:
        """Return E[metric] at a k without valid sums, from its items, or None."""
        return None

    def error(self, value: float, k: float, sums: Floats) -> float:
        """Return the error bound at one k."""
        return RELATIVE_ERROR * max(1.0, abs(value))


def make_evaluator(
    metric: Metric, n: int, mean: float, variance: float, largest: float
) -> Evaluator | None:
    """Return the evaluator of a metric on n items; None if no short series exists."""
    form = metric.form
    if isinstance(form, MeanForm):
        usable = can_use_histogram(mean, n) and gains_from_hits(metric, n)
        return MeanValues(metric, form, n) if usable else None
    if not metric.greater_is_better:
        return None
    if isinstance(form, RatioForm):
        ratio = RatioValues(metric, form, n, mean, largest)
        return ratio if ratio.usable else None
    if isinstance(form, RatesForm):
        if variance < 2 * QUADRATURE_VARIANCE:
            return None
        return RatesValues(metric, form, n)
    if variance < AFFINE_QUADRATURE_VARIANCE:
        return None
    if isinstance(form, ItemForm):
        return ItemValues(metric, form, n)
    if isinstance(form, AffineForm) and form.falls_with_k:
        return AffineValues(metric, form, n)
    return None


def gains_from_hits(metric: Metric, n: int) -> bool:
    """Return whether a hit never lowers the metric.

    Else the best set is no top-k set, and no bound holds.
    """
    k = np.array([1.0, n / 2, n - 1.0])
    gain = metric.value(1, k, n / 2, n) - metric.value(0, k, n / 2, n)
    return bool(((gain if metric.greater_is_better else -gain) >= 0.0).all())


class MeanValues(Evaluator):
    """Affine in tp and at most quadratic in t: from the means of both."""

    terms = 2

    def __init__(self, metric: Metric, form: MeanForm, n: int) -> None:
        super().__init__(metric, n)
        self.curvature = form.curvature
        self.weighs_cells = form.cells is not None
        self.sign = 1.0 if metric.greater_is_better else -1.0

    def begin(self, total: Floats) -> None:
        self.mean, squares = total[: self.terms].tolist()
        self.variance = self.mean - squares

    def values(self, k: Floats, sums: Floats) -> Floats:
        value = self.metric.value(sums[0], k, self.mean, self.n)
        if self.curvature is not None:
            value = value + self.curvature(k, np.full_like(k, self.n)) * self.variance
        return np.asarray(self.sign * value)

    def valid(self, k: Floats, sums: Floats) -> Booleans:
        """Return whether k is far from n: misses are divided by n - k."""
        return np.asarray(self.weighs_cells | (self._rounding(k) <= RELATIVE_ERROR))

    def _rounding(self, k: Floats) -> Floats:
        """Return the error that rounding of the misses adds."""
        rest, n = self.n - k, self.n
        gain = self.metric.value(0, k, rest, n) - self.metric.value(0, k, 0, n)
        return np.asarray(ROUNDING * self.mean * np.abs(gain) / np.maximum(rest, 1.0))

    def error(self, value: float, k: float, sums: Floats) -> float:
        rounding = float(self._rounding(np.array([k]))[0])
        return super().error(value, k, sums) + rounding

    def bounds(self, first: Floats, last: Floats, sums: Floats) -> Floats:
        """Return a bound: at fixed hits the best k is an end, or the mean."""
        middle = np.clip(self.mean, first, np.maximum(first, last))
        tried = [self.values(k, sums) for k in (first, middle, np.maximum(first, last))]
        return np.asarray(np.fmax.reduce(tried))

    def none_chosen(self) -> float:
        return float(self.values(np.zeros(1), np.zeros((2, 1)))[0])

    def all_chosen(self) -> float:
        every = np.array([[self.mean], [self.mean - self.variance]])
        return float(self.values(np.full(1, float(self.n)), every)[0])


class RatioValues(Evaluator):
    """c1·tp / (d0·n + d1·tp + d2·k + d3·t) by exponential sums.

    E_k = c1·Σ_q w·e^(-s(d0·n+d2·k)) · Π_{i≤k} phi_i(u1) · Π_{j>k} phi_j(u2) · Σ_{i≤k}
    p_i·u1/phi_i(u1), with log phi_i(u) and 1/phi_i(u) as series in p_i·(1-u).
    """

    def __init__(
        self, metric: Metric, form: RatioForm, n: int, mean: float, largest: float
    ) -> None:
        """Choose quadrature nodes for 1/D on the range of the denominator D."""
        super().__init__(metric, n)
        d0, d1, d2, d3 = form.d
        self.form = form
        # Only then a false alarm never helps, and a hit never hurts.
        signs = form.counts_hits_only and form.c[1] > 0
        rising = min(d0, d2, d3, d1 + d3) >= 0 and d2 > 0
        self.usable = signs and rising and can_use_histogram(mean)
        low, high = (float(x) for x in form.denominator_range(n, n))
        if not self.usable or low <= 0:
            self.usable = False
            return
        chosen, ends, nodes, weights = choose_nodes(
            1.0, np.array([low]), np.array(high)
        )
        own = slice(ends[chosen[0]], ends[chosen[0] + 1])
        nodes, weights = nodes[own], weights[own]
        rate = max(0.0, min(d1 + d2 + d3, d3)) / low
        weight = nodes - (mean - 1.0) * np.expm1(-nodes * rate)
        kept = int((weight <= PRUNE + math.log(high / low)).sum())
        self.s = nodes[: max(kept, 1), None] / low
        self.log_w = np.log(weights[: max(kept, 1), None] / low)
        self.drop_hit, self.drop_miss = (
            -np.expm1(-self.s * step) for step in (d1 + d3, d3)
        )
        reach = largest * float(max(self.drop_hit[-1, 0], self.drop_miss[-1, 0]))
        self.terms = MOST_TERMS + 1
        if reach < 0.5:
            self.terms = int(-37.0 / math.log(max(reach, 1e-18))) + 2
        self.usable = self.terms <= MOST_TERMS

    def begin(self, total: Floats) -> None:
        """Prepare coefficients of log Π (1 - p·drop) = -Σ_r drop^r/r·Σ p^r.

        total : ndarray of shape (n_terms,)
            Σ p^r over all items.
        """
        r = np.arange(1, self.terms + 1)
        self.log_hit = -(self.drop_hit**r) / r
        self.log_miss = -(self.drop_miss**r) / r
        self.weight = (1.0 - self.drop_hit) * self.drop_hit ** (r - 1)
        self.total = total[: self.terms]
        self.level = self.log_w + self.log_miss @ self.total[:, None]

    def all_chosen(self) -> float:
        return float(self.values(np.full(1, float(self.n)), self.total[:, None])[0])

    def values(self, k: Floats, sums: Floats) -> Floats:
        """Return E_k for each k by exponential sums; `sums` has a row per power."""
        d0, _, d2, _ = self.form.d
        level = product(self.log_hit - self.log_miss, sums)
        level += self.level
        level -= self.s * (d0 * self.n + d2 * k)
        np.exp(level, out=level)
        level *= product(self.weight, sums)
        return np.asarray(self.form.c[1] * level.sum(axis=0))


class AffineValues(Evaluator):
    """slope(k, T)·tp + intercept(k, T) on points of T."""

    terms = DEGREE + 1

    def __init__(self, metric: Metric, form: AffineForm, n: int) -> None:
        super().__init__(metric, n)
        self.form = form

    def begin(self, total: Floats) -> None:
        """Fit quadrature nodes t to the number of positives, by its cumulants."""
        cumulants = cumulants_of(total, TOTAL_TERMS)
        points, weights = points_and_weights(cumulants, NODES)
        self.total, self.t, self.pmf = total[: self.terms], points[:, 0], weights[:, 0]
        self.powers = weight_polynomials(cumulants)[0]

    def values(self, k: Floats, sums: Floats) -> Floats:
        joint = product(self.powers.T, sums).T
        t, pmf, n = self.t, self.pmf, float(self.n)
        return combine(self.form, n, k, t, pmf, joint=joint, joint_t=t + 1.0)

    def error(self, value: float, k: float, sums: Floats) -> float:
        """Return the error of E_k, larger for rare negatives, where digits cancel."""
        lost = 0.1 * self.n / (self.n - float(self.total[0]))
        return super().error(value, k, sums) * (1.0 + lost)


class ItemValues(AffineValues):
    """hits·tp/T^e + rejections·tn/(n-T)^e + offset, with tn = n - k - T + tp."""

    def __init__(self, metric: Metric, form: ItemForm, n: int) -> None:
        def of_hits(k: Floats, t: Floats, n: float) -> Floats:
            return _part(form.hits, k, n) * t**-form.exponent

        def of_others(k: Floats, t: Floats, n: float) -> Floats:
            return _part(form.rejections, k, n) * (n - t) ** -form.exponent

        affine = AffineForm(
            slope=lambda k, t, n: of_hits(k, t, n) + of_others(k, t, n),
            intercept=lambda k, t, n: form.offset + (n - k - t) * of_others(k, t, n),
        )
        super().__init__(metric, affine, n)

    def all_chosen(self) -> float:
        return float(self.values(np.full(1, float(self.n)), self.total[:, None])[0])


def _part(
    function: Callable[[Floats, Floats], Floats] | None, k: Floats, n: float
) -> Floats:
    return np.zeros_like(k) if function is None else function(k, np.full_like(k, n))


class RatesValues(Evaluator):
    """A mean of two rates on points of the hits and of the misses."""

    terms = N_CUMULANTS

    def __init__(self, metric: Metric, form: RatesForm, n: int) -> None:
        super().__init__(metric, n)
        self.mean = form.mean

    def begin(self, total: Floats) -> None:
        self.total = cumulants_of(total)

    def valid(self, k: Floats, sums: Floats) -> Booleans:
        return np.asarray(self._least_variance(sums) >= QUADRATURE_VARIANCE)

    def _least_variance(self, sums: Floats) -> Floats:
        variance = cumulants_of(sums)[1]
        return np.asarray(np.minimum(variance, self.total[1] - variance))

    def values(self, k: Floats, sums: Floats) -> Floats:
        """Return E[metric] at every k; a small variance needs more nodes."""
        out, variance = np.empty(k.size), self._least_variance(sums)
        left = np.ones(k.size, dtype=bool)
        for floor, n_nodes in N_NODES:
            chosen = np.flatnonzero(left & (variance >= floor))
            left[chosen] = False
            if chosen.size:
                out[chosen] = self._with_nodes(k[chosen], sums[:, chosen], n_nodes)
        return out

    def _with_nodes(self, k: Floats, sums: Floats, n_nodes: int) -> Floats:
        """Return E[metric] by quadrature with n_nodes for hits and for misses each.

        k : ndarray of shape (n_counts,)
        sums : ndarray of shape (n_terms, n_counts)
            Σ p^r over the k items that are predicted positive.
        """
        hit_cumulants = cumulants_of(sums)
        hits, hit_weights = points_and_weights(hit_cumulants, n_nodes)
        misses, miss_weights = points_and_weights(self.total - hit_cumulants, n_nodes)
        return self._sum(k, hits, hit_weights, misses, miss_weights)

    def _sum(
        self, k: Floats, a: Floats, weights: Floats, r: Floats, others: Floats
    ) -> Floats:
        """Return Σ weights·others·metric(a, r) over pairs of nodes, for every k.

        a, r : ndarray of shape (n_nodes, n_counts)
            Numbers of true positives and of false negatives, with their weights.
        """
        a, n = a[:, None, :], self.n
        t = a + r[None, :, :]
        # Outcomes with t = 0 or t = n have probability 0 here: no convention matters.
        x = np.clip(np.where(t > 0, a / np.maximum(t, 1), 0.0), 0.0, 1.0)
        y = 1.0 - (k - a) / np.maximum(n - t, 1)
        y = np.clip(np.where(t < n, y, 0.0), 0.0, 1.0)
        if self.mean == "geometric":
            values = np.sqrt(x * y)
        elif self.mean == "harmonic":
            values = 2.0 * x * y / np.maximum(x + y, 1e-300)
        else:
            values = 1.0 - np.sqrt(((1.0 - x) ** 2 + (1.0 - y) ** 2) / 2.0)
        return np.asarray(np.einsum("hrk,hk,rk->k", values, weights, others))

    def bounds(self, first: Floats, last: Floats, sums: Floats) -> Floats:
        """Return upper bounds of E between the counts `first` and `last`."""
        out, valid = np.empty(first.size), self.valid(first, sums)
        out[valid] = self.values(first[valid], sums[:, valid])
        if not valid.all():  # as if all positives were hit
            k = first[~valid]
            points, weights = points_and_weights(self.total, MAX_NODES)
            points, weights = (np.repeat(x, k.size, 1) for x in (points, weights))
            none, one = np.zeros((1, k.size)), np.ones((1, k.size))
            out[~valid] = self._sum(k, points, weights, none, one)
        return out

    def at_few(self, k: int, items: Floats, sums: Floats) -> float | None:
        """Return E_k with the exact PMF of the hits of k items; None if k is large."""
        misses = self.total - cumulants_of(sums[:, None])
        if k > FEW_HITS or misses[1, 0] < QUADRATURE_VARIANCE:
            return None
        box, pmf = np.empty((1, 4), dtype=np.int64), np.empty(k + 2)
        ends, every = np.array([0, k]), np.ones(k, dtype=bool)
        kernels.fill_pmfs(items, 1.0 - items, ends, every, TOLERANCE, box, pmf)
        low, length = box[0, :2].tolist()
        points, weights = points_and_weights(misses, MAX_NODES)
        hits = low + np.arange(length, dtype=np.float64)[:, None]
        hit_weights = pmf[:length, None]
        at = np.array([float(k)])
        return float(self._sum(at, hits, hit_weights, points, weights)[0])

    def error(self, value: float, k: float, sums: Floats) -> float:
        """Return a bound on the error, from quadrature with 8, 7 and 6 nodes."""
        one = np.array([k])
        best, *others = (float(self._with_nodes(one, sums, n)[0]) for n in (8, 7, 6))
        gaps = [abs(x - best) for x in (*others, value)]
        return self.n * 2.0**-53 + SAFETY * max(gaps)


@cache
def cumulant_polynomials(orders: int) -> Floats:
    """Return cumulants r + 1 of a label as polynomials in p, without constant.

    κ_1 = p and κ_{r+1} = p·(1-p)·dκ_r/dp.
    """
    rows = np.zeros((orders, orders + 2))
    rows[0, 1] = 1.0
    for r in range(1, orders):
        slope = np.arange(1, orders + 2) * rows[r - 1, 1:]
        rows[r, 1:] += slope
        rows[r, 2:] -= slope[:-1]
    return rows[:, 1 : orders + 1]


def cumulants_of(sums: Floats, orders: int = N_CUMULANTS) -> Floats:
    """Return cumulants of sums of labels from sums of powers, by columns."""
    columns = sums.reshape(sums.shape[0], -1)
    return product(cumulant_polynomials(orders), columns[:orders])


class PlacedSums:
    """E at some k of one long vector, for any metric, from sums of powers.

    Parameters
    ----------
    p : ndarray
        Probabilities in descending order.
    k : ndarray
        Ascending counts, 0 and p.size among them.
    """

    def __init__(self, p: Floats, k: Integers) -> None:
        self.n, self.k, self.largest = p.size, k, float(p[0])
        self.sums = np.zeros((TOTAL_TERMS, k.size))
        power = p.copy()
        for row in self.sums:
            np.cumsum(np.add.reduceat(power, k[:-1]), out=row[1:])
            power *= p

    def expected(self, metric: Metric) -> Floats | None:
        """Return the metric at all k; None if that needs the whole curve."""
        mean, squares = self.sums[:2, -1].tolist()
        spread = mean - squares
        evaluator = make_evaluator(metric, self.n, mean, spread, self.largest)
        if evaluator is None:
            return None
        sums = self.sums[: evaluator.terms]
        evaluator.begin(self.sums[:, -1])
        inner = slice(1, -1)
        k = self.k[inner].astype(float)
        if not evaluator.valid(k, sums[:, inner]).all():
            return None
        values = np.empty(self.k.size)
        values[inner] = evaluator.values(k, sums[:, inner])
        values[0], values[-1] = evaluator.none_chosen(), evaluator.all_chosen()
        return evaluator.sign * values
