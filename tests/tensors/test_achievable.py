"""The best score over thresholds against a scan of all of them."""

import numpy as np
import pytest

import argmetric as am
from argmetric import tensors
from tensors.libraries import library

torch = library("torch")


def some_scores(seed=0, n=300):
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(2)
    return p, (rng.random(n) < p**2).astype(int)


def scanned(p, y, metric):
    """The best score and all thresholds that reach it."""
    cuts = [*np.unique(p), np.inf]
    scores = [metric.score(y, p >= cut) for cut in cuts]
    return max(scores), scores


@pytest.mark.parametrize("metric", ["f1", "mcc", "jaccard", "gmean", "accuracy"])
def test_best_threshold(metric):
    p, y = some_scores()
    best = tensors.BestAchievable(metric)
    for part in np.array_split(np.arange(p.size), 4):
        best.update(torch.from_numpy(p[part]), torch.from_numpy(y[part]))
    found = {name: float(x) for name, x in best.compute().items()}
    known = am.get_metric(metric)
    assert found["score"] == pytest.approx(scanned(p, y, known)[0], abs=1e-12)
    assert known.score(y, p >= found["threshold"]) == pytest.approx(found["score"])
    assert found["at_half"] == pytest.approx(known.score(y, p >= 0.5))


def test_merged_parts_are_the_whole():
    p, y = (torch.from_numpy(x) for x in some_scores(1))
    one, two, whole = (tensors.BestAchievable() for _ in range(3))
    one.update(p[:100], y[:100])
    two.update(p[100:], y[100:])
    one.merge(two)
    whole.update(p, y)
    assert one.compute() == whole.compute()
    one.reset()
    with pytest.raises(ValueError, match="call update first"):
        one.compute()
    with pytest.raises(ValueError, match="cannot merge mcc into f1"):
        whole.merge(tensors.BestAchievable("mcc"))


def test_log_odds_and_refusals():
    x, y = torch.tensor([3.0, -1.0, -2.0]), torch.tensor([1, 1, 0])
    best = tensors.BestAchievable(logits=True)
    best.update(x, y)
    assert float(best.compute()["score"]) == 1.0
    with pytest.raises(ValueError, match="use BestAchievable"):
        tensors.BestAchievable().update(x, y)
    with pytest.raises(ValueError, match="target has shape"):
        best.update(x, y[:1])


def test_nothing_predicted_can_be_best():
    best = tensors.BestAchievable(zero_division=1.0)
    best.update(torch.tensor([0.3, 1.0]), torch.tensor([0, 0]))
    found = best.compute()
    assert float(found["score"]) == 1.0
    assert float(found["threshold"]) == float("inf")
