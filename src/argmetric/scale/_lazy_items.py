"""Rows of a lazy table of any engine: each question about them is one aggregate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from argmetric._expected import FIRST_BINS, Array, Items, RankedItems
from argmetric._forecast.distributions import CountPMF
from argmetric._ground.discrete import ROUNDING
from argmetric._ground.labels import missing_labels
from argmetric._ground.types import AnyArray, Booleans, Floats, Integers
from argmetric._verbs.decide import SegmentCounts

MOST_SORTED = 1 << 21  # rows near the cut that are looked at one by one
MOST_VALUES = 1 << 22  # distinct values that are fetched at once
MOST_LABELS = 100  # kinds of labels that are fetched
MOST_SCANNED = 1 << 22  # labelled rows whose scores are all looked at
BINS = 1 << 14  # of scores, where they are not those of a decision


class Rows:
    """Columns of a lazy table under internal names, checked in a first pass.

    Parameters
    ----------
    table : narwhals LazyFrame
        The table.
    columns : dict of str to str
        Its columns by what they are: p and g are scores and groups, y and d true
        labels and decisions, by which rows are counted.
    kind : {"p", "logit", "finite"}
        Probabilities, log-odds, or any finite scores.
    in_bins : bool
        Whether the pass may count the scores in `FIRST_BINS`, which `first` then has:
        a missing score, or one out of range, would have a bin of its own.
    """

    first: dict[str, AnyArray] | None = None

    def __init__(
        self,
        table: nw.LazyFrame[Any],
        columns: dict[str, str],
        kind: str = "p",
        *,
        in_bins: bool = False,
    ) -> None:
        schema = dict(table.collect_schema())
        p = nw.col("p")
        own = {name: nw.col(column) for name, column in columns.items()}
        facts, gaps = {"n": nw.len()}, {}
        for name in set(columns) & {"p", "g"}:
            dtype, gap = schema[columns[name]], nw.col(name).is_null()
            if name == "p" or dtype.is_float():
                gap = gap | nw.col(name).is_nan()
            gaps[f"gaps {name}"] = gap.cast(nw.Int64)
            facts[f"gaps {name}"] = nw.col(f"gaps {name}").sum()
        if "p" in columns:
            if not (dtype := schema[columns["p"]]).is_numeric() and dtype != nw.Boolean:
                raise ValueError(f"column {columns['p']!r} holds {dtype}, not numbers")
            own["p"] = own["p"].cast(nw.Float64)
            facts |= {"low": p.min(), "high": p.max()}
        self.passes, self.columns, self.frame = 0, columns, table.select(**own)
        if in_bins and self._count_in_bins():
            return
        keys = [name for name in ("y", "d") if name in columns]
        frame = self.frame.with_columns(**gaps) if gaps else self.frame
        if keys:
            found = self.ask(frame.group_by(keys).agg(**facts), MOST_LABELS)
        else:
            found = self.ask(frame.select(**facts))
        self.counts: Integers = _array(found["n"]).astype(np.int64)
        self.n = int(self.counts.sum())
        if not self.n:
            raise ValueError("the table is empty: there are no rows")
        self.labels: dict[str, AnyArray]
        self.labels = {name: self._labels(name, found[name]) for name in keys}
        for name in set(columns) & {"p", "g"}:
            count = _array(found[f"gaps {name}"]).astype(np.int64).sum()
            self._refuse_gaps(name, int(count))
        if "p" in columns:
            ends = _array(found["low"]).min(), _array(found["high"]).max()
            self.low, self.high = map(float, ends)
            self._check_range(kind)

    def _count_in_bins(self) -> bool:
        """Return whether all scores are in the first bins, which are then counted."""
        low, scale, bins = FIRST_BINS
        found = self.numbers(moments_in_bins(self.frame, low, scale).head(bins + 1))
        at = found["bin"].astype(float)
        if not at.size or at.size > bins or not ((at >= 0) & (at < bins)).all():
            return False  # another pass says what is wrong
        if (found["x"][at == bins - 1] > found["rows"][at == bins - 1] * scale).any():
            return False
        self.n, self.first = int(found["rows"].sum()), found
        return True

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Return the smallest and the largest probability."""
        if self.first is None:
            return self.low, self.high
        p = nw.col("p")
        found = self.numbers(self.frame.select(low=p.min(), high=p.max()))
        return float(found["low"][0]), float(found["high"][0])

    def _labels(self, name: str, values: pa.Array) -> AnyArray:
        """Return the distinct labels of the rows that were counted."""
        if hasattr(values, "dictionary_decode"):
            values = values.dictionary_decode()
        labels = _array(values)
        gaps = _array(values.is_null()) | missing_labels(labels)
        self._refuse_gaps(name, int(self.counts[gaps].sum()))
        return labels

    def _refuse_gaps(self, name: str, gaps: int) -> None:
        """Refuse a column with missing values."""
        if gaps:
            raise ValueError(
                f"column {self.columns[name]!r} is missing (NULL or NaN) in {gaps:,} "
                f"of {self.n:,} rows: drop or fill them first"
            )

    def _check_range(self, kind: str) -> None:
        """Refuse scores out of range; clip those that rounding left out."""
        low, high = self.low, self.high
        range_ = f"column {self.columns['p']!r} is from {low:g} to {high:g}"
        if kind == "finite" and not math.isfinite(high - low):
            raise ValueError(f"{range_}: scores must be finite")
        if kind != "p" or (low >= 0.0 and high <= 1.0):
            return
        if low < -ROUNDING or high > 1.0 + ROUNDING:
            raise ValueError(
                f"{range_}, outside of [0, 1]: probabilities are needed, or logits=True"
            )
        self.low, self.high = max(low, 0.0), min(high, 1.0)
        self.frame = self.frame.with_columns(p=nw.col("p").clip(0.0, 1.0))

    def ask(self, frame: nw.LazyFrame[Any], most: int = MOST_VALUES) -> dict[str, Any]:
        """Return the columns of a small lazy frame as Arrow arrays, by one pass."""
        self.passes += 1
        table = frame.head(most + 1).collect(backend="pyarrow").to_native()
        if table.num_rows > most:
            raise ValueError(
                f"more than {most:,} distinct values would have to be fetched: round "
                "the scores, or see that the columns of labels hold labels"
            )
        return {name: table[name].combine_chunks() for name in table.column_names}

    def numbers(self, frame: nw.LazyFrame[Any]) -> dict[str, AnyArray]:
        """Return the columns of a small lazy frame as arrays of numbers."""
        return {name: _array(column) for name, column in self.ask(frame).items()}

    def check_rows(self, found: float, wanted: float) -> None:
        """Refuse a table that has other rows than in an earlier pass."""
        if int(found) != int(wanted):
            raise ValueError(
                f"the table changes while it is read: {int(found):,} rows where an "
                f"earlier pass found {int(wanted):,}; write it to files first"
            )

    def values(self, frame: nw.LazyFrame[Any], **more: Any) -> list[Any]:
        """Return the distinct p, ascending, their numbers of rows, and sums of more."""
        found = self.numbers(frame.group_by("p").agg(rows=nw.len(), **more))
        order = np.argsort(found["p"], kind="stable")
        sums = [found[name][order].astype(np.int64) for name in ("rows", *more)]
        return [found["p"][order].astype(float), *sums]

    def label_bins(self, low: float, high: float, n: float, exactly: bool) -> Floats:
        """Return [low, high, rows, positives] of bins between two scores."""
        p, positive = nw.col("p"), nw.col("y").sum()
        part = self.frame.filter(p >= low, p <= high)
        if exactly:
            values, times, hits = self.values(part, hits=positive)
            bins = np.stack([values, values, times, hits], axis=1)
        else:
            sums = {"low": p.min(), "high": p.max(), "rows": nw.len(), "hits": positive}
            part = part.with_columns(bin=((p - low) * (BINS / (high - low))).floor())
            found = self.numbers(part.group_by("bin").agg(**sums))
            bins = np.stack([found[name].astype(float) for name in sums], axis=1)
            bins = bins[np.argsort(bins[:, 0])]
        self.check_rows(bins[:, 2].sum(), n)
        return bins

    def between(self, low: float, high: float) -> nw.LazyFrame[Any]:
        """Return the rows with low ≤ p < high."""
        return self.frame.filter(nw.col("p") >= low, nw.col("p") < high)

    def mark(self, **positive: Booleans) -> nw.LazyFrame[Any]:
        """Return the rows with 1 where a label is one of the positive ones, else 0."""
        marks = {}
        for name, chosen in positive.items():
            found = nw.lit(False)
            for label in self.labels[name][chosen].tolist():
                found = found | (nw.col(name) == label)
            marks[name] = found.cast(nw.Int64)
        return self.frame.with_columns(**marks)

    def group_counts(self, true: Booleans, chosen: Booleans) -> SegmentCounts:
        """Return the counts of every group; equal ones are fetched once."""
        both = nw.col("y") * nw.col("d")
        rows = self.mark(y=true, d=chosen).with_columns(hit=both)
        names: tuple[str, ...] = ("hit", "d", "y")
        sums = {name: nw.col(name).sum() for name in names}
        groups = rows.group_by("g").agg(**sums, n=nw.len())
        found = self.numbers(groups.group_by(*names, "n").agg(times=nw.len()))
        times = found["times"].astype(np.int64)
        parts = [found[name].astype(np.int64) for name in (*names, "n")]
        self.check_rows(np.dot(parts[-1], times), self.n)
        hit, k, t, sizes = (np.repeat(part.astype(float), times) for part in parts)
        return SegmentCounts(hit, k, t, sizes)


