"""``argmetric stream``: readers, checkpoints, kills, bad input."""

from __future__ import annotations

import errno
import functools
import json
import math
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from argmetric._files.blocks import Classes, Request, _base, _text, open_rows
from argmetric._files.blocks._jsonl import hashed_name
from argmetric.cli import main
from argmetric.cli.stream._checkpoint import CheckpointFolder, packed, read_checkpoint
from argmetric.cli.stream._out import Predictions
from argmetric.stream import OnlineClassifier
from command import Ended, Run

N, NAMES = 400, "abcde"
RNG = np.random.default_rng(5)
X = np.where(RNG.random((N, 5)) < 0.4, RNG.normal(size=(N, 5)).round(4), 0.0)
Y = (RNG.random(N) < 1 / (1 + np.exp(1.5 - 2 * X[:, 0] + X[:, 1]))).astype(int)


@pytest.fixture
def run(run: Run) -> Run:
    return functools.partial(run, "stream")


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


# -- one pass ---------------------------------------------------------------------


def test_predictions_are_those_of_the_classifier(run: Run) -> None:
    model = OnlineClassifier("f1")
    decisions, scores = model.progressive(X, Y, classes=[0, 1], return_proba=True)
    for format, name in write_all().items():
        ended = run(name, "-o", "out.jsonl", "--json", "--every", "7")
        assert ended.code == 0, ended.err
        summary = json.loads(ended.out)
        found = read()
        assert [row["row"] for row in found] == list(range(1, N + 1))
        assert [row["decision"] for row in found] == decisions.tolist()
        assert [row["label"] for row in found] == Y.tolist()
        got = [row["score"] for row in found]
        if format == "svmlight":  # without its zeros the sums have another order
            np.testing.assert_allclose(got, scores, rtol=1e-12)
        else:
            assert got == scores.tolist()
        assert summary["format"] == format
        assert summary["rows"] == N
        assert summary["features"] == 5
        assert summary["score"] == pytest.approx(model.score_, rel=1e-12)
        assert summary["threshold"] == pytest.approx(model.threshold_, rel=1e-12)
        counts = summary["counts"]
        assert sum(counts.values()) == N
        assert counts["tp"] + counts["fn"] == Y.sum()


def test_the_answer_and_a_score_that_evaluate_confirms(run: Run) -> None:
    write("rows.svm", svm_lines())
    ended = run("rows.svm", "-m", "f2", "-o", "out.jsonl", "--json")
    score = json.loads(ended.out)["score"]
    assert (
        main(["evaluate", "out.jsonl", "-m", "f2", "--fail-under", str(score - 1e-9)])
        == 0
    )
    assert (
        main(["evaluate", "out.jsonl", "-m", "f2", "--fail-under", str(score + 1e-9)])
        == 3
    )
    ended = run("rows.svm", "-m", "f2")
    assert "400 rows of rows.svm (svmlight, 5 features)" in ended.out
    assert "every row predicted before its label was seen" in ended.out
    ended = run("rows.svm", "-m", "f2", "-o", "-")
    assert len(ended.out.splitlines()) == N
    assert "argmetric stream" in ended.err


@pytest.mark.parametrize(
    ("name", "learner"),
    [
        *(("rows.svm", one) for one in ("mixture", "sgd", "adagrad", "stamp", "omcsl")),
        *((f"rows.{one}", "mixture") for one in ("csv", "jsonl", "parquet")),
    ],
)
def test_blocks_do_not_matter(
    run: Run, monkeypatch: pytest.MonkeyPatch, learner: str, name: str
) -> None:
    write_all()
    options = [name, "--learner", learner, "-o", "out.jsonl", "--checkpoint"]
    assert run(*options, "one").code == 0
    whole = Path("out.jsonl").read_bytes()
    monkeypatch.setattr(_base, "MOST_ROWS", 13)
    monkeypatch.setattr("argmetric._files.blocks._text.PIECE", 257)
    monkeypatch.setattr("argmetric._files.blocks._parquet.MOST_ROWS", 13)
    assert run(*options, "two", "--every", "31").code == 0
    assert Path("out.jsonl").read_bytes() == whole
    same_state(newest("one"), newest("two"))


def test_standard_input_and_formats_by_content(run: Run) -> None:
    files = write_all()
    for format, name in files.items():
        data = Path(name).read_bytes()
        extra = ["--features", "5"] if format == "svmlight" else []
        ended = run("-", *extra, "--json", stdin=data)
        if format == "parquet":
            assert ended.code == 1
            assert "pass the file" in ended.err
            continue
        assert json.loads(ended.out)["format"] == format
        os.replace(name, "rows")
        assert json.loads(run("rows", "--json").out)["format"] == format
        os.replace("rows", name)
    ended = run("-", stdin=Path("rows.svm").read_bytes())
    assert (ended.code, "--features N" in ended.err) == (1, True)
    ended = run("-", "--hash-bits", "8", "--json", stdin=Path("rows.svm").read_bytes())
    assert json.loads(ended.out)["rows"] == N


