"""Training on files: the coefficients of training in memory."""

import numpy as np
import pyarrow as pa
import pytest

import argmetric as am
from opened import fit
from refusing import refuses
from scale_data import write_parts


def examples(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 3.0, 0.2, 1.0]
    z = X @ [1.0, -0.3, 2.0, 0.0] - 1.5
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    columns = {f"x{j}": X[:, j] for j in range(4)}
    return X, y, pa.table({**columns, "label": y})


@pytest.mark.parametrize("n", [2000, 52_000])
def test_coefficients_are_those_of_memory(tmp_path, n):
    X, y, table = examples(n)
    folder = write_parts(tmp_path / "in", table, [n // 3, n // 2])
    words = {"n_restarts": 2, "random_state": 0, "tol": 1e-9}
    wanted = am.MetricLogisticRegression("f1", **words).fit(X, y)
    found = fit(folder, am.MetricLogisticRegression("f1", **words), n_jobs=2)
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.intercept_, wanted.intercept_, rtol=0, atol=1e-8)
    assert found.objective_ == pytest.approx(wanted.objective_, rel=1e-12)
    frame = table.slice(0, 50).drop_columns(["label"]).to_pandas()
    np.testing.assert_array_equal(found.predict(frame), wanted.predict(X[:50]))
    assert found.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]
    np.testing.assert_array_equal(found.classes_, [0, 1])


def test_random_starts_and_several_metrics_are_those_of_memory(tmp_path):
    X, y, table = examples(52_000)
    folder = write_parts(tmp_path / "in", table, [20_000])
    words = {"init": "random", "n_restarts": 1, "random_state": 0, "tol": 1e-6}
    model = am.MetricLogisticRegression(["f1", am.FBeta(2)], **words)
    wanted = model.fit(X, y)
    found = fit(folder, am.MetricLogisticRegression(["f1", am.FBeta(2)], **words))
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=1e-4)
    np.testing.assert_allclose(found.intercepts_, wanted.intercepts_, rtol=1e-4)
    assert found.objective_ == pytest.approx(wanted.objective_, rel=1e-9)


def test_features_and_labels_of_any_kind(tmp_path):
    X, y, table = examples(3000)
    names = np.where(y == 1, "good", "bad")
    table = table.set_column(4, "class", pa.array(names)).append_column(
        "note", pa.array(names)
    )
    folder = write_parts(tmp_path / "in", table, [1000])
    words = {"n_restarts": 2, "random_state": 0, "pos_label": "bad"}
    wanted = am.MetricLogisticRegression("recall", **words).fit(X[:, [2, 0]], names)
    model = am.MetricLogisticRegression("recall", **words)
    found = fit(folder, model, features=["x2", "x0"], label="class")
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=0, atol=1e-8)
    with pytest.raises(ValueError, match="column 'note' holds string, not numbers"):
        fit(folder, model, label="class")
    with pytest.raises(ValueError, match="features and label both name"):
        fit(folder, model, features=["x0", "class"], label="class")


def test_what_needs_all_rows_is_refused(tmp_path):
    _, _, table = examples(100)
    folder = write_parts(tmp_path / "in", table, [50])
    for words in ({"objective": "expected"}, {"class_weight": "balanced"}):
        with pytest.raises(ValueError, match="needs all rows in memory"):
            fit(folder, am.MetricLogisticRegression(**words))
    refuses(TypeError, "estimator must be a MetricLogisticRegr", fit, folder, "f1")
    gap = table.set_column(0, "x0", pa.array([None, *range(99)], pa.float64()))
    with pytest.raises(ValueError, match=r"part-000.*'x0', row 1 is empty"):
        fit(write_parts(tmp_path / "gap", gap, [50]), am.MetricLogisticRegression())
