"""Long rows on a CPU, against arrays."""

import numpy as np
import pytest

import argmetric as am
from argmetric import tensors
from tensors.libraries import library
from tensors.long_rows import hard_rows, two_peaks

torch = library("torch")
LONG = [am.FBeta(1), am.Jaccard(), am.Tversky(1.5, 0.4), am.MCC(), am.Kappa()]


@pytest.mark.parametrize(("first", "second"), [(40, 450), (300, 750)])
def test_each_maximum_of_mcc_is_looked_at(first, second):
    shifts = (-0.02, -1e-3, 0.0, 1e-3, 3e-3, 0.01, 0.02)
    p = np.stack([two_peaks(3000, first, second, one) for one in shifts])
    found = tensors.decide(torch.from_numpy(p), "mcc", average="samples")
    arrays = am.decide(p, "mcc", average="samples")
    assert set(found.n_positives.tolist()) == {first, first + second}
    np.testing.assert_array_equal(found.n_positives, arrays.labels.sum(1))
    np.testing.assert_allclose(found.expected, arrays.group_expected, rtol=1e-12)


@pytest.mark.parametrize("metric", LONG, ids=repr)
def test_long_rows_get_the_labels_of_arrays(metric):
    p = np.stack(list(hard_rows(1500).values()))
    found = tensors.decide(torch.from_numpy(p), metric, average="samples")
    arrays = am.decide(p, metric, average="samples")
    np.testing.assert_array_equal(found.labels, arrays.labels)
    np.testing.assert_allclose(
        found.expected, arrays.group_expected, rtol=1e-11, atol=1e-14
    )
