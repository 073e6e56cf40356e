"""Dask collections in place of files: the same results, partition by partition."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import argmetric as am
import opened
from scale_data import SMALL, decisions

N = 3000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, N).round(3)
    y = (rng.random(N) < p).astype(int)
    pred = (p > 0.3).astype(int)
    user = pd.Series(rng.integers(0, 200, N)).astype(str) + "é"
    return pd.DataFrame({"user": user, "score": p, "label": y, "pred": pred})


@pytest.fixture(scope="module")
def frame(table):
    """Five partitions, the first of them empty."""
    whole = dd.from_pandas(table, npartitions=4, sort=False)
    empty = dd.from_pandas(table.iloc[:0], npartitions=1)
    return dd.concat([empty, whole], interleave_partitions=False)


def test_numbers_are_those_of_memory(table, frame):
    y, p, pred = (table[name].to_numpy() for name in ("label", "score", "pred"))
    assert opened.tune(frame, n_bootstrap=20, n_jobs=2) == am.tune(y, p, n_bootstrap=20)
    found = opened.evaluate(frame, "mcc")
    assert found.score == pytest.approx(am.evaluate(y, pred, "mcc"), abs=1e-12)
    assert (found.n, found.n_files) == (N, frame.npartitions)
    wanted = am.evaluate(y, pred, groups=table["user"], average="groups")
    by_group = opened.evaluate(frame, group="user", memory=SMALL)
    assert by_group.score == pytest.approx(wanted, abs=1e-12)
    mean = am.forecast(p, labels=pred).mean
    assert opened.forecast(frame).mean == pytest.approx(mean, abs=1e-9)
    assert opened.calibrate(frame, "platt").slope == pytest.approx(
        am.calibrate(y, p, "platt").slope, abs=1e-10
    )


@pytest.mark.parametrize("group", [None, "user"])
def test_decisions_are_those_of_memory(table, frame, group, tmp_path):
    out = tmp_path / "out"
    found = opened.decide(frame, "f1", group=group, output=out, memory=SMALL)
    more = {} if group is None else {"groups": table["user"], "average": "groups"}
    wanted = am.decide(table["score"], "f1", **more)
    np.testing.assert_array_equal(decisions(out), wanted.labels)
    assert found.expected == pytest.approx(wanted.expected, abs=1e-12)
    assert [path.name for path in sorted(out.glob("*.parquet"))] == [
        f"part-{i:05d}.parquet" for i in range(frame.npartitions)
    ]
    kept = pq.read_table(out).drop_columns(["decision"]).to_pandas()
    pd.testing.assert_frame_equal(kept, table.reset_index(drop=True), check_dtype=False)


def test_partitions_on_a_cluster_are_read_there(table, frame, cluster):
    y, p = table["label"].to_numpy(), table["score"].to_numpy()
    wanted = am.tune(y, p, n_bootstrap=20)
    assert opened.tune(frame, n_bootstrap=20, executor=cluster) == wanted
    held = cluster.client.persist(frame)
    with pytest.raises(ValueError, match="pass it as it was before persist"):
        opened.tune(held, executor=cluster)


def test_training_on_arrays_is_that_of_memory():
    n = 50_600  # more than are taken into memory
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    y = (rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    words = {"n_restarts": 1, "random_state": 0}
    wanted = am.MetricLogisticRegression("f1", **words).fit(X, y)
    blocks = da.from_array(X, chunks=(25_000, 2)), da.from_array(y, chunks=20_000)
    found = opened.fit(blocks, am.MetricLogisticRegression("f1", **words))
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=0, atol=1e-8)
    assert found.n_features_in_ == 3
    assert not hasattr(found, "feature_names_in_")
    with pytest.raises(ValueError, match="two dimensions, and goes with one of labels"):
        opened.fit((blocks[0], y), am.MetricLogisticRegression("f1"))
    with pytest.raises(ValueError, match="X and y: "):
        opened.fit((blocks[0], blocks[1][:-1]), am.MetricLogisticRegression("f1"))


def test_rows_that_change_between_looks_are_noticed(table, tmp_path):
    looks = tmp_path / "looks"

    def fewer(part):
        with looks.open("a") as file:
            file.write("x")
        return part.iloc[: len(part) - (looks.stat().st_size > 2)]

    frame = dd.from_pandas(table, npartitions=1)
    frame = frame.map_partitions(fewer, meta=table.iloc[:0])
    with pytest.raises(ValueError, match="3,000 rows were there and 2,999 were read"):
        opened.evaluate(frame)
