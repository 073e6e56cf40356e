"""Labels of tokens: their numbers, legal successors, and scores of predictions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from argmetric._ground.display import Field, Headline, Result, counted
from argmetric._ground.display import number as score_text
from argmetric._ground.pictures import bars_size, draw_bars, drawing
from argmetric._ground.types import Axes, Integers
from argmetric.search.corpus.labels import (
    BEGIN,
    INSIDE,
    OUTSIDE,
    ChunkCounts,
    CodedLabels,
    repair_chunks,
    roles_and_kinds,
    well_formed,
)
from argmetric.search.kernels.tagging_features import Choices
from argmetric.search.learning import reversal
from argmetric.search.tagging.sentences import Corpus, read_labelled
from argmetric.search.tagging.templates import Template, lags


@dataclass(frozen=True)
class Tier:
    """Sequence of labels to decide."""

    name: str  # what templates call it
    labels: tuple[str, ...]  # the labels, in the order of their numbers
    spans: bool  # whether they are labels of IOB2, of which some may not follow others


def make_choices(
    tiers: Sequence[Tier],
    tables: Sequence[Sequence[Template]],
    *,
    hash_bits: int,
    base: int = 0,
    value: float = 1.0,
) -> Choices:
    """Return arrays of the legal decisions and of the rows of their weights.

    Static features have the rows below 2**hash_bits, or below `base` if it is passed,
    and history features those from there on.
    """
    most = max(len(tier.labels) for tier in tiers)
    bits = 8 if most < 255 else 16
    names = [tier.name for tier in tiers]
    masks, ends = [], [0]
    state = 0
    for number, table in enumerate(tables):
        for template in table:
            if template.labels:
                steps = lags(template, number, names)
                if max(steps) * bits > 64:
                    raise ValueError(
                        f"template {template.text!r} looks {max(steps)} decisions "
                        f"back; with this many labels {64 // bits} is the farthest"
                    )
                one = (1 << bits) - 1
                masks.append(sum(one << bits * (step - 1) for step in set(steps)))
                state |= masks[-1]
        ends.append(len(masks))
    if any(tier.spans for tier in tiers):
        state |= ((1 << bits) - 1) << bits * (len(tiers) - 1)
    rows = base + (1 << hash_bits)
    sizes = [rows * len(tier.labels) for tier in tiers]
    allowed, outside = _legality(tiers, most)
    return Choices(
        np.array([len(tier.labels) for tier in tiers], dtype=np.int64),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array(ends, dtype=np.int64),
        np.array(masks, dtype=np.uint64),
        allowed,
        outside,
        np.uint64(bits),
        # Labels in between are kept where the code is, or the mask would move
        np.uint64((1 << state.bit_length()) - 1),
        np.uint64(64 - hash_bits),
        np.int64(base),
        np.float32(value),
    )


def _legality(tiers: Sequence[Tier], most: int) -> tuple[Any, Any]:
    """Return which labels may follow which, and the label "O" of each tier."""
    allowed = np.zeros((len(tiers), most + 1, most), dtype=np.bool_)
    outside = np.full(len(tiers), -1, dtype=np.int64)
    for s, tier in enumerate(tiers):
        n = len(tier.labels)
        allowed[s, : n + 1, :n] = True
        if not tier.spans:
            continue
        first, follows, _ = well_formed(tier.labels, "IOB2")
        allowed[s, 0, :n] = first
        allowed[s, 1 : n + 1, :n] = follows
        outside[s] = tier.labels.index(OUTSIDE)
    return allowed, outside


@dataclass(frozen=True, eq=False)
class Codec:
    """Numbers for the labels of a tier.

    Read from right to left, the END of a chunk begins it: the labels of a reversed
    sentence are those that IOB2 gives to the mirrored chunks.
    """

    tier: Tier

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels, in the order of their numbers."""
        return self.tier.labels

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {label: number for number, label in enumerate(self.labels)}

    def encode(self, labels: Sequence[str]) -> Integers:
        """Return the numbers of labels, -1 for an unknown one."""
        get = self._numbers.get
        return np.fromiter((get(v, -1) for v in labels), np.int64, len(labels))

    @cached_property
    def _tables(self) -> tuple[Integers, Integers, Integers, Integers]:
        """Return role and type of each label.

        And labels that begin or continue a type.
        """
        roles, kinds = roles_and_kinds(self.labels)
        n = int(kinds.max(initial=-1)) + 1
        begins, insides = np.full((2, max(n, 1)), -1, dtype=np.int64)
        begins[kinds[roles == BEGIN]] = np.flatnonzero(roles == BEGIN)
        insides[kinds[roles == INSIDE]] = np.flatnonzero(roles == INSIDE)
        return roles, kinds, begins, insides

    def mirror(self, numbers: Integers, sentences: Integers) -> Integers:
        """Return labels of the reversed sentences; tokens are the last axis.

        The function is its own inverse.
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
    """Return the codec of training labels, and their numbers.

    Labels of chunks are repaired first: I-X with no X open before it is read as B-X,
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
            raise ValueError(f"{corpus.place(labels.index(label))}: {error}") from None
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
            f"{corpus.place(int(wrong[0]))} ({labels[int(wrong[0])]})",
            UserWarning,
            stacklevel=4,  # codec_of, read_training, fit, and its caller
        )
        numbers = codec.encode(repair_chunks(labels, wrong))
    return codec, numbers


