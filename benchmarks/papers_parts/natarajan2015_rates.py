"""Natarajan et al. (2015), section 3.1: metrics as functions Γ of the two rates.

r_p = tp/t and r_n = (n − k − t + tp)/(n − t) are the rates, p = t/n the
prevalence. Metrics are taken at all counts of a few rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from papers_parts.claim import Figures, declare
from papers_parts.values import VALUES

N = 7
ALIKE = 1e-12  # values that differ by no more are equal
TITLES = {
    "balanced_accuracy": "AM",
    "f2": "F, β = 2",
    "jaccard": "Jaccard",
    "fowlkes_mallows": "G-TP/PR",
    "gmean": "G-Mean",
    "hmean": "H-Mean",
    "qmean": "Q-Mean",
}


@cache
def counts(n: int = N) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All (tp, k, t) of n rows with both classes, tp the last to move."""
    k, t, tp = (x.ravel() for x in np.mgrid[: n + 1, : n + 1, : n + 1])
    there = (tp <= np.minimum(k, t)) & (k + t - tp <= n) & (t > 0) & (t < n)
    return tp[there], k[there], t[there]


def rates(
    tp: np.ndarray, k: np.ndarray, t: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arguments of Γ: r_p, r_n and p."""
    return tp / t, (n - k - t + tp) / (n - t), t / n


def predicted(r_p: Any, r_n: Any, p: Any) -> Any:
    """v, the share predicted positive: hits and false alarms."""
    return r_p * p + (1 - r_n) * (1 - p)


def over(above: Any, below: Any) -> Any:
    return np.divide(above, below, out=np.zeros_like(above), where=below > ALIKE)


GAMMAS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "balanced_accuracy": lambda a, b, p: (a + b) / 2,
    "f2": lambda a, b, p: 5 * a * p / (4 * p + predicted(a, b, p)),
    "jaccard": lambda a, b, p: a * p / (p + predicted(a, b, p) - a * p),
    "fowlkes_mallows": lambda a, b, p: np.sqrt(a * over(a * p, predicted(a, b, p))),
    "gmean": lambda a, b, p: np.sqrt(a * b),
    "hmean": lambda a, b, p: over(2 * a * b, a + b),
    "qmean": lambda a, b, p: 1 - np.sqrt(((1 - a) ** 2 + (1 - b) ** 2) / 2),
}


def tp_falls(values: np.ndarray, n: int = N) -> int:
    """Steps of tp, k and t fixed, at which a metric does not rise (Definition 5)."""
    tp, k, t = counts(n)
    same = (np.diff(k) == 0) & (np.diff(t) == 0) & (np.diff(tp) == 1)
    return int((np.diff(values)[same] <= ALIKE).sum())


def rate_falls(values: np.ndarray, n: int = N) -> int:
    """Pairs with both rates larger, p fixed, and no larger value (Definition 10)."""
    tp, k, t = counts(n)
    falls = 0
    for positives in range(1, n):
        mine = t == positives
        r_p, r_n, _ = rates(tp[mine], k[mine], t[mine], n)
        larger = (r_p[:, None] > r_p) & (r_n[:, None] > r_n)
        rises = values[mine][:, None] - values[mine] > ALIKE
        falls += int((larger & ~rises).sum())
    return falls


def _values(metric: str) -> np.ndarray:
    return np.asarray(VALUES[metric](*counts(), N, 0.0), dtype=np.float64)


@declare("natarajan2015-proposition-9")
def _proposition_9(fast: bool) -> Figures:
    arguments = rates(*counts(), N)
    return {
        f"largest error of Γ, {TITLES[metric]}": float(
            np.abs(gamma(*arguments) - _values(metric)).max()
        )
        for metric, gamma in GAMMAS.items()
    }


@declare("natarajan2015-definition-10")
def _definition_10(fast: bool) -> Figures:
    return {
        f"pairs that contradict it, {TITLES[metric]}": float(
            rate_falls(gamma(*rates(*counts(), N)))
        )
        for metric, gamma in GAMMAS.items()
    }


def many_metrics(fast: bool) -> list[np.ndarray]:
    """Values of sums over the cells with whole weights, and of ratios of such sums."""
    tp, k, t = counts()
    cells = np.stack([tp, k - tp, t - tp, N - k - t + tp]).astype(np.float64)
    sums = [np.array(w) @ cells for w in product((-1.0, 0.0, 1.0, 2.0), repeat=4)]
    rng = np.random.default_rng(0)
    drawn = 200 if fast else 2_000
    ratios = [
        (rng.normal(size=4) @ cells) / (rng.random(4) @ cells + 0.1)
        for _ in range(drawn)
    ]
    return sums + ratios


@declare("natarajan2015-proposition-11")
def _proposition_11(fast: bool) -> Figures:
    found = [(rate_falls(x) == 0, tp_falls(x) == 0) for x in many_metrics(fast)]
    by_rates, by_tp = np.array(found).T
    return {
        "metrics that rise with both rates": float(by_rates.sum()),
        "of these, metrics that do not rise with TP": float((by_rates & ~by_tp).sum()),
    }


@declare("natarajan2015-remark-12")
def _remark_12(fast: bool) -> Figures:
    tp, k, t = counts()
    r_p, r_n, p = rates(tp, k, t, N)
    values = (2 * tp + (k - tp)) / N
    phi = tp / N + k / N
    gamma = 2 * p * r_p - (1 - p) * r_n - p + 1
    return {
        "largest error of Φ": float(np.abs(phi - values).max()),
        "largest error of Γ": float(np.abs(gamma - values).max()),
        "steps of TP at which it does not rise": float(tp_falls(values)),
        "pairs with larger rates at which it does not rise": float(rate_falls(values)),
    }
