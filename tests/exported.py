"""Rules of all kinds, scores about their cuts, and the labels that `apply` gives."""

import json
import math
import os
import shutil
import sqlite3
import sys
from dataclasses import replace
from importlib.util import find_spec
from operator import mul

import numpy as np

import argmetric as am
import postgres
from argmetric._calibrate.calibrators import (
    BetaCalibrator,
    IsotonicCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
)
from argmetric.classes import (
    ClassMatrixCalibrator,
    ClassPriorShift,
    ClassTemperatureCalibrator,
)

INF, NAN = math.inf, math.nan
N_RANDOM = 10_000
FLAT = IsotonicCalibrator(np.array([0.1, 0.3, 0.6]), np.array([0.0, 0.4, 0.4]))


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
        "platt": am.Rule("f1", 0.31, calibrator=PlattCalibrator(0.7, -1.1)),
        "platt, none": am.Rule("f1", 0.9, calibrator=PlattCalibrator(0.0, -1.1)),
        "platt, all": am.Rule("f1", 0.1, calibrator=PlattCalibrator(0.0, -1.1)),
        "beta": am.Rule("f1", 0.4, "<", calibrator=BetaCalibrator(0.5, 1.5, 0.3)),
        "temperature": am.Rule("f1", 0.01, calibrator=TemperatureCalibrator(3.0)),
        "flat": am.Rule("f1", 0.4, calibrator=FLAT),
        "spline": am.tune(y, p, "f1", reference=spline, n_bootstrap=0, cv=None),
        "chain": am.Rule("f1", 0.2, calibrator=spline.then(shift), **odd),
    }


def review_rules():
    y, p = labelled()
    limits = {"min_precision": 0.6, "min_npv": 0.8, "confidence": 0.9}
    odd = {"pos_label": 'it\'s \\ "jä"', "neg_label": "-- no", "ask": "a `person`"}
    return {
        "review": am.tune(y, p, **limits, review=True),
        "review, mapped": am.tune(y, p, **limits, review=True, reference=(y, p)),
        "review, nobody": am.ReviewRule("f1", 1 / 3, 1 / 3, **odd),
        "review, never accepts": am.ReviewRule("f1", 0.1 + 0.2, INF, ask=7),
        "review, never rejects": am.ReviewRule("f1", -INF, 1.2345e-300),
        "review, always": am.ReviewRule("f1", -INF, INF, calibrator=FLAT),
        "review, all rejected": am.ReviewRule("f1", INF, INF),
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
        "classes": am.classes.MultiClassRule(
            ("x", "it's", "z"), weights, am.FBeta(1.0)
        ),
        "offsets": am.classes.MultiClassRule(
            (3, 1, 2), weights, am.FBeta(1.0), offsets=offsets
        ),
        "gains": am.classes.MultiClassRule(
            (3, 1, 2), np.ones(3), am.FBeta(1.0), offsets=offsets, gains=np.eye(3)[::-1]
        ),
        "means": am.classes.MultiClassRule(
            ("x", "it's", "z"), np.ones(3), am.FBeta(1.0), cuts=np.array([1 / 3, 0.7])
        ),
        "means, two of four": am.classes.MultiClassRule(
            (3, 1, 2, 7), np.ones(4), am.FBeta(1.0), cuts=np.array([-INF, 0.5, INF])
        ),
    }


def class_review_rules():
    thresholds = np.array([0.5, 0.1 + 0.2, INF])
    kinds = {"class review": (3, 1, 2), "class review, words": ("x", "it's", "z")}
    return {
        name: am.classes.ClassReviewRule(classes, thresholds)
        for name, classes in kinds.items()
    } | {"class review, always": am.classes.ClassReviewRule((0, 1), np.zeros(2))}