def read_training(
    sentences: Sequence[Any],
    labels: Sequence[Any] | None,
    tiers: Sequence[tuple[str, bool]],
) -> tuple[Corpus, tuple[Codec, ...], Integers]:
    """Read training sentences; return the codecs and the numbers of their labels.

    Each tier has a name, and whether its labels are those of chunks.
    """
    corpus, right = read_labelled(sentences, labels, len(tiers))
    if not corpus.n_tokens:
        raise ValueError("there is no token to learn from")
    codecs, columns = [], []
    # No comprehension: `codec_of` warns the caller of `fit`, so many frames away
    for (name, spans), own in zip(tiers, right, strict=True):
        codec, numbers = codec_of(name, own, corpus, spans=spans)
        codecs.append(codec)
        columns.append(numbers)
    return corpus, tuple(codecs), np.stack(columns, axis=1).ravel()


SHARES = ("accuracy", "precision", "recall", "F1")  # of an evaluation


@dataclass(frozen=True)
class Evaluation(Result):
    """Scores of predicted labels.

    Parameters
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

    Examples
    --------
    >>> from argmetric.search import Tagger
    >>> sentence, labels = [("the", "DT"), ("cat", "NN")], ["B-NP", "I-NP"]
    >>> tagger = Tagger("chunk", hash_bits=12).fit([sentence] * 5, [labels] * 5)
    >>> tagger.evaluate([sentence], [labels])["t"].f1
    1.0
    """

    accuracy: float
    precision: float | None
    recall: float | None
    f1: float | None
    unknown: int
    tokens: int

    @property
    def score(self) -> float:
        """Return F1 of chunks, or accuracy if the labels are not chunks."""
        return self.accuracy if self.f1 is None else self.f1

    def _headline(self) -> Headline:
        name = "accuracy" if self.f1 is None else "F1 of chunks"
        return Headline(name, score_text(self.score), counted(self.tokens, "token"))

    def fields(self) -> list[Field]:
        """Return the fields of the result, in the order of its summary.

        Returns
        -------
        list of Field
            A key, a value and a text for each.
        """
        unknown = f", {self.unknown:,} of an unknown label" if self.unknown else ""
        return [
            *(self._field(name.lower(), name, score_text) for name in SHARES),
            Field("unknown", self.unknown),
            self._field("tokens", "tokens", f"{{:,}}{unknown}"),
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a bar for each share.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
            The axes drawn on.
        """
        known = ((name, getattr(self, name.lower())) for name in SHARES)
        shares = {name: share for name, share in known if share is not None}
        labels = {"title": f"{self.tokens:,} tokens", "xlim": (0, 1), "xlabel": "share"}
        names = [f"{name} {share:.3f}" for name, share in shares.items()]
        with drawing(ax, bars_size(len(shares)), **labels) as ax:
            draw_bars(ax, names, list(shares.values()))
        return ax


class RightLabels:
    """True labels, coded once and compared many times."""

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
        """Return accuracy, and precision and recall of spans, of predicted labels."""
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
