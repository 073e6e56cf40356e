"""Outputs of a policy: greedy, or by beam search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal

import numpy as np

from argmetric.search._searn._beam import beam_search
from argmetric.search._searn._policy import BeamScores, LearnedPolicy, Mixture
from argmetric.search._searn._task import Task
from argmetric.search._searn._walk import make_keys, run, start_walks

Prediction = Literal["draw", "mean"]
_GRID = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05)  # values of β that are tried


@dataclass(frozen=True)
class Decoder:
    """How a mixture of policies is asked for outputs.

    Attributes
    ----------
    task : Task
        What the policies decide.
    beam : int
        Width of the beam; 1 is greedy.
    beam_scores : {"log", "raw"}
        What is added up along a path.
    prediction : {"draw", "mean"}
        Whether one policy is drawn for each decision, or the mean of all decides.
    seed : int
        Of the draws, which depend on it and on the number of the input.
    """

    task: Task
    beam: int
    beam_scores: BeamScores
    prediction: Prediction
    seed: int

    def outputs(self, mixture: Mixture, X: Sequence[Any]) -> list[Any]:
        """The output for each input."""
        pairs = zip(X, self._states(mixture, X), strict=True)
        return [self.task.output(x, state) for x, state in pairs]

    def _states(self, mixture: Mixture, X: Sequence[Any]) -> list[Any]:
        keys = make_keys(self.seed, np.arange(len(X)))
        drawn = self.prediction == "draw"
        if self.beam == 1 and (drawn or mixture.deterministic):
            # The way of the roll-in. A beam's probabilities round close scores to ties
            return run(self.task, mixture, start_walks(self.task, X), keys)
        return beam_search(
            mixture,
            X,
            width=self.beam,
            form=self.beam_scores,
            keys=keys if drawn else None,
        )

    def mean_loss(self, mixture: Mixture, X: Sequence[Any], Y: Sequence[Any]) -> float:
        """Mean loss on development inputs; losses that are not finite are refused."""
        pairs = zip(Y, self.outputs(mixture, X), strict=True)
        losses = np.array([self.task.loss(y, output) for y, output in pairs], float)
        bad = np.flatnonzero(~np.isfinite(losses))
        if bad.size:
            raise ValueError(
                f"the loss of development input {bad[0]} is {losses[bad[0]]}"
            )
        return float(losses.mean())


def best_share(
    beta: float | Literal["search"],
    decoder: Decoder,
    mixture: Mixture,
    policy: LearnedPolicy,
    dev: tuple[Sequence[Any], Sequence[Any]] | None,
) -> tuple[float, float | None]:
    """β of a new policy, and the loss on development inputs that it comes to."""
    if dev is None:
        return float(beta), None
    searched = _GRID if mixture.learned else (1.0,)
    grid = searched if beta == "search" else (beta,)
    tried = []
    for share in grid:
        after = mixture.interpolate(policy, float(share)).without_initial()
        tried.append((decoder.mean_loss(after, *dev), float(share)))
    loss, share = min(tried, key=itemgetter(0))
    return share, loss
