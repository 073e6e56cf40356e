"""Short segments: tables of the metric's values, one per size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import ModuleType

import numpy as np

from argmetric._segments import Floats, Integers, Segments
from argmetric.metrics import AffineForm, Metric

CUBIC_LIMIT = 24  # up to this size the cubic table beats the quadratic one


class Tables:
    """Values of one metric on all cells of a size, made when first asked for."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self._kept: dict[tuple[int, int], tuple[Floats, Floats | None]] = {}
        self._kept_per_hit: dict[
            tuple[int, int], tuple[Floats, Floats, Floats | None]
        ] = {}

    def of(self, m: int, n: int) -> tuple[Floats, Floats | None]:
        """value(a, k, a+r, n) at [k, a, r], 0 where undefined; and 1 where defined.

        The second is None where every cell is defined.
        """
        if (m, n) not in self._kept:
            k, a, r = np.ogrid[: m + 1, : m + 1, : m + 1]
            cells = np.nonzero((a <= k) & (r <= m - k))
            values = self.metric.value(cells[1], cells[0], cells[1] + cells[2], n)
            table = np.zeros((m + 1, m + 1, m + 1))
            table[cells] = np.nan_to_num(values, nan=0.0)
            defined = None
            if np.isnan(values).any():
                defined = np.zeros_like(table)
                defined[cells] = ~np.isnan(values)
            self._kept[m, n] = table, defined
        return self._kept[m, n]

    def per_hit(self, m: int, n: int) -> tuple[Floats, Floats, Floats | None]:
        """For a metric proportional to tp: value per hit at [k, t].

        Second, its value where no hit is possible; third as in `of`.
        """
        if (m, n) not in self._kept_per_hit:
            k, t = np.mgrid[: m + 1, : m + 1]
            most = np.minimum(k, t)
            values = self.metric.value(most, k, t, n)
            undefined = np.isnan(values)
            values[undefined] = 0.0
            defined = (~undefined).astype(np.float64) if undefined.any() else None
            self._kept_per_hit[m, n] = (
                np.where(most > 0, values / np.maximum(most, 1), 0.0),
                np.where(most > 0, 0.0, values),
                defined,
            )
        return self._kept_per_hit[m, n]


def by_size(
    segments: Segments, longest: int, shortest: int = 0
) -> Iterator[tuple[int, int, Integers]]:
    """(m, n, segments of that size) for all sizes m from shortest to longest."""
    lengths = segments.lengths
    chosen = np.flatnonzero((lengths >= shortest) & (lengths <= longest))
    if not chosen.size:
        return
    keys = np.stack([segments.sizes[chosen], lengths[chosen]])
    order = (
        np.lexsort(keys)
        if (keys[0] != keys[1]).any()
        else np.argsort(keys[1].astype(np.uint16), kind="stable")
    )
    chosen, keys = chosen[order], keys[:, order]
    ends = np.flatnonzero(np.diff(keys, axis=1).any(axis=0)) + 1
    for group in np.split(np.arange(chosen.size), ends):
        n, m = keys[:, group[0]]
        yield int(m), int(n), chosen[group]


def table_curves(
    segments: Segments, tables: Tables, longest: int, out: Floats, backend: ModuleType
) -> None:
    """E[value | defined] of every segment of at most `longest` items, into `out`."""
    mass = None
    for m, n, chosen in by_size(segments, longest):
        table, defined = tables.of(m, n)
        arguments = (segments.p, segments.q, segments.indptr, chosen)
        backend.table_curves(*arguments, table, out)
        if defined is not None:
            if mass is None:
                mass = np.ones_like(out)
            backend.table_curves(*arguments, defined, mass)
    if mass is not None:
        divide_defined(out, mass)


def divide_defined(out: Floats, mass: Floats) -> None:
    """From E[value; defined] to E[value | defined], in place."""
    undefined = mass <= 0.0
    mass[undefined] = 1.0
    np.divide(out, mass, out=out, where=mass != 1.0)
    out[undefined] = math.nan


def hit_curves(
    segments: Segments, tables: Tables, longest: int, out: Floats, backend: ModuleType
) -> None:
    """The same for a metric proportional to tp, longer segments by quadratic tables."""
    table_curves(segments, tables, CUBIC_LIMIT, out, backend)
    mass = None
    likely = np.concatenate([[0], np.cumsum(segments.p > 0.5)])[segments.indptr]
    n_likely = np.diff(likely)
    for m, n, chosen in by_size(segments, longest, CUBIC_LIMIT + 1):
        # Neighbours run side by side, best with as many items above one half.
        chosen = chosen[np.argsort(n_likely[chosen].astype(np.uint16), kind="stable")]
        slope, offset, defined = tables.per_hit(m, n)
        arguments = (segments.p, segments.q, segments.indptr, chosen)
        backend.affine_curves(*arguments, slope, offset, ~offset.any(axis=1), out)
        if defined is not None:
            if mass is None:
                mass = np.ones_like(out)
            never = np.zeros(m + 1, dtype=bool)
            backend.affine_curves(*arguments, 0.0 * slope, defined, never, mass)
    if mass is not None:
        divide_defined(out, mass)


def affine_tables(
    segments: Segments, form: AffineForm, longest: int, out: Floats, backend: ModuleType
) -> None:
    """Curves over 0 < k < n of the outcomes with 0 < T < n, for middling segments."""
    for m, n, chosen in by_size(segments, longest):
        slope, intercept = np.zeros((2, m + 1, m + 1))
        inner = slice(1, min(m + 1, n))  # 0 < k < n and 0 < t < n
        counts = np.arange(m + 1.0)[inner]
        k, t = counts[:, None], counts[None, :]
        slope[inner, inner] = form.slope(k, t, float(n))
        intercept[inner, inner] = form.intercept(k, t, float(n))
        backend.affine_curves(
            segments.p,
            segments.q,
            segments.indptr,
            chosen,
            slope,
            intercept,
            ~intercept.any(axis=1),
            out,
        )
