"""Commands on folders, patterns and files larger than memory."""

import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import argmetric as am
from command import PATIENCE, wait_for
from scale_data import decisions, left_beside, scored, write_parts


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    """Let runs be granted so little that a few rows are many buckets."""
    monkeypatch.setattr("argmetric.scale._memory.LEAST_MEMORY", 1)


@pytest.fixture
def table(tmp_path):
    table = scored(3000)
    write_parts(tmp_path / "in", table, [800, 1900])
    return table


def wanted(table, metric="f1"):
    p, ids = table["score"].to_numpy(), table["user"].to_numpy()
    return am.decide(p, metric, groups=ids, average="groups")


@pytest.mark.parametrize("files", ["in", "in/*.parquet"])
def test_many_files_are_decided_as_one(run, table, tmp_path, files):
    ended = run("decide", files, "--group", "user", "-o", "out", "--memory", "200kB")
    assert ended.code == 0, ended.err
    np.testing.assert_array_equal(decisions(tmp_path / "out"), wanted(table).labels)
    assert f"expected    {wanted(table).expected:.3f}" in ended.err
    assert "by group, " in ended.err
    assert str(tmp_path / "out") in ended.err
    assert ended.out == ""


def test_one_file_takes_the_path_that_its_size_says(run, table, tmp_path):
    one = str(tmp_path / "in" / "part-000.parquet")
    labels = wanted(table.slice(0, 800)).labels
    small = run("decide", one, "--group", "user", "-o", "out.parquet")
    assert "best single cut" in small.err  # the summary of one file in memory
    large = run("decide", one, "--group", "user", "-o", "out", "--memory", "2kB")
    assert "by group, " in large.err
    written = pq.read_table(tmp_path / "out.parquet")["decision"]
    np.testing.assert_array_equal(written.to_numpy(), labels)
    np.testing.assert_array_equal(decisions(tmp_path / "out"), labels)
    assert written.type == pq.read_table(tmp_path / "out")["decision"].type


def test_files_that_cannot_be_read_are_listed(run, table, tmp_path):
    (tmp_path / "in" / "part-009.parquet").write_bytes(b"hello")
    ended = run("decide", "in", "--group", "user", "-o", "out")
    assert ended.code == 1
    assert "part-009.parquet" in ended.err
    ended = run("decide", "in", "--group", "user", "-o", "out", "--on-error", "skip")
    assert ended.code == 0
    assert "left out: cannot read" in ended.err
    np.testing.assert_array_equal(decisions(tmp_path / "out"), wanted(table).labels)


def test_what_needs_all_rows_is_read_at_once_and_written_to_one_file(
    run, table, tmp_path
):
    p = table["score"].to_numpy()
    ended = run("decide", "in", "--prior", "0.1", "-o", "one.parquet")
    assert ended.code == 0, ended.err
    found = pq.read_table(tmp_path / "one.parquet")["decision"].to_numpy()
    np.testing.assert_array_equal(found, am.decide(p, prior=0.1).labels)


@pytest.mark.parametrize("end", ["parquet", "csv"])
def test_a_rule_decides_many_files(run, answer, table, tmp_path, end):
    p = table["score"].to_numpy()
    y = (np.random.default_rng(0).random(p.size) < p).astype(int)
    pq.write_table(pa.table({"score": p, "label": y}), tmp_path / "known.parquet")
    assert run("tune", "known.parquet", "-o", "rule.json").code == 0
    rule = am.Rule.load(tmp_path / "rule.json")
    (tmp_path / "more").mkdir()
    write = pq.write_table if end == "parquet" else pa.csv.write_csv
    write(table, tmp_path / f"more/a.{end}")
    decision = answer("decide more --rule rule.json -o out")["decision"]
    np.testing.assert_array_equal(decisions(tmp_path / "out"), rule.apply(p))
    assert decision["threshold"] == rule.threshold
    assert decision["n_positives"] == rule.apply(p).sum()
    calibrated = rule.reference.calibrator.apply(p)
    wanted = am.forecast(calibrated, rule.apply(p), rule.metric).mean
    assert decision["expected"] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("words", [(), ("--group", "user")])
