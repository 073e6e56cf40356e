"""Jansche (2007), section 4 and the running times: beams, and what is counted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

import numpy as np

from argmetric.sequence import Independent, decode, expectation
from papers_parts import sequences as sequence
from papers_parts.claim import Estimate, Figures, declare

DISTRIBUTIONS = tuple(sequence.DISTRIBUTIONS)
EVERY_STATE = 10**9  # a beam that drops nothing


@cache
def _section_4(fast: bool) -> list[sequence.Decoded]:
    return sequence.section_four(50, 3 if fast else 10)


def beam_figures(rows: Sequence[sequence.Decoded], rule: str) -> Figures:
    """What was found, and how far values were off, distribution by distribution."""
    figures: dict[str, float | Estimate] = {}
    for kind in DISTRIBUTIONS:
        mine = [row for row in rows if row.rule == rule and row.distribution == kind]
        errors, found = np.array([(row.error, row.found) for row in mine]).T
        figures |= {
            f"optimum found, {kind}, %": Estimate.of(100.0 * found),
            f"mean error of the value, {kind}": Estimate.of(errors),
            f"largest error of the value, {kind}": float(errors.max()),
        }
    return figures


def _beam(rule: str, fast: bool) -> Figures:
    return beam_figures(_section_4(fast), rule)


def bound_figures(rows: Sequence[sequence.Decoded]) -> Figures:
    return {
        "most that a kept value exceeds the optimum": max(-row.error for row in rows),
        "most that an optimum lies outside its bounds": max(
            row.outside for row in rows
        ),
    }


@declare("jansche2007-section-4-bound")
def _bounds(fast: bool) -> Figures:
    return bound_figures(_section_4(fast))


@declare("jansche2007-section-4-map")
def _map_hypothesis(fast: bool) -> Figures:
    rng = np.random.default_rng(0)
    worst, same = 0.0, []
    for n in range(1, 9 if fast else 31):
        for draw in sequence.DISTRIBUTIONS.values():
            model = Independent(draw(rng, n))
            likeliest = (model.p > 0.5).astype(np.int64)
            labels = decode(sequence.PAPER_F, model, beam=1).labels
            same.append(float(np.array_equal(labels, likeliest)))
            kept = expectation(sequence.PAPER_F, labels, model, beam=1).partial
            below = labels.sum() + likeliest.sum()
            score = 2 * (labels @ likeliest) / below if below else 1.0
            worst = max(worst, abs(float(kept - score)))
    return {
        "largest difference to the F-score of the MAP hypothesis": worst,
        "decided for the MAP hypothesis, %": 100.0 * float(np.mean(same)),
    }


def slope(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """The power of n that the last step of a growing cost shows."""
    rise = np.log(costs[-1]) - np.log(costs[-2])
    return float(rise / (np.log(sizes[-1]) - np.log(sizes[-2])))


def _model(n: int) -> Independent:
    return Independent(np.random.default_rng(n).random(n))


@declare("jansche2007-section-3-4-cubic")
def _cubic(fast: bool) -> Figures:
    sizes = (50, 100, 200) if fast else (50, 100, 200, 300)
    counts = [
        expectation(sequence.PAPER_F, np.arange(n) % 2, _model(n)).n_states
        for n in sizes
    ]
    return {
        "power of n, states": slope(sizes, counts),
        "states over n³, the longest": counts[-1] / sizes[-1] ** 3,
    }


@declare("jansche2007-section-4-linear")
def _beam_times(fast: bool) -> Figures:
    z, model = np.arange(400) % 2, _model(400)
    widths = (25, 50, 100)
    by_width = [expectation("f1", z, model, beam=L).n_states for L in widths]
    sizes = (100, 200, 400) if fast else (100, 200, 400, 800)
    by_length = [
        expectation("f1", np.arange(n) % 2, _model(n), beam=50).n_states for n in sizes
    ]
    return {
        "power of L, states": slope(widths, by_width),
        "power of n, states": slope(sizes, by_length),
    }


@cache
def decoder_costs(sizes: tuple[int, ...], widths: tuple[int, ...]) -> list[int]:
    """States that decoding visits."""
    pairs = zip(sizes, widths, strict=True)
    runs = (decode(sequence.PAPER_F, _model(n), beam=width) for n, width in pairs)
    return [one.n_states for one in runs]


@declare("jansche2007-section-4-decoder")
def _decoder_times(fast: bool) -> Figures:
    figures = {}
    for what, width, sizes in (
        ("exact", lambda n: EVERY_STATE, (20, 40, 80, 120)),
        ("L = 2n", lambda n: 2 * n, (20, 40, 80, 160)),
        ("L = 20", lambda n: 20, (40, 80, 160, 320)),
    ):
        sizes = sizes[:3] if fast else sizes
        counts = decoder_costs(sizes, tuple(map(width, sizes)))
        figures[f"power of n, {what}, states"] = slope(sizes, counts)
    return figures


def states_without_reuse(n: int, width: int) -> int:
    """States of all n + 1 hypotheses, each from the beginning."""
    model, z = _model(n), np.zeros(n, dtype=np.int64)
    total = expectation(sequence.PAPER_F, z, model, beam=width).n_states
    for i in np.argsort(-model.p, kind="stable"):
        z[i] = 1
        total += expectation(sequence.PAPER_F, z, model, beam=width).n_states
    return total


@declare("jansche2007-section-4-reuse")
def _footnote_4(fast: bool) -> Figures:
    sizes = (20, 40, 80) if fast else (20, 40, 80, 120)
    anew = [states_without_reuse(n, EVERY_STATE) for n in sizes]
    counts = decoder_costs(sizes, (EVERY_STATE,) * len(sizes))
    return {
        "states with maps reused, over those without": counts[-1] / anew[-1],
        "power of n, without": slope(sizes, anew),
        "power of n, reused": slope(sizes, counts),
    }


declare("jansche2007-section-4-one-state-value")(partial(_beam, "1"))
declare("jansche2007-section-4-one-state")(partial(_beam, "1"))
declare("jansche2007-section-4-2n-states")(partial(_beam, "2n"))
