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
        self._inner: dict[str, Array] = {}
        self._windows: tuple[list[tuple[int, Array]], ...] = ()
        self.mean = np.cumsum(np.concatenate([[0], self.p]).astype(np.longdouble))

    def _laws_without_one(self) -> Array:
        """Law of T without item i, in row i: division, stable from the lighter end."""
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

    def curve(self, metric: str, zero: float) -> Array:
        """E[metric] for every k; 0/0 happens at T = 0 and at T = n, settled apart."""
        if metric not in self._inner:
            self._inner[metric] = (
                self.jaccard()
                if metric == "jaccard"
                else self.affine(metric)
                if metric in SLOPES
                else self.two_dimensional(metric)
            )
        k = np.arange(self.n + 1)
        at_none = VALUES[metric](0 * k, k, 0 * k, self.n, zero)
        at_all = VALUES[metric](k, k, 0 * k + self.n, self.n, zero)
        edges = self.law[0] * at_none + self.law[-1] * at_all
        return self._inner[metric] + edges

    def affine(self, metric: str) -> Array:
        """E[slope(k, T)·tp + intercept(k, T); 0 < T < n]."""
        k = np.arange(self.n + 1, dtype=np.longdouble)[:, None]
        t = self.inner.astype(np.longdouble)[None, :]
        n = np.longdouble(self.n)
        total = (SLOPES[metric](k, t, n) * self.hits[:, self.inner]).sum(axis=1)
        if metric in INTERCEPTS:
            intercept = INTERCEPTS[metric](k, t, n)
            total += (intercept * self.law[self.inner]).sum(axis=1)
        return total

    def jaccard(self) -> Array:
        """E[tp/(k + R); 0 < T < n] from mu_k E[1/(k + R)], R positives among the rest.

        T = 0 adds nothing for k > 0; T = n adds tp/n = k/n, taken out again.
        """
        out = np.zeros(self.n + 1, dtype=np.longdouble)
        rest = np.zeros(self.n + 1, dtype=np.longdouble)
        rest[0] = 1
        r = np.arange(self.n + 1)
        for k in range(self.n, 0, -1):
            length = self.n - k + 1
            out[k] = self.mean[k] * (rest[:length] / (k + r[:length])).sum()
            chance = self.p[k - 1]
            shifted = chance * rest[:length]
            rest[:length] *= 1 - chance
            rest[1 : length + 1] += shifted
        return out - self.law[-1] * r / np.longdouble(self.n)

    def two_dimensional(self, metric: str) -> Array:
        """Sum over the cells (tp, R), 0 < T < n; wide laws, values as doubles."""
        if not self._windows:
            self._windows = _prefix_windows(self.p), _prefix_windows(self.p[::-1])
        prefixes, suffixes = self._windows
        out = np.empty(self.n + 1)
        for k in range(self.n + 1):
            first_a, a_law = prefixes[k]
            first_r, r_law = suffixes[self.n - k]
            a = (first_a + np.arange(a_law.size))[:, None]
            t = a + first_r + np.arange(r_law.size)[None, :]
            values = VALUES[metric](a, k, t, self.n, 0.0)
            out[k] = a_law @ np.where((t > 0) & (t < self.n), values, 0.0) @ r_law
        return out


def _prefix_windows(p: Array) -> list[tuple[int, Array]]:
    """For every k, where the law of the positives among the first k is not tiny."""
    law = np.ones(1, dtype=np.longdouble)
    windows = [(0, np.ones(1))]
    for chance in p:
        grown = np.zeros(law.size + 1, dtype=np.longdouble)
        grown[:-1] = (1 - chance) * law
        grown[1:] += chance * law
        law = grown
        kept = np.flatnonzero(law >= 1e-22)
        part = law[kept[0] : kept[-1] + 1]
        windows.append((int(kept[0]), part.astype(np.float64)))
    return windows


def _ratio(
    above: Array, below: Array, zero: float, dtype: type = np.longdouble
) -> Array:
    out = np.full(np.broadcast_shapes(above.shape, below.shape), zero, dtype=dtype)
    above, below = np.asarray(above, dtype), np.asarray(below, dtype)
    np.divide(above, below, out=out, where=below != 0)
    return out


def _rates(tp: Array, k: Array, t: Array, n: int, zero: float) -> tuple[Array, Array]:
    """Doubles do: the metrics of the rates are judged by their absolute error."""
    rejected = _ratio(n - k - t + tp, n - t, zero, np.float64)
    return _ratio(tp, t, zero, np.float64), rejected


def _fbeta(square: float) -> Callable[..., Array]:
    return lambda tp, k, t, n, zero: _ratio((1 + square) * tp, k + square * t, zero)


def _balanced_accuracy(tp: Array, k: Array, t: Array, n: int, zero: float) -> Array:
    """The absent class is dropped, whatever `zero` says."""
    hits, rejections = _ratio(tp, t, 0.0), _ratio(n - k - t + tp, n - t, 0.0)
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
    return np.sqrt(hits * rejections)


def _hmean(tp: Array, k: Array, t: Array, n: int, zero: float) -> Array:
    hits, rejections = _rates(tp, k, t, n, zero)
    return _ratio(2 * hits * rejections, hits + rejections, 0.0, np.float64)


def _qmean(tp: Array, k: Array, t: Array, n: int, zero: float) -> Array:
    hits, rejections = _rates(tp, k, t, n, zero)
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
SLOPES: dict[str, Callable[..., Array]] = {
    "f1": lambda k, t, n: 2 / (k + t),
    "f2": lambda k, t, n: 5 / (k + 4 * t),
    "fowlkes_mallows": lambda k, t, n: _inverse(np.sqrt(k)) * (1 / np.sqrt(t)),
    "balanced_accuracy": lambda k, t, n: (1 / t + 1 / (n - t)) / 2 + 0 * k,
    "mcc": lambda k, t, n: n * _inverse(np.sqrt(k * (n - k))) / np.sqrt(t * (n - t)),
    "kappa": lambda k, t, n: 2 * n / (k * (n - t) + t * (n - k)),
}
INTERCEPTS: dict[str, Callable[..., Array]] = {
    "balanced_accuracy": lambda k, t, n: (n - k - t) / (n - t) / 2,
    "mcc": lambda k, t, n: (
        -k * t * _inverse(np.sqrt(k * (n - k))) / np.sqrt(t * (n - t))
    ),
    "kappa": lambda k, t, n: -2 * k * t / (k * (n - t) + t * (n - k)),
}
