"""Folds, and maps that no row is judged by that they were fitted on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._calibrate._fit import fit_map
from argmetric._calibrate._reference import Reference
from argmetric._input.groups import code_groups
from argmetric._input.types import Booleans, Floats, Integers


def check_folds(cv: Any) -> int:
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or cv < 2:
        raise ValueError(f"cv must be a whole number of folds, 2 or more, not {cv!r}")
    return int(cv)


def fold_numbers(
    y: Booleans, cv: int, groups: Any = None, random_state: int | None = 0
) -> Integers:
    """Number of the fold of every row: each class, or each group, spread evenly.

    A class with fewer rows (groups: fewer groups) than `cv` makes fewer folds.
    """
    rng = np.random.default_rng(random_state)
    if groups is None:
        smaller = int(min(y.sum(), y.size - y.sum()))
        if smaller < 2:
            raise ValueError(
                "out-of-fold calibration needs two rows or more of each class; one has "
                f"{smaller}"
            )
        return deal(rng, y.astype(np.uint8), min(cv, smaller))
    coded = code_groups(groups, y.size, "y")
    code = coded.codes
    positives = np.bincount(code, y, coded.count)
    sizes = np.bincount(code, minlength=coded.count)
    smaller = int(min((positives > 0).sum(), (positives < sizes).sum()))
    if smaller < 2:
        raise ValueError(
            "out-of-fold calibration needs each class in two groups or more; one is in "
            f"{smaller}"
        )
    dealt = deal(rng, positives.astype(np.int64), min(cv, smaller))
    return np.asarray(dealt[code])


def deal(
    rng: np.random.Generator, kind: npt.NDArray[np.integer[Any]], n_folds: int
) -> Integers:
    """Shuffled, sorted by kind and dealt out like cards; in numbers as short as do."""
    order = rng.permutation(kind.size)
    falling = kind.max(initial=0) - kind[order]
    if falling.max(initial=0) < 256:
        falling = falling.astype(np.uint8)  # sorted by counting
    order = order[np.argsort(falling, kind="stable")]
    short: Any = np.min_scalar_type(n_folds)
    number = np.empty(kind.size, dtype=short)
    rounds = -(-kind.size // n_folds)
    number[order] = np.tile(np.arange(n_folds, dtype=short), rounds)[: kind.size]
    return number


def out_of_fold_scores(reference: Reference, method: str, fold: Integers) -> Floats:
    """Every row mapped by a fit on the other folds; log-odds for log-odds."""
    reference = reference.with_odds()
    result = np.empty(reference.n)
    for number in range(int(fold.max()) + 1):
        inside = fold == number
        others = reference.y[~inside]
        if others.all() or not others.any():
            raise ValueError(
                "out-of-fold calibration needs rows of both classes outside of every "
                "fold: there are too few groups that have both"
            )
        fitted = fit_map(reference.part(~inside), method, strict=False, draws=False)
        scores = reference.scores[inside]
        result[inside] = (
            fitted._map(scores) if reference.logits else fitted._map_p(scores)
        )
    return result
