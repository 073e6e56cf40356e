"""What is kept of an answer: short, exact where it can be, comparable to 1e-12."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import os
import re
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

Digest = dict[str, Any]
TOLERANCE = 1e-12  # absolute, or relative where that is larger
SHORT = 4  # entries of an array or a list that are kept one by one
DEEPEST = 4
# Pictures, maps drawn by the dozen, and what is given again by other attributes
SKIPPED = {"ax_", "figure_", "line_", "alternatives", "draws", "draws_", "parts"}
SKIPPED |= {"versions", "seconds", "rows_per_second", "bytes"}
CHANGING = re.compile(
    r" at 0x[0-9a-f]+|\b\d+\.\d s\b|\b[\d.]+ [kM]?B\b|\b[\d,]+ \w+ a second"
)
TEXT = "text"  # path of the printed form
LONG_NUMBER = re.compile(r"\d+\.\d{9,}(?:e[-+]?\d+)?")
LONGEST = 3000  # characters of a text that is kept as it is


def outcome(call: Callable[[], Any]) -> Digest:
    """The digest of what a call returns or raises, and of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except (Exception, SystemExit) as error:
            found: Digest = {"raises": f"{type(error).__name__}: {error}"}
        else:
            found = {}
            put(found, "", result, 0)
            if is_ours(result):
                put(found, TEXT, str(result), 0)
    told = {f"{one.category.__name__}: {one.message}" for one in caught}
    for i, message in enumerate(sorted(told)):
        found[f"warning {i}"] = message
    return found


def is_ours(value: Any) -> bool:
    return type(value).__module__.startswith("argmetric")


