"""Faults end in the right answer or a clear error, with nothing half-written."""

import json
import threading
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import argmetric as am
import opened
from argmetric._ground.whole_files import remove_folder, remove_unfinished
from argmetric.scale import _buckets as bucket_stage
from argmetric.scale import _columns as columns_stage
from argmetric.scale import _open as evaluate_stage
from argmetric.scale import _pieces as pieces_stage
from argmetric.scale import _reading as reading_stage
from argmetric.scale import _tune as train_stage
from argmetric.scale import _tune as tune_stage
from argmetric.scale._tasks import claimed, places_of
from opened import decide
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

# -- conservation -----------------------------------------------------------------


def test_rows_that_a_partition_loses_are_missed(files, monkeypatch):
    real = pieces_stage.write_chunk

    def lossy(writer, chunk, codes, parts):
        rows, scores, ids = chunk
        return real(writer, (rows[1:], scores[1:], ids[1:]), codes[1:], parts)

    monkeypatch.setattr("argmetric.scale._pieces.write_chunk", lossy)
    with pytest.raises(
        ValueError, match=r"^partition: .*part-000\.parquet: 800 rows went in and 799"
    ):
        decide_by_user(files)
    assert left_beside(files[2]) == []
    assert not files[2].exists()


def test_scores_that_a_partition_changes_are_noticed(files, monkeypatch):
    real = pieces_stage.write_chunk

    def changed(writer, chunk, codes, parts):
        rows, scores, ids = chunk
        return real(writer, (rows, np.where(rows == 5, 0.5, scores), ids), codes, parts)

    monkeypatch.setattr("argmetric.scale._pieces.write_chunk", changed)
    with pytest.raises(ValueError, match=r"^decide: .*part-000\.parquet: .*other scor"):
        decide_by_user(files)


def test_labels_that_are_lost_are_missed(files, monkeypatch):
    real = bucket_stage.write_labels
    monkeypatch.setattr(
        "argmetric.scale._buckets.write_labels", lambda p, y: real(p, y[:-1])
    )
    with pytest.raises(ValueError, match=r"^append: .*labels for .*rows of"):
        decide_by_user(files)
    monkeypatch.setattr(
        "argmetric.scale._buckets.write_labels",
        lambda p, y: real(p, np.full_like(y, -1)),
    )
    with pytest.raises(ValueError, match=r"^append: 800 rows .* have no decision"):
        decide_by_user(files)


def test_rows_that_change_while_they_are_written_are_noticed(files, monkeypatch):
    real = bucket_stage.batches_of

    def short(source, columns, rows):
        for batch in real(source, columns, rows):
            yield batch.slice(0, batch.num_rows - 1)

    monkeypatch.setattr("argmetric.scale._buckets.batches_of", short)
    with pytest.raises(ValueError, match=r"^append: .*800 rows went in and 799 came"):
        decide_by_user(files)
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
        decide_by_user(files)
    if damage == "score":
        assert "is 1.7 at row 40" in str(told.value)
    assert left_beside(output) == []
    found = decide_by_user(files, on_error="skip")
    rest = pa.concat_tables([table.slice(0, 800), table.slice(1900)])
    np.testing.assert_array_equal(decisions(output), by_user(rest))
    assert len(found.skipped) == 1
    assert "part-001.parquet" in found.skipped[0]
    assert "left out: " in repr(found)


VERBS = {
    "forecast": lambda folder, **words: opened.forecast(folder, **words).mean,
    "tune": lambda folder, **words: (
        opened.tune(folder, n_bootstrap=0, cv=None, **words).threshold
    ),
    "calibrate": lambda folder, **words: (
        opened.calibrate(folder, "platt", **words).slope
    ),
    "calibration_check": lambda folder, **words: (
        opened.calibration_check(folder, n_bootstrap=2, **words).expected
    ),
    "fit": lambda folder, **words: opened.fit(
        folder,
        am.MetricLogisticRegression(n_restarts=1, random_state=0),
        features=["score"],
        **words,
    ).coef_[0, 0],
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_is_named_or_left_out_by_verbs_that_only_read(tmp_path, verb):
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, 600)
    y, pred = (rng.random(600) < p).astype(int), (p > 0.3).astype(int)
    table = pa.table({"score": p, "label": y, "decision": pred})
    folder = write_parts(tmp_path / "in", table, [400])
    wanted_ = VERBS[verb](folder)
    (folder / "part-000b.parquet").write_bytes(b"hello")
    with pytest.raises(ValueError, match=r"cannot read .*part-000b\.parquet"):
        VERBS[verb](folder)
    with pytest.warns(UserWarning, match=r"^left out: cannot read .*part-000b"):
        found = VERBS[verb](folder, on_error="skip")
    assert found == wanted_


