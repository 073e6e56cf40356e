"""Drawn true classes of rows, counted by true class and label."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from argmetric._jit import kernel
from argmetric._jit.hashing import draw

SPARE_BITS = np.uint64(11)  # 53 bits make a float from 0 to 1
UNIT = 2.0**-53


@kernel
def draw_tables(p, first, last, labels, state, tables):
    """Add the rows of a group to every table, each with a drawn true class."""
    for i in range(first, last):
        for d in range(tables.shape[0]):
            u = (draw(state) >> SPARE_BITS) * UNIT
            c = 0
            while c < p.shape[1] - 1 and u >= p[i, c]:
                u -= p[i, c]
                c += 1
            tables[d, c, labels[i]] += 1.0
