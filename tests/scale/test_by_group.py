"""decide over files, group by group: the labels of one call in memory."""

import datetime
import decimal
import math
import re
import tempfile
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import argmetric as am
import oracle
from opened import decide
from scale_data import SMALL, decisions, left_beside, read_back, scored, write_parts

P = st.sampled_from([0.0, 1.0, 1e-300, 0.5, 0.25, 0.1, 1 - 2**-53, 0.7])
KINDS = {
    "int8": pa.array([1, 2, 3, 1, 2, 1, 3, 3], pa.int8()),
    "uint64": pa.array([2**63, 5, 5, 2**63, 2**64 - 1, 5, 5, 1], pa.uint64()),
    "float": pa.array([0.0, -0.0, 1.5, 1.5, 2.0, 0.0, 1.5, 2.0]),
    "bool": pa.array([True, False, True, True, False, True, False, False]),
    "text": pa.array(["a", "b", "", "a", "b ", "b", "", "a"]),
    "categories": pa.array(
        ["a", "b", "a", "a", "b", "b", "c", "a"]
    ).dictionary_encode(),
    "bytes": pa.array([b"a", b"\0", b"a", b"a", b"", b"\0", b"c", b"a"]),
    "date": pa.array([datetime.date(2026, 1, 1 + i % 3) for i in range(8)]),
    "time": pa.array([datetime.datetime(2026, 1, 1 + i % 3) for i in range(8)]),
    "seconds": pa.array([1, 2, 1, 1, 2, 2, 3, 1], pa.time32("s")),
    "decimal": pa.array([decimal.Decimal(f"{1 + i % 3}.50") for i in range(8)]),
}


def in_memory(table, metric="f1", **options):
    groups = table["user"].to_pylist()
    p = table["score"].to_numpy()
    return am.decide(p, metric, groups=groups, average="groups", **options)


@settings(max_examples=12)
@given(data=st.data())
def test_labels_are_those_of_one_call_in_memory(data):
    n = data.draw(st.integers(1, 60))
    draw = st.lists(P, min_size=n, max_size=n)
    ids = st.lists(st.integers(0, 9), min_size=n, max_size=n)
    table = pa.table(
        {
            "user": data.draw(ids),
            "score": pa.array(data.draw(draw), pa.float64()),
            "x": np.arange(n),
        }
    )
    cuts = data.draw(st.lists(st.integers(0, n), max_size=4))
    zero = data.draw(st.sampled_from([0.0, 1.0, math.nan]))
    metric = data.draw(st.sampled_from(["f1", "jaccard", "mcc", "gmean"]))
    zero = oracle.obeyed(metric, zero)
    memory = data.draw(st.sampled_from([2000, SMALL]))
    with tempfile.TemporaryDirectory() as folder:
        write_parts(f"{folder}/in", table, cuts)
        words = {"group": "user", "output": f"{folder}/out", "memory": memory}
        try:
            with warnings.catch_warnings(action="ignore"):  # all may be 0 or 1
                wanted = in_memory(table, metric, zero_division=zero)
        except ValueError as error:
            with pytest.raises(ValueError, match=re.escape(str(error))):
                decide(f"{folder}/in", metric, zero_division=zero, **words)
            return
        found = decide(f"{folder}/in", metric, zero_division=zero, **words)
        written = read_back(f"{folder}/out")
    np.testing.assert_array_equal(written["decision"].to_numpy(), wanted.labels)
    assert written.drop_columns(["decision"]).equals(table)
    assert found.expected == pytest.approx(wanted.expected, rel=1e-12, nan_ok=True)
    assert found.n_positives == wanted.n_positives
    assert found.n_groups == wanted.n_groups


def test_a_bucket_on_which_the_metric_is_never_defined(tmp_path):
    table = pa.table({"user": [0, 1, 1, 1], "score": [1.0, 0.5, 0.4, 0.2]})
    write_parts(tmp_path / "in", table, [2])
    words = {"group": "user", "output": tmp_path / "out", "memory": 200}
    found = decide(tmp_path / "in", "mcc", zero_division=math.nan, **words)
    wanted = in_memory(table, "mcc", zero_division=math.nan)
    np.testing.assert_array_equal(decisions(tmp_path / "out"), wanted.labels)
    assert found.expected == pytest.approx(wanted.expected, rel=1e-14)
    write_parts(tmp_path / "in", table.slice(0, 1), [1])
    with pytest.raises(ValueError, match="mcc is undefined for every number"):
        decide(tmp_path / "in", "mcc", zero_division=math.nan, **words)


@pytest.mark.parametrize("kind", KINDS)
def test_ids_of_any_type(tmp_path, kind):
    ids = KINDS[kind]
    p = [0.9, 0.8, 0.3, 0.3, 0.4, 0.1, 0.6, 0.2]
    table = pa.table({"user": ids, "score": p})
    write_parts(tmp_path / "in", table, [3, 5])
    for memory in (SMALL, 400):  # a bucket, and many
        found = decide(
            tmp_path / "in", group="user", output=tmp_path / "out", memory=memory
        )
        plain = ids.dictionary_decode() if kind == "categories" else ids
        wanted = am.decide(p, groups=plain.to_pylist(), average="groups")
        np.testing.assert_array_equal(decisions(tmp_path / "out"), wanted.labels)
        assert found.n_groups == wanted.n_groups
        assert (
            read_back(tmp_path / "out")["user"].type
            == read_back(tmp_path / "in")["user"].type
        )


