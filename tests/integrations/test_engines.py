"""Spark, MLflow, a service and recipes for other engines, where they are installed."""

import runpy
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import argmetric as am
from exported import RULES, missing, spark_session
from partitioned import COLUMNS, rows, sorted_labels, whole


@pytest.fixture(scope="module")
def spark():
    if reason := missing("spark"):
        pytest.skip(reason)
    session = spark_session()
    yield session
    session.stop()


@pytest.mark.filterwarnings("ignore")
def test_spark_gives_the_labels_of_memory(spark):
    table = rows()
    df = spark.createDataFrame(table.to_pandas())
    decide = am.integrations.spark.decide
    found = decide(df, **COLUMNS, zero_division=1.0)
    assert found.columns == ["user", "score", "row", "decision"]
    labels = sorted_labels([pa.Table.from_pandas(found.toPandas())])
    assert np.array_equal(labels, whole(table, zero_division=1.0))
    ready = decide(df.repartition(3, "user"), **COLUMNS, repartition=False)
    assert np.array_equal(
        sorted_labels([pa.Table.from_pandas(ready.toPandas())]), whole(table)
    )
    with pytest.raises(TypeError, match="df must be a DataFrame of Spark, not Table"):
        decide(table, **COLUMNS)
    with pytest.raises(ValueError, match="no column 'tokens'"):
        decide(df, **COLUMNS, budget=("tokens", 3))
    with pytest.raises(ValueError, match=r"partitions split the group \d+: pass"):
        decide(df.repartition(3, "row"), **COLUMNS, repartition=False)


@pytest.mark.filterwarnings("ignore")
def test_mlflow_carries_a_model_and_its_rule(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    from sklearn.linear_model import LogisticRegression

    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.where(rng.random(400) < 1 / (1 + np.exp(1 - X[:, 0])), "yes", "no")
    model = LogisticRegression().fit(X, y)
    p = model.predict_proba(X)[:, 1]
    calibrator = am.calibrate(y, p, pos_label="yes")
    quick = {"n_bootstrap": 0, "cv": None}
    rule = am.tune(y, p, pos_label="yes", reference=calibrator, **quick)
    with mlflow.start_run():
        alone = am.integrations.mlflow.log_rule(rule)
        scores = mlflow.sklearn.log_model(
            model, name="model", pyfunc_predict_fn="predict_proba"
        )
        whole = am.integrations.mlflow.log_rule(rule, "both", model=scores.model_uri)
        plain = LogisticRegression().fit(X, y == "yes")
        labels = mlflow.sklearn.log_model(plain, name="plain")
        wrong = am.integrations.mlflow.log_rule(rule, "wrong", model=labels.model_uri)
    of_labels = mlflow.pyfunc.load_model(wrong.model_uri)
    with pytest.warns(UserWarning, match="only 0 and 1, which look like labels"):
        of_labels.predict(X)
    wanted = rule.apply(p).tolist()
    assert {"yes", "no"} == set(wanted)
    for info, given in ((alone, p), (whole, X)):
        loaded = mlflow.pyfunc.load_model(info.model_uri)
        assert list(loaded.predict(given)) == wanted


def test_the_recipe_for_duckdb_gives_the_labels_of_memory():
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    table = rows()
    count = 5
    con = duckdb.connect()
    con.register("t", table)
    tables = (
        con.sql(f"FROM t WHERE hash(user) % {count} = {i}").to_arrow_table()
        for i in range(count)
    )
    found = am.integrations.decide_batches(tables, **COLUMNS)
    assert np.array_equal(sorted_labels(found), whole(table))
    cut = con.sql("FROM t").to_arrow_reader(500)
    batches = map(pa.Table.from_batches, ([one] for one in cut))
    with pytest.raises(ValueError, match="in an earlier one"):
        list(am.integrations.decide_batches(batches, **COLUMNS))


@pytest.mark.filterwarnings("ignore")
def test_the_service_of_the_docs_answers(tmp_path, monkeypatch):
    pytest.importorskip("fastapi", reason="fastapi is not installed")
    pytest.importorskip("httpx", reason="httpx is not installed")
    from fastapi.testclient import TestClient

    rule = RULES["spline"]
    rule.save(tmp_path / "rule.json")
    monkeypatch.setenv("RULE", str(tmp_path / "rule.json"))
    path = Path(__file__).resolve().parents[2] / "examples" / "service" / "app.py"
    client = TestClient(runpy.run_path(str(path))["app"])
    scores = [0.9, 0.4, 0.1]
    assert client.post("/rows", json=scores).json() == rule.apply(scores).tolist()
    wanted = am.decide(scores, reference=rule.calibrator).labels.tolist()
    assert client.post("/basket", json=scores).json() == wanted
    for path in ("/rows", "/basket"):
        answer = client.post(path, json=[0.2, 1.7])
        assert answer.status_code == 422
        assert "p is 1.7 at row 1, outside of [0, 1]" in answer.json()["detail"]


def test_the_recipe_for_polars_gives_the_labels_of_memory():
    table = rows()
    df = pl.from_arrow(table).with_columns(bucket=pl.col("user").hash() % 5)
    batches = df.partition_by("bucket", include_key=False)
    found = pl.concat(am.integrations.decide_batches(batches, **COLUMNS))
    assert np.array_equal(sorted_labels([found.to_arrow()]), whole(table))


@pytest.mark.filterwarnings("ignore")
def test_the_recipe_for_ray_gives_the_labels_of_memory():
    ray = pytest.importorskip("ray", reason="ray is not installed")
    pytest.importorskip("ray.data", reason="ray[data] is not installed")
    table = rows()
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        bucket = pa.array(table["user"].to_numpy() % 3)
        data = ray.data.from_arrow(table.append_column("bucket", bucket))
        found = data.groupby("bucket").map_groups(
            lambda part: am.integrations.decide_table(part, **COLUMNS),
            batch_format="pyarrow",
        )
        tables = ray.get(found.to_arrow_refs())
    finally:
        ray.shutdown()
    assert np.array_equal(sorted_labels(tables), whole(table))
