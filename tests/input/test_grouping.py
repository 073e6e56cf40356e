"""Rows and ids of groups are numbered by kernels as numpy and dictionaries do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argmetric._input import groups as _groups
from argmetric._input.kernels import grouping
from argmetric._input.kernels.grouping import FACTOR, mix_texts


@given(st.lists(st.integers(0, 6), max_size=60))
def test_rows_of_a_group_stay_in_order(code):
    code = np.array(code, dtype=np.int64)
    first = np.cumsum(np.bincount(code, minlength=7)) - np.bincount(code, minlength=7)
    rows = np.empty(code.size, dtype=np.int64)
    grouping.group_rows(code, first, rows)
    np.testing.assert_array_equal(rows, np.argsort(code, kind="stable"))


@pytest.mark.parametrize("count", [1, 2, 1023, 1024, 1025, 5000, 100_000])
def test_rows_that_pass_through_bins_stay_in_order(count, monkeypatch):
    """Bins of groups are a detour: the rows come out as without them."""
    rng = np.random.default_rng(count)
    codes = rng.permutation(np.append(np.arange(count), rng.integers(0, count, 3000)))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(codes))])
    expected = np.argsort(codes, kind="stable")
    for many in (0, count + 1):
        monkeypatch.setattr(_groups, "MANY_GROUPS", many)
        np.testing.assert_array_equal(_groups.rows_by_group(codes, indptr), expected)


@given(
    st.sampled_from(["i1", "u1", "i2", "u4", "i8", "u8"]),
    st.sampled_from(["low", "middle", "high"]),
    st.lists(st.integers(0, 9), min_size=1, max_size=60),
)
def test_ids_that_lie_close_are_numbered_by_counting(kind, where, values):
    """Also at both ends of what a type can hold, where differences wrap around."""
    info = np.iinfo(kind)
    low = {"low": info.min, "middle": info.max // 2, "high": info.max - 9}[where]
    ids = np.array([low + value for value in values], dtype=kind)
    groups = _groups._by_counting(ids, int(ids.min()), int(ids.max()))
    seen = {}
    expected = [seen.setdefault(value, len(seen)) for value in ids.tolist()]
    assert groups.codes.tolist() == expected
    assert groups.ids.tolist() == list(seen)
    assert groups.ids.dtype == ids.dtype
    sizes = np.bincount(expected)
    assert groups.indptr.tolist() == [0, *np.cumsum(sizes)]
    if (np.diff(expected) >= 0).all():
        assert groups.rows is None
    else:
        assert groups.rows.tolist() == np.argsort(expected, kind="stable").tolist()


IDS = {
    "text": lambda rng, n: np.array([f"id-{x}" for x in rng.integers(0, n // 3, n)]),
    "bytes": lambda rng, n: np.array([b"%d" % x for x in rng.integers(0, n // 3, n)]),
    "wide": lambda rng, n: rng.integers(-(2**62), 2**62, n // 3)[
        rng.integers(0, n // 3, n)
    ],
    "unsigned": lambda rng, n: rng.integers(0, 2**64, n // 3, dtype=np.uint64)[
        rng.integers(0, n // 3, n)
    ],
    "narrow floats": lambda rng, n: rng.integers(0, n // 3, n).astype(np.float16),
    "zeros": lambda rng, n: rng.choice([0.0, -0.0, 1.5], n),
    "dates": lambda rng, n: rng.integers(0, n // 3, n).astype("M8[s]"),
    "one": lambda rng, n: np.full(n, 2**61),
    "all different": lambda rng, n: rng.permutation(n) * 2**40,
}


@pytest.mark.parametrize("kind", IDS)
def test_hashed_ids_are_numbered_like_sorted_ones(kind, monkeypatch):
    """Past a first table of ids and within it, in the order of first appearance."""
    values = IDS[kind](np.random.default_rng(8), 50_000)
    codes, ids = _groups.factorize(values)
    monkeypatch.setattr(_groups, "FEW_IDS", values.size)
    slow_codes, slow_ids = _groups.factorize(values)
    np.testing.assert_array_equal(codes, slow_codes)
    np.testing.assert_array_equal(ids, slow_ids)
    assert ids.dtype == slow_ids.dtype
    np.testing.assert_array_equal(ids[codes], values)


@given(st.lists(st.integers(-3, 3) | st.integers(-(2**62), 2**62), min_size=1))
def test_small_hash_tables_equal_a_dictionary(values):
    words = np.array(values, dtype=np.int64).view(np.uint32).reshape(-1, 2)
    distinct = list(dict.fromkeys(values))
    for room in (len(distinct), len(distinct) - 1):
        slots = np.full(256, -1)
        codes, firsts = np.zeros(len(values), dtype=np.int64), np.zeros(room, int)
        keys = np.zeros((room, 2), dtype=np.uint32)
        count = grouping.number_ids(words, slots, keys, codes, firsts)
        if room < len(distinct):
            assert count == -1
            continue
        assert count == room
        assert [values[i] for i in firsts] == distinct
        assert [distinct[code] for code in codes] == values


@given(st.lists(st.binary(max_size=20), max_size=20), st.integers(0, 2**64 - 1))
def test_mixed_texts_equal_whole_numbers(texts, seed):
    """The same hash in whole numbers of Python, which do not overflow."""
    word, factor, wanted = 2**64 - 1, int(FACTOR), []
    for text in texts:
        mixed = seed
        for letter in [*text, len(text)]:
            mixed = ((mixed ^ letter) * factor) & word
            mixed ^= mixed >> 32
        wanted.append(mixed)
    offsets = np.cumsum([0, *map(len, texts)])
    found = np.empty(len(texts), dtype=np.uint64)
    letters = np.frombuffer(b"".join(texts), np.uint8)
    mix_texts(letters, offsets, np.uint64(seed), found)
    assert found.tolist() == wanted
