"""Many files: small ones together, others named, and what a run may take."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import argmetric as am
from argmetric import scale
from opened import calibrate, decide
from refusing import refuses
from scale_data import SMALL, by_user, decisions, read_back, scored, write_parts

# -- small files ---------------------------------------------------------------------


@pytest.mark.parametrize("group", ["user", None])
@pytest.mark.parametrize("memory", [None, SMALL])
def test_many_small_files_are_decided_as_one(tmp_path, group, memory):
    table = scored(1000, groups=100)
    folder = write_parts(tmp_path / "in", table, range(5, 1000, 5))
    words = {"group": group, "output": tmp_path / "out", "memory": memory}
    found = decide(folder, n_jobs=2, **words)
    assert (found.n, found.n_files) == (1000, 200)
    labels = by_user(table) if group else am.decide(table["score"].to_numpy()).labels
    np.testing.assert_array_equal(decisions(tmp_path / "out"), labels)
    assert read_back(tmp_path / "out").drop_columns(["decision"]).equals(table)


@pytest.fixture
def tiny(tmp_path):
    table = scored(100, groups=20)
    kinds = pa.array(["a", "b", "b", "c"] * 25).dictionary_encode()
    table = table.append_column("kind", kinds)
    return write_parts(tmp_path / "in", table, range(5, 100, 5)), table


def test_each_file_is_written_with_its_own_rows(tiny, tmp_path):
    folder, table = tiny
    decide(folder, group="user", output=tmp_path / "out", memory=SMALL)
    np.testing.assert_array_equal(decisions(tmp_path / "out"), by_user(table))
    for path in folder.iterdir():
        again = pq.ParquetFile(tmp_path / "out" / path.name).read()
        assert again.drop_columns(["decision"]).equals(pq.ParquetFile(path).read())


# -- files that differ -------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["user", "score"], "part-1.parquet has no column 'note', which .*part-0"),
        (["user", "score", "note", "more"], "part-0.* has no column 'more', which"),
    ],
)
def test_a_file_with_other_columns_is_named_and_may_be_skipped(
    tmp_path, names, message
):
    table = scored(60).append_column("more", pa.array(np.arange(60)))
    folder = tmp_path / "in"
    folder.mkdir()
    pq.write_table(table.select(["user", "note", "score"]), folder / "part-0.parquet")
    pq.write_table(table.select(names), folder / "part-1.parquet")
    words = {"group": "user", "output": tmp_path / "out"}
    refuses(ValueError, f"has other columns than .*{message}", decide, folder, **words)
    assert not (tmp_path / "out").exists()
    found = decide(folder, on_error="skip", **words)
    assert (found.n, len(found.skipped)) == (60, 1)


# -- memory ------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["0", 0, "100", "499MB", 499_999_999, "two", "-1GB"])
def test_memory_that_no_run_can_keep_to_is_refused(tiny, value, monkeypatch):
    monkeypatch.setattr("argmetric.scale._memory.LEAST_MEMORY", 500 * 10**6)
    with pytest.raises(ValueError, match=r"memory must be (at least 500 MB|a)"):
        scale.open(tiny[0], memory=value)
    for size in ("500MB", 500 * 10**6, "0.5 GB"):
        assert scale.open(tiny[0], memory=size).memory == 500 * 10**6
    assert scale.open(tiny[0], memory="1.5 GiB").memory == 3 << 29


# -- the command line --------------------------------------------------------------


def test_calibrate_reads_many_files(run, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, 4000)
    y = (rng.random(4000) < p**1.5).astype(int)
    table = pa.table({"score": p, "label": y})
    write_parts(tmp_path / "in", table, [1000, 2500])
    pq.write_table(table, tmp_path / "one.parquet")
    many = run("calibrate", "in", "-o", "many.json", "--json")
    one = run("calibrate", "one.parquet", "-o", "one.json", "--json")
    assert (many.code, one.code) == (0, 0), many.err
    found, known = json.loads(many.out), json.loads(one.out)
    for name in ("rows", "columns", "check"):
        assert found[name] == known[name]
    grid = np.linspace(0, 1, 101)
    maps = [am.Calibrator.load(tmp_path / f"{name}.json") for name in ("many", "one")]
    np.testing.assert_allclose(maps[0].apply(grid), maps[1].apply(grid), atol=1e-9)
    assert maps[0] == calibrate(tmp_path / "in")
    ended = run("calibrate", "in", "--map", "one.json", "-o", "out.parquet")
    assert ended.code == 0, ended.err  # rows that fit in memory are read at once
    mended = pq.read_table(tmp_path / "out.parquet")["calibrated"].to_numpy()
    np.testing.assert_array_equal(mended, maps[1].apply(p))
