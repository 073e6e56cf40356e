"""Which files are read, and what those of the output are called."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import argmetric as am
from argmetric import scale
from opened import decide
from refusing import refuses
from scale_data import decisions, scored, write_parts


def names(files):
    return [name for _, name in scale.open(files).paths]


@pytest.fixture
def tree(tmp_path):
    for name in ("a/1.parquet", "a/2.pq", "b/3.arrow", "b/_skipped.parquet", "b/4.txt"):
        path = tmp_path / "top" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "top" / ".hidden").mkdir()
    (tmp_path / "top" / ".hidden" / "5.parquet").touch()
    return tmp_path / "top"


def test_folders_patterns_and_lists(tree, monkeypatch):
    everything = ["a/1.parquet", "a/2.pq", "b/3.parquet"]
    assert names(tree) == everything
    assert names(str(tree / "*" / "[12]*")) == everything[:2]
    assert names(str(tree / "**" / "*.arrow")) == ["b/3.parquet"]
    assert names([tree / "b" / "3.arrow", str(tree / "a" / "1.parquet")]) == [
        "a/1.parquet",
        "b/3.parquet",
    ]
    assert names([tree / "a" / "1.parquet"] * 2) == ["1.parquet"]
    assert names(tree / "a" / "1.parquet") == ["1.parquet"]
    monkeypatch.chdir(tree)
    assert names("a") == ["1.parquet", "2.pq"]
    assert [path for path, _ in scale.open("a/1.*").paths] == [
        str(tree / "a" / "1.parquet")
    ]


def test_arrow_files_become_parquet(tmp_path):
    table = scored(700)
    (tmp_path / "in").mkdir()
    with pa.ipc.new_file(tmp_path / "in" / "a.arrow", table.schema) as writer:
        writer.write_table(table.slice(0, 500), max_chunksize=120)
    pq.write_table(table.slice(500), tmp_path / "in" / "b.parquet")
    decide(tmp_path / "in", group="user", output=tmp_path / "out", memory=20_000)
    p, ids = table["score"].to_numpy(), table["user"].to_numpy()
    wanted = am.decide(p, groups=ids, average="groups")
    np.testing.assert_array_equal(decisions(tmp_path / "out"), wanted.labels)
    pq.write_table(table, tmp_path / "in" / "a.parquet")
    with pytest.raises(ValueError, match=r"two files .* would be called a\.parquet"):
        decide(tmp_path / "in", group="user", output=tmp_path / "out")


def test_folders_such_as_day_stay_and_addresses_are_refused(tmp_path):
    table = scored(180).drop_columns(["user"])
    for day in ("1", "other"):
        write_parts(tmp_path / "in" / f"day={day}", table, [90])
    decide(tmp_path / "in", output=tmp_path / "out")
    assert (tmp_path / "out" / "day=other" / "part-000.parquet").exists()
    with pytest.raises(ValueError, match="no column 'day'"):
        decide(tmp_path / "in", group="day", output=tmp_path / "out")
    refuses(ValueError, "is an address", decide, "s3://scores", output=tmp_path / "out")
