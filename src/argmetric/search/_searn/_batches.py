"""Sequences labelled step by step, all of them together, by scorers of any kind.

The loops run over steps and batches of sequences. Decisions equal those of the generic
loop, which asks the task about one state after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric._ground.types import Floats, Hashes, Integers
from argmetric.search._searn._decisions import Decisions, best_actions
from argmetric.search._searn._policy import BeamScores, LearnedPolicy, Mixture, draw
from argmetric.search._searn._sequences import PreparedInputs, SequenceDecisions

_MOST_CHILDREN = 4_000_000  # of the beams that grow together


def follow(
    inputs: PreparedInputs,
    mixture: Mixture,
    keys: Hashes,
    folds: Integers | None = None,
    gold: object = None,
) -> tuple[Integers, ...]:
    """Return actions of a policy and the states that it visits, as the kernel does.

    The learned policies are asked step by step. Their actions become the weights of a
    table, 1 for the action taken at a token, which the kernel follows: it knows the
    initial policy and the costs.
    """
    n, mixed = int(inputs.starts[-1]), mixture.initial_weight > 0
    table = np.zeros((1, n, inputs.codes.size))
    features = np.arange(n + 1), np.arange(n, dtype=np.int32), np.ones(n)
    edges = np.array([mixture.initial_weight, np.inf][0 if mixed else 1 :])
    none = np.zeros(len(inputs), dtype=np.int64)
    voters = (features, table), (int(mixed), edges, keys, 1, none)
    no_rows = np.full_like(inputs.history_rows, -1)
    lengths, components = np.diff(inputs.starts), mixture.components()
    fold_of = none - 1 if folds is None else folds
    histories = np.zeros_like(none)
    for step in range(lengths.max(initial=0)):
        going = np.flatnonzero(lengths > step)
        tokens = inputs.starts[going] + step
        if mixed:
            histories = np.zeros_like(none)
            histories[going] = inputs.follow(voters, gold, no_rows)[1][tokens]
        decisions: Any = SequenceDecisions(inputs, tokens, histories[going])
        numbers = mixture.component_numbers(
            draw(keys[going], np.full(going.size, step))
        )
        for number in np.unique(numbers):
            policy = components[number]
            if not isinstance(policy, LearnedPolicy):
                continue
            rows = np.flatnonzero(numbers == number)
            part = decisions.take(rows)
            scores = policy.fold_scores(part, fold_of[going[rows]])
            best = part.indptr[:-1] + best_actions(scores, part.indptr)
            table[0, tokens[rows], part.numbers[best]] = 1.0
        if not mixed:
            taken = table[0, tokens].argmax(axis=1)
            histories[going] = inputs.history_after(histories[going], taken)
    return inputs.follow(voters, gold, no_rows)


def search(
    inputs: PreparedInputs,
    mixture: Mixture,
    keys: Hashes | None,
    *,
    width: int,
    form: BeamScores,
) -> Integers:
    """Return the actions of the best path of each input, token by token.

    `keys` and `form` are those of `beam_search`, whose order of equal paths this keeps.
    """
    lengths = np.diff(inputs.starts)
    order = np.argsort(-lengths, kind="stable")
    size = max(1, _MOST_CHILDREN // (width * inputs.codes.size))
    chosen = np.full(int(inputs.starts[-1]), -1, dtype=np.int64)
    for first in range(0, order.size, size):
        rows = order[first : first + size]
        _search_block(inputs, mixture, keys, rows, chosen, width=width, form=form)
    return chosen


def _search_block(
    inputs: PreparedInputs,
    mixture: Mixture,
    keys: Hashes | None,
    rows: Integers,
    chosen: Integers,
    *,
    width: int,
    form: BeamScores,
) -> None:
    """Set the actions of some sequences, which are sorted from the longest.

    totals, histories : ndarray of shape (n_going, n_paths)
        Paths of each sequence, the best first; a total of NaN is no path.
    """
    starts, lengths = inputs.starts[rows], np.diff(inputs.starts)[rows]
    totals = np.zeros((rows.size, 1))
    histories = np.zeros((rows.size, 1), dtype=np.int64)
    back: list[tuple[Integers, Integers]] = []
    for step in range(lengths.max(initial=0)):
        n = np.count_nonzero(lengths > step)
        totals, histories = totals[:n], histories[:n]
        alive = ~np.isnan(totals)
        base = inputs.history_rows.shape[0]
        states = ((starts[:n] + step)[:, None] * base + histories)[alive]
        distinct, where = np.unique(states, return_inverse=True)
        tokens = distinct // base
        decisions: Any = SequenceDecisions(inputs, tokens, distinct % base)
        draws = None
        if keys is not None:
            draws = draw(keys[inputs.owners[tokens]], np.full(tokens.size, step))
        scores = mixture._sum_scores(decisions, draws, form, _ask)
        every = np.full((tokens.size, inputs.codes.size), np.nan)
        every[decisions.owners, decisions.numbers] = scores
        by_score = np.argsort(-every, axis=1, kind="stable")[:, :width]
        k = by_score.shape[1]
        children = np.full((*alive.shape, k), np.nan)
        columns = np.zeros(children.shape, dtype=np.int64)
        columns[alive] = by_score[where]
        best = np.take_along_axis(every, by_score, axis=1)
        children[alive] = totals[alive][:, None] + best[where]
        flat = children.reshape(n, -1)
        kept = np.argsort(-flat, axis=1, kind="stable")[:, :width]
        parents = kept // k
        taken = np.take_along_axis(columns.reshape(n, -1), kept, axis=1)
        totals = np.take_along_axis(flat, kept, axis=1)
        before = np.take_along_axis(histories, parents, axis=1)
        histories = inputs.history_after(before, taken)
        back.append((parents, taken))
    path = np.zeros(rows.size, dtype=np.int64)
    for step in range(len(back) - 1, -1, -1):
        parents, taken = back[step]
        some = np.arange(parents.shape[0])
        chosen[starts[some] + step] = taken[some, path[some]]
        path[some] = parents[some, path[some]]


def _ask(policy: LearnedPolicy, rows: Integers, part: Decisions) -> Floats:
    return policy.scorer.scores(part)
