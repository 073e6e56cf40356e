"""Rows by hash of their group: every id in one bucket, every row there once."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from argmetric.scale import _partition
from argmetric.scale._columns import Used, kind_of_group, plain_ids
from argmetric.scale._partition import PartitionTask, bucket_of, hashed, partition
from argmetric.scale._pieces import Piece, chunks_of, read_piece, read_row_numbers
from argmetric.scale._sources import look
from argmetric.scale._split import SplitTask, parts_of, split

NUMBERS = np.random.default_rng(3).integers(0, 40, 5000)
IDS = {
    "numbers": pa.array(NUMBERS),
    "small numbers": pa.array(NUMBERS.astype(np.int8)),
    "without a sign": pa.array(NUMBERS.astype(np.uint64) + np.uint64(2**63)),
    "fractions": pa.array(NUMBERS / 7),
    "truth": pa.array(NUMBERS % 2 == 0),
    "text": pa.array([f"user {i}" for i in NUMBERS]),
    "bytes": pa.array([bytes([i, 0]) for i in NUMBERS.tolist()]),
    "missing numbers": pa.array([None if i == 5 else i for i in NUMBERS.tolist()]),
    "missing text": pa.array([None if i == 5 else "x" * i for i in NUMBERS.tolist()]),
}
BUCKETS = 7


@pytest.fixture(params=IDS)
def written(request, tmp_path):
    """A file, its ids as lists have them, and the columns to use."""
    path, n = tmp_path / "rows.parquet", NUMBERS.size
    score = np.random.default_rng(4).random(n)
    table = pa.table({"user": IDS[request.param], "score": score})
    pq.write_table(table, path, row_group_size=900)
    source, schema = look((str(path), path.name))
    kind = kind_of_group(source, schema, "user")
    return source, table, Used("score", False, "user", kind, "own")


def pieces_of(task, found):
    sizes, batches = found["buckets"], BUCKETS * found["chunks"]
    return [
        Piece(0, None, task.path, range(b, batches, BUCKETS), sizes[b])
        for b in range(BUCKETS)
    ]


def ids_of(piece):
    return [one for _, _, ids in chunks_of(piece) for one in ids.to_pylist()]


@pytest.mark.parametrize("rows", [1 << 20, 1 << 10, 150])
def test_every_row_is_in_the_bucket_of_its_id(written, tmp_path, monkeypatch, rows):
    monkeypatch.setattr(_partition, "LEAST_ROWS", rows)
    source, table, used = written
    path = str(tmp_path / "pieces.arrow")
    task = PartitionTask(source, used, path, BUCKETS, memory=1)
    found = partition(task)
    assert found["rows"] == sum(found["buckets"]) == NUMBERS.size
    assert found["chunks"] == -(-NUMBERS.size // rows)
    score = table["score"].to_numpy()
    homes, seen = {}, []
    for b, piece in enumerate(
        pieces_of(PartitionTask(source, used, path, 7, 1), found)
    ):
        part = read_piece(piece, used)
        assert (np.diff(part.rows) > 0).all()
        assert part.rows.size == piece.rows
        np.testing.assert_array_equal(part.scores, score[part.rows])
        np.testing.assert_array_equal(read_row_numbers(piece), part.rows)
        for one in set(ids_of(piece)):
            assert homes.setdefault(one, b) == b
        seen.append(part.rows)
    np.testing.assert_array_equal(np.sort(np.concatenate(seen)), np.arange(5000))
    assert len(homes) == len(set(table["user"].to_pylist()))


def test_a_hash_is_that_of_the_id_alone(written):
    _, table, used = written
    ids = plain_ids(table["user"].combine_chunks(), used.kind)
    whole = hashed(ids)
    np.testing.assert_array_equal(hashed(ids[17:900]), whole[17:900])
    order = np.argsort(-NUMBERS, kind="stable")
    np.testing.assert_array_equal(hashed(ids.take(pa.array(order))), whole[order])
    assert hashed(ids[:0]).size == 0
    other = hashed(ids, seed=1)
    assert (other != whole).all()
    assert len(set(zip(ids.to_pylist(), whole.tolist(), strict=True))) == len(
        set(ids.to_pylist())
    )


def test_buckets_are_even():
    codes = bucket_of(hashed(pa.array(np.arange(100_000))), 16)
    sizes = np.bincount(codes, minlength=16)
    assert sizes.size == 16
    assert abs(sizes - 6250).max() < 5 * np.sqrt(6250)  # five standard deviations
    again = bucket_of(hashed(pa.array(np.arange(100_000)), seed=7919), 16)
    table = np.histogram2d(codes, again, 16)[0]
    assert abs(table - 390.6).max() < 6 * np.sqrt(390.6)


def test_large_groups_are_set_apart_and_others_divided(written, tmp_path):
    source, table, used = written
    first = PartitionTask(source, used, str(tmp_path / "p.arrow"), BUCKETS, 1)
    pieces = pieces_of(first, partition(first))
    whole = table["user"].to_pylist()
    for b, piece in enumerate(pieces):
        if not piece.rows:
            continue
        task = SplitTask((piece,), used.kind, 140, str(tmp_path / f"parts-{b}"), 1)
        found = split(task)
        parts = [part for part in parts_of(task, found) if part]
        for part in parts[: found["large"]]:
            assert len(set(ids_of(part[0]))) == 1
            assert part[0].rows > 140
        rows = np.concatenate([read_row_numbers(part[0]) for part in parts])
        np.testing.assert_array_equal(np.sort(rows), read_row_numbers(piece))
        sizes = {one: whole.count(one) for one in set(ids_of(piece))}
        assert found["large"] == sum(size > 140 for size in sizes.values())
        seen = [one for part in parts for one in set(ids_of(part[0]))]
        assert len(seen) == len(set(seen))
