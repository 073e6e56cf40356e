"""Labels of the highest Σ gain within budgets and floors of the classes.

A class has at most `most` rows, and Σ p over its rows is at least `floor`. A class pays
a price λ for every row and gets a bonus ν for every p. At all λ, ν ≥ 0

    Σ_i max_c (gain_ic - λ_c + ν_c·p_ic) + Σ_c λ_c·most_c - Σ_c ν_c·floor_c

is above the gain of all labels within the limits. Without floors the best prices meet
it (`transport`). With floors a gap of less than a row remains for each: a search over
the rows that are nearest to a tie closes it, or ends after a number of steps.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import inner, kernel
from argmetric.classes.kernels.climb import class_sums
from argmetric.classes.kernels.transport import fill_classes

ROUNDS = 40  # of bonuses, one class after the other
EAGER = 10  # rounds after which a row more than needed is asked for
NEAREST = 64  # rows that are searched
TINY = 1e-12  # of a gain: less is rounding


@inner
def bound_at(gains, p, most, floor, price, bonus, h, k):
    """Return the upper bound at these prices and bonuses; write sums of its labels."""
    total = 0.0
    h[:] = 0.0
    k[:] = 0.0
    for i in range(p.shape[0]):
        best, z = -math.inf, 0
        for c in range(p.shape[1]):
            worth = gains[i, c] - price[c] + bonus[c] * p[i, c]
            if worth > best:
                best, z = worth, c
        total += best
        h[z] += p[i, z]
        k[z] += 1.0
    for c in range(p.shape[1]):
        if price[c] > 0.0:
            total += price[c] * most[c]
        if bonus[c] > 0.0:
            total -= bonus[c] * floor[c]
    return total


@kernel
def least_bonus(gains, p, c, price, bonus, floor, more):
    """Return the least bonus at which class c reaches its floor, others as they are.

    Its rows then have a Σ p of `floor`, and of `floor` + `more` where that can be.
    """
    n, C = p.shape
    needed = np.empty(n)
    for i in range(n):
        other = -math.inf
        for d in range(C):
            if d != c:
                other = max(other, gains[i, d] - price[d] + bonus[d] * p[i, d])
        short = other - gains[i, c] + price[c]
        needed[i] = short / p[i, c] if p[i, c] > 0.0 else math.inf
    order = np.argsort(needed)
    total, found, beyond = 0.0, math.inf, math.inf
    for place in range(n):
        i = order[place]
        total += p[i, c]
        if total >= floor and needed[i] < math.inf:
            found = max(needed[i], 0.0)
            beyond = needed[order[place + 1]] if place + 1 < n else math.inf
            if total >= floor + more:
                break
    if found == 0.0:
        return 0.0
    return min((found + beyond) / 2.0, found + 1e-9 * (1.0 + found))


@kernel
def improve(gains, p, labels, most, floor, h, k):
    """Move rows to better classes while the limits allow it, the most gain first."""
    n, C = p.shape
    rise = np.empty(n)
    for i in range(n):
        rise[i] = gains[i, labels[i]] - gains[i].max()
    order = np.argsort(rise)
    moved = True
    while moved:
        moved = False
        for i in order:
            a = labels[i]
            if rise[i] >= 0.0 or h[a] - p[i, a] < floor[a]:
                continue
            best = a
            for c in range(C):
                if c != a and k[c] < most[c] and gains[i, c] > gains[i, best] + TINY:
                    best = c
            if best != a:
                h[a], k[a] = h[a] - p[i, a], k[a] - 1.0
                h[best], k[best] = h[best] + p[i, best], k[best] + 1.0
                labels[i] = best
                rise[i] = gains[i, best] - gains[i].max()
                moved = True


@kernel
def search(gains, p, labels, most, floor, price, bonus, slack, most_steps):
    """Try all labels of the rows nearest to a tie; return whether all are settled.

    Labels lose against the bound what their rows lose at the prices, and what limits
    with a price leave unused. Those that lose less than `slack` are written down.
    """
    n, C = p.shape
    worth = gains - price + bonus * p
    best, second = np.empty(n), np.full(n, math.inf)
    h, k, ahead = np.zeros(C), np.zeros(C), np.zeros((NEAREST + 1, C))
    for i in range(n):
        z = worth[i].argmax()
        best[i] = worth[i, z]
        for c in range(C):
            if c != z:
                second[i] = min(second[i], best[i] - worth[i, c])
    order = np.argsort(second)
    near = min(n, NEAREST)
    whole = n == near or second[order[near]] >= slack
    z = np.empty(n, np.int64)
    for place in range(near, n):
        i = order[place]
        z[i] = worth[i].argmax()
        h[z[i]] += p[i, z[i]]
        k[z[i]] += 1.0
    core = order[:near][::-1].copy()
    for place in range(near - 1, -1, -1):
        ahead[place] = ahead[place + 1] + p[core[place]]
    classes = np.empty((near, C), np.int64)
    for place in range(near):
        classes[place] = np.argsort(-worth[core[place]])
    at, lost = np.full(near, -1, np.int64), np.zeros(near + 1)
    place = 0
    while place >= 0:
        i = core[place]
        if at[place] >= 0:
            c = classes[place, at[place]]
            h[c], k[c] = h[c] - p[i, c], k[c] - 1.0
        at[place] += 1
        most_steps -= 1
        if most_steps < 0:
            return False
        if at[place] == C:
            at[place] = -1
            place -= 1
            continue
        c = classes[place, at[place]]
        h[c], k[c] = h[c] + p[i, c], k[c] + 1.0
        lost[place + 1] = lost[place] + best[i] - worth[i, c]
        loss, possible, left = lost[place + 1], True, near - place - 1
        for d in range(C):
            if k[d] > most[d] or h[d] + ahead[place + 1, d] < floor[d]:
                possible = False
                break
            if price[d] > 0.0:
                loss += price[d] * max(most[d] - k[d] - left, 0.0)
            if bonus[d] > 0.0:
                loss += bonus[d] * max(h[d] - floor[d], 0.0)
        if not possible or loss >= slack - TINY:
            continue
        if place + 1 < near:
            place += 1
            continue
        slack = loss
        for j in range(near, n):
            labels[order[j]] = z[order[j]]
        for j in range(near):
            labels[core[j]] = classes[j, at[j]]
    return whole


@kernel
def keep_floors(gains, p, labels, most, floor, price, bonus, most_steps):
    """Write labels of one group within its limits; return their gain and a bound.

    `price` and `bonus` are where the search begins, and where the bound is least. The
    gain is -inf where no labels within the limits were found; labels then are the last
    that were tried.
    """
    n, C = p.shape
    now, paid = bonus.copy(), price.copy()
    h, k, tried = np.empty(C), np.empty(C), np.empty(n, np.int64)
    bound, value, least = math.inf, -math.inf, 0.0
    for i in range(n):
        least += gains[i].min()
    for round in range(ROUNDS):
        fill_classes(gains + now * p, tried, most, paid)
        found = bound_at(gains, p, most, floor, paid, now, h, k)
        if found < bound:
            bound, price[:], bonus[:] = found, paid, now
        class_sums(p, 0, n, tried, h, k)
        if (h >= floor).all():
            improve(gains, p, tried, most, floor, h, k)
            total = 0.0
            for i in range(n):
                total += gains[i, tried[i]]
            if total > value:
                value = total
                labels[:] = tried
        elif value == -math.inf:
            labels[:] = tried
        if bound < least - 1e-9 * (1.0 + abs(least)) or bound - value <= TINY:
            break
        more = 1.0 if round >= EAGER else 0.0
        changed = False
        for c in range(C):
            if floor[c] > 0.0:
                asked = least_bonus(gains, p, c, paid, now, floor[c], more)
                if asked == math.inf:
                    return -math.inf, -math.inf
                if abs(asked - now[c]) > 1e-12 * (1.0 + asked):
                    now[c], changed = asked, True
        if not changed or (value > -math.inf and round >= EAGER):
            break
    if bound - value > TINY and (n <= NEAREST or value > -math.inf):
        slack = bound - value
        settled = search(gains, p, labels, most, floor, price, bonus, slack, most_steps)
        class_sums(p, 0, n, labels, h, k)
        if (h >= floor).all() and (k <= most).all():
            value = 0.0
            for i in range(n):
                value += gains[i, labels[i]]
        if settled:
            bound = value
    return value, bound


@kernel
def best_within(
    gains, p, starts, most, floor, labels, price, bonus, most_steps, value, bound
):
    """Settle every group; `price` and `bonus` are where it begins."""
    for g in range(starts.shape[0] - 1):
        first, last = starts[g], starts[g + 1]
        own, own_labels = gains[first:last], labels[first:last]
        if (floor[g] > 0.0).any():
            value[g], bound[g] = keep_floors(
                own, p[first:last], own_labels, most[g], floor[g], price[g], bonus[g],
                most_steps,
            )  # fmt: skip
            continue
        fill_classes(own, own_labels, most[g], price[g])
        value[g] = 0.0
        for i in range(last - first):
            value[g] += own[i, own_labels[i]]
        bound[g] = value[g]
