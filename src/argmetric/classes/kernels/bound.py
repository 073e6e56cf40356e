"""What one row brings to a class of k rows, exactly."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import kernel


@kernel
def weights_at(p, k, a, b_k, b_t, mu, x, w, out):
    """a·p_i·E[1/(b_k·k + b_t·(1 + T_-i))] of every row, T_-i the other true rows."""
    Q = x.shape[0]
    scale = b_k * k + b_t * (1.0 + mu)
    away, now = np.empty(Q), np.empty(Q)
    for q in range(Q):
        away[q] = 1.0 - math.exp(-x[q] * b_t / scale)
        now[q] = w[q] * a / scale * math.exp(-x[q] * (b_k * k + b_t) / scale)
    for i in range(p.shape[0]):
        for q in range(Q):
            now[q] *= 1.0 - p[i] * away[q]
    for i in range(p.shape[0]):
        total = 0.0
        for q in range(Q):
            total += now[q] / (1.0 - p[i] * away[q])
        out[i] = p[i] * total
