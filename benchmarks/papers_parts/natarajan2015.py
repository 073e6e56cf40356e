"""Natarajan et al. (2015): theorems, by enumeration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import argmetric as am
from argmetric._expected._papers import natarajan_algorithm_1, natarajan_algorithm_2
from papers_parts.claim import Estimate, Figures, declare
from papers_parts.enumeration import (
    Value,
    expected,
    labellings,
    numbered,
    top,
    tops,
    valued,
    vectors,
)
from papers_parts.estimates import slope
from papers_parts.values import VALUES

EXACT = 1e-12
FIGURE_1 = ("balanced_accuracy", "jaccard", "f1", "fowlkes_mallows")
ALGORITHM_2 = ("f1", "jaccard")
ASYMPTOTICS = dict(zip(FIGURE_1, ("AM", "Jaccard", "F1", "G-TP/PR"), strict=True))
COROLLARY_14 = ASYMPTOTICS | {"gmean": "G-Mean"}


def lacks(p: np.ndarray, value: Value, distribution: np.ndarray | None = None) -> float:
    """What the best set of most probable rows lacks to the best set of all."""
    values = expected(p, value, distribution)
    return float(values.max() - values[tops(p)].max())


@declare("natarajan2015-figure-1")
def _figure_1(fast: bool) -> Figures:
    outside, algorithms, differ = 0.0, 0.0, 0
    draws = 3 if fast else 20
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        x, w = rng.normal(size=(10, 2)), rng.normal(size=2)
        p = np.sort(1 / (1 + np.exp(-x @ w)))[::-1]
        taken = set()
        for metric in FIGURE_1:
            values = expected(p, valued(metric, 0.0))
            best = float(values.max())
            outside = max(outside, best - float(values[tops(p)].max()))
            taken.add(int(np.argmax(values[tops(p)])))
            asked = am.get_metric(metric)
            curves = [natarajan_algorithm_1(p, asked)]
            if metric in ("f1", "jaccard"):
                curves.append(natarajan_algorithm_2(p, asked))
            gaps = [abs(best - float(curve.max())) for curve in curves]
            algorithms = max(algorithms, *gaps)
        differ += len(taken) > 1
    return {
        "largest loss of the best top-k set": outside,
        "largest error of the optimum by Algorithms 1 and 2": algorithms,
        "draws in which the metrics want different sizes, %": 100.0 * differ / draws,
    }


@declare("natarajan2015-theorem-6")
def _theorem_6(fast: bool) -> Figures:
    return {
        "largest loss of the best top-k set": max(
            lacks(p, valued(metric, zero))
            for p in vectors(2, 6 if fast else 8)
            for metric in VALUES
            for zero in (0.0, 1.0)
        ),
        "the same for F1 and labels that depend on each other": _dependent(),
    }


def _dependent() -> float:
    """What sets of the most probable lack for F1 where labels depend on each other."""
    outcomes = {(1, 2, 3, 4, 5): 0.2, (1, 6, 7, 8, 9): 0.2, (10,): 0.38, (): 0.22}
    distribution = np.zeros(2**10)
    for positives, probability in outcomes.items():
        distribution[sum(1 << (i - 1) for i in positives)] = probability
    p = distribution @ labellings(10)  # of each row by itself
    return lacks(p, valued("f1", 0.0), distribution)


def _squared_count_error(tp: Any, k: Any, t: Any, n: int) -> Any:
    return -(((t - k) / n) ** 2)


@declare("natarajan2015-proposition-7")
def _proposition_7(fast: bool) -> Figures:
    p = np.array([0.9, 0.1])
    values = expected(p, _squared_count_error)
    return {
        "largest loss of the best top-k set": max(
            lacks(p, _squared_count_error) for p in vectors(2, 6)
        ),
        "p = (.9, .1): loss of row 2 alone against row 1 alone": float(
            values[numbered(np.array([1, 0]))] - values[numbered(np.array([0, 1]))]
        ),
    }


def _not_ranked(tp: Any, k: Any, t: Any, n: int) -> Any:
    """A metric for which the least probable row alone can be the best answer."""
    return (0.5 - 0.5 * tp / n + 0.1 * k / n) / (2 - tp / n)


@declare("natarajan2015-proposition-8")
def _proposition_8(fast: bool) -> Figures:
    p = np.array([0.9, 0.5, 0.1])
    return {
        "E of the best answer, row 3 alone": float(expected(p, _not_ranked).max()),
        "loss of the best top-k set": lacks(p, _not_ranked),
    }


@declare("natarajan2015-corollary-3")
def _corollary_3(fast: bool) -> Figures:
    equal = np.full(6, 0.5)
    values = expected(equal, valued("gmean", 0.0))
    distinct = [
        lacks(p, valued("gmean", 0.0))
        for p in vectors(2, 6 if fast else 8)
        if np.unique(p).size == p.size
    ]
    return {
        "loss of the best threshold, distinct p": max(distinct),
        "loss of the best threshold, six rows with p = 0.5": float(
            values.max() - max(values[0], values[-1])
        ),
    }


def frequencies(rng: np.random.Generator, p: np.ndarray, m: int) -> np.ndarray:
    """A consistent estimate: of m draws of every row, the prevalence."""
    return np.asarray(rng.binomial(m, p) / m)


Decide = Callable[[np.ndarray], int]  # the number of the answer to an estimate


def _lost(value: Value, decide: Decide, fast: bool) -> Estimate:
    """Utility lost by the answer to an estimate from 10,000 draws of a row."""
    draws = 20 if fast else 200
    gap = np.zeros(draws)
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        p = rng.beta(0.5, 1.0, 6)
        values = expected(p, value)
        gap[seed] = values.max() - values[decide(frequencies(rng, p, 10_000))]
    return Estimate.of(gap)


@declare("natarajan2015-theorem-13")
def _theorem_13(fast: bool) -> Figures:
    """All answers are looked at, so that no ranking principle is needed."""
    cases = {"F1": valued("f1", 0.0), "a metric without the principle": _not_ranked}
    return {
        f"mean utility lost, 10,000 draws a row, {name}": _lost(
            value,
            lambda guess, value=value: int(np.argmax(expected(guess, value))),
            fast,
        )
        for name, value in cases.items()
    }


def by_algorithm(metric: str, first: int = 0) -> Decide:
    """The answer of Algorithm 2 where it applies, else of 1, from k = `first` on."""
    run = natarajan_algorithm_2 if metric in ALGORITHM_2 else natarajan_algorithm_1
    asked = am.get_metric(metric)

    def decide(guess: np.ndarray) -> int:
        curve = run(np.sort(guess)[::-1], asked)
        return top(guess, first + int(np.argmax(curve[first:])))

    return decide


def accuracy(tp: Any, k: Any, t: Any, n: int) -> Any:
    return (n - k - t + 2 * tp) / n


@declare("natarajan2015-corollary-14")
def _corollary_14(fast: bool) -> Figures:
    figures: dict[str, float | Estimate] = {
        f"mean utility lost, 10,000 draws a row, {title}": _lost(
            valued(metric, 0.0), by_algorithm(metric), fast
        )
        for metric, title in COROLLARY_14.items()
    }
    printed = _lost(accuracy, by_algorithm("accuracy", first=1), fast)
    name = "mean utility lost, 10,000 draws a row, accuracy, k from 1 as printed"
    return figures | {name: printed}


def population_threshold(metric: str) -> float:
    """Where a metric of the population is best, η of the distribution Beta(½, 2)."""
    from scipy.stats import beta

    low, high = 0.0, 1.0
    for _ in range(3):  # a grid within the best step of the one before
        cuts = np.linspace(low, high, 1_002)[1:-1]
        above = beta.sf(cuts, 0.5, 2.0)
        hits = 0.2 * beta.sf(cuts, 1.5, 2.0)  # E[η; η ≥ cut], E[η] = 0.2
        share = np.full_like(cuts, 0.2)
        values = VALUES[metric](hits, above, share, 1, 0.0)
        best = int(np.argmax(values))
        low, high = cuts[max(best - 1, 0)], cuts[min(best + 1, cuts.size - 1)]
    return float(cuts[best])


@declare("natarajan2015-section-6-asymptotics")
def _asymptotics(fast: bool) -> Figures:
    """The optimal answer for a batch against the threshold of the population."""
    sizes = np.array([100, 1_000, 10_000] if fast else [100, 1_000, 10_000, 100_000])
    figures: dict[str, float | Estimate] = {}
    for metric, title in ASYMPTOTICS.items():
        cut = population_threshold(metric)
        differ = np.zeros((10 if fast else 30, sizes.size))
        for seed in range(len(differ)):
            rng = np.random.default_rng(seed)
            for i, n in enumerate(sizes):
                p = rng.beta(0.5, 2.0, n)
                labels = np.asarray(am.decide(p, metric).labels) > 0
                differ[seed, i] = 100.0 * np.mean(labels != (p >= cut))
        figures[f"slope of log share over log n, {title}"] = slope(sizes, differ)
    return figures
