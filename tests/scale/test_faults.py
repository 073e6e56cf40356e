"""Faults end in the right answer or a clear error, with nothing half-written."""

import threading
from contextlib import suppress
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import opened
from argmetric._ground.whole_files import remove_folder, remove_unfinished
from argmetric.scale import _decide as decide_module
from argmetric.scale import _groups as groups_module
from argmetric.scale import _labels as labels_module
from argmetric.scale import _output as output_module
from argmetric.scale import _sources as sources_module
from argmetric.scale._scan import Scan
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

# -- conservation -----------------------------------------------------------------


def test_rows_that_a_partition_loses_are_missed(files, monkeypatch):
    real = groups_module._chunk_of

    def lossy(batch, values):
        rows, values, ids = real(batch, values)
        return rows[1:], values[1:], ids[1:]

    monkeypatch.setattr(groups_module, "_chunk_of", lossy)
    with pytest.raises(ValueError, match="3,000 rows were read and 2,997 came into"):
        decide_by_user(files)
    assert left_beside(files[2]) == []
    assert not files[2].exists()


def test_labels_that_are_lost_are_missed(files, monkeypatch):
    def lossy(rows, question):
        labels, result = real(rows, question)
        return np.full_like(labels, -1), result

    real = labels_module._decide_rows
    monkeypatch.setattr(labels_module, "_decide_rows", lossy)
    with pytest.raises(ValueError, match="800 of 800 rows have no decision"):
        decide_by_user(files)
    assert not files[2].exists()


def without_the_last(monkeypatch, name, wanted=lambda columns: True):
    """Lose the last row of each batch of a file."""
    real = sources_module._some_batches

    def short(source, columns, rows):
        inside = source.name == name and wanted(columns)
        for batch in real(source, columns, rows):
            yield batch.slice(0, batch.num_rows - 1) if inside else batch

    monkeypatch.setattr(sources_module, "_some_batches", short)


def test_rows_that_are_lost_while_they_are_written_are_noticed(files, monkeypatch):
    without_the_last(monkeypatch, "part-000.parquet", lambda columns: columns is None)
    with pytest.raises(
        ValueError, match=r"part-000.* 800 rows were there and 799 were"
    ):
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
        assert "is 1.7 at row 41" in str(told.value)
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


def before_deciding(monkeypatch, act):
    """Do something when a run begins to decide."""
    real = decide_module.decide_all

    def decide_all(*words):
        act()
        return real(*words)

    monkeypatch.setattr(decide_module, "decide_all", decide_all)


def test_a_file_that_changes_during_the_run_is_noticed(files, monkeypatch):
    folder, table, _ = files
    changed = partial(pq.write_table, table.slice(0, 800), folder / "part-000.parquet")
    before_deciding(monkeypatch, changed)
    with pytest.raises(ValueError, match=r"part-000\.parquet has changed since"):
        decide_by_user(files)


def test_what_cannot_be_run_is_refused_at_once(files, tmp_path):
    folder, table, output = files
    empty = write_parts(tmp_path / "empty", table.slice(0, 0), [])
    cases = {
        "no Parquet, Arrow, CSV or JSON file": {"files": str(tmp_path / "*.nothing")},
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
        with pytest.raises(
            ValueError, match=r"120,000 rows.* memory allows: .*`memory`"
        ):
            decide(folder, group=group, memory="1MB", **words)
        assert left_beside(tmp_path / "out") == []
    assert decide(folder, memory="100MB", **words).n == 120_000


# -- output -----------------------------------------------------------------------


def test_an_earlier_output_is_replaced_whole_or_stays(files):
    folder, table, output = files
    first = decide_by_user(files, metric="recall")
    before = read_back(output)
    assert first.n_positives == before["decision"].to_numpy().sum()
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


def test_an_output_of_an_earlier_version_is_replaced(files):
    _, table, output = files
    output.mkdir()
    (output / "_argmetric.json").write_text("{}")
    decide_by_user(files)
    np.testing.assert_array_equal(decisions(output), by_user(table))
    assert sorted(path.name for path in output.iterdir()) == [
        f"part-{i:03d}.parquet" for i in range(3)
    ]


def test_a_kill_between_two_renames_loses_nothing(files):
    _, table, output = files
    decide_by_user(files)
    output.rename(output.parent / ".out.old")
    with output_module._claim_output(output_module.Folders.of(str(output), None)):
        np.testing.assert_array_equal(decisions(output), by_user(table))


@pytest.mark.parametrize("resume", [False, True])
def test_a_kill_during_the_clean_up_is_no_unfinished_run(files, monkeypatch, resume):
    _, table, output = files
    with monkeypatch.context() as patched:
        patched.setattr(output_module.Folders, "remove", lambda folders: None)
        decide_by_user(files, metric="recall")
    assert left_beside(output) == [".out.work"]
    decide_by_user(files, resume=resume)
    np.testing.assert_array_equal(decisions(output), by_user(table))
    assert left_beside(output) == []


def test_a_second_run_into_the_same_output_is_refused(files, monkeypatch):
    def try_again():
        with pytest.raises(ValueError, match="another run is writing"):
            decide_by_user(files)

    before_deciding(monkeypatch, try_again)
    decide_by_user(files)
    np.testing.assert_array_equal(decisions(files[2]), by_user(files[1]))


# -- rows are counted in every pass ---------------------------------------------------


@pytest.fixture
def labelled(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, 900)
    y = (rng.random(900) < p).astype(int)
    user, pred = rng.integers(0, 90, 900), (p > 0.3).astype(int)
    columns = {"score": p, "label": y, "pred": pred, "user": user}
    return write_parts(tmp_path / "in", pa.table(columns), [300, 500])


READ = {
    "evaluate": opened.evaluate,
    "evaluate by group": lambda folder: opened.evaluate(folder, group="user"),
    "forecast": opened.forecast,
    "forecast by group": lambda folder: opened.forecast(folder, group="user"),
    "tune": lambda folder: opened.tune(folder, n_bootstrap=0, cv=None),
    "calibrate": lambda folder: opened.calibrate(folder, "platt"),
    "calibration_check": lambda folder: opened.calibration_check(folder, n_bootstrap=2),
}


@pytest.mark.parametrize("verb", READ)
def test_a_row_that_is_not_read_is_missed(labelled, verb, monkeypatch):
    without_the_last(monkeypatch, "part-001.parquet")
    refuses(
        ValueError, r"part-001.* 200 rows were there and 199 were", READ[verb], labelled
    )


@pytest.mark.parametrize("verb", ["evaluate", "tune", "calibrate"])
def test_rows_that_are_lost_in_a_sum_are_missed(labelled, verb, monkeypatch):
    monkeypatch.setattr(Scan, "parts", [range(2)])
    refuses(ValueError, "900 rows were read and 500 ", READ[verb], labelled)


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


def test_a_hard_end_of_a_verb_that_writes_nothing_leaves_nothing(tmp_path, monkeypatch):
    table = scored(3000)
    labels = (table["score"].to_numpy() > 0.3).astype(int)
    table = table.append_column("label", [labels]).append_column("pred", [labels])
    folder, work = write_parts(tmp_path / "in", table, [800]), tmp_path / "work"
    work.mkdir()

    def end(*words):
        assert list(work.rglob("*.arrow"))
        remove_unfinished()  # what a signal does where compiled code runs on
        assert list(work.iterdir()) == []
        raise KeyboardInterrupt

    monkeypatch.setattr("argmetric.scale._evaluate._pairs_of_groups", end)
    with pytest.raises(KeyboardInterrupt):
        opened.evaluate(folder, group="user", memory=SMALL, work_dir=work)
