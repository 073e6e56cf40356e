"""Which of the distinct labels is the positive one: the verdict itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from argmetric._input.arguments import shown
from argmetric._input.labels._words import (
    Naming,
    absent,
    as_keyword,
    one_class,
    too_many,
    unclear,
)

# Pairs whose second label is the positive one, whoever wrote them.
USUAL_PAIRS = ((0, 1), (-1, 1))


@dataclass(frozen=True)
class Classes:
    """The two classes; `negative` is None where only the positive one is there."""

    negative: Any
    positive: Any


def usual_pair(found: Sequence[Any]) -> tuple[Any, Any] | None:
    """The pair of labels that these are of, if they are 0/1, booleans or -1/1."""
    if found and all(isinstance(label, bool) for label in found):
        return False, True
    for pair in USUAL_PAIRS:
        if all(label in pair for label in found):
            return pair
    return None


def classes_of(
    found: Sequence[Any],
    name: str,
    pos_label: Any = None,
    *,
    both: bool = False,
    where: Callable[[Any], str] | None = None,
    naming: Naming = as_keyword,
) -> Classes:
    """The two classes that distinct labels stand for, or an error.

    Parameters
    ----------
    found : sequence
        The distinct labels, none missing.
    name : str
        What messages call them all.
    pos_label : object, optional
        The positive one; not needed for 0/1, booleans and -1/1.
    both : bool, default=False
        Whether both classes must be there, to learn from. Without it a batch may lack
        the one that `pos_label` names.
    where : callable, optional
        The place of the first row with a label, for messages.
    naming : callable, optional
        How messages name `pos_label`, and a value of it.
    """
    if pos_label is None:
        if len(found) > 2:
            raise too_many(found, name, hint=_odd_one(found, where))
        if both and len(found) == 1:
            raise one_class(found[0], name)
        pair = usual_pair(found)
        if pair is None:
            raise unclear(found, name, naming)
        return Classes(*pair)
    others = [label for label in found if label != pos_label]
    is_there = len(others) < len(found)
    if not is_there and (len(found) > 1 or _same_but_for_case(pos_label, found)):
        raise absent(pos_label, found, name, naming)
    if len(found) > 2:
        raise too_many(found, name, pos_label)
    if both and len(found) == 1:
        raise one_class(found[0], name)
    positive = next((label for label in found if label == pos_label), pos_label)
    return Classes(others[0] if others else None, positive)


def _odd_one(found: Sequence[Any], where: Callable[[Any], str] | None) -> str:
    """Where the label stands that is beside 0 and 1."""
    if where is None or not (0 in found and 1 in found):
        return ""
    odd = next(label for label in found if label not in (0, 1))
    return f" ({shown(odd)} at {where(odd)})"


def _same_but_for_case(pos_label: Any, found: Sequence[Any]) -> bool:
    """Whether an absent label is rather a slip than a day without positives."""
    return isinstance(pos_label, str) and any(
        isinstance(label, str) and label.strip().lower() == pos_label.strip().lower()
        for label in found
    )
