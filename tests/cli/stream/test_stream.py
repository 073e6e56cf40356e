"""``argmetric stream``: readers, numbers, labels."""

import errno
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from argmetric.cli import main
from argmetric.stream import OnlineClassifier
from cli_stream import (
    N,
    X,
    Y,
    csv_lines,
    learned,
    read,
    same_state,
    write,
    write_all,
)


def test_predictions_are_those_of_the_classifier(answer):
    model = OnlineClassifier("f1")
    decisions, scores = model.progressive(X, Y, classes=[0, 1], return_proba=True)
    for format, name in write_all().items():
        summary, found = answer(name, "-o", "out.jsonl"), read()
        assert [row["row"] for row in found] == list(range(1, N + 1))
        assert [row["decision"] for row in found] == decisions.tolist()
        assert [row["label"] for row in found] == Y.tolist()
        assert [row["score"] for row in found] == scores.tolist()
        assert summary["format"] == format
        assert summary["rows"] == N
        assert summary["features"] == 5
        assert summary["score"] == pytest.approx(model.score_, rel=1e-12)
        assert summary["threshold"] == pytest.approx(model.threshold_, rel=1e-12)
        counts = summary["counts"]
        assert sum(counts.values()) == N
        assert counts["tp"] + counts["fn"] == Y.sum()


def test_the_answer_and_a_score_that_evaluate_confirms(run, answer):
    write("rows.csv", csv_lines())
    score = answer("rows.csv -m f2 -o out.jsonl")["score"]
    judged = "evaluate", "out.jsonl", "-m", "f2", "--fail-under"
    assert main([*judged, str(score - 1e-9)]) == 0
    assert main([*judged, str(score + 1e-9)]) == 3
    ended = run("rows.csv", "-m", "f2")
    assert "400 rows of rows.csv (csv, 5 features)" in ended.out
    assert "every row predicted before its label was seen" in ended.out
    ended = run("rows.csv", "-m", "f2", "-o", "-")
    assert len(ended.out.splitlines()) == N
    assert "argmetric stream" in ended.err


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_decimal_commas_are_those_of_points(run, separator):
    """Cells of every kind: short, rounded later, huge, quoted where commas separate."""
    rows = [[0.5, -1.25], [1e-30, 123456789.12345678], [3.0, 0.1 + 0.2], [-2.0, 7.5]]
    cells = [[repr(value) for value in row] for row in rows]
    quote = '"' if separator == "," else ""
    commas = [[quote + one.replace(".", ",") + quote for one in row] for row in cells]
    labels = [1, 0, 1, 0]
    for name, table, sign in (("point", cells, ","), ("comma", commas, separator)):
        lines = [
            sign.join([*row, str(label)])
            for row, label in zip(table, labels, strict=True)
        ]
        write(f"{name}.csv", [sign.join("aby"), *lines])
    form = ["--format", "tsv" if separator == "\t" else "csv"]
    assert run("point.csv", "-o", "point.jsonl", "--checkpoint", "kept.npz").code == 0
    run("comma.csv", *form).failed(
        1, "column 'a', row 1: '0,5' has a decimal comma; pass --decimal ,"
    )
    ended = run("comma.csv", *form, "--decimal", ",", "-o", "comma.jsonl")
    assert ended.code == 0, ended.err
    assert read("comma.jsonl") == read("point.jsonl")
    call = ["predict", "kept.npz", "comma.csv", *form, "--decimal", ","]
    assert run(*call).out == run("predict", "kept.npz", "point.csv").out != ""