def put(found: Digest, path: str, value: Any, depth: int) -> None:
    """Add the leaves of a value; a path names the way to each."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        value = plain(value)
    if isinstance(value, str) and len(value) > LONGEST:
        found[path] = f"{len(value)} characters, {hashed(value.encode())}"
    elif value is None or isinstance(value, bool | int | float | str):
        found[path] = value
    elif sparse.issparse(value):
        found[f"{path}.stored"] = int(value.nnz)
        put(found, path, value.toarray(), depth)
    elif isinstance(value, np.ndarray):
        put_array(found, path, value, depth)
    elif type(value).__module__.split(".")[0] in ("pandas", "polars", "pyarrow"):
        value = value.collect() if hasattr(value, "collect") else value  # a lazy frame
        names = getattr(value, "column_names", None) or list(value.columns)
        put(found, path, {one: np.asarray(value[one]) for one in names}, depth)
    elif depth > DEEPEST:
        found[path] = type(value).__name__
    elif isinstance(value, Mapping):
        found[f"{path}.keys"] = ", ".join(map(str, value))
        for key, one in value.items():
            if key not in SKIPPED:
                put(found, f"{path}.{key}", one, depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        put_list(found, path, sorted(value) if isinstance(value, set) else value, depth)
    elif is_ours(value):
        put_object(found, path, value, depth)
    else:
        found[path] = type(value).__name__


def plain(text: str) -> str:
    """A text without folder, addresses and times, and with at most eight digits."""
    text = CHANGING.sub("", text.replace(os.getcwd(), "."))
    text = re.sub(" +$", "", text, flags=re.MULTILINE)  # as wide as what was left out
    return LONG_NUMBER.sub(lambda found: f"{float(found[0]):.8g}", text)


def put_array(found: Digest, path: str, value: np.ndarray, depth: int) -> None:
    if value.size <= SHORT or value.dtype.kind == "O":
        found[f"{path}.shape"] = str(value.shape)
        put_list(found, path, value.ravel().tolist(), depth)
        return
    found[f"{path}.array"] = f"{value.dtype}{value.shape}"
    flat = value.ravel()
    if value.dtype.kind != "f":
        found[f"{path}.hash"] = hashed(np.ascontiguousarray(flat).tobytes())
        if value.dtype.kind in "biu":
            found[f"{path}.sum"] = int(flat.sum(dtype=np.int64))
        return
    finite = np.isfinite(flat)
    if not finite.all():
        odd = np.where(finite, "", flat.astype(str))
        found[f"{path}.odd"] = hashed("|".join(odd).encode())
    flat = np.where(finite, flat, 0.0).astype(np.float64)
    weights = projections(flat.size)
    found[f"{path}.mean"] = math.fsum(flat) / flat.size
    found[f"{path}.first projection"] = float(weights[0] @ flat)
    found[f"{path}.second projection"] = float(weights[1] @ flat)
    found[f"{path}.range"] = [float(flat.min()), float(flat.max())]


@lru_cache(8)
def projections(n: int) -> np.ndarray:
    """Weights that leave independent errors of the entries as large as they are."""
    return (np.random.default_rng(n).random((2, n)) - 0.5) * math.sqrt(12 / n)


def put_list(found: Digest, path: str, value: Any, depth: int) -> None:
    kinds = {type(one) for one in value}
    if len(value) > SHORT and kinds <= {float, int} and float in kinds:
        put_array(found, path, np.array(value, dtype=np.float64), depth)
    elif kinds <= {int, bool, str, float, type(None)} and len(value) <= SHORT:
        found[path] = list(value)
    elif kinds <= {int, bool, str, type(None)} or (
        len(value) > 12 and not any(map(is_ours, value)) and no_floats(value)
    ):
        found[f"{path}.list"] = f"{len(value)} {hashed(repr(list(value)).encode())}"
    else:
        found[f"{path}.length"] = len(value)
        for i, one in enumerate(value[:12]):
            put(found, f"{path}[{i}]", one, depth + 1)


def no_floats(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(no_floats, value))
    return isinstance(value, str | int | None)


def put_object(found: Digest, path: str, value: Any, depth: int) -> None:
    """Public attributes of a result, a fitted model or a metric."""
    from argmetric import Metric

    if isinstance(value, Metric | type) or callable(value):
        found[path] = value.__name__ if isinstance(value, type) else plain(repr(value))
        return
    if depth == 0:
        found[f"{path}.type"] = type(value).__name__
    names_of_distribution = {"values", "probabilities"}
    if names_of_distribution <= set(dir(value)):
        put_distribution(found, path, value.values, value.probabilities)
    if depth > 1:
        if hasattr(value, "to_dict"):
            put(found, path, value.to_dict(), depth)
        elif dataclasses.is_dataclass(value):
            for one in dataclasses.fields(value):
                if not one.name.startswith("_") and one.name not in SKIPPED:
                    put(
                        found, f"{path}.{one.name}", getattr(value, one.name), depth + 1
                    )
        return
    for name in dir(value):
        if name.startswith("_") or name in SKIPPED or name in names_of_distribution:
            continue
        try:
            one = getattr(value, name)
        except Exception as error:
            found[f"{path}.{name}"] = f"{type(error).__name__}: {error}"
            continue
        if not callable(one) or isinstance(one, Metric):
            put(found, f"{path}.{name}", one, depth + 1)


def put_distribution(found: Digest, path: str, values: Any, p: Any) -> None:
    """Means of smooth functions: points of next to no probability may come and go."""
    x, p = np.asarray(values, float), np.asarray(p, float)
    for i, one in enumerate((x * 0 + 1, x, x * x, x**3, np.cos(7 * x), np.sin(19 * x))):
        kept = np.isfinite(one) & (p > 0)
        found[f"{path}.law {i}"] = math.fsum(one[kept] * p[kept])


def hashed(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()[:12]


# ------------------------------------------------------------------- comparison


def differences(recorded: Digest, now: Digest) -> list[tuple[str, Any, Any, float]]:
    """Path, recorded leaf, leaf now, and by how much two numbers differ.

    An attribute that was not there when the call was recorded is no difference.
    """
    found = []
    for path, before in recorded.items():
        after = now.get(path, "(missing)")
        distance = apart(before, after)
        if distance > TOLERANCE:
            found.append((path, before, after, distance))
    for path in now.keys() - recorded.keys():
        if path.startswith(("raises", "warning")):
            found.append((path, "(missing)", now[path], math.inf))
    return found


def apart(before: Any, after: Any) -> float:
    """Distance of two leaves, relative where they are above 1; 0 where equal."""
    if isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            return math.inf
        return max(map(apart, before, after), default=0.0)
    if type(before) is not type(after):
        return math.inf
    if before == after or (before != before and after != after):
        return 0.0
    if not isinstance(before, float) or not math.isfinite(before - after):
        return math.inf
    return abs(before - after) / max(1.0, abs(before), abs(after))
