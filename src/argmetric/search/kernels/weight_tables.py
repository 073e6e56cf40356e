"""Score actions and learn by a table of weights, a row for each feature.

An action takes a column and a size. Word by word, every size is 1 and the number of an
action is its column. Chunk by chunk, column 0 is one word outside and column k + 1 a
chunk of type k; the number is 0 for outside, else 1 + k n + size - 1, n sizes being in
reach. The score of an action is the sum of the weights, in its column, of the features
of its size and of some rows besides.

`decisions` has for each of them its first row of features, the number of sizes (each
has a row), the rows besides (-1: none), where its actions begin, and their numbers.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import borrowing, kernel
from argmetric.search.kernels.cost_sensitive import PERCEPTRON, fill_slopes

NEGLIGIBLE = 1e-3  # slopes; weights of actions whose slope is smaller stay


@borrowing
def action_of(number, n_sizes):
    """Return the column and size of an action."""
    if number == 0:
        return 0, 1
    return (number - 1) // n_sizes + 1, (number - 1) % n_sizes + 1


@borrowing
def fill_static(features, row, weights, static):
    """Set static[size, column] = Σ value·weights[feature, column].

    The sum goes over the features in row `row + size` of the sparse matrix `features`.
    """
    indptr, indices, values = features
    for size in range(static.shape[0]):
        sums = static[size]
        sums[:] = 0.0
        for f in range(indptr[row + size], indptr[row + size + 1]):
            feature, value = indices[f], values[f]
            for column in range(sums.shape[0]):
                sums[column] += value * weights[feature, column]


@borrowing
def fill_action_scores(static, weights, extra, scores):
    """Set scores of all actions, by their features and the extra rows."""
    n_sizes, n_columns = static.shape
    if n_sizes == 1:
        for column in range(n_columns):
            scores[column] = static[0, column]
        for row in extra:
            if row >= 0:
                for column in range(n_columns):
                    scores[column] += weights[row, column]
        return
    number = 0
    for column in range(n_columns):
        for size in range(n_sizes if column else 1):
            scores[number] = static[size, column]
            for row in extra:
                if row >= 0:
                    scores[number] += weights[row, column]
            number += 1


@borrowing
def fill_few(features, decisions, decision, weights, static, every, few):
    """Set scores of the actions of one decision; `static` and `every` are scratch."""
    firsts, sizes, extra, action_ptr, numbers = decisions
    fill_static(features, firsts[decision], weights, static[: sizes[decision]])
    fill_action_scores(static[: sizes[decision]], weights, extra[decision], every)
    for j in range(few.shape[0]):
        few[j] = every[numbers[action_ptr[decision] + j]]


@kernel
def score_decisions(features, decisions, weights, out):
    """Set scores of all actions of all decisions."""
    _, sizes, _, action_ptr, _ = decisions
    n_lengths, n_columns = sizes.max(), weights.shape[1]
    static, every = np.empty((n_lengths, n_columns)), np.empty(n_lengths * n_columns)
    for decision in range(sizes.shape[0]):
        few = out[action_ptr[decision] : action_ptr[decision + 1]]
        fill_few(features, decisions, decision, weights, static, every, few)


@borrowing
def change_row(step, gradients, columns, kind, clock, row, tables):
    """Take a step of AdaGrad, or of the perceptron, for the weights of one feature."""
    weights, squares, lags = tables
    for j in range(columns.shape[0]):
        column, gradient = columns[j], gradients[j]
        change = -gradient
        if kind != PERCEPTRON:
            squares[row, column] += gradient * gradient
            change = -step * gradient / math.sqrt(squares[row, column])
        weights[row, column] += change
        lags[row, column] += clock * change


@borrowing
def list_slopes(slopes, numbers, n_sizes, table, columns):
    """Write slopes that are not negligible into a table (size, column).

    `columns` gets the column of weights of each column of the table; returns how many
    there are.
    """
    for size in range(n_sizes):
        for at in range(table.shape[1]):
            table[size, at] = 0.0
    n = 0
    for j in range(slopes.shape[0]):
        if abs(slopes[j]) >= NEGLIGIBLE:
            column, size = action_of(numbers[j], n_sizes)
            at = 0
            while at < n and columns[at] != column:
                at += 1
            columns[at] = column
            n = max(n, at + 1)
            table[size - 1, at] = slopes[j]
    return n


@borrowing
def add_slopes(row, value, slopes, marks, touched, gradients, n):
    """Add to the gradients of the row of a feature; return the rows touched.

    The row after those is scratch: products are rounded before they are added.
    """
    product = gradients[n]
    for j in range(slopes.shape[0]):
        product[j] = value * slopes[j]
    if marks[row] < 0:
        marks[row] = n
        touched[n] = row
        return n + 1
    for j in range(slopes.shape[0]):
        gradients[marks[row], j] += product[j]
    return n


@borrowing
def most_rows(indptr, decisions):
    """Return the largest number of rows of weights that a decision has."""
    firsts, sizes, extra, _, _ = decisions
    most = 0
    for decision in range(firsts.shape[0]):
        first = firsts[decision]
        most = max(most, indptr[first + sizes[decision]] - indptr[first])
    return most + extra.shape[1]


@borrowing
def learn_one(features, decisions, decision, regrets, options, state, room):
    """Learn from one decision.

    A weight that several features or sizes share is changed once, by their total.
    """
    indptr, indices, values = features
    firsts, sizes, extra, action_ptr, numbers = decisions
    kind, target, step, scale = options
    weights, squares, lags, clock = state
    by_size, by_action, columns, marks, touched, gradients = room
    static, table = by_size[0], by_size[1]
    every, scores, slopes = by_action[0], by_action[1], by_action[2]
    first, stop = action_ptr[decision], action_ptr[decision + 1]
    scores, slopes = scores[: stop - first], slopes[: stop - first]
    fill_few(features, decisions, decision, weights, static, every, scores)
    if not fill_slopes(kind, target, regrets[first:stop], scale, scores, slopes):
        return
    n = list_slopes(slopes, numbers[first:stop], sizes[decision], table, columns)
    n_touched = 0
    for size in range(sizes[decision] if n else 0):
        own = table[size, :n]
        if not own.any():
            continue
        row = firsts[decision] + size
        for f in range(indptr[row], indptr[row + 1]):
            n_touched = add_slopes(
                indices[f], values[f], own, marks, touched, gradients, n_touched
            )
        for place in range(extra.shape[1]):
            where = extra[decision, place]
            if where >= 0:
                n_touched = add_slopes(
                    where, 1.0, own, marks, touched, gradients, n_touched
                )
    tables = weights, squares, lags
    for slot in range(n_touched):
        row = touched[slot]
        marks[row] = -1
        change_row(step, gradients[slot], columns[:n], kind, clock[0], row, tables)


@kernel
def learn_decisions(features, decisions, regrets, order, options, state):
    """Make a pass over the decisions; `state` as in `cost_sensitive.learn`."""
    weights, _, _, clock = state
    n_lengths, n_columns = decisions[1].max(), weights.shape[1]
    most = most_rows(features[0], decisions)
    room = (
        np.empty((2, n_lengths, n_columns)),
        np.empty((3, n_lengths * n_columns)),
        np.empty(n_columns, np.int64),
        np.full(weights.shape[0], -1, np.int32),
        np.empty(most, np.int64),
        np.empty((most + 1, n_columns)),
    )
    for decision in order:
        learn_one(features, decisions, decision, regrets, options, state, room)
        clock[0] += 1.0
