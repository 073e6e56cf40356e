"""Exported rules give the labels of `apply`, at the threshold and beside it too."""

import importlib
import json
import math
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import argmetric as am
from argmetric.classes import ClassTemperatureCalibrator
from calibrated import platt_map
from exported import (
    N_RANDOM,
    RULES,
    TARGETS,
    cut_rules,
    expected_of,
    mapped_rules,
    missing,
    scores_for,
    shares_for,
)
from refusing import refuses

ROOT = Path(__file__).resolve().parents[3]
NAN = math.nan


def require(*packages):
    for name in packages:
        pytest.importorskip(name, reason=f"{name} is not installed")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", RULES)
@pytest.mark.filterwarnings("ignore:scores from", "ignore::ResourceWarning")
def test_labels_are_those_of_apply(name, target):
    if reason := missing(target):
        pytest.skip(reason)
    run, rule = TARGETS[target][0], RULES[name]
    if target == "onnx" and name == "nothing":
        refuses(TypeError, r"ONNX cannot hold the labels 1, 2\.5", rule.to_onnx)
        return
    rows = scores_for(rule)
    assert run(rule, rows) == expected_of(rule, rows)


@pytest.mark.parametrize("name", [name for name in RULES if name in cut_rules()])
def test_a_raw_cut_is_the_cut_on_calibrated_scores(name):
    rule = RULES[name]
    if rule.calibrator is None:
        assert rule.threshold_raw == rule.threshold
        return
    p = np.concatenate([np.random.default_rng(1).random(N_RANDOM), [0.0, 1.0]])
    reached = rule.calibrator.apply(p) >= rule.threshold
    assert np.array_equal(p >= rule.threshold_raw, reached)
    if math.isfinite(rule.threshold_raw):
        at = np.array([rule.threshold_raw, np.nextafter(rule.threshold_raw, 0.0)])
        assert (rule.calibrator.apply(at) >= rule.threshold).tolist() == [True, False]


@pytest.mark.parametrize("name", mapped_rules())
def test_classes_are_those_of_calibrated_probabilities(name):
    # But for classes whose values agree to 7 digits, of which the first is chosen.
    rule = RULES[name]
    table = np.array(shares_for(), dtype=float)
    sums = np.clip(table, 0, 1).sum(axis=1)
    valid = (table >= -1e-6).all(axis=1) & (np.abs(sums - 1) <= 1e-3)
    p = table[valid]
    q = rule.calibrator.apply(p)
    values = q * rule.weights if rule.gains is None else q @ rule.gains
    values = values + rule.offsets
    top = values.max(axis=1, keepdims=True)
    near = values >= top - 1e-6 * np.maximum(np.abs(top), rule.gains is not None)
    found = rule.predicts(p)
    clear = near.sum(axis=1) == 1
    assert clear.sum() > 10_000
    assert np.array_equal(found[clear], values.argmax(axis=1)[clear])
    assert near[np.arange(len(p)), found].all()


def test_equal_classes_go_to_the_first():
    rule = RULES["class temperature, weights"]  # 1, 1/2, 5/2 at a temperature of 1.5
    b = np.random.default_rng(0).random(1000)
    p = np.stack([b, b * 2**1.5, np.zeros(1000)], 1)
    p /= p.sum(axis=1, keepdims=True)
    assert set(rule.apply(p).tolist()) == {"x"}
    assert set(rule.apply(p.astype(np.float32)).tolist()) <= {"x", "it's"}


@pytest.mark.parametrize("line", [(0.0123, -0.706, 0.333), (0.2151, -1.253, 0.177)])
def test_rounding_in_the_calibrator_does_not_turn_neighbours(line):
    # The calibrator rises and falls by a rounding error at these thresholds.
    slope, intercept, threshold = line
    rule = am.Rule("f1", threshold, calibrator=platt_map(slope, intercept))
    bits = np.float64(rule.threshold_raw).view(np.int64) + np.arange(-3000, 3000)
    labels = rule.apply(bits.view(np.float64))
    assert np.flatnonzero(np.diff(labels)).tolist() == [2999]


def test_float32_columns_are_compared_as_doubles():
    rule = am.Rule("f1", 0.1)
    above, below = np.float32(0.1), np.nextafter(np.float32(0.1), np.float32(0))
    assert float(above) > 0.1 > float(below)
    space = {}
    exec(rule.to_python(), space)
    assert [space["label"](x) for x in (above, below)] == [1, 0]
    require("duckdb", "onnx", "onnxruntime")
    import duckdb
    import onnxruntime
    from onnx import TensorProto, helper
    from pyarrow import array, float32, table

    t = table({"p": array([above, below], float32())})  # noqa: F841
    assert duckdb.sql(f"SELECT {rule.to_sql()} FROM t").fetchall() == [(1,), (0,)]
    vector = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "xy"
    ]
    same = helper.make_node("Identity", ["x"], ["y"])
    graph = helper.make_graph([same], "model", vector[:1], vector[1:])
    opset = [helper.make_opsetid("", 17)]
    made = rule.to_onnx(helper.make_model(graph, opset_imports=opset, ir_version=9))
    session = onnxruntime.InferenceSession(made.SerializeToString())
    given = {"x": np.array([above, below, NAN], np.float32)}
    y, label, valid = session.run(None, given)
    assert np.array_equal(y, given["x"], equal_nan=True)
    assert label[:2].tolist() == [1, 0]
    assert valid.tolist() == [True, True, False]


