"""Labels of chunks (IOB2, BIOES): their meaning, and counts of right chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from argmetric._ground.arguments import check_count, check_items, check_texts, shown
from argmetric._ground.types import Booleans, Integers
from argmetric._ground.validation import check_choice

SchemeName = Literal["IOB2", "BIOES"]
SCHEMES: tuple[str, ...] = get_args(SchemeName)
OUTSIDE = "O"
ROLES = OUTSIDE, "B", "I", "E", "S"  # a label's prefix; its place is its number
BEGIN, INSIDE, END, SINGLE = range(1, len(ROLES))
_PREFIXES = {"IOB2": "BI", "BIOES": "BIES"}
_IOB2_PREFIXES = {"S": "B", "E": "I"}
_MOST_TOKENS = 10**8  # of a sentence; more would fill the memory


def split_label(label: str, scheme: str) -> tuple[str, str]:
    """Return the prefix and type of a label; the type of "O" is empty."""
    if label == OUTSIDE:
        return OUTSIDE, ""
    prefix, dash, kind = label.partition("-")
    if not dash or not kind or prefix not in tuple(_PREFIXES[scheme]):
        words = ", ".join(f"{p}-TYPE" for p in _PREFIXES[scheme])
        raise ValueError(f"label {label!r} is not of {scheme}: O, {words}")
    return prefix, kind


def is_label(value: str, scheme: str = "IOB2") -> bool:
    """Return whether a text is a label of a scheme."""
    try:
        split_label(value, scheme)
    except ValueError:
        return False
    return True


def as_iob2(label: str) -> str:
    """Convert a label from BIOES to IOB2: S-X to B-X, and E-X to I-X."""
    prefix, kind = split_label(label, "BIOES")
    return label if not kind else f"{_IOB2_PREFIXES.get(prefix, prefix)}-{kind}"


def roles_and_kinds(
    labels: Sequence[str], types: dict[str, int] | None = None, scheme: str = "IOB2"
) -> tuple[Integers, Integers]:
    """Return the role (see `ROLES`) and the type of each label, -1 for no type.

    Types that `types` lacks get the next numbers and are added to it.
    """
    known = {} if types is None else types
    parts = [split_label(label, scheme) for label in labels]
    roles = [ROLES.index(prefix) for prefix, _ in parts]
    kinds = [known.setdefault(kind, len(known)) if kind else -1 for _, kind in parts]
    return np.array(roles, dtype=np.int64), np.array(kinds, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Roles:
    """Role and type of each label."""

    types: tuple[str, ...]  # types in the order of first appearance
    # (types, 4): labels that begin, go on, end and stand alone, -1 where there is none
    table: Integers
    closed: bool  # whether spans end with a label of their own (BIOES)

    @property
    def links(self) -> tuple[Integers, Integers]:
        """Return sources and targets of the links begin-inside, ..., inside-end."""
        begin, inside, end, _ = self.table.T
        sources = np.stack([begin, inside, begin, inside], axis=1)
        targets = np.stack([inside, inside, end, end], axis=1)
        return sources.ravel(), targets.ravel()


def roles_of(labels: Sequence[str] | None, scheme: str) -> Roles:
    """Return the roles of named labels in a scheme."""
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
    """Return which labels may come first, follow another, and come last."""
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


class Chunk(NamedTuple):
    """Tokens from `start` up to, not including, `stop`, and their type.

    Parameters
    ----------
    start, stop : int
        The first token, and the one after the last.
    type : str
        The type, such as "PER".

    Examples
    --------
    >>> from argmetric.sequence import Chunk
    >>> Chunk(0, 2, "PER").stop
    2
    """

    start: int
    stop: int
    type: str


class Span(NamedTuple):
    """A chosen span: tokens from `start` up to, not including, `stop`.

    Parameters
    ----------
    start, stop : int
        The first token, and the one after the last.
    type : str
        The type, such as "PER".
    probability : float
        That the span is right.
    text : str, optional
        Its words, if the tokens or texts were passed.

    Examples
    --------
    >>> from argmetric.sequence import Span
    >>> Span(0, 2, "PER", 0.9).type
    'PER'
    """

    start: int
    stop: int
    type: str
    probability: float
    text: str | None = None


@dataclass(frozen=True, eq=False)
class CodedLabels:
    """Labels of all tokens of a text as numbers, sentences concatenated."""

    # roles, kinds: the role of each label (0 outside, 1 begin, 2 inside, 3 end, 4
    # single), and the number of its type, -1 for none
    roles: Integers
    kinds: Integers
    sentences: Integers  # token numbers where sentences start, and the number of tokens

    @classmethod
    def read(
        cls,
        labels: Sequence[str],
        sentences: Integers,
        types: dict[str, int] | None = None,
        scheme: str = "IOB2",
    ) -> CodedLabels:
        """Code the labels of all tokens; each distinct one is parsed once."""
        number = {name: i for i, name in enumerate(dict.fromkeys(labels))}
        roles, kinds = roles_and_kinds(list(number), types, scheme)
        places = np.fromiter(map(number.__getitem__, labels), np.int64, len(labels))
        return cls(roles[places], kinds[places], sentences)

    def _begin_runs(self) -> Booleans:
        """Return tokens that do not continue an open chunk, and the end of the text."""
        roles, kinds = self.roles, self.kinds
        begins = np.ones(len(roles) + 1, dtype=np.bool_)
        inner = (roles == INSIDE) | (roles == END)
        is_open = (roles == BEGIN) | (roles == INSIDE)
        begins[1:-1] = ~(inner[1:] & is_open[:-1] & (kinds[1:] == kinds[:-1]))
        begins[self.sentences] = True
        return begins

    def dangling(self) -> Integers:
        """Return tokens whose label continues a chunk that is not open."""
        return np.flatnonzero(self._begin_runs()[:-1] & (self.roles == INSIDE))

    def chunks(self, *, closed: bool = False, lenient: bool = False) -> Chunks:
        """Return all chunks, in the order of the text.

        Strictly, only B-X begins one, and where they are `closed` (BIOES), only E-X
        ends it; a `lenient` reader lets a dangling I-X begin one, as conlleval does.
        """
        (bounds,) = self._begin_runs().nonzero()
        start, stop = bounds[:-1], bounds[1:]
        first = self.roles[start]
        found = first == BEGIN
        if lenient:
            found |= first == INSIDE
        if closed:
            found &= self.roles[stop - 1] == END
            found |= first == SINGLE
        start, stop = start[found], stop[found]
        return Chunks(start, stop, self.kinds[start])


@dataclass(frozen=True, eq=False)
class Chunks:
    """Chunks of a text: first tokens, tokens after the last ones, numbers of types."""

    start: Integers
    stop: Integers
    kind: Integers

    def counts(self, predicted: Chunks, n_types: int) -> Integers:
        """Return gold, predicted and right chunks, a row for each type.

        Self is gold.
        """
        same = np.zeros(len(predicted.start), dtype=np.bool_)
        if len(self.start):
            twin = np.searchsorted(self.start, predicted.start, side="right") - 1
            same = self.start[twin] == predicted.start
            same &= self.stop[twin] == predicted.stop
            same &= self.kind[twin] == predicted.kind
        kinds = self.kind, predicted.kind, predicted.kind[same]
        return np.stack([np.bincount(k, minlength=n_types) for k in kinds], axis=1)


class ChunkCounts(NamedTuple):
    """Numbers of gold, predicted and right chunks; 0/0 is 1."""

    gold: int
    predicted: int
    right: int

    @property
    def precision(self) -> float:
        """Return the share of the predicted chunks that are right."""
        return self.right / self.predicted if self.predicted else float(not self.gold)

    @property
    def recall(self) -> float:
        """Return the share of the gold chunks that are predicted."""
        return self.right / self.gold if self.gold else float(not self.predicted)

    @property
    def f1(self) -> float:
        both = self.gold + self.predicted
        return 2 * self.right / both if both else 1.0


def count_chunks(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    scheme: SchemeName = "IOB2",
    *,
    lenient: bool = False,
) -> ChunkCounts:
    """Count the gold, the predicted and the right chunks of sentences."""
    longest = [max(len(a), len(b)) for a, b in zip(gold, predicted, strict=True)]
    sentences = np.cumsum([0, *longest], dtype=np.int64)
    types: dict[str, int] = {}

    def read(labels: Sequence[Sequence[str]]) -> Chunks:
        """Return the chunks of label sequences, padded to the length of the longest."""
        # What has no label yet, in a sentence that is not finished, is outside
        padded = (
            chain(one, repeat(OUTSIDE, n - len(one)))
            for one, n in zip(labels, longest, strict=True)
        )
        flat = list(chain.from_iterable(padded))
        coded = CodedLabels.read(flat, sentences, types, scheme)
        return coded.chunks(closed=scheme == "BIOES", lenient=lenient)

    right, found = read(gold), read(predicted)
    return ChunkCounts(*right.counts(found, len(types)).sum(axis=0).tolist())


def chunks_of(
    labels: Sequence[str], scheme: SchemeName = "IOB2", *, lenient: bool = False
) -> list[Chunk]:
    """Return the chunks of the labels of one sentence, which are text."""
    types: dict[str, int] = {}
    coded = CodedLabels.read(labels, np.array([0, len(labels)]), types, scheme)
    found = coded.chunks(closed=scheme == "BIOES", lenient=lenient)
    names = list(types)
    columns = found.start.tolist(), found.stop.tolist(), found.kind.tolist()
    return [Chunk(a, b, names[kind]) for a, b, kind in zip(*columns, strict=True)]


def repair_chunks(labels: Sequence[str], dangling: Integers) -> list[str]:
    """Return labels in which every chunk begins with B-X, as conlleval reads them."""
    mended = list(labels)
    for token in dangling.tolist():
        mended[token] = f"B-{mended[token][2:]}"
    return mended


def read_chunks(labels: Sequence[str], scheme: SchemeName = "IOB2") -> list[Chunk]:
    """Return the chunks of a sequence of labels, as seqeval reads them in strict mode.

    IOB2: a chunk starts at B-X and continues with I-X. BIOES: S-X, or B-X, any I-X and
    E-X. Anything else, such as an I-X with no B-X before it, is no part of a chunk.

    Parameters
    ----------
    labels : sequence of str
        The labels of one sentence.
    scheme : {"IOB2", "BIOES"}, default="IOB2"
        How to read them.

    Returns
    -------
    list of Chunk
        The chunks, from left to right.

    Examples
    --------
    >>> from argmetric.sequence import read_chunks
    >>> read_chunks(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"])
    [Chunk(start=0, stop=2, type='PER'), Chunk(start=4, stop=5, type='LOC')]
    """
    check_choice(scheme, "scheme", SCHEMES)
    return chunks_of(check_texts(labels, "labels"), scheme)


def write_labels(
    chunks: Sequence[tuple[Any, ...]], n: int, scheme: SchemeName = "IOB2"
) -> list[str]:
    """Return the labels of a sentence with some chunks, which must not overlap.

    Parameters
    ----------
    chunks : sequence of Chunk
        Chunks, or anything that begins with start, stop and type, such as `Span`.
    n : int
        Number of tokens.
    scheme : {"IOB2", "BIOES"}, default="IOB2"
        How to write them.

    Returns
    -------
    list of str
        One label for each token.

    Examples
    --------
    >>> from argmetric.sequence import write_labels
    >>> write_labels([(0, 2, "PER")], 3, "BIOES")
    ['B-PER', 'E-PER', 'O']
    """
    check_choice(scheme, "scheme", SCHEMES)
    n = check_count(n, "n", high=_MOST_TOKENS)
    labels = [OUTSIDE] * n
    for number, chunk in enumerate(check_items(chunks, "chunks", "a list of spans")):
        wanted, name = "chunks must hold (start, stop, type)", f"of chunks[{number}]"
        if not isinstance(chunk, Sequence) or isinstance(chunk, str) or len(chunk) < 3:
            raise TypeError(f"{wanted}, not {shown(chunk)} at position {number}")
        start, kind = check_count(chunk[0], f"the start {name}"), chunk[2]
        stop = check_count(chunk[1], f"the stop {name}")
        if not 0 <= start < stop <= n:
            raise ValueError(
                f"chunks: span {start} to {stop} is not within n={n} tokens"
            )
        if any(label != OUTSIDE for label in labels[start:stop]):
            raise ValueError(f"chunks: span {start} to {stop} overlaps another one")
        labels[start:stop] = [f"B-{kind}"] + [f"I-{kind}"] * (stop - start - 1)
        if scheme == "BIOES":
            last = "S" if stop == start + 1 else "E"
            labels[stop - 1] = f"{last}-{kind}"
    return labels