def test_a_byte_order_mark_blank_lines_comments_and_no_last_newline(run: Run) -> None:
    lines = svm_lines()
    lines[3:3] = ["", "# a comment", "  "]
    lines[10] = lines[10].replace(" ", " qid:7 ", 1) + " # more"
    Path("rows.svm").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    ended = run("rows.svm", "-o", "odd.jsonl", "--json")
    assert json.loads(ended.out)["rows"] == N
    write("plain.svm", svm_lines())
    run("plain.svm", "-o", "plain.jsonl")
    assert Path("odd.jsonl").read_bytes() == Path("plain.jsonl").read_bytes()


def test_quoted_cells_across_pieces(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    header, *rows = csv_lines()
    quoted = [
        f'"{i}, and ""so""\non",' + ",".join(f'"{c}"' for c in row.split(","))
        for i, row in enumerate(rows)
    ]
    write("rows.csv", ['"id, or\nso",' + header, *quoted])
    monkeypatch.setattr("argmetric._files.blocks._text.PIECE", 64)
    ended = run("rows.csv", "--drop", "id, or\nso", "-o", "out.jsonl")
    assert ended.code == 0, ended.err
    write("plain.csv", [header, *rows])
    run("plain.csv", "-o", "plain.jsonl")
    assert Path("out.jsonl").read_bytes() == Path("plain.jsonl").read_bytes()


def test_hashed_keys_are_those_of_learn_one(run: Run) -> None:
    rows = [
        {"y": int(Y[i]), "a": float(X[i, 0]), "b": float(X[i, 1])}
        | ({"city": ["Rome", "Oslo"][i % 2]} if i % 3 else {"new": 2.5})
        | ({"odd": None} if i % 5 == 0 else {})
        for i in range(100)
    ]
    write("rows.jsonl", [json.dumps(row) for row in rows])
    assert run("rows.jsonl", "--hash-bits", "10", "-o", "out.jsonl").code == 0
    model = OnlineClassifier("f1", hash_bits=10)
    scores = []
    for row in rows:
        y = row.pop("y")
        x = {name: value for name, value in row.items() if value is not None}
        scores.append(model.predict_proba_one(x).get(1, 0.5))
        model.learn_one(x, y)
    assert [row["score"] for row in read()] == pytest.approx(scores, rel=1e-12)
    assert hashed_name("a", 10) < 1024


# -- numbers ------------------------------------------------------------------------

DECIMALS = st.one_of(
    st.floats(min_value=-1e307, max_value=1e307).map(repr),
    st.from_regex(
        r"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,2})?", fullmatch=True
    ),
    st.from_regex(r"[+-]?\.[0-9]{1,22}(e-?[0-9]{1,3})?", fullmatch=True),
    st.sampled_from(
        ["0", "-0", "0.0000000000000000000001", "9007199254740993", "1e22", "1e23",
         "5e-324", "2e-324", "3e-324", "1e-400", "123456789012345678", "0e999",
         "1234567890123456789", "2.2250738585072011e-308", "00000000000000000000001"]
    ),
)  # fmt: skip


def read_rows(path: str, **options: Any) -> tuple[list[Any], list[int]]:
    rows = open_rows(path, Request(**options), classes=Classes("1", "-1", True))
    with closing(rows.source):
        blocks = list(rows.reader.blocks())
    parts = [b.X if isinstance(b.X, np.ndarray) else b.X.toarray() for b in blocks]
    return np.vstack(parts).tolist(), np.concatenate([b.y for b in blocks]).tolist()


@settings(max_examples=100, deadline=None)
@given(st.lists(DECIMALS, min_size=1, max_size=20))
def test_numbers_are_read_exactly(tmp_path_factory: Any, texts: list[str]) -> None:
    expected = [float(text) for text in texts]
    if any(abs(value) >= 1e308 for value in expected):
        return
    folder = tmp_path_factory.getbasetemp()
    lines = [f"1 1:{text} 2:1" for text in texts]
    svm, csv = folder / "numbers.svm", folder / "numbers.csv"
    svm.write_text("\n".join(lines))
    csv.write_text("y,a\n" + "\n".join(f"1,{text}" for text in texts))
    assert [row[0] for row in read_rows(str(svm))[0]] == expected
    assert [row[0] for row in read_rows(str(csv))[0]] == expected


def test_svmlight_as_scikit_learn_reads_it(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.svm")
    values = RNG.normal(size=(50, 7)) * 10.0 ** RNG.integers(-8, 9, (50, 7))
    values[RNG.random((50, 7)) < 0.5] = 0.0
    dump_svmlight_file(values, np.where(Y[:50], 1, -1), path, zero_based=False)
    expected, labels = load_svmlight_file(path, n_features=7, zero_based=False)
    rows = read_rows(path, features=7)
    assert rows == (expected.toarray().tolist(), (labels == 1).tolist())


# -- labels -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "options", "truth", "classes"),
    [
        ("1 0 1", [], [1, 0, 1], ["0", "1"]),
        ("+1 -1 1.0", [], [1, 0, 1], ["-1", "+1"]),
        ("true false true", [], [1, 0, 1], ["false", "true"]),
        ("False True False", [], [0, 1, 0], ["False", "True"]),
        ("2 1 2.0", ["--pos-label", "2"], [1, 0, 1], ["1", "2"]),
        ("4 1 7 4", ["--pos-label", "4", "--one-vs-rest"], [1, 0, 0, 1], [None, "4"]),
        ("no yes no", ["--pos-label", "yes"], [0, 1, 0], ["no", "yes"]),
        (
            "no yes no",
            ["--pos-label", "yes", "--neg-label", "no"],
            ["no", "yes", "no"],
            ["no", "yes"],
        ),
        ("5 2", ["--pos-label", "5", "--neg-label", "2"], [5, 2], ["2", "5"]),
    ],
)
def test_what_labels_mean(
    run: Run, labels: str, options: list[str], truth: list[Any], classes: list[Any]
) -> None:
    words = labels.split()
    write("rows.svm", [f"{word} 1:1" for word in words])
    write("rows.csv", ["y,a", *(f"{word},1" for word in words)])
    write("rows.jsonl", [json.dumps({"y": word, "a": 1}) for word in words])
    pq.write_table(pa.table({"y": words, "a": [1] * len(words)}), "rows.parquet")
    for name in ("rows.svm", "rows.csv", "rows.jsonl", "rows.parquet"):
        ended = run(name, *options, "-o", "out.jsonl", "--json")
        assert ended.code == 0, ended.err
        assert [row["label"] for row in read()] == truth
        assert json.loads(ended.out)["classes"] == classes


@pytest.mark.parametrize(
    ("labels", "options", "seen"),
    [
        ("no no", ["--pos-label", "yes"], "'no'"),
        ("0 0", ["--pos-label", "2"], "'0'"),
        ("1 1", ["--pos-label", "0"], "'1'"),
        ("a b c", ["--pos-label", "A", "--one-vs-rest"], "other labels"),
    ],
)
def test_a_positive_label_that_never_comes(
    run: Run, labels: str, options: list[str], seen: str
) -> None:
    write("rows.csv", ["y,a", *(f"{word},1" for word in labels.split())])
    ended = run("rows.csv", *options)
    assert ended.code == 1
    assert (
        f"none of {len(labels.split())} rows has the label {options[1]!r}, which "
        f"--pos-label names; they hold {seen}"
    ) in " ".join(ended.err.split())


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        ("0 0", ["--pos-label", "1"]),
        ("-1 -1", ["--pos-label", "1"]),
        ("false", ["--pos-label", "true"]),
        ("no no", ["--pos-label", "yes", "--neg-label", "no"]),
        ("0 0", []),
    ],
)
def test_rows_of_one_class_may_be_all_there_are(
    run: Run, labels: str, options: list[str]
) -> None:
    write("rows.csv", ["y,a", *(f"{word},1" for word in labels.split())])
    ended = run("rows.csv", *options)
    assert (ended.code, ended.err) == (0, "")


