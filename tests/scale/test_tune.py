"""tune over files: the threshold of one call in memory."""

import numpy as np
import pyarrow as pa
import pytest

import argmetric as am
from opened import tune
from refusing import refuses
from scale_data import write_parts

N = 20_000
METRICS = (
    *("f1", "jaccard", "mcc", "kappa", "gmean", "balanced_accuracy", "recall", "lift"),
    *("accuracy", "precision", "markedness", "sec", "fm"),
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, N)
    return (rng.random(N) < p).astype(np.int8), p


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    table = pa.table({"label": rows[0], "score": rows[1]})
    return write_parts(tmp_path_factory.mktemp("tune") / "in", table, [3000, 11_000])


def assert_same(found, wanted):
    assert found.threshold == wanted.threshold
    assert found.score == wanted.score
    assert found.plateau == wanted.plateau
    np.testing.assert_array_equal(found.optimal_thresholds, wanted.optimal_thresholds)
    for name in ("prevalence", "positive_rate", "n", "notes", "constraints"):
        assert getattr(found, name) == getattr(wanted, name)


def test_few_rows_give_the_very_rule_of_memory(rows, folder, tmp_path):
    y, p = rows
    found, wanted = tune(folder, n_jobs=2), am.tune(y, p)
    assert found == wanted
    assert found.threshold_interval == wanted.threshold_interval
    assert found.interval == wanted.interval
    table = pa.table({"label": y[:300], "score": p[:300].round(1)})
    few = write_parts(tmp_path / "few", table, [100])
    assert tune(few, "mcc") == am.tune(y[:300], p[:300].round(1), "mcc")


@pytest.mark.parametrize("waiting", [1, 40, 1 << 16])
def test_cells_of_many_files_are_merged_whenever_enough_wait(
    rows, tmp_path, monkeypatch, waiting
):
    monkeypatch.setattr("argmetric.scale._scan.BATCHES_MERGED", waiting)
    y, p = rows[0][:300], rows[1][:300].round(2)
    table = pa.table({"label": y, "score": p})
    many = write_parts(tmp_path / "many", table, range(7, 300, 7))
    assert tune(many, "mcc") == am.tune(y, p, "mcc")


@pytest.mark.parametrize("metric", METRICS)
def test_the_threshold_is_exact_where_bins_are_divided(
    rows, folder, metric, monkeypatch
):
    monkeypatch.setattr("argmetric.scale._tune.ROWS_SCANNED_WHOLE", 2000)
    if metric in ("recall", "precision", "lift"):
        # flat at an end
        monkeypatch.setattr("argmetric.scale._tune.ROWS_SCANNED_WHOLE", 12_000)
    found = tune(folder, metric)
    wanted = am.tune(*rows, metric)
    assert found.thresholds.size < wanted.thresholds.size
    assert_same(found, wanted)
    if metric in ("f1", "mcc", "accuracy"):  # with bins of its own
        outside = wanted.mean
        assert found.mean == pytest.approx(outside, abs=0.01)


@pytest.mark.parametrize(
    "words",
    [
        {"min_recall": 0.8, "metric": "precision"},
        {"min_precision": 0.7, "metric": "recall"},
        {"max_positives": 500},
        {"max_positives": "2%", "min_precision": 0.5},
        {"min_positives": "30%", "min_recall": 0.2},
        {"min_specificity": 0.95, "metric": "recall"},
        {"min_npv": 0.9, "metric": "precision"},
        {"metric": am.Utility(0, -1, -4)},
        {"metric": am.Utility(2, -1)},
    ],
)
def test_limits_and_costs(rows, folder, words, monkeypatch):
    monkeypatch.setattr("argmetric.scale._tune.ROWS_SCANNED_WHOLE", 1000)
    assert_same(tune(folder, **words), am.tune(*rows, **words))


def test_scores_of_any_size_and_sign(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    scores = np.concatenate(
        [rng.normal(0, 3, 3000), [0.0, -0.0, 1e300, -1e300, 5e-324, -5e-324] * 3]
    ).round(3)
    y = rng.random(scores.size) < 1 / (1 + np.exp(-np.clip(scores, -9, 9)))
    table = pa.table({"target": np.where(y, "yes", "no"), "score": scores})
    folder = write_parts(tmp_path / "in", table, [1000])
    for few in (100, 10_000):
        monkeypatch.setattr("argmetric.scale._tune.ROWS_SCANNED_WHOLE", few)
        for metric in ("f1", "accuracy"):
            found = tune(folder, metric, pos_label="yes")
            assert_same(found, am.tune(y, scores, metric))
            assert (found.pos_label, found.neg_label) == ("yes", "no")


@pytest.mark.parametrize("metric", ["f1", "accuracy"])
def test_scores_on_the_edges_of_cells(rows, metric, tmp_path, monkeypatch):
    """Binary fractions begin cells, and the doubles just below them end others."""
    monkeypatch.setattr("argmetric.scale._tune.ROWS_SCANNED_WHOLE", 1000)
    y, p = rows
    edges = (256 * p).round() / 256
    scores = np.where(np.arange(N) % 2, edges, np.nextafter(edges, -1))
    table = pa.table({"label": y, "score": scores})
    folder = write_parts(tmp_path / "in", table, [7000])
    assert_same(tune(folder, metric), am.tune(y, scores, metric))


def test_what_cannot_be_tuned_is_refused(folder, tmp_path, monkeypatch):
    one = write_parts(tmp_path / "one", pa.table({"y": [1, 1], "p": [0.2, 0.4]}), [1])
    refuses(ValueError, "both", tune, one)
    odd = pa.table({"y": [1, 0, 1], "p": [0.2, float("nan"), 0.3]})
    with pytest.raises(ValueError, match=r"part-001.*'p', row 1: nan is not a finite"):
        tune(write_parts(tmp_path / "odd", odd, [1]))
    monkeypatch.setattr("argmetric.scale._tune.ROWS_SCANNED_WHOLE", 100)
    words = {"min_recall": 0.99, "min_precision": 0.99}
    refuses(ValueError, r"no cut meets min_precision=0\.99", tune, folder, **words)
    for most in (64, 1024, 2048):  # fewer than the cells that are left, or as many
        monkeypatch.setattr("argmetric.scale._tune.MOST_BINS", most)
        with pytest.raises(ValueError, match=r"as good as the best.* tune in memory"):
            tune(folder, lambda tp, k, t, n: tp / (k + t))
