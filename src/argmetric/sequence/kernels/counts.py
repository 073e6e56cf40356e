"""Laws of counts along a Markov chain, for decoding.

`steps[i, h, y]` is the probability of label y at position i after the history h, whose
lowest bit is the latest label. S is the number of ones.
"""

from __future__ import annotations

import numpy as np

from argmetric._ground.jit import kernel


@kernel
def count_joint(steps, joint):
    """joint[i, s] = P(y_i = 1, s ones in all), and the law of s in the last row.

    Forward law of (history, ones so far) times backward law of the ones to come.
    O(n³ · histories / 12) for the convolutions; histories hold one label at least.
    """
    n, histories = steps.shape[0], steps.shape[1]
    after = np.zeros((n + 1, histories, n + 1))
    for h in range(histories):
        after[n, h, 0] = 1.0
    for back in range(n):
        i = n - 1 - back
        for h in range(histories):
            for y in range(2):
                p = steps[i, h, y]
                if p == 0.0:
                    continue
                source = after[i + 1, ((h << 1) | y) & (histories - 1)]
                target = after[i, h]
                for c in range(n - i):
                    target[c + y] += p * source[c]
    joint[n] = after[0, 0]
    now, then = np.zeros((histories, n + 2)), np.zeros((histories, n + 2))
    now[0, 0] = 1.0
    for i in range(n):
        then[:] = 0.0
        for h in range(histories):
            for y in range(2):
                p = steps[i, h, y]
                if p == 0.0:
                    continue
                source, target = now[h], then[((h << 1) | y) & (histories - 1)]
                for c in range(i + 1):
                    target[c + y] += p * source[c]
        row = joint[i]
        for h in range(1, histories, 2):
            future = after[i + 1, h]
            for c in range(i + 2):
                mass = then[h, c]
                if mass == 0.0:
                    continue
                for r in range(n - i):
                    row[c + r] += mass * future[r]
        now, then = then, now


@kernel
def hit_counts(steps, z, law, hits):
    """law[s] = P(S = s) and hits[s] = E[hits of z; S = s]. O(n² · histories).

    Also the number of states (history, s) with a positive probability.
    """
    n, histories = steps.shape[0], steps.shape[1]
    now, then = np.zeros((histories, n + 1)), np.zeros((histories, n + 1))
    now_hits, then_hits = np.zeros((histories, n + 1)), np.zeros((histories, n + 1))
    now[0, 0] = 1.0
    total = 1
    for i in range(n):
        then[:, : i + 2] = 0.0
        then_hits[:, : i + 2] = 0.0
        for h in range(histories):
            for y in range(2):
                p = steps[i, h, y]
                if p == 0.0:
                    continue
                row = ((h << 1) | y) & (histories - 1)
                gain = y * z[i]
                for c in range(i + 1):
                    mass = p * now[h, c]
                    then[row, c + y] += mass
                    then_hits[row, c + y] += p * now_hits[h, c] + gain * mass
        for h in range(histories):
            for c in range(i + 2):
                total += then[h, c] > 0.0
        now, then = then, now
        now_hits, then_hits = then_hits, now_hits
    for h in range(histories):
        law += now[h]
        hits += now_hits[h]
    return total


@kernel
def tilted_joint(steps, tilt, joint):
    """joint[i, q] = E[y_i · exp(-tilt[q] · S)] for the number of ones S.

    A forward-backward pass for each q, with the weight exp(-tilt) on every one,
    scaled at every position. O(n · histories) each.
    """
    n, histories = steps.shape[0], steps.shape[1]
    forward, backward = np.zeros((n + 1, histories)), np.zeros((n + 1, histories))
    scale = np.zeros(n + 1)
    for q in range(tilt.shape[0]):
        weight = np.exp(-tilt[q])
        forward[0, :] = 0.0
        forward[0, 0] = 1.0
        log_total = 0.0
        for i in range(n):
            forward[i + 1, :] = 0.0
            for h in range(histories):
                mass = forward[i, h]
                if mass == 0.0:
                    continue
                forward[i + 1, (h << 1) & (histories - 1)] += mass * steps[i, h, 0]
                forward[i + 1, ((h << 1) | 1) & (histories - 1)] += (
                    mass * steps[i, h, 1] * weight
                )
            size = forward[i + 1].sum()
            if size > 0.0:
                forward[i + 1] /= size
                log_total += np.log(size)
            else:
                log_total = -np.inf
            scale[i + 1] = log_total
        backward[n, :] = 1.0
        log_total = 0.0
        for back in range(n):
            i = n - 1 - back
            inside = 0.0
            for h in range(1, histories, 2):
                inside += forward[i + 1, h] * backward[i + 1, h]
            joint[i, q] = np.exp(scale[i + 1] + log_total) * inside
            size = 0.0
            for h in range(histories):
                backward[i, h] = (
                    steps[i, h, 0] * backward[i + 1, (h << 1) & (histories - 1)]
                    + steps[i, h, 1]
                    * weight
                    * backward[i + 1, ((h << 1) | 1) & (histories - 1)]
                )
                size = max(size, backward[i, h])
            if size > 0.0:
                backward[i] /= size
                log_total += np.log(size)
            else:
                log_total = -np.inf