def test_a_late_positive_label_is_no_error(run: Run) -> None:
    write("rows.csv", ["y,a", *["no,1"] * _base.MOST_ROWS, "yes,1"])
    ended = run("rows.csv", "--pos-label", "yes")
    assert ended.code == 0
    assert ended.err.startswith("argmetric: so far, rows.csv: none of 8,192 rows has")
    write("rows.csv", ["y,a", *["no,1"] * (_base.MOST_ROWS - 1), "yes,1"])
    assert run("rows.csv", "--pos-label", "yes").err == ""


def test_a_class_that_is_learned_stays(run: Run) -> None:
    for name, lines in {
        "rows.svm": ["1 1:1", "-1 1:1", "0 1:1"],
        "rows.csv": ["y,a", "1,1", "-1,1", "0,1"],
        "rows.jsonl": ['{"y":1,"a":1}', '{"y":-1,"a":1}', '{"y":0,"a":1}'],
    }.items():
        write(name, lines)
        ended = run(name)
        assert ended.code == 1
        assert "label '0' is neither '1' (positive) nor '-1' (negative)" in ended.err
        assert f"line {len(lines)}" in ended.err
    assert Classes().learned("maybe") is None
    assert "`pos_label`" in Classes().complaint("maybe")


# -- files that cannot be written --------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_blamed_on_the_file(run: Run) -> None:
    ended = run(write("rows.svm", svm_lines()), "-o", "/dev/full")
    assert ended.code == 1
    assert ended.err == "argmetric: cannot write /dev/full: No space left on device\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_reader_that_leaves_is_blamed_on_the_pipe(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo("pipe")
    reading = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    written = Predictions.write

    def leave(self: Predictions, *arrays: Any) -> None:
        os.close(reading)
        written(self, *arrays)

    monkeypatch.setattr(Predictions, "write", leave)
    ended = run(write("rows.svm", svm_lines()), "-o", "pipe")
    assert (ended.code, ended.err) == (1, "argmetric: cannot write pipe: Broken pipe\n")


