"""Liu et al. (2018): FOFO, its theorems where probabilities are known."""

from __future__ import annotations

from functools import cache
from math import floor, log2

import numpy as np
from stream_parts.convergence import (
    FOFO,
    NEWTON,
    OFO,
    STREAMS,
    Stream,
    errors_of,
    slope_of,
)

from argmetric.stream import NewtonRule, OFORule
from papers_parts.claim import Ask, Claim, Figures, at_most

Errors = dict[str, np.ndarray]
COMMON = STREAMS[:2]  # those whose probabilities are right
RARE = Stream("1 % positives", -6.4, 2.0)
KNOWN = "generated: normal logits, the probabilities given to the rules"
SEEDS = "10 streams of up to 10,000,000 rows (fast: 5, 1,000,000)"


@cache
def _run(stream: Stream, fast: bool) -> tuple[np.ndarray, Errors, Errors]:
    """Numbers of rows; |θ - θ*| and points of F1 lost at each, by rule."""
    lengths = np.unique(np.logspace(3, 6 if fast else 7, 7 if fast else 9).astype(int))
    rules = {OFO: OFORule(prior=(0.0, 0.0)), NEWTON: NewtonRule()}
    errors, lost, _ = errors_of(stream, lengths, 5 if fast else 10, rules)
    return lengths, errors, lost


