"""What a first pass made of the same word elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from argmetric._input.types import Integers

Memory = Literal["none", "past", "both"]
_WINDOW = 2000


def word_numbers(words: Sequence[str]) -> Integers:
    """A number for each lower-cased word."""
    lower = {word: word.lower() for word in set(words)}
    numbers: dict[str, int] = {}
    number = {w: numbers.setdefault(low, len(numbers)) for w, low in lower.items()}
    return np.fromiter(map(number.__getitem__, words), np.int64, len(words))


def memory_of(
    words: Integers,
    labels: Integers,
    sentences: Integers,
    n_labels: int,
    memory: Memory,
) -> npt.NDArray[np.uint32]:
    """1 + the majority label of the same word in other sentences near by; 0 for none.

    Sentences at most 2000 tokens away count: on both sides, or the earlier ones only.
    """
    from argmetric._text.kernels.tagging_features import remembered

    owners = np.repeat(np.arange(len(sentences) - 1), np.diff(sentences))
    found = np.zeros(len(words), dtype=np.uint32)
    order = np.argsort(words, kind="stable")
    remembered(words, order, owners, labels, n_labels, _WINDOW, memory == "past", found)
    return found
