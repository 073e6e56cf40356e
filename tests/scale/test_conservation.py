"""What goes in comes out: rows are counted in every look, and held to one another."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import argmetric as am
import opened
from argmetric.scale import _columns as columns_stage
from argmetric.scale import _open as evaluate_stage
from argmetric.scale import _reading as reading_stage
from argmetric.scale import _tune as train_stage
from argmetric.scale import _tune as tune_stage
from scale_data import write_parts

N = 900


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, N)
    y = (rng.random(N) < p).astype(int)
    user, pred = rng.integers(0, 90, N), (p > 0.3).astype(int)
    columns = {"score": p, "label": y, "pred": pred, "user": user}
    return write_parts(tmp_path / "in", pa.table(columns), [300, 500])


def train(folder, **words):
    model = am.MetricLogisticRegression(n_restarts=1, random_state=0)
    return opened.fit(folder, model, features=["score", "user"], **words)


VERBS = {
    "evaluate": opened.evaluate,
    "evaluate by group": lambda folder: opened.evaluate(folder, group="user"),
    "forecast": opened.forecast,
    "forecast by group": lambda folder: opened.forecast(folder, group="user"),
    "tune": lambda folder: opened.tune(folder, n_bootstrap=0, cv=None),
    "calibrate": lambda folder: opened.calibrate(folder, "platt"),
    "calibration_check": lambda folder: opened.calibration_check(folder, n_bootstrap=2),
    "fit": train,
}
STAGES = {
    "evaluate": "evaluate",
    "evaluate by group": "evaluate",
    "forecast": "forecast",
    "forecast by group": "forecast",
    "tune": "count",
    "calibrate": "calibrate",
    "calibration_check": "calibrate",
    "fit": "train",
}


def changed(monkeypatch, module, change):
    """Read the second file through a change of its batches."""
    real = module.batches_of

    def batches(source, *words):
        for batch in real(source, *words):
            inside = source.name == "part-001.parquet"
            yield change(batch) if inside else batch

    monkeypatch.setattr(module, "batches_of", batches)


def without_the_last(batch):
    return batch.slice(0, batch.num_rows - 1)


@pytest.mark.parametrize("verb", VERBS)
def test_a_row_that_is_not_read_is_missed(folder, verb, monkeypatch):
    for name, place in (("labels", reading_stage), (STAGES[verb], columns_stage)):
        with monkeypatch.context() as patched:
            changed(patched, place, without_the_last)
            told = rf"^{name}: .*part-001\.parquet: 200 rows .* 199 "
            with pytest.raises(ValueError, match=told):
                VERBS[verb](folder)


def test_values_that_change_between_looks_are_noticed(folder, monkeypatch):
    looks = []

    def nudge(batch):
        looks.append(batch)
        i = batch.schema.get_field_index("score")
        score = pc.multiply(batch.column(i), 1.0 - 1e-15 * (len(looks) > 1))
        return batch.set_column(i, "score", score)

    limits = (tune_stage, "ROWS_SCANNED_WHOLE"), (train_stage, "MOST_ROWS_IN_MEMORY")
    for verb, limit in zip(("tune", "fit"), limits, strict=True):
        with monkeypatch.context() as patched:
            patched.setattr(*limit, 10)
            changed(patched, columns_stage, nudge)
            looks.clear()
            told = rf"^{STAGES[verb]}: .*part-001\.parquet: rows have other values"
            with pytest.raises(ValueError, match=told):
                VERBS[verb](folder)
            assert len(looks) == 2


def test_rows_that_are_lost_in_a_sum_are_missed(folder, monkeypatch):
    real = evaluate_stage.pairs_of
    lossy = lambda batches: {"cells": [n - 1 for n in real(batches)["cells"]]}  # noqa: E731
    monkeypatch.setattr("argmetric.scale._open.pairs_of", lossy)
    with pytest.raises(ValueError, match=r"^evaluate: 900 rows were read and 888 are"):
        VERBS["evaluate"](folder)
    last = "argmetric.scale._run.Gathered.whole", lambda total: total.parts[-1]
    monkeypatch.setattr(*last)
    for verb in ("tune", "calibrate"):
        told = rf"^{STAGES[verb]}: 900 rows were read and 400 are"
        with pytest.raises(ValueError, match=told):
            VERBS[verb](folder)
