"""The options of a summarizer, checked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from argmetric._input.types import Booleans, Floats
from argmetric._text.summaries._growth import Growth
from argmetric._text.summaries._material import Budget, Material


class Options(NamedTuple):
    """Arguments of `Summarizer` as Python's own."""

    min_words: int
    redundancy: float
    iterations: int
    oracle_beam: int
    verbose: int

    def start(
        self,
        material: Material,
        steps: Floats,
        budget: Budget,
        is_open: Booleans | None = None,
        *,
        small: bool = False,
    ) -> Growth:
        """An empty summary."""
        if is_open is None:
            is_open = np.ones(len(material.pieces), dtype=bool)
        return Growth(
            material,
            budget,
            steps,
            is_open,
            min_words=self.min_words,
            redundancy=self.redundancy,
            small=small,
        )
