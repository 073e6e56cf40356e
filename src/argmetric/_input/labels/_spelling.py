"""Labels as files spell them: what text stands for 0 and 1, and for no label."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

TRUTHS = {"true": True, "false": False}
NO_LABEL = frozenset({"", "na", "nan", "null", "none"})


@dataclass(frozen=True)
class Spelled:
    """A positive label as a command names it, in text; None where it names none."""

    text: str | None


def is_spelled_missing(value: Any) -> bool:
    """Whether a label has not arrived, in any of the usual spellings."""
    return str(value).strip().lower() in NO_LABEL


def spelled_number(text: str) -> float | None:
    """The finite number that text spells, None if it spells none."""
    if "_" in text:  # 1_000 is a number to Python alone
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def spelled_label(value: Any) -> Any:
    """The label that a value spells: a number or truth value for their text."""
    if not isinstance(value, str):
        return int(value) if isinstance(value, float) and value.is_integer() else value
    text = value.strip()
    if text.lower() in TRUTHS:
        return TRUTHS[text.lower()]
    number = spelled_number(text)
    if number is None:
        return text
    return int(number) if number.is_integer() else number


def same_spelling(text: str, other: str) -> bool:
    """Whether two texts are one label: "1", "+1" and "1.0" are."""
    if text == other:
        return True
    number = spelled_number(text)
    return number is not None and number == spelled_number(other)
