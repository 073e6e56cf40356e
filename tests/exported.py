"""Rules of all kinds, scores about their cuts, and the labels that `apply` gives."""

import json
import math
import sqlite3
from dataclasses import replace

import numpy as np

import argmetric as am
from argmetric._calibrate.maps import (
    BetaMap,
    IsotonicMap,
    PlattMap,
    TemperatureMap,
)

INF, NAN = math.inf, math.nan
N_RANDOM = 10_000
FLAT = IsotonicMap(np.array([0.1, 0.3, 0.6]), np.array([0.0, 0.4, 0.4]))


def labelled(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    return y, 1 / (1 + np.exp(-(2 * y - 1 + rng.normal(0, 1, n))))


def cut_rules():
    y, p = labelled()
    spline = am.calibrate(y, p)
    shift = am.adjust_prior(p, prevalence=0.1, reference_prevalence=0.3)
    odd = {"pos_label": 'it\'s \\ "jä"', "neg_label": "-- no"}
    return {
        "plain": am.Rule("f1", 0.3),
        "sum": am.Rule("f1", 0.1 + 0.2),
        "third": am.Rule("f1", 1 / 3, pos_label=1, neg_label=-1),
        "tiny": am.Rule("f1", 1.2345e-300),
        "subnormal": am.Rule("f1", 5e-324),
        "zero": am.Rule("f1", 0.0),
        "below": am.Rule("f1", 0.7, "<", pos_label=True, neg_label=False),
        "nothing": am.Rule("f1", INF, pos_label=2.5, neg_label=1),
        "everything": am.Rule("f1", -INF),
        "scores": am.Rule("f1", -123456.78901, probabilities=False, **odd),
        "large": am.Rule("f1", 1.7e300, probabilities=False),
        "platt": am.Rule("f1", 0.31, calibrator=PlattMap(0.7, -1.1)),
        "platt, none": am.Rule("f1", 0.9, calibrator=PlattMap(0.0, -1.1)),
        "platt, all": am.Rule("f1", 0.1, calibrator=PlattMap(0.0, -1.1)),
        "beta": am.Rule("f1", 0.4, "<", calibrator=BetaMap(0.5, 1.5, 0.3)),
        "temperature": am.Rule("f1", 0.01, calibrator=TemperatureMap(3.0)),
        "flat": am.Rule("f1", 0.4, calibrator=FLAT),
        "spline": am.tune(y, p, "f1", calibrator=spline, n_bootstrap=0, cv=None),
        "chain": am.Rule("f1", 0.2, calibrator=spline.then(shift), **odd),
    }


def matrix_rules():
    y, p = labelled()
    labels, matrix = np.stack([y, 1 - y], 1), np.stack([p, 1 - p**2], 1)
    quick = {"n_bootstrap": 0, "cv": None}
    of_labels = [am.Rule("f1", 0.3, calibrator=FLAT), am.Rule("f1", 0.6, "<")]
    weights, offsets = np.array([1.0, 0.1 + 0.2, 7.7]), np.array([0.0, 0.3, -1 / 3])
    return {
        "labels": am.MultiLabelRule((*of_labels, am.Rule("f1", INF)), ("a", "b c", 7)),
        "micro": am.tune(labels, matrix, average="micro", **quick),
        "classes": am.MultiClassRule(("x", "it's", "z"), weights, am.FBeta(1.0)),
        "offsets": am.MultiClassRule(
            (3, 1, 2), weights, am.FBeta(1.0), offsets=offsets
        ),
    }


RULES = cut_rules() | matrix_rules()


def near(value):
    """A float, its neighbours, and the 32-bit floats about it."""
    with np.errstate(over="ignore"):
        narrow = np.float32(value)
        around = [np.nextafter(narrow, np.float32(x)) for x in (-INF, INF)]
    beside = [np.nextafter(value, x) for x in (-INF, INF)]
    return [float(x) for x in (value, *beside, narrow, *around)]


EDGES = [None, NAN, INF, -INF, -0.5, 1.5, -1e-7, 1 + 1e-7, -0.0, 0.0, 1.0, 5e-324]


def scores_for(rule, seed=0):
    """Rows of random scores and of edge values, in as many columns as the rule has."""
    rng = np.random.default_rng(seed)
    portable = rule._portable()
    cuts = [x for cut in portable.cuts for x in near(cut.cut) if not math.isnan(x)]
    edges = EDGES + cuts
    columns = len(portable.columns)
    random = rng.random((N_RANDOM, columns))
    if portable.weights:  # rows where two classes tie, or nearly
        random[: N_RANDOM // 2, 0] = random[: N_RANDOM // 2, 1] * portable.weights[1]
    wide = not portable.weights and abs(portable.cuts[0].cut) > 1
    if wide and math.isfinite(portable.cuts[0].cut):
        random = random * 2 * portable.cuts[0].cut
    picked = rng.integers(0, len(edges), (60 * columns, columns))
    odd = [[edges[i] for i in row] for row in picked.tolist()]
    whole = [[x] * columns for x in edges]
    return random.tolist() + odd + whole


def expected_of(rule, rows):
    """What `apply` gives, None where it refuses; label by label for a matrix."""
    portable = rule._portable()
    if portable.cuts and not portable.single:
        columns = zip(*rows, strict=True)
        found = [
            expected_of(replace(one, average=None), [[x] for x in column])
            for one, column in zip(rule.rules, columns, strict=True)
        ]
        return [list(row) for row in zip(*found, strict=True)]
    table = np.array(rows, dtype=float)  # None becomes nan
    low, high = (-1e-6, 1 + 1e-6)
    if portable.cuts:
        low, high = portable.cuts[0].low, portable.cuts[0].high
    valid = ((table >= low) & (table <= high)).all(axis=1)
    kept = table[valid, 0] if portable.single else table[valid]
    labels = np.full(len(rows), None, dtype=object)
    labels[valid] = rule.apply(kept).tolist()
    return labels.tolist()


def by_python(rule, rows):
    space = {}
    exec(rule.to_python("found"), space)
    one = rule._portable().single
    return [space["found"](row[0] if one else row) for row in rows]


def by_json(rule, rows):
    form = json.loads(rule.to_json())

    def cut(x, one):
        low, high, at = (float(one[name]) for name in ("low", "high", "cut"))
        if x is None or not low <= x <= high:
            return None
        return form["labels"][x >= at if one["operator"] == ">=" else x < at]

    def best(row):
        if any(x is None or not -1e-6 <= x <= 1 + 1e-6 for x in row):
            return None
        parts = zip(row, form["weights"], form["offsets"], strict=True)
        values = [min(max(x, 0.0), 1.0) * w + b for x, w, b in parts]
        return form["labels"][values.index(max(values))]

    if form["weights"]:
        return [best(row) for row in rows]
    found = [
        [cut(*pair) for pair in zip(row, form["cuts"], strict=True)] for row in rows
    ]
    return [row[0] for row in found] if rule._portable().single else found


def column_names(rule):
    return [f'odd `"{name}' for name in rule._portable().columns]


def asked(rule, dialect):
    names = column_names(rule)
    single = rule._portable().single
    return rule.to_sql(dialect, names[0] if single else names)


def as_labels(rule, rows):
    return list(map(list, rows)) if rule._portable().cuts[1:] else [x for (x,) in rows]


def by_sqlite(rule, rows):
    names = ["`" + name.replace("`", "``") + "`" for name in column_names(rule)]
    with sqlite3.connect(":memory:") as base:
        base.execute(f"CREATE TABLE t (i INTEGER, {', '.join(names)})")
        marks = ", ".join("?" * (len(names) + 1))
        numbered = [(i, *row) for i, row in enumerate(rows)]
        base.executemany(f"INSERT INTO t VALUES ({marks})", numbered)
        text = f"SELECT {asked(rule, 'sqlite')} FROM t ORDER BY i"
        return as_labels(rule, base.execute(text).fetchall())


def by_duckdb(rule, rows):
    import duckdb
    import pyarrow as pa

    columns = list(zip(*rows, strict=True))
    values = {
        name: pa.array(column, pa.float64())
        for name, column in zip(column_names(rule), columns, strict=True)
    }
    t = pa.table(values | {"i": range(len(rows))})  # noqa: F841 named in the query
    found = duckdb.sql(f"SELECT {asked(rule, 'duckdb')} FROM t ORDER BY i").fetchall()
    return as_labels(rule, found)


def by_onnx(rule, rows):
    import onnxruntime

    table = np.array(rows, dtype=float)
    table = table[:, 0] if rule._portable().single else table
    session = onnxruntime.InferenceSession(rule.to_onnx().SerializeToString())
    label, valid = session.run(["argmetric_label", "argmetric_valid"], {"p": table})
    label = label.astype(object)
    label[~valid] = None
    return label.tolist()


TARGETS = {
    "python": (by_python, ()),
    "json": (by_json, ()),
    "sqlite": (by_sqlite, ()),
    "duckdb": (by_duckdb, ("duckdb",)),
    "onnx": (by_onnx, ("onnx", "onnxruntime")),
}
