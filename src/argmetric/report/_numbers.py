"""Numbers as a report shows them."""

from __future__ import annotations

import math

SMALL = 0.001  # four decimals would leave nothing of it


def number(value: float) -> str:
    """A score: four decimals, or three digits where that would leave nothing."""
    if math.isnan(value):
        return "undefined"
    if 0 < abs(value) < SMALL:
        return f"{value:.{min(2 - math.floor(math.log10(abs(value))), 9)}f}"
    return f"{value:.4f}"


def scores(low: float, high: float) -> str:
    return f"{number(low)} to {number(high)}"


def threshold(value: float | None) -> str:
    """A cut: six digits, so that hardly any row changes sides."""
    return "" if value is None else f"{value:.6g}"


def share(part: float, whole: float) -> str:
    """A share in per cent."""
    return f"{100 * part / whole:.1f} %"


def percent(part: float) -> str:
    return f"{100 * part:g} %"


def count(value: int, noun: str) -> str:
    return f"{value:,} {noun if value == 1 else noun + 's'}"
