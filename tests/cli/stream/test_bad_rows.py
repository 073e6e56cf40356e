"""``argmetric stream``: rows that cannot be used."""

import json
import math
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
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from argmetric.scale.files import _source
from argmetric.scale.files.blocks import Request, StreamClasses, _rows, open_rows
from cli_stream import RNG, Y, read, write, write_all

GOOD = {
    "svm": ["0 1:1 3:0.5", "1 2:1"],
    "csv": ["0,1,2", "1,3,4"],
    "jsonl": ['{"y":0,"a":1,"b":2}', '{"y":1,"a":3,"b":4}'],
}
TABLE = Path(__file__).with_name("bad_rows.txt").read_text().splitlines()[2:]
BAD = [
    (kind, line.encode().decode("unicode_escape"), message)
    for kind, line, message in (row.split(" | ") for row in TABLE)
]


@pytest.mark.parametrize(("kind", "line", "message"), BAD)
def test_bad_rows(run, kind, line, message):
    good = GOOD[kind]
    lines = [*good, "", line, *good, line, *good]
    header = ["y,a,b"] if kind == "csv" else []
    number = len(header) + 4
    Path("rows." + kind).write_bytes("\n".join(header + lines).encode("latin-1"))
    options = ["--features", "3"] if kind == "svm" else []
    run(f"rows.{kind}", *options, "-o", "out.jsonl", "--checkpoint", "kept").failed(
        1, message, f"rows.{kind}, line {number}: ", "--on-error skip"
    )
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
def test_json_that_no_parser_likes(run, bad):
    write("rows.jsonl", ['{"y":1,"a":1}', bad, '{"y":0,"a":1}'])
    ended = run("rows.jsonl")
    assert ended.code == 1
    assert "rows.jsonl, line 2: it is not" in ended.err
    ended = run("rows.jsonl", "--on-error", "skip", "--json")
    assert json.loads(ended.out)["rows"] == 2
    write("rows.jsonl", [bad])
    run("rows.jsonl").failed(1, "does not begin with a JSON object")


@pytest.mark.parametrize("kind", ["svmlight", "csv", "jsonl"])
def test_other_encodings_are_told(run, kind):
    name = write_all()[kind]
    text = Path(name).read_text()
    Path(name).write_bytes(text.encode("utf-16"))
    ended = run(name)
    assert (ended.code, "is UTF-16 text; iconv" in ended.err) == (1, True)


def test_bad_rows_of_parquet(run):
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
    rows = open_rows(path, Request(**options), classes=StreamClasses("1", "-1", True))
    with closing(rows):
        blocks = list(rows.blocks())
    parts = [b.X if isinstance(b.X, np.ndarray) else b.X.toarray() for b in blocks]
    return np.vstack(parts).tolist(), np.concatenate([b.y for b in blocks]).tolist()


@settings(max_examples=100, deadline=None)
@given(st.lists(DECIMALS, min_size=1, max_size=20))
def test_numbers_are_read_exactly(tmp_path_factory, texts):
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


def test_indices_that_begin_with_0_in_rows_that_are_read_one_by_one(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 qid:7 0:2 1:3\n")
    assert read_rows(str(path), zero_based=True)[0] == [[2.0, 3.0]]
    path.write_text("1 qid:7 0:2 2:3\n")
    with pytest.raises(ValueError, match=r"2:3.*: the largest index is 1"):
        read_rows(str(path), zero_based=True, features=2)


@pytest.mark.parametrize("zero_based", [False, True])
def test_svmlight_as_scikit_learn_reads_it(tmp_path, zero_based):
    path = str(tmp_path / "rows.svm")
    values = RNG.normal(size=(50, 7)) * 10.0 ** RNG.integers(-8, 9, (50, 7))
    values[RNG.random((50, 7)) < 0.5] = 0.0
    dump_svmlight_file(values, np.where(Y[:50], 1, -1), path, zero_based=zero_based)
    expected, labels = load_svmlight_file(path, n_features=7, zero_based=zero_based)
    for features in (7, None):  # counted from the indices of the first rows
        rows = read_rows(path, features=features, zero_based=zero_based)
        assert rows == (expected.toarray().tolist(), (labels == 1).tolist())


@settings(max_examples=40, deadline=None)
@given(data=st.data(), kind=st.sampled_from(list(GOOD)))
def test_rows_read_at_once_are_those_read_one_by_one(data, kind):
    """Whatever the pieces and the bad rows: matrices, labels, positions, messages."""
    bad = [line for one, line, _ in BAD if one == kind]
    lines = data.draw(
        st.lists(st.sampled_from([*GOOD[kind] * 8, *bad, "", "\r"]), max_size=60)
    )
    text = "\n".join([*(["y,a,b"] if kind == "csv" else []), *GOOD[kind], *lines])
    size = data.draw(st.sampled_from([30, 70, 1 << 20]))
    every = data.draw(st.sampled_from([None, 7]))

    def read_all(path):
        features = 3 if kind == "svm" else None
        request = Request(features=features, on_error="skip", every=every)
        rows = open_rows(path, request)
        with closing(rows):
            blocks = list(rows.blocks())
        X = [b.X if isinstance(b.X, np.ndarray) else b.X.toarray() for b in blocks]
        y, numbers = ([getattr(b, one) for b in blocks] for one in ("y", "numbers"))
        end = blocks[-1].position
        found = [np.concatenate(one).tolist() for one in (X, y, numbers)]
        return found, end.rows, end.skipped, end.errors

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.{kind}"
        Path(path).write_bytes(text.encode("latin-1"))
        with mock.patch.object(_source, "PIECE", size):
            found = read_all(path)
        with mock.patch.object(_rows.TextRows, "_quickly", _nothing_quickly):
            assert found == read_all(path)


def _nothing_quickly(self, piece, starts, ends):
    return self.stack([]), np.zeros(0, np.uint8), np.zeros(ends.size, bool)


def test_a_piece_may_have_short_rows_alone(run, monkeypatch):
    monkeypatch.setattr(_source, "PIECE", 30)
    write("rows.csv", ["y,a,b", "1,1,2", "0,3,4", "1,x,2", *["1,2"] * 20, "0,5,6"])
    ended = run("rows.csv", "--on-error", "skip", "--json")
    summary = json.loads(ended.out)
    assert (summary["rows"], summary["skipped"]) == (3, 21)


def test_a_quote_that_never_closes_spoils_one_line(run):
    write("rows.csv", ["y,a", "1,1", '0,"2', "0,3", '1,"4"', "0,5"])
    ended = run("rows.csv", "--on-error", "skip", "-o", "out.jsonl", "--json")
    summary = json.loads(ended.out)
    assert (summary["rows"], summary["skipped"]) == (4, 1)
    assert "line 3: it opens a quote that never closes" in summary["errors"][0]
    assert [row["row"] for row in read()] == [1, 3, 4, 5]


def test_more_bad_rows_than_are_shown(run):
    write("rows.svm", [*GOOD["svm"], *["oh no"] * 20, *GOOD["svm"]])
    ended = run("rows.svm", "--features", "3", "--on-error", "skip")
    assert ended.code == 0
    assert "20 bad rows" in ended.out
    assert ended.out.count("rows.svm, line") == 5
    assert "15 more" in ended.out
