"""Weights in a table: one row for each feature seen in training, a column an action.

Features do not collide, and the weights that a decision asks for lie side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from argmetric._ground.types import Floats, Hashes, Integers
from argmetric.search._searn._decisions import Decisions, cheapest_regrets


def rows_of(hashes: Hashes, wanted: Hashes) -> Integers:
    """Where each hash stands among sorted ones, -1 where it is not there."""
    if hashes.size == 0:
        return np.full(wanted.shape, -1, dtype=np.int64)
    where = np.minimum(np.searchsorted(hashes, wanted), hashes.size - 1)
    return np.where(hashes[where] == wanted, where, -1)


@dataclass(frozen=True, eq=False)
class IndexedDecisions:
    """Decisions as kernels take them."""

    # indptr, rows of the table and values of rows of features
    features: tuple[Integers, Integers, Floats]
    which: Integers  # the row of features of each decision
    extra: Integers  # further rows of the table for each decision, -1 for none
    # owners, columns: the decision and the column of each action, -1 for an unknown one
    owners: Integers
    columns: Integers


class TableDecisions(Protocol):
    """Decisions whose features can be numbered."""

    @property
    def indptr(self) -> Integers: ...  # where the actions of each decision begin

    # All features, sorted, and the code of the action of each column
    def vocabulary(self) -> tuple[Hashes, Hashes]: ...

    # The decisions by the numbers of their features and actions
    def indexed(self, hashes: Hashes, codes: Hashes) -> IndexedDecisions: ...


@dataclass(frozen=True, eq=False)
class _PlainDecisions:
    """Decisions of any task whose actions have no features of their own."""

    decisions: Decisions

    @property
    def indptr(self) -> Integers:
        return self.decisions.indptr

    def vocabulary(self) -> tuple[Hashes, Hashes]:
        codes, first = np.unique(self.decisions.codes, return_index=True)
        return np.unique(self.decisions.states.hashes), codes[np.argsort(first)]

    def indexed(self, hashes: Hashes, codes: Hashes) -> IndexedDecisions:
        states, n = self.decisions.states, len(self.decisions)
        order = np.argsort(codes)
        where = rows_of(codes[order], self.decisions.codes)
        return IndexedDecisions(
            (states.indptr, rows_of(hashes, states.hashes), states.values),
            np.arange(n),
            np.zeros((n, 0), dtype=np.int64),
            self.decisions.owners,
            np.where(where >= 0, order[where], -1),
        )


def as_table(decisions: Decisions | TableDecisions) -> TableDecisions:
    """Decisions of any kind as a learner of tables takes them."""
    if not isinstance(decisions, Decisions):
        return decisions
    if decisions.pairs.hashes.size:
        raise ValueError(
            "hash_bits=None is for tasks whose actions have no features of their own: "
            "set a number of bits"
        )
    return _PlainDecisions(decisions)


@dataclass(frozen=True, eq=False)
class TableScorer:
    """Weights of features (rows) and actions (columns)."""

    weights: Floats
    hashes: Hashes
    codes: Hashes

    def matrix(
        self, features: tuple[Any, ...], which: Integers, extra: Integers
    ) -> Floats:
        """Scores of all columns: of some rows of features, and rows besides."""
        from argmetric.search.kernels.sequences import score_rows

        out = np.empty((which.size, self.codes.size))
        score_rows(features, which, extra, self.weights, out)
        return out

    def scores(self, decisions: Decisions | TableDecisions) -> Floats:
        """One score for each action of each decision; an unknown action has 0."""
        found = as_table(decisions).indexed(self.hashes, self.codes)
        matrix = self.matrix(found.features, found.which, found.extra)
        scores = matrix[found.owners, found.columns]
        return np.where(found.columns >= 0, scores, 0.0)


def learn_table(
    decisions: Decisions | TableDecisions,
    costs: Floats,
    rng: np.random.Generator,
    epochs: int,
    kind: int,
    target: int,
    step: float,
) -> TableScorer:
    """A table of averaged weights; the steps are those of `LinearLearner`."""
    from argmetric.search.kernels.cost_sensitive import FIRST_SQUARE
    from argmetric.search.kernels.sequences import learn_rows

    table = as_table(decisions)
    hashes, codes = table.vocabulary()
    found = table.indexed(hashes, codes)
    flat = cheapest_regrets(np.asarray(costs, dtype=np.float64), table.indptr)
    regrets = np.full((found.which.size, codes.size), np.inf)
    regrets[found.owners, found.columns] = flat
    largest = np.zeros(found.which.size)
    np.maximum.at(largest, found.owners, flat)
    scale = float(1.0 / largest[largest > 0].mean()) if largest.any() else 1.0
    shape = hashes.size, codes.size
    weights, squares = np.zeros(shape), np.full(shape, FIRST_SQUARE)
    lags, clock = np.zeros(shape), np.zeros(1)
    options, state = (kind, target, step, scale), (weights, squares, lags, clock)
    for _ in range(epochs if len(regrets) else 0):
        order = rng.permutation(len(regrets))
        learn_rows(
            found.features, found.which, found.extra, regrets, order, options, state
        )
    if clock[0]:
        weights -= lags / clock[0]
    return TableScorer(weights, hashes, codes)
