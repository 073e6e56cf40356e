"""``argmetric stream predict``: the model of a checkpoint on rows without labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from argmetric.stream import OnlineClassifier
from command import Run

N, SEEN, NAMES = 400, 300, "abcd"
RNG = np.random.default_rng(8)
X = np.where(RNG.random((N, 4)) < 0.6, RNG.normal(size=(N, 4)).round(4), 0.0)
Y = (RNG.random(N) < 1 / (1 + np.exp(1.0 - 2 * X[:, 0] + X[:, 1]))).astype(int)
ORDER = "dxbac"  # of the columns of new rows, with one that was not there


def learned() -> OnlineClassifier:
    model = OnlineClassifier("f1")
    model.progressive(X[:SEEN], Y[:SEEN], classes=[0, 1])
    return model


MODEL = learned()
SCORES = MODEL.predict_proba(X[SEEN:])[:, 1]
DECISIONS = MODEL.predict(X[SEEN:])


def write_old(kind: str) -> str:
    columns = dict(zip(NAMES, X[:SEEN].T, strict=True)) | {"y": Y[:SEEN]}
    name = f"old.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table(columns), name)
    elif kind == "svm":
        Path(name).write_text(svm(X[:SEEN], Y[:SEEN].tolist()))
    else:
        write_text(name, columns)
    return name


def write_new(kind: str) -> str:
    """Rows without labels; libsvm text has any token in its place."""
    known = dict(zip(NAMES, X[SEEN:].T, strict=True)) | {"x": np.arange(N - SEEN)}
    columns = {name: known[name] for name in ORDER}
    name = f"new.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table(columns), name)
    elif kind == "svm":
        Path(name).write_text(svm(X[SEEN:], ["?"] * (N - SEEN)))
    else:
        write_text(name, columns)
    return name


def write_text(name: str, columns: dict[str, Any]) -> None:
    rows = list(zip(*(values.tolist() for values in columns.values()), strict=True))
    if name.endswith(".jsonl"):
        lines = [json.dumps(dict(zip(columns, row, strict=True))) for row in rows]
    else:
        lines = [",".join(columns), *(",".join(map(repr, row)) for row in rows)]
    Path(name).write_text("\n".join([*lines, ""]))


def svm(X: Any, labels: list[Any]) -> str:
    rows = zip(labels, X.tolist(), strict=True)
    cells = [
        (label, [f"{j}:{value!r}" for j, value in enumerate(row, 1) if value])
        for label, row in rows
    ]
    return "".join(f"{label} {' '.join(row)}\n" for label, row in cells)


def train(run: Run, kind: str, *options: str) -> None:
    ended = run("stream", write_old(kind), "--checkpoint", "kept", *options)
    assert ended.code == 0, ended.err


def read(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("csv", "csv"),
        ("csv", "jsonl"),
        ("jsonl", "parquet"),
        ("parquet", "jsonl"),
        ("svm", "svm"),
    ],
)
def test_rows_without_labels_are_predicted(run: Run, old: str, new: str) -> None:
    train(run, old)
    before = sorted(path.read_bytes() for path in Path("kept").iterdir())
    ended = run("stream", "predict", "kept", write_new(new), "-o", "out.jsonl")
    assert ended.code == 0, ended.err
    rows = read(Path("out.jsonl").read_text())
    assert [row["row"] for row in rows] == list(range(1, N - SEEN + 1))
    assert [row["decision"] for row in rows] == DECISIONS.tolist()
    assert [row["score"] for row in rows] == pytest.approx(SCORES.tolist(), rel=1e-9)
    assert set(rows[0]) == {"row", "score", "decision"}
    assert "which has learned from 300 rows" in " ".join(ended.err.split())
    # Nothing was learned
    assert sorted(path.read_bytes() for path in Path("kept").iterdir()) == before


def test_hashed_keys_leave_the_label_out(run: Run) -> None:
    train(run, "jsonl", "--hash-bits", "8", "--target", "y")
    known = dict(zip(NAMES, X[SEEN:].T, strict=True))
    write_text("plain.jsonl", known)
    write_text("labelled.jsonl", known | {"y": Y[SEEN:]})
    plain, labelled = (
        run("stream", "predict", "kept", f"{name}.jsonl").out
        for name in ("plain", "labelled")
    )
    assert plain == labelled
    assert len(read(plain)) == N - SEEN


def test_one_checkpoint_is_a_file_and_classes_have_their_names(run: Run) -> None:
    text = Path(write_old("csv")).read_text().splitlines()
    named = [f"{line[:-1]}{'yes' if line[-1] == '1' else 'no'}" for line in text[1:]]
    Path("named.csv").write_text("\n".join([text[0], *named, ""]))
    classes = "--pos-label", "yes", "--neg-label", "no"
    run("stream", "named.csv", *classes, "--checkpoint", "kept")
    (path,) = Path("kept").glob("*.npz")
    ended = run("stream", "predict", str(path), write_new("csv"), "--json", "-o", "o")
    found = json.loads(ended.out)
    assert found["positives"] == DECISIONS.sum()
    assert found["checkpoint"] == str(path)
    expected = ["yes" if one else "no" for one in DECISIONS]
    assert [row["decision"] for row in read(Path("o").read_text())] == expected


def test_what_cannot_be_predicted(run: Run) -> None:
    train(run, "csv")
    new = write_new("csv")
    lines = Path(new).read_text().splitlines()
    Path("less.csv").write_text("\n".join(line.partition(",")[2] for line in lines))
    lines[3] = lines[3].replace(",", ",x", 4)
    Path("spoilt.csv").write_text("\n".join([*lines, ""]))
    Path("not.npz").write_text("hello")
    Path("empty").mkdir()
    svm_rows = write_new("svm")
    for arguments, message in (
        (["kept", "less.csv"], "no column 'd' in less.csv"),
        (["kept", svm_rows], "new.svm is svmlight, but the model has learned from csv"),
        (["not.npz", new], "not.npz is not a checkpoint of argmetric stream"),
        (["empty", new], "there is no checkpoint in empty"),
        (["none", new], "there is no checkpoint none"),
        (["kept", "spoilt.csv"], "spoilt.csv, line 4: column 'b'"),
    ):
        ended = run("stream", "predict", *arguments, "-o", "out.jsonl")
        assert ended.code == 1
        assert ended.err.startswith(f"argmetric: {message}"), ended.err
        assert not Path("out.jsonl").exists()
    skip = "--on-error", "skip", "-o", "out.jsonl"
    ended = run("stream", "predict", "kept", "spoilt.csv", *skip)
    assert ended.code == 0
    numbers = [row["row"] for row in read(Path("out.jsonl").read_text())]
    assert numbers == [1, 2, *range(4, N - SEEN + 1)]
    assert "skipped    1 bad row" in ended.err
