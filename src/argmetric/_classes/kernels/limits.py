"""Rows that change their class so that budgets and floors are kept.

`order` has the rows of every group behind each other, those first whose change costs
the least; `most` and `floor` limit the number and the Σ p of a class in a group.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from argmetric._jit import inner, kernel


@inner
def move_row(p, i, g, target, labels, h, k):
    source = labels[i]
    h[g, source] = max(h[g, source] - p[i, source], 0.0)
    k[g, source] -= 1.0
    h[g, target] += p[i, target]
    k[g, target] += 1.0
    labels[i] = target


@kernel
def push_rows(worth, p, starts, order, labels, c, most, floor, h, k):
    """Rows leave class c for their best class with room, until c is not too full."""
    for g in range(starts.shape[0] - 1):
        for place in range(starts[g], starts[g + 1]):
            if k[g, c] <= most[g, c]:
                break
            i = order[place]
            if labels[i] != c:
                continue
            best = -1
            for d in range(p.shape[1]):
                room = d != c and k[g, d] < most[g, d]
                if room and (best < 0 or worth[i, d] > worth[i, best]):
                    best = d
            if best >= 0:
                move_row(p, i, g, best, labels, h, k)


@kernel
def pull_rows(p, starts, order, labels, c, most, floor, h, k):
    """Rows join class c until its floor is kept, where their class can spare them."""
    for g in range(starts.shape[0] - 1):
        for place in range(starts[g], starts[g + 1]):
            if h[g, c] >= floor[g, c]:
                break
            i = order[place]
            source = labels[i]
            if source == c or k[g, c] >= most[g, c]:
                continue
            if h[g, source] - p[i, source] >= floor[g, source]:
                move_row(p, i, g, c, labels, h, k)
