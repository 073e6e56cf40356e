"""From a tensor to rows of one length: a matrix, or groups padded with p = 0."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._ground.arguments import check_choice, shown
from argmetric._ground.layout import check_matrix_average
from argmetric._ground.types import Integers
from argmetric.tensors._arrays import Tensor, like, namespace, to_host

CELLS_AT_ONCE = 1 << 23  # cells of rows worked on at a time: 64 MB in float64


@dataclass(frozen=True)
class Part:
    """Segments as padded rows of one length, with their true sizes."""

    segments: slice | Tensor
    sizes: Integers
    cells: Tensor  # place of every cell in the flat input; None: in order
    length: int

    def inside(self, xp: object) -> Tensor:
        """Return which entries of rows of groups are not padding."""
        items = like(xp, np.arange(self.length), self.cells)
        return items[None, :] < like(xp, self.sizes, self.cells)[:, None]


def distinct_sizes(sizes: Integers) -> tuple[Integers, Integers | None]:
    """Return the distinct sizes, and the index of each row's; None if only one.

    A million rows of one length come as one number that stands for all.
    """
    if sizes.strides == (0,) or sizes.size == 1:
        return sizes[:1], None
    distinct, place = np.unique(sizes, return_inverse=True)
    return distinct, place.ravel() if distinct.size > 1 else None


class SegmentedTensor:
    """A tensor as segments of which the metric is computed one by one."""

    def __init__(
        self, x: Tensor, average: str | None, groups: object, name: str
    ) -> None:
        self.xp = namespace(x)
        self.shape, self.average = tuple(x.shape), average
        self.count, self.length = 1, math.prod(self.shape)
        self.group_ids: Tensor = None
        if x.ndim == 2:
            check_matrix_average(groups, average)
            if average != "micro":
                sides = self.shape if average == "samples" else self.shape[::-1]
                self.count, self.length = sides
        elif groups is not None:
            self.average = "groups" if average is None else average
            check_choice(self.average, "average", ("groups", "pooled"))
            self._read_groups(groups, x, name)
        elif average is not None:
            raise ValueError(
                f"average={shown(average)} needs groups, or {name} as a matrix"
            )
        if self.group_ids is None:
            self.sizes = np.broadcast_to(self.length, self.count)

    def _read_groups(self, groups: Any, x: Tensor, name: str) -> None:
        """Sort the rows by group, and set where each group begins."""
        xp = self.xp
        if not hasattr(groups, "shape"):
            groups = np.asarray(groups)
        if tuple(groups.shape) != self.shape:
            rows = groups.shape[0] if len(groups.shape) else 0
            raise ValueError(f"groups has {rows} rows but {name} has {self.shape[0]}")
        if self.average == "pooled":
            return
        names: Any = None  # of groups that are no tensor, such as text
        if isinstance(groups, np.ndarray):
            names, codes = np.unique(groups, return_inverse=True)
            groups = like(xp, codes.ravel(), x, xp.int64)
        elif groups.device != x.device:
            raise ValueError(
                f"groups are on {groups.device} but {name} is on {x.device}"
            )
        self.order = xp.argsort(groups, stable=True)
        ordered = xp.take(groups, self.order, axis=0)
        places = like(xp, np.arange(self.shape[0]), x, xp.int64)
        starts = places[1:][ordered[1:] != ordered[:-1]]
        bounds = np.concatenate([[0], to_host(starts), [self.shape[0]]]).astype(int)
        self.group_ids = xp.unique_values(groups) if names is None else names
        self.sizes, self.starts = np.diff(bounds), bounds[:-1]

    @property
    def distinct(self) -> Integers:
        """Sizes that occur, ascending."""
        return distinct_sizes(self.sizes)[0]

    def parts(self, most: int | None = None) -> Iterator[Part]:
        """Yield parts that fit in memory; groups are padded to a power of two."""
        if self.group_ids is None:
            step = most or max(CELLS_AT_ONCE // self.length, 1)
            for first in range(0, self.count, step):
                some = slice(first, min(first + step, self.count))
                yield Part(some, self.sizes[some], None, self.length)
            return
        xp, order = self.xp, self.order
        widths = 1 << np.ceil(np.log2(self.sizes)).astype(int)
        for width in np.unique(widths).tolist():
            chosen = np.flatnonzero(widths == width)
            step = most or max(CELLS_AT_ONCE // width, 1)
            for first in range(0, chosen.size, step):
                group = chosen[first : first + step]
                starts, items, places = (
                    like(xp, values, order)
                    for values in (self.starts[group], np.arange(width), group)
                )
                cells = starts[:, None] + items[None, :]
                cells = xp.clip(xp.reshape(cells, (-1,)), None, self.shape[0] - 1)
                cells = xp.reshape(xp.take(order, cells, axis=0), (-1, width))
                yield Part(places, self.sizes[group], cells, width)

    def take(self, x: Tensor, part: Part, fill: float) -> Tensor:
        """Return the entries of a part in padded rows, `fill` behind the sizes."""
        xp = self.xp
        if part.cells is None:
            by_label = self.average == "macro"
            rows = xp.permute_dims(x, (1, 0)) if by_label else x
            return xp.reshape(rows, (self.count, self.length))[part.segments, :]
        flat = xp.take(x, xp.reshape(part.cells, (-1,)), axis=0)
        return xp.where(part.inside(xp), xp.reshape(flat, part.cells.shape), fill)

    def gather(self, found: list[tuple[Part, tuple[Tensor, ...]]]) -> list[Tensor]:
        """Join results of the parts: one tensor, in the order of segments, per result.

        found : list of (part, results)
            The results of a part are tensors with one entry for each of its segments.
        """
        xp, out = self.xp, []
        for values in zip(*(results for _, results in found), strict=True):
            joined = self._concat(list(values))
            if self.group_ids is not None:
                places = xp.concat([part.segments for part, _ in found], axis=0)
                joined = xp.take(joined, xp.argsort(places), axis=0)
            single = self.average in (None, "pooled", "micro")
            out.append(joined[0] if single else joined)
        return out

    def _concat(self, values: list[Tensor]) -> Tensor:
        return values[0] if len(values) == 1 else self.xp.concat(values, axis=0)

    def restore(self, parts: list[tuple[Part, Tensor]]) -> Tensor:
        """Return entries in the shape of the input, from the rows of the parts."""
        xp = self.xp
        if self.group_ids is None:
            rows = self._concat([rows for _, rows in parts])
            if self.average == "macro":
                return xp.permute_dims(rows, (1, 0))
            return xp.reshape(rows, self.shape)
        places, values = [], []
        for part, rows in parts:
            inside = part.inside(xp)
            places.append(part.cells[inside])
            values.append(rows[inside])
        back = xp.argsort(self._concat(places))
        return xp.take(self._concat(values), back, axis=0)