def test_a_checkpoint_that_cannot_be_written_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    ended = run(write("rows.svm", svm_lines()), "--checkpoint", "kept")
    assert ended.code == 1
    assert f"cannot write kept/checkpoint-{N:015d}.npz: No space left" in ended.err
    assert names() == []


# -- bad rows -----------------------------------------------------------------------

GOOD = {
    "svm": ["0 1:1 3:0.5", "1 2:1"],
    "csv": ["0,1,2", "1,3,4"],
    "jsonl": ['{"y":0,"a":1,"b":2}', '{"y":1,"a":3,"b":4}'],
}
BAD = [
    ("svm", "1 2:x", "'2:x': the value is not a number"),
    ("svm", "1 2:1.5.2", "the value is not a number"),
    ("svm", "1 2:", "the value is not a number"),
    ("svm", "1 2", "'2' is not index:value"),
    ("svm", "1 x:1", "'x:1' is not index:value"),
    ("svm", "1 2:nan", "not finite"),
    ("svm", "1 2:-Inf", "not finite"),
    ("svm", "1 2:1e309", "beyond 1e308"),
    ("svm", "1 0:1", "indices begin with 1; pass --zero-based"),
    ("svm", "1 4:1", "'4:1': the largest index is 3"),
    ("svm", "1 99999999999999999999:1", "the largest index is 3"),
    ("svm", "1 2:1 2:3", "indices must rise"),
    ("svm", "1 3:1 2:3", "indices must rise"),
    ("svm", "2 1:1", "label '2' is neither '1' (positive) nor '0' (negative)"),
    ("svm", "1:1 2:1", "it begins with '1:1', not with a label"),
    ("svm", "\x00\xff", "is neither"),
    ("csv", "1,x,2", "column 'a': 'x' is not a number"),
    ("csv", "1,1 2,2", "column 'a': '1 2' is not a number"),
    ("csv", "1,,2", "column 'a' is empty"),
    ("csv", "1,nan,2", "column 'a': 'nan' is not finite"),
    ("csv", "1,1e999,2", "beyond 1e308"),
    ("csv", "1,2", "it has 2 cells, the header has 3"),
    ("csv", "1,2,3,4", "it has more cells than the 3 of the header"),
    ("csv", ",2,3", "it has no label"),
    ("csv", "no,2,3", "label 'no' is neither"),
    ("csv", '1,"2"x,3', "is not a number"),
    ("jsonl", '{"y":1,"a":1', "it is not JSON"),
    ("jsonl", "[1,2]", "not a JSON object"),
    ("jsonl", '{"y":1,"a":1}', "it lacks the key 'b'"),
    ("jsonl", '{"y":1,"a":1,"b":2,"c":3}', "key 'c' is not in the first line"),
    ("jsonl", '{"y":1,"a":"x","b":2}', "key 'a': 'x' is not a number"),
    ("jsonl", '{"y":1,"a":null,"b":2}', "key 'a' is null"),
    ("jsonl", '{"y":1,"a":NaN,"b":2}', "key 'a' is nan"),
    ("jsonl", '{"y":1,"a":1e400,"b":2}', "key 'a' is inf"),
    ("jsonl", '{"y":1,"a":[1],"b":2}', "key 'a': '[1]' is not a number"),
    ("jsonl", '{"a":1,"b":2}', "it has no label"),
    ("jsonl", '{"y":7,"a":1,"b":2}', "label '7' is neither"),
    ("jsonl", '{"y":1,"a":1,"b":2} {"y":1,"a":1,"b":2}', "it is not JSON"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "line", "message"), BAD)
