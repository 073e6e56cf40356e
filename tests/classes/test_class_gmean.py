"""G-mean and balanced accuracy where classes may be absent: simulation, all truths."""

import numpy as np
import pytest

import argmetric as am
from argmetric.metrics import get_class_metric
from class_oracle import best_by_enumeration, expected_by_enumeration, few_rows
from slow import SLOW


def simulated(p, labels, seed, draws=400):
    """G-mean of labels against drawn classes; those without true rows are left out."""
    rng = np.random.default_rng(seed)
    n, count = p.shape
    edges = p.cumsum(axis=1)[:, :-1]
    scores = np.empty(draws)
    for one in range(draws):
        y = (rng.random((n, 1)) >= edges).sum(axis=1)
        t = np.bincount(y, minlength=count)
        recalls = np.bincount(y[y == labels], minlength=count)[t > 0] / t[t > 0]
        scores[one] = recalls.prod() ** (1.0 / recalls.size)
    return scores


def with_rare(rng, n, count, share):
    p = rng.dirichlet([0.1] * count, n)
    return np.c_[p * (1 - share), np.full(n, share)]


@pytest.mark.parametrize(("n", "share"), [(1000, 1e-4), (200, 1e-6)])
def test_a_class_that_is_hardly_there_gets_no_rows(n, share):
    p = with_rare(np.random.default_rng(0), n, 3, share)
    d = am.classes.decide(p, "gmean", classes=list("abcd"))
    assert d.counts[3] == 0
    plain = simulated(p, p.argmax(axis=1), 1)
    mine = simulated(p, d.codes, 1)
    assert mine.mean() >= plain.mean() - 0.003
    assert d.expected == pytest.approx(mine.mean(), abs=0.02)
    assert "a class without true rows is left out" in repr(d)
    labels = d.rule.apply(p)
    assert (labels != "d").all()


def test_a_class_that_is_likely_there_gets_rows():
    p = np.random.default_rng(0).dirichlet([2, 0.5, 0.1, 0.02], 1000)
    d = am.classes.decide(p, "gmean")
    mine, plain = (simulated(p, z, 1).mean() for z in (d.codes, p.argmax(axis=1)))
    assert mine > plain + 0.3
    assert d.expected == pytest.approx(mine, abs=0.02)


def test_no_decision_scores_less_than_the_most_probable_classes():
    rng = np.random.default_rng(5)
    for seed in range(500 if SLOW else 12):
        n, count = int(rng.choice([30, 100, 300])), int(rng.integers(2, 5))
        p = with_rare(rng, n, count, 10 ** rng.uniform(-6, -1.5))
        codes = am.classes.decide(p, "gmean").codes
        plain = p.argmax(axis=1)
        for draws in (400, 20_000):  # a hit of a rare class may not be among few draws
            gain = simulated(p, codes, seed, draws) - simulated(p, plain, seed, draws)
            if gain.mean() >= -3.0 * gain.std() / np.sqrt(draws):
                break
        else:
            pytest.fail(f"seed {seed}: {gain.mean():.4f} below the most probable")


@pytest.mark.parametrize("name", ["gmean", "balanced_accuracy"])
def test_small_batches_against_all_truths_and_labels(name):
    score = get_class_metric(name, n_classes=3).score
    for seed in range(16):
        p = few_rows(seed, n=2 + seed % 3)
        d = am.classes.decide(p, name, certificate=True)
        mine = expected_by_enumeration(p, d.codes, score)
        plain = expected_by_enumeration(p, p.argmax(axis=1), score)
        best = best_by_enumeration(p, score)
        assert plain - 1e-12 <= mine <= best
        assert best <= d.bound + 1e-9
        if name == "gmean":
            assert d.expected == pytest.approx(mine, abs=1e-12)


@pytest.mark.parametrize("name", ["f1", "jaccard", "balanced_accuracy", "mcc", "kappa"])
def test_no_metric_scores_less_than_the_most_probable_classes(name):
    score = get_class_metric(name, n_classes=3).score
    for seed in range(8):
        p = few_rows(seed, n=5)
        codes = am.classes.decide(p, name).codes
        mine = expected_by_enumeration(p, codes, score)
        plain = expected_by_enumeration(p, p.argmax(axis=1), score)
        assert mine >= plain - 1e-9
