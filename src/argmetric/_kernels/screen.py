"""Any metric: rough laws at every count, whole laws at some, and their cells.

A rough law has three points with the first five moments of the whole one, or two with
three: the Gauss rules. In units of the deviation, with skewness s, the orthogonal
polynomials are 1, x, x² - s·x - 1 of norm b, and x³ - (s+a)·x² + (a·s - 1 - b)·x + a;
the points are the roots of the last one, or of the last but one.
"""

from __future__ import annotations

import math

import numpy as np

from argmetric._kernels._jit import kernel

PAD = 2
SURE = 1e-12  # variance of a law that is one point
FOLD = 63  # partial sums of so many items and one: equal items do not drift
ORDERS = 5
THIRD_OF_A_CIRCLE = math.sqrt(0.75)


@kernel
def add_cumulants(p, q, sums):
    """Add the cumulants of one label, as many as there is room for."""
    v, d = p * q, q - p
    sums[0] += p
    sums[1] += v
    sums[2] += v * d
    sums[3] += v * (1.0 - 6.0 * v)
    sums[4] += v * d * (1.0 - 12.0 * v)
    if sums.shape[0] > ORDERS:
        sums[5] += v * (1.0 - v * (30.0 - 120.0 * v))
        sums[6] += v * d * (1.0 - v * (60.0 - 360.0 * v))


@kernel
def few_points(cumulants, most, points, weights):
    """Three points, and two, of the sums 0…most with cumulants in the columns.

    Without branches, and with quotients that raise nothing: lanes side by side.
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
def rough_laws(p, q, indptr, at, sums, counts, points, weights):
    """Rough laws of hits and misses of as many counts as there is room for.

    From segment at[0] and count at[1] on, which are moved along with the sums: total,
    whole and partial. `counts` gets segment, k and m - k in its rows; `points` and
    `weights` have the hits first. Returns how many counts there were.
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
def cumulants_at(p, q, indptr, group, count, out):
    """Cumulants of the first count[i] labels of segment group[i], both ascending."""
    total, partial = np.zeros((2, out.shape[0]))
    now, done = -1, 0
    for i in range(group.shape[0]):
        if group[i] != now:
            now, done = group[i], 0
            total[:], partial[:] = 0.0, 0.0
        for j in range(done, count[i]):
            add_cumulants(p[indptr[now] + j], q[indptr[now] + j], partial)
            if j % 64 == FOLD:
                total += partial
                partial[:] = 0.0
        done = count[i]
        out[:, i] = total + partial


@kernel
def laws_at(
    p, q, indptr, group, count, tolerance, start, points, weights, lengths, dropped
):
    """Laws of the first count[i] labels of segment group[i], both ascending.

    Points and weights of pair i lie from start[i] on; `dropped` is the mass trimmed on
    the way.
    """
    room = 0
    for i in range(count.shape[0]):
        room = max(room, count[i])
    laws = np.zeros((2, room + 2 * PAD + 2))
    now, done, low, length, lost = -1, 0, 0, 1, 0.0
    source, target, begin = laws[0], laws[1], PAD
    for i in range(group.shape[0]):
        if group[i] != now:
            now, done, low, length, lost, begin = group[i], 0, 0, 1, 0.0, PAD
            source[: 2 * PAD + 1] = 0.0
            source[PAD] = 1.0
        limit, last = tolerance[now], indptr[now] + count[i]
        j = indptr[now] + done
        while j < last:
            step = min(2, last - j)
            if step == 2:
                none, both = q[j] * q[j + 1], p[j] * p[j + 1]
                one = q[j] * p[j + 1] + p[j] * q[j + 1]
            else:
                none, one, both = q[j], p[j], 0.0
            j += step
            old = source[begin - PAD : begin + length + step]
            new = target[PAD : PAD + length + step]
            for a in range(new.shape[0]):
                new[a] = none * old[a + 2] + one * old[a + 1] + both * old[a]
            begin, length = PAD, length + step
            while length > 1 and target[begin + length - 1] < limit:
                length -= 1
                lost += target[begin + length]
            while length > 1 and target[begin] < limit:
                lost += target[begin]
                begin, length, low = begin + 1, length - 1, low + 1
            target[begin - 1] = target[begin - 2] = 0.0
            target[begin + length] = target[begin + length + 1] = 0.0
            source, target = target, source
        done = count[i]
        lengths[i], dropped[i] = length, lost
        for a in range(length):
            points[start[i] + a] = low + a
            weights[start[i] + a] = source[begin + a]


@kernel
def fill_cells(
    first,
    hit_points,
    hit_weights,
    hit_start,
    hit_length,
    miss_points,
    miss_weights,
    miss_start,
    miss_length,
    tolerance,
    tp,
    t,
    chance,
    ends,
):
    """Cells of both laws, of as many pairs from `first` on as there is room for.

    Those of pair i are ends[i]…ends[i+1]; the pair to go on with is returned. Cells
    less likely than the tolerance are left out.
    """
    used, i = 0, first
    while i < hit_length.shape[0]:
        if used + hit_length[i] * miss_length[i] > tp.shape[0]:
            break
        ends[i] = used
        left, right = miss_start[i], miss_start[i] + miss_length[i]
        for a in range(hit_start[i], hit_start[i] + hit_length[i]):
            hit, weight = hit_points[a], hit_weights[a]
            begin, stop = left, right
            while begin < stop and abs(weight * miss_weights[begin]) < tolerance[i]:
                begin += 1
            while begin < stop and abs(weight * miss_weights[stop - 1]) < tolerance[i]:
                stop -= 1
            points, others = miss_points[begin:stop], miss_weights[begin:stop]
            last = used + stop - begin
            own_tp, own_t, own = tp[used:last], t[used:last], chance[used:last]
            for r in range(points.shape[0]):
                own_tp[r] = hit
                own_t[r] = hit + points[r]
                own[r] = weight * others[r]
            used = last
        i += 1
        ends[i] = used
    return i
