"""References for long vectors: laws on the windows in which they matter, some k."""

from __future__ import annotations

import numpy as np

from decide_parts.references import INTERCEPTS, NEGLIGIBLE, SLOPES, VALUES, Array

Window = tuple[int, Array]  # first count, and the probabilities from there on


def sampled_curves(p: Array, ks: Array) -> dict[str, Array]:
    """E[metric] at some 0 < k < n of a vector without chance of T = 0 or T = n."""
    p = np.sort(p)[::-1].astype(np.longdouble)
    n = p.size
    prefixes = _windows_at(p, [*ks, n])
    suffixes = _windows_at(p[::-1], sorted(n - k for k in ks))
    out = _affine(p, ks, prefixes[n])
    out["jaccard"] = np.array(
        [p[:k].sum() * _mean_inverse(int(k), suffixes[n - k]) for k in ks]
    )
    for metric in ("gmean", "hmean", "qmean"):
        pairs = ((k, prefixes[k], suffixes[n - k]) for k in ks)
        out[metric] = np.array([_two_dimensional(metric, n, *pair) for pair in pairs])
    return out


def _windows_at(p: Array, counts: list[int]) -> dict[int, Window]:
    """Laws of the positives among the first k items, for the given k."""
    wanted = set(map(int, counts))
    first, law = 0, np.ones(1, dtype=np.longdouble)
    kept = {0: (first, law)}
    for i, chance in enumerate(p):
        grown = np.zeros(law.size + 1, dtype=np.longdouble)
        grown[:-1] = (1 - chance) * law
        grown[1:] += chance * law
        while grown[0] < NEGLIGIBLE:
            grown, first = grown[1:], first + 1
        while grown[-1] < NEGLIGIBLE:
            grown = grown[:-1]
        law = grown
        if i + 1 in wanted:
            kept[i + 1] = first, law
    return kept


def _affine(p: Array, ks: Array, window: Window) -> dict[str, Array]:
    """Metrics affine in tp, from E[tp; T = t], a block of items at a time."""
    first, law = window
    t = first + np.arange(law.size, dtype=np.longdouble)
    assert 1 < t[0] <= t[-1] < p.size - 1
    hits = np.zeros((ks.size, law.size), dtype=np.longdouble)
    for i, (start, stop) in enumerate(zip([0, *ks[:-1]], ks, strict=True)):
        without = _laws_without(p[start:stop], law)
        hits[i] = (p[start:stop, None] * without).sum(axis=0)
    hits = np.cumsum(hits, axis=0)
    k, n = ks.astype(np.longdouble)[:, None], np.longdouble(p.size)
    out = {}
    for metric, slope in SLOPES.items():
        out[metric] = (slope(k, t, n) * hits).sum(axis=1)
        if metric in INTERCEPTS:
            out[metric] += (INTERCEPTS[metric](k, t, n) * law).sum(axis=1)
    return out


def _laws_without(p: Array, law: Array) -> Array:
    """P(T without item i = t - 1) in row i for the counts t of the window."""
    out = np.zeros((p.size, law.size), dtype=np.longdouble)
    light = p <= 0.5
    previous = np.zeros(int(light.sum()), dtype=np.longdouble)
    for j in range(law.size - 1):  # (law[t-1] - p·previous) / q, upwards
        previous = (law[j] - p[light] * previous) / (1 - p[light])
        out[light, j + 1] = previous
    previous = np.zeros(int((~light).sum()), dtype=np.longdouble)
    for j in range(law.size - 1, -1, -1):
        previous = (law[j] - (1 - p[~light]) * previous) / p[~light]
        out[~light, j] = previous
    return out


def _mean_inverse(k: int, rest: Window) -> np.longdouble:
    """E[1/(k + positives among the rest)]."""
    first, law = rest
    return (law / (k + first + np.arange(law.size))).sum()


def _two_dimensional(
    metric: str, n: int, k: int, prefix: Window, suffix: Window
) -> float:
    """Sum over all cells (tp, rest), values as doubles."""
    a = (prefix[0] + np.arange(prefix[1].size))[:, None]
    t = a + suffix[0] + np.arange(suffix[1].size)[None, :]
    values = VALUES[metric](a, k, t, n, 0.0)
    return float(prefix[1].astype(np.float64) @ values @ suffix[1].astype(np.float64))
