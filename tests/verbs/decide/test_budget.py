"""Budgets: the best labels that rows with costs allow, by enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import argmetric as am

METRICS = ["f1", am.FBeta(2.0), "mcc", "accuracy", "recall", "precision", "kappa"]
CURVED = ["jaccard", "gmean", lambda tp, k, t, n: tp * tp / (1.0 + k * t)]


def expected_of(p, labels, metric):
    metric, n = am.get_metric(metric), p.size
    outcomes = np.array(list(product([0, 1], repeat=n)))
    probability = np.where(outcomes == 1, p, 1 - p).prod(axis=1)
    tp, t = outcomes @ labels, outcomes.sum(axis=1)
    return float(probability @ metric.value(tp, int(labels.sum()), t, n))


def best_of_all_sets(p, cost, budget, metric, most=None):
    """The largest expected metric of all sets within the budget, by tp and fn."""
    metric, n = am.get_metric(metric), p.size
    sets = np.array(list(product([0, 1], repeat=n)))
    most = n if most is None else most
    sets = sets[(sets @ cost <= budget) & (sets.sum(axis=1) <= most)]
    pmf = np.zeros((len(sets), n + 1, n + 1))  # by set, tp and fn
    pmf[:, 0, 0] = 1.0
    for chosen, probability in zip(sets.T == 1, p, strict=True):
        moved = np.zeros(pmf.shape)
        moved[chosen, 1:] = pmf[chosen, :-1]
        moved[~chosen, :, 1:] = pmf[~chosen, :, :-1]
        pmf = (1 - probability) * pmf + probability * moved
    tp, fn = np.mgrid[: n + 1, : n + 1]
    best = -np.inf
    for k in np.unique(sets.sum(axis=1)).tolist():
        real = (tp <= k) & (fn <= n - k)
        value = metric.value(tp[real], k, (tp + fn)[real], n)
        best = max(best, float((pmf[sets.sum(axis=1) == k][:, real] @ value).max()))
    return best


def check_best(p, cost, budget, metric):
    d = am.decide(p, metric, budget=(cost, budget))
    assert cost @ d.labels <= budget
    assert d.gap == 0.0
    wanted = best_of_all_sets(p, cost, budget, metric)
    assert d.expected == pytest.approx(wanted, abs=1e-10)
    assert expected_of(p, d.labels, metric) == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("metric", METRICS + CURVED)
def test_short_segments_get_the_best_labels(metric):
    rng = np.random.default_rng(0)
    for _ in range(12):
        n = int(rng.integers(1, 8))
        p, cost = rng.random(n), rng.integers(0, 9, n).astype(float)
        p[rng.random(n) < 0.1] = rng.integers(0, 2)
        check_best(p, cost, float(rng.integers(0, 20)), metric)


@pytest.mark.parametrize("metric", ["f1", "mcc", *CURVED])
def test_twelve_rows_get_the_best_labels(metric):
    rng = np.random.default_rng(9)
    p, cost = rng.beta(1, 2, 12), rng.integers(1, 30, 12).astype(float)
    check_best(p, cost, np.sort(cost)[:6].sum(), metric)


@settings(deadline=None, max_examples=25)
@given(data=st.data(), metric=st.sampled_from([*METRICS, *CURVED]))
def test_no_labels_exceed_the_bound(data, metric):
    n = 13  # too many sets to look at all, unless the budget is small
    probabilities = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0]))
    p = np.array(data.draw(st.lists(probabilities, min_size=n, max_size=n)))
    costs = st.one_of(st.integers(0, 20), st.floats(0, 20))
    cost = np.array(data.draw(st.lists(costs, min_size=n, max_size=n)), dtype=float)
    budget = data.draw(st.floats(0, 1)) * cost.sum()
    d = am.decide(p, metric, budget=(cost, budget))
    assert cost @ d.labels <= budget * (1 + 1e-12)
    assert d.expected == pytest.approx(expected_of(p, d.labels, metric), abs=1e-9)
    best = best_of_all_sets(p, cost, budget, metric)
    assert d.expected - 1e-9 <= best <= d.expected + d.gap + 1e-9


@pytest.mark.parametrize("metric", ["f1", "mcc", "jaccard"])
@pytest.mark.parametrize("seed", range(1))
def test_the_gap_bounds_what_longer_segments_miss(metric, seed):
    rng = np.random.default_rng(seed)
    p, cost = rng.beta(2, 2, 13), rng.integers(1, 30, 13).astype(float)
    budget = np.sort(cost)[:8].sum()  # thousands of sets of up to 8 rows
    d = am.decide(p, metric, budget=(cost, budget))
    assert cost @ d.labels <= budget
    best = best_of_all_sets(p, cost, budget, metric)
    assert d.expected == pytest.approx(expected_of(p, d.labels, metric), abs=1e-10)
    assert d.expected - 1e-10 <= best <= d.expected + d.gap + 1e-10
    few = am.decide(p, metric, budget=(cost, budget), max_positives=3)
    assert few.gap == 0.0
    best = best_of_all_sets(p, cost, budget, metric, most=3)
    assert few.expected == pytest.approx(best, abs=1e-10)


def test_groups_are_decided_alone_and_keep_their_order():
    rng = np.random.default_rng(3)
    groups = rng.permutation(np.repeat(np.arange(40), 20)[:790])
    p, cost = rng.beta(1, 4, 790), rng.integers(20, 400, 790).astype(float)
    settings = {"average": "groups", "budget": (cost, 500.0)}
    d = am.decide(p, groups=groups, **settings)
    spent = np.bincount(groups, cost * d.labels)
    assert (spent <= 500).all()
    counts = np.bincount(groups, d.labels)
    assert np.array_equal(counts[d.group_ids], d.group_n_positives)
    in_group = dict(zip(d.group_ids.tolist(), d.group_expected.tolist(), strict=True))
    for g in (0, 7, 39):
        one = am.decide(p[groups == g], budget=(cost[groups == g], 500.0))
        assert np.array_equal(one.labels, d.labels[groups == g])
        assert one.expected == pytest.approx(in_group[g], abs=1e-12)
        plain = am.forecast(p[groups == g], one.labels).mean
        assert plain == pytest.approx(one.expected, abs=1e-9)
    free = am.decide(p, groups=groups, average="groups")
    assert d.expected <= free.expected <= 1
    assert 0 <= d.gap < 0.02
    assert "would cost more than 500: they are decided within it" in d.notes[-1]


def test_a_budget_that_all_meet_changes_nothing():
    p, cost = np.linspace(0.05, 0.9, 30), np.ones(30)
    free, d = am.decide(p), am.decide(p, budget=(cost, 30))
    assert np.array_equal(free.labels, d.labels)
    assert (d.threshold, d.gap, d.notes) == (free.threshold, 0.0, free.notes)


def test_equal_costs_are_a_limit_on_the_number():
    rng = np.random.default_rng(5)
    for n in (9, 40, 200):
        p = rng.random(n)
        d = am.decide(p, budget=(np.full(n, 3.0), 14.0))
        wanted = am.decide(p, max_positives=4)
        assert np.array_equal(d.labels, wanted.labels)
        assert d.expected == pytest.approx(wanted.expected, abs=1e-10)
        assert d.gap == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": ([1, 2], 3)}, r"the cost of .* must have one number per row"),
        ({"budget": ([1, 2, -1], 3)}, r"the cost of .* must hold finite numbers of 0"),
        ({"budget": ([1, 2, 1], -3)}, r"the most of budget=\(cost, most\) must be"),
        ({"budget": ([1, 2, 1], 3), "min_recall": 0.1}, "does not go with min"),
        ({"budget": ([1, 2, 1], 3), "zero_division": np.nan}, "not nan"),
    ],
)
def test_bad_budgets_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        am.decide([0.5, 0.6, 0.7], **settings)


def test_long_segments_over_the_budget_are_refused():
    for metric, most in (("f1", 2000), ("jaccard", 500)):
        n = most + 1
        message = f"up to {most:,} rows with {metric}, not {n:,}: leave out the rows"
        with pytest.raises(ValueError, match=message):
            am.decide(np.full(n, 0.5), metric, budget=(np.ones(n), 3))


def test_two_thousand_rows_are_decided():
    rng = np.random.default_rng(0)
    p, cost = rng.beta(1, 4, 2000), rng.lognormal(4, 1, 2000)
    d = am.decide(p, budget=(cost, 2000.0))
    assert cost @ d.labels <= 2000.0
    assert d.expected == pytest.approx(am.forecast(p, d.labels).mean, abs=1e-9)
    assert d.gap < 0.01
