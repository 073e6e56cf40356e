"""7. Several classes online: OMMA beside argmax and the best decision in hindsight.

Every model gives a row its probabilities before it learns the label: logistic
regressions of each class against the rest (the mixture), naive Bayes in blocks of 500
rows, and a logistic regression fitted once on the first tenth. *Hindsight* is
`classes.decide` on the probabilities of all rows at once, *tuned* the weights that
`classes.tune` finds on all rows with their labels. Of two classes OMMA is run on one
column of labels, beside OFO and FOFO. river has no rule for a metric of several
classes, so its side of the speed is OMMA for macro F1 in plain Python over dicts, as
river hands probabilities out, and river's own one-vs-rest logistic regression with its
metric.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import cpu_seconds, emit, interleaved, median_ratio
from tabular import load

import argmetric as am
from argmetric.metrics import get_class_metric
from argmetric.stream import (
    FOFORule,
    HistogramRule,
    OFORule,
    OMMARule,
    OnlineClassifier,
)
from stream_parts.sets import best_fixed, f_score, probabilities, rst_table, tasks_of

SETS = ("covtype", "letter", "optdigits")
TIME_ORDER = ("covtype",)
METRICS = ("f1", "gmean", "mcc")
RULES = {
    "OMMA": OMMARule(),
    "OMMA, prior 1e-6": OMMARule(prior=1e-6),
    "OMMA, prior 10": OMMARule(prior=10.0),
    "OMMA on probabilities": OMMARule(update="probabilities"),
}
BINARY = ("mammography", "a9a", "elec2", "annthyroid", "magic", "covtype")
BLOCK, RIVER_ROWS, MOST = 500, 5_000, 50_000


def run(*, quick: bool, figures: Path | None) -> str:
    rows = []
    for name in SETS[1:2] if quick else SETS:
        table = load(name)
        X, y = (
            np.asarray(table.X, dtype=np.float64),
            np.unique(table.y, return_inverse=True)[1],
        )
        if name not in TIME_ORDER:
            order = np.random.default_rng(0).permutation(y.size)
            X, y = X[order], y[order]
        X, y = X[: 3_000 if quick else MOST], y[: 3_000 if quick else MOST]
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
        for model, p in _models(X, y):
            for metric in METRICS:
                rows.append(_compare(name, model, metric, p, y))
        _speed(name, X, y, 2 if quick else 5)
    two = [_two_classes(name, quick) for name in (BINARY[:1] if quick else BINARY)]
    heads = ["stream", "model", "metric", "argmax", *RULES, "hindsight", "tuned"]
    names = ["online F1", "OMMA", "OMMA, prior 1e-6", "OFO", "FOFO", "histogram"]
    return "\n\n".join([rst_table(heads, rows), rst_table([*names, "best fixed"], two)])


def _models(X: np.ndarray, y: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Probabilities of every row before its label was seen."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    classes = np.unique(y)
    mixture = OnlineClassifier()
    _, learned = mixture.progressive(X, y, classes=classes, return_proba=True)
    bayes, p = GaussianNB(), np.full((y.size, classes.size), 1.0 / classes.size)
    for i in range(0, y.size, BLOCK):
        cut = slice(i, i + BLOCK)
        if i:
            p[cut] = bayes.predict_proba(X[cut])
        bayes.partial_fit(X[cut], y[cut], classes=classes)
    first = y.size // 10
    fixed = np.zeros_like(p)
    logistic = LogisticRegression(max_iter=300).fit(X[:first], y[:first])
    fixed[:, logistic.classes_] = logistic.predict_proba(X)
    return [("mixture", learned), ("naive Bayes", p), ("fixed logistic", fixed)]


def _score(metric: str, y: np.ndarray, labels: np.ndarray, width: int) -> float:
    table = np.bincount(y * width + labels, minlength=width**2).reshape(width, width)
    return 100.0 * float(get_class_metric(metric, n_classes=width).score(table))


def _compare(
    name: str, model: str, metric: str, p: np.ndarray, y: np.ndarray
) -> list[str]:
    width = p.shape[1]
    found = {"argmax": _score(metric, y, p.argmax(axis=1), width)}
    for label, rule in RULES.items():
        state = rule.init_state(metric, n_classes=width)
        found[label] = _score(metric, y, rule.run(state, p, y), width)
    columns: Any = list(range(width))
    whole = am.classes.decide(p, metric, classes=columns).labels
    found["hindsight"] = _score(metric, y, np.asarray(whole, dtype=int), width)
    rule = am.classes.tune(y, p, metric, classes=columns, n_bootstrap=0, cv=0)
    found["tuned"] = _score(metric, y, np.asarray(rule.predict(p), dtype=int), width)
    emit(
        "several",
        f"{name}, {model}: {metric} of OMMA over argmax",
        found["OMMA"] - found["argmax"],
        "points",
        (">=", 0.0),
        rows=y.size,
        classes=width,
        **{key: round(value, 2) for key, value in found.items()},
    )
    return [name, model, metric, *(f"{value:.1f}" for value in found.values())]


def _two_classes(name: str, quick: bool) -> list[str]:
    task = tasks_of(name, (3,))[0]
    order = np.random.default_rng(0).permutation(task.n)[: 3_000 if quick else MOST]
    y = task.y[order]
    p = probabilities(task.X[order], y, learner="mixture")
    found = {}
    for label in ("OMMA", "OMMA, prior 1e-6"):
        rule = RULES[label]
        state = rule.init_state("f1", n_labels=1)
        found[label] = f_score(y, rule.run(state, p[:, None], y[:, None])[:, 0])
    for other in (OFORule(), FOFORule(n=y.size), HistogramRule()):
        state = other.init_state("f1")
        found[other.name] = f_score(y, other.run(state, p, y).labels)
    found["best fixed"] = best_fixed(y, p)
    emit(
        "several",
        f"{task.name}, two classes: F1 of OMMA over FOFO",
        found["OMMA"] - found["fofo"],
        "points",
        (">=", 0.0),
        rows=y.size,
        **{key: round(value, 2) for key, value in found.items()},
    )
    return [task.name, *(f"{value:.1f}" for value in found.values())]


def _plain(p: list[dict[int, float]], y: list[int], width: int) -> Callable[[], None]:
    """OMMA for macro F1 in plain Python: dicts of probabilities, one by one."""

    def call() -> None:
        tp, k, t = [1.0] * width, [float(width)] * width, [float(width)] * width
        for one, true in zip(p, y, strict=True):
            best, most = 0, -np.inf
            for c, share in one.items():
                total = k[c] + t[c]
                gain = 2.0 * (share - tp[c] / total) / total
                if gain > most:
                    best, most = c, gain
            k[best] += 1.0
            t[true] += 1.0
            tp[true] += best == true

    return call


def _river(X: np.ndarray, y: list[int]) -> Callable[[], None]:
    from river import linear_model, metrics, multiclass

    rows = [dict(enumerate(row)) for row in X.tolist()]

    def call() -> None:
        model = multiclass.OneVsRestClassifier(linear_model.LogisticRegression())
        score = metrics.MacroF1()
        for x, label in zip(rows, y, strict=True):
            score.update(label, model.predict_one(x))
            model.learn_one(x, label)

    return call


def _speed(name: str, X: np.ndarray, y: np.ndarray, repeats: int) -> None:
    classes = np.unique(y)
    width, few = classes.size, min(RIVER_ROWS, y.size)
    _, p = OnlineClassifier(learner="sgd").progressive(
        X, y, classes=classes, return_proba=True
    )
    rule = OMMARule()
    dicts = [dict(enumerate(row)) for row in p[:few].tolist()]
    labels = y[:few].tolist()
    calls: dict[str, Callable[[], Any]] = {
        "rule": lambda: rule.run(rule.init_state("f1", n_classes=width), p, y),
        "plain": _plain(dicts, labels, width),
        "model": lambda: OnlineClassifier(learner="sgd").progressive(
            X, y, classes=classes
        ),
    }
    if importlib.util.find_spec("river"):
        calls["river"] = _river(X[:few], labels)
    for call in calls.values():
        call()
    times = interleaved(calls, repeats, cpu_seconds)
    pairs = (("rule", "plain", "OMMA in plain Python over river's dicts"),)
    pairs += (("model", "river", "river's OneVsRestClassifier and MacroF1"),)
    for ours, other, words in pairs:
        if other not in times:
            emit("several", f"{name}: river is not installed", None, "x")
            continue
        emit(
            "several",
            f"{name}, {width} classes: {ours} against {words}",
            median_ratio(times[other], times[ours]) * y.size / few,
            "x the rows per second of CPU time",
            (">=", 20.0),
            rows_per_second=y.size / min(times[ours]),
            rows_per_second_of_peer=few / min(times[other]),
        )
