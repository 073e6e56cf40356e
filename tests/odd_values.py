"""Values that nobody should pass, and valid values in forms that somebody will.

Each is made anew, so that a call cannot spoil it for the next, and has a name by which
a report says what was passed.
"""

import array  # noqa: F401 in expressions
import collections  # noqa: F401
import datetime
import io  # noqa: F401
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path  # noqa: F401

import numpy as np
import pandas as pd
import polars as pl  # noqa: F401
import pyarrow as pa  # noqa: F401
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
OTHERS = r"""
None; object(); int; len; _failing; ...; slice(None); list(); tuple(); dict(); set();
{1}; frozenset([0.5]); [1]; [None]; [[]]; [[], []]; [0.5, "x"]; ["a"]; [b"a"];
[[1, 2], [3]]; (1, 2); (1, 2, 3); {"a": 1}; {1: None}; collections.Counter("ab");
iter([1]); (one for one in (0.5, 1)); _Endless(); range(3);
collections.deque([0.5, 0.1]); {"a": 1}.keys(); _within_itself(); _nested(200);
_nested(5000); Path("."); Path("missing/file"); io.StringIO("p\n0.5\n");
io.BytesIO(b"p\n0.5\n"); bytearray(b"abc"); memoryview(b"abc");
array.array("d", [0.5, 0.1]); np.array([]); np.array(None); np.array(0.5); np.array(2);
np.array("f1"); np.zeros((2, 2, 2)); np.zeros((0, 3)); np.zeros((3, 0));
np.array(["a"]); np.array([0.5, np.nan]); np.zeros(6, dtype=[("p", float), ("y", int)]);
np.array([np.ones(2), np.ones(3), None], dtype=object);
np.ma.array([1, 2], mask=[0, 1]); np.ma.array([0.1, 0.2], mask=True);
pd.Series([0.5, 0.1]); pd.Series([], dtype=float); pd.DataFrame();
pd.DataFrame({"p": [0.5, 0.1]}); pl.Series([0.5, None]);
pl.DataFrame({"p": [0.5, 0.1]}); pl.LazyFrame({"p": [0.5, 0.1]}); pl.col("p");
pa.array([0.5, None]); pa.table({"p": [0.5, 0.1]}); pa.scalar(0.5);
sp.csr_array(np.eye(3)); sp.csr_matrix(np.eye(3)); sp.coo_array(np.array([0.5, 0.0]));
sp.dok_matrix(np.eye(2)); sp.lil_array(np.eye(2)); sp.csc_array((0, 0));
np.random.RandomState(0); np.random.default_rng(0); _Hostile()
"""


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


def _expressions(text, names=""):
    """Functions of these names by the expressions that they return."""
    found = [" ".join(one.split()) for one in text.split(";")]
    return {one: eval(f"lambda {names}: {one}", globals()) for one in found}


MADE = _expressions(OTHERS)
VALUES = {
    **{f"{type(v).__name__} {v!r:.20}": (lambda v=v: v) for v in NUMBERS + TEXTS},
    **MADE,
}
SCALARS = [*list(VALUES)[: len(VALUES) - len(MADE)], "None", "list()", "dict()"]
SCALARS.append("_Hostile()")


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
FORMS_OF_ARRAYS = r"""
v.tolist(); tuple(v.tolist()); list(v); (one for one in v); set(v.ravel().tolist());
dict(enumerate(v.tolist())); str(v.tolist()); _frozen(v); np.repeat(v, 2, axis=0)[::2];
v[::-1].copy()[::-1]; np.asfortranarray(v); _misaligned(v); _record(v);
v.view(_Subclass); np.asmatrix(v); np.broadcast_to(v[:1], v.shape); v[:, None]; v[None];
np.ravel(v); v.T; v[:-1]; np.concatenate([v, v]); v[:1]; v[:0];
[*v.tolist()[:-1], [1, 2, 3]]; np.full_like(v, v.flat[0]); -v; v.astype(float) * 1e308;
v.astype(float) * 1e-320; np.zeros_like(v); v.astype(float) * -0.0; np.ones_like(v);
_put(np.nan)(v); _put(np.inf)(v); _put(-np.inf)(v); _put(1e308)(v);
np.full(v.shape, np.nan); np.ma.array(v);
np.ma.array(v, mask=np.arange(v.size).reshape(v.shape) == 1); np.ma.array(v, mask=True);
pd.Series(v); pd.Series(v, index=[0] * len(v)); pd.Series(v).astype("category");
pd.Series(v).convert_dtypes(); pd.Series([*v.tolist()[:-1], pd.NA]).convert_dtypes();
pd.Series(v).astype(str); pd.Series(pd.arrays.SparseArray(v));
pd.Series(pa.array(v)).convert_dtypes(dtype_backend="pyarrow"); pd.Index(v);
pd.DataFrame(v); pd.DataFrame(np.atleast_2d(v.T).T).rename(columns=lambda _: "a");
pl.Series(v) if v.ndim == 1 else pl.DataFrame(v); pl.Series([*v.tolist()[:-1], None]);
pl.Series(v.tolist(), dtype=pl.Object); pl.Series(v.astype(str)).cast(pl.Categorical);
pl.Series(v.tolist()).cast(pl.Decimal(10, 2)); pa.array(v);
pa.chunked_array([pa.array(v[:2]), pa.array(v[2:])]);
pa.array([*v.tolist()[:-1], None]); pa.array(v.astype(str)).dictionary_encode();
sp.coo_array(v);
sp.csr_array((np.r_[v, v], (np.zeros(2 * len(v), int), np.r_[: len(v), : len(v)])));
memoryview(np.ascontiguousarray(v)); array.array("d", v.tolist());
collections.deque(v.tolist()); np.array(v[0]); _wrapped(v)
"""


def _wrapped(value):
    made = np.empty((), dtype=object)
    made[()] = value
    return made


FORMS = {
    **{f"dtype {one}": (lambda v, one=one: v.astype(one)) for one in DTYPES},
    **_expressions(FORMS_OF_ARRAYS, "v"),
    **{
        name: (lambda v, name=name: getattr(sp, name)(np.atleast_2d(v)))
        for kind in ("csr", "csc", "coo", "dok", "lil", "dia", "bsr")
        for name in (f"{kind}_array", f"{kind}_matrix")
    },
}
