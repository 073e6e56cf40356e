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
    """Texts of all judged clusters, once for each seed or draw."""

    name: str
    clusters: Clusters
    texts: list[list[str]]
    details: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def runs(self) -> np.ndarray:
        """Scores [seed, cluster, mean or maximum over references]."""
        references = [self.clusters.references[i] for i in self.clusters.judged]
        return np.array([recalls(references, texts) for texts in self.texts])

    @cached_property
    def scores(self) -> np.ndarray:
        """Of every cluster: the mean over references and seeds."""
        means: np.ndarray = self.runs[:, :, 0].mean(axis=0)
        return means

    @property
    def mean(self) -> float:
        return float(self.scores.mean())

    @property
    def words(self) -> np.ndarray:
        """White-space words of all texts."""
        return np.array([[len(text.split()) for text in own] for own in self.texts])

    def tell(self) -> None:
        emit(
            self.clusters.name,
            self.name,
            self.mean,
            "R-2 recall, %",
            interval_95=interval(self.scores),
            best_reference=float(self.runs[:, :, 1].mean()),
            words=float(self.words.mean()),
            most_words=int(self.words.max()),
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
