"""What labels mean: two classes, named by the user or known by their usual names."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from argmetric._files._formats import marked
from argmetric._input.labels import neither, same_spelling, spelled_number, unclear

_TRUTHS = {"true": "false", "True": "False", "TRUE": "FALSE"}
_SHOWN = 40  # letters of a label
_FALSE = {negative: positive for positive, negative in _TRUTHS.items()}


@dataclass(frozen=True)
class Classes:
    """The positive and the negative class, None where it is not known yet.

    Numbers are compared as numbers: "1", "+1" and "1.0" are one class.

    Attributes
    ----------
    positive, negative : str or None
        The classes.
    named : bool
        Whether the user named the positive one: then any other value is the negative
        one, the first to come. Else labels are 0 and 1, -1 and 1, or true and false.
    rest : bool
        Whether all other values are negative.
    """

    positive: str | None = None
    negative: str | None = None
    named: bool = False
    rest: bool = False

    @property
    def known(self) -> bool:
        """Whether both classes are."""
        return self.positive is not None and self.negative is not None

    def of(self, label: str) -> int | None:
        """Return 1, 0, or None for a label that is not (yet) a class."""
        for number, name in ((1, self.positive), (0, self.negative)):
            if name is not None and same_spelling(label, name):
                return number
        return 0 if self.rest and label else None

    def learned(self, label: str) -> Classes | None:
        """Return the classes with a new one added, None if there is no place for it."""
        if not label or self.known:
            return None
        if self.named:
            return replace(self, negative=label)
        value = spelled_number(label)
        if self.positive is None:
            if value in (0.0, -1.0):
                return replace(self, positive="1", negative=label)
            if value == 1.0:
                return replace(self, positive=label)
            if label in _TRUTHS:
                return replace(self, positive=label, negative=_TRUTHS[label])
            if label in _FALSE:
                return replace(self, positive=_FALSE[label], negative=label)
        elif value in (0.0, -1.0):
            return replace(self, negative=label)
        return None

    def complaint(self, label: str) -> str:
        """Say what is wrong with a label that is no class."""
        if not label:
            return "it has no label"
        label = label[:_SHOWN]
        if self.known or self.named:
            return neither(label, self.negative, self.positive)
        problem = unclear([label], "it").problem
        names = f"{marked('pos_label')} and {marked('neg_label')}"
        return f"{problem}; name the classes by {names}"

    @property
    def doubtful(self) -> bool:
        """Whether a positive class that never comes is a slip, and not all 0 of 0/1."""
        usual = Classes().learned(self.negative or "")
        pair = "" if usual is None else usual.positive or ""
        return self.named and not same_spelling(pair, self.positive or "")

    def worths(self) -> npt.NDArray[np.float64]:
        """Return the classes as numbers, NaN for a class that is none."""
        return np.array([_worth(self.negative), _worth(self.positive)])

    def words(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
        """Return the classes as text, empty where they are numbers."""
        return _word(self.negative), _word(self.positive)


def _worth(name: str | None) -> float:
    value = None if name is None else spelled_number(name)
    return math.nan if value is None else value


def _word(name: str | None) -> npt.NDArray[np.uint8]:
    text = b"" if name is None or spelled_number(name) is not None else name.encode()
    return np.frombuffer(text, dtype=np.uint8)
