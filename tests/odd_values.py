"""Values that nobody should pass, and valid values in forms that somebody will.

Each is made anew, so that a call cannot spoil it for the next, and has a name by which
a report says what was passed.
"""

import array
import collections
import datetime
import io
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

NUMBERS = (
    *(-1, 0, 1, 2, 3, 7, 10**12, 2**31, 2**63, 2**70, -(2**70), 10**400, -(10**400)),
    *(0.5, -0.5, 1.5, 1e-300, 1e300, 1e308, -1e308, 1e-320, 5e-324, -0.0, 1 - 1e-16),
    *(math.nan, math.inf, -math.inf, True, False, 1j, 3.4e38, 1e39),
    *(np.float32(0.5), np.int64(0), np.int64(3), np.uint64(2**63), np.uint8(255)),
    *(np.float16(3), np.float16("nan"), np.longdouble(0.5), np.longdouble("1e4000")),
    *(np.bool_(True), np.complex64(1), np.int8(-1), np.float64("inf")),
    *(np.timedelta64(1, "s"), np.timedelta64("NaT", "s"), np.datetime64("2020-01-01")),
    *(Decimal("0.5"), Decimal("sNaN"), Decimal("1e999"), Fraction(1, 3)),
    *(pd.NA, pd.NaT, np.ma.masked, datetime.date(2020, 1, 1)),
)
TEXTS = (
    *("", " ", "abc", "nan", "inf", "0.5", "1", "é\0", "\ud800", "a" * 5000, "-"),
    *(".", "..", "missing/file.csv", "missing.json", "file\0.json", "~", "%s {0}"),
    *(b"", b"abc", b"\xff", np.str_("f1"), np.bytes_(b"f1"), "F1", "f0", "f-1", "fnan"),
    *("f1e999", "precision@0", "auto", "groups", "macro", "a\nb", "\u202e", "[bold]"),
)
OTHERS = {
    "None": lambda: None,
    "an object": object,
    "a class": lambda: int,
    "a function": lambda: len,
    "a function that fails": lambda: _failing,
    "Ellipsis": lambda: ...,
    "slice": lambda: slice(None),
    "[]": list,
    "()": tuple,
    "{}": dict,
    "set()": set,
    "{1}": lambda: {1},
    "frozenset": lambda: frozenset([0.5]),
    "[1]": lambda: [1],
    "[None]": lambda: [None],
    "[[]]": lambda: [[]],
    "[[], []]": lambda: [[], []],
    "[0.5, 'x']": lambda: [0.5, "x"],
    "['a']": lambda: ["a"],
    "[b'a']": lambda: [b"a"],
    "ragged": lambda: [[1, 2], [3]],
    "(1, 2)": lambda: (1, 2),
    "(1, 2, 3)": lambda: (1, 2, 3),
    "{'a': 1}": lambda: {"a": 1},
    "{1: None}": lambda: {1: None},
    "Counter": lambda: collections.Counter("ab"),
    "iterator": lambda: iter([1]),
    "generator": lambda: (one for one in (0.5, 1)),
    "endless": lambda: _Endless(),
    "range": lambda: range(3),
    "deque": lambda: collections.deque([0.5, 0.1]),
    "dict keys": lambda: {"a": 1}.keys(),
    "a list within itself": lambda: _within_itself(),
    "nested 200 deep": lambda: _nested(200),
    "nested 5000 deep": lambda: _nested(5000),
    "Path('.')": lambda: Path("."),
    "Path('missing')": lambda: Path("missing/file"),
    "StringIO": lambda: io.StringIO("p\n0.5\n"),
    "BytesIO": lambda: io.BytesIO(b"p\n0.5\n"),
    "bytearray": lambda: bytearray(b"abc"),
    "memoryview": lambda: memoryview(b"abc"),
    "array.array": lambda: array.array("d", [0.5, 0.1]),
    "np.array([])": lambda: np.array([]),
    "np.array(None)": lambda: np.array(None),
    "np.array(0.5)": lambda: np.array(0.5),
    "np.array(2)": lambda: np.array(2),
    "np.array('f1')": lambda: np.array("f1"),
    "zeros (2, 2, 2)": lambda: np.zeros((2, 2, 2)),
    "zeros (0, 3)": lambda: np.zeros((0, 3)),
    "zeros (3, 0)": lambda: np.zeros((3, 0)),
    "array of text": lambda: np.array(["a"]),
    "array with nan": lambda: np.array([0.5, np.nan]),
    "array of records": lambda: np.zeros(6, dtype=[("p", float), ("y", int)]),
    "array of arrays": lambda: np.array([np.ones(2), np.ones(3), None], dtype=object),
    "masked": lambda: np.ma.array([1, 2], mask=[0, 1]),
    "all masked": lambda: np.ma.array([0.1, 0.2], mask=True),
    "Series": lambda: pd.Series([0.5, 0.1]),
    "empty Series": lambda: pd.Series([], dtype=float),
    "empty frame": pd.DataFrame,
    "frame": lambda: pd.DataFrame({"p": [0.5, 0.1]}),
    "polars Series": lambda: pl.Series([0.5, None]),
    "polars frame": lambda: pl.DataFrame({"p": [0.5, 0.1]}),
    "polars lazy": lambda: pl.LazyFrame({"p": [0.5, 0.1]}),
    "polars column": lambda: pl.col("p"),
    "arrow array": lambda: pa.array([0.5, None]),
    "arrow table": lambda: pa.table({"p": [0.5, 0.1]}),
    "arrow scalar": lambda: pa.scalar(0.5),
    "csr_array": lambda: sp.csr_array(np.eye(3)),
    "csr_matrix": lambda: sp.csr_matrix(np.eye(3)),
    "coo_array of one dimension": lambda: sp.coo_array(np.array([0.5, 0.0])),
    "dok_matrix": lambda: sp.dok_matrix(np.eye(2)),
    "lil_array": lambda: sp.lil_array(np.eye(2)),
    "empty csc_array": lambda: sp.csc_array((0, 0)),
    "RandomState": lambda: np.random.RandomState(0),
    "Generator": lambda: np.random.default_rng(0),
    "hostile": lambda: _Hostile(),
}