def _array(column: pa.Array) -> AnyArray:
    """Return an Arrow array as one of numpy."""
    array: AnyArray = column.to_numpy(zero_copy_only=False)
    return array


def moments_in_bins(
    frame: nw.LazyFrame[Any], low: float, scale: float, *keys: str
) -> nw.LazyFrame[Any]:
    """Return numbers of rows and sums of powers of x = (p - low)·scale by bin of x."""
    x = (nw.col("p") if low == 0.0 else nw.col("p") - low) * scale
    frame = frame.select(*keys, bin=x.floor(), x=x, x2=x * x, x3=x * x * x)
    sums = {name: nw.col(name).sum() for name in ("x", "x2", "x3")}
    return frame.group_by(*keys, "bin").agg(rows=nw.len(), **sums)


def central(found: dict[str, Any], about: AnyArray) -> Floats:
    """Return sums of the powers 0 … 3 of x - about in bins, of shape (4, n_bins).

    They come from sums of powers of x. `about` is near x: errors are 1e-16·x^power.
    """
    n, x, x2, x3 = (found[name].astype(float) for name in ("rows", "x", "x2", "x3"))
    second = x2 - about * (2.0 * x - about * n)
    third = x3 - about * (3.0 * x2 - about * (3.0 * x - about * n))
    return np.stack([n, x - about * n, second, third])


