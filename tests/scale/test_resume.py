"""Full disks, killed and damaged runs: the right answer, or a way to go on."""

import errno
import multiprocessing
import os
import signal
from contextlib import contextmanager

import numpy as np
import polars as pl
import pyarrow.dataset
import pytest

from argmetric.scale import _decide as decide_module
from argmetric.scale import _labels as labels_module
from argmetric.scale import _memory as memory_module
from argmetric.scale import _output as output_module
from opened import decide
from refusing import refuses
from scale_data import (
    SMALL,
    by_user,
    decide_by_user,
    decisions,
    left_beside,
    read_back,
    scored,
    write_parts,
)

resource = pytest.importorskip("resource")  # of POSIX
KILLS = 20


def full_disk(*arguments, **words):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a file")


@pytest.mark.parametrize(
    "name", ["_groups.write_rows", "_labels.save", "_output._write_file"]
)
def test_a_full_disk_is_told_and_the_run_goes_on_later(files, monkeypatch, name):
    _, table, output = files
    with monkeypatch.context() as patched:
        patched.setattr(f"argmetric.scale.{name}", full_disk)
        refuses(ValueError, r"No space left.*`resume` goes on", decide_by_user, files)
    assert not output.exists()
    refuses(ValueError, "has not ended: `resume`", decide_by_user, files)
    with pytest.raises(ValueError, match=r"cannot go on .*: metric changed since"):
        decide_by_user(files, metric="f2", resume=True)
    decide_by_user(files, resume=True, memory="1GB")
    np.testing.assert_array_equal(decisions(output), by_user(table))
    assert left_beside(output) == []


@contextmanager
def files_of(n_bytes):
    """No file may grow larger: writes fail as on a full disk, whoever makes them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("memory", [SMALL // 2, None])
def test_writes_that_fail_leave_the_old_output(files, memory):
    _, table, output = files
    decide_by_user(files, metric="recall")
    before = read_back(output)
    with files_of(4000), pytest.raises(ValueError, match="what was done is kept"):
        decide_by_user(files, memory=memory)
    assert read_back(output).equals(before)
    decide_by_user(files, resume=True)
    np.testing.assert_array_equal(decisions(output), by_user(table))
    assert left_beside(output) == []


def stopped(files, monkeypatch, module, name, **words):
    """Leave the work of a run for which the disk is full at a call of a function."""
    with monkeypatch.context() as patched:
        patched.setattr(module, name, full_disk)
        refuses(ValueError, "No space left", decide_by_user, files, **words)


DAMAGES = {
    "plan": "plan",
    "sizes of buckets": "rows/sizes",
    "what was found in a bucket": "done/000000",
    "labels": "labels",
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("text", ["{", "", "[1, 2"])
def test_a_damaged_work_folder_begins_anew(files, tmp_path, damage, text, monkeypatch):
    stopped(files, monkeypatch, output_module, "_write_file")
    place = tmp_path / ".out.work" / DAMAGES[damage]
    assert place.exists()
    place.write_text(text)
    decide_by_user(files, resume=True)
    np.testing.assert_array_equal(decisions(files[2]), by_user(files[1]))
    assert left_beside(files[2]) == []


def test_truncated_rows_are_named_and_say_what_to_do(files, tmp_path, monkeypatch):
    stopped(files, monkeypatch, labels_module, "save", work_dir=tmp_path)
    (path,) = tmp_path.rglob("rows/*.arrow")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(
        ValueError, match=r"000000\.arrow is damaged.* without `resume`"
    ):
        decide_by_user(files, work_dir=tmp_path, resume=True)
    decide_by_user(files, work_dir=tmp_path)
    np.testing.assert_array_equal(decisions(files[2]), by_user(files[1]))


def test_buckets_that_are_decided_are_not_decided_again(files, monkeypatch):
    stopped(files, monkeypatch, output_module, "_write_file")

    def refuse(*words):
        raise AssertionError("decided again")

    monkeypatch.setattr(labels_module, "_decide_rows", refuse)
    decide_by_user(files, resume=True)
    np.testing.assert_array_equal(decisions(files[2]), by_user(files[1]))


@pytest.mark.parametrize("module", [decide_module, output_module])
def test_ctrl_c_leaves_nothing(files, tmp_path, module, monkeypatch):
    def interrupt(*words):
        raise KeyboardInterrupt

    name = "decide_all" if module is decide_module else "_write_file"
    monkeypatch.setattr(module, name, interrupt)
    with pytest.raises(KeyboardInterrupt):
        decide_by_user(files)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]


def test_a_folder_that_a_second_ctrl_c_has_left_goes_with_the_next_run(files, tmp_path):
    gone = tmp_path / ".out.work.0123.gone"
    gone.mkdir()
    (gone / "labels").touch()
    decide_by_user(files)
    assert left_beside(files[2]) == []


def run_once(folder, output, resume):
    """Decide in a process of its own."""
    memory_module.LEAST_MEMORY = 1
    decide(folder, group="user", output=output, memory=SMALL, resume=resume)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_runs_that_are_killed_at_random_moments_go_on(tmp_path):
    table = scored(20_000, groups=3000)
    folder = write_parts(tmp_path / "in", table, range(2000, 20_000, 2000))
    output, labels = tmp_path / "out", by_user(table)
    context, rng = multiprocessing.get_context("forkserver"), np.random.default_rng(0)
    context.set_forkserver_preload(["argmetric.scale._decide", "pyarrow.parquet"])
    killed = 0
    for _ in range(KILLS):
        process = context.Process(target=run_once, args=(folder, output, True))
        process.start()
        process.join(rng.uniform(0.2, 1.2))
        process.kill()
        process.join()
        killed += process.exitcode == -signal.SIGKILL
    assert killed
    decide(folder, group="user", output=output, memory=SMALL, resume=True)
    np.testing.assert_array_equal(decisions(output), labels)
    assert read_back(output).drop_columns(["decision"]).equals(table)
    assert left_beside(output) == []
    names = [path.name for path in folder.iterdir()]
    assert sorted(path.name for path in output.iterdir()) == sorted(names)


def test_other_engines_read_the_output_as_it_is(files):
    _, table, output = files
    decide_by_user(files)
    labels = by_user(table)
    assert pl.scan_parquet(output).collect()["decision"].to_list() == labels.tolist()
    found = pyarrow.dataset.dataset(output).to_table()
    assert found["decision"].to_pylist() == labels.tolist()
    duckdb = pytest.importorskip("duckdb")
    query = f"select sum(decision) from read_parquet('{output}/**/*.parquet')"
    assert duckdb.sql(query).fetchall()[0][0] == labels.sum()
