"""``argmetric export``: a rule for programs without the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import argmetric as am
from cli_scores import P, Y
from command import Run


@pytest.fixture
def rule(run: Run) -> am.Rule:
    """A rule in the folder of the run."""
    found: Any = am.tune(Y, P, "f1", calibrator=am.calibrate(Y, P))
    found.save("rule.json")
    return am.Rule.load("rule.json")


def test_every_target_is_that_of_the_rule(run: Run, rule: am.Rule) -> None:
    ended = run("export", "rule.json", "--to", "sql", "--column", "score")
    assert (ended.code, ended.out) == (0, rule.to_sql(column="score") + "\n")
    ended = run("export", "rule.json", "--to", "sql", "--dialect", "sqlite")
    assert ended.out == rule.to_sql("sqlite") + "\n"
    found = json.loads(run("export", "rule.json", "--to", "json").out)
    assert found == json.loads(rule.to_json())
    ended = run("export", "rule.json", "--to", "python", "--name", "buys", "-o", "b.py")
    assert (ended.out, ended.err) == ("", "argmetric: written: b.py\n")
    names: dict[str, Any] = {}
    exec(Path("b.py").read_text(), names)
    assert [names["buys"](p) for p in P.tolist()] == rule.apply(P).tolist()


def test_a_model_of_onnx(run: Run, rule: am.Rule) -> None:
    onnx = pytest.importorskip("onnx")
    assert run("export", "rule.json", "--to", "onnx", "-o", "rule.onnx").code == 0
    assert onnx.load("rule.onnx") == rule.to_onnx()


def test_rules_of_several_labels_and_classes(run: Run) -> None:
    both: Any = am.tune(np.c_[Y, 1 - Y], np.c_[P, P**2], average="macro")
    both.save("both.json")
    ended = run("export", "both.json", "--to", "sql", "--column", "a", "--column", "b")
    assert ended.out == both.to_sql(column=["a", "b"]) + "\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["rule.json"], 2, "requires an argument"),
        (["rule.json", "--to", "cobol"], 2, "Choose from"),
        (["rule.json", "--to", "onnx"], 2, "a model of ONNX is a file: pass -o FILE"),
        (["none.json", "--to", "sql"], 1, "cannot read none.json: No such file"),
        (["rule.json", "--to", "sql", "-o", "no/x"], 1, "there is no folder no"),
        (["rule.json", "--to", "python", "--name", "1"], 1, "must be a name of Python"),
    ],
)
def test_mistakes(
    run: Run, rule: am.Rule, arguments: list[str], code: int, message: str
) -> None:
    ended = run("export", *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