def test_a_folder_without_decisions_is_forecast_as_one_file_is(
    run, answer, table, tmp_path, words
):
    pq.write_table(table, tmp_path / "one.parquet")
    one = answer("forecast one.parquet", *words)
    for memory in ("1GB",) if words else ("1GB", "200kB"):
        found = answer(f"forecast in --memory {memory}", *words)
        assert found["columns"].get("decision") is None
        mean = one["forecast"]["mean"]
        assert found["forecast"]["mean"] == pytest.approx(mean, abs=1e-9)
    assert "optimal for f1" in run("forecast", "in", *words).out


def command(*words):
    return [sys.executable, "-m", "argmetric.cli", "decide", *map(str, words)]


def started(output, words):
    """A command that has begun to work, and is stopped there."""
    process = subprocess.Popen(
        command(*words),
        stderr=subprocess.PIPE,
        # Ignored where tests run in the background, and inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    work = output.parent / ".out.work"
    wait_for((work / "plan").exists, process)
    return process


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_cleans_up_or_leaves_what_can_go_on(run, tmp_path, number):
    table = scored(20_000, groups=3000)
    write_parts(tmp_path / "in", table, range(50, 20_000, 50))
    output = tmp_path / "out"
    words = [tmp_path / "in", "--group", "user", "-o", output]
    words += ["--jobs", 1]
    process = started(output, words)
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert not output.exists()
    if number == signal.SIGINT:
        assert process.returncode == 130, err
        assert left_beside(output) == []
        return
    assert process.returncode == -number
    again = run("decide", *map(str, words))
    assert again.code == 1
    assert "has not ended: --resume goes on with it" in again.err
    assert run("decide", *map(str, words), "--resume").code == 0
    np.testing.assert_array_equal(decisions(output), wanted(table).labels)
    assert left_beside(output) == []


LABELS = {
    "text of 0 and 1": (["0", "1"], None),
    "text of 0 and 1, named": (["0", "1"], "1"),
    "text of 0 and 1, spelled otherwise": (["0", "1.0"], "1"),
    "numbers, named as the other class": ([0, 1], "0"),
    "names": (["no", "yes"], "yes"),
    "signs": ([-1, 1], None),
    "truth values": ([False, True], "true"),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_are_read_as_those_of_one_file(run, answer, tmp_path, kind):
    (negative, positive), named = LABELS[kind]
    rng = np.random.default_rng(0)
    p = rng.random(300)
    hits = rng.random(300) < (p if named != "0" else 1 - p)
    columns = {"score": p, "label": [positive if hit else negative for hit in hits]}
    table = pa.table(columns | {"decision": (p > 0.4).astype(int)})
    pq.write_table(table, tmp_path / "one.parquet")
    write_parts(tmp_path / "in", table, [100])
    words = [] if named is None else ["--pos-label", named]
    found, rules = [], []
    for files in ("one.parquet", "in"):
        found.append(answer("evaluate", files, *words)["actual"]["score"])
        ended = run("tune", files, "--metric", "f1", "-o", f"{files}.json", *words)
        assert ended.code == 0, ended.err
        rule = json.loads((tmp_path / f"{files}.json").read_text())
        del rule["reference"]  # rows in pieces are not kept
        rules.append(rule)
    assert found[0] == found[1]
    assert rules[0] == rules[1]


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_a_sign_of_life_is_shown_after_a_while(run, table, monkeypatch, seconds):
    shown = []
    status = SimpleNamespace(
        start=lambda: shown.append("start"), stop=lambda: shown.append("stop")
    )
    monkeypatch.setattr("rich.console.Console.status", lambda console, text: status)
    terminal = SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("argmetric.cli._report.sys", terminal)
    monkeypatch.setattr("argmetric.cli._report.PATIENCE_SECONDS", seconds)
    run("decide", "in", "--group", "user", "-o", "out")
    assert ("start" in shown) == (seconds == 0)
    assert shown[-1] == "stop"
    shown.clear()
    terminal.stderr = SimpleNamespace(isatty=lambda: False)
    run("decide", "in", "--group", "user", "-o", "again")
    assert shown == []


# ------------------------------------------------------- evaluate, forecast, tune


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


def test_evaluate(run, answer, rows):
    summary = answer("evaluate in/*.parquet --group user")
    y, d = rows["label"], rows["decision"]
    wanted = am.evaluate(y, d, groups=rows["user"])
    assert summary["actual"]["score"] == pytest.approx(wanted, rel=1e-14)
    assert summary["notes"] == ["read in pieces"]
    assert summary["actual"]["counts"]["tp"] == int((y & d).sum())
    assert run("evaluate", "in", "--fail-under", "0.99").code != 0
    found = answer("evaluate in --threshold 0.3")
    assert found["actual"]["score"] == float(am.evaluate(y, rows["score"] >= 0.3))
    refused = run("evaluate", "in", "--threshold", "0.3", "--memory", "2kB")
    assert refused.code == 2
    assert "--threshold needs all rows at once, and in takes about" in refused.err


def test_forecast(run, answer, rows):
    summary = answer("forecast in --coverage 0.8")
    wanted = am.forecast(rows["score"], rows["decision"], coverage=0.8)
    assert summary["forecast"]["mean"] == pytest.approx(wanted.mean, rel=1e-12)
    assert summary["columns"] == {"score": "score", "decision": "decision"}
    shown = run("forecast", "in", "--group", "user")
    assert "read in pieces" in shown.out
    found = answer("forecast in --threshold 0.3")
    wanted = am.forecast(rows["score"], rows["score"] >= 0.3)
    assert found["forecast"]["mean"] == pytest.approx(wanted.mean, rel=1e-12)
    refused = run("forecast", "in", "--threshold", "0.3", "--on-error", "skip")
    assert "--on-error is about files that are read in pieces" in refused.err


def test_tune(run, answer, rows, tmp_path):
    summary = answer("tune in --metric f1 -o rule.json")
    wanted = am.tune(rows["label"], rows["score"], "f1")
    (rule,) = summary["rules"]
    assert rule["threshold"] == wanted.threshold
    assert am.Rule.load(tmp_path / "rule.json").threshold == wanted.threshold
    assert summary["columns"] == {"score": "score", "label": "label"}
    shown = run("tune", "in", "--cost-fp", "1", "--cost-fn", "3")
    assert "read in pieces" in shown.out
    found = answer("tune in --group user")
    wanted = am.tune(rows["label"], rows["score"], "f1", groups=rows["user"])
    assert found["rules"][0]["threshold"] == wanted.threshold


def test_files_that_verbs_leave_out_are_listed(run, answer, rows, tmp_path):
    (tmp_path / "in" / "a-bad.parquet").write_bytes(b"hello")
    notes = []
    for verb in ("evaluate", "forecast", "tune"):
        refused = run(verb, "in")
        assert refused.code == 1
        assert "a-bad.parquet" in refused.err
        summary = answer(verb, "in", "--on-error", "skip")
        assert summary["rows"] == rows["score"].size
        notes += summary["notes"]
    assert sum("cannot read" in note and "a-bad.parquet" in note for note in notes) == 3


@pytest.mark.parametrize("files", ["in", "in/part-000.parquet"])
@pytest.mark.parametrize("verb", ["evaluate", "forecast", "tune"])
def test_less_memory_than_a_run_takes(run, rows, verb, files, monkeypatch):
    monkeypatch.setattr("argmetric.scale._memory.LEAST_MEMORY", 500_000_000)
    refused = run(verb, files, "--memory", "499MB")
    assert refused.code != 0
    assert "memory must be at least 500 MB, not '499MB'" in refused.err
    ended = run(verb, files, "--memory", "500MB")
    assert ended.code == 0, ended.err
