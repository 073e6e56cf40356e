"""`argmetric evaluate`, `forecast` and `tune` on folders and patterns."""

import json

import numpy as np
import pyarrow as pa
import pytest

import argmetric as am
from argmetric.scale._executors import LEAST_MEMORY
from scale_data import write_parts


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    """Let runs be granted so little that one file is more than they hold."""
    monkeypatch.setattr("argmetric.scale._executors.LEAST_MEMORY", 1)


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, 3000)
    table = pa.table(
        {
            "user": rng.integers(0, 200, p.size),
            "score": p,
            "label": (rng.random(p.size) < p).astype(int),
            "decision": (p > 0.3).astype(int),
        }
    )
    write_parts(tmp_path / "in", table, [800, 1900])
    return {name: table[name].to_numpy() for name in table.column_names}


def test_evaluate(run, rows):
    ended = run("evaluate", "in/*.parquet", "--group", "user", "--json")
    assert ended.code == 0, ended.err
    summary = json.loads(ended.out)
    y, d = rows["label"], rows["decision"]
    wanted = am.evaluate(y, d, groups=rows["user"])
    assert summary["actual"]["score"] == pytest.approx(wanted, rel=1e-14)
    assert summary["notes"] == ["3 files in pieces, engine local"]
    assert summary["actual"]["counts"]["tp"] == int((y & d).sum())
    assert run("evaluate", "in", "--fail-under", "0.99").code != 0
    found = json.loads(run("evaluate", "in", "--threshold", "0.3", "--json").out)
    assert found["actual"]["score"] == float(am.evaluate(y, rows["score"] >= 0.3))
    refused = run("evaluate", "in", "--threshold", "0.3", "--memory", "2kB")
    assert refused.code == 2
    assert "--threshold needs all rows at once, and in has" in refused.err


def test_forecast(run, rows):
    ended = run("forecast", "in", "--json", "--coverage", "0.8")
    assert ended.code == 0, ended.err
    summary = json.loads(ended.out)
    wanted = am.forecast(rows["score"], rows["decision"], coverage=0.8)
    assert summary["forecast"]["mean"] == pytest.approx(wanted.mean, rel=1e-12)
    assert summary["columns"] == {"score": "score", "decision": "decision"}
    shown = run("forecast", "in", "--group", "user")
    assert "read in pieces, engine local" in shown.out
    found = json.loads(run("forecast", "in", "--threshold", "0.3", "--json").out)
    wanted = am.forecast(rows["score"], rows["score"] >= 0.3)
    assert found["forecast"]["mean"] == pytest.approx(wanted.mean, rel=1e-12)
    refused = run("forecast", "in", "--threshold", "0.3", "--on-error", "skip")
    assert "--on-error is about files that are read in pieces" in refused.err


def test_tune(run, rows, tmp_path):
    ended = run("tune", "in", "--metric", "f1", "-o", "rule.json", "--json")
    assert ended.code == 0, ended.err
    summary = json.loads(ended.out)
    wanted = am.tune(rows["label"], rows["score"], "f1")
    (rule,) = summary["rules"]
    assert rule["threshold"] == wanted.threshold
    assert am.Rule.load(tmp_path / "rule.json").threshold == wanted.threshold
    assert summary["columns"] == {"score": "score", "label": "label"}
    shown = run("tune", "in", "--cost-fp", "1", "--cost-fn", "3")
    assert "read in pieces, engine local" in shown.out
    found = json.loads(run("tune", "in", "--group", "user", "--json").out)
    wanted = am.tune(rows["label"], rows["score"], "f1", groups=rows["user"])
    assert found["rules"][0]["threshold"] == wanted.threshold


def test_files_that_are_left_out_are_listed(run, rows, tmp_path):
    (tmp_path / "in" / "a-bad.parquet").write_bytes(b"hello")
    notes = []
    for verb in ("evaluate", "forecast", "tune"):
        refused = run(verb, "in")
        assert refused.code == 1
        assert "a-bad.parquet" in refused.err
        ended = run(verb, "in", "--on-error", "skip", "--json")
        assert ended.code == 0, ended.err
        summary = json.loads(ended.out)
        assert summary["rows"] == rows["score"].size
        notes += summary["notes"]
    assert sum("cannot read" in note and "a-bad.parquet" in note for note in notes) == 3


@pytest.mark.parametrize(
    "words",
    [
        ["--memory", "2MB"],
        ["--engine", "local", "--work-dir", "work"],
        ["--on-error", "skip", "--missing-groups", "own"],
    ],
)
@pytest.mark.parametrize("verb", ["evaluate", "forecast"])
def test_verbs_take_the_options_of_many_files(run, rows, tmp_path, verb, words):
    (tmp_path / "work").mkdir()
    ended = run(verb, "in", "--group", "user", *words)
    assert ended.code == 0, ended.err
    assert "in pieces, engine local" in ended.out
    assert list((tmp_path / "work").iterdir()) == []


def test_tune_moves_no_rows(run, rows):
    ended = run("tune", "in", "--memory", "2MB", "--on-error", "skip")
    assert ended.code == 0, ended.err
    assert "in pieces, engine local" in ended.out
    for option in ("--work-dir", "--missing-groups"):
        assert option in run("tune", "in", option, "own").err


@pytest.mark.parametrize("verb", ["evaluate", "forecast", "tune"])
def test_one_file_takes_the_path_that_its_size_says(run, rows, verb):
    assert "in pieces" not in run(verb, "in/part-000.parquet").out
    ended = run(verb, "in/part-000.parquet", "--memory", "2kB")
    assert "in pieces, engine local" in ended.out


@pytest.mark.parametrize("files", ["in", "in/part-000.parquet"])
@pytest.mark.parametrize("verb", ["evaluate", "forecast", "tune"])
def test_less_memory_than_a_run_takes(run, rows, verb, files, monkeypatch):
    monkeypatch.setattr("argmetric.scale._executors.LEAST_MEMORY", LEAST_MEMORY)
    refused = run(verb, files, "--memory", "499MB")
    assert refused.code != 0
    assert "memory must be at least 500 MB, not '499MB'" in refused.err
    ended = run(verb, files, "--memory", "500MB")
    assert ended.code == 0, ended.err
