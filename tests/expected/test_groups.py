"""The best count of a group: that of its curve, and that of the group alone."""

import math

import numpy as np
import pytest

import argmetric as am

NAMES = ["kappa", "mcc", "f1", "jaccard"]
ZEROS = [0.0, 1.0, math.nan]
DRAWS = {
    "uniform": lambda rng, n: rng.random(n),
    "rare": lambda rng, n: np.minimum(1.0, rng.exponential(1.0 / n, n)),
    "frequent": lambda rng, n: 1.0 - rng.beta(0.2, 4.0, n),
    "tied": lambda rng, n: rng.choice([0.1, 0.2, 0.5, 0.9], n),
    "equal": lambda rng, n: np.full(n, 0.3),
    "certain": lambda rng, n: rng.choice([0.0, 1.0, 0.3], n),
    "two heaps": lambda rng, n: np.where(rng.random(n) < 0.2, 0.95, 0.02),
    "two slopes": lambda rng, n: np.where(rng.random(n) < 0.02, 1, 0.2) * rng.random(n),
}


@pytest.mark.parametrize("zero", ZEROS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("law", DRAWS)
def test_decisions_equal_those_on_curves(name, zero, law):
    """Groups on both sides of the tables, one by one and together."""
    rng = np.random.default_rng(5)
    sizes = [1, 2, 32, 33, 34, 66, 200, 501]
    p = np.concatenate([DRAWS[law](rng, n) for n in sizes])
    ids = np.repeat(np.arange(len(sizes)), sizes)
    found = am.decide(p, name, groups=ids, average="groups", zero_division=zero)
    for g in range(len(sizes)):
        curve = found.curve_of(g)
        if np.isnan(curve).all():
            assert math.isnan(found.group_expected[g])
            continue
        alone = am.decide(p[ids == g], name, zero_division=zero)
        assert found.group_n_positives[g] == alone.n_positives
        best = found.group_n_positives[g]
        assert found.group_expected[g] == pytest.approx(
            curve[best], rel=1e-12, abs=1e-13, nan_ok=True
        )
        half = int((p[ids == g] >= 0.5).sum())
        assert alone.cut_half.expected == pytest.approx(
            curve[half], rel=1e-12, abs=1e-13, nan_ok=True
        )
