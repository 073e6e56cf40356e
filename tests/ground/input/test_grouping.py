"""Rows and ids of groups are numbered as dictionaries do, at any size and type."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import argmetric as am
from argmetric._ground.kernels.grouping import FACTOR, mix_texts

ROWS = 5000  # more than are sorted: ids are counted, or hashed


@settings(max_examples=20)
@given(
    st.sampled_from(["i1", "u1", "i2", "u4", "i8", "u8"]),
    st.sampled_from(["low", "middle", "high"]),
    st.lists(st.integers(0, 9), min_size=1, max_size=60),
)
def test_ids_that_lie_close_are_numbered_by_counting(kind, where, values):
    """Also at both ends of what a type can hold, where differences wrap around."""
    info = np.iinfo(kind)
    low = {"low": info.min, "middle": info.max // 2, "high": info.max - 9}[where]
    ids = np.resize(np.array([low + value for value in values], dtype=kind), ROWS)
    p = np.linspace(0.1, 0.9, ROWS)
    found = am.decide(p, "accuracy", groups=ids, average="groups")
    assert found.group_ids.tolist() == list(dict.fromkeys(ids.tolist()))
    assert found.group_ids.dtype == ids.dtype
    np.testing.assert_array_equal(found.labels, p > 0.5)
    counts = [(p[ids == one] > 0.5).sum() for one in found.group_ids]
    assert found.group_n_positives.tolist() == counts


@pytest.mark.parametrize("count", [1, 2, 1023, 1024, 1025, 16_383, 16_384, 100_000])
def test_rows_of_a_group_stay_in_order(count):
    """Equal scores: the first row of each group is the one that is chosen."""
    rng = np.random.default_rng(count)
    ids = rng.permutation(np.append(np.arange(count), rng.integers(0, count, 3000)))
    limits = {"min_positives": 1, "max_positives": 1, "average": "groups"}
    found = am.decide(np.full(ids.size, 0.3), groups=ids, **limits)
    chosen = np.flatnonzero(found.labels)
    np.testing.assert_array_equal(chosen, np.sort(np.unique(ids, return_index=True)[1]))


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


ID_KINDS = {
    "close": lambda ids: ids - 7,
    "wide": lambda ids: ids.astype(np.int64) * 1_000_003_000_007 - 2**40,
    "unsigned": lambda ids: np.uint64(2**64 - 1) - ids.astype(np.uint64) * np.uint64(9),
    "text": lambda ids: np.char.add("order-", ids.astype(str)),
    "bytes": lambda ids: np.char.add("o", ids.astype(str)).astype("S"),
    "fractions": lambda ids: np.where(ids == 3, -0.0, ids / 3 - 1.0),
    "days": lambda ids: np.datetime64("1999-01-01") + ids,
}


@pytest.mark.parametrize("kind", ID_KINDS)
@pytest.mark.parametrize("count", [4096, 16_384])
def test_shuffled_groups_are_decided_as_sorted_ones(kind, count):
    """On both sides of what sorts the ids, and of what sorts the rows by group."""
    rng = np.random.default_rng(count)
    p, order = rng.random(2 * count), rng.permutation(2 * count)
    ids = np.repeat(np.arange(count), 2)
    wanted = am.decide(p, "f1", groups=ids, average="groups")
    found = am.decide(
        p[order], "f1", groups=ID_KINDS[kind](ids)[order], average="groups"
    )
    np.testing.assert_array_equal(found.labels, wanted.labels[order])
    assert found.expected == pytest.approx(wanted.expected, rel=1e-13)
    firsts = dict.fromkeys(ids[order].tolist())
    np.testing.assert_array_equal(
        found.group_n_positives, wanted.group_n_positives[list(firsts)]
    )


@pytest.mark.parametrize("n", [4096, 4097])
def test_ids_of_extended_floats(n):
    """Where they have padding, its bytes are of any value."""
    ids = (np.arange(n) % 7).astype(np.longdouble)
    used = 10 if np.finfo(np.longdouble).nmant == 63 else ids.itemsize
    padding = ids.view(np.uint8).reshape(n, -1)[:, used:]
    padding[:] = np.random.default_rng(0).integers(0, 256, padding.shape)
    found = am.decide(np.full(n, 0.3), groups=ids, average="groups")
    np.testing.assert_array_equal(found.group_ids, np.arange(7))