def two_outputs(columns, opset=17):
    from onnx import TensorProto, helper

    names = [("label", TensorProto.INT64), ("p", TensorProto.FLOAT)]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", columns])
    outputs = [helper.make_tensor_value_info(*one, ["n", columns]) for one in names]
    nodes = [
        helper.make_node("Softmax", ["x"], ["p"], axis=1),
        helper.make_node("Cast", ["x"], ["label"], to=TensorProto.INT64),
    ]
    graph = helper.make_graph(nodes, "model", [given], outputs)
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def test_a_rule_is_appended_to_a_model():
    require("onnx", "onnxruntime")
    import onnxruntime

    x = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    cases = [(RULES["platt"], 2), (RULES["classes"], 3), (RULES["offsets"], 3)]
    for rule, columns in cases:
        model = two_outputs(columns)
        before = model.SerializeToString()
        session = onnxruntime.InferenceSession(rule.to_onnx(model).SerializeToString())
        p, label = session.run(["p", "argmetric_label"], {"x": x[:, :columns]})
        wanted = rule.apply(p[:, 1] if columns == 2 else p)
        assert label.tolist() == wanted.tolist()
        assert model.SerializeToString() == before
    with pytest.raises(ValueError, match="'p' must have 3 columns, and has \\[2\\]"):
        RULES["classes"].to_onnx(two_outputs(2))
    with pytest.raises(ValueError, match="one column of scores, or the columns of two"):
        RULES["plain"].to_onnx(two_outputs(3))
    with pytest.raises(ValueError, match="output='label' must name an output of float"):
        RULES["plain"].to_onnx(two_outputs(2), output="label")
    with pytest.raises(TypeError, match=r"a ModelProto, such as onnx\.load\(path\)"):
        RULES["plain"].to_onnx("model.onnx")
    with pytest.raises(ValueError, match="opset 12, and the rule needs 13 or later"):
        RULES["plain"].to_onnx(two_outputs(2, opset=12))


def test_what_cannot_be_exported_is_refused():
    rule = RULES["plain"]
    refuses(ValueError, r"dialect must be one of .*'mysql'", rule.to_sql, "mysql")
    refuses(TypeError, "column must be a name, not 3", rule.to_sql, column=[3])
    refuses(ValueError, "column must be 3 names", RULES["classes"].to_sql, column="p")
    for name in ("a b", "class", "sum", 3):
        with pytest.raises(ValueError, match="name must be a name of Python that is"):
            rule.to_python(name)
    own = am.Rule("f1", 0.3, calibrator=np.sqrt)
    for export in (own.to_sql, own.to_python, own.to_json):
        refuses(TypeError, "function, which cannot be exported", export)
    mixed = am.Rule("f1", 0.3, pos_label="yes", neg_label=0)
    refuses(TypeError, "cannot hold the labels 0, 'yes'", mixed.to_sql)
    matrix = RULES["class matrix"].calibrator
    for odd in (np.sqrt, ClassTemperatureCalibrator(1.5, 3).then(matrix)):
        mapped = replace(RULES["classes"], calibrator=odd)
        message = r"matrix calibrator is not the first\. Export "
        refuses(ValueError, message, mapped.to_sql)
    many = am.classes.MultiClassRule(tuple(range(101)), np.ones(101), am.FBeta(1.0))
    with pytest.raises(ValueError, match="sqlite has no function for the greatest of"):
        many.to_sql("sqlite")
    assert many.to_sql("postgres").startswith("CASE WHEN")


def test_onnx_names_its_extra(monkeypatch):
    monkeypatch.setitem(importlib.sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'argmetric\[onnx\]'"):
        RULES["plain"].to_onnx()


def test_sqlite_refuses_an_unknown_column_and_text():
    text = RULES["plain"].to_sql("sqlite", "score")
    with sqlite3.connect(":memory:") as base:
        with pytest.raises(sqlite3.OperationalError, match="no such column: score"):
            base.execute(f"SELECT {text} FROM (SELECT 1 AS p)")
        found = base.execute(f"SELECT {text} FROM (SELECT 'high' AS score)").fetchall()
    assert found == [(None,)]


@pytest.mark.parametrize("name", RULES)
def test_json_keeps_the_rule_and_its_schema(name):
    rule = RULES[name]
    form = json.loads(rule.to_json())
    assert type(rule).from_dict(form["rule"]) == rule
    schema = json.loads((ROOT / "docs/_static/rule.schema.json").read_text())
    assert form.keys() == schema["properties"].keys() == set(schema["required"])
    assert form["schema"] == schema["properties"]["schema"]["const"]
    cut = schema["properties"]["cuts"]["items"]["properties"]
    assert all(one.keys() == cut.keys() for one in form["cuts"])
    try:
        import jsonschema
    except ModuleNotFoundError:
        return
    jsonschema.validate(form, schema)
