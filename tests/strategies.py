"""Hypothesis strategies for the inputs that break numerical code."""

from __future__ import annotations

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

NASTY = (
    *(0.0, 1.0, 0.5, 1e-300, 1e-17, 1e-12, 0.1, 0.3, 1 / 3, 0.7, 1 - 1e-12, 1 - 1e-16),
    *(1 - 2**-53, 2**-53),
)

nasty = st.sampled_from(NASTY)
plain = st.floats(0, 1, allow_subnormal=False)
tenths = st.integers(0, 10).map(lambda i: i / 10)
log_uniform = st.floats(-300, 0).map(lambda e: 10.0**e)
one_minus_log_uniform = st.floats(-16, 0).map(lambda e: 1 - 10.0**e)
certain = st.sampled_from((0.0, 1.0))
moderate = st.floats(0.01, 0.99).map(lambda x: round(x, 6))
any_probability = st.one_of(
    nasty, plain, tenths, log_uniform, one_minus_log_uniform, moderate
)


@st.composite
def probability_vectors(draw, min_size=1, max_size=8):
    """A vector of one kind of number, or of a mixture of kinds, or all equal."""
    if draw(st.integers(0, 5)) == 0:
        size = draw(st.integers(min_size, max_size))
        return np.full(size, draw(any_probability))
    kinds = (
        nasty,
        plain,
        tenths,
        log_uniform,
        one_minus_log_uniform,
        certain,
        moderate,
        any_probability,
    )
    kind = draw(st.sampled_from(kinds))
    return np.array(draw(st.lists(kind, min_size=min_size, max_size=max_size)), float)


@st.composite
def moderate_vectors(draw, min_size=1, max_size=8):
    """Probabilities at a distance from 0 and 1, with ties now and then."""
    kind = draw(st.sampled_from((moderate, st.integers(1, 9).map(lambda i: i / 10))))
    return np.array(draw(st.lists(kind, min_size=min_size, max_size=max_size)), float)


ID_POOLS = (
    [3, -1, 7, 2],
    ["b", "a", "order 10", "order 9", ""],
    [2.5, -0.0, 1e9],
    [True, False],
)


@st.composite
def grouped_vectors(draw, max_size=14, numbers=any_probability):
    """Probabilities with group ids: any kind, any order, groups of one among them."""
    pool = draw(st.sampled_from(ID_POOLS))
    ids = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=max_size))
    p = draw(st.lists(numbers, min_size=len(ids), max_size=len(ids)))
    return np.array(p, float), np.array(ids)


@st.composite
def probability_matrices(draw, max_rows=4, max_columns=5, numbers=any_probability):
    """A matrix with zeros among its entries, as a sparse one would have."""
    rows = draw(st.integers(1, max_rows))
    columns = draw(st.integers(1, max_columns))
    size = rows * columns
    entries = st.one_of(st.just(0.0), numbers)
    cells = draw(st.lists(entries, min_size=size, max_size=size))
    matrix = np.array(cells, float).reshape(rows, columns)
    # Two columns that always sum to 1 are refused: they are not two labels.
    assume(columns != 2 or rows < 3 or (abs(matrix.sum(axis=1) - 1) > 1e-6).any())
    return matrix


@st.composite
def vectors_with_labels(draw, max_size=9, numbers=any_probability):
    """Probabilities and an arbitrary 0/1 prediction."""
    size = draw(st.integers(1, max_size))
    p = draw(st.lists(numbers, min_size=size, max_size=size))
    labels = draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
    return np.array(p, float), np.array(labels)
