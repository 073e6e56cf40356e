"""What one row brings to a class of k rows, exactly."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

from argmetric._jit import kernel


@kernel
def weights_at(p, k, a, b_k, b_t, mu, x, w, out):
    """a·p_i·E[1/(b_k·k + b_t·(1 + T_-i))] of every row, T_-i the other true rows."""
    scale = b_k * k + b_t * (1.0 + mu)
    out[:] = 0.0
    for q in range(x.shape[0]):
        s = math.exp(-x[q] * b_t / scale)
        now = w[q] * a / scale * math.exp(-x[q] * (b_k * k + b_t) / scale)
        for i in range(p.shape[0]):
            now *= 1.0 - p[i] * (1.0 - s)
        for i in range(p.shape[0]):
            out[i] += now * p[i] / (1.0 - p[i] * (1.0 - s))
