"""Verbs for one label: decide, evaluate, tune and check; and `warmup` for all."""

from __future__ import annotations

import numpy as np


def warmup() -> None:
    """Compile, or load from the disk cache, kernels now instead of at first use.

    For servers: the first call on a machine takes seconds. Loaded are the kernels of
    `decide`, of `forecast` and of the default `stream.OnlineClassifier`; those of
    sequences, taggers, training and files are loaded when they are first used.

    No answer changes by it, to the last bit.

    Experimental: may change in any release.

    Examples
    --------
    >>> import argmetric as am
    >>> am.warmup()
    """
    from argmetric._forecast.forecast import forecast
    from argmetric._verbs.decide import decide
    from argmetric.metrics import CustomMetric

    p = np.linspace(0.01, 0.99, 5000)
    for metric in ("f1", "jaccard", "balanced_accuracy", "mcc", "gmean", "accuracy"):
        assert decide(p, metric).curve is not None  # made now, not when needed
    for metric in ("mcc", "jaccard"):
        assert decide(p / 100, metric).curve is not None  # few positives: windows
    decide(np.tile(p, 10))  # so long that it is not sorted
    groups = np.concatenate([np.arange(300) // 100, np.arange(300) // 10, [0] * 4400])
    for metric in ("f1", "mcc"):
        decision = decide(p, metric, groups=groups, average="groups", min_recall=0.1)
        forecast(p, decision.labels, metric, groups=groups)
    forecast(p, decision.labels)
    forecast(p, np.zeros(p.size))
    some, ids = p[:200:2], np.arange(100) // 5  # short groups beside a reference
    forecast(some, some > 0.5, groups=ids, reference=(np.arange(200) > 99, p[:200]))
    # Ids far apart are hashed; groups too long for tables have PMFs of their own.
    forecast(p, p > 0.5, groups=np.arange(p.size) % 50 * 2**40)
    decide(  # so many groups that rows go through bins
        np.tile(p, 4), groups=np.arange(20_000) * 7 % 16_400, average="groups"
    )
    own = CustomMetric(lambda tp, k, t, n: tp / (k + t + 1.0), smooth=True)
    decide(p, own, groups=np.arange(p.size) // 100, average="groups")
    assert decide(np.tile(p, 3), own).curve is not None  # of wide PMFs
    many = np.arange(p.size) // 10  # groups whose PMFs are added on a grid
    for effect in (0.0, 0.5):
        forecast(p, p > 0.5, groups=many, overdispersion=effect)
    decide(p[:10])  # a short vector takes the kernel of PMFs once it is loaded
    # The default learner and rule, below `OnlineClassifier`: without scikit-learn.
    from argmetric.metrics import get_metric
    from argmetric.stream import Learner, StreamModel, get_rule

    model = StreamModel(
        get_metric("f1"), Learner("mixture"), get_rule("histogram"), n_features=2
    )
    model.learn(np.eye(2), np.array([0, 1], dtype=np.uint8))
