"""Two labellings against the same drawn truths, counted by true class and label."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from argmetric._jit import kernel
from argmetric._jit.hashing import draw

SPARE_BITS = np.uint64(11)  # 53 bits make a float from 0 to 1
UNIT = 2.0**-53


@kernel
def draw_both(p, first, last, one, other, state, tables):
    """Add the rows of a group to tables[0] by `one` and to tables[1] by `other`."""
    C = p.shape[1]
    for i in range(first, last):
        for d in range(tables.shape[1]):
            u = (draw(state) >> SPARE_BITS) * UNIT
            c = 0
            while c < C - 1 and u >= p[i, c]:
                u -= p[i, c]
                c += 1
            tables[0, d, c, one[i]] += 1.0
            tables[1, d, c, other[i]] += 1.0
