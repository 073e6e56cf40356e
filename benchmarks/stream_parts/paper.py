"""2. The experiments of Liu et al. (2018), section 6.

Thirds of the rows for training, validation and test; 10 shuffles. On the validation
rows every method is run with every step of its grid, and the step with the best final
F1 is taken; online F1 is that of the training rows, test F1 that of the final model.
Covtype (7 tasks), a9a, ijcnn1 and w8a are the paper's (of w8a the training file). The
other 15 of its 25 tasks are not to be had; STAND_INS says what stands in for which.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from harness import cpu_seconds, emit, emit_mean

from argmetric.stream import (
    FixedRule,
    FOFORule,
    HistogramRule,
    NewtonRule,
    OFORule,
    OnlineClassifier,
    ThresholdRule,
)
from stream_parts.sets import Task, f_score, tasks_of

STAND_INS = {
    "webspam": ("spamassassin",),
    "protein": ("elec2", "magic", "spambase"),
    "sensorless": (
        "letter",  # A, F, K, P and U
        "shuttle",
        "mammography",
        "annthyroid",
        "celeba",
        "bio_kdd04",
        "reuters_tick",
    ),
}
LETTERS = (0, 5, 10, 15, 20)
SHUFFLES, POINTS = 10, 100
STEPS = tuple(2.0**i for i in range(-4, 5))
LONG_STEPS = tuple(2.0**i for i in range(-8, 5))
LR, OFO, FOFO, STAMP, OMCSL = PAPER = ("LR", "OFO", "FOFO", "STAMP", "OMCSL")
LATER, PRIOR, NEWTON, HISTOGRAM, MIXTURE = OURS = (
    "FOFO from 1/4",
    "OFO, prior",
    "newton",
    "histogram",
    "mixture, histogram",
)
METHODS = PAPER + OURS


@dataclass(frozen=True)
class Found:
    """Of one task: shuffles by methods (by ticks of `curves`), and seconds per row."""

    task: Task
    online: np.ndarray
    test: np.ndarray
    curves: np.ndarray
    seconds: np.ndarray

    @property
    def ticks(self) -> np.ndarray:
        return _ticks(self.task.n // 3)


def tasks(quick: bool) -> Iterator[Task]:
    if quick:
        names = ["mammography"]
    else:
        names = ["covtype", "a9a", "ijcnn1", "w8a"]
        names += [name for group in STAND_INS.values() for name in group]
    for name in names:
        yield from tasks_named(name)


def tasks_named(name: str) -> Iterator[Task]:
    """The tasks of a set, in sparse rows: the kernels of STAMP and OMCSL take those."""
    from scipy.sparse import csr_matrix

    for task in tasks_of(name, LETTERS if name == "letter" else None):
        yield replace(task, X=csr_matrix(task.X))


def run(*, quick: bool) -> None:
    """Measure, and return the tables in reStructuredText."""
    results = [measure(task, 2 if quick else SHUFFLES) for task in tasks(quick)]
    for kind in ("online", "test"):
        _emit_order(results, kind)
    mean = np.mean([found.test.mean(axis=0) for found in results], axis=0)
    gain = float(mean[METHODS.index(FOFO)] - mean[METHODS.index(OFO)])
    what = "test F1 of FOFO over OFO, mean over tasks"
    emit("paper", what, gain, "points", test=_named(mean), tasks=len(results))


def rules_for(n: int) -> dict[str, ThresholdRule]:
    """The rules that share the SGD of a step."""
    return {
        LR: FixedRule(0.5),
        OFO: OFORule(prior=(0.0, 0.0)),
        FOFO: FOFORule(n=n),
        LATER: FOFORule(n=n, start=0.25),
        PRIOR: OFORule(),
        NEWTON: NewtonRule(),
        HISTOGRAM: HistogramRule(),
    }


def measure(task: Task, shuffles: int) -> Found:
    third = task.n // 3
    shape = (shuffles, len(METHODS))
    online, test = np.zeros(shape), np.zeros(shape)
    curves = np.zeros((*shape, _ticks(third).size))
    steps: dict[str, list[float]] = {name: [] for name in METHODS}
    seconds = np.zeros(len(METHODS))
    for shuffle in range(shuffles):
        order = np.random.default_rng(shuffle).permutation(task.n)
        train, validation, held = (
            (task.X[part], task.y[part]) for part in np.split(order[: 3 * third], 3)
        )
        chosen = _tuned(*validation)
        for name, step in chosen.items():
            steps[name].append(step)
        for name, (labels, predicted) in _final(*train, held[0], chosen).items():
            i = METHODS.index(name)
            online[shuffle, i] = f_score(train[1], labels)
            test[shuffle, i] = f_score(held[1], predicted)
            curves[shuffle, i] = _curve(train[1], labels)
        if shuffle == 0:
            seconds = _seconds(*train, chosen)
    found = Found(task, online, test, curves, seconds)
    _emit_task(found, steps)
    return found


def _sgd(X: Any, y: np.ndarray, step: float) -> tuple[OnlineClassifier, np.ndarray]:
    model = OnlineClassifier(rule="fixed", learner="sgd", step=step)
    _, p = model.progressive(X, y, classes=[0, 1], return_proba=True)
    return model, p


def _whole(name: str, step: float) -> OnlineClassifier:
    """The methods that carry their own decision, and the mixture, which tunes none."""
    if name == MIXTURE:
        return OnlineClassifier()
    learner: Any = name.lower()
    return OnlineClassifier(learner=learner, step=step, random_state=0)


def _tuned(X: Any, y: np.ndarray) -> dict[str, float]:
    """The step of every method with the best final F1 on these rows."""
    rules = rules_for(y.size)
    scores: dict[str, list[float]] = {name: [] for name in rules}
    for step in STEPS:
        _, p = _sgd(X, y, step)
        for name, rule in rules.items():
            labels = rule.run(rule.init_state("f1"), p, y).labels
            scores[name].append(f_score(y, labels))
    best = {name: STEPS[int(np.argmax(found))] for name, found in scores.items()}
    for name in (STAMP, OMCSL):
        found = [
            f_score(y, _whole(name, step).progressive(X, y, classes=[0, 1]))
            for step in LONG_STEPS
        ]
        best[name] = LONG_STEPS[int(np.argmax(found))]
    return best | {MIXTURE: 1.0}


def _final(
    X: Any, y: np.ndarray, X_test: Any, steps: dict[str, float]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Labels of the training rows before they were learned, and of the test rows."""
    found = {}
    models: dict[float, Any] = {}
    for name, rule in rules_for(y.size).items():
        step = steps[name]
        if step not in models:
            model, p = _sgd(X, y, step)
            models[step] = p, model.predict_proba(X_test)[:, 1]
        p, p_test = models[step]
        state = rule.init_state("f1")
        labels = rule.run(state, p, y).labels
        found[name] = labels, rule.decide(state, p_test)
    for name in (STAMP, OMCSL, MIXTURE):
        model = _whole(name, steps[name])
        labels = model.progressive(X, y, classes=[0, 1])
        found[name] = labels, model.predict(X_test)
    return found


