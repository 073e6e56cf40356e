"""Sequences labelled step by step, all of them together, by scorers of any kind.

The loops run over steps and batches of sequences. Decisions equal those of the generic
loop, which asks the task about one state after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric._ground.types import Hashes, Integers
from argmetric.search._searn._decisions import best_actions
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
    no_rows = np.full_like(inputs._index[2], -1)
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
    n_columns, base = inputs.codes.size, inputs._index[2].shape[0]
    lengths = np.diff(inputs.starts)
    order = np.argsort(-lengths, kind="stable")
    size = max(1, _MOST_CHILDREN // (width * n_columns))
    chosen = np.full(int(inputs.starts[-1]), -1, dtype=np.int64)
    for first in range(0, order.size, size):
        rows = order[first : first + size]  # from the longest
        starts, left = inputs.starts[rows], lengths[rows]
        # Paths of each sequence, the best first; a total of NaN is no path
        totals, histories = np.zeros((rows.size, 1)), np.zeros((rows.size, 1), np.int64)
        back: list[tuple[Integers, Integers]] = []
        for step in range(left.max(initial=0)):
            n = np.count_nonzero(left > step)
            totals, histories = totals[:n], histories[:n]
            alive = ~np.isnan(totals)
            states = ((starts[:n] + step)[:, None] * base + histories)[alive]
            distinct, where = np.unique(states, return_inverse=True)
            tokens = distinct // base
            decisions: Any = SequenceDecisions(inputs, tokens, distinct % base)
            at = np.full(tokens.size, step)
            draws = None if keys is None else draw(keys[inputs.owners[tokens]], at)
            scores = mixture._sum_scores(
                decisions,
                draws,
                form,
                lambda policy, _, part: policy.scorer.scores(part),
            )
            every = np.full((tokens.size, n_columns), np.nan)
            every[decisions.owners, decisions.numbers] = scores
            by_score = np.argsort(-every, axis=1, kind="stable")[:, :width]
            children = np.full((*alive.shape, by_score.shape[1]), np.nan)
            columns: Any = np.zeros(children.shape, dtype=np.int64)
            columns[alive] = by_score[where]
            best = np.take_along_axis(every, by_score, axis=1)
            children[alive] = totals[alive][:, None] + best[where]
            flat, columns = children.reshape(n, -1), columns.reshape(n, -1)
            kept = np.argsort(-flat, axis=1, kind="stable")[:, :width]
            totals, taken = (np.take_along_axis(x, kept, 1) for x in (flat, columns))
            parents = kept // by_score.shape[1]
            before = np.take_along_axis(histories, parents, axis=1)
            histories = inputs.history_after(before, taken)
            back.append((parents, taken))
        path = np.zeros(rows.size, dtype=np.int64)
        for step, (parents, taken) in reversed([*enumerate(back)]):
            some = np.arange(parents.shape[0])
            chosen[starts[some] + step] = taken[some, path[some]]
            path[some] = parents[some, path[some]]
    return chosen
