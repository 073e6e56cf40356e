"""Rules for classes with limits and costs, against all rules of the same family."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

import argmetric as am
from class_oracle import all_predictions
from refusing import refuses

QUICK = {"n_bootstrap": 0, "cv": None}
COST = np.array([[0.0, 1.0, 5.0], [2.0, -1.0, 1.0], [9.0, 1.0, 0.0]])


def sample(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1, 0.7, 0.4], n)
    y = (p.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(0, 2)
    y[:3] = 0, 1, 2
    return y, p


def macro_f1(y, z):
    """Classes that are neither true nor predicted are left out."""
    pairs = [((y == c) & (z == c), (y == c).sum() + (z == c).sum()) for c in range(3)]
    return np.mean([2 * both.sum() / total for both, total in pairs if total])


def keeps(y, z, most, recall):
    found = np.bincount(z, minlength=3)
    hits = [(z[y == c] == c).mean() for c in range(3)]
    return all(found[c] <= k for c, k in most.items()) and all(
        hits[c] >= r - 1e-12 for c, r in recall.items()
    )


def drawn_limits(rng, n):
    most = {c: int(rng.integers(1, n)) for c in range(3) if rng.random() < 0.4}
    recall = {c: rng.choice([0.3, 0.5, 1.0]) for c in range(3) if rng.random() < 0.4}
    return most, recall


@pytest.mark.parametrize("score", ["f1", "accuracy", "cost"])
def test_no_weights_are_better_within_the_limits(score):
    """Every cell of the weights is tried; where none keeps the limits, so it says."""
    rng = np.random.default_rng(3)
    refused = limited = 0
    y, p = sample(50)
    assert macro_f1(y, y[::-1]) == pytest.approx(f1_score(y, y[::-1], average="macro"))
    for seed in range(16):
        y, p = sample(7, seed)
        most, recall = drawn_limits(rng, 7)
        every = [np.array(one) for one in all_predictions(p)]

        def value(z, y=y):
            if score == "cost":
                return -COST[y, z].mean()
            if score == "accuracy":
                return (y == z).mean()
            return macro_f1(y, z)

        kept = [value(z) for z in every if keeps(y, z, most, recall)]
        what = {"cost": COST} if score == "cost" else {"metric": score}
        limits = {"max_per_class": most or None, "min_recall": recall or None}
        if not kept:
            refused += 1
            with pytest.raises(ValueError, match="max_per_class"):
                am.classes.tune(y, p, **what, **limits, **QUICK)
            continue
        rule = am.classes.tune(y, p, **what, **limits, **QUICK)
        z = rule.apply(p)
        assert keeps(y, z, most, recall)
        assert rule.score == pytest.approx(value(z), abs=1e-12)
        assert rule.score == pytest.approx(max(kept), abs=1e-12)
        limited += max(kept) < max(map(value, every)) - 1e-9
    assert refused >= 2
    assert limited >= 3


@given(seed=st.integers(0, 10**6), share=st.floats(0.2, 0.9))
@settings(deadline=None, max_examples=6)
def test_limits_hold_on_the_rows(seed, share):
    """More classes and rows than are enumerated; a limit that binds costs score."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([2, 1, 1, 0.5], 120)
    y = (p.cumsum(axis=1) < rng.random(120)[:, None]).sum(axis=1).clip(0, 3)
    y[:4] = range(4)
    free = am.classes.tune(y, p, **QUICK)
    most = int(np.ceil(share * (free.apply(p) == 0).sum()))
    rule = am.classes.tune(y, p, max_per_class={0: most}, **QUICK)
    assert (rule.apply(p) == 0).sum() <= most
    assert rule.score <= free.score + 1e-12
    recall = (free.apply(p)[y == 3] == 3).mean()
    wanted = recall + share * (1.0 - recall)
    rule = am.classes.tune(y, p, min_recall={3: wanted}, **QUICK)
    assert (rule.apply(p)[y == 3] == 3).mean() >= wanted - 1e-12


def test_limits_that_do_not_bind_change_nothing():
    y, p = sample(200)
    free = am.classes.tune(y, p, "mcc", **QUICK)
    loose = am.classes.tune(y, p, "mcc", max_per_class=200, min_recall=0.01, **QUICK)
    assert loose.score >= free.score
    assert "limits hold on these rows: max_per_class=200" in repr(loose)


