"""Features of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric._input.arguments import check_count, shown
from argmetric._input.validation import to_floats


def matrix_offsets(radius: int) -> list[tuple[int, int]]:
    """Steps down and across from a pixel to the later one of a pair, in order."""
    steps = [(0, across) for across in range(1, radius + 1)]
    sides = range(-radius, radius + 1)
    return steps + [(d, a) for d in range(1, radius + 1) for a in sides]


def pixel_pairs(X: Any, shape: tuple[int, int], *, radius: int = 3) -> Any:
    """On-pixels, and pairs of them that are close, as columns of a sparse matrix.

    Parameters
    ----------
    X : array of shape (images, height * width)
        Images by rows; whatever is not zero is on.
    shape : (height, width)
        Of an image.
    radius : int, default=3
        Pairs at most this far apart, in either direction, count.

    Returns
    -------
    scipy.sparse.csr_matrix of float32
        height * width columns for pixels, then 2 * radius * (radius + 1) for each
        pixel.

    Examples
    --------
    >>> from argmetric.search import pixel_pairs
    >>> pixel_pairs([[1, 0, 1, 1]], (2, 2), radius=1).nnz  # 3 pixels and 3 pairs
    6
    """
    from scipy.sparse import csr_matrix

    from argmetric._text.kernels.tagging_features import pixel_rows

    pixels = np.ascontiguousarray(to_floats(X, "X") != 0)
    if np.array(shape, dtype=object).shape != (2,):
        raise TypeError(f"shape must be height and width, not {shown(shape)}")
    height, width = (check_count(size, "shape", low=1) for size in shape)
    radius = check_count(radius, "radius", high=1000)
    if pixels.ndim != 2 or pixels.shape[1] != height * width:
        raise ValueError(
            f"X has the shape {pixels.shape}, but images of {height} by {width} pixels "
            f"need rows of {height * width}"
        )
    n_columns = height * width * (1 + 2 * radius * (radius + 1))
    indptr = np.empty(len(pixels) + 1, dtype=np.int64)
    counted = pixel_rows(
        pixels, height, width, radius, indptr, np.empty(0, dtype=np.int32)
    )
    indices = np.empty(max(counted, 1), dtype=np.int32)
    pixel_rows(pixels, height, width, radius, indptr, indices)
    ones = np.ones(counted, dtype=np.float32)
    return csr_matrix((ones, indices[:counted], indptr), shape=(len(pixels), n_columns))
