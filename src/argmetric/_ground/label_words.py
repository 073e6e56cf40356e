"""How labels are spelled in files, and what is said of labels that cannot be used."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from argmetric._ground.arguments import shown

MOST_LISTED = 5  # labels that a message lists
LONGEST = 40  # characters of one of them
EVERY_ROW = "every row needs a label"
LIKE_SCORES = "these look like scores"
OR_LABELS = " If these are labels, "

Kind = Literal["missing", "unclear", "many", "one class", "absent"]
# How the positive label is named by who reads the message, with or without a value.
Naming = Callable[..., str]


class LabelError(ValueError):
    """Labels that cannot be used.

    Attributes
    ----------
    kind : str
        What is wrong, in a word.
    problem : str
        What is wrong, in full.
    way_out : str
        What to do about it.
    """

    def __init__(self, kind: Kind, problem: str, way_out: str) -> None:
        super().__init__(kind, problem, way_out)  # what a pickle is made from
        self.kind = kind
        self.problem = problem
        self.way_out = way_out

    def __str__(self) -> str:
        return f"{self.problem}; {self.way_out}"


def as_keyword(*value: object) -> str:
    """Return the text for `pos_label` as a Python program passes it."""
    return f"pos_label={shown(value[0])}" if value else "pos_label"


def as_comparison(name: str) -> Naming:
    """Return a naming of the positive class as `y == label`, without `pos_label`."""
    return lambda *value: f"{name} == {shown(value[0])}"


def no_label(name: str, where: str) -> LabelError:
    """Return the message for a missing label."""
    return LabelError("missing", f"{name} has no label at {where}", EVERY_ROW)


def unclear(found: Sequence[Any], name: str, naming: Naming = as_keyword) -> LabelError:
    """Return the message for labels of which none is known to be positive."""
    ways = " or ".join(naming(label) for label in reversed(found))
    problem = f"{name} holds {list_labels(found)}, not 0 and 1"
    return LabelError("unclear", problem, f"{_if_swapped(found, name)}pass {ways}")


def too_many(
    found: Sequence[Any], name: str, pos_label: object = None, hint: str = ""
) -> LabelError:
    """Return the message for more than two labels."""
    one = found[-1] if pos_label is None else pos_label
    sides = " and ".join(f"{part} == {shown(one)}" for part in name.split(" and "))
    problem = (
        f"{name} {_holds(name)} {list_labels(found)}{hint}; labels have two values"
    )
    way_out = f"pass {sides} for {shown(one)} against the rest"
    if name.startswith("y_") or name == "y and labels":  # of those who score labels
        way_out += ", or call argmetric.classes.evaluate for a score of all classes"
    swapped = _if_swapped(found, name).removesuffix(OR_LABELS)
    return LabelError("many", problem, swapped or way_out)


def one_class(label: object, name: str, rows: str = "label") -> LabelError:
    """Return the message for labels of a single class."""
    problem = f"{name} has one class only: every {rows} is {shown(label)}"
    return LabelError("one class", problem, "rows of both classes are needed")


def absent(
    pos_label: object, found: Sequence[Any], name: str, naming: Naming = as_keyword
) -> LabelError:
    """Return the error of a positive label that does not occur."""
    they, hold = ("they", "hold") if _holds(name) == "hold" else ("it", "holds")
    problem = f"{name} never {hold} {shown(pos_label)}, which {naming()} names"
    return LabelError("absent", problem, f"{they} {hold} {list_labels(found)}")


def foreign(
    label: object, name: str, where: str, negative: object, positive: object
) -> LabelError:
    """Return the message for a label that is neither of two known classes."""
    problem = f"{name}, {where}: {neither(label, negative, positive)}"
    return LabelError("many", problem, "labels have two values")


def neither(label: object, negative: object, positive: object) -> str:
    """Return the words for a label that is neither of two known classes."""
    return (
        f"label {shown(label)} is neither {shown(positive)} (positive) nor "
        f"{shown(negative)} (negative)"
    )


def list_labels(labels: Sequence[Any]) -> str:
    """Return the first few labels as text."""
    words = ", ".join(clip_label(label) for label in labels[:MOST_LISTED])
    more = len(labels) - MOST_LISTED
    return f"{words} and {more} more values" if more > 0 else words


def clip_label(label: object) -> str:
    """Return the text of a label, or its beginning."""
    try:
        text = repr(label)
    except ValueError:  # an int of 5,000 digits
        return shown(label)
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def _holds(name: str) -> str:
    return "hold" if " and " in name else "holds"


def _if_swapped(found: Sequence[Any], name: str) -> str:
    if any(isinstance(label, float) for label in found):  # whole ones are int by now
        order = "(p, labels)" if name.startswith("labels") else "(y, p)"
        asked = f"are scores and labels in their places, as in {order}?"
        return f"{LIKE_SCORES}: {asked}{OR_LABELS}"
    return ""


TRUTHS = {"true": True, "false": False}
NO_LABEL = frozenset({"", "na", "nan", "null", "none"})


@dataclass(frozen=True)
class LabelText:
    """Name of the positive class in a command, as text; None if it has none."""

    text: str | None


def is_spelled_missing(value: object) -> bool:
    """Return whether a text is one of the usual spellings of a missing label."""
    return str(value).strip().lower() in NO_LABEL


def spelled_number(text: str) -> float | None:
    """Return the finite number that a text spells, or None."""
    if "_" in text:  # 1_000 is a number to Python alone
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def spelled_label(value: object) -> object:
    """Return the number or boolean that a text spells, else the text."""
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
    """Return whether two texts are one label, as "1", "+1" and "1.0" are."""
    if text == other:
        return True
    number = spelled_number(text)
    return number is not None and number == spelled_number(other)
