"""Expected metrics by plain quadratic sums, in the widest floats there are.

Nothing here is shared with argmetric: the metrics are written out anew, the sums run
over all outcomes that matter. np.longdouble is 128-bit quad on aarch64 and 80-bit
extended on x86.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray


def _ratio(
    above: Array, below: Array, zero: float, dtype: type = np.longdouble
) -> Array:
    out = np.full(np.broadcast_shapes(above.shape, below.shape), zero, dtype=dtype)
    above, below = np.asarray(above, dtype), np.asarray(below, dtype)
    np.divide(above, below, out=out, where=below != 0)
    return out


def _rates(tp: Array, k: Array, t: Array, n: int, zero: float) -> tuple[Array, Array]:
    """Doubles do: the metrics of the rates are judged by their absolute error."""
    rejected = _ratio(n - k - t + tp, n - t, zero, np.float64)
    return _ratio(tp, t, zero, np.float64), rejected


def _fbeta(square: float) -> Callable[..., Array]:
    return lambda tp, k, t, n, zero: _ratio((1 + square) * tp, k + square * t, zero)


def _balanced_accuracy(tp: Array, k: Array, t: Array, n: int, zero: float) -> Array:
    """The absent class is dropped, whatever `zero` says."""
    hits, rejections = _ratio(tp, t, 0.0), _ratio(n - k - t + tp, n - t, 0.0)
    return np.where(t == 0, rejections, np.where(t == n, hits, (hits + rejections) / 2))


def _fowlkes_mallows(tp: Array, k: Array, t: Array, n: int, zero: float) -> Array:
    one_empty = (k == 0) != (t == 0)
    root = np.sqrt((k * t).astype(np.longdouble))
    return np.where(one_empty, 0.0, _ratio(tp, root, zero))


def _mcc(tp: Array, k: Array, t: Array, n: int, zero: float) -> Array:
    root = np.sqrt((k * t * (n - k) * (n - t)).astype(np.longdouble))
    return _ratio(n * tp - k * t, root, 0.0)


def _kappa(tp: Array, k: Array, t: Array, n: int, zero: float) -> Array:
    return _ratio(2 * (n * tp - k * t), k * (n - t) + t * (n - k), zero)


def _gmean(tp: Array, k: Array, t: Array, n: int, zero: float) -> Array:
    hits, rejections = _rates(tp, k, t, n, zero)
    return np.sqrt(hits * rejections)


def _hmean(tp: Array, k: Array, t: Array, n: int, zero: float) -> Array:
    hits, rejections = _rates(tp, k, t, n, zero)
    return _ratio(2 * hits * rejections, hits + rejections, 0.0, np.float64)


def _qmean(tp: Array, k: Array, t: Array, n: int, zero: float) -> Array:
    hits, rejections = _rates(tp, k, t, n, zero)
    return 1 - np.sqrt(((1 - hits) ** 2 + (1 - rejections) ** 2) / 2)


# Values from counts, 0/0 = zero where the metric has such cases.
VALUES: dict[str, Callable[..., Array]] = {
    "f1": _fbeta(1.0),
    "f2": _fbeta(4.0),
    "jaccard": lambda tp, k, t, n, zero: _ratio(tp, k + t - tp, zero),
    "balanced_accuracy": _balanced_accuracy,
    "fowlkes_mallows": _fowlkes_mallows,
    "mcc": _mcc,
    "kappa": _kappa,
    "gmean": _gmean,
    "hmean": _hmean,
    "qmean": _qmean,
}


def score_of_labels(
    metric: str, y: Array, labels: Array, weights: Array | float = 1.0
) -> Array:
    """Return a metric of 0/1 labels along the last axis, 0/0 = 0; y is one row."""
    tp, k, t, n = ((weights * z).sum(axis=-1) for z in (y * labels, labels, y, y**0))
    return np.asarray(VALUES[metric](tp, k, t, n, 0.0), dtype=np.float64)