@pytest.mark.parametrize(
    ("name", "learner"),
    [
        *(("rows.csv", one) for one in ("mixture", "sgd", "adagrad", "stamp", "omcsl")),
        *((f"rows.{one}", "mixture") for one in ("tsv", "jsonl", "parquet")),
    ],
)
def test_blocks_do_not_matter(run, monkeypatch, learner, name):
    write_all()
    options = [name, "--learner", learner, "-o", "out.jsonl", "--checkpoint"]
    assert run(*options, "one.npz").code == 0
    whole = Path("out.jsonl").read_bytes()
    monkeypatch.setattr("argmetric.scale.files._read.BLOCK_BYTES", 257)
    monkeypatch.setattr("argmetric.scale.files._write.BATCH_ROWS", 13)
    assert run(*options, "two.npz", "--every", "31").code == 0
    assert Path("out.jsonl").read_bytes() == whole
    same_state(learned("one.npz"), learned("two.npz"))


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_a_byte_order_mark_blank_lines_and_no_last_newline(run, answer, name):
    write_all()
    lines = Path(name).read_text().splitlines()
    run(name, "-o", "plain.jsonl")
    lines[3:3] = ["", ""]
    Path(name).write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    assert answer(name, "-o", "odd.jsonl")["rows"] == N
    assert Path("odd.jsonl").read_bytes() == Path("plain.jsonl").read_bytes()


def test_quoted_cells_across_pieces(run, monkeypatch):
    header, *rows = csv_lines()
    quoted = [
        f'"{i}, and ""so""\non",' + ",".join(f'"{c}"' for c in row.split(","))
        for i, row in enumerate(rows)
    ]
    write("rows.csv", ['"id, or\nso",' + header, *quoted])
    monkeypatch.setattr("argmetric.scale.files._read.BLOCK_BYTES", 64)
    ended = run("rows.csv", "--drop", "id, or\nso", "-o", "out.jsonl")
    assert ended.code == 0, ended.err
    write("plain.csv", [header, *rows])
    run("plain.csv", "-o", "plain.jsonl")
    assert Path("out.jsonl").read_bytes() == Path("plain.jsonl").read_bytes()


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
def test_what_labels_mean(answer, labels, options, truth, classes):
    words = labels.split()
    write("rows.csv", ["y,a", *(f"{word},1" for word in words)])
    write("rows.jsonl", [json.dumps({"y": word, "a": 1}) for word in words])
    pq.write_table(pa.table({"y": words, "a": [1] * len(words)}), "rows.parquet")
    for name in ("rows.csv", "rows.jsonl", "rows.parquet"):
        assert answer(name, *options, "-o", "out.jsonl")["classes"] == classes
        assert [row["label"] for row in read()] == truth


@pytest.mark.parametrize(
    ("labels", "options", "seen"),
    [
        ("no no", ["--pos-label", "yes"], "'no'"),
        ("0 0", ["--pos-label", "2"], "'0'"),
        ("1 1", ["--pos-label", "0"], "'1'"),
        ("a b c", ["--pos-label", "A", "--one-vs-rest"], "other labels"),
    ],
)
def test_a_positive_label_that_never_comes(run, labels, options, seen):
    write("rows.csv", ["y,a", *(f"{word},1" for word in labels.split())])
    ended = run("rows.csv", *options)
    assert ended.code == 1
    assert (
        f"none of {len(labels.split())} rows has the label {options[1]!r}, which "
        f"--pos-label names; they hold {seen}"
    ) in " ".join(ended.err.split())


def test_a_class_that_is_learned_stays(run):
    for name, lines in {
        "rows.csv": ["y,a", "1,1", "-1,1", "0,1"],
        "rows.jsonl": ['{"y":1,"a":1}', '{"y":-1,"a":1}', '{"y":0,"a":1}'],
    }.items():
        write(name, lines)
        run(name).failed(
            1,
            "label '0' is neither '1' (positive) nor '-1' (negative)",
            "row 3: ",
        )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_blamed_on_the_file(run):
    run(write("rows.csv", csv_lines()), "-o", "/dev/full").failed(
        1, exactly="cannot write /dev/full: No space left on device"
    )


def test_a_checkpoint_that_cannot_be_written_is_named(run, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    run(write("rows.csv", csv_lines()), "--checkpoint", "kept.npz").failed(
        1, "cannot write kept.npz: No space left"
    )
    assert not Path("kept.npz").exists()
