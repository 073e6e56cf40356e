"""optimal-classification-cutoffs: decisions for the expected F1, without labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from decide_parts import rivals
from decide_parts.groups import baskets
from decide_parts.rivals import Task, true_expected_f1
from search_parts.data import timed

from peers_parts.cases import f1, scored
from peers_parts.rows import Row

ASKED = '(None, p, metric="f1", mode="expected"'
WAYS = {ASKED + ")": rivals.cutoffs_above}
WAYS[ASKED + ', comparison=">=")'] = rivals.cutoffs_at_least
SEEDS = 5
OURS = 'decide(p, "f1")'
Decider = Callable[[Task], np.ndarray]
MOST = 300  # rows of a vector: the judge sums over all counts


def run(fast: bool) -> list[Row]:
    rows = []
    for options, way in WAYS.items():
        asked = rivals.cutoffs_call() + options
        rows += _vectors(fast, asked, way)
        for digits in (None, 1):
            rows += _groups(fast, asked, way, digits)
    return rows


def _task(p: np.ndarray, sizes: np.ndarray | None = None) -> Task:
    none = np.empty(0)
    return Task(p, sizes, 0.0, none, none, None)


def _vectors(fast: bool, asked: str, way: Decider) -> list[Row]:
    """Scores of real models on new rows, 300 at most: one vector, one decision."""
    value = Row("expected F1, one vector", "%", "higher", asked, OURS)
    actual = Row("actual F1, the same", "%", "higher", asked, OURS)
    spent = Row("decide a vector", "CPU s", "lower", asked, OURS, ratio=True)
    for one in scored(fast, 2):
        task = _task(np.clip(one.p[:MOST], 0.0, 1.0))
        found = [_asked(decider, task) for decider in (way, rivals.argmetric)]
        labels = [labels for labels, _ in found]
        values = (100 * true_expected_f1(task, x) for x in labels)
        value.add(one.name, *values, unit=one.data)
        if one.y[:MOST].any():
            scores = (f1(one.y[:MOST], x) for x in labels)
            actual.add(one.name, *scores, unit=one.data)
        spent.add(one.name, *(seconds for _, seconds in found), unit=one.data)
    return [value, actual, spent]


def _groups(fast: bool, asked: str, way: Decider, digits: int | None) -> list[Row]:
    """Baskets of about 20 rows: the mean of the expected F1 over baskets."""
    n = 100 if fast else 1_000
    ours = 'decide(p, "f1", groups=ids)'
    theirs = f"{asked} for each group"
    told = "" if digits is None else f", p rounded to {digits} digit"
    what = f"{n:,} groups of about 20{told}"
    value = Row(f"expected F1, {what}", "%", "higher", theirs, ours)
    spent = Row(f"decide {what}", "CPU s", "lower", theirs, ours, ratio=True)
    for seed in range(1 if fast else SEEDS):
        p, _, sizes = baskets(n, np.random.default_rng(seed))
        task = _task(p if digits is None else p.round(digits), sizes)
        found = [_asked(decider, task) for decider in (way, rivals.argmetric)]
        case = f"generated, seed {seed}"
        value.add(case, *(100 * true_expected_f1(task, x) for x, _ in found))
        spent.add(case, *(seconds for _, seconds in found))
    return [value, spent]


def _asked(way: Decider, task: Task) -> tuple[np.ndarray, float]:
    """Labels and seconds of the second of two calls: imports are not timed."""
    if task.sizes is None or task.sizes.size <= 100 or way is rivals.argmetric:
        way(task)
    return timed(lambda: way(task))
