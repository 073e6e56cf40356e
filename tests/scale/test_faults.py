"""Faults end in the right answer or a clear error, with nothing half-written."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import argmetric as am
from argmetric.scale import _append as append_stage
from argmetric.scale import _buckets as bucket_stage
from argmetric.scale import _decide as decide_stage
from argmetric.scale import _partition as partition_stage
from argmetric.scale import decide
from argmetric.scale._folders import claimed, places_of
from argmetric.scale._tasks import StageError
from scale_data import SMALL, decisions, left_beside, read_back, scored, write_parts
from scale_tasks import DyingExecutor


@pytest.fixture
def files(tmp_path):
    table = scored(3000)
    return write_parts(tmp_path / "in", table, [800, 1900]), table, tmp_path / "out"


def wanted(table):
    p, ids = table["score"].to_numpy(), table["user"].to_numpy()
    return am.decide(p, groups=ids, average="groups").labels


def run(files, **words):
    folder, _, output = files
    return decide(
        folder, **{"group": "user", "output": output, "memory": SMALL} | words
    )


# -- conservation -----------------------------------------------------------------


def test_rows_that_a_partition_loses_are_missed(files, monkeypatch):
    real = partition_stage.write_chunk

    def lossy(writer, chunk, codes, parts):
        rows, scores, ids = chunk
        return real(writer, (rows[1:], scores[1:], ids[1:]), codes[1:], parts)

    monkeypatch.setattr(partition_stage, "write_chunk", lossy)
    with pytest.raises(
        ValueError, match=r"^partition: .*part-000\.parquet: 800 rows went in and 799"
    ):
        run(files)
    assert left_beside(files[2]) == []
    assert not files[2].exists()


def test_scores_that_a_partition_changes_are_noticed(files, monkeypatch):
    real = partition_stage.write_chunk

    def changed(writer, chunk, codes, parts):
        rows, scores, ids = chunk
        return real(writer, (rows, np.where(rows == 5, 0.5, scores), ids), codes, parts)

    monkeypatch.setattr(partition_stage, "write_chunk", changed)
    with pytest.raises(ValueError, match=r"^decide: .*part-000\.parquet: .*other scor"):
        run(files)


def test_labels_that_are_lost_are_missed(files, monkeypatch):
    real = bucket_stage.write_labels
    monkeypatch.setattr(bucket_stage, "write_labels", lambda p, y: real(p, y[:-1]))
    with pytest.raises(ValueError, match=r"^append: .*labels for .*rows of"):
        run(files)
    monkeypatch.setattr(
        bucket_stage, "write_labels", lambda p, y: real(p, np.full_like(y, -1))
    )
    with pytest.raises(ValueError, match=r"^append: 800 rows .* have no decision"):
        run(files)


def test_rows_that_change_while_they_are_written_are_noticed(files, monkeypatch):
    real = append_stage.batches_of

    def short(source, columns, rows):
        for batch in real(source, columns, rows):
            yield batch.slice(0, batch.num_rows - 1)

    monkeypatch.setattr(append_stage, "batches_of", short)
    with pytest.raises(ValueError, match=r"^append: .*800 rows went in and 799 came"):
        run(files)
    assert not files[2].exists()


# -- input ------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["cut", "no file", "columns", "type", "score"])
def test_a_file_that_cannot_be_used_is_named_or_left_out(files, damage):
    folder, table, output = files
    bad = folder / "part-001.parquet"
    part = table.slice(800, 1100)
    if damage == "cut":
        bad.write_bytes(bad.read_bytes()[:-100])
    elif damage == "no file":
        bad.write_bytes(b"hello")
    elif damage == "columns":
        pq.write_table(part.drop_columns(["user"]), bad)
    elif damage == "type":
        pq.write_table(part.set_column(0, "user", part["user"].cast(pa.string())), bad)
    else:
        scores = part["score"].to_numpy().copy()
        scores[40] = 1.7
        pq.write_table(part.set_column(2, "score", pa.array(scores)), bad)
    with pytest.raises(ValueError, match=r"part-001\.parquet") as told:
        run(files)
    if damage == "score":
        assert "is 1.7 at row 40" in str(told.value)
    assert left_beside(output) == []
    found = run(files, on_error="skip")
    rest = pa.concat_tables([table.slice(0, 800), table.slice(1900)])
    np.testing.assert_array_equal(decisions(output), wanted(rest))
    assert len(found.skipped) == 1
    assert "part-001.parquet" in found.skipped[0]
    assert "left out: " in repr(found)


def test_damage_inside_a_file_is_found_when_it_is_read(files):
    folder, _, output = files
    bad = folder / "part-001.parquet"
    data = bytearray(bad.read_bytes())
    place = pq.read_metadata(bad).row_group(0).column(2).data_page_offset
    data[place : place + 200] = b"\xff" * 200
    bad.write_bytes(data)
    with pytest.raises(ValueError, match=r"cannot read .*part-001\.parquet"):
        run(files)
    assert not output.exists()


def test_a_file_that_changes_during_the_run_is_noticed(files):
    folder, table, _ = files

    def change(progress):
        if progress.stage == "decide" and progress.done == 0:
            pq.write_table(table.slice(0, 800), folder / "part-000.parquet")

    with pytest.raises(ValueError, match=r"part-000\.parquet has changed since"):
        run(files, progress=change)


def test_what_cannot_be_run_is_refused_at_once(files, tmp_path):
    folder, table, output = files
    empty = write_parts(tmp_path / "empty", table.slice(0, 0), [])
    cases = {
        "no Parquet or Arrow file": {"files": str(tmp_path / "*.nothing")},
        "there is no .*missing": {"files": tmp_path / "missing"},
        "files has no rows": {"files": empty},
        "no column 'who'": {"group": "who"},
        "both name column 'score'": {"group": "score", "score": "score"},
        "column 'note' holds string, not numbers": {"score": "note"},
        "already has a column 'note'": {"decision_column": "note"},
        "holds .*which is read": {"output": folder},
        "memory must be a size such as '2GB'": {"memory": "much"},
        "on_error must be one of": {"on_error": "ignore"},
        "there is no folder": {"output": tmp_path / "a" / "b"},
        "max_positives=1 is below": {"min_positives": 2, "max_positives": 1},
        "output must be a folder of this machine": {"output": "s3://bucket/out"},
    }
    for message, words in cases.items():
        plain = {"files": folder, "group": "user", "output": output}
        with pytest.raises(ValueError, match=message):
            decide(**plain | words)
    with pytest.raises(TypeError, match="group must be the name of a column"):
        run(files, group=3)
    with pytest.raises(TypeError, match="files must be a folder, a pattern"):
        decide(3, output=output)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty", "in"]


def test_more_rows_than_fit_at_once_are_refused(tmp_path):
    p = np.random.default_rng(0).random(120_000)
    table = pa.table({"user": np.zeros(p.size, dtype=int), "score": p})
    folder = write_parts(tmp_path / "in", table, [50_000])
    words = {"output": tmp_path / "out", "min_recall": 0.5}
    for group in (None, "user"):
        with pytest.raises(ValueError, match=r"120,000 rows .* at once.* `memory`"):
            decide(folder, group=group, memory="1MB", **words)
        assert left_beside(tmp_path / "out") == []
    assert decide(folder, memory="100MB", **words).n == 120_000


# -- output -----------------------------------------------------------------------


def test_an_earlier_output_is_replaced_whole_or_stays(files):
    folder, table, output = files
    first = run(files, metric="recall")
    before = read_back(output)
    about = json.loads((output / "_argmetric.json").read_text())
    assert (
        about["n_positives"] == first.n_positives == before["decision"].to_numpy().sum()
    )
    (folder / "part-003.parquet").write_bytes(b"hello")
    with pytest.raises(ValueError, match=r"part-003"):
        run(files)
    assert read_back(output).equals(before)
    (folder / "part-003.parquet").unlink()
    run(files)
    np.testing.assert_array_equal(decisions(output), wanted(table))
    assert left_beside(output) == []


def test_what_is_not_ours_is_not_replaced(files):
    _, _, output = files
    output.mkdir()
    (output / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError, match="files that are not of an earlier run"):
        run(files)
    assert (output / "thesis.txt").read_text() == "years of work"
    (output / "thesis.txt").unlink()
    run(files)  # an empty folder is free


def test_a_kill_between_two_renames_loses_nothing(files):
    _, table, output = files
    run(files)
    output.rename(output.parent / ".out.old")
    with claimed(places_of(str(output), None)):
        np.testing.assert_array_equal(decisions(output), wanted(table))


@pytest.mark.parametrize("resume", [False, True])
def test_a_kill_during_the_clean_up_is_no_unfinished_run(files, monkeypatch, resume):
    _, table, output = files
    with monkeypatch.context() as patched:
        patched.setattr(decide_stage, "clean_up", lambda places: None)
        run(files, metric="recall")
    assert left_beside(output) == [".out.work"]
    run(files, resume=resume)
    np.testing.assert_array_equal(decisions(output), wanted(table))
    assert left_beside(output) == []


def test_a_second_run_into_the_same_output_is_refused(files):
    second = []

    def try_again(progress):
        if progress.stage == "decide" and not second:
            with pytest.raises(ValueError, match="another run is writing"):
                run(files)
            second.append(True)

    run(files, progress=try_again)
    assert second
    np.testing.assert_array_equal(decisions(files[2]), wanted(files[1]))


# -- what happens to machines ------------------------------------------------------


def full_disk(*arguments, **words):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a file")


@pytest.mark.parametrize(
    ("module", "name", "stage"),
    [
        (partition_stage, "write_chunk", "partition"),
        (bucket_stage, "write_labels", "decide"),
        (append_stage, "_writer", "append"),
    ],
)
def test_a_full_disk_is_told_and_the_run_goes_on_later(
    files, monkeypatch, module, name, stage
):
    _, table, output = files
    with monkeypatch.context() as patched:
        patched.setattr(module, name, full_disk)
        with pytest.raises(
            StageError, match=f"{stage} failed: .*No space left.*`resume` goes on"
        ):
            run(files)
    assert not output.exists()
    with pytest.raises(ValueError, match="has not ended: `resume`"):
        run(files)
    with pytest.raises(ValueError, match=r"cannot go on .*: metric changed since"):
        run(files, metric="f2", resume=True)
    ran = []
    run(files, resume=True, memory="1GB", progress=lambda at: ran.append(at.stage))
    np.testing.assert_array_equal(decisions(output), wanted(table))
    assert left_beside(output) == []


def test_what_is_done_is_not_done_again(files, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(append_stage, "_writer", full_disk)
        with pytest.raises(StageError):
            run(files)

    def never(*_):
        raise AssertionError("done already")

    monkeypatch.setattr(partition_stage, "scores_and_ids", never)
    monkeypatch.setattr(bucket_stage, "read_piece", never)
    run(files, resume=True)
    np.testing.assert_array_equal(decisions(files[2]), wanted(files[1]))


def test_a_truncated_piece_is_named(files, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(bucket_stage, "write_labels", full_disk)
        with pytest.raises(StageError):
            run(files, work_dir=tmp_path)
    piece = max(tmp_path.rglob("pieces/file-000001.arrow"))
    piece.write_bytes(piece.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"cannot read .*file-000001"):
        run(files, work_dir=tmp_path, resume=True)


def test_ctrl_c_leaves_nothing(files, tmp_path):
    def interrupt(progress):
        if progress.stage == "append":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(files, progress=interrupt)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]


@pytest.mark.parametrize(
    ("kind", "stage"), [("processes", "partition"), ("cluster", "decide_bucket")]
)
def test_a_killed_worker_changes_nothing(files, kind, stage, tmp_path, request):
    _, table, output = files
    executor = request.getfixturevalue(kind)
    mark = tmp_path / "killed"
    run(files, executor=DyingExecutor(executor, stage, str(mark)))
    assert mark.exists()
    np.testing.assert_array_equal(decisions(output), wanted(table))


@pytest.mark.parametrize("seed", [0, 1])
def test_workers_are_killed_at_random_moments(files, cluster, seed):
    _, table, output = files
    rng = np.random.default_rng(seed)
    cluster.client.wait_for_workers(2, timeout=120)  # others may have been killed
    victims = sorted(cluster.client.run(os.getpid).values())
    victim = int(rng.choice(victims))
    timer = threading.Timer(rng.uniform(0.0, 0.6), os.kill, (victim, signal.SIGKILL))
    timer.start()
    run(files, executor=cluster)
    timer.join()
    np.testing.assert_array_equal(decisions(output), wanted(table))
    assert left_beside(output) == []


def test_a_worker_without_the_folder_is_told(files):
    class Elsewhere:
        def map(self, function, items):
            for item in items:
                if hasattr(item, "kept"):
                    item = replace(item, kept=f"/elsewhere{item.kept}")
                yield function(item)

    with pytest.raises(ValueError, match=r"does not see /elsewhere.*`work_dir` names"):
        run(files, executor=Elsewhere())
    assert left_beside(files[2]) == []


PROGRAM = """
import os, signal, sys
from argmetric.scale import decide
folder, output, stage, memory = sys.argv[1:]
def progress(at):
    if at.stage == stage and at.done:
        os.kill(os.getpid(), signal.SIGKILL)
decide(folder, group="user", output=output, memory=int(memory), progress=progress)
"""


@pytest.mark.parametrize("stage", ["partition", "append"])
def test_a_killed_run_leaves_the_old_output_and_goes_on(files, stage):
    folder, table, output = files
    run(files, metric="recall")
    before = read_back(output)
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, folder, output, stage, str(SMALL)], check=False
    )
    assert ended.returncode == -signal.SIGKILL
    assert read_back(output).equals(before)
    run(files, resume=True)
    np.testing.assert_array_equal(decisions(output), wanted(table))
    assert left_beside(output) == []
