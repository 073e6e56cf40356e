"""From a tensor to rows of one length: a matrix, or groups padded with p = 0."""

from __future__ import annotations

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
    """Rows of one length: which segments they are, and their true sizes."""

    segments: slice | Tensor
    sizes: Integers
    cells: Tensor | None  # place of every cell in the flat input; None: in order
    length: int


def distinct_sizes(sizes: Integers) -> tuple[Integers, Integers | None]:
    """Sizes that occur, and the place of each row among them; None if there is one.

    A million rows of one length come as one number that stands for all.
    """
    if sizes.strides == (0,) or sizes.size == 1:
        return sizes[:1], None
    distinct, place = np.unique(sizes, return_inverse=True)
    return distinct, place.ravel() if distinct.size > 1 else None


class SegmentedTensor:
    """A tensor as segments of which the metric is computed one by one."""

    def __init__(self, x: Tensor, average: str | None, groups: Any, name: str) -> None:
        self.xp = namespace(x)
        self.shape, self.average = tuple(x.shape), average
        self.order: Tensor | None = None
        self.group_ids: Tensor | None = None
        if x.ndim == 2:
            check_matrix_average(groups, average)
            self.count, self.length = {
                "samples": self.shape,
                "macro": self.shape[::-1],
                "micro": (1, self.shape[0] * self.shape[1]),
            }[str(average)]
        elif groups is None:
            if average is not None:
                raise ValueError(
                    f"average={shown(average)} needs groups, or {name} as a matrix"
                )
            self.count, self.length = 1, self.shape[0]
        else:
            self.average = average = "groups" if average is None else average
            check_choice(average, "average", ("groups", "pooled"))
            self.count, self.length = 1, self.shape[0]
            self._read_groups(groups, x, name)
        if self.group_ids is None:
            self.sizes = np.broadcast_to(self.length, self.count)

    def _read_groups(self, groups: Any, x: Tensor, name: str) -> None:
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
        order = xp.argsort(groups, stable=True)
        ordered = xp.take(groups, order, axis=0)
        places = like(xp, np.arange(self.shape[0]), x, xp.int64)
        starts = places[1:][ordered[1:] != ordered[:-1]]
        bounds = np.concatenate([[0], to_host(starts), [self.shape[0]]]).astype(int)
        self.order = order
        self.group_ids = xp.unique_values(groups) if names is None else names
        self.sizes, self.starts = np.diff(bounds), bounds[:-1]
        self.count = self.sizes.size

    @property
    def distinct(self) -> Integers:
        """Sizes that occur, ascending."""
        return distinct_sizes(self.sizes)[0]

    def rows(self, x: Tensor) -> Tensor:
        """A tensor of the shape of the input, one row per segment of equal length."""
        if self.average == "macro":
            return self.xp.permute_dims(x, (1, 0))
        return self.xp.reshape(x, (self.count, self.length))

    def parts(self, cells_at_once: int | None = None) -> Iterator[Part]:
        """Rows in parts that fit in memory; groups by sizes up to a power of two."""
        cells_at_once = cells_at_once or CELLS_AT_ONCE
        if self.group_ids is None:
            step = max(cells_at_once // self.length, 1)
            for first in range(0, self.count, step):
                some = slice(first, min(first + step, self.count))
                yield Part(some, self.sizes[some], None, self.length)
            return
        widths = 1 << np.ceil(np.log2(self.sizes)).astype(int)
        for width in np.unique(widths).tolist():
            chosen = np.flatnonzero(widths == width)
            step = max(CELLS_AT_ONCE // width, 1)
            for first in range(0, chosen.size, step):
                group = chosen[first : first + step]
                order = self.order
                assert order is not None
                starts = like(self.xp, self.starts[group], order, order.dtype)
                items = like(self.xp, np.arange(width), order, order.dtype)
                cells = self.xp.clip(
                    starts[:, None] + items[None, :], None, self.shape[0] - 1
                )
                flat = self.xp.take(order, self.xp.reshape(cells, (-1,)), axis=0)
                cells = self.xp.reshape(flat, (group.size, width))
                segments = like(self.xp, group, order, order.dtype)
                yield Part(segments, self.sizes[group], cells, width)

    def take(self, x: Tensor, part: Part, fill: float) -> Tensor:
        """Cells of a part in float rows, `fill` behind the true sizes."""
        xp = self.xp
        if part.cells is None:
            return self.rows(x)[part.segments, :]
        flat = xp.take(x, xp.reshape(part.cells, (-1,)), axis=0)
        rows = xp.reshape(flat, part.cells.shape)
        items = like(xp, np.arange(part.length), part.cells)
        sizes = like(xp, part.sizes, part.cells)
        return xp.where(items[None, :] < sizes[:, None], rows, fill)

    def gather(self, parts: list[tuple[Part, Tensor]]) -> Tensor:
        """One value per segment from the values of the parts."""
        values = self._joined([value for _, value in parts])
        if self.group_ids is not None:
            places = [part.segments for part, _ in parts]
            back = self.xp.argsort(self.xp.concat(places, axis=0))
            values = self.xp.take(values, back, axis=0)
        return values[0] if self.single else values

    def _joined(self, values: list[Tensor]) -> Tensor:
        return values[0] if len(values) == 1 else self.xp.concat(values, axis=0)

    @property
    def single(self) -> bool:
        """Whether all cells are one segment."""
        return self.average in (None, "pooled", "micro")

    def restore(self, parts: list[tuple[Part, Tensor]]) -> Tensor:
        """Cells in the shape of the input from the rows of the parts."""
        xp = self.xp
        if self.group_ids is None:
            rows = self._joined([rows for _, rows in parts])
            if self.average == "macro":
                return xp.permute_dims(rows, (1, 0))
            return xp.reshape(rows, self.shape)
        places, values = [], []
        for part, rows in parts:
            items = like(xp, np.arange(part.length), part.cells)
            valid = items[None, :] < like(xp, part.sizes, part.cells)[:, None]
            places.append(part.cells[valid])  # type: ignore[index]
            values.append(rows[valid])
        back = xp.argsort(xp.concat(places, axis=0))
        return xp.take(xp.concat(values, axis=0), back, axis=0)
