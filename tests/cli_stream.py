"""Rows of a stream in files."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

N, NAMES = 400, "abcde"
RNG = np.random.default_rng(5)
X = np.where(RNG.random((N, 5)) < 0.4, RNG.normal(size=(N, 5)).round(4), 0.0)
Y = (RNG.random(N) < 1 / (1 + np.exp(1.5 - 2 * X[:, 0] + X[:, 1]))).astype(int)


def csv_lines(X=X, y=Y, names=NAMES):
    """Rows under a header, with labels at their end if there are some."""
    cells = [list(map(repr, row)) for row in X.tolist()]
    labels = [[]] * len(cells) if y is None else [[str(one)] for one in y]
    lines = [",".join(row + label) for row, label in zip(cells, labels, strict=True)]
    return [",".join([*names, *([] if y is None else "y")]), *lines]


def json_lines(X=X, y=Y, names=NAMES):
    rows = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    labels = [{}] * len(rows) if y is None else [{"y": int(one)} for one in y]
    return [json.dumps(a | b) for a, b in zip(labels, rows, strict=True)]


def write(name, lines, end="\n"):
    Path(name).write_text(end.join(lines) + end)
    return name


def write_all():
    """The same rows in every format."""
    columns = dict(zip(NAMES, X.T, strict=True))
    pq.write_table(pa.table({**columns, "y": Y}), "rows.parquet", row_group_size=150)
    return {
        "csv": write("rows.csv", csv_lines(), "\r\n"),
        "tsv": write("rows.tsv", [line.replace(",", "\t") for line in csv_lines()]),
        "jsonl": write("rows.jsonl", json_lines()),
        "parquet": "rows.parquet",
    }


def read(name="out.jsonl"):
    return [json.loads(line) for line in Path(name).read_text().splitlines()]


def learned(path="kept.npz"):
    """What a checkpoint says of a run, and the arrays of its model."""
    with np.load(path, allow_pickle=False) as members:
        manifest = json.loads(members["manifest"].tobytes())
        arrays = {name: members[f"state_{name}"] for name in manifest["arrays"]}
    return SimpleNamespace(manifest=manifest, arrays=arrays)


def same_state(one, other):
    assert one.arrays.keys() == other.arrays.keys()
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, other.arrays[name], strict=True)
    assert one.manifest == other.manifest
