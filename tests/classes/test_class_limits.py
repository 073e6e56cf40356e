"""Limits of classes: against all labels of a few rows, and linear programs."""

import itertools

import numpy as np
import pytest

import argmetric as am
from class_oracle import few_rows
from refusing import refuses
from slow import SLOW

METRICS = ("accuracy", "f1", "jaccard", "gmean", "balanced_accuracy", "mcc")


def within(p, labels, max_per_class, min_recall):
    """Which of the labellings keep the limits."""
    kept = np.ones(len(labels), dtype=bool)
    for c, most in max_per_class.items():
        kept &= (labels == c).sum(axis=1) <= most
    for c, recall in min_recall.items():
        found = np.where(labels == c, p[:, c], 0.0).sum(axis=1)
        kept &= found >= recall * p[:, c].sum() * (1 - 1e-12)
    return kept


def drawn_case(rng):
    """Rows, what each class of each row brings, and random limits."""
    n, count = int(rng.integers(3, 8)), int(rng.integers(2, 5))
    p = rng.dirichlet(np.full(count, rng.choice([0.2, 1.0, 4.0])), n)
    if rng.random() < 0.3:  # ties
        p = rng.integers(1, 4, (n, count)).astype(float)
        p /= p.sum(axis=1, keepdims=True)
    cost = rng.normal(size=(count, count)) if rng.random() < 0.5 else None
    kind = rng.integers(3)
    most = {c: int(rng.integers(0, n + 1)) for c in range(count) if rng.random() < 0.7}
    recall = {
        c: float(rng.choice([0.1, 0.3, 0.5, 0.7, 1.0]))
        for c in range(count)
        if rng.random() < 0.4
    }
    return p, cost, {} if kind == 1 else most, {} if kind == 0 else recall


def test_gains_within_limits_are_the_best_of_all_labels():
    rng = np.random.default_rng(0)
    decided = 0
    for _ in range(2000 if SLOW else 150):
        p, cost, most, recall = drawn_case(rng)
        n, count = p.shape
        gains = p if cost is None else -p @ cost
        every = np.array(list(itertools.product(range(count), repeat=n)))
        kept = within(p, every, most, recall)
        what = {"metric": "accuracy"} if cost is None else {"cost": cost}
        limits = {"max_per_class": most or None, "min_recall": recall or None}
        if not kept.any():
            refuses(ValueError, "raise", am.classes.decide, p, **what, **limits)
            continue
        d = am.classes.decide(p, certificate=True, **what, **limits)
        best = gains[np.arange(n), every[kept]].sum(axis=1).max() / n
        assert within(p, d.codes[None], most, recall).all()
        assert d.expected == pytest.approx(best, abs=1e-10)
        assert not d.bound < best - 1e-10
        decided += 1
    assert decided > 80


@pytest.mark.parametrize("metric", METRICS)
def test_limits_that_do_not_bind_change_nothing(metric):
    for seed in range(3):
        p = few_rows(seed, n=9, count=3)
        free = am.classes.decide(p, metric)
        recall = [0.99 * p[free.codes == c, c].sum() / p[:, c].sum() for c in range(3)]
        most = np.maximum(free.counts, 1)
        d = am.classes.decide(p, metric, max_per_class=most.tolist(), min_recall=recall)
        assert (d.codes == free.codes).all()
        assert d.expected == free.expected


@pytest.mark.parametrize(("n", "count", "tied"), [(90, 4, True), (700, 6, False)])
def test_budgets_give_the_value_of_the_linear_program(n, count, tied):
    from scipy.optimize import linprog

    rng = np.random.default_rng(n)
    p = rng.dirichlet(np.linspace(2, 0.3, count), n)
    if tied:
        p = np.repeat(p[:10], 9, axis=0)
    most = np.ceil(n / count * np.linspace(0.6, 1.6, count))
    d = am.classes.decide(p, "accuracy", max_per_class=most.tolist())
    whole = linprog(
        -p.ravel(),
        A_ub=np.tile(np.eye(count), n),
        b_ub=most,
        A_eq=np.kron(np.eye(n), np.ones(count)),
        b_eq=np.ones(n),
    )
    assert (d.counts <= most).all()
    assert d.expected * n == pytest.approx(-whole.fun, abs=1e-8)


def test_prices_of_many_rows_prove_their_labels():
    rng = np.random.default_rng(1)
    n = 20_000
    p = rng.dirichlet([4, 2, 1, 0.5], n)
    d = am.classes.decide(p, "accuracy", max_per_class=n // 4)
    assert (d.counts == n // 4).all()
    # no chain of moves between classes gains: the cheapest steps have no bad circle
    own = p[np.arange(n), d.codes]
    steps = np.array(
        [(own[d.codes == a, None] - p[d.codes == a]).min(axis=0) for a in range(4)]
    )
    far = steps.copy()
    for c in range(4):
        far = np.minimum(far, far[:, c, None] + far[c])
    assert (np.diagonal(far) > -1e-12).all()


def test_floors_of_many_rows_come_within_a_row_of_the_bound():
    rng = np.random.default_rng(2)
    p = rng.dirichlet([4, 2, 1, 0.5], 3000)
    limits = {"max_per_class": {0: 900}, "min_recall": {2: 0.5, 3: 0.6}}
    d = am.classes.decide(p, "accuracy", certificate=True, **limits)
    assert within(p, d.codes[None], {0: 900}, {2: 0.5, 3: 0.6}).all()
    assert 0.0 <= d.gap * 3000 < 1.0


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("size", [1e-7, 1e-8, 1e-9])
def test_limits_of_rare_classes_are_kept_where_some_labels_keep_them(size, seed):
    """A program takes 1e-9 for 0: floors below were lost, and what can be refused."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(65, 100))
    p = rng.dirichlet([1, 1, 1], n) * [1, size, size]
    p /= p.sum(axis=1, keepdims=True)
    known = rng.integers(0, 3, n)
    hits = np.bincount(known, p[np.arange(n), known], 3) / p.sum(axis=0)
    limits = np.bincount(known, minlength=3).tolist(), ((1 - 1e-3) * hits).tolist()
    names = "max_per_class", "min_recall"
    d = am.classes.decide(p, "accuracy", **dict(zip(names, limits, strict=True)))
    assert (np.bincount(d.codes, minlength=3) <= limits[0]).all()
    found = np.bincount(d.codes, p[np.arange(n), d.codes], 3) / p.sum(axis=0)
    assert (found >= np.array(limits[1]) * (1 - 1e-9)).all()
