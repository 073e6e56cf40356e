"""7. Several classes online: OMMA beside argmax and the best decision in hindsight.

Every model gives a row its probabilities before it learns the label: logistic
regressions of each class against the rest (the mixture), naive Bayes in blocks of 500
rows, and a logistic regression fitted once on the first tenth. Each is run as it is,
and recalibrated online by a temperature and a number for each class. *Hindsight* is
`classes.decide` on the probabilities of all rows at once, *tuned* the weights that
`classes.tune` finds on all rows with their labels. The default prior was chosen on
other streams (see `prior`). Of two classes OMMA is run on one column of labels, beside
OFO and FOFO.
river has no rule for a metric of several classes, so its side of the speed is OMMA for
macro F1 in plain Python over dicts, as river hands probabilities out, and river's own
one-vs-rest logistic regression with its metric.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import emit, interleaved, median_ratio

import argmetric as am
from argmetric.stream import (
    FOFORule,
    HistogramRule,
    OFORule,
    OMMARule,
    OnlineClassifier,
)
from stream_parts.class_streams import (
    MOST,
    SHOWN,
    models,
    recalibrated,
    score,
    standard_error,
)
from stream_parts.sets import best_fixed, f_score, probabilities, tasks_of

METRICS = ("f1", "gmean", "mcc")
RULES = {"OMMA": OMMARule(), "prior 1e-6": OMMARule(prior=1e-6)}
BINARY = ("mammography", "a9a", "elec2", "annthyroid", "magic", "covtype")
FAST = ("letter", "optdigits", "covtype, in order")
RIVER_ROWS = 5_000


def run(*, quick: bool) -> None:
    told = Counter[tuple[str, str, str]]()
    for name in ("optdigits",) if quick else SHOWN:
        X, y = SHOWN[name]()
        X, y = (X[:3_000], y[:3_000]) if quick else (X, y)
        for model, p in models(X, y).items():
            for calibrated, q in (("", p), (", recalibrated", recalibrated(p, y))):
                for metric in METRICS:
                    verdict = _compare(name, model + calibrated, metric, q, y)
                    told[calibrated, metric, verdict] += 1
        if name in FAST:
            _speed(name, X, y, 2 if quick else 5)
    for calibrated in ("", ", recalibrated"):
        for metric in METRICS:
            words = ("better", "worse", "equal")
            counts = {word: told[calibrated, metric, word] for word in words}
            what = f"{metric}{calibrated}: better cases of OMMA less its worse ones"
            emit("several", what, counts["better"] - counts["worse"], "", **counts)
    for name in BINARY[:1] if quick else BINARY:
        _two_classes(name, quick)


def _compare(name: str, model: str, metric: str, p: np.ndarray, y: np.ndarray) -> str:
    """Return whether OMMA is better or worse than argmax.

    Differences within two standard errors are equal.
    """
    width = p.shape[1]
    labels = {"argmax": p.argmax(axis=1)}
    for label, rule in RULES.items():
        labels[label] = rule.run(rule.init_state(metric, n_classes=width), p, y)
    columns: Any = list(range(width))
    if metric == "f1" and "recalibrated" not in model:
        whole = am.classes.decide(p, metric, classes=columns).labels
        labels["hindsight"] = np.asarray(whole, dtype=int)
        tuned = am.classes.tune(y, p, metric, classes=columns, n_bootstrap=0, cv=0)
        labels["tuned"] = np.asarray(tuned.predict(p), dtype=int)
    found = {what: score(metric, y, one, width) for what, one in labels.items()}
    error = standard_error(metric, y, labels["OMMA"], labels["argmax"], width)
    gain = found["OMMA"] - found["argmax"]
    verdict = "equal"
    if abs(gain) > 2.0 * error:
        verdict = "better" if gain > 0.0 else "worse"
    emit(
        "several",
        f"{name}, {model}: {metric} of OMMA over argmax",
        gain,
        "points",
        (">=", 0.0),
        rows=y.size,
        classes=width,
        standard_error=round(error, 3),
        **{key: round(value, 2) for key, value in found.items()},
    )
    return verdict


def _two_classes(name: str, quick: bool) -> None:
    task = tasks_of(name, (3,))[0]
    order = np.random.default_rng(0).permutation(task.n)[: 3_000 if quick else MOST]
    y = task.y[order]
    p = probabilities(task.X[order], y, learner="mixture")
    found = {}
    for label, rule in RULES.items():
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
    before = rule.init_state("f1", n_classes=width)
    dicts = [dict(enumerate(row)) for row in p[:few].tolist()]
    labels = y[:few].tolist()
    calls: dict[str, Callable[[], Any]] = {
        "rule": lambda: rule.run(before.copy(), p, y),
        "plain": _plain(dicts, labels, width),
        "model": lambda: OnlineClassifier(learner="sgd").progressive(
            X, y, classes=classes
        ),
    }
    if importlib.util.find_spec("river"):
        calls["river"] = _river(X[:few], labels)
    for call in calls.values():
        call()
    times = interleaved(calls, repeats)
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
