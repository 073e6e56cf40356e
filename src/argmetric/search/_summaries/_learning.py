"""SEARN for summaries: states of policies, costs by recall, and a policy from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from argmetric._types import Floats, Integers
from argmetric.search._summaries._features import features, fixed_features, value_steps
from argmetric.search._summaries._growth import Chooser, Growth, best_of
from argmetric.search._summaries._linear import Linear, Sums
from argmetric.search._summaries._material import Material
from argmetric.search._summaries._oracle import best_path
from argmetric.search._summaries._policies import ByReferences
from argmetric.search._summaries._rates import Shares
from argmetric.search._summaries._weights import Weights

Start = Callable[[Material, Floats], Growth]

_MOST_ROWS = 300  # pieces of a state that are learned from
_PENALTY = 100.0
_PERCENT = 100.0


@dataclass(frozen=True, eq=False)
class BySearn:
    """A linear function of features of a piece and of the summary so far."""

    weights: Weights
    linear: Linear

    def chooser(self, material: Material) -> Chooser:
        """The recall that a piece is expected to bring, by cost."""
        fixed = fixed_features(material)

        def scores(growth: Growth) -> Floats:
            found = self.linear.predict(features(growth, fixed))
            return found / (_PERCENT * growth.budget.room)

        return Chooser(value_steps(material, self.weights, None), scores)


@dataclass(frozen=True, eq=False)
class Lesson:
    """A cluster to learn from.

    Attributes
    ----------
    material : Material
    steps : ndarray
        Values of grams by what *other* clusters say, and behind them recall itself.
    fixed : ndarray
        Fixed features of the pieces.
    """

    material: Material
    steps: Floats
    fixed: Floats


def make_lesson(material: Material, own: Shares, weights: Weights) -> Lesson:
    """Values and features for learning from one cluster."""
    values = value_steps(material, weights, own)
    recall = ByReferences().chooser(material).steps
    steps = np.zeros((len(values) + 1, *recall.shape[1:]))
    steps[:-1, :, :1] = values
    steps[-1] = recall
    return Lesson(material, steps, fixed_features(material))


@dataclass(frozen=True)
class Iteration:
    """What the theory of SEARN speaks of, on the clusters that are learned from.

    Attributes
    ----------
    iteration : int
        0 is the initial policy.
    loss : float
        Of the policy: 1 - ROUGE-2 recall, averaged over references and clusters.
    regret : float
        Mean cost of its choices: the recall that the best piece would have brought
        more, were the whole budget spent at that rate.
    steps : float
        Mean number of choices in a summary.
    """

    iteration: int
    loss: float
    regret: float
    steps: float


class _Tally:
    def __init__(self) -> None:
        self.recall = self.regret = 0.0
        self.steps = 0

    def row(self, iteration: int, n_clusters: int) -> Iteration:
        return Iteration(
            iteration,
            1.0 - self.recall / n_clusters,
            self.regret / max(self.steps, 1),
            self.steps / n_clusters,
        )


def learn_searn(
    lessons: Sequence[Lesson],
    weights: Weights,
    start: Start,
    *,
    iterations: int,
    beam: int,
    rng: np.random.Generator,
) -> Iterator[tuple[Iteration, BySearn]]:
    """Learn from the states of the policies so far, those of the initial one first.

    Yields a row and the policy learned so far for each policy whose states were
    visited: the initial one, then the learned ones. The last policy is only measured.
    """
    sums: Sums | None = None
    policy: BySearn | None = None
    for iteration in range(iterations + 1):
        tally = _Tally()
        for lesson in lessons:
            growth = start(lesson.material, lesson.steps)
            if policy is None:
                only = start(lesson.material, lesson.steps[-1:])
                path = iter(best_path(only, beam))
            while growth.measure():
                rows = features(growth, lesson.fixed)
                if sums is None:
                    sums = Sums(rows.shape[1])
                sizes = np.where(growth.sizes > 0.0, growth.sizes, 1.0)
                recall = growth.values[:, -1]
                rates = growth.budget.room * recall / sizes
                if policy is None:
                    piece = next(path, best_of(rates, growth))
                else:
                    piece = best_of(policy.linear.predict(rows), growth)
                if iteration < iterations:
                    looked = _looked_at(growth, rates, piece, rng)
                    targets = _PERCENT * rates[looked]
                    sums.add(rows[looked], targets, 1.0 / len(looked))
                tally.regret += float(rates[best_of(rates, growth)] - rates[piece])
                tally.recall += float(recall[piece])
                tally.steps += 1
                growth.take(piece, 0.0)
        if sums is None:
            raise ValueError("no sentence of the clusters fits the budget")
        if policy is None or iteration < iterations:
            policy = BySearn(weights, sums.fit(_PENALTY))
        yield tally.row(iteration, len(lessons)), policy


def _looked_at(
    growth: Growth, rates: Floats, piece: int, rng: np.random.Generator
) -> Integers:
    """All pieces that can be added, or of many those with the best rates and some."""
    can = np.flatnonzero(growth.sizes > 0.0)
    if len(can) <= _MOST_ROWS:
        return can
    half = _MOST_ROWS // 2
    best = can[np.argpartition(-rates[can], half)[:half]]
    some = rng.choice(can, half, replace=False)
    return np.unique(np.concatenate([best, some, [piece]]))
