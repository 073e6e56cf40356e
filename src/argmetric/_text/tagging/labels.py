"""Labels of tokens: their numbers, which may follow, and how good predictions are."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from argmetric._input.types import Integers
from argmetric._results.display import SCORE, Field, Result
from argmetric._results.pictures import bars_size, draw_bars, drawing
from argmetric._text.corpus.labels import (
    BEGIN,
    INSIDE,
    OUTSIDE,
    ChunkCounts,
    CodedLabels,
    repaired,
    roles_and_kinds,
    well_formed,
)
from argmetric._text.hashing import reversal
from argmetric._text.kernels.tagging_layout import Choices
from argmetric._text.tagging.sentences import Corpus
from argmetric._text.tagging.templates import Template, lags


@dataclass(frozen=True)
class Tier:
    """A sequence of labels to decide.

    Attributes
    ----------
    name : str
        What templates call it.
    labels : tuple of str
        The labels, in the order of their numbers.
    spans : bool
        Whether they are labels of IOB2, of which some may not follow others.
    """

    name: str
    labels: tuple[str, ...]
    spans: bool


def make_choices(
    tiers: Sequence[Tier],
    tables: Sequence[Sequence[Template]],
    *,
    hash_bits: int,
    base: int = 0,
    value: float = 1.0,
) -> Choices:
    """Arrays that say what may be decided and where its weights stand.

    Static features have the rows below 2**hash_bits, or, where `base` is given, those
    below `base`, and history features those from there on.
    """
    most = max(len(tier.labels) for tier in tiers)
    bits = 8 if most < 255 else 16
    names = [tier.name for tier in tiers]
    masks, ends = [], [0]
    state = 0
    for number, table in enumerate(tables):
        for template in table:
            if template.labels:
                masks.append(_mask(lags(template, number, names), bits, template))
                state |= masks[-1]
        ends.append(len(masks))
    if any(tier.spans for tier in tiers):
        state |= ((1 << bits) - 1) << bits * (len(tiers) - 1)
    rows = base + (1 << hash_bits)
    sizes = [rows * len(tier.labels) for tier in tiers]
    allowed, roles, kinds = _legality(tiers, most)
    return Choices(
        np.array([len(tier.labels) for tier in tiers], dtype=np.int64),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array(ends, dtype=np.int64),
        np.array(masks, dtype=np.uint64),
        allowed,
        roles,
        kinds,
        np.uint64(bits),
        # Labels in between are kept where the code is, or the mask would move
        np.uint64(_filled(state)),
        np.uint64(64 - hash_bits),
        np.int64(base),
        np.float32(value),
    )


def _filled(state: int) -> int:
    return int((1 << state.bit_length()) - 1)


def _mask(steps: Sequence[int], bits: int, template: Template) -> int:
    if max(steps) * bits > 64:
        raise ValueError(
            f"template {template.text!r} looks {max(steps)} decisions back; with this "
            f"many labels {64 // bits} is the farthest"
        )
    return sum(((1 << bits) - 1) << bits * (step - 1) for step in set(steps))


def _legality(tiers: Sequence[Tier], most: int) -> tuple[Any, Any, Any]:
    allowed = np.zeros((len(tiers), most + 1, most), dtype=np.bool_)
    roles = np.full((len(tiers), most), -1, dtype=np.int64)
    kinds = np.full((len(tiers), most), -1, dtype=np.int64)
    for s, tier in enumerate(tiers):
        n = len(tier.labels)
        allowed[s, : n + 1, :n] = True
        if not tier.spans:
            continue
        first, follows, _ = well_formed(tier.labels, "IOB2")
        allowed[s, 0, :n] = first
        allowed[s, 1 : n + 1, :n] = follows
        roles[s, :n], kinds[s, :n] = roles_and_kinds(tier.labels)
    return allowed, roles, kinds


def size_of(choices: Choices) -> int:
    """How many weights the choices have."""
    return int(choices.starts[-1])


@dataclass(frozen=True, eq=False)
class Codec:
    """Numbers for the labels of a tier.

    Read from right to left, the END of a chunk begins it: the labels of a reversed
    sentence are those that IOB2 gives to the mirrored chunks.
    """

    tier: Tier

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order of their numbers."""
        return self.tier.labels

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {label: number for number, label in enumerate(self.labels)}

    def encode(self, labels: Sequence[str]) -> Integers:
        """Numbers of labels, -1 for an unknown one."""
        get = self._numbers.get
        return np.fromiter((get(v, -1) for v in labels), np.int64, len(labels))

    @cached_property
    def _tables(self) -> tuple[Integers, Integers, Integers, Integers]:
        """Role and type of each label; the labels that begin and go on in a type."""
        roles, kinds = roles_and_kinds(self.labels)
        n = int(kinds.max(initial=-1)) + 1
        begins, insides = np.full((2, max(n, 1)), -1, dtype=np.int64)
        begins[kinds[roles == BEGIN]] = np.flatnonzero(roles == BEGIN)
        insides[kinds[roles == INSIDE]] = np.flatnonzero(roles == INSIDE)
        return roles, kinds, begins, insides

    def mirrored(self, numbers: Integers, sentences: Integers) -> Integers:
        """Labels of the reversed sentences; `numbers` has tokens along its last axis.

        Its own inverse.
        """
        back = reversal(sentences)
        if not self.tier.spans:
            return numbers[..., back]
        roles, kinds, begins, insides = self._tables
        role = roles[numbers]
        ends = np.ones(numbers.shape, dtype=np.bool_)
        ends[..., :-1] = role[..., 1:] != INSIDE
        ends[..., sentences[1:][np.diff(sentences) > 0] - 1] = True
        kind = kinds[numbers]
        other = np.where(ends, begins[kind], insides[kind])
        return np.where(role == 0, numbers, other)[..., back]


