"""Distributions of the value of many groups, for a fixed selection in each of them.

The cells of a group are its pairs of hits and misses that are not too unlikely, row by
row; those of all groups lie behind each other. `box` holds for every group the first
number of hits, how many there are, and the same of the misses.
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import kernel
from argmetric._ground.jit.pmfs import PAD, add_labels, no_labels


@kernel
def fill_pmfs(p, q, indptr, selected, tolerance, box, pmfs):
    """Write the PMFs of hits and misses of every group, and where they begin.

    Those of group g fill pmfs[indptr[g]+2g…]: the hits, and behind all numbers of
    hits that there can be, the misses. The tolerance is relative to the mean of
    positives or of negatives, if less than 1: rare outcomes may be the ones that count.
    """
    longest = 0
    for g in range(indptr.shape[0] - 1):
        longest = max(longest, indptr[g + 1] - indptr[g])
    part_p, part_q = np.empty((2, longest)), np.empty((2, longest))
    pmf, spare = np.zeros(longest + 8), np.zeros(longest + 8)
    for g in range(indptr.shape[0] - 1):
        count = [0, 0]
        mean, rest = 0.0, 0.0
        for i in range(indptr[g], indptr[g + 1]):
            side = 0 if selected[i] else 1
            part_p[side, count[side]] = p[i]
            part_q[side, count[side]] = q[i]
            count[side] += 1
            mean += p[i]
            rest += q[i]
        least = tolerance * min(1.0, mean, rest)
        place = indptr[g] + 2 * g
        for side in range(2):
            low, length = no_labels(pmf)
            items, others, last = part_p[side], part_q[side], count[side]
            low, length, _ = add_labels(
                items, others, 0, last, least, low, length, pmf, spare
            )
            for a in range(length):
                pmfs[place + a] = pmf[PAD + a]
            box[g, 2 * side], box[g, 2 * side + 1] = low, length
            place += count[0] + 1


@kernel
def add_cells(
    indptr, selected, pmf_box, pmfs, tilts, weights, box, starts, probability
):
    """Add P(hits)·P(misses)·Σ_z weights[z, g]·tilt to every pair of counts.

    A shift of all log-odds by tilts[z] makes a count t more likely by e^(tilts[z]·t),
    but for a constant that follows from the sum of all probabilities.
    """
    longest = 0
    for g in range(indptr.shape[0] - 1):
        longest = max(longest, pmf_box[g, 1] + pmf_box[g, 3])
    factor = np.empty(longest + 1)
    for g in range(indptr.shape[0] - 1):
        count = 0
        for i in range(indptr[g], indptr[g + 1]):
            count += selected[i]
        hit, miss, width = pmf_box[g, 1], pmf_box[g, 3], box[g, 3]
        first = indptr[g] + 2 * g
        hits = pmfs[first : first + hit]
        misses = pmfs[first + count + 1 : first + count + 1 + miss]
        # Counts from their means, so that no power is too large.
        middle_hit, middle_miss = 0.0, 0.0
        for a in range(hit):
            middle_hit += a * hits[a]
        for r in range(miss):
            middle_miss += r * misses[r]
        factor[: hit + miss - 1] = 0.0
        for z in range(tilts.shape[0]):
            base = math.exp(tilts[z])
            mean_hit, power = 0.0, math.exp(-tilts[z] * middle_hit)
            for a in range(hit):
                mean_hit += hits[a] * power
                power *= base
            mean_miss, power = 0.0, math.exp(-tilts[z] * middle_miss)
            for r in range(miss):
                mean_miss += misses[r] * power
                power *= base
            power = math.exp(-tilts[z] * (middle_hit + middle_miss))
            power *= weights[z, g] / (mean_hit * mean_miss)
            for t in range(hit + miss - 1):
                factor[t] += power
                power *= base
        for a in range(hit):
            row = starts[g] + (pmf_box[g, 0] + a - box[g, 0]) * width
            row += pmf_box[g, 2] - box[g, 2]
            target = probability[row : row + miss]
            for r in range(miss):
                target[r] += hits[a] * misses[r] * factor[a + r]


@kernel
def fill_counts(box, starts, k, n, first, counts):
    """Write hits, k, positives and n of entries first, first+1, … of all boxes."""
    size = counts.shape[1]
    g, beyond, place = 0, starts.shape[0], 0
    while g + 1 < beyond:  # starts[g] ≤ first < starts[beyond]
        middle = (g + beyond) // 2
        if starts[middle] <= first:
            g = middle
        else:
            beyond = middle
    while place < size:
        width = box[g, 3]
        inside = first + place - starts[g]
        a, r = inside // width, inside % width
        last = min(size, starts[g + 1] - first)
        while place < last:
            stop = min(last, place + width - r)
            hits = box[g, 0] + a
            total = hits + box[g, 2] + r - place
            for i in range(place, stop):
                counts[0, i] = hits
                counts[1, i] = k[g]
                counts[2, i] = total + i
                counts[3, i] = n[g]
            place, a, r = stop, a + 1, 0
        g += 1


@kernel
def trim_boxes(indptr, tolerance, probability, box, places):
    """Make boxes smaller by the ends of either count that are less likely.

    places[g] has where the probabilities of a group begin and how far the next number
    hits is from the last. The tolerance is relative as that of `fill_pmfs`.
    """
    longest = 0
    for g in range(box.shape[0]):
        longest = max(longest, box[g, 1], box[g, 3])
    hits, misses = np.empty(longest), np.empty(longest)
    for g in range(box.shape[0]):
        start, width, height = places[g, 0], places[g, 1], box[g, 1]
        misses[:width] = 0.0
        mean, total = 0.0, 0.0
        for a in range(height):
            row = start + a * width
            hits[a] = 0.0
            for r in range(width):
                misses[r] += probability[row + r]
                hits[a] += probability[row + r]
            mean += hits[a] * (box[g, 0] + a)
            total += hits[a]
        for r in range(width):
            mean += misses[r] * (box[g, 2] + r)
        rest = total * (indptr[g + 1] - indptr[g]) - mean
        least = tolerance * min(1.0, mean, rest)
        first, last = 0, height - 1
        while first < last and hits[first] <= least:
            first += 1
        while first < last and hits[last] <= least:
            last -= 1
        left, right = 0, width - 1
        while left < right and misses[left] <= least:
            left += 1
        while left < right and misses[right] <= least:
            right -= 1
        box[g, 0] += first
        box[g, 1] = last - first + 1
        box[g, 2] += left
        box[g, 3] = right - left + 1
        places[g, 0] += first * width + left


@kernel
def cell_moments(values, probability, box, places, unlikely, raw, low, high):
    """Write P(defined), E[value^j; defined] and the likely range of each group.

    With a hits and r misses more than the least a group has the probability at
    places[g, 0] + places[g, 1]·a + r, and the value at places[g, 2] + places[g, 3]·a +
    r. Returns the expected positives of all groups.
    """
    positives = 0.0
    for g in range(box.shape[0]):
        share, first, second, third = 0.0, 0.0, 0.0, 0.0
        least, most = math.inf, -math.inf
        for a in range(box[g, 1]):
            row = places[g, 0] + a * places[g, 1]
            start = places[g, 2] + a * places[g, 3]
            total = box[g, 0] + a + box[g, 2]
            for r in range(box[g, 3]):
                c, x = probability[row + r], values[start + r]
                positives += c * (total + r)
                if math.isnan(x) or c == 0.0:
                    continue
                share += c
                part = c * x
                first += part
                second += part * x
                third += part * x * x
                if c > unlikely:
                    least, most = min(least, x), max(most, x)
        raw[g, 0], raw[g, 1], raw[g, 2], raw[g, 3] = share, first, second, third
        low[g], high[g] = least, most
    return positives


@kernel
def place_cells(
    values, probability, box, places, base, step, count, filled, mass, moment
):
    """Add the cells of group g to mass[g], by value; to moment[g] what lies between.

    Values below the base of a group or beyond its cells go to the ends. What is left
    out is put where `filled` lies, or into the last column of all where that is nan.
    """
    steps = 1.0 / step
    for g in range(box.shape[0]):
        for a in range(box[g, 1]):
            row = places[g, 0] + a * places[g, 1]
            start = places[g, 2] + a * places[g, 3]
            for r in range(box[g, 3]):
                c, x = probability[row + r], values[start + r]
                if c == 0.0:
                    continue
                if math.isnan(x):
                    if math.isnan(filled):
                        mass[g, count] += c
                        continue
                    x = filled
                cell = math.floor((x - base[g]) * steps + 1e-9)
                cell = min(max(cell, 0), count - 1)
                mass[g, cell] += c
                moment[g, cell] += c * (x - cell * step)
