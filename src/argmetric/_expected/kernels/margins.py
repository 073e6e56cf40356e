"""Log-odds of rows that share a normal effect, so that every margin stays as given."""

from __future__ import annotations

import math

import numpy as np

from argmetric._jit import kernel

LANES = 8  # rows side by side
NEAR = 0.5  # log-odds between neighbours of which one starts the other
STEPS = 50


@kernel
def solve_margins(target, factors, weights, tolerance, a):
    """Newton's method for a with log-odds of E[expit(a + effect)] = target, ascending.

    `factors` are the odds of the effects. `a` holds where to start; a row that has its
    neighbour close below starts from that. Steps end with the one after a gap below the
    tolerance, which squares it.
    """
    odds, goal = np.empty(LANES), np.empty(LANES)
    mean, rest, slope = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    gain = 1.0  # of a for the target, at the last row
    for first in range(0, target.shape[0], LANES):
        size = min(LANES, target.shape[0] - first)
        for j in range(LANES):
            goal[j] = target[first + min(j, size - 1)]
        if first > 0 and goal[size - 1] - target[first - 1] < NEAR:
            for j in range(size):
                a[first + j] = a[first - 1] + gain * (goal[j] - target[first - 1])
        for _ in range(STEPS):
            for j in range(LANES):
                odds[j] = math.exp(a[first + min(j, size - 1)])
                mean[j] = rest[j] = slope[j] = 0.0
            for i in range(factors.shape[0]):
                factor, weight = factors[i], weights[i]
                for j in range(LANES):
                    here = odds[j] * factor
                    outside = 1.0 / (1.0 + here)
                    part = weight * here * outside
                    mean[j] += part
                    rest[j] += weight * outside
                    slope[j] += part * outside
            worst = 0.0
            for j in range(size):
                gap = math.log(mean[j]) - math.log(rest[j]) - goal[j]
                gain = mean[j] * rest[j] / slope[j]
                a[first + j] -= gap * gain
                worst = max(worst, abs(gap))
            if worst < tolerance:
                break
