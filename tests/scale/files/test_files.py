"""Reading, judging and writing rows: what goes in comes out, or nothing does."""

import errno
import gzip
import io
import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argmetric.scale import files as aio

CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
CSV = 'id,score,note\n007,0.10,"a, b"\n08,1e-3,\n9,.5,"say ""hi"""\n'


def put(name, content):
    data = content.encode() if isinstance(content, str) else content
    Path(name).write_bytes(data)
    return name


def feed(monkeypatch, data):
    stream = io.TextIOWrapper(io.BytesIO(data))
    monkeypatch.setattr(sys, "stdin", stream)


def typed_table():
    return pa.table(
        {
            "id": pa.array(["007", "08", None], pa.string()),
            "kind": pa.array(["a", "b", "a"]).dictionary_encode(),
            "score": pa.array([0.25, 0.5, 1.0], pa.float32()),
            "when": pa.array([0, 1, 2], pa.timestamp("us", tz="UTC")),
            "tags": pa.array([["x"], [], None], pa.list_(pa.string())),
            "count": pa.array([1, None, 3], pa.int16()),
        }
    ).replace_schema_metadata({"owner": "me"})


# Round trips


def test_csv_keeps_every_cell_as_it_was():
    table = aio.read_table(put("in.csv", CSV)).with_column("decision", [1, 0, 1])
    aio.write_table(table, "out.csv")
    assert Path("out.csv").read_text() == (
        'id,score,note,decision\n007,0.10,"a, b",1\n08,1e-3,,0\n9,.5,"say ""hi""",1\n'
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("\ufeffid,score\n1,0.5\n", "id,score\n1,0.5\n"),
        ("id,score\r\n1,0.5\r\n", "id,score\n1,0.5\n"),
        ("id,score\n1,0.5", "id,score\n1,0.5\n"),
        ("\n\nid,score\n\n1,0.5\n\n", "id,score\n1,0.5\n"),
        ('id,score\n"a\nb",0.5\n', 'id,score\n"a\nb",0.5\n'),
        ("id;score\n1;0.5\n", "id;score\n1;0.5\n"),
        ("id,id,score\n1,2,0.5\n", "id,id,score\n1,2,0.5\n"),
        ('"i,d",score\né,0.5\n', '"i,d",score\né,0.5\n'),
        ('"i""d",score\n1,0.5\n', '"i""d",score\n1,0.5\n'),
    ],
    ids=["mark", "crlf", "no-end", "blank", "lines", "semicolon", "twice", "utf8", "q"],
)
def test_csv_shapes(content, expected):
    aio.write_table(aio.read_table(put("in.csv", content)), "out.csv")
    assert Path("out.csv").read_bytes() == expected.encode()


def test_tsv_keeps_tabs_apart_from_commas():
    text = 'id\tnote\tscore\n007\ta,b\t0.5\n8\t"c\td"\t0.25\n'
    aio.write_table(aio.read_table(put("in.tsv", text)), "out.tsv")
    assert Path("out.tsv").read_text() == text
    aio.write_table(aio.read_table("in.tsv"), "out.csv")
    assert Path("out.csv").read_text() == (
        'id,note,score\n007,"a,b",0.5\n8,c\td,0.25\n'
    )


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.feather", "t.arrows"])
def test_typed_formats_keep_types_order_and_metadata(name):
    original = typed_table()
    pq.write_table(original, "in.parquet")
    table = aio.read_table("in.parquet").with_column("decision", [0, 1, 0])
    aio.write_table(table, name)
    again = aio.read_table(name)
    decision = pa.array([0, 1, 0], pa.int64())
    assert again.columns.equals(original.append_column("decision", decision))
    assert again.columns.schema.metadata[b"owner"] == b"me"


