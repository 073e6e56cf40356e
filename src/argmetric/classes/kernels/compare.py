"""Two labellings against the same drawn truths, counted by true class and label."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from argmetric._ground.jit import kernel
from argmetric._ground.jit.hashing import draw

SPARE_BITS = np.uint64(11)  # 53 bits make a float from 0 to 1
UNIT = 2.0**-53


@kernel
def truths_of_both(p, starts, groups, one, other, n_draws, most, state, tables, chance):
    """Truths of groups, counted by true class and label of two labellings.

    A group with at most `most` truths has them all, with their chances; another has
    n_draws[g] that are drawn. Rows of `chance` end in zeros where there are fewer.
    """
    C = p.shape[1]
    for at in range(groups.size):
        g = groups[at]
        n = starts[g + 1] - starts[g]
        count = 1
        for _ in range(n):
            count *= C
            if count > most:
                break
        listed = count <= most
        total = count if listed else n_draws[at]
        chance[at, :total] = 1.0
        for i in range(starts[g], starts[g + 1]):
            for d in range(total):
                if listed:  # the digits of d, the last row's first
                    c = d // C ** (starts[g + 1] - 1 - i) % C
                    chance[at, d] *= p[i, c]
                else:
                    u = (draw(state) >> SPARE_BITS) * UNIT
                    c = 0
                    while c < C - 1 and u >= p[i, c]:
                        u -= p[i, c]
                        c += 1
                tables[0, at, d, c, one[i]] += 1.0
                tables[1, at, d, c, other[i]] += 1.0