def test_bad_rows(run: Run, kind: str, line: str, message: str) -> None:
    good = GOOD[kind]
    lines = [*good, "", line, *good, line, *good]
    header = ["y,a,b"] if kind == "csv" else []
    number = len(header) + 4
    Path("rows." + kind).write_bytes("\n".join(header + lines).encode("latin-1"))
    options = ["--features", "3"] if kind == "svm" else []
    ended = run(f"rows.{kind}", *options, "-o", "out.jsonl", "--checkpoint", "kept")
    assert ended.code == 1
    assert message in ended.err
    assert f"rows.{kind}, line {number}: " in ended.err
    assert "--on-error skip" in ended.err
    assert [row["row"] for row in read()] == [1, 2]  # those before it are not lost
    # Going on without them is the same as never having stopped
    ended = run(
        f"rows.{kind}", *options, "-o", "out.jsonl", "--checkpoint", "kept",
        "--resume", "--on-error", "skip", "--json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    summary = json.loads(ended.out)
    assert (summary["rows"], summary["skipped"]) == (6, 2)
    assert message in summary["errors"][0]
    assert [row["row"] for row in read()] == [1, 2, 4, 5, 7, 8]
    resumed = Path("out.jsonl").read_bytes()
    ended = run(f"rows.{kind}", *options, "-o", "out.jsonl", "--on-error", "skip")
    assert "2 bad rows" in ended.out
    assert message in ended.out
    assert Path("out.jsonl").read_bytes() == resumed


@pytest.mark.parametrize("bad", ["null", '{"a":' * 100_000, "9" * 5000])
def test_json_that_no_parser_likes(run: Run, bad: str) -> None:
    write("rows.jsonl", ['{"y":1,"a":1}', bad, '{"y":0,"a":1}'])
    ended = run("rows.jsonl")
    assert ended.code == 1
    assert "rows.jsonl, line 2: it is not" in ended.err
    ended = run("rows.jsonl", "--on-error", "skip", "--json")
    assert json.loads(ended.out)["rows"] == 2
    write("rows.jsonl", [bad])
    ended = run("rows.jsonl")
    assert ended.code == 1
    assert "does not begin with a JSON object" in ended.err


@pytest.mark.parametrize("kind", ["svmlight", "csv", "jsonl"])
def test_other_encodings_are_told(run: Run, kind: str) -> None:
    name = write_all()[kind]
    text = Path(name).read_text()
    Path(name).write_bytes(text.encode("utf-16"))
    ended = run(name)
    assert (ended.code, "is UTF-16 text; iconv" in ended.err) == (1, True)


def test_bad_rows_of_parquet(run: Run) -> None:
    table = pa.table(
        {"y": [0, 1, 3, 1, None, 0], "a": [1.0, None, 2.0, math.nan, 1.0, 2.0]}
    )
    pq.write_table(table, "rows.parquet")
    ended = run("rows.parquet")
    assert ended.code == 1
    assert "rows.parquet, row 2: column 'a' is empty" in ended.err
    ended = run("rows.parquet", "--on-error", "skip", "-o", "out.jsonl", "--json")
    assert [row["row"] for row in read()] == [1, 6]
    assert json.loads(ended.out)["skipped"] == 4
    pq.write_table(pa.table({"y": [0, 1], "a": ["x", "z"]}), "rows.parquet")
    assert "column 'a' holds string, not numbers" in run("rows.parquet").err


def test_more_bad_rows_than_are_shown(run: Run) -> None:
    write("rows.svm", [*GOOD["svm"], *["oh no"] * 20, *GOOD["svm"]])
    ended = run("rows.svm", "--features", "3", "--on-error", "skip")
    assert ended.code == 0
    assert "20 bad rows" in ended.out
    assert ended.out.count("rows.svm, line") == 5
    assert "15 more" in ended.out


@pytest.mark.parametrize(
    ("arguments", "text", "code", "message"),
    [
        (["rows.svm"], "", 1, "rows.svm is empty"),
        (["rows.svm"], "bad\n", 1, "it holds 'bad', not 0 and 1; name the"),
        (["rows.svm", "--on-error", "skip"], "bad\n", 1, "no row of rows.svm"),
        (["row.svm"], "1 1:1\n", 1, "did you mean 'rows.svm'?"),
        (["rows.svm", "--target", "y"], "1 1:1\n", 1, "svmlight has no columns"),
        (["rows.svm"], "1 1999999999:1\n", 1, "--hash-bits"),
        (["rows.csv"], "y,a\n1,2\n", 0, ""),
        (["rows.csv"], "a,b\n1,2\n", 1, "no label column"),
        (["rows.csv"], "y,a,a\n1,2,3\n", 1, "2 columns named 'a'"),
        (["rows.csv", "--drop", "a"], "y,a\n1,2\n", 1, "no column to learn from"),
        (["rows.csv", "--features", "3"], "y,a\n1,2\n", 1, "--features is for"),
        (["rows.csv", "--hash-bits", "3"], "y,a\n1,2\n", 1, "--hash-bits is for"),
        (["rows.csv"], 'y,a\n1,"2\n', 1, "line 2: it opens a quote that never"),
        (["rows.jsonl"], "[{}]\n", 1, "JSON array"),
        (["rows.parquet"], "PAR1 no\n", 1, "not a whole parquet file"),
        (["rows.gz"], "\x1f\x8b", 1, "gzip -dc"),
        (["rows.svm", "--metric", "f1x"], "", 2, "unknown metric"),
        (
            ["rows.svm", "--metric", "recall"],
            "",
            2,
            "recall does not punish false positives",
        ),
        (
            ["rows.svm", "--rule", "ofo", "--learner", "stamp"],
            "",
            2,
            "its own decision",
        ),
        (["rows.svm", "--resume"], "", 2, "--checkpoint"),
        (["rows.svm", "--neg-label", "a"], "", 2, "--pos-label"),
        (["rows.svm", "--features", "3", "--hash-bits", "3"], "", 2, "exclude"),
        (["rows.svm", "-o", "-", "--json"], "", 2, "standard output"),
        (["rows.svm", "-o", "-", "--checkpoint", "k"], "", 2, "cut back"),
        (["rows.svm", "-o", "no/out.jsonl"], "", 1, "there is no folder"),
    ],
)
def test_refusals(
    run: Run, arguments: list[str], text: str, code: int, message: str
) -> None:
    name = arguments[0].replace("row.", "rows.")
    Path(name).write_bytes((text or "1 1:1\n").encode("latin-1"))
    if message.endswith("is empty"):
        Path(name).write_bytes(b"")
    ended = run(*arguments)
    assert ended.code == code
    assert message in ended.err


# -- checkpoints ----------------------------------------------------------------------


def stopped_halfway(run: Run, *options: str) -> bytes:
    """A run over all rows, and one that a bad row stops at 250."""
    lines = svm_lines()
    write("rows.svm", lines)
    base = [
        "rows.svm",
        "--features",
        "5",
        "-o",
        "out.jsonl",
        "--every",
        "100",
        *options,
    ]
    assert run(*base, "--checkpoint", "whole").code == 0
    whole = Path("out.jsonl").read_bytes()
    write("rows.svm", [*lines[:250], "oh no", *lines[250:]])
    assert run(*base, "--checkpoint", "kept").code == 1
    write("rows.svm", lines)
    return whole


def resume(run: Run, *options: str) -> Ended:
    return run(
        "rows.svm", "--features", "5", "-o", "out.jsonl", "--every", "100",
        "--checkpoint", "kept", "--resume", *options,
    )  # fmt: skip


def names(folder: str = "kept") -> list[str]:
    return sorted(p.name for p in Path(folder).iterdir() if p.name != "lock")


def test_resume_is_the_same_as_one_run(run: Run) -> None:
    whole = stopped_halfway(run)
    assert names() == [f"checkpoint-{k:015d}.npz" for k in (200, 250)]
    with open("out.jsonl", "a") as file:
        file.write("what a killed run had written beyond\n" * 9)
    ended = resume(run)
    assert ended.code == 0, ended.err
    assert "going on after 250 rows" in ended.err
    assert Path("out.jsonl").read_bytes() == whole
    same_state(newest("kept"), newest("whole"))
    assert newest().manifest["finished"]
    # Once more: nothing is left to do, and the answer is the same
    again = resume(run, "--json")
    assert json.loads(again.out)["rows"] == N
    assert Path("out.jsonl").read_bytes() == whole
    # A file that has grown is gone on with
    write("rows.svm", [*svm_lines(), *svm_lines()])
    assert json.loads(resume(run, "--json").out)["rows"] == 2 * N


def test_the_input_is_not_overwritten(run: Run) -> None:
    write("rows.svm", svm_lines())
    before = Path("rows.svm").read_bytes()
    done = run("rows.svm", "-o", "./rows.svm")
    assert done.code == 2
    assert "--output ./rows.svm is a file that is read: pass another" in done.err
    assert Path("rows.svm").read_bytes() == before
    done = run("rows.svm", "-o", "./rows.svm", "--force")  # it is read as it is written
    assert done.code == 2
    assert "-o ./rows.svm is the input: it would be overwritten" in done.err
    assert Path("rows.svm").read_bytes() == before


def test_without_resume_a_used_folder_is_refused(run: Run) -> None:
    stopped_halfway(run)
    ended = run("rows.svm", "--checkpoint", "kept")
    assert ended.code == 1
    assert "pass --resume to go on" in ended.err


def test_resume_without_a_checkpoint_begins(run: Run) -> None:
    write("rows.svm", svm_lines())
    ended = resume(run)
    assert ended.code == 0
    assert "no checkpoint in kept yet" in ended.err
    assert len(read()) == N


@pytest.mark.parametrize("damage", ["cut", "empty", "flip", "text", "version"])
def test_a_damaged_checkpoint_is_passed_over(run: Run, damage: str) -> None:
    whole = stopped_halfway(run)
    path = Path("kept") / names()[-1]
    data = path.read_bytes()
    spoilt = {
        "cut": data[: len(data) // 2],
        "empty": b"",
        "flip": data.replace(b"configuration", b"conFiguration"),
        "text": b"not a checkpoint",
        "version": bytes(packed({"version": 99}, {})),
    }[damage]
    assert spoilt != data
    path.write_bytes(spoilt)
    ended = resume(run)
    assert ended.code == 0, ended.err
    assert f"{path} is damaged" in ended.err or "has version 99" in ended.err
    assert "going on after 200 rows" in ended.err
    assert Path("out.jsonl").read_bytes() == whole
    same_state(newest("kept"), newest("whole"))
    assert path.with_suffix(".damaged").read_bytes() == spoilt


def test_no_damage_goes_unnoticed(run: Run) -> None:
    stopped_halfway(run)
    path = Path("kept") / names()[-1]
    data, good = path.read_bytes(), newest()
    rng = random.Random(1)
    refused = 0
    for _ in range(150):
        place = rng.randrange(len(data))
        spoilt = bytearray(data)
        spoilt[place] ^= 1 << rng.randrange(8)
        path.write_bytes(spoilt)
        try:
            with closing(CheckpointFolder("kept")) as folder:
                found = folder.newest()
        finally:
            path.write_bytes(data)
        assert found is not None
        if found.path != str(path):
            refused += 1
            continue
        same_state(found, good)  # a byte that says nothing, such as a date
    assert refused > 100


def test_a_header_that_numpy_cannot_parse_is_damage(run: Run) -> None:
    stopped_halfway(run)
    path = Path("kept") / names()[-1]
    data = path.read_bytes()
    place = data.index(b"'shape': (")
    path.write_bytes(data[:place] + b"'shape': {" + data[place + 10 :])
    with closing(CheckpointFolder("kept")) as folder:
        found = folder.newest()
    assert found is not None
    assert found.path != str(path)


def test_when_no_checkpoint_is_whole(run: Run) -> None:
    stopped_halfway(run)
    for name in names():
        (Path("kept") / name).write_bytes(b"")
    ended = resume(run)
    assert ended.code == 1
    assert "no checkpoint in kept is whole" in ended.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--metric", "f2"], "is of a run with --metric f1, not f2"),
        (["--rule", "newton"], "--rule histogram, not newton"),
        (["--step", "0.5"], "--step left out, not 0.5"),
        (["--zero-based"], "--zero-based left out, not given"),
    ],
)
def test_other_options_are_refused(run: Run, options: list[str], message: str) -> None:
    stopped_halfway(run)
    ended = resume(run, *options)
    assert ended.code == 1
    assert message in ended.err