def test_values_of_jsonl_stay_as_they_are():
    rows = [
        {"id": "007", "score": 0.10, "when": "2024-01-01", "n": 12345678901234567890},
        {"id": "8", "score": 1e-3, "deep": {"when": "2024-01-01T00:00:00Z"}, "n": 3},
        {"score": 5e-324, "deep": {"when": None}, "on": True},
    ]
    put("in.jsonl", "\n".join(map(json.dumps, rows)) + "\n\n")
    table = aio.read_table("in.jsonl").with_column("decision", [1, 0, 1])
    aio.write_table(table, "out.jsonl")
    keys = "id", "score", "when", "n", "deep", "on"
    lines = Path("out.jsonl").read_text().splitlines()
    for line, row, decision in zip(lines, rows, [1, 0, 1], strict=True):
        wanted = {key: row.get(key) for key in keys}
        assert json.loads(line) == wanted | {"decision": decision}


def test_jsonl_text_that_looks_like_a_date_stays_text():
    content = '{"score": 1, "when": "2024-01-01", "deep": [{"t": "2024-01-01"}]}\n'
    aio.write_table(aio.read_table(put("in.jsonl", content)), "out.parquet")
    assert pq.read_table("out.parquet").to_pylist() == [json.loads(content)]


def test_jsonl_of_mixed_types_is_read_and_judged_only_if_used():
    content = '{"s": 0.5, "x": 1}\n{"s": 0.25, "x": "one"}\n{"s": "high", "x": [1]}\n'
    table = aio.read_table(put("in.jsonl", content))
    assert table.columns.column("x").to_pylist() == ["1", "one", "[1]"]
    with pytest.raises(aio.DataError, match=r"'s', row 3: 'high' is not a number"):
        aio.numbers(table, "s")


def test_parquet_to_text_formats():
    original = pa.table(
        {
            "id": ['0"7', None],
            "score": [1.0, float("nan")],
            "on": [True, None],
            "n": pa.array([1, 2], pa.int8()),
            "small": pa.array([0.1, 2.0], pa.float32()),
        }
    )
    pq.write_table(original, "in.parquet")
    table = aio.read_table("in.parquet")
    aio.write_table(table, "out.csv")
    assert Path("out.csv").read_text() == (
        'id,score,on,n,small\n"0""7",1.0,true,1,0.1\n,nan,,2,2.0\n'
    )
    aio.write_table(table, "out.jsonl")
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert rows == [
        {"id": '0"7', "score": 1.0, "on": True, "n": 1, "small": 0.1},
        {"id": None, "score": None, "on": None, "n": 2, "small": 2.0},
    ]


def test_nested_values_go_to_jsonl_and_not_to_csv():
    pq.write_table(typed_table(), "in.parquet")
    table = aio.read_table("in.parquet")
    with pytest.raises(aio.DataError, match=r"column 'tags' of type list.* in a CSV"):
        aio.write_table(table, "out.csv")
    assert os.listdir() == ["in.parquet"]
    aio.write_table(table, "out.jsonl")
    first = json.loads(Path("out.jsonl").read_text().splitlines()[0])
    assert first == {
        "id": "007", "kind": "a", "score": 0.25,
        "when": "1970-01-01 00:00:00+00:00", "tags": ["x"], "count": 1,
    }  # fmt: skip


def test_csv_to_parquet_gives_types_only_where_nothing_is_lost():
    content = (
        "id,version,n,x,on,empty,big,score,long\n"
        "007,1.10,1,0.5,true,,1,0.50,0.123456789012345678\n"
        "8,1.9,,1e-05,false,,99999999999999999999,.25,0.5\n"
    )
    table = aio.read_table(put("in.csv", content)).with_column("decision", [1, 0])
    aio.write_table(table, "out.parquet", numeric=frozenset({"score"}))
    assert pq.read_table("out.parquet").to_pydict() == {
        "id": ["007", "8"],
        "version": ["1.10", "1.9"],
        "n": [1, None],
        "x": [0.5, 1e-05],
        "on": [True, False],
        "empty": ["", ""],
        "big": ["1", "99999999999999999999"],
        "score": [0.5, 0.25],
        "long": ["0.123456789012345678", "0.5"],
        "decision": [1, 0],
    }
    aio.write_table(table, "out.jsonl", numeric=frozenset({"score"}))
    first = json.loads(Path("out.jsonl").read_text().splitlines()[0])
    assert first["id"] == "007"
    assert first["n"] == 1


