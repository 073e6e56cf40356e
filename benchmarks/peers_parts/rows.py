"""What a comparison hands out: values of a peer and of argmetric, case by case.

Winners are computed from the values, never written by hand.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from search_parts import data

EVEN = 1.1  # times or rates of one case are even up to this ratio: clocks are noisy
Better = Literal["higher", "lower", "at most"]


@dataclass
class Row:
    """One measure of one peer: a value for each case, theirs and ours.

    Attributes
    ----------
    what, unit : str
        What is measured.
    better : {"higher", "lower", "at most"}
        Which values are good; "at most" `allowed` counts as kept, and more as broken.
    ratio : bool
        Times and rates, which are compared by their ratio.
    theirs_is, ours_is : str
        How each was asked.
    cases : list of str
        Data, model and seed of each pair of values.
    """

    what: str
    unit: str
    better: Better
    theirs_is: str
    ours_is: str
    ratio: bool = False
    allowed: float | None = None
    cases: list[str] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)

    def add(self, case: str, theirs: float, ours: float) -> None:
        self.cases.append(case)
        self.theirs.append(rounded(theirs))
        self.ours.append(rounded(ours))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def rounded(value: float) -> float:
    """Five significant digits."""
    return float(f"{float(value):.5g}")


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its CPU seconds: others' work does not move them."""
    return data.timed(call)


def winner(row: dict[str, Any], peer: str) -> str:
    """Who wins: "argmetric", the peer, or "even".

    A mean difference of the pairs (of logarithms, for times and rates) counts from two
    standard errors on. With one or two pairs a ratio counts beyond `EVEN`.
    """
    theirs, ours = row["theirs"], row["ours"]
    if row["better"] == "at most":
        kept = [_keeps(values, row["allowed"]) for values in (theirs, ours)]
        if kept[0] == kept[1]:
            return "both keep it" if kept[0] else "both break it"
        return peer if kept[0] else "argmetric"
    sign = 1.0 if row["better"] == "higher" else -1.0
    if row["ratio"]:
        gains = [sign * math.log(b / a) for a, b in zip(theirs, ours, strict=True)]
    else:
        gains = [sign * (b - a) for a, b in zip(theirs, ours, strict=True)]
    mean = statistics.fmean(gains)
    if len(gains) > 2:
        least = 2.0 * statistics.stdev(gains) / math.sqrt(len(gains))
    else:
        least = math.log(EVEN) if row["ratio"] else 0.0
    if abs(mean) <= least:
        return "even"
    return "argmetric" if mean > 0 else peer


def _keeps(shares: list[float], allowed: float) -> bool:
    """Whether a mean share is at most two standard errors above what is allowed."""
    error = 0.0
    if len(shares) > 2:
        error = statistics.stdev(shares) / math.sqrt(len(shares))
    return statistics.fmean(shares) <= allowed + 2.0 * error


def counted(row: dict[str, Any]) -> tuple[int, int]:
    """In how many cases the peer is strictly better, and in how many argmetric is."""
    sign = -1.0 if row["better"] in ("lower", "at most") else 1.0
    gains = [sign * (b - a) for a, b in zip(row["theirs"], row["ours"], strict=True)]
    return sum(gain < 0 for gain in gains), sum(gain > 0 for gain in gains)