def test_other_inputs_and_outputs_are_refused(run: Run) -> None:
    stopped_halfway(run)
    lines = svm_lines()
    write("rows.svm", lines[::-1])
    assert "is another file than the one of the checkpoint" in resume(run).err
    write("rows.svm", [*lines[:249], lines[249] + " ", *lines[250:]])
    assert "is another file than the one of the checkpoint" in resume(run).err
    write("rows.svm", lines[:100])
    assert "fewer than the" in resume(run).err
    write("rows.svm", lines)
    Path("out.jsonl").write_bytes(b"")
    assert "out.jsonl has 0 bytes" in resume(run).err
    Path("out.jsonl").unlink()
    assert "out.jsonl is gone" in resume(run).err
    ended = run("rows.svm", "--features", "5", "--checkpoint", "kept", "--resume")
    assert "--output given, not left out" in ended.err


def test_standard_input_is_read_past(run: Run) -> None:
    lines = svm_lines()
    data = ("\n".join(lines) + "\n").encode()
    options = ["-", "--features", "5", "-o", "out.jsonl", "--checkpoint"]
    assert run(*options, "whole", stdin=data).code == 0
    whole = Path("out.jsonl").read_bytes()
    bad = "\n".join([*lines[:250], "oh no", *lines[250:]]).encode()
    assert run(*options, "kept", stdin=bad).code == 1
    other = data[:5] + b"2" + data[6:]
    assert "another file" in run(*options, "kept", "--resume", stdin=other).err
    assert "shorter than" in run(*options, "kept", "--resume", stdin=data[:99]).err
    assert run(*options, "kept", "--resume", stdin=data).code == 0
    assert Path("out.jsonl").read_bytes() == whole
    same_state(newest("kept"), newest("whole"))