def _failing(*given, **named):
    raise ValueError("this function always fails")


class _Endless:
    """A sequence that never ends, and says so nowhere."""

    def __getitem__(self, i):
        if i > 10**6:
            raise MemoryError("an endless sequence was read to its end")
        return 0.5


class _Hostile:
    """Compares, hashes and prints with an error."""

    def __eq__(self, other):
        raise ValueError("not to be compared")

    def __hash__(self):
        raise TypeError("not to be hashed")

    def __repr__(self):
        raise ValueError("not to be printed")


def _within_itself():
    made = [0.5]
    made.append(made)
    return made


def _nested(depth):
    made = [0.5]
    for _ in range(depth):
        made = [made]
    return made


VALUES = {
    **{f"{type(v).__name__} {v!r:.20}": (lambda v=v: v) for v in NUMBERS + TEXTS},
    **OTHERS,
}
SCALARS = [*list(VALUES)[: len(VALUES) - len(OTHERS)], "None", "[]", "{}", "hostile"]


# --------------------------------------------------- valid values in another form


def _put(value):
    """As floats, with the value in the middle."""

    def changed(values):
        values = values.astype(float)
        values.flat[values.size // 2] = value
        return values

    return changed


def _frozen(values):
    values = values.copy()
    values.flags.writeable = False
    return values


def _misaligned(values):
    raw = np.zeros(values.nbytes + 1, np.uint8)[1:]
    made = raw.view(values.dtype).reshape(values.shape)
    made[...] = values
    return made


def _record(values):
    """A column of a table of records: its rows lie apart."""
    table = np.zeros(values.shape, dtype=[("other", "i1"), ("p", values.dtype)])
    table["p"] = values
    return table["p"]


class _Subclass(np.ndarray):
    pass


# Numpy 2 has them
STRINGS = [np.dtypes.StringDType()] if hasattr(np.dtypes, "StringDType") else []
DTYPES = (
    *("f2", "f4", ">f8", "g", "c8", "i1", "i8", ">i4", "u1", "u8", "?", "O", "S", "U"),
    *("M8[s]", "m8[s]", *STRINGS),
)
FORMS = {
    **{f"dtype {one}": (lambda v, one=one: v.astype(one)) for one in DTYPES},
    "list": lambda v: v.tolist(),
    "tuple": lambda v: tuple(v.tolist()),
    "list of numpy": lambda v: list(v),
    "generator": lambda v: (one for one in v),
    "set": lambda v: set(v.ravel().tolist()),
    "dict": lambda v: dict(enumerate(v.tolist())),
    "text of all": lambda v: str(v.tolist()),
    "read-only": _frozen,
    "strided": lambda v: np.repeat(v, 2, axis=0)[::2],
    "backwards": lambda v: v[::-1].copy()[::-1],
    "fortran": np.asfortranarray,
    "misaligned": _misaligned,
    "column of records": _record,
    "subclass": lambda v: v.view(_Subclass),
    "np.matrix": np.asmatrix,
    "broadcast": lambda v: np.broadcast_to(v[:1], v.shape),
    "column": lambda v: v[:, None],
    "row": lambda v: v[None],
    "flat": np.ravel,
    "transposed": lambda v: v.T,
    "shorter": lambda v: v[:-1],
    "longer": lambda v: np.concatenate([v, v]),
    "one": lambda v: v[:1],
    "none": lambda v: v[:0],
    "ragged": lambda v: [*v.tolist()[:-1], [1, 2, 3]],
    "all equal": lambda v: np.full_like(v, v.flat[0]),
    "negative": lambda v: -v,
    "huge": lambda v: v.astype(float) * 1e308,
    "tiny": lambda v: v.astype(float) * 1e-320,
    "zeros": np.zeros_like,
    "minus zeros": lambda v: v.astype(float) * -0.0,
    "ones": np.ones_like,
    "with nan": _put(np.nan),
    "with inf": _put(np.inf),
    "with -inf": _put(-np.inf),
    "with 1e308": _put(1e308),
    "all nan": lambda v: np.full(v.shape, np.nan),
    "masked, none": np.ma.array,
    "masked, one": lambda v: np.ma.array(
        v, mask=np.arange(v.size).reshape(v.shape) == 1
    ),
    "masked, all": lambda v: np.ma.array(v, mask=True),
    "Series": lambda v: pd.Series(v),
    "Series, same index": lambda v: pd.Series(v, index=[0] * len(v)),
    "Series, category": lambda v: pd.Series(v).astype("category"),
    "Series, nullable": lambda v: pd.Series(v).convert_dtypes(),
    "Series, NA": lambda v: pd.Series([*v.tolist()[:-1], pd.NA]).convert_dtypes(),
    "Series, text": lambda v: pd.Series(v).astype(str),
    "Series, sparse": lambda v: pd.Series(pd.arrays.SparseArray(v)),
    "Series, arrow": lambda v: pd.Series(pa.array(v)).convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "Index": pd.Index,
    "frame": lambda v: pd.DataFrame(v),
    "frame, same names": lambda v: pd.DataFrame(np.atleast_2d(v.T).T).rename(
        columns=lambda _: "a"
    ),
    "polars": lambda v: pl.Series(v) if v.ndim == 1 else pl.DataFrame(v),
    "polars, null": lambda v: pl.Series([*v.tolist()[:-1], None]),
    "polars, objects": lambda v: pl.Series(v.tolist(), dtype=pl.Object),
    "polars, categories": lambda v: pl.Series(v.astype(str)).cast(pl.Categorical),
    "polars, decimals": lambda v: pl.Series(v.tolist()).cast(pl.Decimal(10, 2)),
    "arrow": lambda v: pa.array(v),
    "arrow, chunked": lambda v: pa.chunked_array([pa.array(v[:2]), pa.array(v[2:])]),
    "arrow, null": lambda v: pa.array([*v.tolist()[:-1], None]),
    "arrow, dictionary": lambda v: pa.array(v.astype(str)).dictionary_encode(),
    **{
        name: (lambda v, name=name: getattr(sp, name)(np.atleast_2d(v)))
        for kind in ("csr", "csc", "coo", "dok", "lil", "dia", "bsr")
        for name in (f"{kind}_array", f"{kind}_matrix")
    },
    "coo of one dimension": lambda v: sp.coo_array(v),
    "csr, twice the same": lambda v: sp.csr_array(
        (np.r_[v, v], (np.zeros(2 * len(v), int), np.r_[: len(v), : len(v)]))
    ),
    "memoryview": lambda v: memoryview(np.ascontiguousarray(v)),
    "array.array": lambda v: array.array("d", v.tolist()),
    "deque": lambda v: collections.deque(v.tolist()),
    "0-d": lambda v: np.array(v[0]),
    "0-d objects": lambda v: _wrapped(v),
}


def _wrapped(value):
    made = np.empty((), dtype=object)
    made[()] = value
    return made
