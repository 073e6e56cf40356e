"""The best score over thresholds against a scan of all of them."""

import os
import subprocess
import sys

import numpy as np
import pytest

import argmetric as am
from argmetric import tensors
from refusing import refuses
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


@pytest.mark.filterwarnings("ignore:The ``compute`` method")  # of torchmetrics
def test_merged_parts_are_the_whole():
    p, y = (torch.from_numpy(x) for x in some_scores(1))
    one, two, whole = (tensors.BestAchievable() for _ in range(3))
    one.update(p[:100], y[:100])
    two.update(p[100:], y[100:])
    one.compute()
    one.merge(two)
    whole.update(p, y)
    assert one.compute() == whole.compute()
    one.reset()
    refuses(ValueError, "call update first", one.compute)
    with pytest.raises(ValueError, match="cannot merge mcc into f1"):
        whole.merge(tensors.BestAchievable("mcc"))


def test_log_odds_and_refusals():
    x, y = torch.tensor([3.0, -1.0, -2.0]), torch.tensor([1, 1, 0])
    best = tensors.BestAchievable(logits=True)
    best.update(x, y)
    assert float(best.compute()["score"]) == 1.0
    with pytest.raises(ValueError, match="use BestAchievable"):
        tensors.BestAchievable().update(x, y)
    refuses(ValueError, "target has shape", best.update, x, y[:1])
    refuses(ValueError, "target must hold 0 and 1", best.update, x, y - 1)


def test_nothing_predicted_can_be_best():
    best = tensors.BestAchievable(zero_division=1.0)
    best.update(torch.tensor([0.3, 1.0]), torch.tensor([0, 0]))
    found = best.compute()
    assert float(found["score"]) == 1.0
    assert float(found["threshold"]) == float("inf")


def test_as_a_metric_of_torchmetrics():
    torchmetrics = library("torchmetrics")
    p, y = (torch.from_numpy(x) for x in some_scores(2))
    one = tensors.BestAchievable()
    assert isinstance(one, torchmetrics.Metric)
    first = one(p[:100], y[:100])  # of this batch
    alone = tensors.BestAchievable()
    alone.update(p[:100], y[:100])
    assert first == alone.compute()
    one.update(p[100:], y[100:])
    whole = tensors.BestAchievable()
    whole.update(p, y)
    assert one.compute() == whole.compute()
    rest = tensors.BestAchievable()
    rest.update(p[100:], y[100:])
    alone.merge_state(rest)
    assert int(alone.counts[1].sum()) == int(y.sum())
    both = torchmetrics.MetricCollection(
        {"f1": tensors.BestAchievable(), "mcc": tensors.BestAchievable("mcc")}
    )
    for part in (slice(0, 100), slice(100, None)):
        both.update(p[part], y[part])
    found = both.compute()
    mcc = tensors.BestAchievable("mcc")
    mcc.update(p, y)
    assert found["f1_score"] == whole.compute()["score"]
    assert found["mcc_threshold"] == mcc.compute()["threshold"]
    both.reset()
    both.update(p, y)
    assert both.compute() == found


TWO_PROCESSES = """
import sys
import torch
from argmetric.tensors import BestAchievable
rank, store = int(sys.argv[1]), sys.argv[2]
torch.distributed.init_process_group(
    "gloo", init_method=f"file://{store}", rank=rank, world_size=2
)
p = torch.linspace(0.0, 1.0, 60)
y = (torch.sin(40.0 * p) + 2.0 * p > 0.8).int()
half = slice(rank, None, 2)
best = BestAchievable()
best.update(p[half], y[half])
found = best.compute()
whole = BestAchievable()
whole.sync_on_compute = False
whole.update(p, y)
assert found == whole.compute(), (found, whole.compute())
"""


def test_counts_add_up_over_processes(tmp_path):
    library("torchmetrics")
    if not torch.distributed.is_gloo_available():
        pytest.skip("this build of torch has no gloo")
    code = [sys.executable, "-c", TWO_PROCESSES]
    runs = [
        subprocess.Popen(
            [*code, str(rank), str(tmp_path / "store")],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "GLOO_SOCKET_IFNAME": "lo"},
        )
        for rank in range(2)
    ]
    errors = [run.communicate(timeout=120)[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], errors