def test_parquet_and_csv_resume(run: Run) -> None:
    files = write_all()
    for format in ("parquet", "csv", "jsonl"):
        name = files[format]
        options = [name, "-o", "out.jsonl", "--every", "70", "--checkpoint"]
        assert run(*options, f"one-{format}").code == 0
        whole, state = Path("out.jsonl").read_bytes(), newest(f"one-{format}")
        folder = Path(f"one-{format}")
        (folder / sorted(p.name for p in folder.glob("*.npz"))[-1]).unlink()
        ended = run(*options, f"one-{format}", "--resume")
        assert "going on after 350 rows" in ended.err
        assert Path("out.jsonl").read_bytes() == whole
        same_state(newest(f"one-{format}"), state)
    pq.write_table(pa.table({"a": X[:, 0], "y": Y}), "rows.parquet")
    ended = run("rows.parquet", "--checkpoint", "one-parquet", "--resume", "-o", "o")
    assert "another file" in ended.err


def test_one_run_to_a_folder(run: Run) -> None:
    pytest.importorskip("fcntl")
    write("rows.svm", svm_lines())
    held = CheckpointFolder("kept")
    assert "another run writes to kept" in run("rows.svm", "--checkpoint", "kept").err
    held.close()
    assert run("rows.svm", "--checkpoint", "kept").code == 0


