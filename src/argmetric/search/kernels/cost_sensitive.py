"""Linear cost-sensitive learners on hashed sparse features.

The score of an action is Σ_f w[h(f, action)] v_f + Σ_g w[h(g)] v_g over the features f
of the state and g of the action. Decisions lie behind each other: `state_ptr` into the
features of states, `indptr` into actions, `pair_ptr` into the features of actions.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import kernel
from argmetric._ground.jit.hashing import GOLDEN, mix

PERCEPTRON, LOGISTIC, SVM = 0, 1, 2
CHEAPEST, REWARD = 0, 1
FIRST_SQUARE = 0.01  # keeps AdaGrad's first steps from being all of one size


@kernel
def with_action(feature, action):
    """Return the hash of a feature of a state with an action."""
    return mix(feature + action * GOLDEN)


@kernel
def fill_scores(rows, decision, shift, weights, scores):
    """Set the scores of the actions of one decision."""
    state_ptr, hashes, values, indptr, codes, pair_ptr, pair_hashes, pair_values = rows
    for a in range(indptr[decision], indptr[decision + 1]):
        total = 0.0
        for f in range(state_ptr[decision], state_ptr[decision + 1]):
            total += values[f] * weights[with_action(hashes[f], codes[a]) >> shift]
        for g in range(pair_ptr[a], pair_ptr[a + 1]):
            total += pair_values[g] * weights[mix(pair_hashes[g]) >> shift]
        scores[a - indptr[decision]] = total


@kernel
def score_actions(rows, shift, weights, scores):
    """Set the scores of all actions of all decisions."""
    indptr = rows[3]
    for decision in range(indptr.shape[0] - 1):
        out = scores[indptr[decision] : indptr[decision + 1]]
        fill_scores(rows, decision, shift, weights, out)


@kernel
def fill_slopes(kind, target, costs, scale, scores, slopes):
    """Set the derivative of the loss by the score of each action; least cost 0.

    Perceptron: the regret of the chosen action, between it and the best cheapest one.
    SVM: max_a (s_a + scale c_a) - s_best, a margin as wide as the regret.
    Logistic: -m log P(cheapest), m the mean regret of the others; or, for "reward",
    -Σ_a (max c - c_a) log p_a, whose minimum has the least expected cost on top.
    """
    n = scores.shape[0]
    slopes[:] = 0.0
    best = -1
    top = -np.inf
    most = 0.0
    total = 0.0
    n_cheapest = 0
    for a in range(n):
        most = max(most, costs[a])
        total += costs[a]
        top = max(top, scores[a])
        if costs[a] == 0.0:
            n_cheapest += 1
            if best < 0 or scores[a] > scores[best]:
                best = a
    if most == 0.0:
        return False
    if kind != LOGISTIC:
        rival = 0
        margin = scale if kind == SVM else 0.0
        for a in range(n):
            if scores[a] + margin * costs[a] > scores[rival] + margin * costs[rival]:
                rival = a
        if costs[rival] == 0.0:
            return False
        size = 1.0 if kind == SVM else scale * costs[rival]
        slopes[rival] = size
        slopes[best] = -size
        return True
    norm = 0.0
    probability = 0.0
    for a in range(n):
        slopes[a] = math.exp(scores[a] - top)
        norm += slopes[a]
        if costs[a] == 0.0:
            probability += slopes[a]
    for a in range(n):
        p = slopes[a] / norm
        if target == REWARD:
            slopes[a] = scale * ((n * most - total) * p - (most - costs[a]))
        else:
            q = 0.0
            if costs[a] == 0.0:
                q = slopes[a] / probability if probability > 0.0 else 1.0 / n_cheapest
            slopes[a] = scale * total / (n - n_cheapest) * (p - q)
    return True


@kernel
def gather(where, gradient, gradients, touched, n_touched):
    """Add to the gradient of one weight, and record its index."""
    touched[n_touched] = where
    gradients[where] += gradient
    return n_touched + 1


@kernel
def most_touched(rows):
    """Return the largest numbers of (action, feature) pairs and of actions."""
    state_ptr, _, _, indptr, _, pair_ptr, _, _ = rows
    most = 1
    longest = 1
    for decision in range(indptr.shape[0] - 1):
        start, stop = indptr[decision], indptr[decision + 1]
        size = state_ptr[decision + 1] - state_ptr[decision]
        most = max(most, (stop - start) * size + pair_ptr[stop] - pair_ptr[start])
        longest = max(longest, stop - start)
    return most, longest


@kernel
def learn(rows, costs, order, shift, kind, target, step, scale, state):
    """Make a pass over the decisions; `state`: weights, squares, lags, clock.

    A weight that several actions share is changed once, by their total. The averaged
    weights are weights - lags / clock.
    """
    state_ptr, hashes, values, indptr, codes, pair_ptr, pair_hashes, pair_values = rows
    weights, squares, lags, clock = state
    most, longest = most_touched(rows)
    all_scores = np.empty(longest)
    all_slopes = np.empty(longest)
    touched = np.empty(most, dtype=np.uint64)
    gradients = np.zeros(weights.shape[0])
    for decision in order:
        start, stop = indptr[decision], indptr[decision + 1]
        scores = all_scores[: stop - start]
        slopes = all_slopes[: stop - start]
        fill_scores(rows, decision, shift, weights, scores)
        n = 0
        if fill_slopes(kind, target, costs[start:stop], scale, scores, slopes):
            for a in range(start, stop):
                slope = slopes[a - start]
                if slope == 0.0:
                    continue
                for f in range(state_ptr[decision], state_ptr[decision + 1]):
                    where = with_action(hashes[f], codes[a]) >> shift
                    n = gather(where, slope * values[f], gradients, touched, n)
                for g in range(pair_ptr[a], pair_ptr[a + 1]):
                    where = mix(pair_hashes[g]) >> shift
                    n = gather(where, slope * pair_values[g], gradients, touched, n)
        for i in range(n):
            where = touched[i]
            gradient = gradients[where]
            if gradient == 0.0:
                continue  # done before, or nothing to do
            gradients[where] = 0.0
            if kind == PERCEPTRON:
                change = -gradient
            else:
                squares[where] += gradient * gradient
                change = -step * gradient / math.sqrt(squares[where])
            weights[where] += change
            lags[where] += clock[0] * change
        clock[0] += 1.0


@kernel
def count_products(indptr, values, out):
    """Set where rows with the products of features end (no squares of 0 and 1)."""
    out[0] = 0
    for row in range(indptr.shape[0] - 1):
        n = indptr[row + 1] - indptr[row]
        size = n + n * (n - 1) // 2
        for f in range(indptr[row], indptr[row + 1]):
            if values[f] != 0.0 and values[f] != 1.0:
                size += 1
        out[row + 1] = out[row] + size


@kernel
def fill_products(indptr, hashes, values, new_hashes, new_values):
    """Set every feature, then every product of two, independent of their order."""
    place = 0
    for row in range(indptr.shape[0] - 1):
        for f in range(indptr[row], indptr[row + 1]):
            new_hashes[place] = hashes[f]
            new_values[place] = values[f]
            place += 1
        for f in range(indptr[row], indptr[row + 1]):
            for g in range(f, indptr[row + 1]):
                if f == g and (values[f] == 0.0 or values[f] == 1.0):
                    continue
                new_hashes[place] = mix(hashes[f] + hashes[g])
                new_values[place] = values[f] * values[g]
                place += 1


@kernel
def fill_joint(rows, ends, new_hashes, new_values):
    """Set a row for each action: features of its state with its code, then its own."""
    state_ptr, hashes, values, indptr, codes, pair_ptr, pair_hashes, pair_values = rows
    place = 0
    ends[0] = 0
    for decision in range(indptr.shape[0] - 1):
        for a in range(indptr[decision], indptr[decision + 1]):
            for f in range(state_ptr[decision], state_ptr[decision + 1]):
                new_hashes[place] = with_action(hashes[f], codes[a])
                new_values[place] = values[f]
                place += 1
            for g in range(pair_ptr[a], pair_ptr[a + 1]):
                new_hashes[place] = mix(pair_hashes[g])
                new_values[place] = pair_values[g]
                place += 1
            ends[a + 1] = place
