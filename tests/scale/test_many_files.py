"""Many files: small ones together, others named, and what a run may take."""

import json
from concurrent.futures import CancelledError

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import argmetric as am
from argmetric import scale
from argmetric.scale import Dask, Threads
from argmetric.scale import _sources as sources_stage
from opened import calibrate, decide
from scale_data import SMALL, by_user, decisions, read_back, scored, write_parts


class Counting(Threads):
    """Threads that count what they are given."""

    def __init__(self):
        super().__init__(2)
        self.items = 0

    def map(self, function, items, /):
        items = list(items)
        self.items += len(items)
        return super().map(function, items)


# -- small files together ----------------------------------------------------------


@pytest.mark.parametrize("group", ["user", None])
def test_files_of_few_rows_are_decided_by_few_tasks(tmp_path, group):
    table = scored(1000, groups=100)
    folder = write_parts(tmp_path / "in", table, range(5, 1000, 5))
    executor = Counting()
    words = {"group": group, "output": tmp_path / "out", "executor": executor}
    found = decide(folder, **words)
    assert (found.n, found.n_files) == (1000, 200)
    labels = by_user(table) if group else am.decide(table["score"].to_numpy()).labels
    np.testing.assert_array_equal(decisions(tmp_path / "out"), labels)
    assert read_back(tmp_path / "out").drop_columns(["decision"]).equals(table)
    assert executor.items <= 8  # 4 looks, 1 bucket, 1 task that writes, and spare


# -- tiny files are read once ------------------------------------------------------


@pytest.fixture
def tiny(tmp_path):
    table = scored(100, groups=20)
    kinds = pa.array(["a", "b", "b", "c"] * 25).dictionary_encode()
    table = table.append_column("kind", kinds)
    return write_parts(tmp_path / "in", table, range(5, 100, 5)), table


@pytest.fixture
def opens(monkeypatch):
    """Paths of the input that are opened."""
    paths, before = [], sources_stage.opened

    def opened(path):
        paths.append(path)
        return before(path)

    monkeypatch.setattr("argmetric.scale._sources.opened", opened)
    return paths


@pytest.mark.parametrize(
    ("held_rows", "memory", "times"), [(5, None, 1), (4, None, 3), (5, SMALL, 3)]
)
def test_tiny_files_are_read_once_while_there_is_room(
    tiny, opens, tmp_path, monkeypatch, held_rows, memory, times
):
    folder, table = tiny
    monkeypatch.setattr("argmetric.scale._sources.HELD_ROWS", held_rows)
    if memory:
        monkeypatch.setattr("argmetric.scale._reading.HELD_SHARE", SMALL)
    decide(folder, group="user", output=tmp_path / "out", memory=memory)
    assert len(opens) == times * 20
    assert set(opens) == {str(path) for path in folder.iterdir()}
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
    with pytest.raises(ValueError, match=f"has other columns than .*{message}"):
        decide(folder, **words)
    assert not (tmp_path / "out").exists()
    found = decide(folder, on_error="skip", **words)
    assert (found.n, len(found.skipped)) == (60, 1)


# -- memory ------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["0", 0, "100", "499MB", 499_999_999, "two", "-1GB"])
def test_memory_that_no_run_can_keep_to_is_refused(tiny, value, monkeypatch):
    monkeypatch.setattr("argmetric.scale._executors.LEAST_MEMORY", 500 * 10**6)
    with pytest.raises(ValueError, match=r"memory must be (at least 500 MB|a)"):
        scale.open(tiny[0], memory=value)
    for size in ("500MB", 500 * 10**6, "0.5 GB"):
        assert scale.open(tiny[0], memory=size).memory == 500 * 10**6
    assert scale.open(tiny[0], memory="1.5 GiB").memory == 3 << 29


# -- a scheduler that is lost ------------------------------------------------------


def test_a_lost_scheduler_is_told_in_words(tiny, tmp_path):
    class Future:
        def result(self):
            raise CancelledError("scheduler-connection-lost")

    class Client:
        def map(self, function, items, **how):
            return [Future() for _ in items]

        def cancel(self, futures):
            pass

    class Lost(Dask):
        client, retries, n_workers = Client(), 3, 1

        def __init__(self):
            pass

        def map(self, function, items, /):
            looks = function.__name__ == "_looked"
            return map(function, items) if looks else super().map(function, items)

    with pytest.raises(ValueError, match="decide failed: the Dask scheduler is lost"):
        decide(tiny[0], output=tmp_path / "out", executor=Lost())


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
