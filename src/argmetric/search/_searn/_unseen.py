"""Whether policies look better on their training inputs than they are.

A policy that hardly errs on the inputs that it was trained on meets the states of the
initial policy there and no others: SEARN becomes training on the right path, without a
word. A classifier that did not see some of the inputs tells how much it errs on others.
"""

from __future__ import annotations

import numpy as np

from argmetric.search._searn._iterate import (
    NO_REGRET,
    Examples,
    fit_on,
    folds_of,
    regrets_of,
)
from argmetric.search._searn._learners import CostSensitiveLearner, LinearLearner
from argmetric.search._searn._reductions import AllPairs, OneAgainstAll

_FOLDS = 4
_MOST_SEEN = 0.1  # a policy with more mistakes has enough to learn from
_LEAST_MISTAKES = 20  # on inputs not seen; fewer are no evidence
_SMALL_RATIO = 0.25  # of mistakes on inputs seen to those on others


def unseen_mistakes(
    learner: CostSensitiveLearner, examples: Examples, mistakes: float, seed: int
) -> float | None:
    """Share of mistakes on a quarter of the inputs, after training on the others.

    None where it could make no difference, and of learners that are not known to be
    left as they are by another `fit`. The threshold between in-sample learning and a
    poor learner was chosen by experiment: rich features on 50 to 1,000 sentences
    (trees, chunks) show a policy 0 to 0.28 of its mistakes, poor ones 0.55 to 1.
    """
    n_inputs = np.unique(examples.places).size
    known = isinstance(learner, LinearLearner | AllPairs | OneAgainstAll)
    if mistakes > _MOST_SEEN or n_inputs < _FOLDS or not known:
        return None
    fold_of = folds_of(int(examples.places.max()) + 1, _FOLDS, seed)
    assert fold_of is not None
    held = fold_of[examples.places] == 0
    if np.count_nonzero(held) < _LEAST_MISTAKES:
        return None
    scorer = fit_on(learner, examples, ~held, np.random.default_rng(seed))
    regrets = regrets_of(scorer.scores(examples.decisions), examples)
    wrong = regrets[held] > NO_REGRET
    return float(wrong.mean()) if wrong.sum() >= _LEAST_MISTAKES else None


def in_sample_warning(mistakes: float, unseen: float | None) -> str | None:
    """What to say where the roll-in is nearly the initial policy's."""
    if unseen is None or mistakes >= _SMALL_RATIO * unseen:
        return None
    return (
        "the roll-in is nearly the initial policy's: a classifier is wrong in "
        f"{mistakes:.2%} of the decisions on inputs that it was trained on, but in "
        f"{unseen:.2%} on others, so that further iterations hardly learn from its "
        f"mistakes; pass cross_validation={_FOLDS}, which runs training inputs by "
        "classifiers that did not see them, or iterations=1 to do without"
    )
