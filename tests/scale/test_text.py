"""Files of CSV, TSV and JSON lines: read as those of Parquet are."""

import gzip
import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import argmetric as am
import opened
from argmetric import scale
from refusing import refuses
from scale_data import SMALL, by_user, decisions, left_beside, read_back, scored


def lines(table):
    return "".join(json.dumps(row) + "\n" for row in table.to_pylist())


def cells(table, mark=","):
    rows = [table.column_names, *zip(*table.to_pydict().values(), strict=True)]
    return "".join(mark.join(map(str, row)) + "\n" for row in rows)


WRITERS = {
    "csv": lambda table: cells(table).encode(),
    "tsv": lambda table: cells(table, "\t").encode(),
    "jsonl": lambda table: lines(table).encode(),
    "csv.gz": lambda table: gzip.compress(cells(table).encode()),
}


def write_text(folder, table, cuts, end):
    folder.mkdir()
    bounds = [0, *cuts, table.num_rows]
    for i, (a, b) in enumerate(itertools.pairwise(bounds)):
        (folder / f"part-{i}.{end}").write_bytes(WRITERS[end](table.slice(a, b - a)))
    return folder


@pytest.fixture
def table():
    table = scored(2000, groups=200)
    y = np.random.default_rng(1).random(2000) < table["score"].to_numpy()
    table = table.append_column("label", pa.array(y.astype(int)))
    return table.append_column("pred", pa.array((y ^ (np.arange(2000) % 3 == 0)) * 1))


@pytest.mark.parametrize("end", WRITERS)
def test_decisions_and_columns_are_those_of_memory(table, end, tmp_path):
    table = table.drop_columns(["pred"])
    folder = write_text(tmp_path / "in", table, [500, 1200], end)
    words = {"group": "user", "output": tmp_path / "out", "memory": SMALL}
    opened.decide(folder, **words)
    np.testing.assert_array_equal(decisions(tmp_path / "out"), by_user(table))
    written = read_back(tmp_path / "out").drop_columns(["decision"])
    assert written.to_pydict() == table.to_pydict()
    kinds = ["int64", "double", "int64"]
    assert [str(written.schema.field(i).type) for i in (0, 2, 3)] == kinds
    assert left_beside(tmp_path / "out") == []


@pytest.mark.parametrize("end", WRITERS)
def test_verbs_that_read_say_what_they_say_of_parquet(table, end, tmp_path):
    text = write_text(tmp_path / "in", table, [500, 1200], end)
    (tmp_path / "parquet").mkdir()
    pq.write_table(table, tmp_path / "parquet" / "a.parquet")
    for group in (None, "user"):
        one, other = (
            scale.open(folder, group=group) for folder in (text, tmp_path / "parquet")
        )
        assert one.evaluate("f1").score == other.evaluate("f1").score
        found, wanted = one.forecast("f1"), other.forecast("f1")
        assert found.mean == pytest.approx(wanted.mean, abs=1e-12)
        check = (
            one.calibration_check(n_bootstrap=2),
            other.calibration_check(n_bootstrap=2),
        )
        assert check[0].expected == check[1].expected
    one, other = scale.open(text), scale.open(tmp_path / "parquet")
    assert one.tune("f1", n_bootstrap=2) == other.tune("f1", n_bootstrap=2)
    assert one.calibrate("platt").slope == other.calibrate("platt").slope
    scores = [float(files.evaluate_classes("f1")) for files in (one, other)]
    assert scores[0] == scores[1]


def test_classes_of_text_are_those_of_memory(tmp_path):
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 300)
    table = pa.table(dict(zip("abc", p.T, strict=True)))
    folder = write_text(tmp_path / "in", table, [100], "csv")
    words = {"scores": list("abc"), "output": tmp_path / "out"}
    opened.decide_classes(folder, "f1", average="macro", **words)
    wanted = am.classes.decide(p, "f1", average="macro", classes=list("abc"))
    assert decisions(tmp_path / "out").tolist() == wanted.labels.tolist()


@pytest.mark.parametrize(
    ("end", "score", "message"),
    [
        ("csv", "abc", r"part-1\.csv: column 'score', row 3: 'abc' is not a number"),
        ("csv", "", r"part-1\.csv: column 'score', row 3 is empty"),
        ("csv", "1.7", r"part-1\.csv: column 'score' is 1\.7 at row 3"),
        ("jsonl", 1.7, r"part-1\.jsonl: column 'score' is 1\.7 at row 3"),
        ("jsonl", None, r"part-1\.jsonl: column 'score', row 3 is empty"),
    ],
)
def test_a_wrong_value_is_named_with_file_and_row(table, end, score, message, tmp_path):
    rows = table.slice(0, 10).to_pylist()
    rows[7]["score"] = score
    folder = tmp_path / "in"
    folder.mkdir()
    for i, part in enumerate((rows[:5], rows[5:])):
        text = "".join(json.dumps(row) + "\n" for row in part)
        if end == "csv":
            names = ",".join(part[0])
            cells_ = [",".join(map(str, row.values())) for row in part]
            text = "\n".join([names, *cells_]) + "\n"
        (folder / f"part-{i}.{end}").write_text(text)
    refuses(ValueError, message, opened.forecast, folder)


def test_ids_and_types_are_those_of_the_whole(tmp_path):
    """007 stays text, and 1 beside 1.5 is a fraction, whichever file has it."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.csv").write_text("user,x,score\n1,1,0.9\n2,,0.2\n")
    (folder / "b.csv").write_text("user,x,score\n007,1.5,0.4\n1,2.5,0.3\n")
    words = {"group": "user", "output": tmp_path / "out"}
    opened.decide(folder, **words)
    written = read_back(tmp_path / "out")
    assert written["user"].to_pylist() == ["1", "2", "007", "1"]
    assert written["x"].to_pylist() == [1.0, None, 1.5, 2.5]
    wanted = am.decide([0.9, 0.2, 0.4, 0.3], groups=[1, 2, 7, 1], average="groups")
    np.testing.assert_array_equal(decisions(tmp_path / "out"), wanted.labels)
    (folder / "b.csv").write_text("user,x,score\n,1,0.4\n")
    with pytest.raises(ValueError, match=r"b\.csv: column 'user', row 1 is missing"):
        opened.decide(folder, **words)
    opened.decide(folder, missing_groups="own", **words)


def test_text_counts_in_a_folder_where_nothing_else_is(table, tmp_path):
    folder = write_text(tmp_path / "in", table, [], "csv")
    assert [name for _, name in scale.open(folder).paths] == ["part-0.parquet"]
    pq.write_table(table, folder / "other.parquet")
    assert [name for _, name in scale.open(folder).paths] == ["other.parquet"]