@dataclass
class LazyItems(Items):
    """Probabilities of a lazy table, or those in a part of their range."""

    rows: Rows
    size: int
    part: tuple[float, float] | None = None
    filled: Floats | None = None  # beginnings of the first bins that have rows
    near: Floats | None = None  # values about the cut, ascending

    def sums(self, low: float, scale: float, bins: int) -> Integers:
        raise NotImplementedError  # engines add up fractions: see `moments`

    def moments(self, low: float, scale: float, bins: int) -> Floats:
        """Return count and power sums of p in bins of width 1/scale, (bins, 4)."""
        part = self.part and self.rows.between(low, low + bins / scale)
        frame = self.rows.frame if part is None else part
        if self.part is None and self.rows.first is not None:
            found = self.rows.first
        else:
            found = self.rows.numbers(moments_in_bins(frame, low, scale))
        at = found["bin"].astype(np.int64)
        inside = (at >= 0) & (at < bins)
        self.rows.check_rows(found["rows"][inside].sum(), self.size)
        moments = np.zeros((bins, 4))
        np.add.at(moments, at[inside], central(found, at + 0.5).T[inside])
        if self.filled is None:
            self.filled = np.flatnonzero(moments[:, 0]) / scale
        return moments

    def within(self, low: float, high: float, count: int) -> Items:
        if count > MOST_SORTED:
            return LazyItems(self.rows, count, (low, high), self.filled)
        return Array(self.counted(low, high, count).part(0, count))

    def counted(self, low: float, high: float, count: int) -> RankedItems:
        """Return the distinct p in [low, high), which `count` rows have."""
        # With the bin below: its largest value may be the first beyond the cut
        assert self.filled is not None
        start = self.filled[self.filled < low].max(initial=0.0)
        values, times = self.rows.values(self.rows.between(start, high))
        self.near, inside = values, values >= low
        self.rows.check_rows(times[inside].sum(), count)
        return RankedItems.of(values[inside], times[inside])

    def largest_below(self, edge: float) -> float:
        """Return the largest p below an edge; -inf if there is none."""
        if edge > 1.0:
            return self.rows.ends[1]
        below = np.zeros(0) if self.near is None else self.near[self.near < edge]
        if not below.size:
            frame = self.rows.between(0.0, edge).select(top=nw.col("p").max())
            below = self.rows.numbers(frame)["top"].astype(float)
        return float(np.nan_to_num(below[-1], nan=-math.inf))

    def smallest(self) -> float:
        return self.rows.ends[0]

    def n_possible(self) -> int:
        positive = (nw.col("p") > 0.0).cast(nw.Int64).sum()
        return int(self.rows.numbers(self.rows.frame.select(k=positive))["k"][0])


