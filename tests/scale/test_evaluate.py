"""evaluate over files: the score of one call in memory."""

import numpy as np
import pyarrow as pa
import pytest

import argmetric as am
from opened import evaluate
from oracle import obeyed
from refusing import refuses
from scale_data import SMALL, write_parts


def labelled(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.4, 2, n)
    return pa.table(
        {
            "user": rng.integers(0, 300, n),
            "label": (rng.random(n) < p).astype(np.int8),
            "decision": p > 0.3,
        }
    )


@pytest.fixture
def files(tmp_path):
    table = labelled()
    return write_parts(tmp_path / "in", table, [900, 900, 2500]), table


def in_memory(table, metric, **words):
    y, d = table["label"].to_numpy(), table["decision"].to_numpy()
    return am.evaluate(y, d, metric, **words)


@pytest.mark.parametrize("metric", ["f1", "mcc", "recall"])
@pytest.mark.parametrize("zero_division", [0.0, 1.0, float("nan")])
def test_scores_are_those_of_one_call_in_memory(files, metric, zero_division):
    folder, table = files
    words = {"zero_division": obeyed(metric, zero_division)}
    found = evaluate(folder, metric, **words)
    assert found.score == in_memory(table, metric, **words)
    ids = table["user"].to_numpy()
    wanted = in_memory(table, metric, groups=ids, **words)
    for memory in (SMALL, None):
        found = evaluate(folder, metric, group="user", memory=memory, n_jobs=2, **words)
        assert found.score == pytest.approx(wanted, rel=1e-14)
        assert found.n_groups == wanted.n_groups


def test_what_is_told_besides(files):
    folder, table = files
    found = evaluate(folder, group="user")
    y, d = table["label"].to_numpy() == 1, table["decision"].to_numpy()
    ids = table["user"].to_numpy()
    counts = {"tp": y & d, "fp": ~y & d, "fn": y & ~d, "tn": ~y & ~d}
    assert found.counts == {name: int(rows.sum()) for name, rows in counts.items()}
    assert (found.n, found.n_groups) == (4000, np.unique(ids).size)
    assert found.interval == pytest.approx(am.evaluate(y, d, groups=ids).interval)
    pooled = evaluate(folder, group="user", average="pooled")
    assert (pooled.score, pooled.n_groups) == (in_memory(table, "f1"), None)


def test_labels_of_any_kind(tmp_path):
    y, d = ["spam", "ham", "spam", "ham", "ham"], ["spam", "spam", "spam", "ham", "ham"]
    table = pa.table({"y": pa.array(y).dictionary_encode(), "pred": d})
    folder = write_parts(tmp_path / "in", table, [2])
    found = evaluate(folder, "precision", pos_label="spam")
    assert found.score == am.evaluate(y, d, "precision", pos_label="spam")
    refuses(ValueError, "pos_label", evaluate, folder, "precision")
    with pytest.raises(ValueError, match="no column 'who'"):
        evaluate(folder, label="who", pos_label="spam")


def test_a_label_that_is_missing_is_named(tmp_path):
    table = pa.table({"label": [1, 0, None, 1], "decision": [1, 0, 0, 1]})
    folder = write_parts(tmp_path / "in", table, [1])
    refuses(ValueError, r"part-001\.parquet.*label.* row 2", evaluate, folder)


def test_a_score_that_is_undefined_is_refused(tmp_path):
    table = pa.table({"label": [0, 0], "decision": [0, 0]})
    folder = write_parts(tmp_path / "in", table, [1])
    with pytest.raises(ValueError, match=r"f1 is undefined \(0/0\)"):
        evaluate(folder, zero_division=float("nan"))
