"""``argmetric expect`` and ``argmetric export``: files in, an answer out."""

import json
from pathlib import Path

import numpy as np
import pytest

import argmetric as am
from argmetric.sequence import Independent, Pk, expectation
from cli_scores import P, Y

PROBABILITIES = np.random.default_rng(1).random(30).round(3)
Z = (np.arange(30) % 7 == 0).astype(int)


@pytest.fixture
def run(run):
    """Run a command in a folder with probabilities, a reference and a rule."""
    for name, rows in (("p", ["p", *PROBABILITIES]), ("z", ["cut", *Z]), ("s", "y10")):
        Path(f"{name}.csv").write_text("".join(f"{one}\n" for one in rows))
    found = am.tune(Y, P, "f1", reference=am.calibrate(Y, P))
    found.save("rule.json")
    return run


def test_expected_utilities(run, answer):
    ended = run(*["expect", "--utility", "pk", "--window", "5", "p.csv", "z.csv"])
    value = expectation(Pk(5), Z, Independent(PROBABILITIES)).mean
    assert ended.code == 0
    assert f"mean       {value:.4f}" in ended.out
    found = answer("expect -u f1 --beam 40 --quantiles p.csv z.csv")
    value = expectation("f1", Z, Independent(PROBABILITIES)).mean
    low, high = found["bounds"]
    assert low - 1e-12 <= value <= high + 1e-12
    assert not found["exact"]
    assert found["quantiles"]["0.05"] <= found["quantiles"]["0.95"]
    for line, name in (
        ("windowdiff --window 3", "WindowDiff"),
        ("boundary-similarity", "BoundarySimilarity"),
        ("hamming", "Hamming"),
        ("zero_one", "ZeroOne"),
        ("jaccard", "jaccard"),
    ):
        assert name in run("expect", "p.csv", "z.csv", "-u", *line.split()).out


def test_every_target_is_that_of_the_rule(run):
    rule = am.Rule.load("rule.json")
    ended = run("export", "rule.json", "--to", "sql", "--column", "score")
    assert (ended.code, ended.out) == (0, rule.to_sql(column="score") + "\n")
    ended = run("export", "rule.json", "--to", "sql", "--dialect", "sqlite")
    assert ended.out == rule.to_sql("sqlite") + "\n"
    found = json.loads(run("export", "rule.json", "--to", "json").out)
    assert found == json.loads(rule.to_json())
    ended = run("export", "rule.json", "--to", "python", "--name", "buys", "-o", "b.py")
    assert (ended.out, ended.err) == ("", "argmetric: written: b.py\n")
    names = {}
    exec(Path("b.py").read_text(), names)
    assert [names["buys"](p) for p in P.tolist()] == rule.apply(P).tolist()
    both = am.tune(np.c_[Y, 1 - Y], np.c_[P, P**2], average="macro")
    both.save("both.json")
    ended = run("export", "both.json", "--to", "sql", "--column", "a", "--column", "b")
    assert ended.out == both.to_sql(column=["a", "b"]) + "\n"


def test_a_model_of_onnx(run):
    onnx = pytest.importorskip("onnx")
    assert run("export", "rule.json", "--to", "onnx", "-o", "rule.onnx").code == 0
    assert onnx.load("rule.onnx") == am.Rule.load("rule.json").to_onnx()
