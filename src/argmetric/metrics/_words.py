"""What a metric makes of 0/0, for those who read a summary."""

from __future__ import annotations

import math

# By what the convention of a metric begins with
_CASES = {
    "k = t = 0": "an empty answer that is right",
    "k = 0": "an empty answer",
    "t = 0": "a truth without positives",
}


def convention_in_words(convention: str, zero_division: float) -> str:
    """Say what a metric counts where it divides nothing by nothing.

    Parameters
    ----------
    convention : str
        As `Metric.convention` has it.
    zero_division : float
        As `Metric.zero_division` has it.

    Examples
    --------
    >>> convention_in_words("k = t = 0: zero_division", 1.0)
    'an empty answer that is right counts 1'
    """
    if convention == "none needed":
        return "always defined"
    if convention and "zero_division" not in convention:
        return convention
    cases = (case for start, case in _CASES.items() if convention.startswith(start))
    case = next(cases, "0/0")
    if math.isnan(zero_division):
        return f"{case} is left out"
    return f"{case} counts {zero_division:g}"
