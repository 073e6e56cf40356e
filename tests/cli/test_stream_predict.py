"""``argmetric stream predict``: the model of a checkpoint on rows without labels."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from argmetric.stream import OnlineClassifier
from cli_stream import NAMES, N, X, Y, csv_lines, json_lines, read, write

SEEN = 300
ORDER = [3, 5, 1, 0, 2, 4]  # of the columns of new rows, with one that was not there
NEW = np.column_stack([X[SEEN:], np.arange(N - SEEN)])[:, ORDER]
NEW_NAMES = [f"{NAMES}x"[i] for i in ORDER]
MODEL = OnlineClassifier("f1")
MODEL.progressive(X[:SEEN], Y[:SEEN], classes=[0, 1])
SCORES = MODEL.predict_proba(X[SEEN:])[:, 1]
DECISIONS = MODEL.predict(X[SEEN:])


def write_rows(name, X, y, names=NAMES):
    """Rows in the format of the name."""
    kind = name.rpartition(".")[2]
    if kind == "parquet":
        labels = {} if y is None else {"y": y}
        columns = dict(zip(names, X.T, strict=True))
        pq.write_table(pa.table(columns | labels), name)
    else:
        lines = csv_lines if kind == "csv" else json_lines
        write(name, lines(X, y, names))
    return name


def write_old(kind):
    return write_rows(f"old.{kind}", X[:SEEN], Y[:SEEN])


def write_new(kind):
    return write_rows(f"new.{kind}", NEW, None, NEW_NAMES)


def train(run, kind, *options):
    ended = run("stream", write_old(kind), "--checkpoint", "kept.npz", *options)
    assert ended.code == 0, ended.err


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("csv", "csv"),
        ("csv", "jsonl"),
        ("jsonl", "parquet"),
        ("parquet", "jsonl"),
    ],
)
def test_rows_without_labels_are_predicted(run, old, new):
    train(run, old)
    before = Path("kept.npz").read_bytes()
    ended = run("stream", "predict", "kept.npz", write_new(new), "-o", "out.jsonl")
    assert ended.code == 0, ended.err
    rows = read("out.jsonl")
    assert [row["row"] for row in rows] == list(range(1, N - SEEN + 1))
    assert [row["decision"] for row in rows] == DECISIONS.tolist()
    assert [row["score"] for row in rows] == pytest.approx(SCORES.tolist(), rel=1e-9)
    assert set(rows[0]) == {"row", "score", "decision"}
    assert "which has learned from 300 rows" in " ".join(ended.err.split())
    # Nothing was learned
    assert Path("kept.npz").read_bytes() == before


def test_classes_have_their_names(run):
    text = Path(write_old("csv")).read_text().splitlines()
    named = [f"{line[:-1]}{'yes' if line[-1] == '1' else 'no'}" for line in text[1:]]
    Path("named.csv").write_text("\n".join([text[0], *named, ""]))
    classes = "--pos-label", "yes", "--neg-label", "no"
    run("stream", "named.csv", *classes, "--checkpoint", "kept.npz")
    ended = run("stream", "predict", "kept.npz", write_new("csv"), "--json", "-o", "o")
    found = json.loads(ended.out)
    assert found["positives"] == DECISIONS.sum()
    assert found["checkpoint"] == "kept.npz"
    expected = ["yes" if one else "no" for one in DECISIONS]
    assert [row["decision"] for row in read("o")] == expected


def test_what_cannot_be_predicted(run):
    train(run, "csv")
    new = write_new("csv")
    lines = Path(new).read_text().splitlines()
    Path("less.csv").write_text("\n".join(line.partition(",")[2] for line in lines))
    lines[3] = lines[3].replace(",", ",x", 4)
    Path("spoilt.csv").write_text("\n".join([*lines, ""]))
    Path("not.npz").write_text("hello")
    Path("empty").mkdir()
    for arguments, message in (
        (["kept.npz", "less.csv"], "no column 'd' in less.csv"),
        (["not.npz", new], "not.npz is not a checkpoint of argmetric stream"),
        (["empty", new], "empty is not a checkpoint of argmetric stream"),
        (["none", new], "there is no checkpoint none"),
        (["kept.npz", "spoilt.csv"], "spoilt.csv: column 'a', row 3"),
    ):
        ended = run("stream", "predict", *arguments, "-o", "out.jsonl")
        assert ended.code == 1
        assert ended.err.startswith(f"argmetric: {message}"), ended.err
        assert not Path("out.jsonl").exists()
    skip = "--on-error", "skip", "-o", "out.jsonl"
    ended = run("stream", "predict", "kept.npz", "spoilt.csv", *skip)
    assert ended.code == 0
    numbers = [row["row"] for row in read("out.jsonl")]
    assert numbers == [1, 2, *range(4, N - SEEN + 1)]
    assert "skipped    1 bad row" in ended.err


def test_a_checkpoint_keeps_a_metric_with_a_0_over_0_of_its_own(run):
    train(run, "csv", "--label", "y", "--metric", "balanced_accuracy")
    ended = run("stream", "predict", "kept.npz", write_new("csv"))
    assert ended.code == 0, ended.err
