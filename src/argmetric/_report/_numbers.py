"""Numbers as a report shows them, and round ones along an axis."""

from __future__ import annotations

import math

SMALL = 0.01  # below it three decimals would leave less than three digits


def number(value: float) -> str:
    """A score: three decimals, or three digits where that would leave less."""
    if math.isnan(value):
        return "undefined"
    if 0 < abs(value) < SMALL:
        return f"{value:.{min(2 - math.floor(math.log10(abs(value))), 9)}f}"
    return f"{value:.3f}"


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


def nice_ticks(
    low: float, high: float, count: int, *, whole: bool = False
) -> list[float]:
    """About `count` round numbers from at or below `low` to at or above `high`."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    if whole:
        step = max(1.0, math.ceil(step))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def count_text(value: float) -> str:
    """A count as an axis shows it: 1,500 or 2.5 M."""
    if value >= 1e6:
        return f"{value / 1e6:g} M"
    if value >= 1e5:
        return f"{value / 1e3:g} k"
    return f"{value:,.0f}"
