"""Values of a peer and of argmetric, case by case, and the test of who wins.

Winners are computed from the values, never written by hand.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from scipy.special import stdtrit

LEVEL = 0.95  # of the intervals
FEWEST = 3  # units of a test
TIED = 0.05  # points: the page shows one digit
TIED_RATIO = 1.1  # of times and rates: clocks are noisy
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
    units : list of str
        Data of each pair: pairs on the same data are not independent.
    """

    what: str
    unit: str
    better: Better
    theirs_is: str
    ours_is: str
    ratio: bool = False
    allowed: float | None = None
    cases: list[str] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)

    def add(
        self, case: str, theirs: float, ours: float, unit: str | None = None
    ) -> None:
        self.cases.append(case)
        self.units.append(case if unit is None else unit)
        self.theirs.append(rounded(theirs))
        self.ours.append(rounded(ours))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def rounded(value: float) -> float:
    """Five significant digits."""
    return float(f"{float(value):.5g}")


def winner(row: dict[str, Any], peer: str) -> str:
    """Return who wins: "argmetric", the peer, "tie", or "too few".

    A side wins by a paired t test over units whose mean gain is not a tie.
    """
    if row["better"] == "at most":
        kept = [_keeps(row, side) for side in ("theirs", "ours")]
        if kept[0] == kept[1]:
            return "both keep it" if kept[0] else "both break it"
        return peer if kept[0] else "argmetric"
    found = interval(row)
    if found is None:
        return "too few"
    mean, low, high = found
    if abs(mean) <= margin(row) or low <= 0.0 <= high:
        return "tie"
    return "argmetric" if mean > 0 else peer


def margin(row: dict[str, Any]) -> float:
    """Return the largest gain that is a tie."""
    return math.log(TIED_RATIO) if row["ratio"] else TIED


def gains(row: dict[str, Any]) -> list[float]:
    """Return by how much argmetric is better in each case, in logarithms for ratios."""
    sign = 1.0 if row["better"] == "higher" else -1.0
    pairs = zip(row["theirs"], row["ours"], strict=True)
    if row["ratio"]:
        return [sign * math.log(b / a) for a, b in pairs]
    return [sign * (b - a) for a, b in pairs]


def interval(row: dict[str, Any]) -> tuple[float, float, float] | None:
    """Return the mean gain over units with its t interval, None of too few units."""
    means = _unit_means(row, gains(row))
    if len(means) < FEWEST:
        return None
    mean, half = statistics.fmean(means), _half_width(means)
    return mean, mean - half, mean + half


def _unit_means(row: dict[str, Any], values: list[float]) -> list[float]:
    """Average the values of each unit."""
    by_unit = defaultdict(list)
    for unit, value in zip(row["units"], values, strict=True):
        by_unit[unit].append(value)
    return [statistics.fmean(one) for one in by_unit.values()]


def _half_width(means: list[float]) -> float:
    n = len(means)
    t = float(stdtrit(n - 1, 0.5 + 0.5 * LEVEL))
    return t * statistics.stdev(means) / math.sqrt(n)


def _keeps(row: dict[str, Any], side: str) -> bool:
    """Return whether the interval of the mean reaches down to what is allowed."""
    means = _unit_means(row, row[side])
    half = _half_width(means) if len(means) >= FEWEST else 0.0
    return statistics.fmean(means) - half <= row["allowed"]


def counted(row: dict[str, Any]) -> tuple[int, int]:
    """Return in how many cases the peer is better, and in how many argmetric is."""
    by, least = gains(row), margin(row)
    return sum(gain < -least for gain in by), sum(gain > least for gain in by)
