"""Sentences that cover the most within a budget: by beam, by an ILP.

Choose sentences x with Σ words·x ≤ budget and the largest Σ_c weight_c · min(cap_c,
Σ_s counts_cs x_s). With bigrams as things, caps of 1 and document frequencies as
weights it is concept coverage; with the counts in a reference as caps it is ROUGE-2
recall, but for pairs of words across the end of a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TIME_LIMIT = 10.0  # seconds of the ILP's solver for one cluster
GAP = 1e-4  # of the ILP's objective, at which the solver may stop


@dataclass(frozen=True)
class Coverage:
    """What is to be covered; rows of `counts` are things, columns sentences."""

    counts: np.ndarray
    caps: np.ndarray
    weights: np.ndarray
    words: np.ndarray
    budget: int

    def values(self, covered: np.ndarray) -> np.ndarray:
        """Of states whose counts are the columns of `covered`."""
        held: np.ndarray = self.weights @ np.minimum(covered, self.caps[:, None])
        return held


def beam(problem: Coverage, width: int) -> list[int]:
    """The best set found when the `width` best sets of every size are grown."""
    n = problem.words.size
    sets = np.zeros((1, n), dtype=bool)
    best, top = sets[0], 0.0
    while True:
        left = problem.budget - sets @ problem.words
        rows, added = np.nonzero(~sets & (problem.words <= left[:, None]))
        if rows.size == 0:
            return [int(i) for i in np.flatnonzero(best)]
        covered = problem.counts @ sets.T
        values = problem.values(covered[:, rows] + problem.counts[:, added])
        grown = sets[rows]
        grown[np.arange(rows.size), added] = True
        order = np.argsort(-values, kind="stable")[: width * n]
        _, first = np.unique(
            np.packbits(grown[order], axis=1), axis=0, return_index=True
        )
        order = order[np.sort(first)[:width]]
        sets = grown[order]
        if values[order[0]] > top:
            best, top = sets[0], float(values[order[0]])


def ilp(problem: Coverage) -> list[int]:
    """The optimum by scipy's `milp`, or what it has when its time is over."""
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    m, n = problem.counts.shape
    if m == 0:
        return []
    held = sparse.hstack([sparse.csr_array(problem.counts), -sparse.eye_array(m)])
    length = sparse.csr_array(np.r_[problem.words, np.zeros(m)][None])
    found = milp(
        np.r_[np.zeros(n), -problem.weights],
        integrality=np.r_[np.ones(n), np.zeros(m)],
        bounds=Bounds(0, np.r_[np.ones(n), problem.caps]),
        constraints=[
            LinearConstraint(held.tocsc(), lb=0.0),
            LinearConstraint(length.tocsc(), ub=problem.budget),
        ],
        options={"time_limit": TIME_LIMIT, "mip_rel_gap": GAP},
    )
    assert found.x is not None, found.message  # no sentence at all is feasible
    return [int(i) for i in np.flatnonzero(found.x[:n] > 0.5)]