def codec_of(
    name: str, labels: Sequence[str], corpus: Corpus, *, spans: bool
) -> tuple[Codec, Integers]:
    """The codec of training labels, and their numbers.

    Labels of chunks are put right first: I-X with no X open before it is read as B-X,
    as conlleval does, with a warning.
    """
    kinds_of = sorted(set(labels))
    if not spans:
        codec = Codec(Tier(name, tuple(kinds_of), False))
        return codec, codec.encode(labels)
    for label in kinds_of:
        try:
            roles_and_kinds([label])
        except ValueError as error:
            raise ValueError(f"{corpus.where(labels.index(label))}: {error}") from None
    first = {OUTSIDE, *kinds_of}
    first |= {f"B-{label[2:]}" for label in kinds_of if label.startswith("I-")}
    codec = Codec(Tier(name, tuple(sorted(first)), True))
    numbers = codec.encode(labels)
    roles, kinds = roles_and_kinds(codec.labels)
    wrong = CodedLabels(roles[numbers], kinds[numbers], corpus.sentences).dangling()
    if wrong.size:
        warnings.warn(
            "labels that go on with a chunk which is not open are read as its "
            f"beginning: {wrong.size} of them, the first in "
            f"{corpus.where(int(wrong[0]))} ({labels[int(wrong[0])]})",
            UserWarning,
            stacklevel=4,  # codec_of, read_training, fit, and its caller
        )
        numbers = codec.encode(repaired(labels, wrong))
    return codec, numbers


SHARES = ("accuracy", "precision", "recall", "F1")  # of an evaluation


@dataclass(frozen=True)
class Evaluation(Result):
    """Scores of predicted labels.

    Attributes
    ----------
    accuracy : float
        Share of tokens with the right label.
    precision, recall, f1 : float or None
        Of whole chunks, read strictly (only B-X begins one); None if the labels are not
        chunks. F1 is 1 if there is no chunk and none was predicted.
    unknown : int
        Tokens whose label the tagger never saw; they count as missed.
    tokens : int
        Number of tokens.
    """

    accuracy: float
    precision: float | None
    recall: float | None
    f1: float | None
    unknown: int
    tokens: int

    @property
    def score(self) -> float:
        """F1 of chunks, or accuracy if the labels are not chunks."""
        return self.accuracy if self.f1 is None else self.f1

    def fields(self) -> list[Field]:
        unknown = f", {self.unknown:,} of an unknown label" if self.unknown else ""
        return [
            *(self._field(name.lower(), name, SCORE) for name in SHARES),
            Field("unknown", self.unknown),
            self._field("tokens", "tokens", f"{{:,}}{unknown}"),
        ]

    def plot(self, ax: Any = None) -> Any:
        """Draw a bar for each share.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        known = ((name, getattr(self, name.lower())) for name in SHARES)
        shares = {name: share for name, share in known if share is not None}
        labels = {"title": f"{self.tokens:,} tokens", "xlim": (0, 1), "xlabel": "share"}
        names = [f"{name} {share:.3f}" for name, share in shares.items()]
        with drawing(ax, bars_size(len(shares)), **labels) as ax:
            draw_bars(ax, names, list(shares.values()))
        return ax


class RightLabels:
    """Right labels, coded once and compared many times."""

    def __init__(self, codec: Codec, labels: Sequence[str], sentences: Integers):
        self._codec = codec
        self._sentences = sentences
        self._numbers = codec.encode(labels)
        if codec.tier.spans:
            # Types that only occur here get numbers of their own: they are missed
            self._types: dict[str, int] = {}
            self._of_labels = roles_and_kinds(codec.labels, self._types)
            self._gold = CodedLabels.read(labels, sentences, self._types).chunks()

    def evaluate(self, numbers: Integers) -> Evaluation:
        """Compare with predicted labels."""
        n = len(numbers)
        accuracy = float(np.mean(numbers == self._numbers)) if n else 1.0
        unknown = int(np.sum(self._numbers < 0))
        if not self._codec.tier.spans:
            return Evaluation(accuracy, None, None, None, unknown, n)
        roles, kinds = self._of_labels
        found = CodedLabels(roles[numbers], kinds[numbers], self._sentences).chunks()
        each = self._gold.counts(found, len(self._types))
        counts = ChunkCounts(*each.sum(axis=0).tolist())
        return Evaluation(
            accuracy, counts.precision, counts.recall, counts.f1, unknown, n
        )