def _moments(stream: Stream) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Thresholds, F1 and Q at each, and the share of positives."""
    _, score, eta = stream.curve
    weight = np.exp(-0.5 * np.linspace(-9.0, 9.0, eta.size) ** 2)
    weight /= weight.sum()
    share = float(weight @ eta)
    cuts = np.linspace(0.01, 0.5, 491)
    q = np.array([0.5 * weight @ np.maximum(eta - c, 0) ** 2 for c in cuts])
    return cuts, np.interp(cuts, eta, score), q + 0.5 * share * cuts**2, share


def _lemma_1(fast: bool) -> Figures:
    figures = {}
    for stream in COMMON:
        cuts, score, q, _ = _moments(stream)
        name = stream.name
        best = float(cuts[np.argmin(q)])
        figures[f"argmin of Q less argmax of F1, {name}"] = abs(
            best - float(cuts[np.argmax(score)])
        )
        figures[f"argmin of Q less half of the best F1, {name}"] = abs(
            best - float(score.max()) / 2
        )
        figures[f"concave steps of Q, {name}"] = float((np.diff(q, 2) <= 0).sum())
    return figures


def _lemma_2(fast: bool) -> Figures:
    figures = {}
    for stream in COMMON:
        cuts, score, _, share = _moments(stream)
        away = np.abs(cuts - stream.best)
        ratio = (stream.curve[1].max() - score)[away > 1e-3] / away[away > 1e-3]
        name = f"largest (F* − F)/|θ − θ*|, over 2/π, {stream.name}"
        figures[name] = float(ratio.max() * share / 2)
    return figures


def _rate(fast: bool) -> Figures:
    figures = {}
    for stream in COMMON:
        lengths, errors, _ = _run(stream, fast)
        figures[f"slope of log|θ − θ*| over log n, {stream.name}"] = slope_of(
            lengths, errors[FOFO]
        )
        figures[f"|θ − θ*| at the end, {stream.name}"] = float(errors[FOFO][-1])
    return figures


def _faster(fast: bool) -> Figures:
    figures = {}
    for stream in COMMON:
        lengths, errors, _ = _run(stream, fast)
        for name in (FOFO, OFO):
            figures[f"slope, {name}, {stream.name}"] = slope_of(lengths, errors[name])
        figures[f"|θ − θ*| of FOFO over that of OFO, at the end, {stream.name}"] = (
            float(errors[FOFO][-1] / errors[OFO][-1])
        )
    return figures


def _consistency(fast: bool) -> Figures:
    figures = {}
    for stream in COMMON:
        _, _, lost = _run(stream, fast)
        for when, i in (("after 1,000 rows", 0), ("at the end", -1)):
            name = f"points of F1 lost {when}, {stream.name}"
            figures[name] = float(lost[FOFO][i])
    return figures


def _rare(fast: bool) -> Figures:
    lengths, errors, _ = _run(RARE, fast)
    at = int(np.argmin(np.abs(lengths - 100_000)))
    return {
        "θ*": RARE.best,
        "|θ − θ*| over θ*, 100,000 rows": float(errors[FOFO][at] / RARE.best),
        "the same by stochastic Newton steps": float(errors[NEWTON][at] / RARE.best),
    }


def _stages(n: int) -> int:
    return floor(0.5 * log2(2 * n / log2(n))) - 1


def _no_stage(fast: bool) -> Figures:
    return {
        "lengths 2 to 100 with no stage": float(
            sum(_stages(n) < 1 for n in range(2, 101))
        ),
        "lengths 101 to 100,000 with no stage": float(
            sum(_stages(n) < 1 for n in range(101, 100_001, 7))
        ),
    }


def _each(figure: str, bound: float) -> list[Ask]:
    return [at_most(f"{figure}, {stream.name}", bound) for stream in COMMON]


CLAIMS = (
    Claim(
        "liu2018-lemma-1",
        "Lemma 1, section 3",
        "The best threshold is the one minimum of a strongly convex Q, and half of the "
        "best F1.",
        _lemma_1,
        [
            *_each("argmin of Q less argmax of F1", 2e-3),
            *_each("argmin of Q less half of the best F1", 2e-3),
            *_each("concave steps of Q", 0),
        ],
        data=KNOWN,
    ),
    Claim(
        "liu2018-lemma-2",
        "Lemma 2",
        "F* − F(θ) is at most c |θ − θ*|.",
        _lemma_2,
        _each("largest (F* − F)/|θ − θ*|, over 2/π", 1),
        data=KNOWN,
        remark="c = 2/π does, π the share of positives; erratum 30.",
    ),
    Claim(
        "liu2018-theorem-3",
        "Theorem 3",
        "|θ − θ*| falls as 1/√n, up to logarithms.",
        _rate,
        _each("slope of log|θ − θ*| over log n", -0.45),
        data=KNOWN,
        seeds=SEEDS,
        printed={
            f"slope of log|θ − θ*| over log n, {stream.name}": "-0.5"
            for stream in COMMON
        },
    ),
    Claim(
        "liu2018-section-1-faster",
        "Section 1",
        "FOFO finds the threshold faster than OFO.",
        _faster,
        _each("|θ − θ*| of FOFO over that of OFO, at the end", 1),
        data=KNOWN,
        seeds=SEEDS,
    ),
    Claim(
        "liu2018-theorem-4",
        "Theorem 4",
        "FOFO is consistent: its F1 tends to the best.",
        _consistency,
        _each("points of F1 lost at the end", 0.1),
        data=KNOWN,
        seeds=SEEDS,
    ),
    Claim(
        "liu2018-section-4-rare-positives",
        "Section 4",
        "Without the strong convexity parameter the steps serve highly imbalanced "
        "streams too.",
        _rare,
        [at_most("|θ − θ*| over θ*, 100,000 rows", 0.1)],
        data="generated: as above, 1 % positives",
        seeds=SEEDS,
        remark="The published steps starve; erratum 31.",
    ),
    Claim(
        "liu2018-algorithm-1-stages",
        "Algorithm 1",
        "FOFO(n) runs in ⌊½ log₂(2n / log₂ n)⌋ − 1 stages.",
        _no_stage,
        [
            at_most("lengths 2 to 100 with no stage", 0),
            at_most("lengths 101 to 100,000 with no stage", 0),
        ],
        data="all lengths to 100, every seventh beyond",
        remark="Theorem 3 asks for n > 100; for n ≤ 43 there is no stage; erratum 28.",
    ),
)
