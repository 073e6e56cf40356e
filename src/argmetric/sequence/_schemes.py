"""Schemes that write spans as labels of tokens, read strictly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from argmetric._arguments import check_count, check_items, check_texts, shown
from argmetric._types import Booleans, Integers
from argmetric._validation import check_choice

SchemeName = Literal["IOB2", "BIOES"]
SCHEMES: tuple[str, ...] = get_args(SchemeName)
_PREFIXES = {"IOB2": "BI", "BIOES": "BIES"}
_OUTSIDE = "O"
_MOST_TOKENS = 10**8  # of a sentence; more would fill the memory


class Chunk(NamedTuple):
    """Tokens from `start` up to, not including, `stop`, and their type."""

    start: int
    stop: int
    type: str


def split_label(label: str, scheme: str) -> tuple[str, str]:
    """Prefix and type of a label; the type of "O" is empty."""
    if label == _OUTSIDE:
        return _OUTSIDE, ""
    prefix, dash, kind = label.partition("-")
    if not dash or not kind or prefix not in tuple(_PREFIXES[scheme]):
        words = ", ".join(f"{p}-TYPE" for p in _PREFIXES[scheme])
        raise ValueError(f"label {label!r} is not of {scheme}: O, {words}")
    return prefix, kind


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
    parts = [split_label(label, scheme) for label in labels]
    types = tuple(dict.fromkeys(kind for _, kind in parts if kind))
    table = np.full((len(types), 4), -1, dtype=np.int64)
    for number, (prefix, kind) in enumerate(parts):
        if kind:
            table[types.index(kind), "BIES".index(prefix)] = number
    closed = scheme == "BIOES"
    # What a span cannot do without: B-X, or one of B-X with E-X and S-X
    able = (table[:, [0, 2]] >= 0).all(axis=1) | (table[:, 3] >= 0)
    if types and not (able if closed else table[:, 0] >= 0).any():
        raise ValueError(
            f"no span of {scheme} can be written with the labels {', '.join(labels)}: "
            "they are of another scheme"
        )
    return Roles(types, table, closed)


def read_chunks(labels: Sequence[str], scheme: SchemeName = "IOB2") -> list[Chunk]:
    """Spans of a sequence of labels, as seqeval reads them in strict mode.

    IOB2: a span starts at B-X and goes on with I-X. BIOES: S-X, or B-X, any I-X and
    E-X. Anything else, such as an I-X with no B-X before it, is no part of a span.

    Parameters
    ----------
    labels : sequence of str
        The labels of one sentence.
    scheme : {"IOB2", "BIOES"}, default="IOB2"
        How to read them.

    Examples
    --------
    >>> from argmetric.sequence import read_chunks
    >>> read_chunks(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"])
    [Chunk(start=0, stop=2, type='PER'), Chunk(start=4, stop=5, type='LOC')]
    """
    check_choice(scheme, "scheme", SCHEMES)
    parts = [split_label(label, scheme) for label in check_texts(labels, "labels")]
    chunks: list[Chunk] = []
    start: int | None = None
    for i, (prefix, kind) in enumerate([*parts, (_OUTSIDE, "")]):
        goes_on = start is not None and parts[start][1] == kind
        if start is not None and not (goes_on and prefix in ("I", "E")):
            if scheme == "IOB2":
                chunks.append(Chunk(start, i, parts[start][1]))
            start = None
        if prefix == "B":
            start = i
        elif prefix == "S":
            chunks.append(Chunk(i, i + 1, kind))
        elif prefix == "E":
            if start is not None:
                chunks.append(Chunk(start, i + 1, kind))
            start = None
    return chunks


def write_labels(
    chunks: Sequence[tuple[Any, ...]], n: int, scheme: SchemeName = "IOB2"
) -> list[str]:
    """Labels of a sentence with the given spans, which must not overlap.

    Parameters
    ----------
    chunks : sequence of Chunk
        Spans, or anything that begins with start, stop and type.
    n : int
        Number of tokens.
    scheme : {"IOB2", "BIOES"}, default="IOB2"
        How to write them.

    Examples
    --------
    >>> from argmetric.sequence import write_labels
    >>> write_labels([(0, 2, "PER")], 3, "BIOES")
    ['B-PER', 'E-PER', 'O']
    """
    check_choice(scheme, "scheme", SCHEMES)
    n = check_count(n, "n", high=_MOST_TOKENS)
    labels = [_OUTSIDE] * n
    for number, chunk in enumerate(check_items(chunks, "chunks", "a list of spans")):
        start, stop, kind = _borders_and_type(chunk, number)
        if not 0 <= start < stop <= n:
            raise ValueError(
                f"chunks: span {start} to {stop} is not within n={n} tokens"
            )
        if any(label != _OUTSIDE for label in labels[start:stop]):
            raise ValueError(f"chunks: span {start} to {stop} overlaps another one")
        labels[start:stop] = [f"B-{kind}"] + [f"I-{kind}"] * (stop - start - 1)
        if scheme == "BIOES":
            last = "S" if stop == start + 1 else "E"
            labels[stop - 1] = f"{last}-{kind}"
    return labels


def _borders_and_type(chunk: Any, number: int) -> tuple[int, int, Any]:
    wanted = "chunks must hold (start, stop, type)"
    if not isinstance(chunk, Sequence) or isinstance(chunk, str) or len(chunk) < 3:
        raise TypeError(f"{wanted}, not {shown(chunk)} at position {number}")
    name = f"the {{}} of chunks[{number}]"
    start = check_count(chunk[0], name.format("start"))
    return start, check_count(chunk[1], name.format("stop")), chunk[2]


def well_formed(
    labels: Sequence[str], scheme: str
) -> tuple[Booleans, Booleans, Booleans]:
    """Which labels may come first, follow another, and come last."""
    check_choice(scheme, "scheme", SCHEMES)
    parts = [split_label(label, scheme) for label in labels]
    prefix = np.array([p for p, _ in parts])
    kind = np.array([k for _, k in parts])
    inner = np.isin(prefix, ["I", "E"])
    is_open = np.isin(prefix, ["B", "I"])
    same = kind[:, None] == kind[None, :]
    may_follow = ~inner[None, :] | (is_open[:, None] & same)
    may_end = np.ones(len(parts), dtype=bool)
    if scheme == "BIOES":
        may_follow &= ~is_open[:, None] | (inner[None, :] & same)
        may_end = ~is_open
    return ~inner, may_follow, may_end
