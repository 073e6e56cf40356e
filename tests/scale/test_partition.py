"""Rows by hash of their group: every id in one bucket, every row there once."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from argmetric.scale import _pieces
from argmetric.scale._columns import UsedColumns, kind_of_group, plain_ids
from argmetric.scale._pieces import (
    Piece,
    PieceReader,
    bucket_of,
    chunks_of,
    hashed,
    partition,
    parts_of,
    read_bucket,
    read_row_numbers,
    split,
)
from argmetric.scale._sources import look

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
    columns = UsedColumns("score", group="user", kind=kind, missing="own")
    return Piece(0, source, rows=n), table, columns


def pieces_of(path, found):
    sizes, batches = found["buckets"], BUCKETS * found["chunks"]
    return [
        Piece(0, None, path, range(b, batches, BUCKETS), sizes[b])
        for b in range(BUCKETS)
    ]


def ids_of(piece):
    return [one for _, _, ids in chunks_of(piece) for one in ids.to_pylist()]


@pytest.mark.parametrize("rows", [1 << 20, 1 << 10, 150])
def test_every_row_is_in_the_bucket_of_its_id(written, tmp_path, monkeypatch, rows):
    monkeypatch.setattr(_pieces, "LEAST_ROWS", rows)
    whole, table, columns = written
    path = str(tmp_path / "pieces.arrow")
    found = partition(whole, columns, path, BUCKETS, memory=1)
    assert found["rows"] == sum(found["buckets"]) == NUMBERS.size
    assert found["chunks"] == -(-NUMBERS.size // rows)
    score = table["score"].to_numpy()
    homes, seen = {}, []
    for b, piece in enumerate(pieces_of(path, found)):
        numbers = read_row_numbers(piece)
        assert (np.diff(numbers) > 0).all()
        assert numbers.size == piece.rows
        bucket = read_bucket((piece,), columns)
        np.testing.assert_array_equal(bucket.values, score[numbers])
        parts = [batch.rows for batch in PieceReader(piece, columns)]
        np.testing.assert_array_equal(np.concatenate(parts), numbers)
        for one in set(ids_of(piece)):
            assert homes.setdefault(one, b) == b
        seen.append(numbers)
    np.testing.assert_array_equal(np.sort(np.concatenate(seen)), np.arange(5000))
    assert len(homes) == len(set(table["user"].to_pylist()))


def test_a_hash_is_that_of_the_id_alone(written):
    _, table, columns = written
    ids = plain_ids(table["user"].combine_chunks(), columns.kind)
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
    first, table, columns = written
    path = str(tmp_path / "p.arrow")
    pieces = pieces_of(path, partition(first, columns, path, BUCKETS, memory=1))
    whole = table["user"].to_pylist()
    for b, piece in enumerate(pieces):
        if not piece.rows:
            continue
        folder = str(tmp_path / f"parts-{b}")
        found = split((piece,), columns.kind, 140, folder, memory=1)
        parts = [part for part in parts_of((piece,), folder, found) if part]
        for part in parts[: found["large"]]:
            assert len(set(ids_of(part[0]))) == 1
            assert part[0].rows > 140
        rows = np.concatenate([read_row_numbers(part[0]) for part in parts])
        np.testing.assert_array_equal(np.sort(rows), read_row_numbers(piece))
        sizes = {one: whole.count(one) for one in set(ids_of(piece))}
        assert found["large"] == sum(size > 140 for size in sizes.values())
        seen = [one for part in parts for one in set(ids_of(part[0]))]
        assert len(seen) == len(set(seen))
