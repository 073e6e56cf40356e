"""Jansche (2007): decoding for the expected F-score.

There β stands for β² of the usual F, and 0/0 counts 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import argmetric as am
import sequence
from argmetric._expected._papers import jansche_algorithm_1
from argmetric.sequence import Hamming, Independent, Pk, ZeroOne, expectation
from papers_parts.claim import Claim, Figures, at_least, at_most, within
from papers_parts.enumeration import (
    LAWS,
    chances,
    expected,
    labellings,
    numbered,
    tops,
    valued,
)

EXACT = 1e-12
DRAWN = "3 laws of p, drawn with seed 0"
LAWS_4 = tuple(sequence.LAWS)
SECTION_FOUR = "seed 4; n = 1 to 50, 10 runs each (fast: 4)"


def _vectors(longest: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [law(rng, n) for n in range(1, longest + 1) for law in LAWS]


def _theorem_1(fast: bool) -> Figures:
    worst = 0.0
    for p in _vectors(7 if fast else 9):
        sizes = labellings(p.size).sum(axis=1)
        for metric in ("f1", "f2"):
            values = expected(p, valued(metric, 1.0))
            best = np.array([values[sizes == m].max() for m in range(p.size + 1)])
            worst = max(worst, float((best - values[tops(p)]).max()))
    return {"most that another set of m labels gains": worst}


def _algorithm_1(fast: bool) -> Figures:
    error, lost, gap = 0.0, 0.0, 0.0
    for p in _vectors(7 if fast else 9):
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


def _algorithms_2_and_3(fast: bool) -> Figures:
    n = 3 if fast else 6
    every = labellings(n)
    f1 = valued("f1", 1.0)
    wanted = [[float(f1(z @ y, z.sum(), y.sum(), n)) for y in every] for z in every]
    found = [
        [expectation(sequence.PAPER_F, z, Independent(y * 1.0)).value for y in every]
        for z in every
    ]
    return {"largest error of a value": float(np.abs(np.subtract(wanted, found)).max())}


def _algorithm_4(fast: bool) -> Figures:
    worst = 0.0
    rng = np.random.default_rng(1)
    for p in _vectors(8 if fast else 10):
        z = rng.integers(2, size=p.size)
        for metric in ("f1", "f2"):
            wanted = expected(p, valued(metric, 1.0))[numbered(z)]
            asked = am.get_metric(metric, zero_division=1.0)
            worst = max(
                worst, abs(expectation(asked, z, Independent(p)).value - wanted)
            )
    return {"largest error of an expectation": float(worst)}


def _footnote_3(fast: bool) -> Figures:
    sizes = range(1, 31 if fast else 101)
    wrong = sum(not sequence.has_states_of_footnote_3(n) for n in sizes)
    return {"lengths with another number of states": float(wrong)}


@cache
def _section_4(fast: bool) -> list[sequence.Decoded]:
    return sequence.section_four(50, 4 if fast else 10)


def _beam(rule: str, fast: bool) -> Figures:
    rows = [row for row in _section_4(fast) if row.rule == rule]
    figures: dict[str, float] = {}
    for law in sequence.LAWS:
        mine = [row for row in rows if row.law == law]
        errors = [row.error for row in mine]
        figures |= {
            f"optimum found, {law}, %": 100.0 * np.mean([row.found for row in mine]),
            f"mean error of the value, {law}": float(np.mean(errors)),
            f"largest error of the value, {law}": max(errors),
        }
    return figures


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


def _section_3_5(fast: bool) -> Figures:
    rng = np.random.default_rng(2)
    figures = {f"largest error, {name}": 0.0 for name in LOSSES}
    for p in _vectors(8 if fast else 10)[6:]:  # of three labels or more
        z = rng.integers(2, size=p.size)
        for name, (utility, counted) in LOSSES.items():
            wanted = chances(p) @ counted(labellings(p.size), z)
            found = expectation(utility, z, Independent(p)).value
            key = f"largest error, {name}"
            figures[key] = max(figures[key], abs(float(found - wanted)))
    return figures


def _map_hypothesis(fast: bool) -> Figures:
    f1 = valued("f1", 1.0)
    worst = 0.0
    for p in _vectors(8 if fast else 20):
        likeliest = (p >= 0.5).astype(np.int64)
        for k in range(p.size + 1):
            z = np.zeros(p.size, dtype=np.int64)
            z[np.argsort(-p)[:k]] = 1
            counts = np.array([z @ likeliest, k, likeliest.sum()])
            score = f1(*counts, p.size)
            found = expectation(sequence.PAPER_F, z, Independent(p), beam=1).partial
            worst = max(worst, abs(found - float(score)))
    return {"largest difference to the F-score of the MAP hypothesis": worst}


def _counts(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All possible (tp, k, t) but those without a positive."""
    tp, k, t = (x.ravel() for x in np.mgrid[: n + 1, : n + 1, : n + 1])
    there = (tp <= np.minimum(k, t)) & (k + t - tp <= n) & (k + t > 0)
    return tp[there], k[there], t[there]


def _usual(beta: float, tp: Any, k: Any, t: Any) -> Any:
    return (1 + beta**2) * tp / (k + beta**2 * t)


def _equation_1(fast: bool) -> Figures:
    tp, k, t = _counts(8)
    return {
        f"largest difference to the usual F, β = {beta}": float(
            np.abs((beta + 1) * tp / (k + beta * t) - _usual(beta, tp, k, t)).max()
        )
        for beta in (1, 2)
    }


def _section_1_3(fast: bool) -> Figures:
    """Gold labels are z, so that their number is the P of equation (1)."""
    tp, k, t = _counts(8)
    return {
        f"largest difference to its F in decoding, β = {beta}": float(
            np.abs(
                (beta + 1) * tp / (t + beta * k) - (beta + 1) * tp / (k + beta * t)
            ).max()
        )
        for beta in (1, 2)
    }


