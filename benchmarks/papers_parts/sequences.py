"""Measure `argmetric.sequence`: states, the paper's section 4, and speed.

    python benchmarks/sequence.py                 # everything, about a minute
    python benchmarks/sequence.py speed           # some sections
    python benchmarks/sequence.py --quick         # a smoke run: figures mean nothing
    python benchmarks/sequence.py paper --plot section4.svg

Every line is one JSON object: what was measured, the value, the target and whether
it was met.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from harness import emit, emit_machine, emit_summary, judge, wall_seconds

import argmetric as am
from argmetric.sequence import (
    Independent,
    MarkovChain,
    Pk,
    SequenceDecision,
    WindowDiff,
    decode,
    distribution,
    expectation,
)

LAWS: dict[str, Callable[[np.random.Generator, int], Any]] = {
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


def states(*, quick: bool, plot: str | None) -> None:
    """2. The composed F automaton at its worst case, an alternating hypothesis."""
    sizes = range(1, 20 if quick else 101)
    emit(
        "states",
        f"lengths 1 to {sizes[-1]} whose number of states is not the bound of "
        "footnote 3",
        sum(not has_states_of_footnote_3(n) for n in sizes),
        "lengths",
        ("<=", 0),
    )


def has_states_of_footnote_3(n: int) -> bool:
    found = expectation("f1", np.arange(n) % 2, Independent(np.full(n, 0.4)))
    return found.n_states == (2 * n**3 + 15 * n**2 + 34 * n + 24) // 24


@dataclass(frozen=True)
class Decoded:
    """One run of section 4 with a beam, beside exact decoding."""

    law: str
    n: int
    rule: str
    error: float  # of the value
    found: bool  # an optimum
    loss: float  # of utility
    surely: bool  # an optimum, if the highest lower bound had chosen
    outside: float  # how far the optimum lies above the bound, or below the value
    gap: float  # between the value that is sure and the bound


def section_four(longest: int, runs: int) -> list[Decoded]:
    """n = 1 to `longest`, with L = 4n, 2n and 1; the paper has the last two."""
    rows = []
    for name, draw in LAWS.items():
        rng = np.random.default_rng(4)
        for n in range(1, longest + 1):
            for _ in range(runs):
                model = Independent(draw(rng, n))
                exact = decode(PAPER_F, model)
                for rule, widen in RULES.items():
                    rows.append(beside_exact(name, rule, model, exact, widen(n)))
    return rows


def beside_exact(
    law: str, rule: str, model: Independent, exact: SequenceDecision, width: int
) -> Decoded:
    best = exact.expected
    found = decode(PAPER_F, model, beam=width)
    kept = expectation(PAPER_F, found.labels, model, beam=width).partial
    of_size = exact.curve  # exact values of the hypotheses
    assert of_size is not None
    assert found.curve is not None
    loss = best - of_size[found.n_positives]
    return Decoded(
        law,
        model.n,
        rule,
        best - kept,
        bool(loss <= TIE),
        loss,
        bool(best - of_size[np.argmax(found.curve)] <= TIE),
        max(best - found.bound, found.expected - of_size[found.n_positives], 0.0),
        found.bound - found.expected,
    )


def paper(*, quick: bool, plot: str | None) -> None:
    """3. Section 4: n = 1…50, 10 runs each, exact against L = 4n, 2n and 1.

    Its sentences are claims to check, not targets.
    """
    longest, runs = (8, 2) if quick else (50, 10)
    rows = section_four(longest, runs)
    for name in LAWS:
        for rule in RULES:
            mine = [row for row in rows if row.law == name and row.rule == rule]
            errors = [row.error for row in mine]
            hit = 100 * sum(row.found for row in mine) / len(mine)
            emit(
                "paper",
                f"optimum found with L = {rule}, {name}, n = 1 to {longest}",
                hit,
                "%",
                mean_error_of_value=statistics.mean(errors),
                largest_error_of_value=max(errors),
                error_at_the_longest=statistics.mean(
                    row.error for row in mine if row.n == longest
                ),
                mean_loss_of_utility=statistics.mean(row.loss for row in mine),
                largest_loss_of_utility=max(row.loss for row in mine),
                found_by_lower_bounds=100 * statistics.mean(row.surely for row in mine),
                mean_gap_of_the_bound=statistics.mean(row.gap for row in mine),
                found_above_half_length=100
                * statistics.mean(row.found for row in mine if row.n > longest // 2),
            )
    if plot is not None:
        draw_errors(rows, plot)


def draw_errors(rows: list[Decoded], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for name in LAWS:
        for rule in RULES:
            mine = [row for row in rows if row.law == name and row.rule == rule]
            lengths = sorted({row.n for row in mine})
            error, found = (
                [
                    statistics.mean(float(value(row)) for row in mine if row.n == n)
                    for n in lengths
                ]
                for value in (attrgetter("error"), attrgetter("found"))
            )
            axes[0].plot(lengths, error, label=f"L = {rule}, {name}")
            axes[1].plot(lengths, found, label=f"L = {rule}, {name}")
    axes[0].set(xlabel="n", ylabel="exact value - approximate value")
    axes[1].set(xlabel="n", ylabel="share of runs with the optimum")
    axes[0].legend(fontsize="small")
    figure.savefig(path)
    plt.close(figure)


def speed(*, quick: bool, plot: str | None) -> None:
    """4. Time of the three calls that have a target, and of their relatives."""
    rng = np.random.default_rng(1)
    scale = 10 if quick else 1
    n = 10_000 // scale
    p, z = rng.random(n), (rng.random(n) < 0.1).astype(np.int64)
    one, many = Independent(p), random_chain(rng, n)
    short = random_chain(rng, 500 // scale)
    chain = random_chain(rng, 300 // scale)
    alternating = np.arange(short.n) % 2
    calls: list[tuple[str, Callable[[], Any], float | None]] = [
        (f"E[P_k], n = {n:,}, window 10", lambda: expectation(Pk(10), z, one), 1),
        (
            f"E[P_k] under a chain, n = {n:,}, window 10",
            lambda: expectation(Pk(10), z, many),
            1,
        ),
        (
            f"E[WindowDiff] under a chain, n = {n:,}, window 10",
            lambda: expectation(WindowDiff(10), z, many),
            None,
        ),
        (
            f"law of P_k, n = {n:,}, window 10",
            lambda: distribution(Pk(10), z, one),
            None,
        ),
        (
            f"E[F1] under a chain, n = {short.n}",
            lambda: expectation("f1", alternating, short),
            1,
        ),
        (
            f"law of F1 under a chain, n = {short.n}",
            lambda: distribution("f1", alternating, short),
            None,
        ),
        (f"F1 decoded under a chain, n = {chain.n}", lambda: decode("f1", chain), 5),
        (f"MCC decoded under a chain, n = {chain.n}", lambda: decode("mcc", chain), 5),
        (f"F1 decoded under a chain, n = {n:,}", lambda: decode("f1", many), None),
        (
            f"P_k decoded under a chain, n = {n:,}, window 10",
            lambda: decode(Pk(10), many),
            None,
        ),
    ]
    for what, call, limit in calls:
        call()  # compile before timing
        seconds = statistics.median(wall_seconds(call) for _ in range(3))
        emit("speed", what, seconds, "s", None if limit is None else ("<=", limit))


SECTIONS = {"states": states, "paper": paper, "speed": speed}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="section", help=str([*SECTIONS]))
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    parser.add_argument("--plot", metavar="FILE", help="draw section 4 of the paper")
    options = parser.parse_args()
    unknown = set(options.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown section {sorted(unknown)}; known: {', '.join(SECTIONS)}")
    judge(not options.quick)
    emit_machine()
    for name, section in SECTIONS.items():
        if name in (options.sections or SECTIONS):
            section(quick=options.quick, plot=options.plot)
    emit_summary()
    return 0


if __name__ == "__main__":
    sys.exit(main())
