"""SEARN for summaries: states of policies, costs by recall, and a policy from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from argmetric._input.types import Floats
from argmetric._text.summaries._features import features, fixed_features, value_steps
from argmetric._text.summaries._growth import (
    Chooser,
    Growth,
    best_of,
    gain_per_unit,
)
from argmetric._text.summaries._linear import Linear, Sums
from argmetric._text.summaries._material import Material
from argmetric._text.summaries._oracle import best_path
from argmetric._text.summaries._policies import ByReferences
from argmetric._text.summaries._rates import Shares
from argmetric._text.summaries._weights import Weights

Start = Callable[[Material, Floats], Growth]

_MOST_BEST = 150  # pieces that count as much as all others of a state
_PENALTY = 1000.0
_PERCENT = 100.0


@dataclass(frozen=True, eq=False)
class BySearn:
    """What the weights say, and what they miss: linear in features of the state."""

    weights: Weights
    linear: Linear

    def rates(self, growth: Growth, rows: Floats) -> Floats:
        """The recall that pieces are expected to bring, in percent of the budget."""
        return _by_weights(growth) + self.linear.predict(rows)

    def chooser(self, material: Material) -> Chooser:
        """The recall that a piece is expected to bring, by cost."""
        fixed = fixed_features(material)

        def scores(growth: Growth) -> Floats:
            found = self.rates(growth, features(growth, fixed))
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
                rates = _PERCENT * growth.budget.room * recall / sizes
                if policy is None:
                    piece = next(path, best_of(rates, growth))
                else:
                    piece = best_of(policy.rates(growth, rows), growth)
                if iteration < iterations:
                    can = np.flatnonzero(growth.sizes > 0.0)
                    missed = (rates - _by_weights(growth))[can]
                    sums.add(rows[can], missed, _weights(rates[can]))
                best = rates[best_of(rates, growth)]
                tally.regret += float(best - rates[piece]) / _PERCENT
                tally.recall += float(recall[piece])
                tally.steps += 1
                growth.take(piece, 0.0)
        if sums is None:
            raise ValueError("no sentence of the clusters fits the budget")
        if policy is None or iteration < iterations:
            policy = BySearn(weights, sums.fit(_PENALTY))
        yield tally.row(iteration, len(lessons)), policy


def _by_weights(growth: Growth) -> Floats:
    """Rates by the first of the values, which the weights say."""
    return _PERCENT * growth.budget.room * gain_per_unit(growth)


def _weights(rates: Floats) -> Floats:
    """Weights of the pieces of a state: those with the best rates have half of it.

    Up to twice `_MOST_BEST` pieces all weigh the same. Of more, nearly all bring next
    to nothing, and would be all that is learned.
    """
    n_best = min(_MOST_BEST, len(rates) // 2)
    weights = np.full(len(rates), (0.5 if n_best else 1.0) / (len(rates) - n_best))
    if n_best:
        weights[np.argpartition(-rates, n_best)[:n_best]] = 0.5 / n_best
    return weights