def test_more_rows_than_one_batch(monkeypatch):
    monkeypatch.setattr("argmetric.scale.files._write._ROWS_AT_ONCE", 100)
    n = 203
    content = "id,score\n" + "".join(f"{i:07d},0.5\n" for i in range(n))
    table = aio.read_table(put("in.csv", content))
    assert table.n_rows == n
    aio.write_table(table, "out.csv")
    assert Path("out.csv").read_text() == content


@given(
    st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=20),
    st.sampled_from([",", "\t", ";"]),
    st.sampled_from([1, 7, 64, 1 << 20]),
)
@settings(deadline=None)
def test_any_text_survives_csv_in_pieces_of_any_size(rows, delimiter, size):
    columns = [
        pa.array(list(column), pa.string()) for column in zip(*rows, strict=True)
    ]
    table = aio.Table(pa.table(columns, ["a", "b"]), "csv", "t.csv", delimiter)
    with tempfile.TemporaryDirectory() as folder:
        aio.write_table(table, f"{folder}/t.csv")
        with mock.patch("argmetric.scale.files._read.BLOCK_BYTES", size):
            again = aio.read_table(f"{folder}/t.csv").columns
    assert list(zip(*again.to_pydict().values(), strict=True)) == rows


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "ids",
    [
        [1, "1"],
        [1, 1.5],
        [1, 2.0],
        [True, "a"],
        [7, "7.0", 0.5, False],
        ["a", 2**53 + 1],
    ],
)
def test_groups_of_jsonl_are_those_of_one_piece(monkeypatch, ids, packed):
    rows = [{"score": 0.5, "g": one} for one in ids for _ in range(3)]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    name = "rows.jsonl.gz" if packed else "rows.jsonl"
    put(name, gzip.compress(data) if packed else data)

    def named(tables):
        found = [aio.groups(table, "g") for table in tables]
        return [str(names[i]) for codes, names in found for i in codes]

    def blocks():
        return list(aio.read_blocks(name, lambda table: ["score", "g"]))

    whole = named([aio.read_table(name)])
    assert whole == named(blocks())
    monkeypatch.setattr("argmetric.scale.files._read.BLOCK_BYTES", 30)
    assert len(blocks()) > len(ids)
    assert whole == named(blocks())


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet", "arrow"])
def test_blocks_are_the_table(monkeypatch, format):
    rows = [f"{i},0.{i},word {i}" for i in range(50)]
    table = aio.read_table(put("in.csv", "\n".join(["id,score,note", *rows])))
    aio.write_table(table, f"rows.{format}")
    whole = aio.read_table(f"rows.{format}").columns.select(["note", "score"])
    monkeypatch.setattr("argmetric.scale.files._read.BLOCK_BYTES", 100)
    blocks = list(aio.read_blocks(f"rows.{format}", lambda table: ["note", "score"]))
    assert [t.first for t in blocks][:1] == [0]
    assert blocks[-1].first + blocks[-1].n_rows == 50
    assert (
        pa.concat_tables([t.columns for t in blocks]).to_pydict() == whole.to_pydict()
    )
    assert (len(blocks) > 5) == (format in ("csv", "jsonl"))


# Standard input and formats


def test_stdin_is_recognised(monkeypatch):
    feed(monkeypatch, b"p\tq\n1\t2\n")
    table = aio.read_table("-")
    assert (table.format, table.source, table.names) == (
        "tsv", "standard input", ["p", "q"],
    )  # fmt: skip


def test_stdin_with_a_format(monkeypatch):
    feed(monkeypatch, b"p\tq\n1\t2\n")
    assert aio.read_table("-", "csv").names == ["p", "q"]
    feed(monkeypatch, b"\0\1\2\3")
    with pytest.raises(aio.DataError, match="cannot tell the format of standard input"):
        aio.read_table("-")


def test_stdout_takes_the_format_that_was_read(capfdbinary):
    table = aio.read_table(put("in.csv", CSV))
    aio.write_table(table, "-")
    assert capfdbinary.readouterr().out == CSV.replace('"a, b"', '"a, b"').encode()
    aio.write_table(table, "-", "parquet")
    data = capfdbinary.readouterr().out
    assert pq.read_table(pa.BufferReader(data)).num_rows == 3


