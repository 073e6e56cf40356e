"""Expected metrics by plain quadratic sums, in the widest floats there are.

Nothing here is shared with argmetric: the metrics are written out anew, the sums run
over all outcomes that matter. np.longdouble is 128-bit quad on aarch64 and 80-bit
extended on x86.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray
NEGLIGIBLE = 1e-30  # outcomes this rare, next to the likeliest, cannot be seen


def count_law(p: Array, dtype: type = np.longdouble) -> Array:
    """Probabilities of 0…n positives (the Poisson-binomial law)."""
    p = p.astype(dtype)
    law = np.zeros(p.size + 1, dtype=dtype)
    law[0] = 1
    for i, chance in enumerate(p):
        law[1 : i + 2] = (1 - chance) * law[1 : i + 2] + chance * law[: i + 1]
        law[0] *= 1 - chance
    return law


class Reference:
    """Expected values of one vector, p descending, for every k = 0…n."""

    def __init__(self, p: Array) -> None:
        self.p = np.sort(p)[::-1].astype(np.longdouble)
        self.n = p.size
        self.law = count_law(self.p)
        # E[tp; T = t] = Σ_{i ≤ k} p_i P(T without i = t - 1): no outcome left out.
        without = self._laws_without_one()
        steps = np.zeros((self.n + 1, self.n + 1), dtype=np.longdouble)
        steps[1:, 1:] = self.p[:, None] * without
        hits = np.cumsum(steps, axis=0)
        t = np.arange(self.n + 1)
        weights = (self.law, t * self.law, (self.n - t) * self.law)
        seen = np.any([w >= NEGLIGIBLE * w.max() for w in weights], axis=0)
        self.inner = np.flatnonzero(seen & (t > 0) & (t < self.n))
        self.hits = hits
        self.mean = np.cumsum(np.concatenate([[0], self.p]).astype(np.longdouble))

    def _laws_without_one(self) -> Array:
        """Law of T without item i, in row i, by division: stable from the lighter end."""
        p, q, law, n = self.p, 1 - self.p, self.law, self.n
        up = np.zeros((n, n), dtype=np.longdouble)
        down = np.zeros((n, n), dtype=np.longdouble)
        light = p <= 0.5
        pl, ql = p[light], q[light]
        ph, qh = p[~light], q[~light]
        previous = np.zeros(pl.size, dtype=np.longdouble)
        for t in range(n):
            previous = (law[t] - pl * previous) / ql
            up[light, t] = previous
        previous = np.zeros(ph.size, dtype=np.longdouble)
        for t in range(n - 1, -1, -1):
            previous = (law[t + 1] - qh * previous) / ph
            down[~light, t] = previous
        return up + down

    def edges(self, metric: str, zero: float) -> Array:
        """What T = 0 and T = n add."""
        k = np.arange(self.n + 1)
        at_none = VALUES[metric](0 * k, k, 0 * k, self.n, zero)
        at_all = VALUES[metric](k, k, 0 * k + self.n, self.n, zero)
        return self.law[0] * at_none + self.law[-1] * at_all

    def affine(self, metric: str, zero: float) -> Array:
        """E[slope(k, T)·tp + intercept(k, T)]."""
        k = np.arange(self.n + 1, dtype=np.longdouble)[:, None]
        t = self.inner.astype(np.longdouble)[None, :]
        n = np.longdouble(self.n)
        if metric.startswith("f"):  # separable or not, a table is quick enough
            slope, intercept = _SLOPES[metric](k, t, n), None
        else:
            slope, intercept = _SLOPES[metric](k, t, n), _INTERCEPTS[metric](k, t, n)
        total = (slope * self.hits[:, self.inner]).sum(axis=1)
        if intercept is not None:
            total = total + (intercept * self.law[self.inner]).sum(axis=1)
        return total + self.edges(metric, zero)

    def jaccard(self, zero: float) -> Array:
        """mu_k E[1/(k + R)], R the positives among the rest; k = 0 apart."""
        out = np.zeros(self.n + 1, dtype=np.longdouble)
        rest = np.zeros(self.n + 1, dtype=np.longdouble)
        rest[0] = 1
        r = np.arange(self.n + 1)
        for k in range(self.n, 0, -1):
            length = self.n - k + 1
            out[k] = self.mean[k] * (rest[:length] / (k + r[:length])).sum()
            chance = self.p[k - 1]
            rest[1 : length + 1] = (1 - chance) * rest[1 : length + 1] + (
                chance * rest[:length]
            )
            rest[0] *= 1 - chance
        out[0] = zero * self.law[0]
        return out

    def two_dimensional(self, metric: str, zero: float) -> Array:
        """Sum over the cells (tp, R); laws as wide floats, values as doubles."""
        prefixes, suffixes = [_windowed(np.ones(1))], [_windowed(np.ones(1))]
        for source, laws in ((self.p, prefixes), (self.p[::-1], suffixes)):
            law = np.ones(1, dtype=np.longdouble)
            for chance in source:
                grown = np.zeros(law.size + 1, dtype=np.longdouble)
                grown[:-1] = (1 - chance) * law
                grown[1:] += chance * law
                law = grown
                laws.append(_windowed(law))
        out = np.empty(self.n + 1)
        for k in range(self.n + 1):
            first_a, a_law = prefixes[k]
            first_r, r_law = suffixes[self.n - k]
            a = (first_a + np.arange(a_law.size))[:, None]
            r = (first_r + np.arange(r_law.size))[None, :]
            out[k] = a_law @ VALUES[metric](a, k + 0 * a, a + r, self.n, zero) @ r_law
        return out

    def curve(self, metric: str, zero: float) -> Array:
        if metric == "jaccard":
            return self.jaccard(zero)
        if metric in _SLOPES:
            return self.affine(metric, zero)
        return self.two_dimensional(metric, zero)


def _windowed(law: Array) -> tuple[int, Array]:
    """First count and probabilities of the part of a law above 1e-22."""
    kept = np.flatnonzero(law >= 1e-22)
    return int(kept[0]), law[kept[0] : kept[-1] + 1].astype(np.float64)


def _ratio(above: Array, below: Array, zero: float) -> Array:
    above, below = np.broadcast_arrays(above, below)
    out = np.full(above.shape, zero, dtype=np.longdouble)
    np.divide(above, below, out=out, where=below != 0)
    return out


def _rates(tp: Array, k: Array, t: Array, n: int, zero: float) -> tuple[Array, Array]:
    return _ratio(tp, t, zero), _ratio(n - k - t + tp, n - t, zero)


def _fbeta(square: float) -> Callable[..., Array]:
    return lambda tp, k, t, n, zero: _ratio((1 + square) * tp, k + square * t, zero)


def _balanced_accuracy(tp: Array, k: Array, t: Array, n: int, zero: float) -> Array:
    """The absent class is dropped, whatever `zero` says."""
    hits, rejections = _rates(tp, k, t, n, 0.0)
    return np.where(t == 0, rejections, np.where(t == n, hits, (hits + rejections) / 2))


def _fowlkes_mallows(tp: Array, k: Array, t: Array, n: int, zero: float) -> Array:
    one_empty = (k == 0) != (t == 0)
    root = np.sqrt((k * t).astype(np.longdouble))
    return np.where(one_empty, 0.0, _ratio(tp, root, zero))


def _mcc(tp: Array, k: Array, t: Array, n: int, zero: float) -> Array:
    root = np.sqrt((k * t * (n - k) * (n - t)).astype(np.longdouble))
    return _ratio(n * tp - k * t, root, 0.0)


def _kappa(tp: Array, k: Array, t: Array, n: int, zero: float) -> Array:
    return _ratio(2 * (n * tp - k * t), k * (n - t) + t * (n - k), zero)


def _gmean(tp: Array, k: Array, t: Array, n: int, zero: float) -> Array:
    hits, rejections = _rates(tp, k, t, n, zero)
    return np.sqrt((hits * rejections).astype(np.float64))


def _hmean(tp: Array, k: Array, t: Array, n: int, zero: float) -> Array:
    hits, rejections = _rates(tp, k, t, n, zero)
    return _ratio(2 * hits * rejections, hits + rejections, 0.0).astype(np.float64)


def _qmean(tp: Array, k: Array, t: Array, n: int, zero: float) -> Array:
    hits, rejections = (a.astype(np.float64) for a in _rates(tp, k, t, n, zero))
    return 1 - np.sqrt(((1 - hits) ** 2 + (1 - rejections) ** 2) / 2)


# Values from counts, 0/0 = zero where the metric has such cases.
VALUES: dict[str, Callable[..., Array]] = {
    "f1": _fbeta(1.0),
    "f2": _fbeta(4.0),
    "jaccard": lambda tp, k, t, n, zero: _ratio(tp, k + t - tp, zero),
    "balanced_accuracy": _balanced_accuracy,
    "fowlkes_mallows": _fowlkes_mallows,
    "mcc": _mcc,
    "kappa": _kappa,
    "gmean": _gmean,
    "hmean": _hmean,
    "qmean": _qmean,
}


def _inverse(x: Array) -> Array:
    return np.divide(1, x, out=np.zeros_like(x), where=x != 0)


# value = slope·tp + intercept for 0 < t < n; where k makes a marginal vanish, 0.
_SLOPES: dict[str, Callable[..., Array]] = {
    "f1": lambda k, t, n: 2 / (k + t),
    "f2": lambda k, t, n: 5 / (k + 4 * t),
    "fowlkes_mallows": lambda k, t, n: _inverse(np.sqrt(k)) * (1 / np.sqrt(t)),
    "balanced_accuracy": lambda k, t, n: (1 / t + 1 / (n - t)) / 2 + 0 * k,
    "mcc": lambda k, t, n: n * _inverse(np.sqrt(k * (n - k))) / np.sqrt(t * (n - t)),
    "kappa": lambda k, t, n: 2 * n / (k * (n - t) + t * (n - k)),
}
_INTERCEPTS: dict[str, Callable[..., Array]] = {
    "balanced_accuracy": lambda k, t, n: (n - k - t) / (n - t) / 2,
    "mcc": lambda k, t, n: -k * t * _inverse(np.sqrt(k * (n - k))) / np.sqrt(t * (n - t)),
    "kappa": lambda k, t, n: -2 * k * t / (k * (n - t) + t * (n - k)),
}
