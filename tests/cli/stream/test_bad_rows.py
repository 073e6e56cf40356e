"""``argmetric stream``: rows that cannot be used."""

import math
import re
import tempfile
from contextlib import closing
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argmetric.scale.files import _read
from argmetric.scale.files.blocks import LabelledRows, StreamClasses
from cli_stream import read, write, write_all

GOOD = {
    "csv": ["0,1,2", "1,3,4"],
    "jsonl": ['{"y":0,"a":1,"b":2}', '{"y":1,"a":3,"b":4}'],
}
TABLE = Path(__file__).with_name("bad_rows.txt").read_text().splitlines()[2:]
BAD = [
    (kind, line.encode().decode("unicode_escape"), message)
    for kind, line, message in (row.split(" | ") for row in TABLE)
]


@pytest.mark.parametrize(("kind", "line", "message"), BAD)
def test_bad_rows(run, answer, kind, line, message):
    good = GOOD[kind]
    lines = [*good, "", line, *good, line, *good]
    header = ["y,a,b"] if kind == "csv" else []
    name = f"rows.{kind}"
    Path(name).write_bytes("\n".join(header + lines).encode("latin-1"))
    run(name, "-o", "out.jsonl").failed(1, message, f"{name}", "row 3")
    assert [row["row"] for row in read()] == [1, 2]  # those before it are not lost
    summary = answer(name, "-o", "out.jsonl", "--on-error", "skip")
    assert (summary["rows"], summary["skipped"]) == (6, 2)
    assert message in summary["errors"][0]
    assert [row["row"] for row in read()] == [1, 2, 4, 5, 7, 8]
    ended = run(name, "--on-error", "skip")
    assert "2 bad rows" in ended.out
    assert message in ended.out


@pytest.mark.parametrize("bad", ["null", '{"a":' * 100_000, "9" * 5000])
def test_json_that_no_parser_likes(run, answer, bad):
    write("rows.jsonl", ['{"y":1,"a":1}', bad, '{"y":0,"a":1}'])
    ended = run("rows.jsonl")
    assert ended.code == 1
    assert "rows.jsonl, row 2: it is not" in ended.err
    assert answer("rows.jsonl --on-error skip")["rows"] == 2
    write("rows.jsonl", [bad])
    run("rows.jsonl").failed(1, "row 1: it is not")


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_other_encodings_are_told(run, kind):
    name = write_all()[kind]
    text = Path(name).read_text()
    Path(name).write_bytes(text.encode("utf-16"))
    ended = run(name)
    assert (ended.code, "is UTF-16 text" in ended.err) == (1, True)


def test_bad_rows_of_parquet(run, answer):
    table = pa.table(
        {"y": [0, 1, 3, 1, None, 0], "a": [1.0, None, 2.0, math.nan, 1.0, 2.0]}
    )
    pq.write_table(table, "rows.parquet")
    ended = run("rows.parquet")
    assert ended.code == 1
    assert "rows.parquet: column 'a', row 2 is empty" in ended.err
    assert answer("rows.parquet --on-error skip -o out.jsonl")["skipped"] == 4
    assert [row["row"] for row in read()] == [1, 6]
    pq.write_table(pa.table({"y": [0, 1], "a": ["x", "z"]}), "rows.parquet")
    run("rows.parquet").failed(1, "column 'a', row 1: 'x' is not a number")


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


def read_rows(path, **options):
    rows = LabelledRows(path, classes=StreamClasses("1", "-1", True), **options)
    with closing(rows):
        blocks = list(rows.blocks())
    X, y, numbers = (
        np.concatenate([getattr(block, name) for block in blocks]).tolist()
        for name in ("X", "y", "numbers")
    )
    bad = [re.findall(r"row \d+", error) for error in rows.errors]
    return X, y, numbers, rows.rows, rows.skipped, bad


@settings(max_examples=100, deadline=None)
@given(st.lists(DECIMALS, min_size=1, max_size=20))
def test_numbers_are_read_exactly(tmp_path_factory, texts):
    expected = [float(text) for text in texts]
    if any(abs(value) >= 1e308 for value in expected):
        return
    path = tmp_path_factory.getbasetemp() / "numbers.csv"
    path.write_text("y,a\n" + "\n".join(f"1,{text}" for text in texts))
    assert [row[0] for row in read_rows(str(path))[0]] == expected


@settings(max_examples=40, deadline=None)
@given(data=st.data(), kind=st.sampled_from(list(GOOD)))
def test_rows_are_the_same_in_pieces_of_any_size(data, kind):
    """Matrices, labels, numbers and messages."""
    bad = [line for one, line, _ in BAD if one == kind]
    lines = data.draw(
        st.lists(st.sampled_from([*GOOD[kind] * 8, *bad, "", "\r"]), max_size=60)
    )
    text = "\n".join([*(["y,a,b"] if kind == "csv" else []), *GOOD[kind], *lines])
    size = data.draw(st.sampled_from([30, 70]))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.{kind}"
        Path(path).write_bytes(text.encode("latin-1"))
        found = read_rows(path, on_error="skip")
        with mock.patch.object(_read, "BLOCK_BYTES", size):
            assert read_rows(path, on_error="skip") == found
    numbers, n_rows, n_skipped, errors = found[2:]
    assert n_rows == 2 + sum(line not in ("", "\r") for line in lines)
    assert n_rows == len(numbers) + n_skipped
    assert len(errors) == min(n_skipped, 5)


def test_a_piece_may_have_short_rows_alone(answer, monkeypatch):
    monkeypatch.setattr(_read, "BLOCK_BYTES", 30)
    write("rows.csv", ["y,a,b", "1,1,2", "0,3,4", "1,x,2", *["1,2"] * 20, "0,5,6"])
    summary = answer("rows.csv --on-error skip")
    assert (summary["rows"], summary["skipped"]) == (3, 21)


@pytest.mark.parametrize("size", [1, 1000])
def test_a_key_that_a_piece_lacks_is_empty(run, answer, monkeypatch, size):
    monkeypatch.setattr(_read, "BLOCK_BYTES", size)
    write("rows.jsonl", [*GOOD["jsonl"], '{"y":1,"a":1}', GOOD["jsonl"][0]])
    run("rows.jsonl").failed(1, "rows.jsonl: column 'b', row 3 is empty")
    (error,) = answer("rows.jsonl --on-error skip")["errors"]
    assert "rows.jsonl: column 'b', row 3 is empty" in error


def test_a_quote_that_never_closes_spoils_one_line(answer):
    write("rows.csv", ["y,a", "1,1", '0,"2', "0,3", '1,"4"', "0,5"])
    summary = answer("rows.csv --on-error skip -o out.jsonl")
    assert (summary["rows"], summary["skipped"]) == (4, 1)
    assert "row 2: it opens a quote that never closes" in summary["errors"][0]
    assert [row["row"] for row in read()] == [1, 3, 4, 5]


def test_more_bad_rows_than_are_shown(run):
    write("rows.csv", ["y,a,b", *GOOD["csv"], *["oh no"] * 20, *GOOD["csv"]])
    ended = run("rows.csv", "--on-error", "skip")
    assert ended.code == 0
    assert "20 bad rows" in ended.out
    assert ended.out.count("rows.csv, row") == 5
    assert "15 more" in ended.out