def binned_pmf(found: dict[str, Any]) -> CountPMF:
    """Return the distribution of the number of positives among rows in BINS bins.

    Its characteristic function is Π (1 + p·z), z = e^(iθ) - 1: a Taylor series of the
    logarithm about the mean of every bin leaves Σ (p - mean)⁴·|z|⁴/4, and where that is
    not small the function is close to 0.
    """
    if not found["rows"].size:
        return CountPMF(0, np.ones(1))
    at = found["bin"].astype(float) + 0.5
    n, first, _, _ = central(found, at)
    x = at + first / n
    _, _, squares, cubes = central(found, x) / float(BINS) ** np.arange(4.0)[:, None]
    p = np.clip(x / BINS, 0.0, 1.0)
    variance = max(float(n @ (p * (1.0 - p)) - squares.sum()), 0.0)
    mean, reach = float(n @ p), 10.0 * math.sqrt(variance) + 60.0
    start = max(math.floor(mean - reach), 0)
    size = math.ceil(mean + reach) - start + 1
    values = np.zeros(size // 2 + 1, dtype=complex)
    for j in range(values.size):
        theta = 2.0 * math.pi * j / size
        z = np.exp(1j * theta) - 1.0
        factor = np.where(np.abs(1.0 + p * z) < 1e-12, 1e-12, 1.0 + p * z)
        slope = z / factor
        series = n * np.log(factor) - squares * slope**2 / 2.0 + cubes * slope**3 / 3.0
        total = series.sum() - 1j * theta * start
        values[j] = np.exp(min(total.real, 0.0) + 1j * total.imag)
        if total.real < -42.0:  # what follows is smaller
            break
    found_p = np.maximum(np.fft.irfft(np.conj(values), size), 0.0)
    return CountPMF(start, found_p / found_p.sum())


def column_of(
    names: list[str], asked: str | None, usual: tuple[str, ...], role: str
) -> str:
    """Return the column that was named, else the only one with a usual name."""
    there = f"there are {', '.join(map(repr, names))}"
    if asked is not None and asked not in names:
        raise ValueError(f"no column {asked!r}: {there}")
    found = [name for name in names if name.lower() in usual]
    if asked is None and len(found) != 1:
        raise ValueError(f"which column is the {role}? Pass {role}=...: {there}")
    return asked or found[0]
