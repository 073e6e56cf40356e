"""Brute force over all label sequences: nothing is imported from the package."""

from __future__ import annotations

import itertools

import numpy as np


def sequences(n):
    return [np.array(y) for y in itertools.product((0, 1), repeat=n)]


def independent_probability(p):
    p = np.asarray(p)
    return lambda y: float(np.prod(np.where(y == 1, p, 1 - p)))


def chain_probability(initial, transitions):
    """Histories are read as binary numbers, the latest label last."""
    order = len(initial).bit_length() - 1

    def probability_of(y):
        probability = initial[int("".join(map(str, y[:order])), 2)]
        for i, step in enumerate(transitions):
            history = int("".join(map(str, y[i : i + order])), 2)
            probability *= step[history][y[i + order]]
        return probability

    return probability_of


def expected(function, z, probability_of, n):
    return sum(probability_of(y) * function(z, y) for y in sequences(n))


def random_chain(rng, n, order, sharp=1.0):
    initial = rng.dirichlet(np.full(2**order, sharp))
    transitions = rng.dirichlet(np.full(2, sharp), (n - order, 2**order))
    return initial, transitions


# ------------------------------------------------------------------ utilities


def f_score(beta, zero_division=0.0):
    def function(z, y):
        below = z.sum() + beta**2 * y.sum()
        return (1 + beta**2) * (z * y).sum() / below if below else zero_division

    return function


def jaccard(z, y):
    return (z * y).sum() / max(np.maximum(z, y).sum(), 1)


def mcc(z, y):
    n, k, t, tp = z.size, z.sum(), y.sum(), (z * y).sum()
    below = k * t * (n - k) * (n - t)
    return (n * tp - k * t) / np.sqrt(below) if below else 0.0


def gmean(z, y):
    t, n = y.sum(), y.size
    hit = (z * y).sum() / t if t else 0.0
    reject = ((1 - z) * (1 - y)).sum() / (n - t) if n - t else 0.0
    return np.sqrt(hit * reject)


def recall(z, y):
    return (z * y).sum() / y.sum() if y.sum() else 0.0


def hamming(z, y):
    return (z != y).sum()


def zero_one(z, y):
    return float((z != y).any())


def windows(z, y, w):
    return [(z[i : i + w], y[i : i + w]) for i in range(len(z) - w + 1)]


def pk(w):
    return lambda z, y: np.mean([a.any() != b.any() for a, b in windows(z, y, w)])


def window_diff(w):
    return lambda z, y: np.mean([a.sum() != b.sum() for a, b in windows(z, y, w)])


def boundary_similarity(z, y):
    """Fournier's edit distance with n_t = 2, as sets of places."""
    matches = {i for i in range(len(z)) if z[i] and y[i]}
    mine = {i for i in range(len(z)) if z[i]} - matches
    theirs = {i for i in range(len(z)) if y[i]} - matches
    near = 0
    for i in range(len(z) - 1):
        for one, other in ((mine, theirs), (theirs, mine)):
            if i in one and i + 1 in other:
                one.remove(i)
                other.remove(i + 1)
                near += 1
                break
    alone = len(mine) + len(theirs)
    total = alone + near + len(matches)
    return 1 - (alone + near / 2) / total if total else 1.0
