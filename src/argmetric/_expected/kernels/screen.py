"""Any metric: rough PMFs at every count, whole PMFs at some, and their cells.

A rough PMF has three points with the first five moments of the whole one, or two with
three: the Gauss rules. In units of the deviation, with skewness s, the orthogonal
polynomials are 1, x, x² - s·x - 1 of norm b, and x³ - (s+a)·x² + (a·s - 1 - b)·x + a;
the points are the roots of the last one, or of the last but one.
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import borrowing, inner, kernel
from argmetric._ground.jit.pmfs import PAD, add_labels

SURE = 1e-12  # variance of a PMF that is one point
FOLD = 63  # partial sums of so many items and one: equal items do not drift
ORDERS = 5
THIRD_OF_A_CIRCLE = math.sqrt(0.75)


@inner
def add_cumulants(p, q, sums):
    """Add the first five cumulants of one label."""
    v, d = p * q, q - p
    sums[0] += p
    sums[1] += v
    sums[2] += v * d
    sums[3] += v * (1.0 - 6.0 * v)
    sums[4] += v * d * (1.0 - 12.0 * v)


@inner
def add_powers(p, q, sums):
    """Add p, v, v·d, v², v²·d, … of labels with v = p·q and d = q - p.

    The first seven are kept in registers, which is three times as fast.
    """
    s0, s1, s2, s3 = sums[0], sums[1], sums[2], sums[3]
    s4, s5, s6 = sums[4], sums[5], sums[6]
    for i in range(p.shape[0]):
        v, d = p[i] * q[i], q[i] - p[i]
        square = v * v
        cube = square * v
        s0 += p[i]
        s1 += v
        s2 += v * d
        s3 += square
        s4 += square * d
        s5 += cube
        s6 += cube * d
        power = cube * v
        for j in range(7, sums.shape[0], 2):
            sums[j] += power
            sums[j + 1] += power * d
            power *= v
    sums[0], sums[1], sums[2], sums[3] = s0, s1, s2, s3
    sums[4], sums[5], sums[6] = s4, s5, s6


@kernel
def few_points(cumulants, most, points, weights):
    """Write quadrature rules of three and of two points for sums in 0 … most.

    The rule of three points matches the first five cumulants of the sum, that of two
    points the first three. A variance below SURE leaves a single point.

    cumulants : array of shape (5, n_sums)
    points, weights : array of shape (5, n_sums)
        Rows 0 to 2 are the rule of three points, rows 3 and 4 that of two.
    """
    for i in range(most.shape[0]):
        variance = cumulants[1, i]
        sure = variance < SURE
        square = np.divide(1.0, 1.0 if sure else variance)
        scale = math.sqrt(square)
        s = cumulants[2, i] * scale * square
        fourth = cumulants[3, i] * square * square + 3.0
        fifth = cumulants[4, i] * square * square * scale + 10.0 * s
        b = fourth - 1.0 - s * s
        two = b < 1e-6 * (1.0 + s * s)
        inverse = np.divide(1.0, 1.0 if two else b)
        a = (fifth - 2.0 * s * fourth + s * s * s) * inverse
        middle = (s + a) * (1.0 / 3.0)
        linear = a * s - 1.0 - (1.0 if two else b)
        slope = min(linear - 3.0 * middle * middle, -1e-30)
        level = a + middle * (linear - 2.0 * middle * middle)
        radius = 2.0 * math.sqrt(slope * (-1.0 / 3.0))
        c = max(-1.0, min(1.0, np.divide(3.0 * level, slope * radius)))
        # The largest root of 4z³ - 3z = |c| is above √3/4: Newton's steps are safe.
        size = abs(c)
        z = 0.8660254 + size * (0.1666667 - 0.0327 * size)
        for _ in range(4):
            z -= np.divide((4.0 * z * z - 3.0) * z - size, 12.0 * z * z - 3.0)
        other = THIRD_OF_A_CIRCLE * math.sqrt(max(1.0 - z * z, 0.0))
        radius = -radius if c < 0.0 else radius
        root = math.sqrt(s * s + 4.0)
        x3 = 0.0 if sure else 0.5 * (s + root)
        x4 = 0.0 if sure else 0.5 * (s - root)
        x0 = middle + radius * z
        x1 = middle + radius * (other - 0.5 * z)
        x2 = middle - radius * (other + 0.5 * z)
        x0 = x3 if (sure or two) else x0
        x1 = x4 if (sure or two) else x1
        x2 = 0.0 if (sure or two) else x2
        y0, y1, y2 = x0 * (x0 - s) - 1.0, x1 * (x1 - s) - 1.0, x2 * (x2 - s) - 1.0
        inverse = 0.0 if two else inverse
        w0 = np.divide(1.0, 1.0 + x0 * x0 + y0 * y0 * inverse)
        w1 = np.divide(1.0, 1.0 + x1 * x1 + y1 * y1 * inverse)
        w2 = np.divide(1.0, 1.0 + x2 * x2 + y2 * y2 * inverse)
        w1, w2 = 0.0 if sure else w1, 0.0 if (sure or two) else w2
        w3 = 1.0 if sure else np.divide(1.0, 1.0 + x3 * x3)
        total = np.divide(1.0, w0 + w1 + w2)
        weights[0, i], weights[1, i], weights[2, i] = w0 * total, w1 * total, w2 * total
        weights[3, i], weights[4, i] = w3, 1.0 - w3
        deviation = np.divide(1.0, scale)
        mean = cumulants[0, i]
        points[0, i] = min(max(mean + deviation * x0, 0.0), most[i])
        points[1, i] = min(max(mean + deviation * x1, 0.0), most[i])
        points[2, i] = min(max(mean + deviation * x2, 0.0), most[i])
        points[3, i] = min(max(mean + deviation * x3, 0.0), most[i])
        points[4, i] = min(max(mean + deviation * x4, 0.0), most[i])


@kernel
def rough_pmfs(p, q, indptr, at, sums, counts, points, weights):
    """Write quadrature rules of hits and misses at successive k; return how many.

    The first k labels of a segment are predicted positive. The walk starts at segment
    at[0] and count at[1], ends where `counts` is full, and leaves the next place in
    `at`.

    sums : array of shape (3, 5)
        Cumulants of the whole segment, of the hits up to the last multiple of 64, and
        of the hits since then: state between calls.
    counts : array of shape (3, room)
        Rows: the segment, k, and m - k.
    points, weights : array of shape (2, 5, room)
        The rules of `few_points`, for the hits and for the misses.
    """
    room, used = counts.shape[1], 0
    cumulants = np.empty((2, ORDERS, room))
    g, k = at[0], at[1]
    while used < room and g < indptr.shape[0] - 1:
        start, m = indptr[g], indptr[g + 1] - indptr[g]
        if k == 0:
            for j in range(ORDERS):
                sums[0, j] = sums[1, j] = sums[2, j] = 0.0
            for i in range(m):
                add_cumulants(p[start + i], q[start + i], sums[2])
                if i % 64 == FOLD or i == m - 1:
                    for j in range(ORDERS):
                        sums[0, j] += sums[2, j]
                        sums[2, j] = 0.0
        while used < room and k <= m:
            counts[0, used], counts[1, used], counts[2, used] = g, k, m - k
            for j in range(ORDERS):
                hits = sums[1, j] + sums[2, j]
                cumulants[0, j, used] = hits
                cumulants[1, j, used] = sums[0, j] - hits
            used += 1
            if k < m:
                add_cumulants(p[start + k], q[start + k], sums[2])
                if k % 64 == FOLD:
                    for j in range(ORDERS):
                        sums[1, j] += sums[2, j]
                        sums[2, j] = 0.0
            k += 1
        if k > m:
            g, k = g + 1, 0
    at[0], at[1] = g, k
    for side in range(2):
        most = counts[1 + side, :used]
        few_points(cumulants[side], most, points[side], weights[side])
    return used


@kernel
def rough_outcomes(points, tp, t):
    """Write tp and t = tp + fn for every pair of a point of hits and one of misses.

    points : array of shape (2, 5, n_counts)
        Points of the hits and of the misses: three of one quadrature rule, then two of
        a rougher rule.
    tp, t : array of shape (13, n_counts)
        The nine pairs of the first rule, then the four pairs of the second.
    """
    pair, n_counts = 0, tp.shape[1]
    for first, last in ((0, 3), (3, 5)):
        for a in range(first, last):
            hits = points[0, a, :n_counts]
            for r in range(first, last):
                misses, own_tp, own_t = points[1, r, :n_counts], tp[pair], t[pair]
                for i in range(n_counts):
                    own_tp[i] = hits[i]
                    own_t[i] = hits[i] + misses[i]
                pair += 1


@kernel
def rough_sums(values, weights, out, other):
    """Write E[value | finite] by both rules of `few_points`; nan if never finite.

    Points lie between whole counts, where a metric may be infinite though it is finite
    at all counts.

    values : array of shape (13, n_counts)
        The metric at the pairs of `rough_outcomes`.
    out, other : array of shape (n_counts,)
        Results of the rules of three and of two points.
    """
    used = out.shape[0]
    for first, last, before, sums in ((0, 3, 0, out), (3, 5, 9, other)):
        size = last - first
        sums[:] = 0.0
        for a in range(size):
            hit = weights[0, first + a, :used]
            for r in range(size):
                miss, own = weights[1, first + r, :used], values[before + a * size + r]
                for i in range(used):
                    sums[i] += hit[i] * miss[i] * own[i]
        for i in range(used):
            if math.isfinite(sums[i]):
                continue
            total, mass = 0.0, 0.0
            for a in range(size):
                for r in range(size):
                    value = values[before + a * size + r, i]
                    if math.isfinite(value):
                        probability = (
                            weights[0, first + a, i] * weights[1, first + r, i]
                        )
                        total += probability * value
                        mass += probability
            sums[i] = total / mass if mass > 1e-300 else math.nan


@kernel
def power_sums_at(p, q, indptr, group, count, out):
    """Write sums of `add_powers` over the first count[i] labels of group[i]."""
    total, partial, lost = np.zeros((3, max(out.shape[0] | 1, 7)))
    now, done = -1, 0
    for i in range(group.shape[0]):
        if group[i] != now:
            now, done = group[i], 0
            total[:], partial[:], lost[:] = 0.0, 0.0, 0.0
        own_p, own_q = p[indptr[now] :], q[indptr[now] :]
        while done < count[i]:
            last = min(done - done % 64 + 64, count[i])
            add_powers(own_p[done:last], own_q[done:last], partial)
            done = last
            if done % 64 == 0:
                for r in range(out.shape[0]):  # Kahan: n - Σp may be what matters
                    partial[r] -= lost[r]
                    larger = total[r] + partial[r]
                    lost[r] = (larger - total[r]) - partial[r]
                    total[r] = larger
                partial[:] = 0.0
        for r in range(out.shape[0]):
            out[r, i] = total[r] + partial[r]


@kernel
def pmfs_at(
    p,
    q,
    indptr,
    group,
    count,
    tolerance,
    seeds,
    seed_weights,
    seed_start,
    seed_length,
    start,
    points,
    weights,
    lengths,
    dropped,
):
    """Write the PMFs of the first count[i] labels of group[i], both ascending.

    A segment begins with the PMF of other labels that its seed is. Points and weights
    of pair i lie from start[i] on; `dropped` is the mass trimmed on the way.
    """
    room = 0
    for i in range(count.shape[0]):
        room = max(room, count[i] + seed_length[group[i]])
    pmf, spare = np.zeros(room + 2 * PAD + 2), np.zeros(room + 2 * PAD + 2)
    now, done, low, length, lost = -1, 0, 0, 1, 0.0
    for i in range(group.shape[0]):
        if group[i] != now:
            now, done, lost = group[i], 0, 0.0
            length = seed_length[now]
            low = int(seeds[seed_start[now]])
            pmf[: length + 2 * PAD] = 0.0
            for a in range(length):
                pmf[PAD + a] = seed_weights[seed_start[now] + a]
        first, last = indptr[now] + done, indptr[now] + count[i]
        low, length, more = add_labels(
            p, q, first, last, tolerance[now], low, length, pmf, spare
        )
        done, lost = count[i], lost + more
        lengths[i], dropped[i] = length, lost
        for a in range(length):
            points[start[i] + a] = low + a
            weights[start[i] + a] = pmf[PAD + a]


ABOVE_ALL_KEYS = 2**62


@inner
def key_box(key, order, ends, spans, hits, misses):
    """Return the smallest and largest hits and misses of the pairs of a key."""
    low, high, miss_low, miss_high = ABOVE_ALL_KEYS, 0, ABOVE_ALL_KEYS, 0
    for member in range(ends[key], ends[key + 1]):
        i = order[member]
        first, miss_first = int(hits[0, spans[i, 0]]), int(misses[0, spans[i, 2]])
        low, miss_low = min(low, first), min(miss_low, miss_first)
        high = max(high, first + spans[i, 1])
        miss_high = max(miss_high, miss_first + spans[i, 3])
    return low, high, miss_low, miss_high


@borrowing
def widest_key(order, ends, spans, hits, misses):
    """Return the most rows, and the most entries, that a key can have."""
    rows, cells = 0, 0
    for key in range(ends.shape[0] - 1):
        low, high, left, right = key_box(key, order, ends, spans, hits, misses)
        rows, cells = max(rows, high - low), max(cells, (high - low) * (right - left))
    return rows, cells


@inner
def widen_rows(hits, misses, tolerance, offset, rows):
    """Widen the rows of a key by the entries of one pair of whole PMFs.

    Whole PMFs rise and fall: the ends of a row are near those of the row before.
    """
    begin, stop, size = 0, 0, misses.shape[0]
    for a in range(hits.shape[0]):
        weight = hits[a]
        if begin == stop:
            begin, stop = 0, size
        while begin > 0 and weight * misses[begin - 1] >= tolerance:
            begin -= 1
        while begin < stop and weight * misses[begin] < tolerance:
            begin += 1
        while stop < size and weight * misses[stop] >= tolerance:
            stop += 1
        while begin < stop and weight * misses[stop - 1] < tolerance:
            stop -= 1
        if begin < stop:
            rows[a, 0] = min(rows[a, 0], begin + offset)
            rows[a, 1] = max(rows[a, 1], stop + offset)


@borrowing
def fill_cells(key, limit, order, ends, spans, asked, hits, misses, bases, rows, cells):
    """Write the entries of keys from `key` on, up to `limit` entries or rows.

    Pairs order[ends[key]…ends[key+1]] share a key. `bases` gets its first row, hits
    and misses; `cells` the counts tp, k, t and n. Returns the key to go on with, and
    the number of cells.
    """
    used, last_row = 0, 0
    tp, many_k, t, many_n = cells[0], cells[1], cells[2], cells[3]
    while key < ends.shape[0] - 1 and used < limit and last_row < limit:
        one = order[ends[key]]
        low, high, left, _ = key_box(key, order, ends, spans, hits, misses)
        bases[key, 0], bases[key, 1], bases[key, 2] = last_row, low, left
        whole = asked[one, 2] >= 0.0
        size = high - low
        own = rows[last_row : last_row + size]
        last_row += size
        for a in range(size):
            own[a, 0], own[a, 1] = (ABOVE_ALL_KEYS, 0) if whole else (0, spans[one, 3])
        if whole:
            for member in range(ends[key], ends[key + 1]):
                i = order[member]
                first, width = int(hits[0, spans[i, 0]]) - low, spans[i, 1]
                widen_rows(
                    hits[1, spans[i, 0] : spans[i, 0] + width],
                    misses[1, spans[i, 2] : spans[i, 2] + spans[i, 3]],
                    asked[i, 2],
                    int(misses[0, spans[i, 2]]) - left,
                    own[first : first + width],
                )
        begin = used
        for a in range(size):
            first, width = own[a, 0], own[a, 1] - own[a, 0]
            own[a, 2] = used
            if width <= 0:
                own[a, 0] = own[a, 1] = 0
                continue
            row_tp, row_t = tp[used : used + width], t[used : used + width]
            if whole:
                hit = float(low + a)
                positives = hit + (left + first)
                for r in range(row_t.shape[0]):
                    row_tp[r] = hit
                    row_t[r] = positives + r
            else:
                hit = hits[0, spans[one, 0] + a]
                for r in range(row_t.shape[0]):
                    row_tp[r] = hit
                    row_t[r] = hit + misses[0, spans[one, 2] + r]
            used += width
        many_k[begin:used] = asked[one, 0]
        many_n[begin:used] = asked[one, 1]
        key += 1
    return key, used


@borrowing
def mean_defined(hits, misses, shift, rows, values):
    """Return E[value | value is a number] of two PMFs; nan if it never is."""
    total, mass = 0.0, 0.0
    for a in range(hits.shape[0]):
        begin = max(rows[a, 0] - shift, 0)
        stop = min(rows[a, 1] - shift, misses.shape[0])
        for r in range(begin, stop):
            value = values[rows[a, 2] + r + shift - rows[a, 0]]
            if not math.isnan(value):
                probability = hits[a] * misses[r]
                total += probability * value
                mass += probability
    return total / mass if mass > 1e-300 else math.nan


@borrowing
def sum_cells(
    key, last, order, ends, spans, hits, misses, bases, rows, values, work, out
):
    """Set out[0] to E[value | defined] of the pairs of keys key … last - 1.

    It is nan where no value is defined.

    out[1] is the mass of the cells that are not in the rows of the key. `work` has
    three rows of one more than the longest pmf. Returns whether all values were finite.
    """
    finite = True
    sums, below, above = work[0], work[1], work[2]
    for now in range(key, last):
        for member in range(ends[now], ends[now + 1]):
            i = order[member]
            size = spans[i, 3]
            own_hits = hits[1, spans[i, 0] : spans[i, 0] + spans[i, 1]]
            own_misses = misses[1, spans[i, 2] : spans[i, 2] + size]
            first = bases[now, 0] + int(hits[0, spans[i, 0]]) - bases[now, 1]
            shift = int(misses[0, spans[i, 2]]) - bases[now, 2]
            below[0] = above[size] = 0.0
            for r in range(size):
                sums[r] = 0.0
                below[r + 1] = below[r] + abs(own_misses[r])
            for step in range(size):
                r = size - 1 - step
                above[r] = above[r + 1] + abs(own_misses[r])
            lost = 0.0
            for a in range(own_hits.shape[0]):
                weight, row = own_hits[a], first + a
                begin = max(rows[row, 0] - shift, 0)
                stop = min(rows[row, 1] - shift, size)
                if begin >= stop:
                    lost += abs(weight) * below[size]
                    continue
                lost += abs(weight) * (below[begin] + above[stop])
                place = rows[row, 2] + begin + shift - rows[row, 0]
                part, own = sums[begin:stop], values[place : place + stop - begin]
                for r in range(part.shape[0]):
                    part[r] += weight * own[r]
            total = 0.0
            for r in range(size):
                total += own_misses[r] * sums[r]
            if not math.isfinite(total):
                finite = False
                own_rows = rows[first : first + own_hits.shape[0]]
                total = mean_defined(own_hits, own_misses, shift, own_rows, values)
            out[0, i], out[1, i] = total, lost
    return finite
