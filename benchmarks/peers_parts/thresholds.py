"""scikit-learn's TunedThresholdClassifierCV: a threshold from labelled rows."""

from __future__ import annotations

from functools import partial

import numpy as np
from search_parts.data import timed
from tabular import probability_classifier

import argmetric as am
from peers_parts.cases import f1, loaded, models, names, split
from peers_parts.rows import Row

THEIRS = 'TunedThresholdClassifierCV(model, scoring="f1")'
OURS = 'MetricClassifier(model, "f1")'
SMALL = ("breast cancer", "diabetes")  # sets of two seeds


def run(fast: bool) -> list[Row]:
    return [*_fitted(fast), *_prefit(fast)]


def _fitted(fast: bool) -> list[Row]:
    """Both wrap the same model, fit it in five folds, and predict the test part."""
    from sklearn.base import clone
    from sklearn.model_selection import TunedThresholdClassifierCV

    score = Row("actual F1 of new rows", "%", "higher", THEIRS, OURS)
    spent = Row("fit", "CPU s", "lower", THEIRS, OURS, ratio=True)
    _warm()
    for name in names(fast):
        X, y = loaded(name)
        for seed in range(2 if name in SMALL and not fast else 1):
            train, held, test = split(name, seed)
            rows = np.concatenate([train, held])
            for kind, model in models().items():
                wrapped = (
                    TunedThresholdClassifierCV(
                        clone(model), scoring="f1", random_state=seed
                    ),
                    am.MetricClassifier(clone(model), "f1", random_state=seed),
                )
                took = [timed(partial(one.fit, X[rows], y[rows]))[1] for one in wrapped]
                case = f"{name}, {kind}, seed {seed}"
                found = [f1(y[test], one.predict(X[test])) for one in wrapped]
                score.add(case, *found, unit=name)
                spent.add(case, *took, unit=name)
    return [score, spent]


def _warm() -> None:
    """Compile, so that no time is the compiler's."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    am.MetricClassifier().fit(X, (X[:, 0] + rng.normal(size=200) > 0.8).astype(int))


def _prefit(fast: bool) -> list[Row]:
    """Scores are there already: only the threshold is sought."""
    from sklearn.model_selection import TunedThresholdClassifierCV

    n = 2_000 if fast else 100_000
    theirs = 'TunedThresholdClassifierCV(model, scoring="f1", cv="prefit")'
    bare = 'tune(y, p, "f1", n_bootstrap=0, cv=None)'
    whole = 'tune(y, p, "f1"), with intervals and optimism'
    spent = {
        bare: Row(
            f"threshold of {n:,} scores", "CPU s", "lower", theirs, bare, ratio=True
        ),
        whole: Row(
            f"threshold of {n:,} scores", "CPU s", "lower", theirs, whole, ratio=True
        ),
    }
    best = Row("F1 of the threshold on its own rows", "%", "higher", theirs, bare)
    for seed in range(1 if fast else 5):
        rng = np.random.default_rng(seed)
        p = rng.beta(0.5, 4.0, n)
        y = (rng.random(n) < p).astype(int)
        am.tune(y[:500], p[:500], "f1")
        X = p[:, None]
        tuned, took = timed(
            lambda X=X, y=y: TunedThresholdClassifierCV(
                probability_classifier(y), scoring="f1", cv="prefit", refit=False
            ).fit(X, y)
        )
        rule, quick = timed(
            lambda y=y, p=p: am.tune(y, p, "f1", n_bootstrap=0, cv=None)
        )
        _, slow = timed(lambda y=y, p=p: am.tune(y, p, "f1"))
        case = f"generated, seed {seed}"
        spent[bare].add(case, took, quick)
        spent[whole].add(case, took, slow)
        best.add(case, f1(y, tuned.predict(X)), f1(y, rule.apply(p)))
    return [best, *spent.values()]
