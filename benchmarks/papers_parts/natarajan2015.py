"""Natarajan et al. (2015): theorems, by enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
from decide_parts.references import VALUES

import argmetric as am
from argmetric._expected._papers import natarajan_algorithm_1, natarajan_algorithm_2
from papers_parts.claim import Claim, Figures, at_least, at_most
from papers_parts.enumeration import (
    LAWS,
    Value,
    expected,
    labellings,
    numbered,
    tops,
    valued,
)

EXACT = 1e-12
FIGURE_1 = ("balanced_accuracy", "jaccard", "f1", "fowlkes_mallows")
DRAWN = "3 laws of p, drawn with seed 0"


def lacks(p: np.ndarray, value: Value, law: np.ndarray | None = None) -> float:
    """What the best set of most probable rows lacks to the best set of all."""
    values = expected(p, value, law)
    return float(values.max() - values[tops(p)].max())


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
            asked = am.get_metric(metric, zero_division=0.0)
            curves = [natarajan_algorithm_1(p, asked)]
            if metric in ("f1", "jaccard"):
                curves.append(natarajan_algorithm_2(p, asked))
            gaps = [abs(best - float(curve.max())) for curve in curves]
            algorithms = max(algorithms, *gaps)
        differ += len(taken) > 1
    return {
        "most that sets of the most probable lack": outside,
        "largest error of the optimum by Algorithms 1 and 2": algorithms,
        "draws in which the metrics want different sizes, %": 100.0 * differ / draws,
    }


def vectors(longest: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [law(rng, n) for n in range(2, longest + 1) for law in LAWS]


def _theorem_6(fast: bool) -> Figures:
    return {
        "most that sets of the most probable lack": max(
            lacks(p, valued(metric, zero))
            for p in vectors(6 if fast else 8)
            for metric in VALUES
            for zero in (0.0, 1.0)
        )
    }


def _any_distribution(fast: bool) -> Figures:
    outcomes = {(1, 2, 3, 4, 5): 0.2, (1, 6, 7, 8, 9): 0.2, (10,): 0.38, (): 0.22}
    law = np.zeros(2**10)
    for positives, chance in outcomes.items():
        law[sum(1 << (i - 1) for i in positives)] = chance
    p = law @ labellings(10)  # of each row by itself
    values = expected(p, valued("f1", 0.0), law)
    return {
        "E[F1] of the best answer": float(values.max()),
        "rows in it": float(labellings(10)[np.argmax(values)].sum()),
        "what sets of the most probable lack": lacks(p, valued("f1", 0.0), law),
    }


def _squared_count_error(tp: Any, k: Any, t: Any, n: int) -> Any:
    return -(((t - k) / n) ** 2)


def _proposition_7(fast: bool) -> Figures:
    p = np.array([0.9, 0.1])
    values = expected(p, _squared_count_error)
    return {
        "most that sets of the most probable lack": max(
            lacks(p, _squared_count_error) for p in vectors(6)
        ),
        "p = (.9, .1): what taking row 2 alone lacks to taking row 1": float(
            values[numbered(np.array([1, 0]))] - values[numbered(np.array([0, 1]))]
        ),
    }


def _proposition_8(fast: bool) -> Figures:
    def phi(tp: Any, k: Any, t: Any, n: int) -> Any:
        return (0.5 - 0.5 * tp / n + 0.1 * k / n) / (2 - tp / n)

    p = np.array([0.9, 0.5, 0.1])
    values = expected(p, phi)
    return {
        "E of the best answer, row 3 alone": float(values.max()),
        "what sets of the most probable lack": lacks(p, phi),
    }


def _corollary_3(fast: bool) -> Figures:
    equal = np.full(6, 0.5)
    values = expected(equal, valued("gmean", 0.0))
    distinct = [
        lacks(p, valued("gmean", 0.0))
        for p in vectors(6 if fast else 8)
        if np.unique(p).size == p.size
    ]
    return {
        "what thresholds lack, distinct p": max(distinct),
        "what thresholds lack, six rows with p = 0.5": float(
            values.max() - max(values[0], values[-1])
        ),
    }


def _theorem_13(fast: bool) -> Figures:
    """Frequencies of m draws a row stand for the estimate."""
    n, draws = 8, 20 if fast else 200
    gaps = {m: np.zeros(draws) for m in (10, 100, 1_000, 10_000)}
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        p = rng.beta(0.5, 1.0, n)
        values = expected(p, valued("f1", 0.0))
        for m, gap in gaps.items():
            estimate = rng.binomial(m, p) / m
            guess = expected(estimate, valued("f1", 0.0))
            gap[seed] = values.max() - values[np.argmax(guess)]
    return {
        f"mean utility lost, {m:,} draws a row": float(gap.mean())
        for m, gap in gaps.items()
    }


def _asymptotics(fast: bool) -> Figures:
    """k* against the cut at half of the optimal F of expected counts."""
    figures = {}
    for n in (100, 10_000) if fast else (100, 10_000, 1_000_000):
        p = np.sort(np.random.default_rng(0).beta(0.5, 2.0, n))[::-1]
        f = 2 * np.cumsum(p) / (np.arange(1, n + 1) + p.sum())
        decision = am.decide(p, "f1")
        share = abs(decision.n_positives - (int(np.argmax(f)) + 1)) / n
        figures[f"rows decided differently, n = {n:,}, %"] = 100.0 * share
    return figures


CLAIMS = (
    Claim(
        "natarajan2015-figure-1",
        "Fig. 1, section 5.1",
        "Ten rows, AM, Jaccard, F1 and G-TP/PR: the best of all 2^10 answers is a cut, "
        "at places that differ between metrics, and Algorithms 1 and 2 find it.",
        _figure_1,
        [
            at_most("most that sets of the most probable lack", EXACT),
            at_most("largest error of the optimum by Algorithms 1 and 2", EXACT),
            at_least("draws in which the metrics want different sizes, %", 1),
        ],
        data="generated as in the paper",
        seeds="20 draws (fast: 3)",
    ),
    Claim(
        "natarajan2015-theorem-6",
        "Theorem 6",
        "For metrics that rise with TP a set of the most probable rows is best, labels "
        "being independent.",
        _theorem_6,
        [at_most("most that sets of the most probable lack", EXACT)],
        data="generated; ten metrics, 0/0 = 0 and 1",
        seeds=DRAWN,
    ),
    Claim(
        "natarajan2015-theorem-6-any-distribution",
        "Definition 2, Theorem 6",
        "It is so for any distribution.",
        _any_distribution,
        [at_most("what sets of the most probable lack", EXACT)],
        data="a law of four outcomes of ten rows",
        remark="The proof uses independence; erratum 10.",
    ),
    Claim(
        "natarajan2015-proposition-7",
        "Proposition 7",
        "For a metric that ignores TP the optimum is a set of the most probable rows.",
        _proposition_7,
        [
            at_most("most that sets of the most probable lack", EXACT),
            at_least(
                "p = (.9, .1): what taking row 2 alone lacks to taking row 1", EXACT
            ),
        ],
        seeds=DRAWN,
        remark="Some optimum is; erratum 8.",
    ),
    Claim(
        "natarajan2015-proposition-8",
        "Proposition 8",
        "A linear-fractional metric with c1 > d1 rises with TP, so that a set of the "
        "most probable rows is best.",
        _proposition_8,
        [at_most("what sets of the most probable lack", EXACT)],
        data="Φ = (.5 − .5u + .1v) / (2 − u), p = (.9, .5, .1)",
        remark="The right condition is in erratum 9.",
    ),
    Claim(
        "natarajan2015-corollary-3",
        "Corollary 3",
        "The optimum is given by a threshold.",
        _corollary_3,
        [
            at_most("what thresholds lack, distinct p", EXACT),
            at_most("what thresholds lack, six rows with p = 0.5", EXACT),
        ],
        data="generated; G-mean",
        seeds=DRAWN,
        remark="Not where rows tie; erratum 11.",
    ),
    Claim(
        "natarajan2015-theorem-13",
        "Theorem 13",
        "With a consistent estimate of the probabilities the utility lost goes to 0.",
        _theorem_13,
        [
            at_most("mean utility lost, 10,000 draws a row", 1e-3),
        ],
        seeds="200 vectors of 8 rows (fast: 20)",
    ),
    Claim(
        "natarajan2015-section-6-asymptotics",
        "Section 6",
        "As rows become many, the optimal decision of the batch and the optimal "
        "classifier of the population are the same.",
        _asymptotics,
        [at_most("rows decided differently, n = 10,000, %", 0.1)],
        seeds="seed 0; 100 to 1,000,000 rows (fast: 10,000)",
    ),
)
