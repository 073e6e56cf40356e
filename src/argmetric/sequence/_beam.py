"""Approximate decoding: Algorithm 1 of Jansche (2007) with beams, and its bound.

The n + 1 hypotheses take labels by falling probability. The expectation of each is run
with the L most probable states of every position, O(n·L), so that decoding takes
O(n²·L) steps. The dropped probability is bounded, and so is the loss of the decoder.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from argmetric._ground.types import Floats, Integers
from argmetric.sequence._expectation import Expectation, bound_mean, expected
from argmetric.sequence._models import Chain
from argmetric.sequence._runs import MAX_CELLS, Outcome
from argmetric.sequence._utilities import CountUtility, SimpleFunction


@dataclass(frozen=True, eq=False)
class BeamChoice:
    """Labels with a lower bound `sure` on their utility, and a bound for any labels.

    `curve` has the lower bound for the hypothesis of every size, shape (n + 1,).
    """

    labels: Integers
    sure: float
    bound: float
    curve: Floats
    n_states: int


def decode_by_beam(
    function: SimpleFunction, chain: Chain, width: int, *, ranked: bool
) -> BeamChoice:
    """Return the best of the n + 1 hypotheses, by the expectation within the beam.

    A loss is compared by its upper bound, since the kept part alone would be least
    where most is dropped. `ranked` says that no other labels are better than the best
    of these; otherwise other labels are not bounded.
    """
    n, sign = chain.n, 1.0 if function.greater_is_better else -1.0
    layers = None
    if isinstance(function, CountUtility):
        layers = CountLayers(function, chain, width)
    order = np.argsort(-chain.marginals(), kind="stable")
    labels = np.zeros(n, dtype=np.int64)
    curve, hopes, kept = np.empty(n + 1), np.empty(n + 1), np.empty(n + 1)
    n_states = 0
    for k in range(n + 1):
        labels[order[k - 1 : k]] = 1
        if layers is not None:
            found = layers.expected(labels)
        else:
            found = expected(function, labels, chain, width)
        n_states += found.n_states
        curve[k], hopes[k] = found.bounds if sign > 0 else found.bounds[::-1]
        kept[k] = found.partial if sign > 0 else -found.bounds.high
    best = 0
    if not np.isnan(kept).all():
        # ties go to the fewest labels, also up to rounding
        top = float(np.nanmax(kept))
        best = int(np.argmax(kept >= top - 1e-12 * abs(top)))
    labels[order[best:]] = 0
    bound = sign * math.inf
    if ranked and not np.isnan(hopes).all():
        bound = sign * float(np.nanmax(sign * hopes))
    return BeamChoice(labels, float(curve[best]), bound, curve, n_states)


class CountLayers:
    """Expectations of a metric of counts, for one hypothesis after another.

    All layers of states are kept. A hypothesis that differs from the last one at
    position i only needs those after i (Jansche 2007, footnote 4).
    """

    def __init__(self, function: CountUtility, chain: Chain, width: int) -> None:
        n, histories = chain.n, 1 << chain.order
        self.function, self.chain = function, chain
        self.width, widest = width, histories * ((n + 2) ** 2 // 4)
        width = min(width, widest)
        if (n + 1) * (2 * width + 2) > MAX_CELLS:
            raise ValueError(
                f"beam={self.width} keeps {2 * width:,} states at each of {n:,} "
                "labels, which takes too much memory: lower it, or leave it out for "
                "exact decoding"
            )
        self._z: Integers | None = None
        self._kept_width = width
        self._keys = np.zeros((n + 1, 2 * width + 2), dtype=np.int64)
        self._mass = np.zeros(self._keys.shape)
        self._mass[0, 0] = 1.0
        self._sizes, self._kept = np.ones((2, n + 1), dtype=np.int64)

    def expected(self, z: Integers) -> Expectation:
        """Return the expectation of a hypothesis; `n_states` counts the new states."""
        return bound_mean(self._run(z), self.width)

    def _run(self, z: Integers) -> Outcome:
        """Count hits and misses of z, layer by layer.

        Layers up to the first label that differs from the last call's are reused. The
        dropped states are bounded by the lowest and highest utility that they could
        reach.
        """
        from argmetric.sequence.kernels.automata import count_layers, dropped_counts

        n, first = self.chain.n, 0
        if self._z is not None:
            first = int(np.append(np.flatnonzero(z != self._z), n)[0])
        self._z = z.copy()
        states = self._keys, self._mass, self._sizes, self._kept
        total = int(
            count_layers(self.chain.steps, self._z, first, self._kept_width, *states)
        )
        tables = self.function.tables(z)
        low = high = tables.values()[0]
        down, up = tables.down, tables.up
        if down is None or up is None:
            down = up = np.zeros(0, dtype=np.int64)
            worst, best = self.function.bounds(z)
            low, high = np.array([worst]), np.array([best])
        zeros = n - int(z.sum())
        lost = dropped_counts(*states, zeros, low, high, down, up)
        size = self._sizes[n]
        hits, misses = divmod(self._keys[n, :size] % (n + 1) ** 2, n + 1)
        values = self.function.counts.value(hits, n - zeros, hits + misses, n)
        return Outcome(values, self._mass[n, :size].copy(), total, *lost)