def _seconds(X: Any, y: np.ndarray, steps: dict[str, float]) -> np.ndarray:
    """CPU seconds per row of every method, learner and rule in one call."""
    rules = rules_for(y.size)

    def one(name: str) -> float:
        def call() -> None:
            model = _whole(name, steps[name])
            if name in rules:
                model = OnlineClassifier(
                    rule=rules[name], learner="sgd", step=steps[name]
                )
            model.progressive(X, y, classes=[0, 1])

        return min(cpu_seconds(call) for _ in range(3)) / y.size

    return np.array([one(name) for name in METHODS])


def _ticks(n: int) -> np.ndarray:
    return np.unique(np.linspace(0, n, POINTS + 1).astype(int)[1:])


def _curve(y: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Online F1 after each tick."""
    at = _ticks(y.size) - 1
    hits, total = np.cumsum(y * labels)[at], np.cumsum(y + labels)[at]
    return np.asarray(200.0 * hits / np.maximum(total, 1))


def _emit_task(found: Found, steps: dict[str, list[float]]) -> None:
    online = found.online.T
    emit_mean(
        "paper",
        f"{found.task.name}: online F1 of FOFO over OFO",
        online[METHODS.index(FOFO)] - online[METHODS.index(OFO)],
        "points",
        rows=found.task.n,
        positives=float(found.task.y.mean()),
        online=_named(found.online.mean(axis=0)),
        test=_named(found.test.mean(axis=0)),
        step={name: float(np.median(values)) for name, values in steps.items()},
        nanoseconds_per_row=_named(1e9 * found.seconds),
    )


def _named(values: np.ndarray) -> dict[str, float]:
    return {n: round(float(v), 2) for n, v in zip(METHODS, values, strict=True)}


def _emit_order(results: list[Found], kind: str) -> None:
    """The paper's claims, and ours beside them."""
    means = np.array([getattr(found, kind).mean(axis=0) for found in results])
    by = {name: means[:, i] for i, name in enumerate(METHODS)}
    claims = [(FOFO, other) for other in (OFO, LR, STAMP, OMCSL)]
    claims += [(LATER, FOFO), (LATER, OFO), (PRIOR, OFO), (HISTOGRAM, PRIOR)]
    claims += [(HISTOGRAM, FOFO), (MIXTURE, HISTOGRAM)]
    for one, other in claims:
        gain = by[one] - by[other]
        what = f"{kind} F1 of {one} over {other}, mean over tasks"
        counts = {"better": int((gain > 0).sum()), "worse": int((gain < 0).sum())}
        emit_mean("paper", what, gain, "points", **counts)
