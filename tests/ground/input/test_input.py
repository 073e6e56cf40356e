"""Odd input: groups of every kind, missing values, text, frames, sparse matrices."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import argmetric as am
from refusing import refuses

NAN = math.nan
P = [0.9, 0.6, 0.2, 0.1]


def rows_of(groups):
    """Rows of every group, by id: one row is likely, and its group has a positive."""
    found = {}
    for row in range(len(groups)):
        p = np.where(np.arange(len(groups)) == row, 0.9, 0.1)
        decision = am.decide(p, "accuracy", groups=groups, average="groups")
        at = decision.group_n_positives.tolist().index(1)
        found.setdefault(decision.group_ids.tolist()[at], []).append(row)
    return found


def by_groups(groups):
    return am.decide(P, groups=groups, average="groups")


# ------------------------------------------------------------------ groups


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([1, "1", 1], {1: [0, 2], "1": [1]}),
        ([("a", 1), ("b", 1), ("a", 1)], {("a", 1): [0, 2], ("b", 1): [1]}),
        ((2, 1, 2), {2: [0, 2], 1: [1]}),
        (["x", "y", "x"], {"x": [0, 2], "y": [1]}),
        (["x", "x\0", "x"], {"x": [0, 2], "x\0": [1]}),
        ([2**70, 1, 2**70], {2**70: [0, 2], 1: [1]}),
        ([2**63, -1, 2**63 - 1], {2**63: [0], -1: [1], 2**63 - 1: [2]}),
        (pd.Series(["b", "a", "b"], dtype="category"), {"b": [0, 2], "a": [1]}),
        (pl.Series(["b", "a", "b"]), {"b": [0, 2], "a": [1]}),
        (pa.chunked_array([["b"], ["a", "b"]]), {"b": [0, 2], "a": [1]}),
    ],
)
def test_ids_are_taken_as_they_are(groups, expected):
    assert rows_of(groups) == expected


MISSING = {
    "list with None": ["a", "a", None, "b"],
    "list with nan": ["a", "a", NAN, "b"],
    "floats": np.array([1, 1, NAN, 2]),
    "numpy NaT": np.array(["2020", "2021", "NaT", "2020"], dtype="datetime64[D]"),
    "objects with pandas NaT": np.array([1, 1, pd.NaT, 2], dtype=object),
    "objects with NA": np.array(["a", "a", pd.NA, "b"], dtype=object),
    "nullable integers": pd.Series([1, 1, None, 2], dtype="Int64"),
    "strings": pd.Series(["a", "a", None, "b"], dtype="string"),
    "polars": pl.Series(["a", "a", None, "b"]),
    "pyarrow": pa.array([1, 1, None, 2]),
    "masked": np.ma.array([1, 1, 5, 2], mask=[0, 0, 1, 0]),
}


@pytest.mark.parametrize("average", ["groups", "pooled"])
@pytest.mark.parametrize("kind", MISSING)
def test_a_missing_id_is_an_error_that_names_the_row(kind, average):
    with pytest.raises(ValueError, match="groups has a missing value at row 2"):
        am.decide(P, groups=MISSING[kind], average=average)


@pytest.mark.parametrize("average", ["groups", "pooled"])
@pytest.mark.parametrize(
    ("groups", "pair"),
    [
        ([2, 1, 1.0, 2], "1 at row 1 and 1.0 at row 2"),
        ([0, "a", 1, True], "1 at row 2 and True at row 3"),
        ([0.0, 2, "a", False], "0.0 at row 0 and False at row 3"),
        (pd.Series([1, "b", "b", 1.0], dtype=object), "1 at row 0 and 1.0 at row 3"),
    ],
)
def test_ids_that_are_equal_but_of_different_types(groups, pair, average):
    with pytest.raises(ValueError, match=f"groups has {pair}: equal, but of different"):
        am.decide(P, groups=groups, average=average)


@pytest.mark.parametrize(
    "groups",
    [
        [2, 1.5, 1, 2],
        [np.int64(2), 1, 2, "a"],
        [True, "a", False, 2],
        [0, 0.5, "0", ()],
    ],
)
def test_ids_of_several_types_that_differ(groups):
    assert rows_of(groups) == {
        one: [i for i, other in enumerate(groups) if other == one] for one in groups
    }


def test_pooled_groups_are_checked():
    with pytest.raises(ValueError, match="groups has 3 rows but p has 4"):
        am.decide(P, groups=[1, 1, 1], average="pooled")
    assert am.decide(P, groups=list("abab"), average="pooled").n_positives == 2


# ----------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    "p",
    [
        [0.1, None],
        [0.1, pd.NA],
        [0.1, pd.NaT],
        np.ma.array([0.1, 0.2], mask=[0, 1]),
        np.ma.array([1, 0], mask=[0, 1]),
        np.ma.array([True, False], mask=[0, 1]),
        pd.Series([0.1, None], dtype="Float64"),
        pd.Series([0.1, pd.NA], dtype=object),
        pl.Series([0.1, None]),
        pl.Series([True, None]),
        pa.array([0.1, None]),
        pa.chunked_array([[0.1], [None]], type=pa.float64()),
    ],
)
def test_missing_probabilities_name_the_row(p):
    refuses(ValueError, "p has NaN at row 1", am.decide, p)


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([0.1, "0.5"], "p is not a number at row 1: '0.5'"),
        ([0.1, b"0.5"], "p is not a number at row 1: b'0.5'"),
        (np.array(["0.5", "x"]), "p is not a number at row 0: '0.5'"),
        (pd.Series([0.1, "0.5"], dtype=object), "p is not a number at row 1: '0.5'"),
        ([0.1, 0.5j], r"p is not a number at row 1: 0\.5j"),
        (np.array([0.5j]), r"p is not a number at row 0: 0\.5j"),
        ([[0.1, 0.2], [0.3, "x"]], "p is not a number at row 1, column 1: 'x'"),
        ("0.5", "p must be an array of numbers, not str"),
        (0.5, "p must be an array of numbers, not float"),
    ],
)
def test_text_and_complex_numbers_are_refused(p, message):
    with pytest.raises(TypeError, match=message):
        am.decide(p, average="macro" if np.ndim(p) == 2 else None)


def endless():
    yield from P


NO_ARRAYS = {
    "None": (None, "p must be an array of numbers, not None"),
    "dict": (dict.fromkeys("abcd", 0.5), r"not dict; pass list\(p.values\(\)\)"),
    "set": (set(P), "not set, which has no order; pass a list"),
    "generator": (endless(), r"not generator; pass list\(p\)"),
    "map": (map(float, P), r"not map; pass list\(p\)"),
    "values of a dict": ({"a": 0.5}.values(), r"not dict_values; pass list\(p\)"),
    "lazy frame": (pl.LazyFrame({"p": P}), r"not LazyFrame; pass p.collect\(\)"),
    "bytes": (b"0.5", "p must be an array of numbers, not bytes"),
    "bytearray": (bytearray(b"abc"), "p must be an array of numbers, not bytearray"),
    "function": (endless, "p must be an array of numbers, not function"),
    "huge": ([0.5, 10**400], "p is not a number at row 1: a value of type int"),
}


@pytest.mark.parametrize("kind", NO_ARRAYS)
def test_what_is_no_array_is_refused_with_the_way_out(kind):
    p, message = NO_ARRAYS[kind]
    refuses(TypeError, message, am.decide, p)
    if kind not in ("huge", "None"):
        refuses(TypeError, r"^groups must ", by_groups, p)


ROUNDED = [0.7, -1e-17, 1.0000001, float(np.float32(1) + np.finfo(np.float32).eps)]
EXACT = [0.7, 0.0, 1.0, 1.0]


def test_rounding_beyond_0_and_1_is_cut_off():
    given = np.array(ROUNDED)
    for average, shape in ((None, 4), ("macro", (4, 1)), ("samples", (2, 2))):
        one, other = (
            am.decide(np.reshape(p, shape), "jaccard", average=average)
            for p in (given, EXACT)
        )
        assert one.labels.tolist() == other.labels.tolist()
        assert one.expected == other.expected
    assert given.tolist() == ROUNDED
    assert (
        am.forecast(ROUNDED, [1, 0, 1, 1]).mean == am.forecast(EXACT, [1, 0, 1, 1]).mean
    )
    sparse = am.decide(sp.csr_array([ROUNDED]), average="samples")
    assert sparse.expected == am.decide([EXACT], average="samples").expected
    assert am.calibrate([0, 0, 1, 1], ROUNDED) == am.calibrate([0, 0, 1, 1], EXACT)


# ------------------------------------------------------ labels of the same kind


@pytest.mark.parametrize("make", [pd.Index, pd.array])
def test_pandas_without_an_index_gives_arrays(make):
    labels = am.decide(make(P)).labels
    assert isinstance(labels, np.ndarray)
    assert labels.tolist() == [1, 1, 0, 0]


def test_chunked_arrays_stay_chunked():
    labels = am.decide(pa.chunked_array([P[:2], P[2:]])).labels
    assert isinstance(labels, pa.ChunkedArray)
    assert labels.to_pylist() == [1, 1, 0, 0]


def test_square_polars_frames_are_not_turned():
    frame = pl.DataFrame({"a": [0.9, 0.8], "b": [0.1, 0.9]})
    labels = am.decide(frame, "accuracy", average="macro").labels
    assert labels.to_dict(as_series=False) == {"a": [1, 1], "b": [0, 1]}


@pytest.mark.parametrize(
    ("frame", "names"),
    [
        (pa.table({"x": P, "y": P}), ["x", "y"]),
        (pl.DataFrame({"x": P, "y": P}), ["x", "y"]),
        (pd.DataFrame({0: P, "y": P}), [0, "y"]),
        (pd.DataFrame({0: P, 1: P}), [0, 1]),
    ],
)
def test_macro_groups_are_the_columns(frame, names):
    decision = am.decide(frame, average="macro")
    assert decision.group_ids.tolist() == names
    curve = am.decide(P).curve
    np.testing.assert_allclose(decision.curve_of(names[0]), curve, rtol=1e-12)


# ------------------------------------------------------------------ sparse

DENSE = np.array([[0.9, 0.0, 0.2], [0.0, 0.7, 0.05]])


@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
def test_every_sparse_format(form, average):
    matrix = sp.csr_array(DENSE).asformat(form)
    before = matrix.toarray()
    decision = am.decide(matrix, average=average)
    dense = am.decide(DENSE, average=average)
    assert decision.labels.format == form
    assert decision.labels.toarray().tolist() == dense.labels.tolist()
    assert decision.expected == pytest.approx(dense.expected, rel=1e-12)
    assert (matrix.toarray() == before).all()


def test_sparse_nan_and_complex():
    matrix = sp.csr_array(DENSE)
    matrix.data[1] = NAN
    with pytest.raises(ValueError, match="p has NaN at row 0, column 2"):
        am.decide(matrix, average="samples")
    with pytest.raises(TypeError, match="p must hold numbers, not complex128"):
        am.decide(sp.csr_array(DENSE * 1j), average="samples")


@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
def test_evaluate_on_sparse_labels(average, monkeypatch):
    rng = np.random.default_rng(3)
    y_true, y_pred = rng.integers(0, 2, (2, 6, 4))
    dense = am.evaluate(y_true, y_pred, average=average)
    mixed = am.evaluate(sp.csr_array(y_true), y_pred, average=average)
    assert mixed == dense
    for kind in (sp.csr_array, sp.csc_matrix):
        a, b = kind(y_true), kind(y_pred)
        monkeypatch.setattr(type(a), "toarray", None)  # nothing is made dense
        assert am.evaluate(a, b, average=average) == pytest.approx(dense, rel=1e-14)


def broken(form, part, value):
    """A matrix of DENSE with one number of its parts changed."""
    matrix = sp.csr_array(DENSE).asformat(form)
    if part == "short":
        matrix.indptr = matrix.indptr[:-1]
    elif part == "uneven":
        matrix.data = matrix.data[:-1]
    else:
        getattr(matrix, part)[value[0]] = value[1]
    return matrix


BROKEN = [
    ("csr", "indices", (1, 10**9), "p has column 1000000000 at row 0, but 3 columns"),
    ("csr", "indices", (2, -1), "p has column -1 at row 1, but 3 columns"),
    ("csc", "indices", (0, 2), "p has row 2 at column 0, but 2 rows"),
    ("bsr", "indices", (0, 7), "p has column 7 at row 0, but"),
    ("csr", "indptr", (1, 9), "p has an indptr that does not rise from 0 to its 4"),
    ("csc", "indptr", (0, 1), "p has an indptr that does not rise from 0 to its 4"),
    ("csr", "short", None, "p has 2 values in indptr and 4 in indices; 3 and 4 are"),
    ("csr", "uneven", None, "p has 3 values in indptr and 4 in indices; 3 and 3 are"),
    ("coo", "row", (0, 5), "p has row 5 at entry 0, but 2 rows"),
    ("coo", "col", (3, -2), "p has column -2 at entry 3, but 3 columns"),
]


@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
@pytest.mark.parametrize(("form", "part", "value", "message"), BROKEN)
def test_a_broken_sparse_matrix_is_refused(form, part, value, message, average):
    refuses(ValueError, message, am.decide, broken(form, part, value), average=average)
    zeros = np.zeros(DENSE.shape)
    with pytest.raises(ValueError, match=message.replace("p has", "labels has")):
        am.forecast(zeros, broken(form, part, value), average=average)
    for truth in (sp.csr_array(zeros), zeros):
        with pytest.raises(ValueError, match=message.replace("p has", "labels has")):
            am.evaluate(truth, broken(form, part, value), average=average)


def test_rows_of_estimators_are_looked_at_too():
    X = broken("csc", "indices", (0, 10**9))
    for model in (
        am.MetricLogisticRegression(),
        am.MetricClassifier(),
        am.stream.OnlineClassifier(),
    ):
        with pytest.raises(ValueError, match="X has row 1000000000 at column 0, but 2"):
            model.fit(X, [0, 1])


# ---------------------------------------------------------------- evaluate
