"""Natarajan et al. (2015): definitions and algorithms as they are printed.

u = tp/n, v = k/n and p = t/n are the paper's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import argmetric as am
from argmetric._expected._papers import natarajan_algorithm_1
from papers_parts.claim import Figures, declare
from papers_parts.enumeration import Value, expected, tops, valued, vectors
from papers_parts.estimates import log_slope
from papers_parts.natarajan2015 import accuracy
from papers_parts.natarajan2015_rates import counts, over
from papers_parts.values import VALUES


def _counts(n: int) -> list[np.ndarray]:
    """All (tp, k, t) at which no rate is 0/0."""
    tp, k, t = counts(n)
    return [x[k > 0] for x in (tp, k, t)]


@declare("natarajan2015-equation-3")
def _equation_3(fast: bool) -> Figures:
    tp, k, t = _counts(9)
    fn, fp, b = t - tp, k - tp, 4.0
    below = (1 + b) * fn + b * fn + fp
    printed = (1 + b) * tp[below > 0] / below[below > 0]
    right = VALUES["f2"](tp, k, t, 9, 0.0)[below > 0].astype(np.float64)
    return {
        "largest value as printed": float(printed.max()),
        "largest difference to F, β = 2": float(np.abs(printed - right).max()),
    }


# Row of Table 1: Φ(u, v, p) as printed, and the metric that it should be
PRINTED: dict[str, tuple[Callable[[Any, Any, Any], Any], str]] = {
    "AM": (lambda u, v, p: (u + p * (1 - v - p)) / (p * (1 - p)), "balanced_accuracy"),
    "F, β = 2": (lambda u, v, p: 5 * u / (4 * p + v), "f2"),
    "Jaccard": (lambda u, v, p: u / (p + v - u), "jaccard"),
    "G-TP/PR": (lambda u, v, p: u / np.sqrt(p * v), "fowlkes_mallows"),
    "G-Mean": (lambda u, v, p: u * (1 - v - p + u) / (p * (1 - p)), "gmean"),
    "H-Mean": (lambda u, v, p: over(2 * u * (1 - v - p + u), (1 - v - p) * p + u),
               "hmean"),
    "Q-Mean": (
        lambda u, v, p: 1 - (((p - u) / 2) ** 2 + ((v - u) / 2) ** 2) / 2,
        "qmean",
    ),
}  # fmt: skip


@declare("natarajan2015-table-1")
def _table_1(fast: bool) -> Figures:
    n = 8
    tp, k, t = _counts(n)
    figures = {}
    for row, (phi, metric) in PRINTED.items():
        right = VALUES[metric](tp, k, t, n, 0.0).astype(np.float64)
        gap = np.abs(phi(tp / n, k / n, t / n) - right)
        figures[f"Φ of {row}, largest error"] = float(gap.max())
    hit = tp > 0
    precision, recall = tp[hit] / k[hit], tp[hit] / t[hit]
    usual = VALUES["f2"](tp[hit], k[hit], t[hit], n, 0.0).astype(np.float64)
    defined = 5 / (4 / precision + 1 / recall)
    figures["definition of F, β = 2, largest error"] = float(
        np.abs(defined - usual).max()
    )
    return figures


@declare("natarajan2015-squared-error")
def _sec(fast: bool) -> Figures:
    _, k, t = _counts(8)
    printed, right = (k + t) / 8, ((k - t) / 8) ** 2
    return {"largest error of v + p": float(np.abs(printed - right).max())}


@declare("natarajan2015-algorithm-1")
def _algorithm_1(fast: bool) -> Figures:
    worst = 0.0
    for p in vectors(2, 6 if fast else 8):
        falling = np.sort(p)[::-1]
        for metric in VALUES:
            curve = natarajan_algorithm_1(falling, am.get_metric(metric))
            right = expected(falling, valued(metric, 0.0))[tops(falling)]
            worst = max(worst, float(np.abs(curve - right).max()))
    return {"largest error of a value": worst}


F1, JACCARD = ((0, 2, 0), (0, 0, 1, 1)), ((0, 1, 0), (0, -1, 1, 1))  # c and d


def multiplied(eta: np.ndarray) -> tuple[np.ndarray, int]:
    """Coefficients of Π(η_i z + 1 − η_i), and the multiplications and additions."""
    distribution, steps = np.ones(1), 0
    for probability in eta:
        distribution = times_factor(distribution, probability)
        steps += distribution.size
    return distribution, steps


def times_factor(distribution: np.ndarray, probability: float) -> np.ndarray:
    """Coefficients of a polynomial times (ηz + 1 − η)."""
    return np.convolve(distribution, (1 - probability, probability))


def counted_algorithm_1(eta: np.ndarray, value: Value) -> tuple[np.ndarray, int]:
    """As printed: values of k = 1…n, and the steps of lines 4 to 6."""
    n, total = eta.size, 0
    values = np.empty(n)
    for k in range(1, n + 1):
        (c, above), (d, below) = multiplied(eta[:k]), multiplied(eta[k:])
        k1, k2 = np.arange(k + 1)[:, None], np.arange(n - k + 1)
        values[k - 1] = c @ np.asarray(value(k1, k, k1 + k2, n), dtype=np.float64) @ d
        total += above + below + c.size * d.size
    return values, total


def counted_algorithm_2(
    eta: np.ndarray,
    c: tuple[int, int, int],
    d: tuple[int, int, int, int],
    *,
    anew: bool = False,
) -> tuple[np.ndarray, int]:
    """As printed, for whole d: values of k = 1…n, and steps; what is never set is nan.

    C_k of line 8 is C_{k-1} times one factor; `anew` multiplies all factors for each k.
    """
    n = eta.size
    (c0, c1, c2), (j0, ju1, jv, ju2) = c, d
    size = (abs(ju1) + abs(ju2) + abs(jv)) * n
    s = np.full(size + abs(ju2) + 1, np.nan)
    i = np.arange(1, size + 1)
    s[i] = 1 / (i + j0 * n)
    total, distributions = size, [np.ones(1)]
    for probability in eta:
        distributions.append(times_factor(distributions[-1], probability))
    total += 0 if anew else sum(distribution.size for distribution in distributions)
    values = np.empty(n)
    for k in range(n, 0, -1):
        distribution, steps = multiplied(eta[:k]) if anew else (distributions[k], 0)
        k1 = np.arange(k + 1)
        index = (ju1 + ju2) * k1 + jv * k
        values[k - 1] = ((c0 * n + c1 * k1 + c2 * k) * distribution) @ s[index]
        at = np.arange(1, (abs(ju1) + abs(ju2) + abs(jv)) * (k - 1) + 1)
        s[at] = (1 - eta[k - 1]) * s[at] + eta[k - 1] * s[at + ju2]
        total += steps + k1.size + at.size
    return values, total


@declare("natarajan2015-algorithms-cost")
def _quadratic(fast: bool) -> Figures:
    """Steps of the algorithms as they run."""
    sizes = np.array([25, 50, 100] if fast else [50, 100, 200, 400])
    drawn = [np.sort(np.random.default_rng(0).random(n))[::-1] for n in sizes]
    runs: dict[str, Callable[[np.ndarray], int]] = {
        "Algorithm 1, F1": lambda p: counted_algorithm_1(p, valued("f1", 0.0))[1],
        "Algorithm 2, F1": lambda p: counted_algorithm_2(p, *F1)[1],
        "Algorithm 2, Jaccard": lambda p: counted_algorithm_2(p, *JACCARD)[1],
    }
    return {
        f"slope of log steps over log n, {name}": log_slope(
            sizes, np.array([run(p) for p in drawn])
        )
        for name, run in runs.items()
    }


def _recall(tp: Any, k: Any, t: Any, n: int) -> Any:
    return np.where(t == 0, 0.0, tp / np.maximum(t, 1))


@declare("natarajan2015-algorithm-2")
def _algorithm_2(fast: bool) -> Figures:
    cases: dict[str, tuple[Value, Any, Any]] = {
        "F1": (valued("f1", 0.0), *F1),
        "Jaccard": (valued("jaccard", 0.0), *JACCARD),
        "recall": (_recall, (0, 1, 0), (0, 0, 0, 1)),
    }
    figures = {}
    for name, (value, c, d) in cases.items():
        gaps = []
        for p in vectors(2, 6 if fast else 8):
            falling = np.sort(p)[::-1]
            right = expected(falling, value)[tops(falling)][1:]
            found, _ = counted_algorithm_2(falling, c, d)
            gaps.append(np.abs(found - right).max())
        figures[f"largest error of a value, {name}"] = float(np.max(gaps))
    return figures


@declare("natarajan2015-algorithms-empty-answer")
def _empty_answer(fast: bool) -> Figures:
    cases: dict[str, tuple[np.ndarray, Value]] = {
        "F1 with 0/0 = 1, p = (.05, .04, .03)": (
            np.array([0.05, 0.04, 0.03]),
            valued("f1", 1.0),
        ),
        "accuracy, p = (.3, .2)": (np.array([0.3, 0.2]), accuracy),
    }
    figures = {}
    for name, (p, value) in cases.items():
        curve = expected(p, value)[tops(p)]
        figures[f"what k ≥ 1 lacks, {name}"] = float(curve.max() - curve[1:].max())
    return figures