@pytest.mark.parametrize("ids", [[1, None, 1, None], [1.5, math.nan, 1.5, None]])
def test_rows_without_a_group(tmp_path, ids):
    table = pa.table({"user": pa.array(ids), "score": [0.9, 0.8, 0.3, 0.3]})
    write_parts(tmp_path / "in", table, [1])
    with pytest.raises(
        ValueError, match=r"part-001\.parquet: column 'user', row 1.* is missing"
    ):
        decide(tmp_path / "in", group="user", output=tmp_path / "out")
    assert left_beside(tmp_path / "out") == []
    for memory in (SMALL, 200):
        found = decide(
            tmp_path / "in",
            group="user",
            output=tmp_path / "out",
            missing_groups="own",
            memory=memory,
        )
        wanted = am.decide([0.9, 0.8, 0.3, 0.3], groups=[0, 1, 0, 1], average="groups")
        np.testing.assert_array_equal(decisions(tmp_path / "out"), wanted.labels)
        assert found.n_groups == 2


def test_results_do_not_depend_on_how_the_work_is_divided(tmp_path):
    table = scored()
    wanted = in_memory(table)
    first = None
    for i, (cuts, memory, n_jobs) in enumerate(
        [([], None, 1), ([1, 1, 4000], SMALL, 3), (range(0, 5000, 617), 60_000, 2)]
    ):
        write_parts(tmp_path / f"in{i}", table, cuts)
        found = decide(
            tmp_path / f"in{i}",
            group="user",
            output=tmp_path / "out",
            memory=memory,
            n_jobs=n_jobs,
        )
        np.testing.assert_array_equal(decisions(tmp_path / "out"), wanted.labels)
        first = first or found
        assert found.expected == pytest.approx(first.expected, rel=1e-15)
        half = wanted.cut_half
        assert found.expected_half == pytest.approx(half.expected, rel=1e-14)
        assert found.n_half == half.n_positives
    assert found.plan == "by group, 54 buckets"
    assert "groups of 700" in repr(found)
    assert found.to_dict()["n_files"] == 10


def test_buckets_that_are_too_large_are_split(tmp_path, monkeypatch):
    table = scored(4000, groups=400)
    write_parts(tmp_path / "in", table, [1000, 2500])
    monkeypatch.setattr("argmetric.scale._scan.bucket_count", lambda *given: 2)
    words = {"group": "user", "output": tmp_path / "out", "memory": SMALL}
    found = decide(tmp_path / "in", **words)
    np.testing.assert_array_equal(decisions(tmp_path / "out"), in_memory(table).labels)
    assert found.plan.startswith("by group, ")
    assert int(found.plan.split()[2]) > 4


def test_a_group_larger_than_memory_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("argmetric.scale._memory.ALWAYS_FITS", 0)
    table = scored(4000, groups=40)
    ids = table["user"].to_numpy().copy()
    ids[np.random.default_rng(1).random(4000) < 0.7] = 7
    table = table.set_column(0, "user", pa.array(ids))
    write_parts(tmp_path / "in", table, [1000, 2500])
    words = {"group": "user", "output": tmp_path / "out", "memory": SMALL}
    with pytest.raises(ValueError, match=r"a group has up to 2,8.. rows, more .*raise"):
        decide(tmp_path / "in", **words)
    assert left_beside(tmp_path / "out") == []


def test_limits_and_calibrators_are_those_of_memory(tmp_path):
    table = scored(2000)
    write_parts(tmp_path / "in", table, [900])
    p = table["score"].to_numpy()
    reference = (np.random.default_rng(0).random(2000) < p / 2).astype(int), p
    for options in (
        {"max_positives": 1, "min_positives": 1},
        {"min_recall": 0.5},
        {"min_precision": 0.2, "max_positives": 3},
        {"reference": reference},
    ):
        decide(
            tmp_path / "in",
            group="user",
            output=tmp_path / "out",
            memory=SMALL,
            **options,
        )
        np.testing.assert_array_equal(
            decisions(tmp_path / "out"), in_memory(table, **options).labels
        )
    with pytest.raises(ValueError, match=r"min_positives=40 is more .* group \d+"):
        decide(tmp_path / "in", group="user", output=tmp_path / "out", min_positives=40)


def test_what_is_written_is_what_was_read(tmp_path):
    table = pa.table(
        {
            "score": pa.array([0.9, 0.2, 0.4], pa.float32()),
            "list": [[1], [], None],
            "kind": pa.array(["a", None, "a"]).dictionary_encode(),
            "when": pa.array([datetime.datetime(2026, 1, 1)] * 3, pa.timestamp("ns")),
        }
    ).replace_schema_metadata({"made": "by hand"})
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "a.parquet", compression="zstd")
    pq.write_table(table.slice(0, 0), tmp_path / "in" / "b.parquet")
    decide(tmp_path / "in", output=tmp_path / "out", decision_column="chosen")
    written = pq.ParquetFile(tmp_path / "out" / "a.parquet")
    before = pq.ParquetFile(tmp_path / "in" / "a.parquet").read()
    assert written.read().drop_columns(["chosen"]).equals(before, check_metadata=True)
    assert before.schema.metadata == {b"made": b"by hand"}
    about = written.metadata.row_group(0).column(0)
    assert (about.compression, about.statistics.max) == ("ZSTD", pytest.approx(0.9))
    empty = pq.read_table(tmp_path / "out" / "b.parquet")
    assert (empty.num_rows, empty.column_names[-1]) == (0, "chosen")
