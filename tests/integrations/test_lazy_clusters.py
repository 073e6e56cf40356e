"""Lazy tables of a real Spark, and of a Dask cluster of two worker processes."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import argmetric as am
from argmetric import scale
from exported import missing, spark_session

pytestmark = pytest.mark.slow  # of make test-production: clusters take a minute
OPEN = {"score": "p", "label": "y", "decision_column": "d"}


def rows(n=6_000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 2, n)
    columns = {"p": p, "y": (rng.random(n) < p).astype(int), "d": (p > 0.4).astype(int)}
    users = rng.integers(0, n // 30, n)
    return pd.DataFrame({**columns, "user": [f"u{i}" for i in users], "row": range(n)})


@pytest.fixture(scope="module")
def spark():
    if reason := missing("spark"):
        pytest.skip(reason)
    session = spark_session()
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 777)
    yield lambda frame: session.createDataFrame(frame).repartition(5)
    session.stop()


@pytest.fixture(scope="module")
def dask():
    dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
    ):
        yield lambda frame: dd.from_pandas(frame, npartitions=3)


@pytest.fixture(params=["spark", "dask"])
def lazy(request):
    return request.getfixturevalue(request.param)


def fetched(table):
    frame = table.toPandas() if hasattr(table, "toPandas") else table.compute()
    return frame.sort_values("row")


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_answers_of_memory(lazy):
    frame = rows()
    p, y, d = (frame[name].to_numpy() for name in "pyd")
    table = scale.open(lazy(frame), **OPEN)
    wanted = am.decide(p, "f1")
    found = table.decide("f1", output="chosen")
    assert found.n_positives == wanted.n_positives
    assert found.expected == pytest.approx(wanted.expected, rel=1e-12)
    assert type(found.table) is type(table.table)
    labelled = fetched(found.table)
    assert np.array_equal(labelled["chosen"], wanted.labels)
    assert list(labelled.columns) == ["p", "y", "d", "user", "row", "chosen"]
    assert table.evaluate("f1") == pytest.approx(am.evaluate(y, d, "f1"), rel=1e-12)
    wanted = am.forecast(p, d, "f1")
    assert table.forecast("f1").mean == pytest.approx(wanted.mean, rel=1e-9)
    quick = {"n_bootstrap": 0, "cv": None}
    rule, same = table.tune("mcc", **quick), am.tune(y, p, "mcc", **quick)
    assert (rule.threshold, rule.score) == (same.threshold, same.score)


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_brings_groups_together(lazy):
    frame = rows(seed=1)
    p, y, d, users = (frame[name].to_numpy() for name in ("p", "y", "d", "user"))
    table = scale.open(lazy(frame), **OPEN, group="user")
    how = {"zero_division": 1.0, "max_positives": 4}
    wanted = am.decide(p, "f1", groups=pa.array(users), **how)
    found = table.decide("f1", output="chosen", **how)
    assert found.n_groups == wanted.n_groups
    assert found.n_positives == wanted.n_positives
    assert found.expected == pytest.approx(wanted.expected, rel=1e-12)
    labelled = fetched(found.table)
    assert np.array_equal(labelled["chosen"], wanted.labels)
    assert np.array_equal(labelled["p"], p)
    wanted = am.evaluate(y, d, "f1", groups=pa.array(users))
    assert table.evaluate("f1") == pytest.approx(wanted, rel=1e-12)
    assert table.evaluate("f1").n_groups == wanted.n_groups
    wanted = am.forecast(p, d, "f1", groups=pa.array(users))
    assert table.forecast("f1").mean == pytest.approx(wanted.mean, rel=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_decides_many_rows_by_sums(lazy):
    frame = rows(60_000, seed=2)[["p"]]
    table = lazy(frame)
    for metric in ("f1", "mcc"):
        found, wanted = scale.open(table).decide(metric), am.decide(frame["p"], metric)
        assert found.plan == "one vector, 2 passes"
        assert found.n_positives == wanted.n_positives
        assert found.expected == pytest.approx(wanted.expected, rel=1e-12)
        labels = (
            found.table.select("decision")
            if hasattr(table, "toPandas")
            else (found.table["decision"].to_frame())
        )
        frame_of = (
            labels.toPandas() if hasattr(labels, "toPandas") else labels.compute()
        )
        assert frame_of["decision"].sum() == wanted.n_positives


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_refuses_what_memory_refuses(lazy):
    frame = rows(100)
    frame.loc[3, "p"] = np.nan
    with pytest.raises(
        ValueError, match=r"column 'p' is missing .NULL or NaN. in 1 of"
    ):
        scale.open(lazy(frame), **OPEN).decide("f1", output="new")
    frame.loc[3, "p"] = 1.5
    with pytest.raises(ValueError, match=r"column 'p' is from .* to 1.5, outside of"):
        scale.open(lazy(frame), **OPEN).decide("f1", output="new")
    frame.loc[3, "p"] = 0.5
    frame.loc[3, "user"] = None
    with pytest.raises(ValueError, match=r"column 'user' is missing .* in 1 of 100"):
        scale.open(lazy(frame), **OPEN, group="user").decide("f1", output="new")
