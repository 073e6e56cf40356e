"""Period of a row, by its time or by its number, and the rows of a period."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from argmetric._ground.arguments import check_count, is_whole, shown
from argmetric._ground.lazy import load_module
from argmetric._ground.types import AnyArray, ArrayLike, Integers
from argmetric._ground.validation import check_length, is_frame_like, to_numpy
from argmetric._monitor._bins import UNKNOWN

_UNITS = {  # unit of numpy's times, how many of it, how many in a year, and its word
    "h": ("h", 1, 8766.0, "hour"),
    "d": ("D", 1, 365.25, "day"),
    "w": ("D", 7, 52.18, "week"),
    "mo": ("M", 1, 12.0, "month"),
    "q": ("M", 3, 4.0, "quarter"),
    "y": ("M", 12, 1.0, "year"),
}
_WORDS = {word: f"1{unit}" for unit, (*_, word) in _UNITS.items()}
WEEK, MONTH = re.compile(r"(\d{4})-W(\d{2})"), re.compile(r"\d{4}-\d{2}")
MONDAY = 3  # days from the first Monday before 1970 to 1970-01-01
USUAL_YEAR = 52  # periods, where their length in time is not known
EXAMPLES = "'1d', '1w', '1mo' or a number of rows"


class Every(NamedTuple):
    """Length of a period, in rows or in units of time."""

    text: str  # such as "1w"; "1000" for rows; "" where every call is a period
    rows: int = 0  # rows of a period; 0 where time or calls make it
    # Unit of numpy's times, and how many of it
    unit: str = ""
    step: int = 0
    per_year: int = USUAL_YEAR  # periods of a year; 52 where they are not set by time

    def numbers(self, times: AnyArray) -> Integers:
        """Return the number of the period of every time."""
        count = times.astype(f"datetime64[{self.unit}]").astype(np.int64)
        return (count + self._first) // self.step

    def start(self, number: int) -> str:
        """Return when a period begins, as text."""
        place = np.array([number * self.step - self._first])
        value = place.astype(f"datetime64[{self.unit}]")[0]
        return str(value.astype(f"datetime64[{'h' if self.unit == 'h' else 'D'}]"))

    @property
    def _first(self) -> int:
        return MONDAY if self.step % 7 == 0 and self.unit == "D" else 0


def check_every(value: object, *, with_time: bool) -> Every:
    """Return the argument `every`; None is a week if there are times, else a call."""
    if value is None:
        return check_every("1w", with_time=True) if with_time else Every("")
    if is_whole(value):
        rows = check_count(value, "every", low=1)
        return Every(str(rows), rows)
    if not isinstance(value, str):
        raise TypeError(f"every must be {EXAMPLES}, not {shown(value)}")
    text = _WORDS.get(value.strip().lower(), value.strip().lower())
    match = re.fullmatch(r"([1-9]\d{0,3})\s*(h|d|w|mo|q|y)", text)
    if match is None:
        raise ValueError(f"every must be {EXAMPLES}, not {shown(value)}")
    if not with_time:
        raise ValueError(
            f"every={shown(value)} needs time=, the time of every row; without times "
            "pass a number of rows"
        )
    count, (unit, step, per_year, _) = int(match[1]), _UNITS[match[2]]
    return Every(text, 0, unit, count * step, max(round(per_year / count), 1))


def restore_every(text: str) -> Every:
    """Return the length of a period by its saved text."""
    value = int(text) if text.isdigit() else text or None
    return check_every(value, with_time=bool(text))


Bounds = dict[int, tuple[str, str]]  # start and end of periods, by number


def number_rows(
    every: Every, counts: Sequence[Any], before: int, n: int, time: ArrayLike | None
) -> tuple[Integers, Bounds, tuple[str, ...]]:
    """Return the period of every row, starts and ends of periods, and notes.

    `before` is the number of rows that were added before these n.
    """
    times, notes = (None, ()) if time is None else read_times(time, n)
    if every.unit:
        if times is None:
            raise ValueError(f"time is needed: periods are {every.text} long")
        number = every.numbers(times)
        numbers = np.unique(number).tolist()
        return number, {i: (every.start(i), every.start(i + 1)) for i in numbers}, notes
    place = np.arange(before, before + n)
    if times is not None:
        order = np.argsort(times, kind="stable")
        times = times[order]
        if every.rows and counts and str(times[0]) < counts[-1].end:
            raise ValueError(
                f"time begins at {times[0]}, before the end of the rows that were "
                f"added already ({counts[-1].end}): periods of {every.rows:,} rows are "
                "filled in the order of time"
            )
        place[order] = np.arange(before, before + n)
    if every.rows:
        number = place // every.rows
        first, last = before // every.rows, (before + n - 1) // every.rows
    else:
        first = last = counts[-1].number + 1 if counts else 0
        number = np.full(n, first)
    bounds = {}
    for i in range(first, last + 1):
        begin = max(i * every.rows, before) if every.rows else before
        end = min((i + 1) * every.rows, before + n) if every.rows else before + n
        if times is None:
            bounds[i] = str(begin), str(end)
        else:
            bounds[i] = str(times[begin - before]), str(times[end - 1 - before])
    return number, bounds, notes


def read_times(
    time: ArrayLike, n: int, first: int = 0
) -> tuple[AnyArray, tuple[str, ...]]:
    """Return times of rows as datetime64 in microseconds, in UTC, and notes on them."""
    if isinstance(time, str | bytes):
        raise TypeError(f"time must hold one time per row, not the text {shown(time)}")
    zoned = _has_zone(time)
    values = to_numpy(time, "time", "an array of times")
    if values.ndim != 1:
        raise ValueError(f"time must have one dimension, not {values.ndim}")
    check_length(values, "time", n)
    if values.dtype.kind == "M":
        times = values.astype("datetime64[us]")
    elif values.dtype.kind in "OUT":
        times, zoned = _parse_times(values, first)
    else:
        raise TypeError(
            "time must hold dates, times or ISO text such as '2026-01-31', not "
            f"{values.dtype}: make times of numbers first, of seconds by "
            "pandas.to_datetime(time, unit='s'), of weeks as text such as '2026-W05'"
        )
    missing = np.flatnonzero(np.isnat(times))
    if missing.size:
        raise ValueError(f"time is missing at row {missing[0] + first}")
    return times, ("times have a zone: periods begin in UTC",) if zoned else ()


def _has_zone(time: object) -> bool:
    """Return whether a column of a frame library has a time zone."""
    if not is_frame_like(time):
        return False
    dtype = getattr(time, "dtype", getattr(time, "type", None))
    zone = getattr(dtype, "tz", None) or getattr(dtype, "time_zone", None)
    return zone is not None


def _parse_times(values: AnyArray, first: int) -> tuple[AnyArray, bool]:
    """Return text and objects as times, and whether they have zones."""
    pa = load_module("pyarrow")

    kinds = {hasattr(one, "isoformat") for one in values}
    if kinds == {True}:
        values = np.array([one.isoformat() for one in values], dtype=object)
    elif not all(isinstance(one, str) for one in values):
        row = next(
            i for i, one in enumerate(values) if not isinstance(one, str | np.str_)
        )
        raise TypeError(
            f"time is no date, time or text at row {row + first}: {values[row]!r}"
        )
    texts = pa.array(_first_days([str(one).strip() for one in values]))
    plain, zoned = (_cast(texts, pa.timestamp("us", tz=zone)) for zone in (None, "UTC"))
    if plain is not None:
        return plain, False
    if zoned is not None:
        return zoned, True
    for row, one in enumerate(texts):
        both = (pa.timestamp("us", tz=zone) for zone in (None, "UTC"))
        if all(_cast(texts.slice(row, 1), kind) is None for kind in both):
            raise ValueError(
                f"time is {one.as_py()!r} at row {row + first}: ISO text such as "
                "'2026-01-31', '2026-01-31T12:00', '2026-W05' or '2026-01' is needed"
            )
    raise ValueError(
        "some times have a time zone and some have none: give all of them the same"
    )


def _first_days(texts: list[str]) -> list[str]:
    """Return weeks such as 2026-W05, and months, as the first day of each."""
    days = {}
    for one in set(texts):
        week = WEEK.fullmatch(one)
        if week is not None:
            year, number = map(int, week.groups())
            if not 0 < number <= date(year, 12, 28).isocalendar()[1]:
                return texts
            days[one] = str(date.fromisocalendar(year, number, 1))
        elif MONTH.fullmatch(one):
            days[one] = f"{one}-01"
        else:
            return texts
    return [days[one] for one in texts]


def _cast(texts: Any, kind: object) -> AnyArray | None:
    """Return a pyarrow array cast to a type of time; None if values do not fit."""
    pa = load_module("pyarrow")

    try:
        return np.asarray(texts.cast(kind).to_numpy(zero_copy_only=False)).astype(
            "datetime64[us]"
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


class GroupTable(NamedTuple):
    """Counts of a period by group, predicted label, known label and bin."""

    ids: AnyArray  # names of the groups, as text, rising
    place: Integers  # ((group·2 + predicted)·3 + known)·n_bins + bin, rising
    rows: Integers  # how many there are in each place

    @classmethod
    def count_rows(
        cls, ids: AnyArray, codes: Integers, place: Integers, bins: int
    ) -> GroupTable:
        """Return the table of rows, from their groups and places in a flat table."""
        used, code = np.unique(codes, return_inverse=True)
        ids, group = np.unique(ids[used], return_inverse=True)
        place = group[code] * (6 * bins) + place
        return cls(ids, *np.unique(place, return_counts=True))

    def plus(self, other: GroupTable, bins: int) -> GroupTable:
        """Return the sum of two tables; groups of equal ids are merged."""
        ids, group = np.unique(
            np.concatenate([self.ids, other.ids]), return_inverse=True
        )
        place = np.concatenate([self.place, other.place + 6 * bins * self.ids.size])
        place = group[place // (6 * bins)] * (6 * bins) + place % (6 * bins)
        place, where = np.unique(place, return_inverse=True)
        count = np.bincount(where, np.concatenate([self.rows, other.rows]))
        if (count < 0).any():
            raise ValueError("groups are not those that these rows were added with")
        kept = count != 0
        return GroupTable(ids, place[kept], count[kept].astype(np.int64))

    def late_labels(self, bins: int) -> GroupTable:
        """Return the table to add as late labels come: fewer are unknown."""
        before = self.place - bins * (self.place // bins % 3 - UNKNOWN)
        both = np.concatenate([self.place, before])
        return GroupTable(self.ids, both, np.concatenate([self.rows, -self.rows]))

    def adds_up_to(self, table: Integers) -> bool:
        """Return whether it adds up to a table, and every group has rows."""
        if (self.rows < 1).any() or (np.diff(self.place) < 1).any():
            return False
        flat = np.bincount(self.place % table.size, self.rows, table.size)
        groups = np.unique(self.place // table.size)
        return np.array_equal(flat, table.ravel()) and np.array_equal(
            groups, np.arange(self.ids.size)
        )


class PeriodCounts(NamedTuple):
    """Counts of the rows of one period, with its number, start and end."""

    number: int  # its place among all periods
    # When it begins and when the next one does; numbers of rows without times
    start: str
    end: str
    table: Integers  # rows by predicted label, known label and bin
    # Counts by group too, for a mean over groups
    groups: GroupTable | None = None
