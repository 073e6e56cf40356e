"""Rows and comparisons that tests of streams share."""

import numpy as np


def problem(n=2000, seed=0, shift=2.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = rng.random(n) < 1 / (1 + np.exp(shift - X @ [2, 1, 0, -1]))
    return X, y.astype(int)


def same_state(one, other):
    found, wanted = one.get_state(), other.get_state()
    assert found.keys() == wanted.keys()
    for key, array in wanted.items():
        np.testing.assert_array_equal(found[key], array, err_msg=key)
