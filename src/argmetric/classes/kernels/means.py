"""Exact expectations of a mean over classes, from the laws of counts.

Of class c, tp hits are among the rows given c and fn misses among the others: two
independent numbers, whose laws grow row by row. E[v_c] is a sum over both.

A mean that leaves classes out divides by the number that is there. With C classes, of
which those in E may be absent, it is Σ_B b!/(C(C-1)…(C-b)) q_B Σ_{c not in B} V_c(B)
over the sets B of b classes in E: q_B is the probability that no row is of a class in
B, and V_c(B) the expected value of class c given that. The factor is what 1/(C-a) with
a absent classes leaves after inclusion and exclusion. All terms are positive.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import inner, kernel
from argmetric._ground.jit.laws import PAD, add_labels, law_room, no_labels

TOLERANCE = 1e-18  # entries of a law below it are trimmed
NEVER = 1e-17  # chance of an absence that is as good as none
MOST_ABSENT = 12  # classes that may be absent: there are 2^12 sets of them


@kernel
def count_law(one, none, law, spare):
    """The law of the number of rows that are right, from PAD on; its low and length."""
    low, length = no_labels(law)
    low, length, _ = add_labels(
        one, none, 0, one.shape[0], TOLERANCE, low, length, law, spare
    )
    return low, length


@inner
def class_values(
    p, rest, first, last, labels, c, a, b_tp, b_k, b_t, one, none, hits, misses, spare
):
    """E[v_c] and E[v_c·t_c], t_c the true rows, each row's p divided by its `rest`."""
    k = 0
    for i in range(first, last):
        k += labels[i] == c
    own, other = 0, k
    for i in range(first, last):
        share = p[i, c] / rest[i - first]
        if labels[i] == c:
            one[own], none[own] = share, 1.0 - share
            own += 1
        else:
            one[other], none[other] = share, 1.0 - share
            other += 1
    low, length = no_labels(hits)
    low, length, _ = add_labels(one, none, 0, k, TOLERANCE, low, length, hits, spare)
    under, size = no_labels(misses)
    under, size, _ = add_labels(
        one, none, k, last - first, TOLERANCE, under, size, misses, spare
    )
    value, weighted = 0.0, 0.0
    for x in range(max(low, 1), low + length):
        inside, outside = 0.0, 0.0
        for y in range(under, under + size):
            part = misses[PAD + y - under] / (b_tp * x + b_k * k + b_t * (x + y))
            inside += part
            outside += part * (x + y)
        value += hits[PAD + x - low] * a * x * inside
        weighted += hits[PAD + x - low] * a * x * outside
    return value, weighted


@inner
def steps_of(p, first, last, sets):
    """About how many products the exact expectation of a group takes."""
    steps = 0.0
    for c in range(p.shape[1]):
        variance = 0.0
        for i in range(first, last):
            variance += p[i, c] * (1.0 - p[i, c])
        room = law_room(variance, last - first)
        steps += room * (last - first + room)
    return steps * sets


@inner
def chance_without(p, first, last, absent, chosen, rest):
    """Probability that no row is of the classes in a set; `rest` gets each row's.

    Bit j of `chosen` says whether the class absent[j] is in the set.
    """
    chance = 1.0
    for i in range(first, last):
        left, j = 0.0, 0
        for c in range(p.shape[1]):
            if j < absent.shape[0] and absent[j] == c:
                j += 1
                if (chosen >> (j - 1)) & 1:
                    continue
            left += p[i, c]
        rest[i - first] = min(left, 1.0)
        chance *= rest[i - first]
    return chance


@kernel
def ratio_means(
    p, starts, labels, a, b_tp, b_k, b_t, by_support, worth, most_steps, mean, value,
    known,
):  # fmt: skip
    """Expected mean of every group and expected value of its classes.

    An absent class counts `worth`, nan if it is left out. A group that takes more than
    `most_steps` is not `known`, and keeps what it had.
    """
    C, longest = p.shape[1], 0
    for g in range(starts.shape[0] - 1):
        longest = max(longest, starts[g + 1] - starts[g])
    room = law_room(0.25 * longest, longest)
    hits, misses, spare = np.empty(room), np.empty(room), np.empty(room)
    one, none, rest = np.empty(longest), np.empty(longest), np.empty(longest)
    missing = np.empty(C)  # chance that the class is absent
    for g in range(starts.shape[0] - 1):
        first, last = starts[g], starts[g + 1]
        missing[:] = 1.0
        for i in range(first, last):
            for c in range(C):
                missing[c] *= 1.0 - p[i, c]
        if b_k > 0.0:  # a class that is given to a row is there
            for i in range(first, last):
                missing[labels[i]] = 0.0
        leaves_out = math.isnan(worth) and not by_support
        absent = np.flatnonzero(missing > (NEVER if leaves_out else 2.0))
        known[g] = (
            absent.shape[0] <= MOST_ABSENT
            and steps_of(p, first, last, 1 << absent.shape[0]) <= most_steps
        )
        if not known[g]:
            continue
        mean[g] = 0.0
        for chosen in range(1 << absent.shape[0]):
            chance = 1.0
            rest[:] = 1.0
            if chosen:
                chance = chance_without(p, first, last, absent, chosen, rest)
            if chance <= NEVER:
                continue
            factor, b = 1.0 / C, 0
            for j in range(absent.shape[0]):
                if (chosen >> j) & 1:
                    b += 1
                    factor *= b / (C - b)
            j = 0
            for c in range(C):
                if j < absent.shape[0] and absent[j] == c:
                    j += 1
                    if (chosen >> (j - 1)) & 1:
                        continue
                found, weighted = class_values(
                    p, rest, first, last, labels, c, a, b_tp, b_k, b_t, one, none,
                    hits, misses, spare,
                )  # fmt: skip
                if by_support:
                    mean[g] += weighted / (last - first)
                else:
                    mean[g] += chance * factor * found
                if not chosen:
                    value[g, c] = found
        if not (leaves_out or by_support):
            for c in range(C):
                value[g, c] += worth * missing[c]
                mean[g] += worth * missing[c] / C
