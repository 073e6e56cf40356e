"""Rows over classes of limited room, at the highest sum of gains: exact at any size.

A transportation problem. Rows begin in the class of the highest gain less the price of
the class. Then one row after another moves along a shortest path from a class with too
many rows to one with room. A step from class a to class b costs the least
gain_ia - gain_ib of the rows i in a. The node behind the classes takes up the room that
is left: its step to a class means that this class gives up a row. All steps have
reduced costs of at least 0, so that labels stay the best for their own numbers of rows.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import inner, kernel

WIDER = 8.0  # each time that the rows near a tie do not suffice


@inner
def sift_down(heap, size, place, gains, a, b):
    """Put the row at this place where its gain_ia - gain_ib belongs."""
    row = heap[place]
    key = gains[row, a] - gains[row, b]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        least = gains[heap[child], a] - gains[heap[child], b]
        if child + 1 < size:
            other = gains[heap[child + 1], a] - gains[heap[child + 1], b]
            if other < least:
                child, least = child + 1, other
        if least >= key:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = row


@inner
def sift_up(heap, place, gains, a, b):
    """Move the row at this place up to where its gain_ia - gain_ib belongs."""
    row = heap[place]
    key = gains[row, a] - gains[row, b]
    while place > 0:
        parent = (place - 1) // 2
        if gains[heap[parent], a] - gains[heap[parent], b] <= key:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = row


@kernel
def push(heap, size, row, gains, a, b):
    """Return the heap of the step from a to b with one more row."""
    if size == heap.shape[0]:
        longer = np.empty(2 * size + 4, np.int32)
        longer[:size] = heap
        heap = longer
    heap[size] = row
    sift_up(heap, size, gains, a, b)
    return heap


@inner
def drop_moved(heap, size, labels, gains, a, b):
    """Drop rows on top that are not in class a; return the size of the heap."""
    while size > 0 and labels[heap[0]] != a:
        size -= 1
        heap[0] = heap[size]
        sift_down(heap, size, 0, gains, a, b)
    return size


@kernel
def near_rows(gains, price, labels, near):
    """Return heaps of all steps, of the rows whose reduced cost is at most `near`."""
    n, C = gains.shape
    size = np.zeros((C, C), np.int64)
    for i in range(n):
        a = labels[i]
        own = gains[i, a] - price[a]
        for b in range(C):
            if b != a and own - gains[i, b] + price[b] <= near:
                size[a, b] += 1
    heaps = [np.empty(size[j // C, j % C] + 4, np.int32) for j in range(C * C)]
    size[:] = 0
    for i in range(n):
        a = labels[i]
        own = gains[i, a] - price[a]
        for b in range(C):
            if b != a and own - gains[i, b] + price[b] <= near:
                heaps[a * C + b][size[a, b]] = i
                size[a, b] += 1
    for a in range(C):
        for b in range(C):
            for place in range(size[a, b] // 2 - 1, -1, -1):
                sift_down(heaps[a * C + b], size[a, b], place, gains, a, b)
    return heaps, size


@inner
def cheapest_path(cost, price, used, most, excess, source, far, came, done):
    """Search a node that lacks rows as Dijkstra does; return the node, or -1.

    `cost` has the costs of the steps between classes. Node C is the one behind them.
    """
    C = used.shape[0]
    for v in range(C + 1):
        far[v], came[v], done[v] = math.inf, -1, False
    far[source] = 0.0
    for _ in range(C + 1):
        u = -1
        for v in range(C + 1):
            if not done[v] and far[v] < math.inf and (u < 0 or far[v] < far[u]):
                u = v
        if u < 0:
            return -1
        done[u] = True
        if excess[u] < 0:
            return u
        for v in range(C + 1):
            if done[v]:
                continue
            step = math.inf
            if u == C:
                if used[v] > 0:
                    step = price[v] - price[u]
            elif v == C:
                if used[u] < most[u]:
                    step = price[v] - price[u]
            else:
                step = cost[u, v] + price[v] - price[u]
            reach = far[u] + max(step, 0.0)
            if reach < far[v]:
                far[v], came[v] = reach, u
    return -1


@kernel
def fill_classes(gains, labels, most, price):
    """Write labels of the highest Σ gain with at most `most` rows in every class.

    `price` has a number for each class, at which the search begins and, when it ends,
    at which every row has its best class: 0 for classes that are not full. Their room
    must suffice, and `most` are whole numbers or inf.
    """
    n, C = gains.shape
    room = 0.0
    for c in range(C):
        room += min(most[c], float(n))
    if room < n:
        raise ValueError("the classes have too little room")
    excess, used = np.zeros(C + 1, np.int64), np.zeros(C, np.int64)
    low, high = math.inf, -math.inf
    for i in range(n):
        z = 0
        for c in range(C):
            if not abs(gains[i, c] - price[c]) < math.inf:
                raise ValueError("gains and prices must be finite")
            low, high = min(low, gains[i, c]), max(high, gains[i, c])
            if gains[i, c] - price[c] > gains[i, z] - price[z]:
                z = c
        labels[i] = z
        excess[z] += 1
    left = -n
    for c in range(C):
        used[c] = min(excess[c], int(min(most[c], n)))
        if price[c] > 0.0:
            used[c] = int(min(most[c], n))
        excess[c] -= used[c]
        left += used[c]
    excess[C] = left
    if not (excess > 0).any():
        return
    prices, far = np.append(price, 0.0), np.empty(C + 1)
    came, done = np.empty(C + 1, np.int64), np.empty(C + 1, np.bool_)
    near, spent = 4.0 * max(high - low, 1e-300) / math.sqrt(n), 0.0
    if n <= 100:
        near = math.inf
    heaps, size = near_rows(gains, prices, labels, near)
    cost, stale = np.empty((C, C)), np.ones(C, np.bool_)
    for source in range(C + 1):
        while excess[source] > 0:
            for a in np.flatnonzero(stale):
                stale[a] = False
                for b in range(C):
                    heap = heaps[a * C + b]
                    size[a, b] = drop_moved(heap, size[a, b], labels, gains, a, b)
                    cost[a, b] = math.inf
                    if size[a, b] > 0:
                        cost[a, b] = gains[heap[0], a] - gains[heap[0], b]
            sink = cheapest_path(
                cost, prices, used, most, excess, source, far, came, done
            )
            if near < math.inf and (sink < 0 or far[sink] + spent > near):
                # a row that is in no heap might be nearer
                near, spent = near * WIDER, 0.0
                if near > 2.0 * (high - low) + prices.max() - prices.min():
                    near = math.inf
                heaps, size = near_rows(gains, prices, labels, near)
                stale[:] = True
                continue
            if sink < 0:
                raise ValueError("no class has room for a row")
            for v in range(C + 1):
                prices[v] -= min(far[v], far[sink])
            spent += far[sink]
            excess[source] -= 1
            excess[sink] += 1
            v = sink
            while v != source:
                u = came[v]
                if u == C:
                    used[v] -= 1
                elif v == C:
                    used[u] += 1
                else:
                    row = heaps[u * C + v][0]
                    labels[row] = v
                    stale[u] = stale[v] = True
                    for d in range(C):
                        if d != v:
                            heaps[v * C + d] = push(
                                heaps[v * C + d], size[v, d], row, gains, v, d
                            )
                            size[v, d] += 1
                v = u
    for c in range(C):
        price[c] = max(prices[c] - prices[C], 0.0)


@kernel
def fill_greedily(p, starts, order, most, labels):
    """Give each row its most probable class with room, in this order of the rows."""
    for g in range(starts.shape[0] - 1):
        room = most[g].copy()
        for i in order[starts[g] : starts[g + 1]]:
            best = -1
            for c in range(p.shape[1]):
                if room[c] >= 1.0 and (best < 0 or p[i, c] > p[i, best]):
                    best = c
            labels[i] = best
            room[best] -= 1.0
