"""The map for the rows of a period, where their features are at hand.

A classifier tells rows of the reference from those of the period. Its odds weigh the
reference as the period, and the map is fitted again with these weights: it then says
what P(y | score) is among rows such as those that came.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._calibrate.calibrate import DEFAULT
from argmetric._calibrate.fit import fit_map
from argmetric._calibrate.reference import Reference
from argmetric._ground.types import AnyArray, Floats
from argmetric._ground.validation import check_length, to_floats
from argmetric._monitor._cells import Cells
from argmetric._monitor._law import Maps

WEIGHTS = (0.1, 10.0)  # least and largest weight of a row
FOLDS = 2


def read_features(features: Any, m: int, n: int) -> tuple[AnyArray, AnyArray]:
    """The argument `features`: numbers of the reference's rows, and of the others."""
    if not isinstance(features, tuple | list) or len(features) != 2:
        raise TypeError("features must be a pair (X_reference, X)")
    names = "features of the reference", "features of p"
    old, new = (to_floats(x, name) for x, name in zip(features, names, strict=True))
    for x, name, rows in ((old, names[0], m), (new, names[1], n)):
        if x.ndim != 2:
            raise ValueError(f"{name} must have two dimensions, not {x.ndim}")
        check_length(x, name, rows, "the scores")
    if old.shape[1] != new.shape[1]:
        raise ValueError(
            f"features of the reference have {old.shape[1]} columns, and those of p "
            f"{new.shape[1]}"
        )
    return old, new


def domain_weights(old: AnyArray, new: AnyArray) -> Floats:
    """How many times as dense rows of the period are at each row of the reference.

    By boosted trees, out of fold; scaled so that their sum is the number of rows that
    such weights are worth, (Σw)²/Σw².
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    X = np.concatenate([old, new])
    is_new = np.repeat([0, 1], [len(old), len(new)])
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    model = HistGradientBoostingClassifier(random_state=0)
    p = cross_val_predict(model, X, is_new, cv=folds, method="predict_proba")[:, 1]
    p = np.clip(p[: len(old)], 1e-9, 1.0 - 1e-9)
    weight = np.clip(p / (1.0 - p) * len(old) / len(new), *WEIGHTS)
    return np.asarray(weight * weight.sum() / (weight**2).sum())


def weighted_maps(rows: Reference, cells: Cells, weight: Floats) -> Maps:
    """What the weighted reference says of cells."""
    return Maps.of(fit_map(replace(rows, weight=weight), DEFAULT), cells)
