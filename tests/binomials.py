"""Tails of binomial distributions as fractions, and the errors that a test allows."""

import math
from fractions import Fraction
from functools import cache


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
