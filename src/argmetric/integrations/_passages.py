"""How many passages of a query to pass on, for frameworks of retrieval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._ground.arguments import check_number
from argmetric._verbs.decide import decide
from argmetric.metrics import MetricLike, get_metric


@dataclass(frozen=True)
class PassageChoice:
    """Which passages of one query to pass on, by their scores and lengths.

    Attributes
    ----------
    metric : str or Metric
        What the passages that are passed on are judged by.
    calibrator : Calibrator or None
        Made by `calibrate` on labelled queries; rerankers are rarely calibrated.
    logits : bool
        Whether scores are log-odds, such as those of most cross-encoders.
    max_tokens : float or None
        Budget of each query.
    count_tokens : callable or None
        From a text to its tokens; by default its words.

    Examples
    --------
    >>> import argmetric as am
    >>> choice = am.integrations.PassageChoice(max_tokens=5)
    >>> choice.choose([0.9, 0.8, 0.4], ["four words of text", "one two", "three"])
    [0, 2]
    """

    metric: MetricLike = "f1"
    calibrator: Any = None
    logits: bool = False
    max_tokens: float | None = None
    count_tokens: Callable[[str], int] | None = None

    def __post_init__(self) -> None:
        get_metric(self.metric)  # a wrong name is found here, not at the first query
        if self.max_tokens is not None:
            check_number(self.max_tokens, "max_tokens", low=0.0)

    def choose(self, scores: Sequence[float | None], texts: Sequence[str]) -> list[int]:
        """Places of the passages to pass on, in the order given.

        Parameters
        ----------
        scores : sequence of float
            One for each passage.
        texts : sequence of str
            The passages.
        """
        if len(scores) != len(texts):
            raise ValueError(f"{len(scores)} scores for {len(texts)} passages")
        if any(one is None for one in scores):
            place = list(scores).index(None)
            raise ValueError(f"passage {place} has no score: rerank the passages first")
        if not len(scores):
            return []
        cost = None
        if self.max_tokens is not None:
            count = self.count_tokens or (lambda text: len(text.split()))
            cost = [count(text) for text in texts]
        found = decide(
            np.asarray(scores, dtype=np.float64),
            self.metric,
            calibrator=self.calibrator,
            logits=self.logits,
            cost=cost,
            max_cost=self.max_tokens,
        )
        return [int(i) for i in np.flatnonzero(found.labels)]
