"""Schemes that write chunks as labels of tokens: what each label means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from argmetric._input.types import Booleans, Integers
from argmetric._input.validation import check_choice

SchemeName = Literal["IOB2", "BIOES"]
SCHEMES: tuple[str, ...] = get_args(SchemeName)
OUTSIDE = "O"
ROLES = OUTSIDE, "B", "I", "E", "S"  # a label's prefix; its place is its number
BEGIN, INSIDE, END, SINGLE = range(1, len(ROLES))
_PREFIXES = {"IOB2": "BI", "BIOES": "BIES"}
_IOB2_PREFIXES = {"S": "B", "E": "I"}


def split_label(label: str, scheme: str) -> tuple[str, str]:
    """Prefix and type of a label; the type of "O" is empty."""
    if label == OUTSIDE:
        return OUTSIDE, ""
    prefix, dash, kind = label.partition("-")
    if not dash or not kind or prefix not in tuple(_PREFIXES[scheme]):
        words = ", ".join(f"{p}-TYPE" for p in _PREFIXES[scheme])
        raise ValueError(f"label {label!r} is not of {scheme}: O, {words}")
    return prefix, kind


def is_label(value: str, scheme: str = "IOB2") -> bool:
    """Whether a text is a label of a scheme."""
    try:
        split_label(value, scheme)
    except ValueError:
        return False
    return True


def as_iob2(label: str) -> str:
    """A label of BIOES as that of IOB2: S-X is B-X, and E-X is I-X."""
    prefix, kind = split_label(label, "BIOES")
    return label if not kind else f"{_IOB2_PREFIXES.get(prefix, prefix)}-{kind}"


def roles_and_kinds(
    labels: Sequence[str],
    types: dict[str, int] | None = None,
    scheme: str = "IOB2",
) -> tuple[Integers, Integers]:
    """Number of the role (see `ROLES`) and of the type of each label, -1 for no type.

    Types that `types` lacks get the next numbers and are put into it.
    """
    known = {} if types is None else types
    parts = [split_label(label, scheme) for label in labels]
    roles = [ROLES.index(prefix) for prefix, _ in parts]
    kinds = [known.setdefault(kind, len(known)) if kind else -1 for _, kind in parts]
    return np.array(roles, dtype=np.int64), np.array(kinds, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Roles:
    """What each label means.

    Parameters
    ----------
    types : tuple of str
        Types in the order of first appearance.
    table : ndarray of shape (types, 4)
        Labels that begin, go on, end and stand alone, -1 where there is none.
    closed : bool
        Whether spans end with a label of their own (BIOES).
    """

    types: tuple[str, ...]
    table: Integers
    closed: bool

    @property
    def links(self) -> tuple[Integers, Integers]:
        """Sources and targets: begin-inside, inside-inside, begin-end, inside-end."""
        begin, inside, end, _ = self.table.T
        sources = np.stack([begin, inside, begin, inside], axis=1)
        targets = np.stack([inside, inside, end, end], axis=1)
        return sources.ravel(), targets.ravel()


def roles_of(labels: Sequence[str] | None, scheme: str) -> Roles:
    """The roles that named labels play in a scheme."""
    check_choice(scheme, "scheme", SCHEMES)
    if labels is None:
        raise ValueError("spans need the names of the labels: pass labels=[...]")
    numbers: dict[str, int] = {}
    roles, kinds = roles_and_kinds(labels, numbers, scheme)
    types = tuple(numbers)
    table = np.full((len(types), 4), -1, dtype=np.int64)
    typed = np.flatnonzero(roles)
    table[kinds[typed], roles[typed] - BEGIN] = typed
    closed = scheme == "BIOES"
    # What a span cannot do without: B-X, or one of B-X with E-X and S-X
    able = (table[:, [0, 2]] >= 0).all(axis=1) | (table[:, 3] >= 0)
    if types and not (able if closed else table[:, 0] >= 0).any():
        raise ValueError(
            f"no span of {scheme} can be written with the labels {', '.join(labels)}: "
            "they are of another scheme"
        )
    return Roles(types, table, closed)


def well_formed(
    labels: Sequence[str], scheme: str
) -> tuple[Booleans, Booleans, Booleans]:
    """Which labels may come first, follow another, and come last."""
    check_choice(scheme, "scheme", SCHEMES)
    role, kind = roles_and_kinds(labels, scheme=scheme)
    inner = np.isin(role, [INSIDE, END])
    is_open = np.isin(role, [BEGIN, INSIDE])
    same = kind[:, None] == kind[None, :]
    may_follow = ~inner[None, :] | (is_open[:, None] & same)
    may_end = np.ones(len(role), dtype=bool)
    if scheme == "BIOES":
        may_follow &= ~is_open[:, None] | (inner[None, :] & same)
        may_end = ~is_open
    return ~inner, may_follow, may_end