def test_damage_inside_a_file_is_found_when_it_is_read(files):
    folder, _, output = files
    bad = folder / "part-001.parquet"
    data = bytearray(bad.read_bytes())
    place = pq.read_metadata(bad).row_group(0).column(2).data_page_offset
    data[place : place + 200] = b"\xff" * 200
    bad.write_bytes(data)
    with pytest.raises(ValueError, match=r"cannot read .*part-001\.parquet"):
        decide_by_user(files)
    assert not output.exists()


def test_a_file_that_changes_during_the_run_is_noticed(files):
    folder, table, _ = files

    def change(progress):
        if progress.stage == "decide" and progress.done == 0:
            pq.write_table(table.slice(0, 800), folder / "part-000.parquet")

    with pytest.raises(ValueError, match=r"part-000\.parquet has changed since"):
        decide_by_user(files, progress=change)


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
        decide_by_user(files, group=3)
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
    first = decide_by_user(files, metric="recall")
    before = read_back(output)
    about = json.loads((output / "_argmetric.json").read_text())
    assert (
        about["n_positives"] == first.n_positives == before["decision"].to_numpy().sum()
    )
    (folder / "part-003.parquet").write_bytes(b"hello")
    with pytest.raises(ValueError, match=r"part-003"):
        decide_by_user(files)
    assert read_back(output).equals(before)
    (folder / "part-003.parquet").unlink()
    decide_by_user(files)
    np.testing.assert_array_equal(decisions(output), by_user(table))
    assert left_beside(output) == []


def test_what_is_not_ours_is_not_replaced(files):
    _, _, output = files
    output.mkdir()
    (output / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError, match="files that are not of an earlier run"):
        decide_by_user(files)
    assert (output / "thesis.txt").read_text() == "years of work"
    (output / "thesis.txt").unlink()
    decide_by_user(files)  # an empty folder is free


def test_a_kill_between_two_renames_loses_nothing(files):
    _, table, output = files
    decide_by_user(files)
    output.rename(output.parent / ".out.old")
    with claimed(places_of(str(output), None)):
        np.testing.assert_array_equal(decisions(output), by_user(table))


@pytest.mark.parametrize("resume", [False, True])
def test_a_kill_during_the_clean_up_is_no_unfinished_decide_by_user(
    files, monkeypatch, resume
):
    _, table, output = files
    with monkeypatch.context() as patched:
        patched.setattr("argmetric.scale._decide.clean_up", lambda places: None)
        decide_by_user(files, metric="recall")
    assert left_beside(output) == [".out.work"]
    decide_by_user(files, resume=resume)
    np.testing.assert_array_equal(decisions(output), by_user(table))
    assert left_beside(output) == []


def test_a_second_run_into_the_same_output_is_refused(files):
    second = []

    def try_again(progress):
        if progress.stage == "decide" and not second:
            with pytest.raises(ValueError, match="another run is writing"):
                decide_by_user(files)
            second.append(True)

    decide_by_user(files, progress=try_again)
    assert second
    np.testing.assert_array_equal(decisions(files[2]), by_user(files[1]))


# -- rows are counted in every look, and held to one another --------------------------


@pytest.fixture
def labelled(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, 900)
    y = (rng.random(900) < p).astype(int)
    user, pred = rng.integers(0, 90, 900), (p > 0.3).astype(int)
    columns = {"score": p, "label": y, "pred": pred, "user": user}
    return write_parts(tmp_path / "in", pa.table(columns), [300, 500])


def train(folder, **words):
    model = am.MetricLogisticRegression(n_restarts=1, random_state=0)
    return opened.fit(folder, model, features=["score", "user"], **words)


