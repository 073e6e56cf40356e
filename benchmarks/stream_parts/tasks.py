"""3. Threshold rules and learners on every set at hand, shuffled and in time order.

Every one of the 64 tasks counts, those with 22 positives too. The step of SGD is the
one of 2^-4 to 2^7 whose best fixed threshold in hindsight is best on the first
shuffle: a criterion that favours no rule. All rules then see the same probabilities.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import emit, emit_mean, text_table

from argmetric.stream import (
    FixedRule,
    FOFORule,
    HistogramRule,
    NewtonRule,
    OFORule,
    ThresholdRule,
)
from stream_parts.sets import (
    BINARY,
    ONE_VERSUS_REST,
    Task,
    best_fixed,
    f_score,
    probabilities,
    tasks_of,
)

STEPS = tuple(2.0**i for i in range(-4, 8))
SHUFFLES = 5
ORDERED = ("covtype", "elec2", "spamassassin", "bio_kdd04")
HALF, BARE, OFO, FOFO, NEWTON, HISTOGRAM, BEST = SGD_WAYS = (
    "0.5",
    "OFO, no prior",
    "OFO",
    "FOFO",
    "newton",
    "histogram",
    "best fixed",
)
MIX_NEWTON, MIX, MIX_BEST = MIXTURE_WAYS = (
    "mixture, newton",
    "mixture, histogram",
    "mixture, best fixed",
)
WAYS = SGD_WAYS + MIXTURE_WAYS


def rules_for(n: int) -> dict[str, ThresholdRule]:
    return {
        HALF: FixedRule(0.5),
        BARE: OFORule(prior=(0.0, 0.0)),
        OFO: OFORule(),
        FOFO: FOFORule(n=n),
        NEWTON: NewtonRule(),
        HISTOGRAM: HistogramRule(),
    }


def run(*, quick: bool) -> str:
    """Measure, and return the tables in reStructuredText."""
    shuffled: dict[str, np.ndarray] = {}
    families: dict[str, str] = {}
    ordered: dict[str, np.ndarray] = {}
    for name in ("letter", "mammography") if quick else (*ONE_VERSUS_REST, *BINARY):
        for task in tasks_of(name, (0, 1) if quick else None):
            shuffled[task.name] = _shuffled(task, 2 if quick else SHUFFLES)
            families[task.name] = task.family
            if name in ORDERED:
                ordered[task.name] = _ordered(task)
    _judge(shuffled)
    groups = _by_family(shuffled, families)
    tables = [_table("shuffled", groups)]
    if ordered:
        tables.append(_table("in time order", ordered))
    return "\n\n".join(tables)


def _measure(X: Any, y: np.ndarray, step: float) -> np.ndarray:
    """Online F1 of all ways."""
    p = probabilities(X, y, learner="sgd", step=step)
    scores = [_online(rule, p, y) for rule in rules_for(y.size).values()]
    q = probabilities(X, y, learner="mixture")
    mixed = [_online(rule, q, y) for rule in (NewtonRule(), HistogramRule())]
    return np.array([*scores, best_fixed(y, p), *mixed, best_fixed(y, q)])


def _online(rule: ThresholdRule, p: np.ndarray, y: np.ndarray) -> float:
    return f_score(y, rule.run(rule.init_state("f1"), p, y).labels)


def _tuned(X: Any, y: np.ndarray) -> float:
    scores = [best_fixed(y, probabilities(X, y, learner="sgd", step=s)) for s in STEPS]
    return STEPS[int(np.argmax(scores))]


def _shuffled(task: Task, shuffles: int) -> np.ndarray:
    """Mean online F1 by way over the shuffles."""
    found, step = [], 0.0
    for seed in range(shuffles):
        order = np.random.default_rng(seed).permutation(task.n)
        X, y = task.X[order], task.y[order]
        step = step or _tuned(X, y)
        found.append(_measure(X, y, step))
    values = np.array(found)
    _emit_task("shuffled", task, step, values)
    return np.asarray(values.mean(axis=0))


def _ordered(task: Task) -> np.ndarray:
    step = _tuned(task.X, task.y)
    values = _measure(task.X, task.y, step)
    _emit_task("time order", task, step, values[None])
    return values


def _emit_task(order: str, task: Task, step: float, values: np.ndarray) -> None:
    mean = dict(zip(WAYS, values.mean(axis=0), strict=True))
    emit(
        "tasks",
        f"{task.name}, {order}: gap of histogram to the best fixed threshold",
        float(mean[BEST] - mean[HISTOGRAM]),
        "points of F1",
        rows=task.n,
        positives=int(task.y.sum()),
        step=step,
        runs=len(values),
        **{name: round(float(value), 2) for name, value in mean.items()},
    )


def _judge(found: dict[str, np.ndarray]) -> None:
    values = dict(zip(WAYS, np.array(list(found.values())).T, strict=True))
    gap = values[BEST] - values[HISTOGRAM]
    _emit_difference(f"{BEST} over {HISTOGRAM}", gap, ("<=", 0.65))
    for other in (NEWTON, OFO, FOFO, BARE, HALF):
        gain = values[HISTOGRAM] - values[other]
        _emit_difference(f"{HISTOGRAM} over {other}", gain, (">=", 0.0))
    gain = values[MIX] - values[HISTOGRAM]
    what = "mixture over SGD with its step tuned in hindsight, both by histogram"
    _emit_difference(what, gain, (">=", 0.0))
    gap = values[MIX_BEST] - values[MIX]
    _emit_difference(f"{MIX_BEST} over {MIX}", gap, None)


def _emit_difference(what: str, gain: np.ndarray, target: Any) -> None:
    what, unit = f"{what}, mean over tasks", "points of F1"
    counts = {"better": int((gain > 0.0).sum()), "worse": int((gain < 0.0).sum())}
    emit_mean("tasks", what, gain, unit, target, **counts)


def _by_family(
    found: dict[str, np.ndarray], families: dict[str, str]
) -> dict[str, np.ndarray]:
    groups = {}
    for family in dict.fromkeys(families.values()):
        mine = [v for name, v in found.items() if families[name] == family]
        title = f"{family} ({len(mine)})" if len(mine) > 1 else family
        groups[title] = np.mean(mine, axis=0)
    groups[f"all {len(found)}"] = np.mean(list(found.values()), axis=0)
    return groups


SHOWN = {
    way: {BARE: "bare OFO", MIX: "mixture", MIX_BEST: "its best fixed"}.get(way, way)
    for way in WAYS
    if way != MIX_NEWTON
}


def _table(title: str, found: dict[str, np.ndarray]) -> str:
    if not any(name.startswith("all") for name in found):
        found = found | {"mean": np.mean(list(found.values()), axis=0)}
    rows = [
        [name, *(f"{v:.1f}" for w, v in zip(WAYS, values, strict=True) if w in SHOWN)]
        for name, values in found.items()
    ]
    return text_table([title, *SHOWN.values()], rows)