# -- signals --------------------------------------------------------------------------

KILLS = 12
KILLER = """
import os, random, signal, sys, time
from pathlib import Path
from argmetric.cli import main

command = ["stream", "rows.svm", "--features", "5", "--every", "25"]

def attempt(folder, delay):
    # a process of its own, killed after a delay; its exit code, None if it was killed
    child = os.fork()
    if child == 0:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        code = 1
        try:
            code = main([*command, "-o", folder + ".jsonl", "--checkpoint", folder,
                         "--resume"])
        finally:
            os._exit(code)
    if delay is not None:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    return None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)

assert main([*command, "-o", "warm.jsonl"]) == 0
begin = time.perf_counter()
assert attempt("whole", None) == 0
seconds = time.perf_counter() - begin
rng, kills, series = random.Random(int(sys.argv[2])), 0, 0
while kills < int(sys.argv[1]):
    folder, left = f"kept{series}", 8
    series += 1
    while True:
        # at most so many kills of one run: no run is to be killed for ever
        delay = rng.uniform(0.0, 0.6 * seconds) if left else None
        code = attempt(folder, delay)
        if code is not None:
            assert code == 0, code
            break
        kills, left = kills + 1, left - 1
print(kills, series, file=sys.stderr)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kills_at_random_moments_change_nothing(tmp_path: Path) -> None:
    os.chdir(tmp_path)
    write("rows.svm", svm_lines(np.tile(X, (2, 1)), np.tile(Y, 2)))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLER), str(KILLS), "11"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    kills, series = map(int, done.stderr.split()[-2:])
    assert kills >= KILLS
    whole = Path("whole.jsonl").read_bytes()
    assert len(whole.splitlines()) == 2 * N
    for i in range(series):
        assert Path(f"kept{i}.jsonl").read_bytes() == whole
        same_state(newest(f"kept{i}"), newest("whole"))
        assert len(names(f"kept{i}")) == 2  # nothing half-written is left


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_signals_end_a_run_in_order(run: Run, number: int, code: int) -> None:
    """While it waits for more rows, with half a line read."""
    lines = svm_lines()
    options = ["-", "--features", "5", "--checkpoint", "kept", "-o", "out.jsonl"]
    process = subprocess.Popen(
        [sys.executable, "-m", "argmetric.cli", "stream", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    data = "\n".join(lines)
    cut = data.index("\n", len(data) // 2) + 3  # within a line
    process.stdin.write(data[:cut].encode())
    process.stdin.flush()
    limit = time.monotonic() + 60
    while not (Path("out.jsonl").exists() and Path("kept").exists()):
        assert time.monotonic() < limit
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert b"stopped by SIG" in out
    rows = data[:cut].count("\n")
    assert newest().manifest["position"]["rows"] == rows
    assert not newest().manifest["finished"]
    assert run(*options, "--resume", stdin=data.encode()).code == 0
    assert len(read()) == N


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_signal_before_the_first_byte(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing_comes(source: Any, seconds: float) -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        return False

    monkeypatch.setattr(_text.ByteSource, "_ready", nothing_comes)
    before = signal.getsignal(signal.SIGINT)  # ignored, where tests run in background
    reading, writing = os.pipe()
    with open(reading) as file, open(writing, "w"):
        monkeypatch.setattr(sys, "stdin", file)
        assert run("-", "--features", "3").code == 130
    assert signal.getsignal(signal.SIGINT) is before
