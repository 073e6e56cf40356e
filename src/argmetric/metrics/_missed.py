"""A metric where some positives never became rows: detectors, blocking, cut lists.

With M missed positives the false negatives rise by M, so that t and n become t + M and
n + M. Of a metric without true negatives only t counts. M is a number, or unknown: each
positive becomes a row with the probability π, independently. Given t positives among
the rows, M is then negative binomial, the failures before the t-th success:

    P(M = m | t) = C(t + m - 1, m) π^t (1 - π)^m,    E[M | t] = r·t,  r = (1 - π)/π.

A reference of (found, missed) positives gives π a Beta(found + 1/2, missed + 1/2)
distribution. The value at (tp, k, t, n) is the mean over M: term by term for few
positives, else at the Gaussian nodes of the negative binomial (those of Meixner's
polynomials), whose distance from the mean in standard deviations is smooth in 1/√t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.polynomial import chebyshev

from argmetric._ground.arguments import refuse_given, shown
from argmetric._ground.types import Floats
from argmetric.metrics._base import CustomMetric, Metric
from argmetric.metrics._rates import Utility, refuse_for_amounts

MissedLike: TypeAlias = int | float | tuple[int, int]
# M is summed term by term for fewer positives, and for fewer expected missed ones
FEW, FEW_MISSED = 20.0, 10.0
# Nodes of M, and the degree of the polynomials in 1/√t for them; fewer from MANY
# positives on. With RATE_NODES of π F1 errs by less than 1e-8; by 1e-4 if one is found
MANY, RULES, RATE_NODES = 1000.0, ((3, 4), (8, 12)), 6
LARGEST_RATE = 30.0
SINGLE = 128  # M from which on a sum is an integral
LEAST_FOUND = 0.01  # of the distribution of π
PARTS = 64  # equally likely M (of groups: rates) behind a forecast's distribution
GRID = 32
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True, repr=False, eq=False)
class MissedPositives(Metric):
    """A metric with `missed` false negatives beside those among the rows.

    Parameters
    ----------
    metric : Metric
        A metric in which true negatives do not count.
    missed : int, float or pair
        A count, a rate per found positive, or a pair (found, missed).
    """

    metric: Metric
    missed: MissedLike

    def __post_init__(self) -> None:
        object.__setattr__(self, "zero_division", self.metric.zero_division)

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        # A count of 3 is no rate of 3.0, though both are equal
        return (MissedPositives, self.metric._key, type(self.missed), self.missed)

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self.metric.name

    @property
    def smooth(self) -> bool:
        """Whether the metric has no jumps in the counts: see `plan.is_smooth`."""
        return bool(getattr(self.metric, "smooth", True))

    @property
    def greater_is_better(self) -> bool:
        """Whether the metric is maximised."""
        return self.metric.greater_is_better

    @property
    def convention(self) -> str:  # type: ignore[override]
        """Value of 0/0."""
        return self.metric.convention

    @property
    def monotone_proof(self) -> str | None:  # type: ignore[override]
        """Proof of the metric: it holds for every number of missed positives."""
        return self.metric.monotone_proof

    @property
    def words(self) -> str:
        """Describe how many positives are missed."""
        if isinstance(self.missed, tuple):
            found, missed = self.missed
            return f"{missed:,} missed beside {found:,} found in a reference"
        if isinstance(self.missed, int):
            return f"{self.missed:,} missed"
        return f"{self.missed:g} missed per found positive"

    def with_zero_division(self, zero_division: float | None) -> Self:
        """Return this metric with another value of 0/0."""
        if zero_division is None:
            return self
        return replace(self, metric=self.metric.with_zero_division(zero_division))

    def _value(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        if isinstance(self.missed, int):
            return self.metric.value(tp, k, t + self.missed, n + self.missed)
        shape = np.broadcast_shapes(tp.shape, k.shape, t.shape, n.shape)
        out = np.zeros(shape)
        if not out.size:
            return out
        for rate, weight in zip(*_rates(self.missed), strict=True):
            size = (t >= _fewest(rate)) + 1 * (t >= _most(rate))
            ways: tuple[Callable[..., Any], ...] = _terms, _nodes, _few_nodes
            for way, terms in enumerate(ways):
                if (size == way).all():
                    out += weight * self._mean(terms(t, rate), tp, k, t, n)
                elif (size == way).any():
                    some = np.broadcast_to(size == way, shape)
                    cells = [np.broadcast_to(x, shape)[some] for x in (tp, k, t, n)]
                    out[some] += weight * self._mean(terms(cells[2], rate), *cells)
        return out

    def _mean(
        self,
        terms: Iterable[tuple[Floats | float, Floats]],
        *counts: Floats,
    ) -> Floats:
        """Return the mean over M at one rate, cell by cell."""
        tp, k, t, n = counts
        total = np.zeros(())
        for missed, weight in terms:
            total = total + weight * self.metric.value(tp, k, t + missed, n + missed)
        return total

    def _new_value(
        self, tp: Floats, k: Floats, t: Floats, n: Floats, rng: np.random.Generator
    ) -> Floats:
        """Return the value at drawn counts, each with a drawn number of missed ones."""
        if isinstance(self.missed, int):
            mean: Any = rng.standard_gamma(self.missed + 0.5, t.shape)
        else:
            mean = rng.standard_gamma(t) * self._drawn_rates(t.shape, rng)
        missed = rng.poisson(mean)
        return self.metric.value(tp, k, t + missed, n + missed)

    def _expected_value(
        self, tp: Floats, k: Floats, t: Floats, n: Floats, rng: np.random.Generator
    ) -> Floats:
        """Return the value of many rows with these counts, at drawn rates."""
        missed = t * self._drawn_rates(t.shape, rng)
        return self.metric.value(tp, k, t + missed, n + missed)

    def _drawn_rates(
        self, shape: tuple[int, ...], rng: np.random.Generator
    ) -> float | Floats:
        """Return the rate, or draws of it from the reference."""
        if isinstance(self.missed, float):
            return self.missed
        found = np.maximum(rng.beta(*_counts(self.missed), shape), LEAST_FOUND)
        return (1.0 - found) / found

    def parts(self, *, alone: bool) -> list[Metric]:
        """Return equally likely metrics, between which the missed positives differ.

        With `alone` each has one M for every t, a quantile; else, for a mean over
        groups, in which the M of groups even out, one rate for all groups.
        """
        rates: Any = [self.missed] * PARTS
        if isinstance(self.missed, tuple):
            from scipy.special import betaincinv

            level = (np.arange(PARTS) + 0.5) / PARTS
            found = betaincinv(*_counts(self.missed), level)
            found = np.maximum(found, LEAST_FOUND)
            rates = ((1.0 - found) / found).tolist()
        elif not alone:
            return [self]
        if not alone:
            return [replace(self, missed=rate) for rate in rates]
        levels = (0.5 / PARTS + GOLDEN * np.arange(PARTS)) % 1.0
        pairs = zip(rates, levels.tolist(), strict=True)
        zero = self.zero_division
        values = (_AtQuantile(self.metric, *pair) for pair in pairs)
        return [CustomMetric(value, self.name, zero_division=zero) for value in values]


@dataclass(frozen=True)
class _AtQuantile:
    """A metric with the quantile of M at one level, for each t."""

    metric: Metric
    rate: float
    level: float

    def __call__(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        from scipy.special import nbdtrik

        some, place = np.unique(t, return_inverse=True)
        at = some[some > 0.0]
        if at.size > 4 * GRID:  # the quantile hardly bends between so many places
            at = np.linspace(at[0], at[-1], GRID)
        level = np.nan_to_num(nbdtrik(self.level, at, 1.0 / (1.0 + self.rate)))
        real = np.interp(some, at, level) if at.size else np.zeros(some.size)
        missed = np.where(some > 0.0, np.ceil(np.maximum(real - 1e-9, 0.0)), 0.0)
        each = missed[place].reshape(np.shape(t))
        return self.metric.value(tp, k, t + each, n + each)


def _counts(missed: object) -> tuple[float, float]:
    """Return the parameters of the Beta distribution of π, given a reference."""
    assert isinstance(missed, tuple)
    return missed[0] + 0.5, missed[1] + 0.5


def _fewest(rate: float) -> float:
    """Return the positives from which on M is summed at nodes."""
    return max(FEW, FEW_MISSED / rate) if rate > 0.0 else math.inf


def _most(rate: float) -> float:
    """Return the positives from which on few nodes do."""
    return max(MANY, 20.0 * _fewest(rate))


def _terms(t: Floats, rate: float) -> Iterator[tuple[float, Floats]]:
    """Yield M = 0, 1, … and their probabilities at every t."""
    from scipy.special import gammaln

    term = np.exp(-t * math.log1p(rate))
    mean, most = float(t.max()) * rate, 32.0 * (1.0 + rate)
    most += mean + 12.0 * math.sqrt(mean * (1.0 + rate))  # beyond less than 1e-12
    falls = rate / (1.0 + rate)
    for missed in range(min(int(most) + 1, SINGLE) if mean > 0.0 else 1):
        yield float(missed), term
        last, term = term, term * (t + missed) / (missed + 1.0) * falls
    if most <= SINGLE or mean == 0.0:
        return
    # Σ_{m >= M} f(m) = ∫_{M - 1/2} f + (f(M) - f(M - 1))/24 + …, in panels that grow
    yield SINGLE, term / 24.0
    yield SINGLE - 1.0, last / -24.0
    start, least = SINGLE - 0.5, math.log1p(rate)
    x, weights = np.polynomial.legendre.leggauss(6)
    while start < most:
        half = 0.15 * start
        for point, weight in zip(start + half * (x + 1.0), half * weights, strict=True):
            ways = gammaln(t + point) - gammaln(t) - gammaln(point + 1.0)
            logs = ways - t * least + point * math.log(falls)
            yield float(point), weight * np.exp(logs)
        start += 2.0 * half


def _nodes(t: Floats, rate: float, *, many: bool = False) -> Iterator[Any]:
    """Yield Gaussian nodes of M at every t from `_fewest` on, and their weights."""
    first = _most(rate) if many else _fewest(rate)
    x = 2.0 * np.sqrt(first / t) - 1.0
    std = np.sqrt(t * rate * (1.0 + rate))
    for one, weight in zip(*_node_polynomials(rate, many=many), strict=True):
        missed = t * rate + std * chebyshev.chebval(x, one)
        yield np.maximum(missed, 0.0), chebyshev.chebval(x, weight)


_few_nodes = partial(_nodes, many=True)


@lru_cache(maxsize=256)
def _node_polynomials(rate: float, *, many: bool) -> tuple[Floats, Floats]:
    """Return polynomials in 2·√(first/t) - 1 of the standardized nodes and weights."""
    n_nodes, degree = RULES[not many]
    x = chebyshev.chebpts1(degree + 1)
    t = (_most(rate) if many else _fewest(rate)) / ((x + 1.0) / 2.0) ** 2
    m = np.arange(n_nodes)
    # Jacobi matrix of Meixner's polynomials, less the mean, by the deviation
    std = np.sqrt(t * rate * (1.0 + rate))[:, None]
    between = np.sqrt(m[1:] * (m[1:] + t[:, None] - 1.0) * rate * (1.0 + rate)) / std
    nodes, weights = gauss_rule(m * (1.0 + 2.0 * rate) / std, between)
    fit: Any = chebyshev.chebfit
    return fit(x, nodes, degree).T, fit(x, weights, degree).T


def gauss_rule(diagonal: Floats, between: Floats) -> tuple[Floats, Floats]:
    """Return nodes and weights of Jacobi matrices, by their last axis."""
    size = diagonal.shape[-1]
    matrix, every = np.zeros((*diagonal.shape, size)), np.arange(size)
    matrix[..., every, every] = diagonal
    matrix[..., every[1:], every[:-1]] = between
    nodes, vectors = np.linalg.eigh(matrix)
    return nodes, vectors[..., 0, :] ** 2


@lru_cache(maxsize=256)
def _rates(missed: float | tuple[int, int]) -> tuple[list[float], list[float]]:
    """Return rates and their weights: the Gaussian nodes of the Beta of π."""
    if not isinstance(missed, tuple):
        return [missed], [1.0]
    b, a = (x - 1.0 for x in _counts(missed))  # of 1 + x and 1 - x, x in [-1, 1]
    m = np.arange(float(RATE_NODES))
    s = 2.0 * m + a + b
    with np.errstate(invalid="ignore"):
        diagonal = (b * b - a * a) / (s * (s + 2.0))
    diagonal[0] = (b - a) / (a + b + 2.0)
    m, s = m[1:], s[1:]
    below = 4.0 * m * (m + a) * (m + b) * (m + a + b)
    above = s * s * (s * s - 1.0)
    between = np.sqrt(below / above)
    between[0] = 2.0 * math.sqrt((1.0 + a) * (1.0 + b) / (3.0 + a + b)) / (2.0 + a + b)
    nodes, weights = gauss_rule(diagonal, between)
    found = np.clip((1.0 + nodes) / 2.0, LEAST_FOUND, 1.0)
    return ((1.0 - found) / found).tolist(), weights.tolist()


def read_missed(missed: object) -> MissedLike:
    """Return the checked missed positives: a count, a rate or a pair of counts."""
    if isinstance(missed, tuple):
        if len(missed) != 2:
            raise ValueError(
                f"missed must be a pair (found, missed), not {shown(missed)}"
            )
        for name, one in zip(("found", "missed"), missed, strict=True):
            if not _is_count(one):
                raise ValueError(
                    f"{name} of missed=(found, missed) must be a count of 0 or more, "
                    f"not {shown(one)}"
                )
        if missed[0] == 0:
            raise ValueError(
                f"missed={shown(missed)}: no positive was found, so that nothing is "
                "known per found positive; pass the count alone"
            )
        if missed[1] > LARGEST_RATE * missed[0]:
            raise ValueError(
                f"missed={shown(missed)}: more than {LARGEST_RATE:g} missed per found "
                "positive say nothing that can be summed; pass a count"
            )
        return int(missed[0]), int(missed[1])
    if _is_count(missed):
        return int(missed)  # type: ignore[call-overload, no-any-return]
    number = isinstance(missed, float | np.floating | int | np.integer)
    if not number or isinstance(missed, bool | np.bool_):
        raise TypeError(
            "missed must be a count such as 12, a rate per found positive such as 0.4, "
            f"or a tuple (found, missed), not {shown(missed)}"
        )
    rate = float(missed)  # type: ignore[arg-type]
    if not 0.0 <= rate <= LARGEST_RATE:
        raise ValueError(
            "missed must be a count of 0 or more, such as 12, or a rate per found "
            f"positive from 0.0 to {LARGEST_RATE:g}, not {shown(missed)}"
        )
    return rate


def _is_count(one: object) -> bool:
    whole = isinstance(one, int | np.integer) and not isinstance(one, bool | np.bool_)
    return whole and one >= 0  # type: ignore[operator]


def with_missed(metric: Metric, missed: object) -> Metric:
    """Return the metric with missed positives; refuse one with true negatives."""
    if missed is None:
        return metric
    metric = metric.metric if isinstance(metric, MissedPositives) else metric
    checked = read_missed(missed)
    if isinstance(metric, Utility) and metric._by_rows:
        refuse_for_amounts({"missed": missed})
    if counts_negatives(metric):
        raise ValueError(
            f"{metric.name} counts true negatives, of which there is no number where "
            "rows are missing: missed goes with F-beta, Jaccard, Tversky, recall, "
            "precision, Fowlkes-Mallows, or a Utility with tn=0"
        )
    return MissedPositives(metric, checked)


SMALL = 8.0


def counts_negatives(metric: Metric) -> bool:
    """Return whether true negatives change the metric, tried on few rows."""
    tp, k, t = (x.ravel() for x in np.mgrid[: SMALL + 1, : SMALL + 1, : SMALL + 1])
    real = (tp <= np.minimum(k, t)) & (k + t > 0.0)
    tp, k, t = tp[real], k[real], t[real]
    few, many = (metric.value(tp, k, t, k + t - tp + n) for n in (1.0, 5.0))
    return not np.allclose(few, many, rtol=1e-9, atol=0.0, equal_nan=True)


def refuse_with_missed(metric: Metric, options: Mapping[str, object]) -> None:
    """Refuse options that know of rows alone, if the metric has missed positives."""
    if isinstance(metric, MissedPositives):
        reason = "it knows of rows alone, and missed positives are none"
        refuse_given(
            options, f"does not go with missed: {reason}; leave one of both out"
        )


def is_listed(missed: object) -> bool:
    """Return whether it has one number a label; a pair is a tuple."""
    return isinstance(missed, list) or (
        isinstance(missed, np.ndarray) and missed.ndim > 0
    )


def listed_wrongly(n_listed: int, n_labels: int) -> ValueError:
    """Return the error of a list of missed positives that is not one a label."""
    return ValueError(
        f"missed is a list of {n_listed}: with average='macro' it has one number a "
        f"label, of which there are {n_labels}; else pass a count, a rate, or a pair "
        "(found, missed) as a tuple"
    )


def require_one_batch(metric: Metric, n_segments: int) -> None:
    """Refuse a count of missed positives for several groups, rows or labels."""
    if n_segments > 1 and isinstance(getattr(metric, "missed", None), int):
        raise ValueError(
            f"missed={metric.missed} is the count of one batch, and there are "  # type: ignore[attr-defined]
            f"{n_segments:,} groups, rows or labels: pass a rate per found positive "
            "such as 0.4, or a pair (found, missed)"
        )
