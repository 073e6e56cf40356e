"""Rows of a stream in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from argmetric.cli.stream._checkpoint import read_checkpoint

N, NAMES = 400, "abcde"
RNG = np.random.default_rng(5)
X = np.where(RNG.random((N, 5)) < 0.4, RNG.normal(size=(N, 5)).round(4), 0.0)
Y = (RNG.random(N) < 1 / (1 + np.exp(1.5 - 2 * X[:, 0] + X[:, 1]))).astype(int)


def svm_lines(X: Any = X, y: Any = Y) -> list[str]:
    return [
        f"{label} "
        + " ".join(f"{j + 1}:{value!r}" for j, value in enumerate(row) if value)
        for label, row in zip(np.asarray(y).tolist(), X.tolist(), strict=True)
    ]


def csv_lines(X: Any = X, y: Any = Y) -> list[str]:
    rows = zip(X.tolist(), np.asarray(y).tolist(), strict=True)
    return [
        "a,b,c,d,e,y",
        *(",".join(map(repr, row)) + f",{label}" for row, label in rows),
    ]


def json_lines(X: Any = X, y: Any = Y) -> list[str]:
    rows = zip(X.tolist(), np.asarray(y).tolist(), strict=True)
    return [
        json.dumps({"y": label, **dict(zip(NAMES, row, strict=True))})
        for row, label in rows
    ]


def write(name: str, lines: list[str], end: str = "\n") -> str:
    Path(name).write_text(end.join(lines) + end)
    return name


def write_all() -> dict[str, str]:
    """The same rows in every format."""
    columns = dict(zip(NAMES, X.T, strict=True))
    pq.write_table(pa.table({**columns, "y": Y}), "rows.parquet", row_group_size=150)
    return {
        "svmlight": write("rows.svm", svm_lines()),
        "csv": write("rows.csv", csv_lines(), "\r\n"),
        "tsv": write("rows.tsv", [line.replace(",", "\t") for line in csv_lines()]),
        "jsonl": write("rows.jsonl", json_lines()),
        "parquet": "rows.parquet",
    }


def read(name: str = "out.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(name).read_text().splitlines()]


def newest(folder: str = "kept") -> Any:
    return read_checkpoint(sorted(Path(folder).glob("*.npz"))[-1])


def same_state(one: Any, other: Any) -> None:
    assert one.arrays.keys() == other.arrays.keys()
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, other.arrays[name], strict=True)
    for checkpoint in (one, other):  # how much of it is kept depends on the blocks
        checkpoint.manifest["position"].pop("tail", None)
    for name in ("configuration", "layout", "position", "output", "counts"):
        assert one.manifest[name] == other.manifest[name], name


def names(folder: str = "kept") -> list[str]:
    return sorted(p.name for p in Path(folder).iterdir() if p.name != "lock")