READ = {
    "evaluate": opened.evaluate,
    "evaluate by group": lambda folder: opened.evaluate(folder, group="user"),
    "forecast": opened.forecast,
    "forecast by group": lambda folder: opened.forecast(folder, group="user"),
    "tune": lambda folder: opened.tune(folder, n_bootstrap=0, cv=None),
    "calibrate": lambda folder: opened.calibrate(folder, "platt"),
    "calibration_check": lambda folder: opened.calibration_check(folder, n_bootstrap=2),
    "fit": train,
}
STAGES = {
    "evaluate": "evaluate",
    "evaluate by group": "evaluate",
    "forecast": "forecast",
    "forecast by group": "forecast",
    "tune": "count",
    "calibrate": "calibrate",
    "calibration_check": "calibrate",
    "fit": "train",
}


def changed(monkeypatch, module, change):
    """Read the second file through a change of its batches."""
    real = module.batches_of

    def batches(source, *words):
        for batch in real(source, *words):
            inside = source.name == "part-001.parquet"
            yield change(batch) if inside else batch

    monkeypatch.setattr(module, "batches_of", batches)


def without_the_last(batch):
    return batch.slice(0, batch.num_rows - 1)


@pytest.mark.parametrize("verb", READ)
def test_a_row_that_is_not_read_is_missed(labelled, verb, monkeypatch):
    for name, place in (("labels", reading_stage), (STAGES[verb], columns_stage)):
        with monkeypatch.context() as patched:
            changed(patched, place, without_the_last)
            told = rf"^{name}: .*part-001\.parquet: 200 rows .* 199 "
            with pytest.raises(ValueError, match=told):
                READ[verb](labelled)


def test_values_that_change_between_looks_are_noticed(labelled, monkeypatch):
    looks = []

    def nudge(batch):
        looks.append(batch)
        i = batch.schema.get_field_index("score")
        score = pc.multiply(batch.column(i), 1.0 - 1e-15 * (len(looks) > 1))
        return batch.set_column(i, "score", score)

    limits = (tune_stage, "ROWS_SCANNED_WHOLE"), (train_stage, "MOST_ROWS_IN_MEMORY")
    for verb, limit in zip(("tune", "fit"), limits, strict=True):
        with monkeypatch.context() as patched:
            patched.setattr(*limit, 10)
            changed(patched, columns_stage, nudge)
            looks.clear()
            told = rf"^{STAGES[verb]}: .*part-001\.parquet: rows have other values"
            with pytest.raises(ValueError, match=told):
                READ[verb](labelled)
            assert len(looks) == 2


def test_rows_that_are_lost_in_a_sum_are_missed(labelled, monkeypatch):
    real = evaluate_stage.pairs_of
    lossy = lambda batches: {"cells": [n - 1 for n in real(batches)["cells"]]}  # noqa: E731
    monkeypatch.setattr("argmetric.scale._open.pairs_of", lossy)
    with pytest.raises(ValueError, match=r"^evaluate: 900 rows were read and 888 are"):
        READ["evaluate"](labelled)
    last = "argmetric.scale._run.Gathered.whole", lambda total: total.parts[-1]
    monkeypatch.setattr(*last)
    for verb in ("tune", "calibrate"):
        told = rf"^{STAGES[verb]}: 900 rows were read and 400 are"
        with pytest.raises(ValueError, match=told):
            READ[verb](labelled)


def test_a_folder_goes_though_others_write_into_it(tmp_path):
    folder, begun = tmp_path / "work", threading.Event()
    folder.mkdir()

    def write():
        with suppress(FileNotFoundError):
            for i in range(1_000_000):
                (folder / str(i)).mkdir()
                (folder / str(i) / "file").touch()
                if i == 100:
                    begun.set()

    writer = threading.Thread(target=write)
    writer.start()
    begun.wait(60)
    remove_folder(str(folder))
    writer.join(60)
    assert not writer.is_alive()
    assert list(tmp_path.iterdir()) == []


def test_a_hard_end_of_a_verb_that_writes_nothing_leaves_nothing(tmp_path):
    table = scored(3000)
    labels = (table["score"].to_numpy() > 0.3).astype(int)
    table = table.append_column("label", [labels]).append_column("pred", [labels])
    folder, work = write_parts(tmp_path / "in", table, [800]), tmp_path / "work"
    work.mkdir()
    seen = []

    def end(progress):
        if progress.stage == "evaluate":
            seen.extend(work.rglob("*.arrow"))
            remove_unfinished()  # what a signal does where compiled code runs on
            assert list(work.iterdir()) == []
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        opened.evaluate(folder, group="user", memory=SMALL, work_dir=work, progress=end)
    assert seen
