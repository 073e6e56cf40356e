"""``argmetric train`` and ``argmetric predict``."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import argmetric as am
from argmetric.scale import files as aio
from cli_models import (
    AGE,
    CITY,
    GROUP,
    HOME,
    INCOME,
    WEIGHT,
    N,
    Y,
    column,
    model_of,
    write_csv,
)
from command import Ended, words

skops = pytest.importorskip("skops.io")


def test_the_route_is_measured_and_told(run):
    arguments = ["data.csv", "--target", "y", "--drop", "id", "--model", "logistic"]
    ended = run("train", *arguments, "--route", "auto", "-o", "m.skops", "--json")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    names = {"recalibrate": "decide"}
    assert found["route"] == names.get(*[found["check"]["route"]] * 2)
    ended = run("train", *arguments, "--route", "half", "-o", "m.skops")
    assert "rule model score >= 0.5" in words(ended.out)
    assert run("predict", "m.skops", "data.csv", "-o", "out.csv").code == 0
    ended = run("train", *arguments, "--route", "half", "--min-recall", "0.5")
    assert ended.code != 0
    assert "--min-recall goes with --route tune" in ended.err


@pytest.mark.parametrize("kind", ["boosting", "logistic", "soft", "expected"])
def test_train_and_predict(run, kind):
    arguments = ["--model", kind, "--drop", "id", "-o", "m.skops", "--json"]
    ended = run("train", "data.csv", "--target", "y", *arguments)
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    assert found["features"] == ["age", "city", "income"]
    assert (found["numbers"], found["categories"]) == (2, 1)
    assert found["classes"] == [0, 1]
    assert found["output"] == "m.skops"
    rule = found["rule"]
    low, high = rule["interval"]
    assert 0.6 < rule["score"] <= 1
    assert low <= rule["mean"] <= high
    assert run("predict", "m.skops", "data.csv", "-o", "out.csv").code == 0
    p = np.array(column("out.csv", "score"), dtype=float)
    decided = np.array(column("out.csv", "decision"), dtype=int)
    assert np.array_equal(decided, model_of("m.skops", "data.csv").predict())
    # The rule is on the model's own score, which the calibrator does not turn round.
    assert p[decided == 1].min() >= p[decided == 0].max()
    assert am.evaluate(Y, decided) > 0.6
    assert column("out.csv", "id") == [f"u{i}" for i in range(N)]


def test_train_summary(run):
    ended = run("train", "data.csv", "--model", "logistic")
    shown = words(ended.out)
    for line in (
        "rows 160 rows of data.csv (target 'y')",
        "metric f1; 0/0 counts as 0",
        "features 2 columns of numbers, 1 column of words",
        "model logistic",
        f"classes positive 1 ({100 * Y.mean():.1f} % of the rows), else 0",
        "rule model score >= ",
        "on held-out rows",
        "new rows) ",
        "note: left out 'id': every word in it is different",
        "note: the model is not kept: pass -o FILE",
    ):
        assert line in shown
    assert sorted(os.listdir()) == ["boosting.skops", "data.csv", "logistic.skops"]


def test_words_groups_and_weights(run):
    columns = {"age": AGE, "city": CITY, "kind": HOME, "g": GROUP, "w": WEIGHT}
    write_csv("d.csv", **columns)
    arguments = ["d.csv", "--target", "kind", "--pos-label", "spam", "--groups", "g"]
    arguments += ["--weight", "w", "--model", "logistic", "--zero-division", "1"]
    ended = run("train", *arguments, "-o", "m.skops")
    assert ended.code == 0
    assert "note" not in ended.out
    assert "groups 40, mean over groups" in words(ended.out)
    assert "positive 'spam'" in ended.out
    ended = run("predict", "m.skops", "d.csv", "--group", "g", "-o", "out.csv")
    decided = column("out.csv", "decision")
    assert set(decided) <= {"spam", "ham"}
    chosen = np.array(decided) == "spam"
    how = {"groups": GROUP, "average": "groups", "zero_division": 1.0}
    assert f"actual score {am.evaluate(Y, chosen, 'f1', **how):.4f}" in words(ended.err)
    f = model_of("m.skops", "d.csv").forecast(chosen, groups=GROUP, average="groups")
    assert f"forecast {f.mean:.4f}" in words(ended.err)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--target", "why"], 1, "no column 'why' in data.csv"),
        (["--target", "ag"], 1, "no column 'ag' in data.csv; did you mean 'age'?"),
        (["--target", "age"], 1, "data.csv: column 'age', row 1 is empty; every row"),
        (["--target", "city"], 1, "labels have two values"),
        (["--target", "city", "--pos-label", "Rome"], 1, "labels have two values"),
        (["--drop", "incom"], 1, "no column 'incom' in data.csv; did you mean"),
        (["--drop", "y", "--target", "y"], 2, "--drop and --label both name"),
        (["--weight", "y", "--target", "y"], 2, "--target and --weight both name"),
        (["--weight", "city"], 1, "column 'city', row 1: "),
        (["--model", "magic"], 2, 'Invalid value "magic" for --model'),
        (["--metric", "jacard"], 2, "unknown metric 'jacard'; did you mean"),
        (["-o", "none/m.skops"], 1, "cannot write none/m.skops: there is no folder"),
        (["--drop", "age", "--drop", "city", "--drop", "income"], 1,
         "data.csv has no column to learn from ('id': every word in it is different)"),
    ],
)  # fmt: skip
def test_train_mistakes(run, arguments, code, message):
    run("train", "data.csv", *arguments).failed(code, message)


def test_one_class_and_few_rows(run):
    for content, message in (
        ("x,y\n1,1\n2,1\n", "one class only"),
        ("x,y\n1,1\n2,0\n3,0\n", "class 1 has one row only"),
    ):
        Path("d.csv").write_text(content)
        run("train", "d.csv", "-o", "m.skops").failed(1, message)
        assert not Path("m.skops").exists()


@pytest.mark.parametrize("kind", ["boosting", "logistic"])
def test_predict_summary(run, answer, kind):
    ended = run("predict", f"{kind}.skops", "data.csv", "-o", "out.jsonl")
    table = aio.read_table("out.jsonl")
    p, decided = aio.numbers(table, "score"), aio.labels(table, "decision")
    model = model_of(f"{kind}.skops", "data.csv")
    np.testing.assert_array_equal(p, model.predict_proba()[:, 1])
    f = model.forecast(decided)
    low, high = f.interval
    assert f.interval_given_calibrator is not None
    for line in (
        "rows 160 rows of data.csv (target 'y')",
        f"model {kind}.skops",
        f"positives {int(decided.sum())} of 160 (",
        f"forecast {f.mean:.4f}, 90 % interval {low:.4f} to {high:.4f}",
        f"actual score {am.evaluate(Y, decided):.4f}",
        "assumes: probabilities recalibrated by spline on 160 labelled rows",
        "written: out.jsonl",
    ):
        assert line in words(ended.err)
    assert "note" not in ended.err
    found = answer("predict", f"{kind}.skops", "data.csv")
    assert found["forecast"]["mean"] == pytest.approx(f.mean, rel=1e-12)


def test_columns_of_new_rows(run):
    assert run("predict", "boosting.skops", "data.csv", "-o", "a.csv").code == 0
    reordered = {"colour": ["red"] * N, "income": INCOME, "city": CITY}
    reordered["age"] = ["" if i % 9 == 0 else a for i, a in enumerate(AGE)]
    write_csv("new.csv", **reordered)
    ended = run("predict", "boosting.skops", "new.csv", "-o", "b.csv")
    assert ended.code == 0
    assert column("a.csv", "score") == column("b.csv", "score")
    assert "note: the model does not know, and does not use, 'colour'" in ended.err
    write_csv("new.csv", Age=AGE, town=CITY, income=INCOME)
    ended = run("predict", "boosting.skops", "new.csv")
    assert ended == Ended(
        1,
        "",
        "argmetric: new.csv lacks 2 columns that the model was trained on: 'age' (did "
        "you mean 'Age'?), 'city'\n",
    )
    write_csv("new.csv", age=AGE, city=CITY, income=["much"] * N)
    run("predict", "boosting.skops", "new.csv").failed(
        1,
        "column 'income', row 1: 'much' is not a number; write one, or remove the row "
        "(160 such rows)",
    )


def test_joint_decisions(run):
    arguments = ["--joint", "--groups", "city", "--max-positives", "5", "-o", "out.csv"]
    ended = run("predict", "logistic.skops", "data.csv", *arguments)
    assert ended.code == 0
    model = model_of("logistic.skops", "data.csv")
    p = np.array(column("out.csv", "score"), dtype=float)
    d = am.decide(p, "f1", groups=CITY, average="groups", max_positives=5)
    assert column("out.csv", "decision") == [str(x) for x in d.labels]
    assert "decided each group jointly" in words(ended.err)
    f = model.forecast(d.labels, groups=CITY)
    assert f"forecast {f.mean:.4f}" in words(ended.err)
    arguments = ["--groups", "city", "--average", "pooled", "--joint", "-o", "out.csv"]
    run("predict", "logistic.skops", "data.csv", *arguments)
    assert column("out.csv", "decision") == [str(x) for x in am.decide(p).labels]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--max-positives", "3"], 2, "--max-positives is about the whole batch"),
        (["--average", "groups"], 2, "--average groups needs groups"),
        (["--group", "town"], 1, "no column 'town' in data.csv"),
        (["--json", "-o", "-"], 2, "cannot share standard output"),
        (["--score-column", "y"], 1, "already has a column 'y'; name the new one with "
         "--score-column"),
        (["--score-column", "z", "--decision-column", "z"], 2, "both name"),
        (["-o", "out.xls"], 1, "unknown extension '.xls'"),
    ],
)  # fmt: skip
def test_predict_mistakes(run, arguments, code, message):
    run("predict", "boosting.skops", "data.csv", *arguments).failed(code, message)


@pytest.mark.parametrize("extension", ["csv", "tsv", "parquet", "feather", "jsonl"])
def test_added_columns_survive_bit_for_bit(run, extension):
    scores = np.array([1 / 3, 5e-324, 1.0, 0.1 + 0.2])
    names = np.array(["spam", 'a "b", c', "é", "spam"])
    Path("t.csv").write_text("id\n1\n2\n3\n4\n")
    table = aio.read_table("t.csv").with_column("s", scores).with_column("d", names)
    aio.write_table(table, f"out.{extension}")
    again = aio.read_table(f"out.{extension}")
    assert aio.numbers(again, "s").tolist() == scores.tolist()
    assert again.columns.column("d").to_pylist() == names.tolist()
    once_more = again.with_column("t", scores)
    aio.write_table(once_more, f"more.{extension}")
    assert aio.numbers(aio.read_table(f"more.{extension}"), "t").tolist() == (
        scores.tolist()
    )
