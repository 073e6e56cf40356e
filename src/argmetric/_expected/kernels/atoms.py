"""Laws as values and their chances: equal values become one, or fall into bins."""

from __future__ import annotations

import math

import numpy as np

from argmetric._jit import kernel

CROWDED = 32  # values in a bucket that are sorted by merging


@kernel
def merge_atoms(values, weights, same, merged, mass):
    """Values in ascending order, each once, with the weight of all that equal it.

    Equal are those that differ by less than `same` times the largest. Undefined ones
    and those without weight are left out. Returns how many are left, and -1 where one
    is infinite. Values are put into about as many buckets of equal width as there are,
    and the few that share one are sorted.
    """
    count, low, high = 0, math.inf, -math.inf
    for i in range(values.shape[0]):
        if weights[i] > 0.0 and not math.isnan(values[i]):
            count += 1
            low, high = min(low, values[i]), max(high, values[i])
    if count == 0:
        return 0
    if math.isinf(low) or math.isinf(high):
        return -1
    scale = (count - 1) / (high - low) if high > low else 0.0
    if math.isinf(scale):
        scale = 0.0
    starts = np.zeros(count + 1, dtype=np.int64)
    for i in range(values.shape[0]):
        if weights[i] > 0.0 and not math.isnan(values[i]):
            starts[min(int((values[i] - low) * scale), count - 1) + 1] += 1
    for bucket in range(count):
        starts[bucket + 1] += starts[bucket]
    x, w = np.empty(count), np.empty(count)
    for i in range(values.shape[0]):
        if weights[i] > 0.0 and not math.isnan(values[i]):
            bucket = min(int((values[i] - low) * scale), count - 1)
            place = starts[bucket]
            x[place], w[place] = values[i], weights[i]
            starts[bucket] += 1
    first = 0
    for bucket in range(count):
        last = starts[bucket]  # moved to its end while the values were put in
        if last - first > CROWDED:
            order = np.argsort(x[first:last], kind="mergesort") + first
            x[first:last], w[first:last] = x[order], w[order]
        else:
            for i in range(first + 1, last):
                value, weight, place = x[i], w[i], i
                while place > first and x[place - 1] > value:
                    x[place], w[place] = x[place - 1], w[place - 1]
                    place -= 1
                x[place], w[place] = value, weight
        first = last
    apart = same * max(abs(low), abs(high))
    merged[0], mass[0], number = x[0], w[0], 1
    for i in range(1, count):
        if x[i] - x[i - 1] > apart:
            merged[number], mass[number] = x[i], w[i]
            number += 1
        else:
            mass[number - 1] += w[i]
    return number


@kernel
def bin_atoms(values, weights, low, high, mass, moment):
    """Add values to bins from low to high, and to moment what they add up to.

    Returns the chances of undefined values and of those beyond, which fall into the
    bins at the ends, and the least and the largest value.
    """
    last = mass.shape[0] - 1
    scale = last / (high - low) if high > low else 0.0
    undefined, beyond, least, most = 0.0, 0.0, math.inf, -math.inf
    for i in range(values.shape[0]):
        x, weight = values[i], weights[i]
        if math.isnan(x):
            undefined += weight
            continue
        least, most = min(least, x), max(most, x)
        if x < low or x > high:
            beyond += weight
        place, cell = (x - low) * scale, 0
        if place >= 0.0:  # not where it is nan, an infinity times 0
            cell = int(min(place, last))
        mass[cell] += weight
        moment[cell] += weight * x
    return undefined, beyond, least, most