def test_costs_are_those_of_evaluate_and_lower_than_without():
    y, p = sample(400)
    rule = am.classes.tune(y, p, cost=COST)
    assert rule.score == am.classes.evaluate(y, rule.apply(p), cost=COST)
    assert rule.score > rule.argmax_score
    assert rule.optimism == pytest.approx(rule.score - rule.mean)
    low, high = rule.interval
    assert low < rule.mean < high
    gains = am.classes.tune(y, p, cost=-np.eye(3), **QUICK)
    assert gains.score == am.classes.tune(y, p, "accuracy", **QUICK).score


def test_two_classes_with_costs_equal_the_best_cut():
    y, p = sample(150)
    y, p = (y > 0).astype(int), np.stack([p[:, 0], 1 - p[:, 0]], axis=1)
    cost = np.array([[0.0, 1.0], [4.0, 0.0]])
    rule = am.classes.tune(y, p, cost=cost, min_recall={0: 0.6}, **QUICK)
    cuts = (((p[:, 1] >= t).astype(int)) for t in [*np.unique(p[:, 1]), 2.0])
    best = max(-cost[y, z].mean() for z in cuts if (z[y == 0] == 0).mean() >= 0.6)
    assert rule.score == pytest.approx(best, rel=1e-12)


def test_a_rule_with_costs_is_saved_exported_and_forecast(tmp_path):
    y, p = sample(300)
    names = np.array(["a", "b", "c"])
    how = {"classes": names, "max_per_class": {"a": 90}, **QUICK}
    rule = am.classes.tune(names[y], p, cost=COST, **how)
    rule.save(tmp_path / "rule.json")
    loaded = am.Rule.load(tmp_path / "rule.json")
    assert loaded == rule
    np.testing.assert_array_equal(loaded.metric.matrix, -COST)
    assert (rule.apply(p) == "a").sum() <= 90
    space = {}
    exec(rule.to_python(), space)
    assert [space["label"](row) for row in p[:50].tolist()] == list(rule.apply(p[:50]))
    found = am.classes.forecast(p, rule.apply(p), classes=names, cost=COST)
    assert found.interval[0] < rule.score < found.interval[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"min_recall": 1.0},
            r"class [012] is left with \d+ rows and a recall of [\d.]+ \(\d+ of \d+\) "
            "where min_recall asks for 1",
        ),
        ({"max_per_class": 30}, "leaves room for 90 rows, but there are 200: raise it"),
        (
            {"max_per_class": {2: 3}, "min_recall": {2: 0.5}},
            r"class 2 has \d+ rows: a recall of 0.5 needs [\d.]+ of them, and "
            "max_per_class leaves 3",
        ),
        ({"min_recall": {0: 1.5}}, "min_recall must lie from 0 to 1, not at 1.5"),
        ({"min_recall": {"x": 0.5}}, "min_recall names the class 'x'"),
        ({"max_per_class": [1, 2]}, "one value for each of the 3 classes, not 2"),
        ({"cost": np.eye(2)}, "cost must be a matrix of 3 x 3"),
        ({"cost": COST, "metric": "f1"}, "pass either cost or metric, not both"),
        ({"cost": (1, 5)}, "cost must be a matrix of 3 x 3"),
    ],
)
def test_limits_that_cannot_be_kept_say_which_class_and_how_far(options, message):
    y, p = sample(200)
    refuses(ValueError, message, am.classes.tune, y, p, **options, **QUICK)


def test_a_metric_beside_a_cost_is_refused_by_every_verb():
    p = np.full((6, 3), 1 / 3)
    y = [0, 1, 2, 0, 1, 2]
    how = {"cost": COST, "metric": "accuracy"}
    for call in (
        lambda: am.classes.decide(p, **how),
        lambda: am.classes.forecast(p, y, **how),
        lambda: am.classes.evaluate(y, y, **how),
        lambda: am.classes.check(y, p, **how),
        lambda: am.classes.monitor(p, reference=(y, p), **how),
    ):
        refuses(ValueError, "pass either cost or metric, not both", call)
