"""Rows that the map is sure of, among those to label."""

import numpy as np
import pytest

from argmetric._monitor._labelling import stratum_positives


def test_strata_of_sure_rows_have_counts_that_fit_their_labels():
    chances = np.array([[1e-16, 0.5, 1.0 - 1e-16]] * 3)
    sizes, drawn = np.array([100, 100, 100]), np.array([10, 10, 10])
    found = np.array([0.0, 5.0, 10.0])
    positives = stratum_positives(chances, np.eye(3), sizes, drawn, found)
    assert np.isfinite(positives).all()
    low, middle, high = positives.mean(axis=0)
    assert low == pytest.approx(0.0, abs=0.5)
    assert middle == pytest.approx(50.0, abs=5.0)
    assert high == pytest.approx(100.0, abs=0.5)


def test_labels_that_contradict_a_sure_map_are_believed():
    chances = np.array([[1.0 - 1e-16, 1e-16]] * 3)
    sizes, drawn = np.array([1000, 1000]), np.array([50, 50])
    found = np.array([25.0, 0.0])
    positives = stratum_positives(chances, np.eye(2), sizes, drawn, found)
    assert 500 < positives[:, 0].mean() < 900  # half of the labels, 20 rows of the map
