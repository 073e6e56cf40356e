"""Full disks, killed workers and killed runs: the right answer, or a way to go on."""

import errno
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from scale_data import (
    SMALL,
    by_user,
    decide_by_user,
    decisions,
    left_beside,
    read_back,
)
from scale_tasks import DyingExecutor

resource = pytest.importorskip("resource")  # of POSIX
SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 10))]


def full_disk(*arguments, **words):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a file")


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("_pieces.write_chunk", "partition"),
        ("_buckets.write_labels", "decide"),
        ("_buckets._writer", "append"),
    ],
)
def test_a_full_disk_is_told_and_the_run_goes_on_later(files, monkeypatch, name, stage):
    _, table, output = files
    with monkeypatch.context() as patched:
        patched.setattr(f"argmetric.scale.{name}", full_disk)
        with pytest.raises(
            ValueError, match=f"{stage} failed: .*No space left.*`resume` goes on"
        ):
            decide_by_user(files)
    assert not output.exists()
    with pytest.raises(ValueError, match="has not ended: `resume`"):
        decide_by_user(files)
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


@pytest.mark.parametrize(
    ("memory", "stage"), [(SMALL // 2, "partition"), (None, "append")]
)
def test_writes_that_fail_leave_the_old_output(files, memory, stage):
    _, table, output = files
    decide_by_user(files, metric="recall")
    before = read_back(output)
    with files_of(4000), pytest.raises(ValueError, match=f"^{stage} failed: "):
        decide_by_user(files, memory=memory)
    assert read_back(output).equals(before)
    decide_by_user(files, resume=True)
    np.testing.assert_array_equal(decisions(output), by_user(table))
    assert left_beside(output) == []


def test_a_truncated_piece_is_named(files, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("argmetric.scale._buckets.write_labels", full_disk)
        with pytest.raises(ValueError, match="No space left"):
            decide_by_user(files, work_dir=tmp_path)
    piece = max(tmp_path.rglob("pieces/file-000001.arrow"))
    piece.write_bytes(piece.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"cannot read .*file-000001"):
        decide_by_user(files, work_dir=tmp_path, resume=True)


def test_ctrl_c_leaves_nothing(files, tmp_path):
    def interrupt(progress):
        if progress.stage == "append":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        decide_by_user(files, progress=interrupt)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]


@pytest.mark.parametrize(
    ("kind", "folder"), [("processes", "pieces"), ("cluster", "labels")]
)
def test_a_killed_worker_changes_nothing(files, kind, folder, tmp_path, request):
    _, table, output = files
    executor = request.getfixturevalue(kind)
    mark = tmp_path / "killed"
    decide_by_user(files, executor=DyingExecutor(executor, folder, str(mark)))
    assert mark.exists()
    np.testing.assert_array_equal(decisions(output), by_user(table))


@pytest.mark.parametrize("seed", SEEDS)
def test_workers_are_killed_at_random_moments(files, cluster, seed):
    _, table, output = files
    rng = np.random.default_rng(seed)
    cluster.client.wait_for_workers(2, timeout=120)  # others may have been killed
    victims = sorted(cluster.client.run(os.getpid).values())
    victim = int(rng.choice(victims))
    timer = threading.Timer(rng.uniform(0.0, 0.6), os.kill, (victim, signal.SIGKILL))
    timer.start()
    decide_by_user(files, executor=cluster)
    timer.join()
    np.testing.assert_array_equal(decisions(output), by_user(table))
    assert left_beside(output) == []


def test_a_worker_without_the_folder_is_told(files):
    class Elsewhere:
        def map(self, function, items):
            for item in items:
                if hasattr(item[0], "kept"):
                    item = [replace(one, kept=f"/elsewhere{one.kept}") for one in item]
                yield function(item)

    with pytest.raises(ValueError, match=r"does not see /elsewhere.*`work_dir` names"):
        decide_by_user(files, executor=Elsewhere())
    assert left_beside(files[2]) == []


PROGRAM = """
import os, signal, sys
from argmetric.scale import _executors
from argmetric.scale import open
_executors.LEAST_MEMORY = 1
folder, output, stage, memory = sys.argv[1:]
def progress(at):
    if at.stage == stage and at.done:
        os.kill(os.getpid(), signal.SIGKILL)
files = open(folder, group="user", memory=int(memory), progress=progress)
files.decide(output=output)
"""


@pytest.mark.parametrize("stage", ["partition", "append"])
def test_a_killed_run_leaves_the_old_output_and_goes_on(files, stage):
    folder, table, output = files
    decide_by_user(files, metric="recall")
    before = read_back(output)
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, folder, output, stage, str(SMALL)], check=False
    )
    assert ended.returncode == -signal.SIGKILL
    assert read_back(output).equals(before)
    decide_by_user(files, resume=True)
    np.testing.assert_array_equal(decisions(output), by_user(table))
    assert left_beside(output) == []