def _section_2_1(fast: bool) -> Figures:
    n = 4 if fast else 6
    every = labellings(n)
    rise, fall = 0.0, 0.0
    for z in every:
        hits = every @ z  # of each outcome
        precision = hits / z.sum() if z.any() else np.ones(2**n)
        for i in np.flatnonzero(z == 0):
            more = hits + every[:, i]
            rise = max(rise, float((more / (z.sum() + 1) - precision).max()))
            fall = max(fall, float((hits - more).max()))
    return {"largest rise of precision": rise, "largest fall of recall": fall}


CLAIMS = (
    Claim(
        "jansche2007-theorem-1",
        "Theorem 1",
        "Of all answers with m positives, the m most probable have the highest "
        "expected F-score.",
        _theorem_1,
        [at_most("most that another set of m labels gains", EXACT)],
        seeds=DRAWN,
    ),
    Claim(
        "jansche2007-algorithm-1",
        "Algorithm 1",
        "Switching on bits by falling probability finds an answer of highest expected "
        "F-score among all 2^n.",
        _algorithm_1,
        [
            at_most("largest error of a value", EXACT),
            at_most("most that the optimum lacks", EXACT),
            at_most("largest difference to argmetric.decide", EXACT),
        ],
        seeds=DRAWN,
    ),
    Claim(
        "jansche2007-algorithms-2-3",
        "Algorithms 2 and 3",
        "An automaton with states (A, T) gives the F-score of any two sequences.",
        _algorithms_2_and_3,
        [at_most("largest error of a value", EXACT)],
        data="all pairs of sequences of 6 labels (fast: 3)",
    ),
    Claim(
        "jansche2007-algorithm-4",
        "Algorithm 4",
        "Composed with the probabilities, it gives the expected F-score exactly.",
        _algorithm_4,
        [at_most("largest error of an expectation", EXACT)],
        seeds=DRAWN,
    ),
    Claim(
        "jansche2007-footnote-3",
        "Footnote 3",
        "The composed automaton has at most ⌊n³/12 + 5n²/8 + 17n/12 + 1⌋ states, and "
        "at worst so many.",
        _footnote_3,
        [at_most("lengths with another number of states", 0)],
        data="alternating sequences of 1 to 100 labels (fast: 30)",
    ),
    Claim(
        "jansche2007-section-3-5",
        "Section 3.5",
        "The same algorithm gives the expectation of zero-one loss, Hamming distance "
        "and P_k.",
        _section_3_5,
        [at_most(f"largest error, {name}", EXACT) for name in LOSSES],
        seeds=DRAWN,
    ),
    Claim(
        "jansche2007-section-4-one-state",
        "Section 4, L = 1",
        "With one state kept, values are off by about 0.6, and yet the optimum is "
        "found more than 99 % of the time.",
        partial(_beam, "1"),
        [
            *(within(f"mean error of the value, {law}", 0.5, 0.7) for law in LAWS_4),
            *(at_least(f"optimum found, {law}, %", 99) for law in LAWS_4),
        ],
        seeds=SECTION_FOUR,
        printed={
            **{f"mean error of the value, {law}": "about 0.6" for law in LAWS_4},
            **{f"optimum found, {law}, %": "more than 99" for law in LAWS_4},
        },
        remark="A beam of one follows the most probable labels, whatever the answer: "
        "it chooses the cut at one half.",
    ),
    Claim(
        "jansche2007-section-4-2n-states",
        "Section 4, L = 2n",
        "With 2n states kept, values are indistinguishable from the exact ones, and "
        "the optimum is found every time.",
        partial(_beam, "2n"),
        [
            *(at_most(f"largest error of the value, {law}", 1e-3) for law in LAWS_4),
            *(at_least(f"optimum found, {law}, %", 100) for law in LAWS_4),
        ],
        seeds=SECTION_FOUR,
        printed={f"optimum found, {law}, %": "100" for law in LAWS_4},
        remark="With 4n states it nearly is so.",
    ),
    Claim(
        "jansche2007-section-4-map",
        "Section 4, L = 1",
        "With one state kept, the value is the F-score of the MAP hypothesis.",
        _map_hypothesis,
        [at_most("largest difference to the F-score of the MAP hypothesis", EXACT)],
        seeds=DRAWN,
        remark="The beam drops probability; erratum 21.",
    ),
    Claim(
        "jansche2007-equation-1",
        "Equation (1)",
        "The β-weighted F-score is (β + 1)A / (P + βT).",
        _equation_1,
        [
            at_most(f"largest difference to the usual F, β = {beta}", EXACT)
            for beta in (1, 2)
        ],
        data="all counts of 8 labels",
        remark="Its β is the square of the usual one; erratum 18.",
    ),
    Claim(
        "jansche2007-section-1-3",
        "Section 1.3",
        "The expectation of the same F(z, ·) serves training, z being the right labels "
        "and y the output.",
        _section_1_3,
        [
            at_most(f"largest difference to its F in decoding, β = {beta}", EXACT)
            for beta in (1, 2)
        ],
        data="all counts of 8 labels",
        remark="With the roles changed it is the F of 1/β; erratum 19.",
    ),
    Claim(
        "jansche2007-section-2-1",
        "Section 2.1",
        "When a bit is switched on, precision falls or stays and recall rises or "
        "stays.",
        _section_2_1,
        [at_most("largest rise of precision", 0), at_most("largest fall of recall", 0)],
        data="all pairs of sequences of 6 labels (fast: 3)",
        remark="The theorem does not use it; erratum 20.",
    ),
)