def labelled_classes(n=400, seed=1):
    """Votes of 12 trees: many zeros, and classes that tie."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet([1.0, 0.7, 0.4], n)
    y = np.array([rng.choice(3, p=row) for row in truth])
    return y, np.array([rng.multinomial(12, row) for row in truth]) / 12


def mapped_rules():
    names, even = ("x", "it's", "z"), np.ones(3)
    weights, offsets = np.array([1.0, 0.5, 2.5]), np.array([0.0, 0.1, -0.05])
    fitted = am.classes.calibrate(*labelled_classes())
    parts = {"matrix": fitted.matrix, "centre": fitted.centre}
    hot = ClassMatrixCalibrator(
        1.1, fitted.biases, **parts, floor=0.02, temperature=1.7
    )
    plain = ClassMatrixCalibrator(0.8, np.array([0.1, -0.2, 0.0]), lump=0.3, floor=0.01)
    parts |= {"temperature": 2.5}
    logits = ClassMatrixCalibrator(0.9, even, **parts)
    old, new = np.array([0.5, 0.25, 0.25]), np.array([0.25, 0.75, 0.0])
    warm, cool = ClassTemperatureCalibrator(1.5, 3), ClassTemperatureCalibrator(0.7, 3)
    shifted = fitted.then(ClassPriorShift(new, old)).then(cool)
    quadratic = np.outer(range(3), range(3))
    cost = -np.array([[0.0, 1.0, 4.0], [2.5, 0.0, 1 / 3], [7.0, 0.0, 0.0]])
    cases = {
        "ordinal": (fitted, even, np.array([0.0, -0.4, -1.5]), quadratic),
        "ordinal, offsets 0": (warm, even, None, quadratic),
        "costs": (replace(hot, lump=-0.4), even, None, cost),
        "class temperature": (warm, even, None),
        "class temperature, weights": (warm, weights, None),
        "class prior": (ClassPriorShift(even / 3, old), weights, None),
        "class matrix": (fitted, weights, None),
        "class matrix, offsets": (fitted, weights, offsets),
        "class biases": (plain, weights, None),
        "class matrix, hot": (replace(hot, lump=-0.4), weights, offsets),
        "class matrix of logits": (logits, weights, None),
        "class chain": (shifted, weights, offsets),
    }
    return {
        name: am.classes.MultiClassRule(
            names,
            w,
            am.FBeta(1.0),
            calibrator=calibrator,
            offsets=b,
            gains=next(g, None),
        )
        for name, (calibrator, w, b, *more) in cases.items()
        for g in [iter(more)]
    }


RULES = cut_rules() | review_rules() | matrix_rules() | mapped_rules()
RULES |= class_review_rules()


def near(value):
    """A float, its neighbours, and the 32-bit floats about it."""
    with np.errstate(over="ignore"):
        narrow = np.float32(value)
        around = [np.nextafter(narrow, np.float32(x)) for x in (-INF, INF)]
    beside = [np.nextafter(value, x) for x in (-INF, INF)]
    return [float(x) for x in (value, *beside, narrow, *around)]


EDGES = [None, NAN, INF, -INF, -0.5, 1.5, -1e-7, 1 + 1e-7, -0.0, 0.0, 1.0, 5e-324]


def shares_for(seed=0):
    """Rows of three classes: random ones, votes, ties, 32 bits, and wrong sums."""
    rng = np.random.default_rng(seed)
    even = rng.dirichlet([0.8] * 3, N_RANDOM)
    votes = rng.multinomial(12, [0.5, 0.3, 0.2], N_RANDOM // 8) / 12
    sure = even[:500] ** 8
    sure /= sure.sum(axis=1, keepdims=True)
    tied = even[:1000].copy()
    tied[:, 0] = tied[:, 1] = (1 - tied[:, 2]) / 2
    weighted = rng.random((1000, 1)) * [[1.0, 2.0, 0.4]]  # ties of weights 1, 1/2, 5/2
    weighted[:, rng.integers(0, 3)] = 0.0
    weighted /= weighted.sum(axis=1, keepdims=True)
    narrow = even[:1000].astype(np.float32).astype(float)
    off = even[:600] * rng.choice([0.998, 0.9992, 1.0008, 1.002, 0.0], (600, 1))
    corners = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1 + 1e-7, -1e-7, 0]])
    odd = [[x, 0.5, 0.5 - x if x and abs(x) < 1 else 0.5] for x in EDGES]
    odd += [[0.5, 0.5, x] for x in EDGES] + [[x] * 3 for x in (1 / 3, 0.01, 0.02)]
    parts = (even, votes, sure, tied, weighted, narrow, off, corners)
    return [row for part in parts for row in part.tolist()] + odd


def scores_for(rule, seed=0):
    """Rows of random scores and of edge values, in as many columns as the rule has."""
    rng = np.random.default_rng(seed)
    portable = rule._portable()
    if portable.logits is not None:
        return shares_for(seed)
    cuts = [cut.cut for cut in portable.cuts] + list(portable.least)
    cuts = [x for cut in cuts for x in near(cut) if not math.isnan(x)]
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
    if portable.logits is not None:
        valid &= np.abs(np.clip(table, 0, 1).sum(axis=1) - 1) <= 1e-3
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

    def cut(x, *some):
        reached = 0
        for one in some:
            low, high, at = (float(one[name]) for name in ("low", "high", "cut"))
            if x is None or not low <= x <= high:
                return None
            reached += x >= at if one["operator"] == ">=" else x < at
        return form["labels"][reached]

    def best(row):
        if any(x is None or not -1e-6 <= x <= 1 + 1e-6 for x in row):
            return None
        row = [min(max(x, 0.0), 1.0) for x in row]
        if form["map"] is not None:
            if not 0.999 <= sum(row) <= 1.001:
                return None
            values = mapped(row, **form["map"])
        else:
            parts = zip(row, form["weights"], form["offsets"], strict=True)
            values = [x * w + b for x, w, b in parts]
        best = values.index(max(values))
        if form["least"] and values[best] < float(form["least"][best]):
            best = -1
        return form["labels"][best]

    def mapped(row, temperature, floor, lump, matrix, biases):
        gains = form["gains"]
        x = [math.log(max(one / sum(row), 2**-53)) / temperature for one in row]
        if temperature != 1:
            total = math.log(sum(map(math.exp, x)))
            x = [one - total for one in x]
        y = list(biases)
        for a, weights in zip(x, matrix, strict=True):
            kept = a if floor is None else max(a, floor)
            y = [b + kept * w for b, w in zip(y, weights, strict=True)]
        if floor is not None:
            y = [b + lump * (a <= floor) for a, b in zip(x, y, strict=True)]
        if gains or any(form["offsets"]):
            part = [math.exp(max(one - max(y), -60)) for one in y]
            total = sum(a / w for a, w in zip(part, form["weights"], strict=True))
            if gains:
                columns = zip(*gains, strict=True)
                part = [math.fsum(map(mul, part, column)) for column in columns]
            y = [a + b * total for a, b in zip(part, form["offsets"], strict=True)]
        return [math.floor(one * 2**24 + 0.5) for one in y]

    if form["weights"]:
        return [best(row) for row in rows]
    if rule._portable().single:
        return [cut(x, *form["cuts"]) for (x,) in rows]
    return [
        [cut(*pair) for pair in zip(row, form["cuts"], strict=True)] for row in rows
    ]


def column_names(rule):
    return [f'odd `"{name}' for name in rule._portable().columns]


def asked(rule, dialect):
    names = column_names(rule)
    single = rule._portable().single
    return rule.to_sql(dialect, names[0] if single else names)


def as_labels(rule, rows):
    portable = rule._portable()
    is_one = portable.single or not portable.cuts[1:]
    return [x for (x,) in rows] if is_one else list(map(list, rows))


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
    t = pa.table(values)  # noqa: F841 named in the query; DuckDB keeps its order
    found = duckdb.sql(f"SELECT {asked(rule, 'duckdb')} FROM t").fetchall()
    return as_labels(rule, found)


def by_postgres(rule, rows):
    names = ['"' + name.replace('"', '""') + '"' for name in column_names(rule)]
    columns = ", ".join(f"{name} double precision" for name in names)
    lines = [
        ",".join([str(i), *("" if x is None else repr(x) for x in row)])
        for i, row in enumerate(rows)
    ]
    found = postgres.answer(
        f"CREATE TEMP TABLE t (i int, {columns});\n"
        "COPY t FROM STDIN (FORMAT csv);\n" + "\n".join(lines) + "\n\\.\n"
        f"SELECT row_to_json(q) FROM (SELECT {asked(rule, 'postgres')} FROM t "
        "ORDER BY i) AS q;\n"
    )
    return as_labels(rule, [tuple(json.loads(line).values()) for line in found])


def spark_session():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    built = SparkSession.builder.master("local[2]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.driver.memory": "1g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }.items():
        built = built.config(name, value)
    return built.getOrCreate()


def by_spark(rule, rows):
    from pyspark.sql.types import DoubleType, StructField, StructType

    names = ["i", *column_names(rule)]
    schema = StructType([StructField(name, DoubleType()) for name in names])
    numbered = [(float(i), *row) for i, row in enumerate(rows)]
    session = spark_session()
    df = session.createDataFrame(numbered, schema).coalesce(1)
    df.createOrReplaceTempView("t")
    found = session.sql(f"SELECT {asked(rule, 'spark')} FROM t ORDER BY i")
    return as_labels(rule, found.collect())


def by_onnx(rule, rows):
    import onnxruntime

    table = np.array(rows, dtype=float)
    table = table[:, 0] if rule._portable().single else table
    session = onnxruntime.InferenceSession(rule.to_onnx().SerializeToString())
    label, valid = session.run(["argmetric_label", "argmetric_valid"], {"p": table})
    label = label.astype(object)
    label[~valid] = None
    return label.tolist()


TARGETS = {  # how each is run, and the packages that it needs
    "python": (by_python, ()),
    "json": (by_json, ()),
    "sqlite": (by_sqlite, ()),
    "duckdb": (by_duckdb, ("duckdb",)),
    "onnx": (by_onnx, ("onnx", "onnxruntime")),
    "postgres": (by_postgres, ()),
    "spark": (by_spark, ("pyspark",)),
}


def missing(target):
    """Why a target cannot be run here, or nothing."""
    if target == "postgres" and postgres.programs() is None:
        return "no Postgres server is installed"
    if target == "spark" and shutil.which("java") is None:
        return "Spark needs Java"
    absent = [name for name in TARGETS[target][1] if find_spec(name) is None]
    return f"{absent[0]} is not installed" if absent else ""
