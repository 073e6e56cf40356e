"""Labels as numbers, in both directions of reading."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from argmetric._input.types import Integers
from argmetric._text.corpus.labels import (
    BEGIN,
    INSIDE,
    OUTSIDE,
    Labels,
    repaired,
    roles_and_kinds,
)
from argmetric._text.hashing import reversal
from argmetric._text.tagging._choices import Tier
from argmetric._text.tagging._corpus import Corpus


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
    wrong = Labels(roles[numbers], kinds[numbers], corpus.sentences).dangling()
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
