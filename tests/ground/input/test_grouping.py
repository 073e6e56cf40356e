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
