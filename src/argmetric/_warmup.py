"""Load every kernel ahead of time."""

from __future__ import annotations

import numpy as np


def warmup() -> None:
    """Compile, or load from the disk cache, the kernels now instead of at first use.

    For servers: the first call on a machine takes seconds.

    Examples
    --------
    >>> import argmetric as am
    >>> am.warmup()
    """
    from argmetric._decide import decide
    from argmetric._forecast import forecast

    p = np.linspace(0.01, 0.99, 5000)
    for metric in ("f1", "jaccard", "balanced_accuracy", "mcc", "gmean", "accuracy"):
        decide(p, metric)
    decide(p / 100, "mcc")  # few positives: windows instead of quadrature
    groups = np.concatenate([np.arange(300) // 100, np.arange(300) // 10, [0] * 4400])
    for metric in ("f1", "mcc"):
        decision = decide(
            p,
            metric,
            groups=groups,
            average="groups",
            min_recall=0.1,
        )
        forecast(p, decision.labels, metric, groups=groups)
    forecast(p, decision.labels)
    many = np.arange(p.size) // 10  # groups whose laws are added on a grid
    forecast(p, p > 0.5, groups=many)
    _warm_streams()


def _warm_streams() -> None:
    """The default learner and rule, below `OnlineClassifier`: without scikit-learn."""
    from argmetric.metrics import get_metric
    from argmetric.stream._learners import Learner, to_sparse
    from argmetric.stream._rules import get_rule

    metric, X = get_metric("f1"), np.eye(2)
    learner, rule = Learner("mixture"), get_rule("histogram").init_state(metric)
    state, y = learner.init(metric, 2), np.array([0, 1], dtype=np.uint8)
    for rows in (X, to_sparse(X)):
        learner.chunk(state, rule, rows, y, np.ones(1), 0, learn=True)
