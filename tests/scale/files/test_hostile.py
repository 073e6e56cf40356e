"""Files that are made to hurt: each is refused in a line, in bounded memory."""

import gzip
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argmetric import Calibrator, Rule
from argmetric.scale import files as aio
from argmetric.scale.files import _parse
from argmetric.sequence import read_sentences
from refusing import refuses

TOO_DEEP = "nested deeper than 100 levels"
MAX_NESTING = 100


def nested(levels, opening="[", closing="]"):
    return opening * levels + closing * levels


# Nesting


def twin_of_depth(text):
    """How deep brackets go, sign by sign."""
    depth = deepest = 0
    in_string = escaped = False
    for sign in text:
        if in_string:
            in_string = escaped or sign != '"'
            escaped = sign == "\\" and not escaped
        elif sign == '"':
            in_string = True
        elif sign in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in "]}":
            depth -= 1
    return deepest


@pytest.mark.parametrize(
    "text",
    [
        nested(MAX_NESTING - 1),
        nested(MAX_NESTING),
        "[" + ",".join(["[]"] * 500) + "]",
        '{"a": "' + "[" * 500 + '"}',
        '{"a\\"[": ' + nested(MAX_NESTING - 2) + "}",
        '{"a\\\\": ' + nested(MAX_NESTING - 1) + "}",
        nested(49, '{"a":[', "]}"),
        nested(50, '{"a":[', "]}"),
    ],
)
def test_depth_is_that_of_brackets_outside_of_strings(text):
    line = '{"score": 0.5, "x": ' + text + "}"
    Path("rows.jsonl").write_text(line + "\n")
    if twin_of_depth(line) > MAX_NESTING:
        refuses(aio.DataError, TOO_DEEP, aio.read_table, "rows.jsonl")
    else:
        assert aio.read_table("rows.jsonl").n_rows == 1


def test_rows_of_20_000_levels_are_refused_by_both_readers(run):
    deep = '{"y": 0, "x": 1}\n{"y": 1, "x": ' + nested(20_000) + "}\n"
    Path("rows.jsonl").write_text(deep)
    with pytest.raises(aio.DataError, match=f"rows.jsonl, line 2: .* {TOO_DEEP}"):
        aio.read_table("rows.jsonl")
    ended = run("stream", "rows.jsonl")
    assert ended.code == 1
    assert re.search(f"rows.jsonl, row 2: .* {TOO_DEEP}", ended.err)


def test_saved_values_and_sentences_of_20_000_levels_are_refused():
    Path("deep.json").write_text(nested(20_000, '{"a":', "}"))
    Path("deep.jsonl").write_text('{"tokens": ' + nested(20_000) + "}\n")
    for load in (Rule.load, Calibrator.load):
        refuses(ValueError, TOO_DEEP, load, "deep.json")
    refuses(aio.DataError, TOO_DEEP, read_sentences, "deep.jsonl")


# Compressed files, long lines, many columns


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_what_unpacks_to_far_more_is_refused_on_the_way(codec, monkeypatch):
    monkeypatch.setattr("argmetric.scale.files._source.ALWAYS_UNPACKED", 1 << 16)
    monkeypatch.setattr("argmetric.scale.files._source.PIECE", 1 << 14)
    plain = b"score\n" + b"0.5\n" * 100_000
    data = pa.compress(plain, codec=codec, asbytes=True) if codec == "zstd" else None
    data = gzip.compress(plain) if data is None else data
    name = "bomb.csv.gz" if codec == "gzip" else "bomb.csv.zst"
    Path(name).write_bytes(data)
    assert len(plain) > 200 * len(data)
    message = f"{name}: {len(data):,} bytes of {codec} unpack to more than 200 times"
    refuses(aio.DataError, re.escape(message), aio.read_table, name)
    monkeypatch.setattr("argmetric.scale.files._source.ALWAYS_UNPACKED", len(plain))
    assert aio.read_table(name).n_rows == 100_000


def test_the_longest_line():
    Path("rows.csv").write_text("score,note\n0.5," + "a" * 96 + "\n0.5,b\n")
    assert aio.read_table("rows.csv", max_line=100).n_rows == 2
    message = "rows.csv, line 2: longer than 99 bytes; if that is right, pass `max_line"
    refuses(aio.DataError, message, aio.read_table, "rows.csv", max_line=99)
    Path("last.csv").write_text("score\n0.5")  # without a newline at the end
    assert aio.read_table("last.csv", max_line=5).n_rows == 1


def twin_of_row_ends(data):
    """Ends of rows, sign by sign; a stray quote goes to the end of its line."""
    ends, at = [], 0
    while at < len(data):
        if data[at] == ord('"'):
            closed = at + 1
            while data[closed : closed + 1] and (
                data[closed] != ord('"') or data[closed + 1 : closed + 2] == b'"'
            ):
                closed += 1 + (data[closed] == ord('"'))
            if closed + 1 >= len(data):
                break  # it may go on
            at = closed + 1 if data[closed + 1] in b",\r\n" else at
        while at < len(data) and data[at] not in b",\n":
            at += 1
        at += 1
        if data[at - 1 : at] == b"\n":
            ends.append(at)
    return ends


@settings(max_examples=500, deadline=None)
@given(st.text('a"",\n\r', max_size=20))
def test_rows_end_where_the_twin_says(text):
    data = text.encode()
    assert _parse.row_ends(data, ",").tolist() == twin_of_row_ends(data)


def test_the_command_line_takes_a_size(run):
    Path("rows.csv").write_text("score,note\n0.5," + "a" * 2000 + "\n0.25,b\n")
    ended = run("decide", "rows.csv", "-o", "out.csv", "--max-line", "2kB")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        "argmetric: rows.csv, line 2: longer than 2,000 bytes; if that is right, pass "
        "--max-line SIZE\n"
    )
    ended = run("decide", "rows.csv", "-o", "out.csv", "--max-line", "long")
    assert (ended.code, ended.err) == (
        2,
        "argmetric: --max-line must be a size such as '2GB', not 'long'\n",
    )
    assert run("decide", "rows.csv", "-o", "out.csv", "--max-line", "3kB").code == 0


def test_many_columns_with_all_that_needs_quotes():
    names = ["score", *(f"c{i}" for i in range(3000))]
    cells = ["0.5", *(['"a ""b"", c"', "", "7", "x y"] * 750)]
    text = ",".join(names) + "\n" + (",".join(cells) + "\n") * 2
    Path("wide.csv").write_text(text)
    table = aio.read_table("wide.csv")
    assert table.columns.column("c0").to_pylist() == ['a "b", c'] * 2
    aio.write_table(table, "out.csv")
    assert Path("out.csv").read_text() == text


def test_a_header_of_more_than_a_mebibyte(monkeypatch):
    names = ["score", *(f"{i:0>20000}" for i in range(60))]
    Path("wide.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * 61) + "\n")
    assert aio.read_table("wide.csv").names == names
    monkeypatch.setattr("argmetric.scale.files._parse.MAX_COLUMNS", 60)
    message = "wide.csv has 61 columns; at most 60 are read"
    refuses(aio.DataError, message, aio.read_table, "wide.csv")