def test_named_pipe_is_read_and_written():
    os.mkfifo("pipe")
    put("in.csv", CSV)
    with subprocess.Popen(["sh", "-c", "cat in.csv > pipe"]):
        table = aio.read_table("pipe")
    assert (table.format, table.n_rows) == ("csv", 3)
    for format in ("csv", "parquet", "arrow"):
        with subprocess.Popen(["sh", "-c", f"cat pipe > out.{format}"]):
            aio.write_table(table, "pipe", format)
        assert aio.read_table(f"out.{format}").names == ["id", "score", "note"]
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


# Refusals


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "a.csv is empty"),
        ("a.csv", " \n\n", "a.csv is empty"),
        ("a.csv", "id,score\n", "a.csv has no rows"),
        ("a.csv", "a,b\n1,2\n3\n", "a.csv, line 3: 1 cell, but the header has 2: '3'"),
        ("a.csv", '\n\na,b\r\n"1\r\n\r\n",2\r\n\r\n3,4,5\r\n', "a.csv, line 8: 3 "
         "cells, but the header has 2: '3,4,5'"),
        ("a.tsv", 'a\tb\n"x\ny\tz"\t1\n1\n', "a.tsv, line 4: 1 cell, but the header "
         "has 2: '1'"),
        ("a.csv", "a;b\n1;2\n1;2;" + "3" * 50 + "\n", "a.csv, line 3: 3 cells, but the "
         "header has 2: '1;2;" + "3" * 36 + "'"),
        ("a.csv", b"a,b\n\xe9,1\n", "a.csv, line 2: not utf-8 text (byte 5 is "
         "0xE9); pass `encoding`, for instance latin-1"),
        ("a.csv", b"\n\nname,\xe9\n1,2\n", "a.csv, line 3: not utf-8 text (byte 8 is "
         "0xE9); pass `encoding`, for instance latin-1"),
        ("a.csv", 'a,b\n1,"2\n3,4\n', "a.csv: row 1 opens a quote that never closes"),
        ("a.csv", b"PAR1xxxxPAR1", "a.csv is read as csv but holds parquet; pass "
         "`format`"),
        ("a.jsonl", '{"a": 1}\n{"a": ', "a.jsonl, line 2: not JSON: Expecting value"),
        ("a.jsonl", '{"a": 1}\n5\n', "a.jsonl, line 2: not a JSON object: 5"),
        ("a.jsonl", b'{"a": "\xe9"}', "a.jsonl, line 1: not utf-8 text (byte 8 is "
         "0xE9); pass `encoding`, for instance latin-1"),
        ("a.json", '[{"a": 1}]', "a.json holds a JSON array; one object on each line "
         "is needed (jq -c '.[]' makes them)"),
        ("a.csv", "a,b\n1,2\n".encode("utf-16"), "a.csv is UTF-16 text; pass "
         "`encoding=utf-16`"),
        ("a.csv", "a,b\n1,2\n".encode("utf-16-le"), "a.csv begins with zero "
         "bytes: it is UTF-16, or no text at all"),
        ("a.csv", b"\0\1\2\n\3", "a.csv begins with zero bytes: it is UTF-16, or no "
         "text at all"),
        ("a.csv", 'a,"b\n1,2\n', "a.csv: the header line opens a quote that never "
         "closes"),
        ("a.csv", 'a,b\n"1,2\n3,4\n', "a.csv, line 2 opens a quote that never closes"),
        ("a.jsonl", "null\n", "a.jsonl, line 1: not a JSON object: null"),
        ("a.jsonl", '{"a": 1}\nnull\n', "a.jsonl, line 2: not a JSON object: null"),
        ("a.jsonl", '{"a":' * 100_000, "a.jsonl, line 1: not JSON: it is nested "
         "deeper than 100 levels"),
        ("a.ods", "PK", "a.ods: unknown extension '.ods'; use one of .csv, .tsv, "
         ".tab, .parquet, .pq, .arrow, .feather, .ipc, .arrows, .jsonl, .ndjson, "
         ".json, or pass `format`"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read(name, content, message):
    put(name, content)
    with pytest.raises(aio.DataError) as caught:
        aio.read_table(name)
    assert str(caught.value) == message


def test_missing_file_and_folder():
    put("scores.csv", CSV)
    with pytest.raises(aio.DataError) as caught:
        aio.read_table("score.csv")
    assert str(caught.value) == "score.csv: no such file; did you mean 'scores.csv'?"
    Path("sub.csv").mkdir()
    with pytest.raises(aio.DataError, match=r"^sub.csv is a folder; pass a file$"):
        aio.read_table("sub.csv", "csv")
    with pytest.raises(aio.DataError, match=r"^unknown format 'xls'; known: csv, tsv"):
        aio.read_table("scores.csv", "xls")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "keep"),
    [
        ("t.parquet", 0.3),
        ("t.parquet", 0.999),
        ("t.arrow", 0.3),
        ("t.arrow", 0.999),
        ("t.arrows", 0.3),  # the end mark of a stream is optional
    ],
)
def test_truncated_binary_files(name, keep):
    pq.write_table(pa.table({"score": np.linspace(0, 1, 5000)}), "in.parquet")
    aio.write_table(aio.read_table("in.parquet"), name)
    whole = Path(name).read_bytes()
    put(name, whole[: int(keep * len(whole))])
    with pytest.raises(aio.DataError, match=rf"^{name} is not a whole .* cut short"):
        aio.read_table(name)


