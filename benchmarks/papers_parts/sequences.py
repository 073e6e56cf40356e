"""Chains, automata and beams of the claims of Jansche (2007)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import argmetric as am
from argmetric.sequence import (
    Independent,
    MarkovChain,
    SequenceDecision,
    decode,
    expectation,
)

DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "uniform": lambda rng, n: rng.random(n),
    "Beta(1/2, 1/2)": lambda rng, n: rng.beta(0.5, 0.5, n),
}
RULES: dict[str, Callable[[int], int]] = {
    "4n": lambda n: 4 * n,
    "2n": lambda n: 2 * n,
    "1": lambda n: 1,
}
PAPER_F = am.FBeta(1, zero_division=1.0)  # the paper has 0/0 = 1
TIE = 1e-9  # hypotheses whose exact values are this close are equally good


def random_chain(rng: np.random.Generator, n: int, order: int = 1) -> MarkovChain:
    rows = 2**order
    initial = rng.dirichlet(np.ones(rows))
    return MarkovChain(initial, rng.dirichlet(np.ones(2), (n - order, rows)))


def has_states_of_footnote_3(n: int) -> bool:
    found = expectation("f1", np.arange(n) % 2, Independent(np.full(n, 0.4)))
    return found.n_states == (2 * n**3 + 15 * n**2 + 34 * n + 24) // 24


@dataclass(frozen=True)
class Decoded:
    """One run of section 4 with a beam, beside exact decoding."""

    distribution: str
    n: int
    rule: str
    error: float  # of the value
    found: bool  # an optimum
    outside: float  # how far the optimum lies above the bound, or below the value


def section_four(longest: int, runs: int) -> list[Decoded]:
    """n = 1 to `longest`, with L = 4n, 2n and 1; the paper has the last two."""
    rows = []
    for name, draw in DISTRIBUTIONS.items():
        rng = np.random.default_rng(4)
        for n in range(1, longest + 1):
            for _ in range(runs):
                model = Independent(draw(rng, n))
                exact = decode(PAPER_F, model)
                for rule, widen in RULES.items():
                    rows.append(beside_exact(name, rule, model, exact, widen(n)))
    return rows


def beside_exact(
    distribution: str,
    rule: str,
    model: Independent,
    exact: SequenceDecision,
    width: int,
) -> Decoded:
    best = exact.expected
    found = decode(PAPER_F, model, beam=width)
    kept = expectation(PAPER_F, found.labels, model, beam=width).partial
    of_size = exact.curve  # exact values of the hypotheses
    assert of_size is not None
    loss = best - of_size[found.n_positives]
    return Decoded(
        distribution,
        model.n,
        rule,
        best - kept,
        bool(loss <= TIE),
        max(best - found.bound, found.expected - of_size[found.n_positives], 0.0),
    )
