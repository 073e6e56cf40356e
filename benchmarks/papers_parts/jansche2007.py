"""Jansche (2007): decoding for the expected F-score.

There β stands for β² of the usual F, and 0/0 counts 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import argmetric as am
from argmetric._expected._papers import jansche_algorithm_1
from argmetric.sequence import (
    Hamming,
    Independent,
    Pk,
    VectorFunction,
    ZeroOne,
    expectation,
)
from argmetric.train._objectives import ExpectedMetric
from argmetric.train._rows import TrainingRows
from papers_parts import sequences as sequence
from papers_parts.claim import Figures, declare
from papers_parts.enumeration import (
    expected,
    labelling_probabilities,
    labellings,
    numbered,
    tops,
    valued,
    vectors,
)
from papers_parts.estimates import slope_error_of

EXACT = 1e-12


@declare("jansche2007-theorem-1")
def _theorem_1(fast: bool) -> Figures:
    worst = 0.0
    for p in vectors(1, 7 if fast else 9):
        sizes = labellings(p.size).sum(axis=1)
        for metric in ("f1", "f2"):
            values = expected(p, valued(metric, 1.0))
            best = np.array([values[sizes == m].max() for m in range(p.size + 1)])
            worst = max(worst, float((best - values[tops(p)]).max()))
    return {"most that another set of m labels gains": worst}


@declare("jansche2007-algorithm-1")
def _algorithm_1(fast: bool) -> Figures:
    error, lost, gap = 0.0, 0.0, 0.0
    for p in vectors(1, 7 if fast else 9):
        for metric in ("f1", "f2"):
            values = expected(p, valued(metric, 1.0))
            asked = am.get_metric(metric, zero_division=1.0)
            curve = jansche_algorithm_1(np.sort(p)[::-1], asked)
            error = max(error, float(np.abs(curve - values[tops(p)]).max()))
            lost = max(lost, float(values.max() - curve.max()))
            gap = max(gap, abs(am.decide(p, asked).expected - float(curve.max())))
    return {
        "largest error of a value": error,
        "most that the optimum lacks": lost,
        "largest difference to argmetric.decide": gap,
    }


@declare("jansche2007-algorithms-2-3")
def _algorithms_2_and_3(fast: bool) -> Figures:
    n = 3 if fast else 6
    every = labellings(n)
    f1 = valued("f1", 1.0)
    wanted = [[float(f1(z @ y, z.sum(), y.sum(), n)) for y in every] for z in every]
    found = [
        [expectation(sequence.PAPER_F, z, Independent(y * 1.0)).mean for y in every]
        for z in every
    ]
    return {"largest error of a value": float(np.abs(np.subtract(wanted, found)).max())}


@declare("jansche2007-algorithm-4")
def _algorithm_4(fast: bool) -> Figures:
    worst = 0.0
    rng = np.random.default_rng(1)
    for p in vectors(1, 8 if fast else 10):
        z = rng.integers(2, size=p.size)
        for metric in ("f1", "f2"):
            wanted = expected(p, valued(metric, 1.0))[numbered(z)]
            asked = am.get_metric(metric, zero_division=1.0)
            worst = max(worst, abs(expectation(asked, z, Independent(p)).mean - wanted))
    return {"largest error of an expectation": float(worst)}


@declare("jansche2007-footnote-3")
def _footnote_3(fast: bool) -> Figures:
    sizes = range(1, 31 if fast else 101)
    wrong = sum(not sequence.has_states_of_footnote_3(n) for n in sizes)
    return {"lengths with another number of states": float(wrong)}


def _windows(every: np.ndarray, z: np.ndarray, width: int) -> np.ndarray:
    """Share of windows with a boundary in one of the two sequences only."""
    starts = range(z.size - width + 1)
    return np.mean(
        [every[:, i : i + width].any(axis=1) != z[i : i + width].any() for i in starts],
        axis=0,
    )


LOSSES: dict[str, tuple[Any, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "zero-one": (ZeroOne(), lambda every, z: (every != z).any(axis=1)),
    "Hamming": (Hamming(), lambda every, z: (every != z).sum(axis=1)),
    "P_k": (Pk(3), lambda every, z: _windows(every, z, 3)),
}


@declare("jansche2007-section-3-5")
def _section_3_5(fast: bool) -> Figures:
    rng = np.random.default_rng(2)
    figures = {f"largest error, {name}": 0.0 for name in LOSSES}
    for p in vectors(1, 8 if fast else 10)[6:]:  # of three labels or more
        z = rng.integers(2, size=p.size)
        for name, (utility, counted) in LOSSES.items():
            wanted = labelling_probabilities(p) @ counted(labellings(p.size), z)
            found = expectation(utility, z, Independent(p)).mean
            key = f"largest error, {name}"
            figures[key] = max(figures[key], abs(float(found - wanted)))
    return figures


@declare("jansche2007-section-1-3")
def _section_1_3(fast: bool) -> Figures:
    """z are the right labels, y the output: its E[F] and the slopes of it."""
    value, slope = 0.0, 0.0
    rng = np.random.default_rng(3)
    for n in range(2, 7 if fast else 10):
        X, theta = rng.normal(size=(n, 2)), rng.normal(size=3)
        z = np.append(1, rng.integers(2, size=n - 1))
        p = 1 / (1 + np.exp(-(X @ theta[:2] + theta[2])))
        y = labellings(n)
        scores = 2 * (y @ z) / (y.sum(axis=1) + z.sum())
        goal = ExpectedMetric(TrainingRows(X, z == 1, np.ones(n)), am.FBeta(1))
        found = goal.value_and_gradient(theta)[0]
        value = max(value, abs(float(found - labelling_probabilities(p) @ scores)))
        slope = max(slope, slope_error_of(goal, theta))
    return {
        "largest error of the expected F": value,
        "largest error of its gradient, relative": slope,
    }


def chain_probabilities(initial: np.ndarray, transitions: np.ndarray) -> np.ndarray:
    """The probability of each labelling under a chain, by products."""
    order = initial.size.bit_length() - 1
    n = order + len(transitions)
    every = labellings(n)

    def history(end: int) -> np.ndarray:
        """The labels before a position as a number, the latest lowest."""
        return every[:, end - order : end] @ (1 << np.arange(order)[::-1])

    probability = initial[history(order)]
    for i, step in enumerate(transitions, start=order):
        probability = probability * step[history(i), every[:, i]]
    return probability


@declare("jansche2007-section-3-1")
def _higher_orders(fast: bool) -> Figures:
    rng = np.random.default_rng(5)
    figures = {}
    for order in (1, 2, 3):
        worst = 0.0
        for n in range(order + 1, 8 if fast else 11):
            chain = sequence.random_chain(rng, n, order)
            distribution = chain_probabilities(chain.initial, chain.transitions)
            z = rng.integers(2, size=n)
            wanted = expected_of(z, distribution)
            found = expectation(sequence.PAPER_F, z, chain).mean
            worst = max(worst, abs(float(found - wanted)))
        figures[f"largest error, order {order}"] = worst
    return figures


def expected_of(z: np.ndarray, distribution: np.ndarray) -> float:
    y = labellings(z.size)
    value = valued("f1", 1.0)
    return float(distribution @ value(y @ z, z.sum(), y.sum(axis=1), z.size))


class Table(VectorFunction):
    """Hits, misses, false alarms, and the F-score."""

    def start(self) -> Any:
        return 0, 0

    def transition(self, state: Any, z: Any, i: int, y_i: int) -> Any:
        return state[0] + int(z[i]) * y_i, state[1] + y_i

    def value(self, state: Any, z: Any) -> Any:
        hits, ones = state
        taken = int(z.sum())
        below = taken + ones
        return hits, ones - hits, taken - hits, 2 * hits / below if below else 1.0


@declare("jansche2007-section-5-vectors")
def _vectors_of_utilities(fast: bool) -> Figures:
    worst, more = 0.0, 0
    rng = np.random.default_rng(6)
    for p in vectors(1, 8 if fast else 10):
        z, y = rng.integers(2, size=p.size), labellings(p.size)
        hits, ones = y @ z, y.sum(axis=1)
        rows = hits, ones - hits, z.sum() - hits
        distribution = labelling_probabilities(p)
        wanted = [
            *(float(distribution @ row) for row in rows),
            expected_of(z, distribution),
        ]
        found = expectation(Table(), z, Independent(p))
        worst = max(worst, float(np.abs(found.mean - wanted).max()))
        alone = expectation(sequence.PAPER_F, z, Independent(p))
        more = max(more, found.n_states - alone.n_states)
    return {
        "largest error of a component": worst,
        "most states beyond those of F alone": float(more),
    }


@declare("jansche2007-section-2-1", fails_on=lambda: _section_2_1(True, bit=0))
def _section_2_1(fast: bool, bit: int = 1) -> Figures:
    """Of all answers and outcomes: a bit is switched on, or off where `bit` is 0."""
    every = labellings(4 if fast else 6)
    rise, fall = 0.0, 0.0
    for z in every:
        precision, recall = _precision_and_recall(z, every)
        for i in np.flatnonzero(z != bit):
            switched = z.copy()
            switched[i] = bit
            after = _precision_and_recall(switched, every)
            rise = max(rise, float((after[0] - precision).max()))
            fall = max(fall, float((recall - after[1]).max()))
    return {"largest rise of precision": rise, "largest fall of recall": fall}


def _precision_and_recall(z: np.ndarray, every: np.ndarray) -> tuple[Any, Any]:
    """Of one answer, for each outcome; 0/0 counts 1."""
    hits, right = every @ z, every.sum(axis=1)
    precision = hits / z.sum() if z.any() else np.ones(hits.size)
    return precision, np.where(right > 0, hits / np.maximum(right, 1), 1.0)
