"""Temperatures against a general optimiser, with arrays of every library."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from argmetric.tensors._temperature import fit_slopes
from tensors.libraries import LIBRARIES, array, library


def some_pixels(classes, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(0.0, 2.0, (3, classes, 150))
    label = (x + rng.gumbel(0.0, 2.0, x.shape)).argmax(1)
    return x, label


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("mode", ["multilabel", "multiclass"])
def test_slopes_have_the_highest_likelihood(name, mode):
    x, label = some_pixels(4)
    y = label[:, None, :] == np.arange(4)[None, :, None]
    known = np.ones(label.shape, dtype=bool)
    known[0, :30] = False
    given = (array(name, values) for values in (x, y, known))
    found = fit_slopes(*given, mode, logits=True)

    def cost(beta):
        z = (x if mode == "multilabel" else log_softmax(x, 1)) * beta[None, :, None]
        if mode == "multiclass":
            loss = -(y * log_softmax(z, 1)).sum(1)
        else:
            loss = (np.logaddexp(0.0, z) - y * z).sum(1)
        return loss[known].sum()

    best = minimize(cost, np.ones(4), tol=1e-12)
    np.testing.assert_allclose(found, best.x, rtol=1e-4)
    assert cost(found) <= best.fun + 1e-9


def test_certain_pixels_count_nothing():
    torch = library("torch")
    x, label = some_pixels(2)
    p = 1.0 / (1.0 + np.exp(-x))
    y = label[:, None, :] == np.arange(2)[None, :, None]
    known = np.ones(label.shape, dtype=bool)
    some = known.copy()
    some[:, :5] = False
    p, y, known, some = map(torch.from_numpy, (p, y, known, some))
    left = fit_slopes(p, y, some, "multilabel", False)
    p[:, :, :5] = torch.tensor([0.0, 1.0])[None, :, None]
    found = fit_slopes(p, y, known, "multilabel", False)
    np.testing.assert_allclose(found, left, rtol=1e-12)
