"""Labels of a row, decided one after the other: learning and search.

Label j is on where x·W[:, j] + Σ_{o<j} V[j, o] s_o > 0; s_o is 1 if label o was turned
on and -1 if not. Columns of labels stand in the order in which they are decided.
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import kernel

_ROUNDING = 1e-9  # losses closer than this are the same
# Places in `table`
_LOSSES = 0
_STARTS = 1
_IN_CORNER = 2


@kernel
def least_loss(table, n_labels, t, tp, fp, positives, negatives):
    """Least loss of a row in reach from `tp` true and `fp` false positives.

    Of its t positives and n_labels - t negatives so many are still to be decided. Where
    a true positive never harms and a false one never helps, all of the first and none
    of the second are best.
    """
    losses = table[_LOSSES]
    width = n_labels - t + 1
    start = table[_STARTS][t]
    if table[_IN_CORNER][t]:
        return losses[start + (tp + positives) * width + fp]
    least = np.inf
    for hits in range(tp, tp + positives + 1):
        for place in range(fp, fp + negatives + 1):
            least = min(least, losses[start + hits * width + place])
    return least


@kernel
def probability(score):
    """The logistic function, without overflow."""
    small = math.exp(-abs(score))
    return 1.0 / (1.0 + small) if score > 0.0 else small / (1.0 + small)


@kernel
def history_score(history, j, signs):
    total = 0.0
    for o in range(j):
        total += history[j, o] * signs[o]
    return total


@kernel
def descend(learned, place, value, slopes, n, step, when):
    """One step of AdaGrad for the first n weights of a row, at slopes · value.

    learned: weights, Σ g² and Σ (time of a change) · change, for the average.
    """
    weights, squares, sums = learned
    for j in range(n):
        slope = slopes[j] * value
        squares[place, j] += slope * slope
        change = -step * slope / math.sqrt(squares[place, j])
        weights[place, j] += change
        sums[place, j] += when * change


@kernel
def train(rows, truth, table, order, follows, options, learned, histories, when):
    """Learn from the rows in `order`; returns the wrong decisions and the time.

    rows: indptr, indices and values of X. follows[i, j]: whether the history goes on
    with the cheapest action, not the policy's own, at label j of the i-th row. options:
    step, tick of the clock per row, whether a decision weighs as much as its regret,
    whether there is a history. The last row of weights is the intercepts': x has a 1
    there.
    """
    indptr, indices, values = rows
    step, tick, priced, remembers = options
    n_labels = truth.shape[1]
    intercepts = learned[0].shape[0] - 1
    scores = np.empty(n_labels)
    slopes = np.empty(n_labels)
    signs = np.empty(n_labels)
    mistakes = 0
    for i in range(order.shape[0]):
        row = order[i]
        scores[:] = learned[0][intercepts]
        for e in range(indptr[row], indptr[row + 1]):
            for j in range(n_labels):
                scores[j] += values[e] * learned[0][indices[e], j]
        t = 0
        for j in range(n_labels):
            t += truth[row, j]
        positives, negatives, tp, fp = t, n_labels - t, 0, 0
        for j in range(n_labels):
            gold = int(truth[row, j])
            positives -= gold
            negatives -= 1 - gold
            off = least_loss(table, n_labels, t, tp, fp, positives, negatives)
            on = least_loss(
                table, n_labels, t, tp + gold, fp + 1 - gold, positives, negatives
            )
            regret = abs(on - off)
            best = gold
            if regret < _ROUNDING:
                regret = 0.0
            else:
                best = 1 if on < off else 0
            score = scores[j]
            if remembers:
                score += history_score(histories[0], j, signs)
            own = 1 if score > 0.0 else 0
            mistakes += own != gold
            importance = regret if priced else 1.0
            slopes[j] = importance * (probability(score) - best)
            if remembers and slopes[j] != 0.0:
                descend(histories, j, slopes[j], signs, j, step, when)
            taken = best if follows[i, j] else own
            signs[j] = 2.0 * taken - 1.0
            tp += taken * gold
            fp += taken * (1 - gold)
        # No label reads another one's weights of x: all of them move at once
        for e in range(indptr[row], indptr[row + 1]):
            descend(learned, indices[e], values[e], slopes, n_labels, step, when)
        descend(learned, intercepts, 1.0, slopes, n_labels, step, when)
        when += tick
    return mistakes, when


@kernel
def keep_best(totals, n, width, best):
    """Numbers of the largest of n totals, ties in their order; returns how many."""
    kept = 0
    for candidate in range(n):
        place = kept
        while place > 0 and totals[candidate] > totals[best[place - 1]]:
            place -= 1
        if place == width:
            continue
        kept = min(kept + 1, width)
        for later in range(kept - 1, place, -1):
            best[later] = best[later - 1]
        best[place] = candidate
    return kept


@kernel
def search(scores, history, width, labels):
    """Labels of the likeliest sequence in a beam, from the scores of each row's x.

    Candidates stand in the order of the beam, the likelier action first, and ties keep
    it: a beam of width 1 is greedy to the bit.
    """
    n_rows, n_labels = scores.shape
    totals = np.empty(width)
    found = np.empty(2 * width)
    turned = np.empty(2 * width)
    best = np.empty(width, np.int64)
    signs = np.empty((width, n_labels))
    others = np.empty((width, n_labels))
    for row in range(n_rows):
        size = 1
        totals[0] = 0.0
        for j in range(n_labels):
            for b in range(size):
                score = scores[row, j] + history_score(history, j, signs[b])
                likelier = totals[b] - math.log1p(math.exp(-abs(score)))
                found[2 * b] = likelier
                found[2 * b + 1] = likelier - abs(score)
                turned[2 * b] = 1.0 if score > 0.0 else -1.0
                turned[2 * b + 1] = -turned[2 * b]
            size = keep_best(found, 2 * size, width, best)
            for b in range(size):
                others[b, :j] = signs[best[b] // 2, :j]
                others[b, j] = turned[best[b]]
                totals[b] = found[best[b]]
            signs, others = others, signs
        for j in range(n_labels):
            labels[row, j] = signs[0, j] > 0.0
