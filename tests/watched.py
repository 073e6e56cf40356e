"""What tests of `monitor` share."""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric._calibrate.maps import PlattMap
from argmetric._forecast.truth import Truth
from argmetric._monitor._law import Maps


def shifted_maps(chance: Any, count: int, spread: float = 0.0) -> Maps:
    """Maps that add a normal constant to the log-odds of cells with these chances.

    Their reference has so many rows that it leaves nothing else open, but for about
    1e-6 of a share; with more of them beta laws have no quantiles in floats.
    """
    x = np.log(chance / (1 - chance))
    moves = spread * np.random.default_rng(1).standard_normal(count)
    draws = np.column_stack([np.ones(count), moves])
    found = PlattMap(1.0, 0.0, draws=draws, n=10**14, prevalence=0.5)
    return Maps(Truth(found), x, 1 / (1 + np.exp(-found._family._map(x))))
