"""Exact probabilities: tails of binomials, errors that a test allows, all samples."""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np


@cache
def tail(k, share, count):
    """P(Bin(k, share) <= count) of a fraction, in whole numbers."""
    yes, of = share.as_integer_ratio()
    terms = range(min(count, k) + 1)
    ways = sum(math.comb(k, i) * yes**i * (of - yes) ** (k - i) for i in terms)
    return Fraction(ways, of**k)


@cache
def most_errors(k, wrong, delta):
    """The largest count of which P(Bin(k, wrong) <= count) <= delta, -1 if none is."""
    found = -1
    while found + 1 < k and tail(k, wrong, found + 1) <= delta:
        found += 1
    return found


def population(scores, kinds):
    """Score, label and share of each kind of row, by (mass, P(positive)) of scores."""
    total = sum(mass for mass, _ in kinds)
    return [
        (score, label, Fraction(mass, total) * (q if label else 1 - q))
        for score, (mass, text) in zip(scores, kinds, strict=True)
        for q in [Fraction(text)]
        for label in (True, False)
    ]


def all_samples(cells, n):
    """Yield scores, labels and exact probability of all samples of n rows."""
    places = n + len(cells) - 1
    for bars in combinations(range(places), len(cells) - 1):
        counts = np.diff([-1, *bars, places]) - 1
        probability = Fraction(math.factorial(n))
        for count, (_, _, share) in zip(counts.tolist(), cells, strict=True):
            probability *= share**count / math.factorial(count)
        p, y = (np.repeat([cell[i] for cell in cells], counts) for i in (0, 1))
        yield p, y, probability
