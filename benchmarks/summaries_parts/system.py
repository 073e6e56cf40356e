"""What a system wrote, and how it is judged and told."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from harness import emit

from summaries_parts.data import Clusters
from summaries_parts.judge import interval, recalls


@dataclass(frozen=True)
class System:
    """Texts of all judged clusters."""

    name: str
    clusters: Clusters
    texts: list[str]
    details: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def runs(self) -> np.ndarray:
        """Scores [cluster, mean or maximum over references]."""
        references = [self.clusters.references[i] for i in self.clusters.judged]
        return recalls(references, self.texts)

    @property
    def scores(self) -> np.ndarray:
        """Of every cluster: the mean over references."""
        return self.runs[:, 0]

    @property
    def mean(self) -> float:
        return float(self.scores.mean())

    def tell(self) -> None:
        words = [len(text.split()) for text in self.texts]
        emit(
            self.clusters.name,
            self.name,
            self.mean,
            "R-2 recall, %",
            interval_95=interval(self.scores),
            best_reference=float(self.runs[:, 1].mean()),
            words=float(np.mean(words)),
            most_words=max(words),
            clusters=self.scores.size,
            **self.details,
        )


def tell_gain(one: System, other: System) -> None:
    """Print the paired difference of two systems."""
    gains = one.scores - other.scores
    low, high = interval(gains)
    emit(
        one.clusters.name,
        f"{one.name} less {other.name}, low end of the interval",
        low,
        "points of R-2 recall",
        difference=float(gains.mean()),
        interval_95=[low, high],
    )