# Writing: whole or not at all


def test_failed_write_leaves_the_old_file_and_nothing_else(monkeypatch):
    table = aio.read_table(put("in.csv", CSV))
    put("out.csv", "old")

    def full(stream, lines):
        stream.write(b"half of it")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("argmetric.scale.files._write._write_lines", full)
    with pytest.raises(aio.DataError) as caught:
        aio.write_table(table, "out.csv")
    assert str(caught.value) == "cannot write out.csv: No space left on device"
    assert Path("out.csv").read_text() == "old"
    assert sorted(os.listdir()) == ["in.csv", "out.csv"]


@pytest.mark.parametrize("stage", ["fsync", "replace"])
def test_failure_at_the_last_moment(monkeypatch, stage):
    def fail(*args):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    table = aio.read_table(put("in.csv", CSV))
    monkeypatch.setattr(os, stage, fail)
    with pytest.raises(aio.DataError, match=r"^cannot write out.csv: Input/output err"):
        aio.write_table(table, "out.csv")
    assert os.listdir() == ["in.csv"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("format", ["csv", "parquet", "arrow", "jsonl"])
def test_full_device(format):
    table = aio.read_table(put("in.csv", CSV))
    with pytest.raises(aio.DataError) as caught:
        aio.write_table(table, "/dev/full", format)
    assert str(caught.value) == "cannot write /dev/full: No space left on device"
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_folders_that_are_missing_or_no_file():
    table = aio.read_table(put("in.csv", CSV))
    for format, reason in ((None, "there is no folder nowhere"), ("csv", "No such fi")):
        with pytest.raises(
            aio.DataError, match=rf"^cannot write nowhere/o.csv: {reason}"
        ):
            aio.write_table(table, "nowhere/o.csv", format)
    Path("sub.csv").mkdir()
    with pytest.raises(aio.DataError, match=r"^cannot write sub.csv: it is a folder$"):
        aio.write_table(table, "sub.csv")
    with pytest.raises(aio.DataError, match=r"'.xls'; use .* or pass `output_format`$"):
        aio.write_table(table, "out.xls")


# Weight


def test_import_loads_nothing_heavy_and_reading_loads_no_pandas():
    put("in.csv", CSV)
    code = """
import sys
import argmetric.scale.files as aio
heavy = {"pyarrow", "pandas", "scipy", "sklearn", "numba", "narwhals", "rich"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
table = aio.read_table("in.csv").with_column("decision", [0, 1, 1])
aio.numbers(table, "score"), aio.groups(table, "id"), aio.labels(table, "decision")
for name in ("o.csv", "o.parquet", "o.arrow", "o.jsonl"):
    aio.write_table(table, name)
    again = aio.read_table(name)
    aio.labels(again, "decision"), aio.groups(again, "id")
assert not (heavy - {"pyarrow"}) & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
