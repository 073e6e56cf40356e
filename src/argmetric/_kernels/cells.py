"""Laws of the value of many groups, for a fixed selection in each of them.

The cells of a group are its pairs of hits and misses that are not too unlikely, row by
row; those of all groups lie behind each other. `box` holds for every group the first
number of hits, how many there are, and the same of the misses.
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._kernels._jit import kernel

PAD = 2
LANES = 16  # frequencies side by side


@kernel
def add_items(p, q, first, last, tolerance, low, length, law, spare):
    """Add items first…last-1 to a law, two at a time; returns its low and length."""
    start, source, target = PAD, law, spare
    i = first
    while i < last:
        step = min(2, last - i)
        if step == 2:
            none, both = q[i] * q[i + 1], p[i] * p[i + 1]
            one = q[i] * p[i + 1] + p[i] * q[i + 1]
        else:
            none, one, both = q[i], p[i], 0.0
        i += step
        old = source[start - PAD : start + length + step]
        new = target[PAD : PAD + length + step]
        for a in range(new.shape[0]):
            new[a] = none * old[a + 2] + one * old[a + 1] + both * old[a]
        length += step
        start = PAD
        while length > 1 and target[start + length - 1] <= tolerance:
            length -= 1
        while length > 1 and target[start] <= tolerance:
            start += 1
            length -= 1
            low += 1
        target[start - 1] = target[start - 2] = 0.0
        target[start + length] = target[start + length + 1] = 0.0
        source, target = target, source
    if first < last:
        for a in range(length):
            law[PAD + a] = source[start + a]
        law[0] = law[1] = law[PAD + length] = law[PAD + length + 1] = 0.0
    return low, length


@kernel
def law_boxes(p, q, indptr, selected, tolerance, box, laws):
    """Laws of the hits and of the misses of every group, and where they lie.

    Those of group g fill laws[indptr[g]+2g…]: the hits, and behind all numbers of
    hits that there can be, the misses. The tolerance is relative to the mean of
    positives or of negatives, if less than 1: rare outcomes may be the ones that count.
    """
    longest = 0
    for g in range(indptr.shape[0] - 1):
        longest = max(longest, indptr[g + 1] - indptr[g])
    part_p, part_q = np.empty((2, longest)), np.empty((2, longest))
    law, spare = np.zeros(longest + 8), np.zeros(longest + 8)
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
            law[0] = law[1] = law[PAD + 1] = law[PAD + 2] = 0.0
            law[PAD] = 1.0
            low, length = add_items(
                part_p[side], part_q[side], 0, count[side], least, 0, 1, law, spare
            )
            for a in range(length):
                laws[place + a] = law[PAD + a]
            box[g, 2 * side], box[g, 2 * side + 1] = low, length
            place += count[0] + 1


@kernel
def add_cells(indptr, selected, law_box, laws, tilts, weights, box, starts, chance):
    """chance[cell] += P(hits) · P(misses) · Σ_z weights[z, g] · tilt, for all cells.

    A shift of all log-odds by tilts[z] makes a count t more likely by e^(tilts[z]·t),
    but for a constant that follows from the sum of all chances.
    """
    longest = 0
    for g in range(indptr.shape[0] - 1):
        longest = max(longest, law_box[g, 1] + law_box[g, 3])
    factor = np.empty(longest + 1)
    for g in range(indptr.shape[0] - 1):
        count = 0
        for i in range(indptr[g], indptr[g + 1]):
            count += selected[i]
        hit, miss, width = law_box[g, 1], law_box[g, 3], box[g, 3]
        first = indptr[g] + 2 * g
        hits = laws[first : first + hit]
        misses = laws[first + count + 1 : first + count + 1 + miss]
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
            row = starts[g] + (law_box[g, 0] + a - box[g, 0]) * width
            row += law_box[g, 2] - box[g, 2]
            target = chance[row : row + miss]
            for r in range(miss):
                target[r] += hits[a] * misses[r] * factor[a + r]


@kernel
def fill_counts(box, starts, tp, t):
    """Hits and positives of every cell."""
    for g in range(box.shape[0]):
        place = starts[g]
        for a in range(box[g, 1]):
            for r in range(box[g, 3]):
                tp[place] = box[g, 0] + a
                t[place] = box[g, 0] + a + box[g, 2] + r
                place += 1


@kernel
def cell_moments(value, chance, starts, unlikely, raw, low, high):
    """Per group P(defined), E[value^j; defined], and the likely ends of the value."""
    for g in range(starts.shape[0] - 1):
        share, first, second, third = 0.0, 0.0, 0.0, 0.0
        least, most = math.inf, -math.inf
        for i in range(starts[g], starts[g + 1]):
            if math.isnan(value[i]) or chance[i] == 0.0:
                continue
            share += chance[i]
            part = chance[i] * value[i]
            first += part
            second += part * value[i]
            third += part * value[i] * value[i]
            if chance[i] > unlikely:
                least, most = min(least, value[i]), max(most, value[i])
        raw[g, 0], raw[g, 1], raw[g, 2], raw[g, 3] = share, first, second, third
        low[g], high[g] = least, most


@kernel
def place_cells(value, chance, starts, base, step, count, filled, mass, moment):
    """Add the cells of group g to mass[g], by value; to moment[g] what lies between.

    Values below the base of a group or beyond its cells go to the ends. What is left
    out is put where `filled` lies, or into the last column of all where that is nan.
    """
    for g in range(starts.shape[0] - 1):
        for i in range(starts[g], starts[g + 1]):
            x = value[i]
            if chance[i] == 0.0:
                continue
            if math.isnan(x):
                if math.isnan(filled):
                    mass[g, count] += chance[i]
                    continue
                x = filled
            cell = math.floor((x - base[g]) / step + 1e-9)
            cell = min(max(cell, 0), count - 1)
            mass[g, cell] += chance[i]
            moment[g, cell] += chance[i] * (x - cell * step)


@kernel
def multiply_spectrum(mass, cosines, sines, rare, gone, real, imaginary):
    """Multiply a spectrum by the Fourier transforms of laws on cells, a row for each.

    The sines are those of a whole turn in so many steps; real[j] and imaginary[j]
    belong to j steps a cell. Masses up to `rare` are left out. A frequency whose square
    has fallen below `gone` is 0 from there on: no law can raise it again, and of a sum
    of many values all but few of them fall soon.
    """
    laws, width = mass.shape
    mask = cosines.shape[0] - 1
    starts = np.zeros(laws + 1, dtype=np.int64)
    cells, masses = np.empty(mass.size, dtype=np.int64), np.empty(mass.size)
    count = 0
    for g in range(laws):
        for cell in range(width):
            if mass[g, cell] > rare:
                cells[count], masses[count] = cell, mass[g, cell]
                count += 1
        starts[g + 1] = count
    x, y = np.zeros(LANES), np.zeros(LANES)
    turn_x, turn_y = np.zeros(LANES), np.zeros(LANES)
    near_x, near_y = np.zeros(LANES), np.zeros(LANES)
    for first in range(0, real.shape[0], LANES):
        size = min(LANES, real.shape[0] - first)
        a, b = real[first : first + size], imaginary[first : first + size]
        for j in range(size):
            near_x[j] = cosines[(first + j) & mask]
            near_y[j] = sines[(first + j) & mask]
        for g in range(laws):
            left = 0
            for j in range(size):
                if a[j] * a[j] + b[j] * b[j] < gone:
                    a[j], b[j] = 0.0, 0.0
                else:
                    left += 1
            if left == 0:
                break
            x[:], y[:] = 0.0, 0.0
            above = cells[starts[g + 1] - 1]
            for step in range(starts[g + 1] - starts[g] + 1):
                i = starts[g + 1] - 1 - step  # Horner's rule, from the last cell down
                cell = cells[i] if i >= starts[g] else 0
                more = masses[i] if i >= starts[g] else 0.0
                gap, above = above - cell, cell
                if gap > 1:
                    for j in range(size):
                        place = (gap * (first + j)) & mask
                        turn_x[j], turn_y[j] = cosines[place], sines[place]
                if gap == 0:
                    for j in range(LANES):
                        x[j] += more
                else:
                    power_x = near_x if gap == 1 else turn_x
                    power_y = near_y if gap == 1 else turn_y
                    for j in range(LANES):
                        old = x[j]
                        x[j] = old * power_x[j] - y[j] * power_y[j] + more
                        y[j] = old * power_y[j] + y[j] * power_x[j]
            for j in range(size):
                old = a[j]
                a[j] = old * x[j] - b[j] * y[j]
                b[j] = old * y[j] + b[j] * x[j]
