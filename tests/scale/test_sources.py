"""Which files are read, and what those of the output are called."""

import fsspec
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


def test_partitions_are_columns_and_stay_folders(tmp_path):
    table = scored(600).drop_columns(["user"])
    days = ["2026-01-01", "2026-01-02", "other"]
    for i, day in enumerate(days):
        folder = tmp_path / "in" / f"day={day}"
        write_parts(folder, table.slice(200 * i, 200), [90])
    ids, p = np.repeat(days, 200), table["score"].to_numpy()
    wanted = am.decide(p, groups=ids, average="groups")
    for files in (tmp_path / "in", str(tmp_path / "in" / "*" / "*.parquet")):
        found = decide(files, group="day", output=tmp_path / "out", memory=9_000)
        assert found.n_groups == 3
        np.testing.assert_array_equal(decisions(tmp_path / "out"), wanted.labels)
        assert sorted(p.name for p in (tmp_path / "out").glob("day=*")) == [
            f"day={day}" for day in days
        ]
    one = decide(
        [tmp_path / "in" / "day=other" / "part-000.parquet"], output=tmp_path / "one"
    )
    assert (tmp_path / "one" / "day=other" / "part-000.parquet").exists()
    assert one.n == 90


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


def test_addresses_of_fsspec(tmp_path):
    memory, table = fsspec.filesystem("memory"), scored(400)
    memory.makedirs("/scores", exist_ok=True)
    for i in range(2):
        with memory.open(f"/scores/part-{i}.parquet", "wb") as file:
            pq.write_table(table.slice(200 * i, 200), file)
    p, ids = table["score"].to_numpy(), table["user"].to_numpy()
    wanted = am.decide(p, groups=ids, average="groups").labels
    for files in ("memory://scores", "memory://scores/*.parquet"):
        decide(files, group="user", output=tmp_path / "out", memory=20_000)
        np.testing.assert_array_equal(decisions(tmp_path / "out"), wanted)
    refuses(ValueError, "nowhere", decide, "nowhere://scores", output=tmp_path / "out")
