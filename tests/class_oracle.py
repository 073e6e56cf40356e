"""Slow, obviously right twins: all truths of a few rows, counted one by one."""

import itertools
import math

import numpy as np


def all_truths(p):
    """Every vector of true classes, and its probability."""
    n, count = p.shape
    truths = np.array(list(itertools.product(range(count), repeat=n)))
    return truths, np.prod(p[np.arange(n), truths], axis=1)


def table_of(truth, labels, count):
    table = np.zeros((count, count))
    for a, b in zip(truth, labels, strict=True):
        table[a, b] += 1
    return table


def expected_by_enumeration(p, labels, score):
    """Mean of the score over all truths in which it is defined."""
    truths, weights = all_truths(p)
    values = np.array([score(table_of(y, labels, p.shape[1])) for y in truths])
    there = ~np.isnan(values)
    return float((weights[there] * values[there]).sum() / weights[there].sum())


def best_by_enumeration(p, score):
    """The highest expected score of any labels."""
    labels = itertools.product(range(p.shape[1]), repeat=p.shape[0])
    return max(expected_by_enumeration(p, one, score) for one in labels)


def few_rows(seed, n=4, count=3):
    """Rows of class probabilities, some of them lopsided."""
    rng = np.random.default_rng(seed)
    shape = np.full(count, rng.choice([0.3, 1.0, 3.0]))
    return rng.dirichlet(shape * rng.dirichlet(np.ones(count)) * count, size=n)


def middles(values):
    """Numbers between, below and above the distinct positive ones."""
    known = sorted({float(v) for v in values if 0 < v < math.inf})
    if not known:
        return [1.0]
    inner = [math.sqrt(a) * math.sqrt(b) for a, b in itertools.pairwise(known)]
    return [known[0] / 2, *inner, known[-1] * 2]


def ratios(above, below):
    with np.errstate(divide="ignore", invalid="ignore"):
        return above / below


def all_predictions(p):
    """Every argmax of w·p for three classes: the cells of three families of lines."""
    first = ratios(p[:, 0], p[:, 1])  # where w1 turns, with w0 = 1
    second = ratios(p[:, 0], p[:, 2])
    both = ratios(p[:, 1], p[:, 2])  # where w2 / w1 turns
    crossings = ratios(second[:, None], both[None, :]).ravel()
    found = set()
    for w1 in middles([*first, *crossings]):
        for w2 in middles([*second, *(w1 * both)]):
            found.add(tuple(np.argmax(p * [1.0, w1, w2], axis=1)))
    return found
